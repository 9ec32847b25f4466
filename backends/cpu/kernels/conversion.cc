// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that change how a tensor is represented on the host.

#include "kernels/kernels.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

StatusOr<Tensor> ToDenseKernel(const Tensor& x, KernelFrame& frame) { return ToDense(x, frame.host().allocator()); }

StatusOr<Tensor> ToScalarKernel(const Tensor& x) { return ToScalar(x); }

StatusOr<Tensor> ToSparseCooKernel(const Tensor& x, KernelFrame& frame) {
  return ToSparseCoo(x, frame.host().allocator());
}

}  // namespace

Status RegisterConversionKernels(KernelOpHandler& handler) {
  const DTypeSet all = DTypeSet::All();
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tandem.ToDense", all, MakeKernel<&ToDenseKernel>().WithCost(0.5f)));
  TANDEM_RETURN_IF_ERROR(handler.AddKernel("tandem.ToScalar", all, MakeKernel<&ToScalarKernel>().WithCost(1)));
  return handler.AddKernel("tandem.ToSparseCoo", all, MakeKernel<&ToSparseCooKernel>().WithCost(4));
}

}  // namespace tandem::cpu
