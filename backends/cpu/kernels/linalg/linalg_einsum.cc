// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Einsum: sums over what only one input has, then a batch of products of matrices, read and written where they lie if
// their elements are at regular distances; else rearranged before or after.

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "gemm/gemm_batch.h"
#include "kernels/elementwise/elementwise_blocks.h"
#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/half_rows.h"
#include "kernels/linalg/linalg.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/reduction/reduction.h"
#include "kernels/shape/shape_strided_copy.h"
#include "tandem/einsum_equation.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// A set of labels: bit by label.
using LabelSet = uint64_t;
static_assert(EinsumEquation::kNumLabels <= 64);

constexpr LabelSet Bit(int label) { return LabelSet{1} << label; }

// Labels in order, outermost first.
struct LabelList {
  int size = 0;
  uint8_t labels[2 * TensorShape::kMaxRank];

  void Append(int label) { labels[size++] = static_cast<uint8_t>(label); }
  void Append(const LabelList& other) {
    for (int i = 0; i < other.size; ++i) Append(other.labels[i]);
  }
};

// A tensor whose element at given numbers for its labels is at the sum of number times stride.
struct LabeledTensor {
  const std::byte* data = nullptr;
  LabelSet labels = 0;                          // of size 2 at least
  int64_t strides[EinsumEquation::kNumLabels];  // in elements
  RcRef<HostBuffer> buffer;                     // of `data`, unless it is an argument
};

// What all steps of a call need.
class Einsum {
 public:
  Einsum(KernelFrame& frame, const EinsumEquation& equation, const ReductionRows& sum)
      : frame_(frame), equation_(equation), sum_(sum), element_size_(DTypeSize(frame.result_metadata(0).dtype)) {}

  KernelFrame& frame() const { return frame_; }
  size_t element_size() const { return element_size_; }
  int64_t size_of(int label) const { return equation_.sizes[label]; }

  int64_t SizeOf(const LabelList& list) const {
    int64_t size = 1;
    for (int i = 0; i < list.size; ++i) size *= size_of(list.labels[i]);
    return size;
  }

  // Labels `of` a dense tensor of shape `shape` at `data`; without those of size 1, which have no effect.
  LabeledTensor View(const EinsumEquation::Labels& of, const TensorShape& shape, const void* data) const {
    LabeledTensor view;
    view.data = static_cast<const std::byte*>(data);
    int64_t stride = 1;
    for (int i = of.rank - 1; i >= 0; --i) {
      const int label = of.of[i];
      if (shape.dim(i) != 1) {
        view.strides[label] = (view.labels & Bit(label)) != 0 ? view.strides[label] + stride : stride;
        view.labels |= Bit(label);
      }
      stride *= shape.dim(i);
    }
    return view;
  }

  // Those labels of the result that are in `set`, in its order, each once.
  LabelList InOrderOfResult(LabelSet set) const {
    LabelList list;
    for (int i = 0; i < equation_.output.rank; ++i) {
      const int label = equation_.output.of[i];
      if ((set & Bit(label)) != 0) list.Append(label);
      set &= ~Bit(label);
    }
    return list;
  }

  // The labels in `set` from the largest to the smallest stride.
  LabelList InOrderOf(const LabeledTensor& tensor, LabelSet set) const {
    LabelList list;
    for (; set != 0; set &= set - 1) list.Append(std::countr_zero(set));
    std::sort(list.labels, list.labels + list.size,
              [&](int x, int y) { return tensor.strides[x] > tensor.strides[y]; });
    return list;
  }

  // Whether a step along the labels, taken as one dimension, is the same everywhere; which then is `stride`.
  bool Merges(const LabelList& list, const LabeledTensor& tensor, int64_t* stride) const {
    for (int i = 0; i + 1 < list.size; ++i) {
      const int inner = list.labels[i + 1];
      if (tensor.strides[list.labels[i]] != size_of(inner) * tensor.strides[inner]) return false;
    }
    *stride = list.size == 0 ? 1 : tensor.strides[list.labels[list.size - 1]];
    return true;
  }

  bool IsContiguous(const LabelList& list, const LabeledTensor& tensor) const {
    int64_t stride;
    return Merges(list, tensor, &stride) && stride == 1;
  }

  StatusOr<RcRef<HostBuffer>> Allocate(int64_t elements) const {
    return frame_.host().allocator().Allocate(static_cast<size_t>(elements) * element_size_);
  }

  // The tensor without gaps in the order of `list`, which has all of its labels: itself if it is so, else a copy.
  Status Arrange(const LabelList& list, LabeledTensor& tensor) const {
    if (IsContiguous(list, tensor)) return Status();
    TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, Allocate(SizeOf(list)));
    LabeledTensor arranged = Contiguous(list, buffer->data());
    Copy(list, tensor, arranged, buffer->data());
    arranged.buffer = std::move(buffer);
    tensor = std::move(arranged);
    return Status();
  }

  LabeledTensor Contiguous(const LabelList& list, const void* data) const {
    LabeledTensor tensor;
    tensor.data = static_cast<const std::byte*>(data);
    int64_t stride = 1;
    for (int i = list.size - 1; i >= 0; --i) {
      tensor.labels |= Bit(list.labels[i]);
      tensor.strides[list.labels[i]] = stride;
      stride *= size_of(list.labels[i]);
    }
    return tensor;
  }

  // Copies the elements at all numbers of the labels in `list` to where `to` has them, in the memory at `out`.
  void Copy(const LabelList& list, const LabeledTensor& from, const LabeledTensor& to, void* out) const {
    StridedCopy copy(element_size_);
    for (int i = 0; i < list.size; ++i) {
      const int label = list.labels[i];
      copy.AddDim(size_of(label), to.strides[label], from.strides[label]);
    }
    copy.Run(frame_, out, from.data);
  }

  // Sums over the labels in `set`.
  Status SumOver(LabelSet set, LabeledTensor& tensor) const {
    if (set == 0) return Status();
    // Where it lies if that has no gaps nor diagonals, else with the labels that are left first.
    LabelList order = InOrderOf(tensor, tensor.labels);
    if (!IsContiguous(order, tensor)) {
      order = InOrderOf(tensor, tensor.labels & ~set);
      order.Append(InOrderOf(tensor, set));
      TANDEM_RETURN_IF_ERROR(Arrange(order, tensor));
    }
    LabelList left;
    TensorShape shape;
    ReducedDims reduced = {};
    for (int i = 0; i < order.size; ++i) {
      const int label = order.labels[i];
      reduced[static_cast<size_t>(i)] = (set & Bit(label)) != 0;
      if (!reduced[static_cast<size_t>(i)]) left.Append(label);
      shape.Append(size_of(label));
    }
    TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer, Allocate(SizeOf(left)));
    TANDEM_RETURN_IF_ERROR(Reduce(frame_, sum_, shape, reduced, tensor.data, buffer->data()));
    tensor = Contiguous(left, buffer->data());
    tensor.buffer = std::move(buffer);
    return Status();
  }

 private:
  KernelFrame& frame_;
  const EinsumEquation& equation_;
  const ReductionRows& sum_;
  const size_t element_size_;
};

// A contraction of two tensors: its labels by the part they play.
struct Contraction {
  LabeledTensor a;
  LabeledTensor b;
  LabelList batch;  // in both and in the result
  LabelList rows;   // in A and in the result
  LabelList cols;   // in B and in the result
  LabelList inner;  // in A and in B

  LabelList ResultOrder() const {
    LabelList order = batch;
    order.Append(rows);
    order.Append(cols);
    return order;
  }
};

// One of the factors as a batch of matrices of `down` times `across`, rearranged if it is not, or if neither has
// neighbours: `stride_of_one` is what counts as the stride of a dimension without labels.
Status MakeMatrix(const Einsum& einsum, const LabelList& batch, const LabelList& down, const LabelList& across,
                  int64_t stride_of_one, LabeledTensor& tensor, int64_t* down_stride, int64_t* across_stride) {
  const auto fits = [&] {
    if (!einsum.Merges(down, tensor, down_stride) || !einsum.Merges(across, tensor, across_stride)) return false;
    if (down.size == 0) *down_stride = stride_of_one;
    if (across.size == 0) *across_stride = stride_of_one;
    return *down_stride == 1 || *across_stride == 1;
  };
  if (!fits()) {
    LabelList order = batch;
    order.Append(down);
    order.Append(across);
    TANDEM_RETURN_IF_ERROR(einsum.Arrange(order, tensor));
    fits();
  }
  return Status();
}

// The sums of products, into the elements of `result`, in the memory at `out`. The rows of the result must be at
// regular distances, its columns neighbours.
template <typename T>
Status Multiply(const Einsum& einsum, Contraction& c, const LabeledTensor& result, void* out) {
  int64_t stride;
  // The order of the inner labels is free: one that suits both if there is, else that of A.
  c.inner = einsum.InOrderOf(c.b, c.a.labels & c.b.labels & ~result.labels);
  if (!einsum.Merges(c.inner, c.a, &stride)) {
    c.inner = einsum.InOrderOf(c.a, c.a.labels & c.b.labels & ~result.labels);
  }
  MatrixView<T> a, b;
  // Of two vectors both must be without gaps.
  const int64_t stride_of_one = c.rows.size == 0 && c.cols.size == 0 ? 0 : 1;
  TANDEM_RETURN_IF_ERROR(
      MakeMatrix(einsum, c.batch, c.rows, c.inner, stride_of_one, c.a, &a.row_stride, &a.col_stride));
  TANDEM_RETURN_IF_ERROR(
      MakeMatrix(einsum, c.batch, c.inner, c.cols, stride_of_one, c.b, &b.row_stride, &b.col_stride));
  a.data = reinterpret_cast<const T*>(c.a.data);
  b.data = reinterpret_cast<const T*>(c.b.data);
  const int64_t k = einsum.SizeOf(c.inner);
  // A single column is better taken as one than as many rows of one element.
  if (c.cols.size == 0 && b.row_stride == 1) b.col_stride = k;
  GemmBatch batch;
  for (int i = 0; i < c.batch.size; ++i) {
    const int label = c.batch.labels[i];
    batch.AddDim({einsum.size_of(label), c.a.strides[label], c.b.strides[label], result.strides[label]});
  }
  const int64_t n = einsum.SizeOf(c.cols);
  int64_t ldc = n;
  if (c.rows.size > 0) einsum.Merges(c.rows, result, &ldc);
  return BatchGemm<T>(&einsum.frame().exec().work_queue(), batch, einsum.SizeOf(c.rows), n, k, a, b,
                      static_cast<T*>(out), ldc);
}

// Products without sums: element by element, those of one input spread, into memory in the order of the labels.
Status MultiplyElements(const Einsum& einsum, const RowFunction& multiply, Contraction& c, void* out) {
  LabelList a_order = c.batch;
  a_order.Append(c.rows);
  LabelList b_order = c.batch;
  b_order.Append(c.cols);
  TANDEM_RETURN_IF_ERROR(einsum.Arrange(a_order, c.a));
  TANDEM_RETURN_IF_ERROR(einsum.Arrange(b_order, c.b));
  const int64_t batch = einsum.SizeOf(c.batch);
  const int64_t rows = einsum.SizeOf(c.rows);
  const int64_t cols = einsum.SizeOf(c.cols);
  const TensorShape a_shape = {batch, rows, 1};
  const TensorShape b_shape = {batch, 1, cols};
  const std::array<Operand, 2> operands = {Operand{c.a.data, &a_shape, einsum.element_size(), false},
                                           Operand{c.b.data, &b_shape, einsum.element_size(), false}};
  const ElementwiseLoop loop(multiply, operands, {batch, rows, cols}, einsum.element_size());
  constexpr double kCost = 0.2;
  einsum.frame().ParallelFor(batch * rows * cols, kCost, [&](int64_t begin, int64_t end) {
    loop.Compute(begin, end, static_cast<std::byte*>(out));
  });
  return Status();
}

template <typename T>
class EinsumKernel {
 public:
  EinsumKernel(const ReductionRows& sum, const RowFunction& multiply) : sum_(sum), multiply_(multiply) {}

  Status operator()(VariadicArgs inputs, KernelFrame& frame) const {
    const TensorMetadata* metadata[EinsumEquation::kMaxInputs];
    for (size_t i = 0; i < inputs.size(); ++i) metadata[i] = &inputs[i].metadata();
    std::string_view text;
    frame.attrs().Get("equation", &text);
    TANDEM_ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text, {metadata, inputs.size()}));
    void* out = frame.AllocateResult(0);
    const TensorMetadata& result = frame.result_metadata(0);
    if (out == nullptr || result.num_elements() == 0) return Status();
    bool is_empty = false;
    for (size_t i = 0; i < inputs.size(); ++i) is_empty = is_empty || inputs[i].size() == 0;
    const Einsum einsum(frame, equation, sum_);
    const LabeledTensor output = einsum.View(equation.output, result.shape, out);
    LabelList each_once = einsum.InOrderOfResult(output.labels);
    const bool has_diagonal = einsum.SizeOf(each_once) != result.num_elements();
    if (is_empty || has_diagonal) ClearLong(static_cast<std::byte*>(out), result.byte_size());
    if (is_empty) return Status();
    const auto view = [&](size_t i) {
      return einsum.View(equation.inputs[i], inputs[i].shape(), inputs[i].template data<void>());
    };
    if (inputs.size() == 1) {
      LabeledTensor tensor = view(0);
      TANDEM_RETURN_IF_ERROR(einsum.SumOver(tensor.labels & ~output.labels, tensor));
      einsum.Copy(each_once, tensor, output, out);
      return Status();
    }
    return Contract(einsum, view(0), view(1), output, has_diagonal, out);
  }

 private:
  Status Contract(const Einsum& einsum, LabeledTensor a, LabeledTensor b, const LabeledTensor& output,
                  bool has_diagonal, void* out) const {
    TANDEM_RETURN_IF_ERROR(einsum.SumOver(a.labels & ~b.labels & ~output.labels, a));
    TANDEM_RETURN_IF_ERROR(einsum.SumOver(b.labels & ~a.labels & ~output.labels, b));
    const LabelList order = einsum.InOrderOfResult(output.labels);
    // The result's last label makes columns.
    if (order.size > 0 && (b.labels & Bit(order.labels[order.size - 1])) == 0) std::swap(a, b);
    Contraction c;
    c.batch = einsum.InOrderOfResult(a.labels & b.labels);
    c.rows = einsum.InOrderOfResult(a.labels & ~b.labels);
    c.cols = einsum.InOrderOfResult(b.labels & ~a.labels);
    // All elements of one by all of the other are as well a product of matrices, with an inner dimension of 1.
    const bool is_matrices = (a.labels & b.labels & ~output.labels) != 0 || (c.rows.size > 0 && c.cols.size > 0);
    c.a = std::move(a);
    c.b = std::move(b);
    if (!has_diagonal && IsInPlace(einsum, c, is_matrices, output)) return Compute(einsum, c, is_matrices, output, out);
    const LabelList result_order = c.ResultOrder();
    TANDEM_ASSIGN_OR_RETURN(const RcRef<HostBuffer> buffer, einsum.Allocate(einsum.SizeOf(result_order)));
    const LabeledTensor result = einsum.Contiguous(result_order, buffer->data());
    TANDEM_RETURN_IF_ERROR(Compute(einsum, c, is_matrices, result, buffer->data()));
    einsum.Copy(order, result, output, out);
    return Status();
  }

  // Whether products can be written where the result has them.
  static bool IsInPlace(const Einsum& einsum, const Contraction& c, bool is_matrices, const LabeledTensor& output) {
    if (!is_matrices) return einsum.IsContiguous(c.ResultOrder(), output);
    int64_t stride;
    // A column of its own is computed as a row, which has no gaps.
    if (c.cols.size == 0 && c.rows.size > 0) return false;
    return einsum.IsContiguous(c.cols, output) && einsum.Merges(c.rows, output, &stride);
  }

  Status Compute(const Einsum& einsum, Contraction& c, bool is_matrices, const LabeledTensor& result, void* out) const {
    return is_matrices ? Multiply<T>(einsum, c, result, out) : MultiplyElements(einsum, multiply_, c, out);
  }

  ReductionRows sum_;
  RowFunction multiply_;
};

// The product of two elements of the dtype.
RowFunction FindMultiply(DType dtype) {
  const bool is_half = dtype == DType::kF16 || dtype == DType::kBF16;
  RowFunction function;
  for (const RowEntry& entry : SimdRows()) {
    if (std::string_view(entry.op) == "tf.Mul" && entry.dtypes.Contains(is_half ? DType::kF32 : dtype)) {
      function.row = entry.row;
    }
  }
  if (is_half) {
    const HalfRows halves(dtype);
    function.widen = halves.widen;
    function.narrow = halves.narrow;
    function.widened_size = sizeof(float);
    function.unnarrowed_size = sizeof(float);
  }
  return function;
}

// A bound from below that suffices to tell small calls: a nanosecond for each element that is read or written.
double EinsumCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  double elements = static_cast<double>(results[0].num_elements());
  for (const TensorMetadata* arg : args) elements += static_cast<double>(arg->num_elements());
  return elements;
}

template <typename T>
Status AddEinsum([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild(kDTypeOf<T>, "tf.Einsum")) {
    const EinsumKernel<T> kernel(FindReductionRows(ReductionOp::kSum, kDTypeOf<T>), FindMultiply(kDTypeOf<T>));
    return handler.AddKernel("tf.Einsum", {kDTypeOf<T>},
                             MakeRecordedKernel<"tf.Einsum", kDTypeOf<T>>(kernel).WithCost(CostModel{0, &EinsumCost}));
  }
  return Status();
}

}  // namespace

Status RegisterEinsumKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddEinsum<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddEinsum<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddEinsum<float>(handler));
  TANDEM_RETURN_IF_ERROR(AddEinsum<double>(handler));
  TANDEM_RETURN_IF_ERROR(AddEinsum<int32_t>(handler));
  TANDEM_RETURN_IF_ERROR(AddEinsum<int64_t>(handler));
  return AddEinsum<std::complex<float>>(handler);
}

}  // namespace tandem::cpu
