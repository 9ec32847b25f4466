// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that change how a tensor is represented on the host.

#include <cstring>
#include <span>
#include <string_view>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

Status CheckRepresentation(const Tensor& x, std::span<const TensorType* const> types, std::string_view names) {
  for (const TensorType* type : types) {
    if (x.IsA(*type)) return Status();
  }
  return InvalidArgument("x must be ", names, " on the host, got x: ", x.metadata(), " as ", x.type().name());
}

StatusOr<Tensor> ToDenseKernel(const Tensor& x, KernelFrame& frame) {
  const TensorType* const types[] = {&kDenseHost, &kScalarHost, &kSparseCooHost};
  TANDEM_RETURN_IF_ERROR(CheckRepresentation(x, types, "dense, scalar or sparse"));
  return ToDense(x, frame.host().allocator());
}

StatusOr<Tensor> ToScalarKernel(const Tensor& x) {
  const TensorType* const types[] = {&kDenseHost, &kScalarHost};
  TANDEM_RETURN_IF_ERROR(CheckRepresentation(x, types, "dense or scalar"));
  if (x.IsA(kScalarHost)) return x;
  if (x.num_elements() == 0) return InvalidArgument("x must have at least one element, got x: ", x.metadata());
  const size_t size = DTypeSize(x.dtype());
  const auto* elements = static_cast<const std::byte*>(x.data());
  StopPoll poll(kPollSteps);
  for (int64_t i = 1; i < x.num_elements(); ++i) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    if (std::memcmp(elements, elements + static_cast<size_t>(i) * size, size) != 0) {
      return InvalidArgument("elements of x must be equal, bit for bit, got x: ", x.metadata(), ", whose element ", i,
                             " differs from the first");
    }
  }
  return MakeScalar(x.metadata(), elements, *x.device());
}

StatusOr<Tensor> ToSparseCooKernel(const Tensor& x, KernelFrame& frame) {
  const TensorType* const types[] = {&kDenseHost, &kScalarHost, &kSparseCooHost};
  TANDEM_RETURN_IF_ERROR(CheckRepresentation(x, types, "dense, scalar or sparse"));
  return ToSparseCoo(x, frame.host().allocator());
}

}  // namespace

Status RegisterConversionKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kAll = DTypeSet::All();
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ToDenseKernel>("tandem.ToDense", kAll, {0.5f}),
      KernelEntryOf<&ToScalarKernel>("tandem.ToScalar", kAll, {1}),
      KernelEntryOf<&ToSparseCooKernel>("tandem.ToSparseCoo", kAll, {4}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
