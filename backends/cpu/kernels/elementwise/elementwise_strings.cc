// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Comparison and selection of strings. Strings are long compared with the computation of an index, so that one is
// computed for each element.

#include "kernels/elementwise/elementwise_strings.h"

#include <string_view>

#include "kernels/polls.h"
#include "kernels/task_memory.h"
#include "tandem/host_tensors.h"

namespace tandem::cpu {

namespace {

// The element of an operand of shape `shape` that element `position` of `result` is computed from.
int64_t SourceIndex(const TensorShape& shape, const TensorShape& result, int64_t position) {
  if (shape.num_elements() == result.num_elements()) return position;
  int64_t source = 0;
  int64_t stride = 1;
  const int offset = result.rank() - shape.rank();
  for (int axis = result.rank() - 1; axis >= offset; --axis) {
    const int64_t dim = shape.dim(axis - offset);
    if (dim != 1) source += position % result.dim(axis) * stride;
    stride *= dim;
    position /= result.dim(axis);
  }
  return source;
}

}  // namespace

void CompareStrings(const Tensor& x, const Tensor& y, const TensorShape& result, bool if_equal, bool* out) {
  const StringHostView x_strings(x);
  const StringHostView y_strings(y);
  StopPoll poll(kPollSteps);
  for (int64_t i = 0; i < result.num_elements() && !poll.Stops(); ++i) {
    const bool is_equal = x_strings[SourceIndex(x.shape(), result, i)] == y_strings[SourceIndex(y.shape(), result, i)];
    out[i] = is_equal == if_equal;
  }
}

StatusOr<Tensor> SelectStrings(const Tensor& condition, const Tensor& t, const Tensor& e, const TensorShape& result,
                               HostContext& host) {
  if (!condition.IsA(kDenseHost) && !condition.IsA(kScalarHost)) {
    return InvalidArgument("argument 0 (condition) must be a dense tensor, got ", condition.metadata(), " as ",
                           condition.type().name());
  }
  const auto n = static_cast<size_t>(result.num_elements());
  const TaskArray<std::string_view> selected(result.num_elements());
  if (selected == nullptr) return Status::OutOfMemory();
  const bool* conditions = static_cast<const bool*>(condition.data());
  const StringHostView t_strings(t);
  const StringHostView e_strings(e);
  StopPoll poll(kPollSteps);
  for (size_t i = 0; i < n; ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    const auto position = static_cast<int64_t>(i);
    const bool is_true = conditions[condition.IsA(kScalarHost) ? 0 : SourceIndex(condition.shape(), result, position)];
    selected[i] = is_true ? t_strings[SourceIndex(t.shape(), result, position)]
                          : e_strings[SourceIndex(e.shape(), result, position)];
  }
  return MakeString(result, {selected.get(), n}, host.device(), host.allocator());
}

}  // namespace tandem::cpu
