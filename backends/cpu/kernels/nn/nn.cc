// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Biases, softmax and its loss, gradients of activations.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/elementwise/elementwise_blocks.h"
#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/half_rows.h"
#include "kernels/kernels.h"
#include "kernels/nn/nn_rows.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/reduction/reduction.h"
#include "kernels/scratch.h"
#include "simd/portable_math.h"
#include "simd/simd_math.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element: of sums and the like, which wait for memory, and of softmax.
constexpr float kRowCost = 0.2f;
constexpr float kSoftmaxCost = 1.5f;

// Result 0 from two operands, by a row; the result may take over the memory of the argument at position `forwarded`.
Status ComputeRows(KernelFrame& frame, const RowFunction& function, float cost, const std::array<Operand, 2>& operands,
                   const TensorShape& shape, std::initializer_list<size_t> forwarded) {
  auto* out = frame.ForwardOrAllocateResult<std::byte>(0, forwarded);
  const int64_t n = shape.num_elements();
  if (out == nullptr || n == 0) return Status();
  const ElementwiseLoop loop(function, operands, shape, DTypeSize(frame.result_metadata(0).dtype));
  frame.ParallelFor(n, cost, [&](int64_t begin, int64_t end) { loop.Compute(begin, end, out); });
  return Status();
}

Operand DenseOperand(const DenseArg& arg, const TensorShape& shape) {
  return {arg.data<std::byte>(), &shape, DTypeSize(arg.dtype()), /*is_single=*/false};
}

// The dimension of a tensor that biases are for.
int ChannelAxis(const OpAttrsRef& attrs, int rank) {
  return attrs.GetOr<std::string_view>("data_format", "NHWC") == "NCHW" ? 1 : rank - 1;
}

struct BiasAddKernel {
  RowFunction add;

  Status operator()(DenseArg value, DenseArg bias, KernelFrame& frame) const {
    const TensorShape& shape = value.shape();
    const int axis = ChannelAxis(frame.attrs(), shape.rank());
    // With the dimensions after the channels, so that it broadcasts.
    TensorShape bias_shape = bias.shape();
    for (int i = axis + 1; i < shape.rank(); ++i) bias_shape.Append(1);
    return ComputeRows(frame, add, kRowCost, {DenseOperand(value, shape), DenseOperand(bias, bias_shape)}, shape, {0});
  }
};

struct BiasAddGradKernel {
  ReductionRows sum;

  Status operator()(DenseArg out_backprop, KernelFrame& frame) const {
    void* out = frame.AllocateResult(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = out_backprop.shape();
    ReducedDims reduced;
    reduced.fill(true);
    reduced[static_cast<size_t>(ChannelAxis(frame.attrs(), shape.rank()))] = false;
    return Reduce(frame, sum, shape, reduced, out_backprop.data<void>(), out);
  }
};

struct GradientKernel {
  RowFunction function;
  float cost;
  const char* parameter;  // a float attribute that the row gets; null: none

  Status operator()(DenseArg x, DenseArg y, KernelFrame& frame) const {
    const TensorShape& shape = x.shape();
    RowFunction with_parameter = function;
    const float value = parameter == nullptr ? 0.0f : frame.attrs().GetOr(parameter, 0.0f);
    with_parameter.parameter = &value;
    return ComputeRows(frame, with_parameter, cost, {DenseOperand(x, shape), DenseOperand(y, shape)}, shape, {0, 1});
  }
};

// Where to compute the `n` numbers at `out`: there, or in `scratch` if they are narrowed afterwards.
template <typename T>
StatusOr<Widened<T>*> ComputePlace(const KernelFrame& frame, int64_t n, T* out, Scratch<Widened<T>>& scratch) {
  if constexpr (std::is_same_v<T, Widened<T>>) {
    return out;
  } else {
    TANDEM_RETURN_IF_ERROR(scratch.Init(frame, n));
    return scratch.data();
  }
}

template <typename T>
struct SoftmaxKernel {
  HalfRows halves;
  bool log;

  Status operator()(DenseArg logits, KernelFrame& frame) const {
    T* out = frame.ForwardOrAllocateResult<T>(0, {0});
    const int64_t n = logits.size();
    if (out == nullptr || n == 0) return Status();
    Scratch<Widened<T>> scratch;
    TANDEM_ASSIGN_OR_RETURN(Widened<T>* const place, ComputePlace(frame, n, out, scratch));
    const int64_t cols = logits.shape().dim(logits.shape().rank() - 1);
    frame.ParallelFor(n / cols, kSoftmaxCost * static_cast<double>(cols), [&](int64_t first, int64_t last) {
      const int64_t begin = first * cols;
      const int64_t size = (last - first) * cols;
      Widened<T>* y = place + begin;
      const Widened<T>* x = halves.Widen(logits.data<T>() + begin, size, y);
      log ? simd::LogSoftmax(x, last - first, cols, y) : simd::Softmax(x, last - first, cols, y);
      halves.Narrow(y, size, out + begin);
    });
    return Status();
  }
};

int64_t LabelAt(const DenseArg& labels, int64_t i) {
  return labels.dtype() == DType::kI32 ? labels.data<int32_t>()[i] : labels.data<int64_t>()[i];
}

template <typename T>
struct SparseCrossEntropyKernel {
  HalfRows halves;

  Status operator()(DenseArg features, DenseArg labels, KernelFrame& frame) const {
    const int64_t rows = features.shape().dim(0);
    const int64_t cols = features.shape().dim(1);
    StopPoll poll(kPollElements);
    for (int64_t row = 0; row < rows; ++row) {
      if (poll.Stops()) return KernelRun::CheckWanted();
      const int64_t label = LabelAt(labels, row);
      if (label >= 0 && label < cols) continue;
      return InvalidArgument("labels must be in [0, ", cols, "), got ", label, " in row ", row);
    }
    T* loss = frame.AllocateResult<T>(0);
    T* backprop = frame.ForwardOrAllocateResult<T>(1, {0});
    if (loss == nullptr || backprop == nullptr || rows == 0) return Status();
    Scratch<Widened<T>> scratch;
    TANDEM_ASSIGN_OR_RETURN(Widened<T>* const place, ComputePlace(frame, rows * cols, backprop, scratch));
    frame.ParallelFor(rows, kSoftmaxCost * static_cast<double>(cols) + 20, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        Widened<T>* gradient = place + row * cols;
        const Widened<T>* x = halves.Widen(features.data<T>() + row * cols, cols, gradient);
        loss[row] = static_cast<T>(LossOf(x, cols, LabelAt(labels, row), gradient));
        halves.Narrow(gradient, cols, backprop + row * cols);
      }
    });
    return Status();
  }

 private:
  // Leaves the gradient in `gradient`, which may be `x`.
  template <typename A>
  static A LossOf(const A* x, int64_t cols, int64_t label, A* gradient) {
    const A below_max = simd::Max(x, cols) - x[label];
    simd::Softmax(x, 1, cols, gradient);
    // The softmax of the largest element is one over the sum of the exponentials.
    const A largest = simd::Max(gradient, cols);
    const A log_sum = -(KernelRun::IsExact() ? static_cast<A>(portable::Log(largest)) : std::log(largest));
    gradient[label] -= 1;
    return below_max + log_sum;
  }
};

template <typename T>
Status AddSoftmaxKernels([[maybe_unused]] KernelOpHandler& handler) {
  constexpr DType kDType = kDTypeOf<T>;
  [[maybe_unused]] const auto add = [&](const char* name, Kernel&& kernel) {
    return handler.AddKernel(name, {kDType}, std::move(kernel).WithCost(kSoftmaxCost / 2));
  };
  if constexpr (IsInBuild(kDType, "tf.Softmax")) {
    TANDEM_RETURN_IF_ERROR(
        add("tf.Softmax", MakeRecordedKernel<"tf.Softmax", kDType>(SoftmaxKernel<T>{HalfRows(kDType), /*log=*/false})));
  }
  if constexpr (IsInBuild(kDType, "tf.LogSoftmax")) {
    TANDEM_RETURN_IF_ERROR(add("tf.LogSoftmax", MakeRecordedKernel<"tf.LogSoftmax", kDType>(
                                                    SoftmaxKernel<T>{HalfRows(kDType), /*log=*/true})));
  }
  if constexpr (IsInBuild(kDType, "tf.SparseSoftmaxCrossEntropyWithLogits")) {
    TANDEM_RETURN_IF_ERROR(add("tf.SparseSoftmaxCrossEntropyWithLogits",
                               MakeRecordedKernel<"tf.SparseSoftmaxCrossEntropyWithLogits", kDType>(
                                   SparseCrossEntropyKernel<T>{HalfRows(kDType)})));
  }
  return Status();
}

// Makes kernels of rows that take two operands, and keeps the first error.
class RowKernels {
 public:
  explicit RowKernels(KernelOpHandler& handler) : handler_(handler) {}

  void Add(const RowEntry& entry) {
    if (entry.row == nullptr) return;  // left out of the module
    RowFunction function;
    function.row = entry.row;
    function.row_if_first_single = entry.row_if_first_single;
    function.row_if_rest_single = entry.row_if_rest_single;
    Add(entry, entry.dtypes, function);
    if (!entry.is_float) return;
    for (const DType half : {DType::kF16, DType::kBF16}) {
      const HalfRows halves(half);
      function.widen = halves.widen;
      function.narrow = halves.narrow;
      function.widened_size = sizeof(float);
      function.unnarrowed_size = sizeof(float);
      Add(entry, {half}, function);
    }
  }
  const Status& status() const { return status_; }

 private:
  void Add(const RowEntry& entry, DTypeSet dtypes, const RowFunction& function) {
    const bool is_bias = std::string_view(entry.op) == "tf.AddV2";
    const char* const name = is_bias ? "tf.BiasAdd" : entry.op;
    const float cost = kRowCost + entry.cost;
    Kernel kernel;
    if constexpr (IsInBuild("tf.BiasAdd")) {
      if (is_bias) kernel = MakeRecordedKernel<"tf.BiasAdd">(BiasAddKernel{function});
    }
    if (!is_bias) {
      kernel = MakeRecordedKernel<
          "tf.ReluGrad tf.Relu6Grad tf.SigmoidGrad tf.TanhGrad tf.LeakyReluGrad tf.EluGrad "
          "tf.SeluGrad tf.SoftsignGrad tf.SoftplusGrad">(GradientKernel{function, cost, entry.parameter});
    }
    dtypes = dtypes & DTypesInBuild(name);
    if (dtypes.IsEmpty()) return;
    const Status status = handler_.AddKernel(name, dtypes, std::move(kernel).WithCost(cost / 2));
    if (status_.ok()) status_ = status;
  }

  KernelOpHandler& handler_;
  Status status_;
};

}  // namespace

Status RegisterNnKernels(KernelOpHandler& handler) {
  RowKernels kernels(handler);
  for (const RowEntry& entry : GradientRows()) kernels.Add(entry);
  if constexpr (IsInBuild("tf.BiasAdd")) {
    for (const RowEntry& entry : SimdRows()) {
      if (std::string_view(entry.op) == "tf.AddV2") kernels.Add(entry);
    }
  }
  TANDEM_RETURN_IF_ERROR(kernels.status());
  if constexpr (IsInBuild("tf.BiasAddGrad")) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      const ReductionRows sum = FindReductionRows(ReductionOp::kSum, dtype);
      if (sum.elements.rows == nullptr || !DTypesInBuild("tf.BiasAddGrad").Contains(dtype)) continue;
      TANDEM_RETURN_IF_ERROR(handler.AddKernel(
          "tf.BiasAddGrad", {dtype}, MakeRecordedKernel<"tf.BiasAddGrad">(BiasAddGradKernel{sum}).WithCost(sum.cost)));
    }
  }
  TANDEM_RETURN_IF_ERROR(AddSoftmaxKernels<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddSoftmaxKernels<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddSoftmaxKernels<float>(handler));
  return AddSoftmaxKernels<double>(handler);
}

}  // namespace tandem::cpu
