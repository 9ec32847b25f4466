// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise kernels: rows put to work on whole tensors.

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>

#include "kernels/elementwise/elementwise_blocks.h"
#include "kernels/elementwise/elementwise_fused.h"
#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/elementwise/elementwise_strings.h"
#include "kernels/kernels.h"
#include "kernels/op_record.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// About the time to read or write one byte, in nanoseconds.
constexpr float kByteCost = 0.02f;

// The error for an argument that is neither dense nor a scalar host tensor: the one that other kernels give.
[[gnu::noinline]] Status WrongRepresentation(KernelFrame& frame, size_t i) {
  TANDEM_RETURN_IF_ERROR(internal::CheckDense(frame, i));
  return Internal("argument ", i, " must be a dense or scalar host tensor, got ", frame.arg(i).type().name());
}

Status MakeOperand(KernelFrame& frame, size_t i, Operand* operand) {
  const Tensor& tensor = frame.arg(i);
  const bool is_dense = tensor.IsA(kDenseHost);
  if (!is_dense && !tensor.IsA(kScalarHost)) [[unlikely]]
    return WrongRepresentation(frame, i);
  *operand = {static_cast<const std::byte*>(tensor.data()), &tensor.shape(), DTypeSize(tensor.dtype()), !is_dense};
  return Status();
}

// Memory for the result, if possible that of an argument of the result's shape and element size.
std::byte* MakeResult(KernelFrame& frame) {
  switch (frame.num_args()) {
    case 1:
      return frame.ForwardOrAllocateResult<std::byte>(0, {0});
    case 2:
      return frame.ForwardOrAllocateResult<std::byte>(0, {0, 1});
    default:
      return frame.ForwardOrAllocateResult<std::byte>(0, {1, 2, 0});
  }
}

// `operands` all have the result's shape and are dense, and nothing is converted.
void ComputeDense(const KernelFrame& frame, const RowFunction& function, float cost, std::span<const Operand> operands,
                  std::byte* out) {
  const Row row = function.row;
  const TensorMetadata& result = frame.result_metadata(0);
  std::array<const void*, kMaxOperands + 1> whole;
  whole[operands.size()] = function.parameter;
  for (size_t i = 0; i < operands.size(); ++i) whole[i] = operands[i].data;
  constexpr int64_t kSmall = 1024;
  if (result.num_elements() <= kSmall) return row(whole.data(), out, result.num_elements());
  const auto result_size = static_cast<int64_t>(DTypeSize(result.dtype));
  frame.ParallelFor(result.num_elements(), cost, [&](int64_t begin, int64_t end) {
    std::array<const void*, kMaxOperands + 1> part;
    part[operands.size()] = function.parameter;
    for (size_t i = 0; i < operands.size(); ++i)
      part[i] = operands[i].data + begin * static_cast<int64_t>(operands[i].element_size);
    row(part.data(), out + begin * result_size, end - begin);
  });
}

// The common smallest case: one element, so that every argument has one, and nothing to convert. False if an argument
// is neither dense nor a scalar.
bool ComputeOne(KernelFrame& frame, const RowFunction& function, bool swaps) {
  const size_t num_operands = frame.num_args();
  std::array<const void*, kMaxOperands + 1> elements;
  elements[num_operands] = function.parameter;
  for (size_t i = 0; i < num_operands; ++i) {
    const Tensor& arg = frame.arg(i);
    if (!arg.IsA(kDenseHost) && !arg.IsA(kScalarHost)) [[unlikely]]
      return false;
    elements[swaps ? 1 - i : i] = arg.data();
  }
  if (void* out = frame.AllocateResult(0)) function.row(elements.data(), out, 1);
  return true;
}

// Result 0 from all arguments, in their order or, if there are two and `swaps`, the other way round.
Status Compute(KernelFrame& frame, const RowFunction& function, float cost, bool swaps) {
  const TensorMetadata& result = frame.result_metadata(0);
  const int64_t n = result.num_elements();
  if (n == 1 && !function.ConvertsAny() && ComputeOne(frame, function, swaps)) return Status();
  const size_t num_operands = frame.num_args();
  std::array<Operand, kMaxOperands> storage;
  const std::span operands(storage.data(), num_operands);
  bool is_dense = !function.ConvertsAny();
  for (size_t i = 0; i < num_operands; ++i) {
    Operand& operand = operands[swaps ? 1 - i : i];
    TANDEM_RETURN_IF_ERROR(MakeOperand(frame, i, &operand));
    is_dense = is_dense && operand.shape->num_elements() == n && (n == 1 || !operand.is_single);
  }
  std::byte* out = MakeResult(frame);
  if (out == nullptr || n == 0) return Status();
  if (is_dense) {
    ComputeDense(frame, function, cost, operands, out);
    return Status();
  }
  const ElementwiseLoop loop(function, operands, result.shape, DTypeSize(result.dtype));
  frame.ParallelFor(n, cost, [&](int64_t begin, int64_t end) { loop.Compute(begin, end, out); });
  return Status();
}

struct RowKernel {
  RowFunction function;
  float cost;
  bool swaps;
  OperandCheck check;

  Status operator()(KernelFrame& frame) const {
    if (check != nullptr && frame.result_metadata(0).num_elements() > 0) {
      const size_t last = frame.num_args() - 1;
      Operand operand = {};
      TANDEM_RETURN_IF_ERROR(MakeOperand(frame, last, &operand));
      TANDEM_RETURN_IF_ERROR(
          check(operand.data, operand.is_single ? 1 : operand.shape->num_elements(), *operand.shape));
    }
    return Compute(frame, function, cost, swaps);
  }
};

// Attributes decide about the row or are its parameter.
struct AttributeKernel {
  RowFunction function;
  float cost;
  const char* parameter;
  const char* flag;
  Row row_if_flag;

  Status operator()(KernelFrame& frame) const {
    RowFunction chosen = function;
    float value = 0;
    if (parameter != nullptr) {
      value = frame.attrs().GetOr(parameter, value);
      chosen.parameter = &value;
    }
    if (flag != nullptr && frame.attrs().GetOr(flag, false)) chosen.row = row_if_flag;
    return Compute(frame, chosen, cost, /*swaps=*/false);
  }
};

// tf.Equal and tf.NotEqual, whose metadata function lets shapes pass that do not fit if it is told to. The result is
// then a scalar, which has a lower rank than the arguments and so can be told apart.
struct EqualityKernel {
  RowKernel rows;
  bool if_incompatible;

  static bool IsIncompatible(const KernelFrame& frame) {
    return frame.result_metadata(0).rank() < std::max(frame.arg(0).shape().rank(), frame.arg(1).shape().rank());
  }
  Status operator()(KernelFrame& frame) const {
    if (!IsIncompatible(frame)) [[likely]]
      return rows(frame);
    if (bool* out = frame.AllocateResult<bool>(0); out != nullptr) *out = if_incompatible;
    return Status();
  }
};

struct StringEqualityKernel {
  bool if_equal;

  Status operator()(KernelFrame& frame) const {
    bool* out = frame.AllocateResult<bool>(0);
    if (out == nullptr) return Status();
    if (EqualityKernel::IsIncompatible(frame)) {
      *out = !if_equal;
    } else {
      CompareStrings(frame.arg(0), frame.arg(1), frame.result_metadata(0).shape, if_equal, out);
    }
    return Status();
  }
};

StatusOr<Tensor> SelectStringsKernel(const Tensor& condition, const Tensor& t, const Tensor& e, KernelFrame& frame) {
  return SelectStrings(condition, t, e, frame.result_metadata(0).shape, frame.host());
}

struct CastKernel {
  CastRows rows;

  Status operator()(KernelFrame& frame) const {
    const DType from = frame.arg(0).dtype();
    const DType to = frame.result_metadata(0).dtype;
    if (from == to) {
      frame.SetResult(0, frame.arg(0));
      return Status();
    }
    const RowFunction function = rows.Function(from, to, frame.attrs().GetOr("Truncate", false));
    const float cost = 0.3f + kByteCost * static_cast<float>(DTypeSize(from) + DTypeSize(to));
    return Compute(frame, function, cost, /*swaps=*/false);
  }
};

// The sum of any number of operands, block by block, so that a block of the sum stays in the cache; `add` is the row of
// the sum of two.
class Summation {
 public:
  Summation(const KernelFrame& frame, const RowFunction& add)
      : frame_(frame), add_(add), size_(DTypeSize(frame.result_metadata(0).dtype)) {}

  void Compute(int64_t begin, int64_t end, std::byte* out) const {
    const auto size = static_cast<int64_t>(size_);
    for (int64_t block = begin; block < end; block += kBlock) {
      ComputeBlock(block, std::min(kBlock, end - block), out + block * size);
    }
  }

 private:
  static constexpr int64_t kBlock = 1024;
  struct alignas(64) Buffer {
    std::byte bytes[kBlock * TensorMetadata::kMaxElementSize];
  };

  void ComputeBlock(int64_t begin, int64_t n, std::byte* out) const {
    Buffer sum_buffer;
    Buffer buffer;
    void* sum = add_.narrow == nullptr ? static_cast<void*>(out) : sum_buffer.bytes;
    const void* first = Read(0, begin, n, sum_buffer);
    for (size_t i = 1; i < frame_.num_args(); ++i) {
      const void* const operands[] = {first, Read(i, begin, n, buffer)};
      add_.row(operands, sum, n);
      first = sum;
    }
    if (add_.narrow != nullptr) add_.narrow(&first, out, n);
  }

  // Elements of argument `i`, in its own memory or in `buffer`.
  const void* Read(size_t i, int64_t begin, int64_t n, Buffer& buffer) const {
    const Tensor& arg = frame_.arg(i);
    const auto* elements = static_cast<const std::byte*>(arg.data());
    Buffer repeated;
    if (arg.IsA(kDenseHost)) {
      elements += begin * static_cast<int64_t>(size_);
    } else {
      std::byte* to = add_.widen == nullptr ? buffer.bytes : repeated.bytes;
      for (int64_t j = 0; j < n; ++j) std::memcpy(to + j * static_cast<int64_t>(size_), elements, size_);
      elements = to;
    }
    if (add_.widen == nullptr) return elements;
    const void* narrow = elements;
    add_.widen(&narrow, buffer.bytes, n);
    return buffer.bytes;
  }

  const KernelFrame& frame_;
  const RowFunction& add_;
  size_t size_;
};

struct AddNKernel {
  RowFunction add;
  float cost;  // of one argument's element

  Status operator()(KernelFrame& frame) const {
    if (frame.num_args() == 1) {
      frame.SetResult(0, frame.arg(0));
      return Status();
    }
    Operand operand;
    for (size_t i = 0; i < frame.num_args(); ++i) TANDEM_RETURN_IF_ERROR(MakeOperand(frame, i, &operand));
    // The first two are read before the sum is written, the others are not.
    auto* out = frame.ForwardOrAllocateResult<std::byte>(0, {0, 1});
    if (out == nullptr) return Status();
    const Summation summation(frame, add);
    frame.ParallelFor(frame.result_metadata(0).num_elements(), cost * static_cast<float>(frame.num_args()),
                      [&](int64_t begin, int64_t end) { summation.Compute(begin, end, out); });
    return Status();
  }
};

// A small module gets it when it needs it: EnableProgramFusion.
#ifdef TANDEM_SMALL
constexpr bool kHasFuser = false;
#else
constexpr bool kHasFuser = true;
#endif

// Makes kernels of rows and keeps the first error.
class Registration {
 public:
  explicit Registration(KernelOpHandler& handler) : handler_(handler) {}

  void Add(const RowEntry& entry, DTypeSet dtypes, const RowFunction& function) {
    const std::string_view op = entry.op;
    const DTypeSet of_op = dtypes & DTypesInBuild(op);
    const float tensors = static_cast<float>(entry.num_operands + 1);
    const float cost = entry.cost + tensors * (kByteCost * 4 + (function.ConvertsAny() ? kConversionCost : 0));
    Kernel kernel = KernelOf(entry, function, cost).WithCost(cost / tensors);
    if (dtypes.IsEmpty()) {
      Keep(handler_.AddKernel(op, std::move(kernel)));
    } else if (!of_op.IsEmpty()) {
      Keep(handler_.AddKernel(op, of_op, std::move(kernel)));
    }
    if constexpr (IsInBuild("tf.AddN")) {
      dtypes = dtypes & DTypesInBuild("tf.AddN");
      if (op != "tf.AddV2" || dtypes.IsEmpty()) return;
      Keep(handler_.AddKernel("tf.AddN", dtypes,
                              MakeRecordedKernel<"tf.AddN">(AddNKernel{function, cost / 2}).WithCost(cost / 2)));
    }
  }
  void Keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }

 private:
  static Kernel KernelOf(const RowEntry& entry, const RowFunction& function, float cost) {
    const std::string_view op = entry.op;
    if (entry.parameter != nullptr || entry.flag != nullptr) {
      return MakeRecordedKernel<"tf.LeakyRelu tandem.Gelu">(
          AttributeKernel{function, cost, entry.parameter, entry.flag, entry.row_if_flag});
    }
    const RowKernel rows = {function, cost, entry.swaps, entry.check};
    if constexpr (IsInBuild("tf.Equal") || IsInBuild("tf.NotEqual")) {
      if (op == "tf.Equal" || op == "tf.NotEqual") {
        return MakeRecordedKernel<"tf.Equal tf.NotEqual">(
            EqualityKernel{rows, /*if_incompatible=*/op == "tf.NotEqual"});
      }
    }
    return MakeKernel(rows);
  }

  KernelOpHandler& handler_;
  Status status_;
};

}  // namespace

Status RegisterElementwiseKernels(KernelOpHandler& handler) {
  const CastRows casts;
  Registration registration(handler);
  ForEachRow(casts, [&](const RowEntry& entry, DTypeSet dtypes, const RowFunction& function) {
    registration.Add(entry, dtypes, function);
  });
  constexpr DTypeSet kString = {DType::kString};
  if constexpr (IsInBuild(DType::kString, "tf.Equal")) {
    registration.Keep(
        handler.AddKernel("tf.Equal", kString, MakeRecordedKernel<"tf.Equal">(StringEqualityKernel{true})));
  }
  if constexpr (IsInBuild(DType::kString, "tf.NotEqual")) {
    registration.Keep(
        handler.AddKernel("tf.NotEqual", kString, MakeRecordedKernel<"tf.NotEqual">(StringEqualityKernel{false})));
  }
  if constexpr (IsInBuild(DType::kString, "tf.SelectV2")) {
    registration.Keep(handler.AddKernel("tf.SelectV2", kString, MakeKernel<&SelectStringsKernel>()));
  }
  if constexpr (IsInBuild("tf.Cast")) {
    registration.Keep(handler.AddKernel("tf.Cast", kFixedSizeDTypes & DTypesInBuild("tf.Cast"),
                                        MakeRecordedKernel<"tf.Cast">(CastKernel{casts}).WithCost(0.2f)));
  }
  if constexpr (kHasFuser) handler.SetFuser(std::make_unique<ElementwiseRowFuser>());
  return registration.status();
}

}  // namespace tandem::cpu
