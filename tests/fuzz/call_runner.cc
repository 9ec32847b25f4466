// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Making calls and checking them.

#include "call_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"

namespace tandem::fuzz {
namespace {

// Bounds what one call may cost.
constexpr size_t kMemoryLimit = 1 << 20;
constexpr std::chrono::seconds kDeadline(10);
// Larger results are not compared, nor made dense.
constexpr int64_t kMostCompared = 1 << 18;

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return std::move(*value);
}

void ThrowIfError(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

HostContext::Options OptionsOf(bool has_threads) {
  HostContext::Options options;
  options.work_queue = has_threads ? CreateMultiThreadedWorkQueue(2) : CreateSingleThreadedWorkQueue();
  if (has_threads) options.inline_cost_limit = 1000;
  options.allocator.min_cached_size = SIZE_MAX;  // so that a sanitizer sees every block
  options.allocator.memory_limit = kMemoryLimit;
  options.max_pending_bytes = int64_t{1} << 24;
  return options;
}

}  // namespace

struct CallRunner::World {
  explicit World(bool has_threads) : runtime(WithHandler(OptionsOf(has_threads))) {
    ThrowIfError(RegisterAllOps(runtime.registry()));
    cpu = ValueOrThrow(CreateCpuOpHandler(runtime));
    ordinary_cost_limit = runtime.host().inline_cost_limit();
  }
  HostContext::Options WithHandler(HostContext::Options options) {
    options.diagnostic_handler = [this](const Status& error) {
      const std::lock_guard lock(mutex);
      told.push_back(error);
    };
    return options;
  }

  std::mutex mutex;
  std::vector<Status> told;
  CoreRuntime runtime;
  OpHandler* cpu = nullptr;
  int64_t ordinary_cost_limit = 0;
};

// The arguments of a call, and what resolves the pending ones.
struct CallRunner::Inputs {
  struct Pending {
    RcRef<ConcreteAsyncValue<TensorMetadata>> metadata;  // null if it is known
    RcRef<TensorValue> value;
    Tensor tensor;
  };

  static StatusOr<Tensor> MakeTensor(HostContext& host, const InputSpec& spec, bool is_external) {
    const TensorSpec& tensor = spec.tensor;
    if (tensor.metadata.dtype == DType::kString) {
      const std::vector<std::string_view> strings(tensor.strings.begin(), tensor.strings.end());
      return MakeString(tensor.metadata.shape, strings, host.device(), host.allocator());
    }
    if (spec.kind == InputKind::kScalar) return MakeScalar(tensor.metadata, tensor.bytes.data(), host.device());
    if (spec.kind == InputKind::kSparse) return MakeSparse(host, tensor);
    TANDEM_RETURN_IF_ERROR(tensor.metadata.Validate());
    if (!is_external) return MakeDense(tensor.metadata, tensor.bytes, host.device(), host.allocator());
    auto* bytes = new std::byte[tensor.bytes.size()];
    std::ranges::copy(tensor.bytes, bytes);
    TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer,
                            HostAllocator::WrapExternal(bytes, tensor.bytes.size(), [bytes] { delete[] bytes; }));
    return Tensor(tensor.metadata, &host.device(), kDenseHost, bytes, std::move(buffer));
  }

  static StatusOr<Tensor> MakeSparse(HostContext& host, const TensorSpec& spec) {
    const auto count = static_cast<int64_t>(spec.bytes.size() / DTypeSize(spec.metadata.dtype));
    const int rank = spec.metadata.rank();
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = spec.metadata.num_elements() / count * i;
      indices.resize(indices.size() + static_cast<size_t>(rank));
      for (int d = rank - 1; d >= 0; --d) {
        indices[static_cast<size_t>(i * rank + d)] = rest % spec.metadata.dim(d);
        rest /= spec.metadata.dim(d);
      }
    }
    TANDEM_ASSIGN_OR_RETURN(
        Tensor coordinates,
        MakeDense({DType::kI64, {count, rank}}, std::as_bytes(std::span(indices)), host.device(), host.allocator()));
    TANDEM_ASSIGN_OR_RETURN(Tensor values,
                            MakeDense({spec.metadata.dtype, {count}}, spec.bytes, host.device(), host.allocator()));
    return MakeSparseCoo(spec.metadata, std::move(coordinates), std::move(values), host.device());
  }

  Inputs(HostContext& host, const Call& call, Way way) {
    for (const InputSpec& spec : call.inputs) {
      TensorHandle& handle = handles.emplace_back();
      switch (spec.kind) {
        case InputKind::kNull:
          break;
        case InputKind::kError:
          handle = TensorHandle::MakeError(
              Status::Error(StatusCode::kInvalidArgument, "an input that failed", "fuzz.input", Location::Current()));
          break;
        case InputKind::kShared:
          if (handles[0].IsValid()) handle = handles[0].CopyRef();
          break;
        default:
          handle = MakeHandle(host, MakeTensor(host, spec, way == Way::kExternal), way);
      }
    }
  }

  TensorHandle MakeHandle(HostContext& host, StatusOr<Tensor> tensor, Way way) {
    if (!tensor.ok()) return TensorHandle::MakeError(tensor.status().WithContext("fuzz.input", Location::Current()));
    if (way != Way::kPending && way != Way::kPendingMetadata) return TensorHandle::MakeAvailable(std::move(*tensor));
    const Device* device = &host.device();
    Pending one{nullptr, nullptr, std::move(*tensor)};
    if (way == Way::kPendingMetadata) {
      one.metadata = MakeUnconstructed<TensorMetadata>();
      one.value = MakeUnconstructed<Tensor>();
    } else {
      one.value = MakeRef<TensorValue>(TensorValue::Constructed{}, one.tensor.metadata(), device);
    }
    TensorHandle handle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(one.metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(one.value)), device);
    pending.push_back(std::move(one));
    return handle;
  }

  void Resolve(bool fails_first) {
    for (Pending& one : pending) {
      if (std::exchange(fails_first, false)) {
        const Status error =
            Status::Error(StatusCode::kInvalidArgument, "an input that failed", "fuzz.input", Location::Current());
        if (one.metadata) one.metadata->SetError(error);
        one.value->SetError(error);
        continue;
      }
      if (one.metadata) {
        one.value->Construct(one.tensor.metadata(), one.tensor.device());
        one.metadata->Emplace(one.tensor.metadata());
        one.metadata.reset();
      }
      one.value->value() = std::move(one.tensor);
      one.value.release()->SetConcreteAndDropRef();
    }
    pending.clear();
  }

  std::vector<TensorHandle> handles;
  std::vector<Pending> pending;
};

struct CallRunner::Outcome {
  std::string failure;
  std::vector<TensorHandle> results;
  std::vector<bool> has_early_metadata;  // of each result, when the call returned
  std::vector<TensorMetadata> early_metadata;
  AsyncValueRef<Chain> chain;
  bool has_chain = false;
  // Of results and chain: the first error, or ok.
  Status error;

  void Fail(const std::string& text) {
    if (failure.empty()) failure = text;
  }
};

CallRunner::CallRunner() : alone_(std::make_unique<World>(false)) {}
CallRunner::~CallRunner() = default;

const OpRegistry& CallRunner::registry() const { return alone_->runtime.registry(); }

std::string CallRunner::Run(const Call& call) {
  if (call.way == Way::kThreads && !with_threads_) with_threads_ = std::make_unique<World>(true);
  World& other = call.way == Way::kThreads ? *with_threads_ : *alone_;
  const int64_t live_before = AsyncValue::NumLive();
  std::string failure;
  {
    Outcome first;
    MakeCall(*alone_, call, Way::kExternal, first);
    CheckOutcome(*alone_, call, first);
    if (first.failure.empty() && !call.then.empty() && !first.results.empty()) CallThen(*alone_, call, first);
    num_right_ += first.error.ok();
    Outcome second;
    MakeCall(other, call, call.way, second);
    CheckOutcome(other, call, second);
    failure = !first.failure.empty()    ? "first way: " + first.failure
              : !second.failure.empty() ? "second way: " + second.failure
                                        : Compare(other, call, first, second);
  }
  alone_->told.clear();
  if (with_threads_) with_threads_->told.clear();
  if (failure.empty() && AsyncValue::CountsLive() && AsyncValue::NumLive() != live_before) {
    failure = "AV-6: " + std::to_string(AsyncValue::NumLive() - live_before) + " async values are left";
  }
  for (World* world : {alone_.get(), &other}) {
    const size_t bytes = world->runtime.host().allocator().stats().bytes_in_use;
    if (failure.empty() && bytes != 0) failure = std::to_string(bytes) + " bytes of tensors are left";
    if (failure.empty() && world->runtime.host().num_pending_ops() != 0) failure = "ops are still pending";
  }
  return failure;
}

void CallRunner::MakeCall(World& world, const Call& call, Way way, Outcome& outcome) {
  HostContext& host = world.runtime.host();
  Inputs inputs(host, call, way);
  OpAttrs attrs;
  SetAttrs(call.attrs, attrs);
  RcRef<RequestContext> request;
  int64_t num_elements = 0;
  for (const InputSpec& input : call.inputs) num_elements += input.tensor.metadata.num_elements();
  const bool is_long = num_elements > 2000;  // a request costs as much as a small call
  if (call.request != RequestKind::kNone || is_long) {
    const auto now = RequestContext::Clock::now();
    request = ValueOrThrow(RequestContext::Create(
        host, {call.request == RequestKind::kPast ? now - std::chrono::seconds(1) : now + kDeadline, nullptr}));
    if (call.request == RequestKind::kCancelled) request->Cancel("the request was cancelled");
  }
  outcome.has_chain = call.chain != ChainKind::kNone;
  RcRef<ConcreteAsyncValue<Chain>> pending_chain;
  if (call.chain == ChainKind::kReady) outcome.chain = MakeReadyChain();
  if (call.chain == ChainKind::kError) {
    outcome.chain = AsyncValueRef<Chain>::MakeError(
        Status::Error(StatusCode::kInvalidArgument, "a chain that failed", "fuzz.chain", Location::Current()));
  }
  if (call.chain == ChainKind::kPending) {
    pending_chain = MakeUnconstructed<Chain>();
    outcome.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>(pending_chain));
  }
  outcome.results.resize(static_cast<size_t>(call.num_results));

  const ExecutionContext exec(host, Location::Current(), request);
  AsyncValueRef<Chain>* const chain = outcome.has_chain ? &outcome.chain : nullptr;
  host.set_inline_cost_limit(way == Way::kQueued ? -1 : world.ordinary_cost_limit);
  ++num_calls_;
  std::vector<TensorHandle> kept;
  if (way == Way::kExternal) {
    for (const TensorHandle& handle : inputs.handles) kept.push_back(handle.CopyRef());
  }
  bool is_made = false;
  if (way == Way::kMadeOp) {
    const StatusOr<Op> op = world.runtime.MakeOp(call.op, world.cpu);
    if (op.ok()) (*op)(exec, inputs.handles, attrs, outcome.results, chain);
    is_made = op.ok();
  }
  if (!is_made) world.runtime.Execute(exec, call.op, world.cpu, inputs.handles, attrs, outcome.results, chain);
  for (const TensorHandle& handle : inputs.handles) {
    if (handle.IsValid()) outcome.Fail("EX-2: an argument is not consumed");
  }
  for (const TensorHandle& result : outcome.results) {
    if (!result.IsValid()) return outcome.Fail("EX-3: a result is null");
    outcome.has_early_metadata.push_back(result.IsMetadataAvailable());
    outcome.early_metadata.push_back(result.IsMetadataAvailable() ? result.metadata() : TensorMetadata());
  }
  if (outcome.has_chain && !outcome.chain.IsValid()) return outcome.Fail("EX-3: the chain is null");
  if (call.request == RequestKind::kCancelledLate) request->Cancel("the request was cancelled");
  inputs.Resolve(call.fails_input);
  if (pending_chain) pending_chain->Emplace();
  pending_chain.reset();
  // What is cancelled may have its inputs still.
  std::vector<const AsyncValue*> values;
  for (const TensorHandle& result : outcome.results) values.push_back(result.value().value());
  if (outcome.has_chain) values.push_back(outcome.chain.value());
  ThrowIfError(host.Await(values));
  host.Quiesce();
}

void CallRunner::CheckOutcome(World& world, const Call& call, Outcome& outcome) {
  if (!outcome.failure.empty()) return;
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const TensorHandle& result = outcome.results[i];
    if (result.IsError()) {
      CheckError(world, call, result.GetError(), outcome);
      continue;
    }
    const TensorMetadata& metadata = result.tensor().metadata();
    if (!metadata.IsValid()) outcome.Fail("TH-8: a result's metadata is invalid");
    if (!result.IsMetadataAvailable() || !(result.metadata() == metadata)) {
      outcome.Fail("MD-2: metadata is not the tensor's");
    }
    if (outcome.has_early_metadata[i] && !(outcome.early_metadata[i] == metadata)) {
      outcome.Fail("MD-2: metadata was another when the call returned");
    }
    if (!result.tensor().HasPayload()) outcome.Fail("a result has no payload");
  }
  if (outcome.has_chain && outcome.chain.IsError()) CheckError(world, call, outcome.chain.GetError(), outcome);
}

void CallRunner::CheckError(World& world, const Call& call, const Status& error, Outcome& outcome) {
  if (outcome.error.ok()) outcome.error = error;
  const std::string_view op = error.op();
  const std::string text = error.ToString();
  if (op == "fuzz.input" || op == "fuzz.chain") return;
  if (error == Status::OutOfMemory()) return;
  if (op != call.op && op != call.then) outcome.Fail("ER-2: the error is of another op: " + text);
  if (!error.location().IsKnown()) outcome.Fail("ER-3: the error has no location: " + text);
  switch (error.code()) {
    case StatusCode::kUnknown:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss:
    case StatusCode::kUnavailable:
    case StatusCode::kAlreadyExists:
      if (call.op != "test.error.tensor") outcome.Fail("ER-2: the error is of a kind that only a fault has: " + text);
      break;
    default:
      break;
  }
  const std::string_view detail = error.detail();
  // The user's own text.
  const bool is_quoted =
      call.op == "tf.Assert" || std::ranges::any_of(call.attrs, [&](const AttrSpec& attr) {
        return std::ranges::any_of(attr.texts, [&](const std::string& value) { return detail.ends_with(value); });
      });
  if (detail.empty() || (!is_quoted && detail.ends_with('.') && !detail.ends_with("..."))) {
    outcome.Fail("ER-2: the text is empty or ends in a full stop: " + text);
  }
  if (std::ranges::any_of(detail, [](char c) { return static_cast<unsigned char>(c) < 32; }) && !is_quoted) {
    outcome.Fail("ER-2: the text has control characters: " + text);
  }
  // The end of a request is told as such, not once more for each of its ops.
  if (error.code() == StatusCode::kCancelled || error.code() == StatusCode::kDeadlineExceeded) return;
  const std::lock_guard lock(world.mutex);
  const auto times = std::ranges::count(world.told, error);
  if (times != 1) outcome.Fail("ER-4: the diagnostic handler was told " + std::to_string(times) + " times: " + text);
}

void CallRunner::CallThen(World& world, const Call& call, Outcome& outcome) {
  HostContext& host = world.runtime.host();
  const OpDef& def = *world.runtime.registry().Find(call.then);
  Outcome last;
  last.results.resize(def.outputs.size());
  last.has_chain = def.has_side_effects;
  if (last.has_chain) last.chain = MakeReadyChain();
  TensorHandle argument = outcome.results[0].CopyRef();
  const RcRef<RequestContext> request =
      ValueOrThrow(RequestContext::Create(host, {RequestContext::Clock::now() + kDeadline, nullptr}));
  ++num_calls_;
  world.runtime.Execute(ExecutionContext(host, Location::Current(), request), call.then, world.cpu, {&argument, 1},
                        OpAttrsRef(), last.results, last.has_chain ? &last.chain : nullptr);
  for (const TensorHandle& result : last.results) {
    if (!result.IsValid()) return outcome.Fail("EX-3: a result of the next op is null");
    static_cast<void>(host.Await(result));
    last.has_early_metadata.push_back(false);
    last.early_metadata.emplace_back();
  }
  host.Quiesce();
  CheckOutcome(world, call, last);
  if (!last.failure.empty()) outcome.Fail("the next op: " + last.failure);
}

std::string CallRunner::Compare(World& world, const Call& call, const Outcome& first, const Outcome& second) {
  // What may depend on the way: memory, time, and which of several faults is found first.
  for (const Status* error : {&first.error, &second.error}) {
    if (error->code() == StatusCode::kResourceExhausted || error->code() == StatusCode::kDeadlineExceeded ||
        error->code() == StatusCode::kCancelled) {
      return {};
    }
  }
  if (call.fails_input) return {};
  const bool has_wrong_input = std::ranges::any_of(call.inputs, [](const InputSpec& input) {
    return input.kind == InputKind::kNull || input.kind == InputKind::kError;
  });
  if (first.error.message() != second.error.message() && !has_wrong_input && call.chain != ChainKind::kError) {
    return "MD-6: the error depends on the way: \"" + std::string(first.error.message()) + "\", then \"" +
           std::string(second.error.message()) + "\"";
  }
  if (first.error.ok() != second.error.ok()) return "whether there is an error depends on the way";
  HostContext& host = world.runtime.host();
  for (size_t i = 0; i < first.results.size(); ++i) {
    if (first.results[i].IsError() != second.results[i].IsError()) return "which result is an error depends on the way";
    if (first.results[i].IsError()) continue;
    const Tensor& a = first.results[i].tensor();
    const Tensor& b = second.results[i].tensor();
    const std::string which = "result " + std::to_string(i);
    if (!(a.metadata() == b.metadata())) return which + ": the metadata depends on the way";
    if (a.num_elements() > kMostCompared) continue;
    if (a.dtype() == DType::kString) {
      const StringHostView left(a), right(b);
      for (int64_t j = 0; j < left.size(); ++j) {
        if (left[j] != right[j]) return which + ": string " + std::to_string(j) + " depends on the way";
      }
      continue;
    }
    const StatusOr<Tensor> left = ToDense(a, host.allocator());
    const StatusOr<Tensor> right = ToDense(b, host.allocator());
    if (!left.ok() || !right.ok()) continue;  // memory
    const auto* left_bytes = static_cast<const char*>(left->data());
    const auto* right_bytes = static_cast<const char*>(right->data());
    const size_t size = a.metadata().byte_size();
    const char* const differs = std::mismatch(left_bytes, left_bytes + size, right_bytes).first;
    if (differs == left_bytes + size) continue;
    return which + ": NU-2: element " +
           std::to_string(static_cast<size_t>(differs - left_bytes) / DTypeSize(a.dtype())) + " depends on the way";
  }
  return {};
}

}  // namespace tandem::fuzz
