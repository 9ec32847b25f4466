// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements are told apart by their bits, so that no compiler option and no rounding mode matters.

#include "tandem/nan_guard_op_handler.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "checked_result.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_run.h"
#include "tandem/parallel_for.h"
#include "tandem/tensor_comparison.h"

namespace tandem {

namespace {

constexpr DTypeSet kGuarded = kFloatDTypes | DTypeSet{DType::kC64};
constexpr int64_t kNone = -1;

template <typename Bits>
Bits Magnitude(const void* data, int64_t i) {
  Bits bits;
  std::memcpy(&bits, static_cast<const unsigned char*>(data) + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
  return static_cast<Bits>(bits & (static_cast<Bits>(~Bits{0}) >> 1));
}

// The first number in [begin, end) whose bits without the sign are at least `least`, or kNone.
template <typename Bits>
int64_t FindFrom(const void* data, int64_t begin, int64_t end, Bits least) {
  constexpr int64_t kBlock = 256;
  for (int64_t block = begin; block < end; block += kBlock) {
    const int64_t block_end = std::min(end, block + kBlock);
    bool is_found = false;
    for (int64_t i = block; i < block_end; ++i) is_found |= Magnitude<Bits>(data, i) >= least;
    if (!is_found) continue;
    for (int64_t i = block; i < block_end; ++i) {
      if (Magnitude<Bits>(data, i) >= least) return i;
    }
  }
  return kNone;
}

// The same of all `n` numbers, shared out if they are many. A kernel run that is stopped gives any answer.
template <typename Bits>
int64_t FindFirst(WorkQueue& queue, const void* data, int64_t n, uint64_t infinity, bool infinities) {
  constexpr int64_t kGrain = 1 << 16;
  const auto least = static_cast<Bits>(infinities ? infinity : infinity + 1);
  if (n <= kGrain) return FindFrom<Bits>(data, 0, n, least);
  std::atomic<int64_t> first{n};
  ParallelFor(queue, n, kGrain, [&](int64_t begin, int64_t end) {
    end = std::min(end, first.load(std::memory_order_relaxed));
    const int64_t found = FindFrom<Bits>(data, begin, end, least);
    if (found == kNone) return;
    int64_t before = first.load(std::memory_order_relaxed);
    while (found < before && !first.compare_exchange_weak(before, found, std::memory_order_relaxed)) {
    }
  });
  return first == n ? kNone : first.load();
}

// Of c64, a part of an element.
int64_t FindFirst(WorkQueue& queue, DType dtype, const void* data, int64_t n, bool infinities) {
  switch (dtype) {
    case DType::kF16:
      return FindFirst<uint16_t>(queue, data, n, 0x7c00, infinities);
    case DType::kBF16:
      return FindFirst<uint16_t>(queue, data, n, 0x7f80, infinities);
    case DType::kF32:
      return FindFirst<uint32_t>(queue, data, n, 0x7f800000, infinities);
    case DType::kC64:
      return FindFirst<uint32_t>(queue, data, 2 * n, 0x7f800000, infinities);
    case DType::kF64:
      return FindFirst<uint64_t>(queue, data, n, 0x7ff0000000000000, infinities);
    default:
      return kNone;
  }
}

double NumberAt(DType dtype, const void* data, int64_t i) {
  const auto load = [&]<typename T>(T value) {
    std::memcpy(&value, static_cast<const unsigned char*>(data) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return static_cast<double>(value);
  };
  switch (dtype) {
    case DType::kF16:
      return load(Float16());
    case DType::kBF16:
      return load(BFloat16());
    case DType::kF64:
      return load(0.0);
    default:
      return load(0.0f);
  }
}

// The numbers that a readable tensor keeps: all, one for all, or those that are not zero.
struct KeptNumbers {
  explicit KeptNumbers(const Tensor& tensor)
      : elements(tensor.IsA(kSparseCooHost) ? SparseCooView(tensor).values() : tensor),
        count(tensor.IsA(kScalarHost) ? std::min<int64_t>(1, tensor.num_elements()) : elements.num_elements()) {}

  const Tensor& elements;
  const int64_t count;
};

// The row-major place of the kept element `i`.
int64_t PlaceOf(const Tensor& tensor, int64_t i) {
  if (!tensor.IsA(kSparseCooHost)) return i;
  const std::span<const int64_t> indices = DenseData<int64_t>(SparseCooView(tensor).indices());
  const TensorShape& shape = tensor.shape();
  int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    place = place * shape.dim(axis) + indices[static_cast<size_t>(i * shape.rank() + axis)];
  }
  return place;
}

// Shared by the ops of a handler; outlives it while results that are to be looked at are pending.
class NanGuard final : public RefCounted<NanGuard> {
 public:
  explicit NanGuard(NanGuardOptions options) : options_(std::move(options)) {}

  bool fails() const { return options_.fail; }

  // Looks at result `index` of a call, which has the content of the readable `tensor`. The error it becomes, told, or
  // ok.
  Status Examine(const ExecutionContext& exec, std::string_view op, size_t index, const Tensor& tensor) {
    const KernelRun run(exec);
    const KeptNumbers kept(tensor);
    const DType dtype = tensor.dtype();
    const int64_t found = FindFirst(exec.work_queue(), dtype, kept.elements.data(), kept.count, options_.infinities);
    // Whoever stopped it has told the diagnostic handler.
    if (run.was_stopped()) return options_.fail ? run.Reason().WithContext(op, exec.location()) : Status();
    if (found == kNone) return Status();
    const int64_t element = PlaceOf(tensor, dtype == DType::kC64 ? found / 2 : found);
    const double value = NumberAt(dtype, kept.elements.data(), found);
    MessageBuilder text;
    text.Append("result ", index, options_.infinities ? " must be finite" : " must be without NaN", ", got ");
    AppendElement(text, dtype, kept.elements.data(), dtype == DType::kC64 ? found / 2 : found);
    text.Append(" at ");
    AppendPosition(text, tensor.shape(), element);
    text.Append(" of ", tensor.metadata());
    const Status error = Status::Error(StatusCode::kOutOfRange, text.view(), op, exec.location());
    Report({op, exec.location(), index, tensor.metadata(), element, value, error});
    return options_.fail ? exec.host().EmitError(error) : Status();
  }

 private:
  friend class RefCounted<NanGuard>;
  ~NanGuard() = default;

  void Report(const NanFinding& finding) {
    if (!options_.sink) return;
    const std::lock_guard lock(mutex_);
    options_.sink(finding);
  }

  const NanGuardOptions options_;
  std::mutex mutex_;
};

bool IsGuarded(const TensorHandle& handle) {
  return !handle.IsMetadataAvailable() || kGuarded.Contains(handle.metadata().dtype);
}

// A result that cannot be looked at by the call itself.
class GuardedResult final : public CheckedResult {
 public:
  GuardedResult(const ExecutionContext& exec, std::string_view op, TensorHandle source, RcRef<NanGuard> guard,
                size_t index)
      : CheckedResult(exec, op, std::move(source)), guard_(std::move(guard)), index_(index) {}

 private:
  AsyncValue* Prepare() override {
    const Tensor& tensor = source().tensor();
    if (IsReadable(tensor) || !IsGuarded(source()) || !IsFetchable(exec(), tensor)) return nullptr;
    if (!on_host_.IsValid()) on_host_ = source().TransferTo(exec(), exec().host().device());
    return on_host_.IsAvailable() ? nullptr : on_host_.value().value();
  }
  bool IsLong() const override {
    const Tensor& tensor = source().tensor();
    return IsGuarded(source()) && (IsReadable(tensor) || on_host_.IsValid()) &&
           IsLongCheck(exec(), IsReadable(tensor) ? KeptNumbers(tensor).count : tensor.num_elements());
  }
  Status Check() override {
    if (!IsGuarded(source())) return Status();
    if (on_host_.IsValid()) {
      if (on_host_.IsError()) return guard_->fails() ? on_host_.GetError() : Status();
      return guard_->Examine(exec(), name(), index_, on_host_.tensor());
    }
    if (!IsReadable(source().tensor())) return Status();
    return guard_->Examine(exec(), name(), index_, source().tensor());
  }
  void DropInputs() override {
    CheckedResult::DropInputs();
    on_host_.reset();
  }

  const RcRef<NanGuard> guard_;
  const size_t index_;
  TensorHandle on_host_;  // null if the source itself can be read
};

class NanGuardOp final : public OpImpl {
 public:
  NanGuardOp(RcRef<const OpImpl> op, RcRef<NanGuard> guard)
      : OpImpl(op->name(), op->is_removable()), op_(std::move(op)), guard_(std::move(guard)) {}

  void Invoke(const OpInvocation& invocation) const override {
    op_->Invoke(invocation);
    for (size_t i = 0; i < invocation.results.size(); ++i) Guard(invocation.exec, i, invocation.results[i]);
  }

 private:
  void Guard(const ExecutionContext& exec, size_t i, TensorHandle& result) const {
    if (!result.IsValid() || result.IsError() || !IsGuarded(result)) return;
    if (result.IsConcrete()) {
      const Tensor& tensor = result.tensor();
      if (!IsFetchable(exec, tensor)) return;
      if (IsReadable(tensor) && !IsLongCheck(exec, KeptNumbers(tensor).count)) {
        Status error = guard_->Examine(exec, name(), i, tensor);
        if (!error.ok()) result = TensorHandle::MakeError(std::move(error));
        return;
      }
    }
    auto guarded = MakeRef<GuardedResult>(exec, name(), std::move(result), guard_, i);
    result = guarded ? guarded->MakeResult() : TensorHandle();
    if (!result.IsValid()) {
      const Status error = Status::OutOfMemory().WithContext(name(), exec.location());
      result = TensorHandle::MakeError(exec.host().EmitError(error));
      return;
    }
    guarded.release()->Begin();
  }

  const RcRef<const OpImpl> op_;
  const RcRef<NanGuard> guard_;
};

class NanGuardOpHandler final : public OpHandler {
 public:
  NanGuardOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate, RcRef<NanGuard> guard)
      : OpHandler(name, runtime, &delegate), guard_(std::move(guard)) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(Op op, fallback()->MakeOp(op_name));
    RcRef<const OpImpl> guarded = MakeRef<const NanGuardOp>(op.impl(), guard_);
    if (!guarded) return Status::OutOfMemory();
    return Op(std::move(guarded));
  }

 private:
  const RcRef<NanGuard> guard_;
};

}  // namespace

std::unique_ptr<OpHandler> CreateNanGuardOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate,
                                                   NanGuardOptions options) {
  return std::make_unique<NanGuardOpHandler>(name, runtime, delegate, MakeRef<NanGuard>(std::move(options)));
}

}  // namespace tandem
