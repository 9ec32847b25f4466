// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RaggedTensorToTensor.

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/polls.h"
#include "kernels/scratch.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"
#include "kernels/sparse/sparse_kernels.h"
#include "kernels/sparse/sparse_ragged.h"

namespace tandem::cpu {
namespace {

// What divides the elements of one dimension among the rows of the one before.
struct Partition {
  bool has_row_ids;  // for each element its row; else where each row begins
  const Tensor* tensor;

  int64_t size() const { return tensor->num_elements(); }
  // How many elements there are, among `rows` rows.
  int64_t NumElements() const { return has_row_ids ? size() : IndexAt(*tensor, size() - 1); }

  // Calls visit(element, row, place in the row) for all elements, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (has_row_ids) {
      int64_t place = 0;
      for (int64_t i = 0; i < size(); ++i) {
        const int64_t row = IndexAt(*tensor, i);
        place = i > 0 && IndexAt(*tensor, i - 1) == row ? place + 1 : 0;
        visit(i, row, place);
      }
      return;
    }
    for (int64_t row = 0; row + 1 < size(); ++row) {
      const int64_t first = IndexAt(*tensor, row);
      for (int64_t i = first; i < IndexAt(*tensor, row + 1); ++i) visit(i, row, i - first);
    }
  }

  // Ok if it divides elements among `rows` rows.
  Status Check(int64_t rows, size_t number) const {
    if (tensor->shape().rank() != 1) {
      return InvalidArgument("row_partition_tensors[", number, "] must be a vector, got ", tensor->metadata());
    }
    if (!has_row_ids && (size() != rows + 1 || IndexAt(*tensor, 0) != 0)) {
      return InvalidArgument("row_partition_tensors[", number, "] must be the splits of ", rows,
                             " rows, from 0 on, got ", tensor->metadata());
    }
    int64_t previous = 0;
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t value = IndexAt(*tensor, i);
      if (value < previous || (has_row_ids && value >= rows)) {
        return InvalidArgument("row_partition_tensors[", number, "] must ascend", has_row_ids ? " below " : ", of ",
                               rows, " rows, got ", value, " at element ", i);
      }
      previous = value;
    }
    return Status();
  }
};

constexpr size_t kMaxPartitions = TensorShape::kMaxRank;

struct Ragged {
  int64_t rows = 0;  // of the first dimension
  size_t num_partitions = 0;
  Partition partitions[kMaxPartitions];
};

StatusOr<Ragged> ReadRagged(const VariadicArgs& tensors, const OpAttrsRef& attrs, int64_t num_values) {
  std::span<const std::string_view> types;
  attrs.GetArray("row_partition_types", &types);
  if (types.size() != tensors.size()) {
    return InvalidArgument("row_partition_types must have one element for each of row_partition_tensors, got ",
                           types.size(), " for ", tensors.size());
  }
  Ragged result;
  const bool has_size = types[0] == "FIRST_DIM_SIZE";
  if (has_size) {
    if (tensors[0].shape().rank() != 0) {
      return InvalidArgument("row_partition_tensors[0] must be a scalar, got ", tensors[0].metadata());
    }
    result.rows = IndexAt(tensors[0].tensor(), 0);
  } else if (types[0] == "ROW_SPLITS") {
    result.rows = tensors[0].size() - 1;
  } else {
    return InvalidArgument("row_partition_types must begin with 'FIRST_DIM_SIZE' or 'ROW_SPLITS', got '", types[0],
                           "'");
  }
  if (result.rows < 0) return InvalidArgument("there must be at least 0 rows, got ", result.rows);
  int64_t rows = result.rows;
  for (size_t i = has_size ? 1 : 0; i < types.size(); ++i) {
    if (types[i] != "VALUE_ROWIDS" && types[i] != "ROW_SPLITS") {
      return InvalidArgument("row_partition_types must be 'VALUE_ROWIDS' or 'ROW_SPLITS', got '", types[i],
                             "' as element ", i);
    }
    if (result.num_partitions == kMaxPartitions) {
      return InvalidArgument("there must be at most ", kMaxPartitions, " row partitions");
    }
    Partition& partition = result.partitions[result.num_partitions++];
    partition = {types[i] == "VALUE_ROWIDS", &tensors[i].tensor()};
    TANDEM_RETURN_IF_ERROR(partition.Check(rows, i));
    rows = partition.NumElements();
  }
  if (rows != num_values) {
    return InvalidArgument("values must have as many elements as row_partition_tensors divide, got ", num_values,
                           " for ", rows);
  }
  return result;
}

// The result's shape: of the ragged dimensions as `shape` says or as long as the longest row, then those of the values.
StatusOr<TensorShape> ResultShape(const DenseArg& shape, const Ragged& ragged, const TensorShape& values) {
  const int rank = static_cast<int>(ragged.num_partitions) + values.rank();
  const bool is_unknown = shape.shape().rank() == 0;
  if (is_unknown ? IndexAt(shape.tensor(), 0) != -1 : shape.shape().rank() != 1 || shape.size() != rank) {
    return InvalidArgument("shape must be -1 or a vector of ", rank, " sizes, got shape: ", shape.metadata());
  }
  if (rank > TensorShape::kMaxRank) {
    return InvalidArgument("the result must have at most ", TensorShape::kMaxRank, " dimensions, got ", rank);
  }
  TensorShape result;
  for (int i = 0; i < rank; ++i) {
    const int64_t given = is_unknown ? -1 : IndexAt(shape.tensor(), i);
    const int value_axis = i - static_cast<int>(ragged.num_partitions);
    if (given < -1 || (value_axis > 0 && given >= 0 && given != values.dim(value_axis))) {
      return InvalidArgument("sizes must be -1 or at least 0, and those of the values' dimensions agree, got ", given,
                             " for dimension ", i);
    }
    int64_t size = given;
    if (value_axis > 0) {
      size = values.dim(value_axis);
    } else if (given < 0 && i == 0) {
      size = ragged.rows;
    } else if (given < 0) {
      size = 0;
      ragged.partitions[i - 1].ForEach([&](int64_t, int64_t, int64_t place) { size = std::max(size, place + 1); });
    }
    result.Append(size);
  }
  if (!result.IsValid()) return InvalidArgument("the result must have at most 2^63-1 elements, got shape: ", result);
  return result;
}

// Fills with `filling`, which broadcasts to a slice of shape values[1:], all `count` slices.
Status FillSlices(const KernelFrame& frame, const ElementSource& filling, const TensorShape& filling_shape,
                  const TensorShape& values, int64_t count, std::byte* out) {
  const size_t size = filling.element_size();
  if (filling_shape.num_elements() == 1) {
    int64_t slice = 1;
    for (int i = 1; i < values.rank(); ++i) slice *= values.dim(i);
    FillElements(out, count * slice, filling.data(), size);
    return Status();
  }
  TensorShape slice = {count};
  for (int i = 1; i < values.rank(); ++i) slice.Append(values.dim(i));
  const RowMajorStrides to(slice);
  const RowMajorStrides from(filling_shape);
  const int offset = slice.rank() - filling_shape.rank();
  StridedCopy copy(size);
  for (int i = 0; i < slice.rank(); ++i) {
    const bool repeats = i < offset || filling_shape.dim(i - offset) == 1;
    copy.AddDim(slice.dim(i), to[i], repeats ? 0 : from[i - offset]);
  }
  copy.Run(frame, out, filling.data());
  return Status();
}

Status CheckFilling(const Tensor& default_value, const TensorShape& values) {
  const TensorShape& shape = default_value.shape();
  bool fits = shape.rank() < values.rank() || shape.rank() == 0;
  for (int i = 0; fits && i < shape.rank(); ++i) {
    fits = shape.dim(i) == 1 || shape.dim(i) == values.dim(values.rank() - shape.rank() + i);
  }
  if (fits) return Status();
  return InvalidArgument("default_value must broadcast to an element of values, got default_value: ",
                         default_value.metadata(), ", values: ", values);
}

}  // namespace

Status RaggedToTensorKernel(DenseArg shape, const Tensor& values, const Tensor& default_value, VariadicArgs partitions,
                            KernelFrame& frame) {
  if (values.shape().rank() == 0) {
    return InvalidArgument("values must have at least one dimension, got values: ", values.metadata());
  }
  TANDEM_RETURN_IF_ERROR(CheckFilling(default_value, values.shape()));
  TANDEM_ASSIGN_OR_RETURN(const Ragged ragged, ReadRagged(partitions, frame.attrs(), values.shape().dim(0)));
  TANDEM_ASSIGN_OR_RETURN(const TensorShape result, ResultShape(shape, ragged, values.shape()));
  // Where each row of a dimension goes, as a number of slices of the result; -1 of what is cut off.
  int64_t most = ragged.rows;
  for (size_t i = 0; i < ragged.num_partitions; ++i) most = std::max(most, ragged.partitions[i].NumElements());
  if (most > INT64_MAX / 2) return Status::OutOfMemory();
  Scratch<int64_t> scratch;
  TANDEM_RETURN_IF_ERROR(scratch.Init(frame, 2 * most));
  int64_t* places = scratch.data();
  int64_t* next = places + most;
  int64_t step = 1;
  for (size_t i = 1; i <= ragged.num_partitions; ++i) step *= result.dim(static_cast<int>(i));
  for (int64_t row = 0; row < ragged.rows; ++row) places[row] = row < result.dim(0) ? row * step : -1;
  for (size_t i = 0; i < ragged.num_partitions; ++i) {
    const int64_t size = result.dim(static_cast<int>(i) + 1);
    step = size == 0 ? 0 : step / size;
    ragged.partitions[i].ForEach([&](int64_t element, int64_t row, int64_t place) {
      next[element] = places[row] < 0 || place >= size ? -1 : places[row] + place * step;
    });
    std::swap(places, next);
    TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  }
  int64_t slices = 1;
  for (size_t i = 0; i <= ragged.num_partitions; ++i) slices *= result.dim(static_cast<int>(i));
  ElementSource source;
  ElementSource filling;
  NewElements elements;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 1));
  TANDEM_RETURN_IF_ERROR(filling.Init(frame, 2));
  TANDEM_RETURN_IF_ERROR(elements.Init(frame, values.dtype(), result));
  if (result.num_elements() > 0) {
    TANDEM_RETURN_IF_ERROR(FillSlices(frame, filling, default_value.shape(), values.shape(), slices, elements.data()));
    const size_t slice_bytes = static_cast<size_t>(result.num_elements() / slices) * elements.element_size();
    StopPoll poll(kPollSteps);
    for (int64_t i = 0; i < values.shape().dim(0); ++i) {
      if (poll.Stops()) return KernelRun::CheckWanted();
      if (places[i] < 0) continue;
      CopyLong(elements.data() + static_cast<size_t>(places[i]) * slice_bytes,
               source.data() + static_cast<size_t>(i) * slice_bytes, slice_bytes);
    }
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor dense, elements.Finish(frame));
  frame.SetResult(0, std::move(dense));
  return Status();
}

}  // namespace tandem::cpu
