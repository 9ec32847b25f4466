// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RaggedRange, RaggedGather.

#include "kernels/sparse/sparse_ragged.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/converted.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/sparse/sparse_kernels.h"

namespace tandem::cpu {
namespace {

// How many numbers there are from `start` on in steps of `delta`, which is not 0, before `limit`; -1 if too many.
int64_t RangeSize(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t size = (distance - 1) / step + 1;
  return size > INT64_MAX ? -1 : static_cast<int64_t>(size);
}

int64_t RangeSize(double start, double limit, double delta) {
  const double size = std::ceil((limit - start) / delta);
  if (!(size > 0)) return 0;
  return size < 0x1p62 ? static_cast<int64_t>(size) : -1;
}

// T: i64 or f64.
template <typename T>
Status RangesAs(const DenseArg& starts, const DenseArg& limits, const DenseArg& deltas, KernelFrame& frame) {
  int64_t rows = 1;
  for (const DenseArg* arg : {&starts, &limits, &deltas}) {
    if (arg->shape().rank() > 1)
      return InvalidArgument("starts, limits and deltas must be scalars or vectors, got ", arg->metadata());
    if (arg->shape().rank() == 1) rows = arg->size();
  }
  for (const DenseArg* arg : {&starts, &limits, &deltas}) {
    if (arg->shape().rank() == 0 || arg->size() == rows) continue;
    return InvalidArgument("starts, limits and deltas must have the same size, got starts: ", starts.metadata(),
                           ", limits: ", limits.metadata(), ", deltas: ", deltas.metadata());
  }
  ConvertedArg<T> numbers[3];
  TANDEM_RETURN_IF_ERROR(numbers[0].Init(frame, starts));
  TANDEM_RETURN_IF_ERROR(numbers[1].Init(frame, limits));
  TANDEM_RETURN_IF_ERROR(numbers[2].Init(frame, deltas));
  const auto at = [&](int which, const DenseArg& arg, int64_t row) {
    return numbers[which].data()[arg.shape().rank() == 0 ? 0 : row];
  };
  DType splits_dtype = DType::kI64;
  frame.attrs().Get("Tsplits", &splits_dtype);
  TANDEM_ASSIGN_OR_RETURN(Tensor splits, NewDense(frame, splits_dtype, {rows + 1}));
  int64_t total = 0;
  StoreIndex(splits, 0, 0);
  for (int64_t row = 0; row < rows; ++row) {
    const T delta = at(2, deltas, row);
    if (delta == 0) return InvalidArgument("deltas must not be 0, got 0 for row ", row);
    const int64_t size = RangeSize(at(0, starts, row), at(1, limits, row), delta);
    if (size < 0 || __builtin_add_overflow(total, size, &total) || (splits_dtype == DType::kI32 && total > INT32_MAX)) {
      return InvalidArgument("there must be no more numbers than ", splits_dtype, " can count, which row ", row,
                             " exceeds");
    }
    StoreIndex(splits, row + 1, total);
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor values, NewDense(frame, starts.dtype(), {total}));
  Scratch<T> converted;
  T* out = static_cast<T*>(values.mutable_data());
  if (starts.dtype() != kDTypeOf<T>) {
    TANDEM_RETURN_IF_ERROR(converted.Init(frame, total));
    out = converted.data();
  }
  StopPoll poll(kPollElements);
  for (int64_t row = 0; row < rows; ++row) {
    const T start = at(0, starts, row);
    const T delta = at(2, deltas, row);
    const int64_t size = IndexAt(splits, row + 1) - IndexAt(splits, row);
    for (int64_t i = 0; i < size; ++i) {
      if (poll.Stops()) return KernelRun::CheckWanted();
      if constexpr (std::is_integral_v<T>) {  // the product alone may be beyond 2^63
        *out++ = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      } else {
        *out++ = start + static_cast<T>(i) * delta;
      }
    }
  }
  if (starts.dtype() != kDTypeOf<T>) {
    ConvertElements(frame, kDTypeOf<T>, converted.data(), starts.dtype(), values.mutable_data(), total);
  }
  frame.SetResult(0, std::move(splits));
  frame.SetResult(1, std::move(values));
  return Status();
}

Status RaggedRangeKernel(DenseArg starts, DenseArg limits, DenseArg deltas, KernelFrame& frame) {
  return kFloatDTypes.Contains(starts.dtype()) ? RangesAs<double>(starts, limits, deltas, frame)
                                               : RangesAs<int64_t>(starts, limits, deltas, frame);
}

// An argument of integers, dense.
struct IndexArg {
  Status Init(KernelFrame& frame, size_t i) {
    tensor = &frame.arg(i);
    if (tensor->IsA(kDenseHost)) return Status();
    TANDEM_RETURN_IF_ERROR(internal::CheckDense(frame, i));
    return internal::ExpandToDense(frame, &tensor, expanded);
  }
  int64_t operator[](int64_t i) const { return IndexAt(*tensor, i); }
  int64_t size() const { return tensor->num_elements(); }

  const Tensor* tensor;
  std::optional<Tensor> expanded;
};

// Ok if `splits` divide `count` things into rows.
Status CheckSplits(const IndexArg& splits, size_t level, int64_t count) {
  const int64_t n = splits.size();
  if (splits.tensor->shape().rank() != 1 || n == 0 || splits[0] != 0 || splits[n - 1] != count) {
    return InvalidArgument("splits must be a vector from 0 to the ", count,
                           " things that they divide, got "
                           "params_nested_splits[",
                           level, "]: ", splits.tensor->metadata());
  }
  for (int64_t i = 1; i < n; ++i) {
    if (splits[i] < splits[i - 1]) {
      return InvalidArgument("splits must ascend, which params_nested_splits[", level, "] do not at element ", i);
    }
  }
  return Status();
}

// Calls visit(level, first, last) for the rows of each level of params that each index takes, the values being the last
// level, in order.
template <typename Visit>
void ForEachTaken(const IndexArg& indices, const IndexArg* splits, size_t levels, Visit visit) {
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t first = indices[i];
    int64_t last = first + 1;
    for (size_t level = 0; level < levels; ++level) {
      visit(level, first, last);
      first = splits[level][first];
      last = splits[level][last];
    }
    visit(levels, first, last);
  }
}

constexpr size_t kMaxLevels = 32;

Status RaggedGatherKernel(KernelFrame& frame) {
  const size_t levels = frame.num_args() - 2;
  const Tensor& values = frame.arg(levels);
  if (levels > kMaxLevels)
    return InvalidArgument("there must be at most ", kMaxLevels, " ragged dimensions, got ", levels);
  if (values.shape().rank() == 0) {
    return InvalidArgument("params_dense_values must have at least one dimension, got params_dense_values: ",
                           values.metadata());
  }
  IndexArg splits[kMaxLevels];
  IndexArg indices;
  TANDEM_RETURN_IF_ERROR(indices.Init(frame, levels + 1));
  for (size_t i = 0; i < levels; ++i) TANDEM_RETURN_IF_ERROR(splits[i].Init(frame, i));
  for (size_t i = 0; i < levels; ++i) {
    const int64_t count = i + 1 < levels ? splits[i + 1].size() - 1 : values.shape().dim(0);
    TANDEM_RETURN_IF_ERROR(CheckSplits(splits[i], i, count));
  }
  const TensorShape& index_shape = indices.tensor->shape();
  const auto outer = static_cast<size_t>(std::max(index_shape.rank() - 1, 0));  // levels that are regular
  const size_t first_level = index_shape.rank() == 0 ? 1 : 0;                   // a scalar takes the row itself
  const size_t expected = outer + levels - first_level;
  if (frame.num_results() != expected + 1) {
    return InvalidArgument("OUTPUT_RAGGED_RANK must be ", expected, ", got ", frame.num_results() - 1);
  }
  const int64_t num_rows = splits[0].size() - 1;
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0 && indices[i] < num_rows) continue;
    return InvalidArgument("indices must be in [0, ", num_rows, "), got ", indices[i], " at element ", i);
  }

  const DType dtype = splits[0].tensor->dtype();
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i) {
    const auto axis = static_cast<int>(i);
    rows *= index_shape.dim(axis);
    TANDEM_ASSIGN_OR_RETURN(Tensor regular, NewDense(frame, dtype, {rows + 1}));
    for (int64_t row = 0; row <= rows; ++row) StoreIndex(regular, row, row * index_shape.dim(axis + 1));
    frame.SetResult(i, std::move(regular));
  }
  int64_t counts[kMaxLevels + 1] = {};
  ForEachTaken(indices, splits, levels,
               [&](size_t level, int64_t first, int64_t last) { counts[level] += last - first; });
  std::optional<Tensor> results[kMaxLevels];
  for (size_t i = first_level; i < levels; ++i) {
    TANDEM_ASSIGN_OR_RETURN(results[i], NewDense(frame, dtype, {counts[i] + 1}));
    StoreIndex(*results[i], 0, 0);
  }
  TensorShape shape = values.shape();
  shape.SetDim(0, counts[levels]);
  if (!shape.IsValid()) return InvalidArgument("the result must have at most 2^63-1 elements");
  ElementSource source;
  NewElements elements;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, levels));
  TANDEM_RETURN_IF_ERROR(elements.Init(frame, values.dtype(), shape));
  const int64_t slice = values.shape().dim(0) == 0 ? 0 : values.num_elements() / values.shape().dim(0);
  const size_t slice_bytes = static_cast<size_t>(slice) * source.element_size();
  int64_t done[kMaxLevels + 1] = {};
  ForEachTaken(indices, splits, levels, [&](size_t level, int64_t first, int64_t last) {
    if (level == levels) {
      CopyLong(elements.data() + static_cast<size_t>(done[level]) * slice_bytes,
               source.data() + static_cast<size_t>(first) * slice_bytes,
               static_cast<size_t>(last - first) * slice_bytes);
      done[level] += last - first;
      return;
    }
    if (level < first_level) return;
    for (int64_t row = first; row < last; ++row, ++done[level]) {
      const int64_t size = splits[level][row + 1] - splits[level][row];
      StoreIndex(*results[level], done[level] + 1, IndexAt(*results[level], done[level]) + size);
    }
  });
  TANDEM_ASSIGN_OR_RETURN(Tensor taken, elements.Finish(frame));
  for (size_t i = first_level; i < levels; ++i) frame.SetResult(outer + i - first_level, *std::move(results[i]));
  frame.SetResult(expected, std::move(taken));
  return Status();
}

}  // namespace

Status RegisterRaggedKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kRangeDTypes = kFloatDTypes | DTypeSet{DType::kI32, DType::kI64};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&RaggedRangeKernel>("tf.RaggedRange", kRangeDTypes, {5}),
      KernelEntryOf<&RaggedGatherKernel>("tf.RaggedGather", DTypeSet::All(), {5}),
      KernelEntryOf<&RaggedToTensorKernel>("tf.RaggedTensorToTensor", DTypeSet::All(), {5}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
