// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// SparseToDense, SparseReshape, SparseFillEmptyRows, SparseSegmentSum, SparseSegmentMean.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/converted.h"
#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/sparse/sparse_kernels.h"

namespace tandem::cpu {

Status NewElements::Init(const KernelFrame& frame, DType dtype, const TensorShape& shape) {
  metadata_ = TensorMetadata(dtype, shape);
  if (dtype == DType::kString) {
    element_size_ = sizeof(std::string_view);
    strings_ = TaskArray<std::string_view>(shape.num_elements());
    if (strings_ == nullptr) return Status::OutOfMemory();
    data_ = reinterpret_cast<std::byte*>(strings_.get());
    return Status();
  }
  element_size_ = DTypeSize(dtype);
  TANDEM_ASSIGN_OR_RETURN(dense_, NewDense(frame, dtype, shape));
  data_ = static_cast<std::byte*>(dense_->mutable_data());
  return Status();
}

StatusOr<Tensor> NewElements::Finish(const KernelFrame& frame) {
  if (dense_.has_value()) return *std::move(dense_);
  return MakeString(metadata_.shape, {strings_.get(), static_cast<size_t>(metadata_.num_elements())},
                    frame.host().device(), frame.host().allocator());
}

namespace {

Status SparseToDenseKernel(DenseArg sparse_indices, const Tensor&, const Tensor& sparse_values, const Tensor&,
                           KernelFrame& frame) {
  const Tensor& indices = sparse_indices.tensor();
  const TensorShape& shape = frame.result_metadata(0).shape;
  ElementSource values;
  ElementSource filling;
  TANDEM_RETURN_IF_ERROR(values.Init(frame, 2));
  TANDEM_RETURN_IF_ERROR(filling.Init(frame, 3));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const size_t size = values.element_size();
  FillElements(sink.data(), shape.num_elements(), filling.data(), size);
  const int depth = shape.rank();
  const int64_t count = depth == 0 ? indices.shape().dim(0) : indices.num_elements() / depth;
  const bool validates = frame.attrs().GetOr("validate_indices", true);
  const size_t value_step = sparse_values.shape().rank() == 0 ? 0 : size;
  int64_t previous = -1;
  StopPoll poll(kPollSteps);
  for (int64_t i = 0; i < count; ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    int64_t place = 0;
    for (int d = 0; d < depth; ++d) {
      const int64_t index = IndexAt(indices, i * depth + d);
      if (index < 0 || index >= shape.dim(d)) {
        return InvalidArgument("sparse_indices must be in [0, ", shape.dim(d), ") for dimension ", d, ", got ", index,
                               " for element ", i);
      }
      place = place * shape.dim(d) + index;
    }
    if (validates && place <= previous) {
      return InvalidArgument(
          "sparse_indices must be in ascending order without repetition, which they are not at element ", i);
    }
    previous = place;
    std::memcpy(sink.data() + static_cast<size_t>(place) * size, values.data() + static_cast<size_t>(i) * value_step,
                size);
  }
  sink.Finish(frame);
  return Status();
}

// The product of sizes of at least 0.
StatusOr<int64_t> ProductOf(const int64_t* sizes, int64_t n, const char* name) {
  int64_t product = 1;
  bool fits = true;
  for (int64_t i = 0; i < n; ++i) {
    if (sizes[i] < 0) return InvalidArgument("sizes must be at least 0, got ", name, " with ", sizes[i]);
    fits = !__builtin_mul_overflow(product, sizes[i], &product) && fits;
  }
  if (!fits) return InvalidArgument(name, " must be of at most 2^63-1 elements");
  return product;
}

// The new sizes, with what is missing filled in.
Status ResolveShape(const DenseArg& input_shape, const DenseArg& new_shape, int64_t* sizes) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t total,
                          ProductOf(input_shape.data<int64_t>(), input_shape.size(), "input_shape"));
  std::copy_n(new_shape.data<int64_t>(), new_shape.size(), sizes);
  int64_t* unknown = std::find(sizes, sizes + new_shape.size(), -1);
  const bool is_inferred = unknown != sizes + new_shape.size();
  if (is_inferred) *unknown = 1;
  if (is_inferred && std::find(sizes, sizes + new_shape.size(), -1) != sizes + new_shape.size()) {
    return InvalidArgument("new_shape must have -1 at most once");
  }
  TANDEM_ASSIGN_OR_RETURN(const int64_t known, ProductOf(sizes, new_shape.size(), "new_shape"));
  if (is_inferred && known == 0) return InvalidArgument("the other sizes of new_shape must not be 0 where one is -1");
  if (is_inferred && total % known == 0) *unknown = total / known;
  if (is_inferred ? total % known != 0 : known != total) {
    return InvalidArgument("input_shape and new_shape must be of the same number of elements, got ", total, " and ",
                           known, is_inferred ? " times -1" : "");
  }
  return Status();
}

Status SparseReshapeKernel(DenseArg input_indices, DenseArg input_shape, DenseArg new_shape, KernelFrame& frame) {
  auto* indices = frame.AllocateResult<int64_t>(0);
  auto* sizes = frame.AllocateResult<int64_t>(1);
  if (indices == nullptr || sizes == nullptr) return Status();
  TANDEM_RETURN_IF_ERROR(ResolveShape(input_shape, new_shape, sizes));
  const int64_t depth = input_shape.size();
  const int64_t new_depth = new_shape.size();
  const auto* old_sizes = input_shape.data<int64_t>();
  StopPoll poll(kPollSteps);
  for (int64_t i = 0; i < input_indices.shape().dim(0); ++i) {
    if (poll.Stops(depth + new_depth)) return KernelRun::CheckWanted();
    int64_t place = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t index = input_indices.data<int64_t>()[i * depth + d];
      if (index < 0 || index >= old_sizes[d]) {
        return InvalidArgument("input_indices must be in [0, ", old_sizes[d], ") for dimension ", d, ", got ", index,
                               " for element ", i);
      }
      place = place * old_sizes[d] + index;
    }
    for (int64_t d = new_depth; d-- > 0;) {
      indices[i * new_depth + d] = place % sizes[d];
      place /= sizes[d];
    }
  }
  return Status();
}

Status SparseFillEmptyRowsKernel(DenseArg indices, const Tensor& values, DenseArg dense_shape,
                                 const Tensor& default_value, KernelFrame& frame) {
  const int64_t count = values.num_elements();
  if (indices.shape().rank() != 2 || indices.shape().dim(1) == 0 || values.shape().rank() != 1 ||
      indices.shape().dim(0) != count || dense_shape.shape().rank() != 1 ||
      dense_shape.size() != indices.shape().dim(1)) {
    return InvalidArgument(
        "indices must be [n,rank], values [n] and dense_shape [rank] with a rank of at least 1, got "
        "indices: ",
        indices.metadata(), ", values: ", values.metadata(), ", dense_shape: ", dense_shape.metadata());
  }
  if (default_value.shape().rank() != 0) {
    return InvalidArgument("default_value must be a scalar, got default_value: ", default_value.metadata());
  }
  const int64_t depth = dense_shape.size();
  const int64_t rows = dense_shape.data<int64_t>()[0];
  const auto* index = indices.data<int64_t>();
  if (rows < 0) return InvalidArgument("sizes must be at least 0, got dense_shape with ", rows);
  if (rows == INT64_MAX) return Status::OutOfMemory();
  for (int64_t i = 0; i < count; ++i) {
    if (index[i * depth] >= 0 && index[i * depth] < rows) continue;
    return InvalidArgument("rows must be in [0, ", rows, "), got ", index[i * depth], " for element ", i);
  }
  Scratch<int64_t> next;  // where the next element of each row goes
  TANDEM_RETURN_IF_ERROR(next.Init(frame, rows + 1));
  std::fill_n(next.data(), rows + 1, 0);
  for (int64_t i = 0; i < count; ++i) ++next.data()[index[i * depth] + 1];
  TANDEM_ASSIGN_OR_RETURN(Tensor empty, NewDense(frame, DType::kBool, {rows}));
  TANDEM_ASSIGN_OR_RETURN(Tensor map, NewDense(frame, DType::kI64, {count}));
  for (int64_t row = 0; row < rows; ++row) {
    const bool is_empty = next.data()[row + 1] == 0;
    static_cast<bool*>(empty.mutable_data())[row] = is_empty;
    next.data()[row + 1] += next.data()[row] + (is_empty ? 1 : 0);
  }
  const int64_t total = next.data()[rows];
  TANDEM_ASSIGN_OR_RETURN(Tensor filled, NewDense(frame, DType::kI64, {total, depth}));
  NewElements elements;
  ElementSource source;
  ElementSource filling;
  TANDEM_RETURN_IF_ERROR(elements.Init(frame, values.dtype(), {total}));
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 1));
  TANDEM_RETURN_IF_ERROR(filling.Init(frame, 3));
  const size_t size = elements.element_size();
  auto* out = static_cast<int64_t*>(filled.mutable_data());
  for (int64_t row = 0; row < rows; ++row) {
    if (!static_cast<const bool*>(empty.data())[row]) continue;
    const int64_t at = next.data()[row];
    std::fill_n(out + at * depth, depth, 0);
    out[at * depth] = row;
    std::memcpy(elements.data() + static_cast<size_t>(at) * size, filling.data(), size);
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = next.data()[index[i * depth]]++;
    static_cast<int64_t*>(map.mutable_data())[i] = at;
    std::copy_n(index + i * depth, depth, out + at * depth);
    std::memcpy(elements.data() + static_cast<size_t>(at) * size, source.data() + static_cast<size_t>(i) * size, size);
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor all_values, elements.Finish(frame));
  frame.SetResult(0, std::move(filled));
  frame.SetResult(1, std::move(all_values));
  frame.SetResult(2, std::move(empty));
  frame.SetResult(3, std::move(map));
  return Status();
}

// How many segments there are; each index and each segment's number is checked.
StatusOr<int64_t> CheckSegments(const DenseArg& data, const DenseArg& indices, const DenseArg& segment_ids) {
  if (data.shape().rank() == 0) {
    return InvalidArgument("data must have at least one dimension, got data: ", data.metadata());
  }
  if (indices.shape().rank() != 1 || segment_ids.shape() != indices.shape()) {
    return InvalidArgument("indices and segment_ids must be vectors of the same size, got indices: ",
                           indices.metadata(), ", segment_ids: ", segment_ids.metadata());
  }
  int64_t previous = 0;
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index = IndexAt(indices.tensor(), i);
    const int64_t segment = IndexAt(segment_ids.tensor(), i);
    if (index < 0 || index >= data.shape().dim(0)) {
      return InvalidArgument("indices must be in [0, ", data.shape().dim(0), "), got ", index, " at element ", i);
    }
    if (segment < previous) {
      return InvalidArgument("segment_ids must be at least 0 and ascend, got ", segment, " after ", previous,
                             " at element ", i);
    }
    previous = segment;
  }
  return indices.size() == 0 ? 0 : previous + 1;
}

template <typename T>
Status SegmentsAs(const DenseArg& data, const DenseArg& indices, const DenseArg& segment_ids, bool is_mean,
                  KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t segments, CheckSegments(data, indices, segment_ids));
  TensorShape shape = data.shape();
  const int64_t slice = data.shape().dim(0) == 0 ? 0 : data.size() / data.shape().dim(0);
  shape.SetDim(0, segments);
  if (!shape.IsValid())
    return InvalidArgument("the result must have at most 2^63-1 elements, got ", segments, " segments");
  TANDEM_ASSIGN_OR_RETURN(Tensor result, NewDense(frame, data.dtype(), shape));
  ConvertedArg<T> from;
  Scratch<T> converted;
  TANDEM_RETURN_IF_ERROR(from.Init(frame, data));
  T* sums = static_cast<T*>(result.mutable_data());
  if (data.dtype() != kDTypeOf<T>) {
    TANDEM_RETURN_IF_ERROR(converted.Init(frame, segments * slice));
    sums = converted.data();
  }
  ClearLong(reinterpret_cast<std::byte*>(sums), static_cast<size_t>(segments * slice) * sizeof(T));
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < indices.size();) {
    const int64_t segment = IndexAt(segment_ids.tensor(), i);
    T* const to = sums + segment * slice;
    int64_t count = 0;
    for (; i < indices.size() && IndexAt(segment_ids.tensor(), i) == segment; ++i, ++count) {
      if (poll.Stops(slice + 1)) return KernelRun::CheckWanted();
      const T* slice_data = from.data() + IndexAt(indices.tensor(), i) * slice;
      for (int64_t j = 0; j < slice; ++j) to[j] += slice_data[j];
    }
    for (int64_t j = 0; is_mean && j < slice; ++j) to[j] /= static_cast<T>(count);
  }
  if (data.dtype() != kDTypeOf<T>) {
    ConvertElements(frame, kDTypeOf<T>, sums, data.dtype(), result.mutable_data(), segments * slice);
  }
  frame.SetResult(0, std::move(result));
  return Status();
}

template <bool is_mean>
Status SegmentKernel(DenseArg data, DenseArg indices, DenseArg segment_ids, KernelFrame& frame) {
  if (data.dtype() == DType::kF64) return SegmentsAs<double>(data, indices, segment_ids, is_mean, frame);
  if (kFloatDTypes.Contains(data.dtype())) return SegmentsAs<float>(data, indices, segment_ids, is_mean, frame);
  return SegmentsAs<uint64_t>(data, indices, segment_ids, is_mean, frame);
}

}  // namespace

Status RegisterSparseKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&SparseToDenseKernel>("tf.SparseToDense", DTypeSet::All(), {2}),
      KernelEntryOf<&SparseReshapeKernel>("tf.SparseReshape", {}, {5}),
      KernelEntryOf<&SparseFillEmptyRowsKernel>("tf.SparseFillEmptyRows", DTypeSet::All(), {5}),
      KernelEntryOf<&SegmentKernel<false>>("tf.SparseSegmentSum", kRealDTypes, {1}),
      KernelEntryOf<&SegmentKernel<true>>("tf.SparseSegmentMean", kFloatDTypes, {1}),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  return RegisterRaggedKernels(handler);
}

}  // namespace tandem::cpu
