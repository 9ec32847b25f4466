// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One call for each run of a case, and everything that is checked about it.

#include "session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "case_attrs.h"
#include "comparison.h"
#include "result_bits.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "tandem/tensor_comparison.h"
#ifdef TANDEM_HAS_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif
#ifdef TANDEM_HAS_EMULATED_CUDA
#include <cstdlib>

#include "cublaslt.h"
#include "cuda_device.h"
#include "cuda_handler.h"
#include "cuda_queue.h"
#include "emulated_driver.h"
#include "tandem/cuda/cuda_op_handler.h"
#include "tandem/shader/shader_op_handler.h"
#endif

namespace tandem::conformance {
namespace {

constexpr int kMostFences = 100;

void ThrowIfError(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  ThrowIfError(value.status());
  return std::move(*value);
}

std::string TextOf(std::string_view what, size_t i, std::string_view text) {
  return std::string(what) + " " + std::to_string(i) + ": " + std::string(text);
}

}  // namespace

HostContext::Options Session::RuntimeOptions(const SessionOptions& options) {
  HostContext::Options host;
  host.work_queue = CreateMultiThreadedWorkQueue(options.num_threads);
  host.inline_cost_limit = 2000;  // so that cases of some hundred elements go to the work queue, too
  host.exact = options.exact;
  host.allocator.on_overrun = [this](size_t size) {
    Complain("memory of " + std::to_string(size) + " bytes was written past its end");
  };
  return host;
}

Session::~Session() = default;

Session::Session(const SessionOptions& options) : runtime_(RuntimeOptions(options)) {
  ThrowIfError(RegisterAllOps(runtime_.registry()));
  const StatusOr<KernelOpHandler*> cpu = CreateCpuOpHandler(runtime_);
  if (cpu.status().code() == StatusCode::kNotFound) throw NoDevice(std::string(cpu.status().message()));
  ThrowIfError(cpu.status());
  handler_ = *cpu;
  if (options.device == "vulkan") {
    AddVulkanHandler(options.use_fallback ? handler_ : nullptr);
  } else if (options.device == "cuda") {
    AddCudaHandler(options.use_fallback ? handler_ : nullptr);
  } else if (options.device == "cuda-emulated") {
    AddEmulatedCudaHandler(options, options.use_fallback ? handler_ : nullptr);
  } else if (options.device != "cpu") {
    throw std::runtime_error("unknown device \"" + options.device + "\", expected cpu, vulkan, cuda or cuda-emulated");
  }
}

#ifdef TANDEM_HAS_VULKAN
void Session::AddVulkanHandler(OpHandler* fallback) {
  vulkan::VulkanOptions options;
  options.fallback = fallback;
  options.on_message = [this](std::string_view text) { Complain(text); };
  const StatusOr<shader::ShaderOpHandler*> handler = vulkan::CreateVulkanOpHandler(runtime_, options);
  if (handler.status().code() == StatusCode::kNotFound) {
    throw NoDevice("no Vulkan device: " + std::string(handler.status().message()));
  }
  ThrowIfError(handler.status());
  handler_ = *handler;
}
#else
void Session::AddVulkanHandler(OpHandler*) { throw NoDevice("no Vulkan device: this build has no Vulkan op handler"); }
#endif

#ifdef TANDEM_HAS_EMULATED_CUDA
void Session::AddCudaHandler(OpHandler* fallback) {
  cuda::CudaOptions options;
  options.fallback = fallback;
  const StatusOr<shader::ShaderOpHandler*> handler = cuda::CreateCudaOpHandler(runtime_, options);
  if (handler.status().code() == StatusCode::kNotFound) {
    throw NoDevice("no CUDA device: " + std::string(handler.status().message()));
  }
  ThrowIfError(handler.status());
  handler_ = *handler;
}

namespace {

bool UsesFakeLibrary(const char* variable) {
  const char* const file = std::getenv(variable);
  return file != nullptr && *file != 0;
}

// Of one that has been opened.
void PutOnEmulatedStream(const char* variable) {
  const char* const file = std::getenv(variable);
  if (cuda::EmulatedCuda::TakeLibrary(file) != nullptr) return;
  throw std::runtime_error(std::string(file) + " is for a device, not for the emulation");
}

}  // namespace

void Session::AddEmulatedCudaHandler(const SessionOptions& options, OpHandler* fallback) {
  emulated_cuda_ = std::make_shared<cuda::EmulatedCuda>(
      cuda::EmulatedCuda::Options{options.kernels, options.collects_kernels, options.keeps_kernels});
  const Status opened = emulated_cuda_->Open();
  if (opened.code() == StatusCode::kNotFound) throw NoDevice(std::string(opened.message()));
  ThrowIfError(opened);
  cuda::CudaQueueOptions queue_options;
  queue_options.cache_folder = "off";
  // Libraries that stand in for cuBLASLt and cuDNN (tests/cuda/fake_*.cc), where they are named.
  if (UsesFakeLibrary("TANDEM_CUBLASLT")) {
    queue_options.cublaslt = ValueOrThrow(cuda::OpenCublaslt());
    PutOnEmulatedStream("TANDEM_CUBLASLT");
  }
  if (UsesFakeLibrary("TANDEM_CUDNN")) {
    queue_options.cudnn = ValueOrThrow(cuda::OpenCudnn());
    PutOnEmulatedStream("TANDEM_CUDNN");
  }
  auto queue =
      ValueOrThrow(cuda::CudaQueue::Create(ValueOrThrow(cuda::CudaDevice::Create(emulated_cuda_->driver(), "")),
                                           cuda::Nvrtc(emulated_cuda_->nvrtc()), queue_options));
  cuda::CudaOptions handler;
  handler.fallback = fallback;
  handler_ = ValueOrThrow(cuda::AddCudaOpHandler(runtime_, std::move(queue), handler));
}
#else
void Session::AddCudaHandler(OpHandler*) { throw NoDevice("no CUDA device: this build has no CUDA op handler"); }

void Session::AddEmulatedCudaHandler(const SessionOptions&, OpHandler*) {
  throw NoDevice("no CUDA device: this build has no CUDA op handler");
}
#endif

void Session::Complain(std::string_view text) {
  const std::lock_guard lock(complaints_mutex_);
  complaints_.append(complaints_.empty() ? "" : "; ").append(text);
}

std::string Session::TakeComplaints() {
  const std::lock_guard lock(complaints_mutex_);
  return std::exchange(complaints_, {});
}

TensorHandle Session::OnHost(const TensorHandle& handle) {
  if (handle.device() == &runtime_.host().device()) return handle.CopyRef();
  return handle.TransferTo(ExecutionContext(runtime_.host(), Location()), runtime_.host().device());
}

std::string Session::KernelDType(const ConformanceCase& conformance_case) {
  const OpDef* def = runtime_.registry().Find(conformance_case.op);
  if (def == nullptr || conformance_case.error) return {};
  const std::vector<TensorSpec>& inputs = conformance_case.inputs;
  const auto name = [](const TensorSpec& tensor) { return std::string(DTypeName(tensor.metadata.dtype)); };
  for (size_t i = 0; i < std::min(def->inputs.size(), inputs.size()); ++i) {
    const ArgDef& input = def->inputs[i];
    if (input.type_attr >= 0 && input.type_attr == def->kernel_type_attr && !input.host_input) return name(inputs[i]);
  }
  if (!conformance_case.outputs.empty()) return name(conformance_case.outputs[0]);
  return inputs.empty() ? std::string() : name(inputs[0]);
}

void Session::CheckTolerance(const ConformanceCase& conformance_case) {
  const OpDef* def = runtime_.registry().Find(conformance_case.op);
  if (def == nullptr || def->max_ulp < 0) return;
  for (const TensorSpec& output : conformance_case.outputs) {
    const int stated = StatedUlp(*def, output.metadata.dtype);
    if (conformance_case.tolerance.ulp <= stated) continue;
    throw std::runtime_error("the case allows " + std::to_string(conformance_case.tolerance.ulp) +
                             " ULP, the definition of " + conformance_case.op + " " + std::to_string(stated));
  }
}

bool Session::HasKernel(const ConformanceCase& conformance_case, const std::string& dtype) const {
  const OpDef* def = runtime_.registry().Find(conformance_case.op);
  if (def == nullptr) return false;
  if (def->kernel_type_attr < 0) return handler_->HasKernel(conformance_case.op, DType::kInvalid);
  // That of an input, be it one that is read on the host, else that of the result.
  for (size_t i = 0; i < std::min(def->inputs.size(), conformance_case.inputs.size()); ++i) {
    if (def->inputs[i].type_attr != def->kernel_type_attr) continue;
    return handler_->HasKernel(conformance_case.op, conformance_case.inputs[i].metadata.dtype);
  }
  return handler_->HasKernel(conformance_case.op, ParseDType(dtype).value_or(DType::kInvalid));
}

CaseResult Session::Run(const ConformanceCase& conformance_case) {
  CaseResult external = RunOnce(conformance_case, Memory::kExternal);
  if (!external.failure.empty()) return external;
  CaseResult own = RunOnce(conformance_case, Memory::kRuntime);
  own.worst_ulp = std::max(own.worst_ulp, external.worst_ulp);
  if (own.failure.empty() && own.bits != external.bits && runtime_.host().is_exact()) {
    own.failure = "NU-3: results have other bits where inputs lie elsewhere in memory";
  }
  return own;
}

CaseResult Session::RunOnce(const ConformanceCase& conformance_case, Memory memory) {
  const int64_t live_before = AsyncValue::NumLive();
  const size_t bytes_before = runtime_.host().allocator().stats().bytes_in_use;
  CaseResult result = Call(conformance_case, memory);
  runtime_.host().Quiesce();
  const auto live_now = [&] { return AsyncValue::NumLive() - live_before; };
  const auto bytes_now = [&] { return runtime_.host().allocator().stats().bytes_in_use - bytes_before; };
  // What ends a download on a thread of the device's lets go of it only after the result is there.
  for (int i = 0; i < kMostFences && IsRemote() && (live_now() != 0 || bytes_now() != 0); ++i) PassFence();
  // A device keeps the pipelines that the first call of a case makes.
  const bool keeps_values = IsRemote() && memory == Memory::kExternal;
  const int64_t live = keeps_values ? 0 : live_now();
  const size_t bytes = bytes_now();
  // Below zero where a thread of the device's has let go only now of what the call before has made.
  if (result.failure.empty() && AsyncValue::CountsLive() && live > 0) {
    result.failure = std::to_string(live) + " async values are left";
  }
  if (result.failure.empty() && bytes != 0) result.failure = std::to_string(bytes) + " bytes of tensors are left";
  const std::string complaints = TakeComplaints();
  if (result.failure.empty()) result.failure = complaints;
  return result;
}

// Comes back when the device has ended all downloads before.
void Session::PassFence() {
  HostContext& host = runtime_.host();
  const std::byte value[4] = {};
  const TensorHandle sent = TensorHandle::MakeAvailable(
      ValueOrThrow(MakeDense({DType::kF32, TensorShape{}}, value, host.device(), host.allocator())));
  const ExecutionContext exec(host, Location());
  ThrowIfError(host.Await(OnHost(sent.TransferTo(exec, *handler_->device()))));
  host.Quiesce();
}

CaseResult Session::Call(const ConformanceCase& conformance_case, Memory memory) {
  const OpDef* def = runtime_.registry().Find(conformance_case.op);
  OpAttrs attrs;
  SetAttrs(conformance_case.attrs, def, attrs);
  std::vector<TensorHandle> args = MakeInputs(conformance_case, memory);
  std::vector<TensorHandle> kept;
  if (!conformance_case.HasTag("inplace")) {
    for (const TensorHandle& arg : args) kept.push_back(arg.CopyRef());
  }
  const int num_results = def == nullptr ? 1 : CountResults(*def, attrs, args.size());
  std::vector<TensorHandle> results(static_cast<size_t>(num_results));
  AsyncValueRef<Chain> chain;
  const bool needs_chain = num_results == 0 || (def != nullptr && def->has_side_effects);
  if (needs_chain) chain = MakeReadyChain();
  runtime_.Execute(conformance_case.op, handler_, Location(), args, attrs, results, needs_chain ? &chain : nullptr);

  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].IsValid()) return {TextOf("argument", i, "is not consumed")};
  }
  CaseResult result = conformance_case.error ? CheckError(*conformance_case.error, results, chain)
                                             : CheckResults(conformance_case, results, chain);
  for (size_t i = 0; i < kept.size() && result.failure.empty(); ++i) {
    const TensorHandle on_host = OnHost(kept[i]);
    ThrowIfError(runtime_.host().Await(on_host));
    if (!IsSame(conformance_case.inputs[i], on_host.tensor())) result.failure = TextOf("argument", i, "was changed");
  }
  return result;
}

TensorHandle Session::MakeInput(const TensorSpec& spec, Memory memory) {
  HostContext& host = runtime_.host();
  if (spec.metadata.dtype == DType::kString) {
    const std::vector<std::string_view> strings(spec.strings.begin(), spec.strings.end());
    return TensorHandle::MakeAvailable(
        ValueOrThrow(MakeString(spec.metadata.shape, strings, host.device(), host.allocator())));
  }
  if (memory == Memory::kRuntime) {
    return TensorHandle::MakeAvailable(
        ValueOrThrow(MakeDense(spec.metadata, spec.bytes, host.device(), host.allocator())));
  }
  auto* bytes = new std::byte[spec.bytes.size()];
  std::ranges::copy(spec.bytes, bytes);
  RcRef<HostBuffer> buffer =
      ValueOrThrow(HostAllocator::WrapExternal(bytes, spec.bytes.size(), [bytes] { delete[] bytes; }));
  return TensorHandle::MakeAvailable(Tensor(spec.metadata, &host.device(), kDenseHost, bytes, std::move(buffer)));
}

std::vector<TensorHandle> Session::MakeInputs(const ConformanceCase& conformance_case, Memory memory) {
  const std::vector<TensorSpec>& specs = conformance_case.inputs;
  const bool share = conformance_case.HasTag("alias");
  std::vector<TensorHandle> handles;
  for (size_t i = 0; i < specs.size(); ++i) {
    const size_t first = share ? static_cast<size_t>(std::ranges::find(specs, specs[i]) - specs.begin()) : i;
    if (first < i) {
      handles.push_back(handles[first].CopyRef());
      continue;
    }
    TensorHandle handle = MakeInput(specs[i], memory);
    // Strings stay: no device has them.
    if (IsRemote() && specs[i].metadata.dtype != DType::kString) {
      handle = handle.TransferTo(ExecutionContext(runtime_.host(), Location()), *handler_->device());
    }
    handles.push_back(std::move(handle));
  }
  return handles;
}

CaseResult Session::CheckResults(const ConformanceCase& conformance_case, std::span<const TensorHandle> results,
                                 const AsyncValueRef<Chain>& chain) {
  HostContext& host = runtime_.host();
  CaseResult result;
  ResultBits bits;
  if (conformance_case.outputs.size() > results.size()) {
    return {"expected " + std::to_string(conformance_case.outputs.size()) + " results, the op has " +
            std::to_string(results.size())};
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Status status = host.Await(results[i]);
    if (!status.ok() && i >= conformance_case.outputs.size()) {
      bits.AddError();
      continue;
    }
    if (!status.ok()) return {TextOf("result", i, status.ToString())};
    const TensorHandle on_host = OnHost(results[i]);
    status = host.Await(on_host);
    if (!status.ok()) return {TextOf("result", i, status.ToString())};
    const Tensor& actual = on_host.tensor();
    if (!(results[i].metadata() == actual.metadata())) return {TextOf("result", i, "metadata is not the tensor's")};
    const bool is_string = actual.dtype() == DType::kString;
    const Tensor dense = is_string ? actual : ValueOrThrow(ToDense(actual, host.allocator()));
    bits.Add(dense);
    if (i >= conformance_case.outputs.size()) continue;
    const Comparison comparison = Compare(conformance_case.outputs[i], dense, conformance_case.tolerance,
                                          /*is_strict=*/conformance_case.HasTag("special"));
    result.worst_ulp = std::max(result.worst_ulp, comparison.worst_ulp);
    if (!comparison.difference.empty()) return {TextOf("result", i, comparison.difference), result.worst_ulp};
  }
  if (chain.IsValid()) {
    const AsyncValue* const value = chain.value();
    if (const Status status = host.Await({&value, 1}); !status.ok()) return {"chain: " + status.ToString()};
    if (chain.IsError()) return {"chain: " + chain.GetError().ToString()};
  }
  result.bits = bits.hash();
  return result;
}

CaseResult Session::CheckError(const std::string& expected, std::span<const TensorHandle> results,
                               const AsyncValueRef<Chain>& chain) {
  const auto differs = [&](const Status& status) -> std::optional<std::string> {
    if (status.ok()) return "expected the error \"" + expected + "\", got none";
    if (status.message() == expected) return std::nullopt;
    return "expected the error \"" + expected + "\", got \"" + std::string(status.message()) + "\"";
  };
  for (size_t i = 0; i < results.size(); ++i) {
    if (const auto text = differs(runtime_.host().Await(results[i]))) return {TextOf("result", i, *text)};
  }
  if (chain.IsValid()) {
    const AsyncValue* const value = chain.value();
    Status status = runtime_.host().Await({&value, 1});
    if (status.ok() && chain.IsError()) status = chain.GetError();
    if (const auto text = differs(status)) return {"chain: " + *text};
  }
  return {};
}

}  // namespace tandem::conformance
