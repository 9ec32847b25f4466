// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod.

#include "kernels/element_types.h"
#include "kernels/kernels.h"
#include "kernels/scan/scan_programs.h"
#include "tandem/kernel.h"
#include "tandem/op_axis.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

void Scan(ShaderCall& call, const ScanKind& kind, const ScanShape& shape, GpuBuffer* x, GpuBuffer* y) {
  const uint64_t chunks = ScanChunks(shape, call.limits());
  if (chunks == 1) return call.Run(ScanProgram(kind, shape, 1, call.limits()), {x, y});
  const uint64_t bytes = shape.outer * chunks * shape.inner * ArithmeticBytes(kind.dtype);
  GpuBuffer* totals = call.Temporary(bytes);
  GpuBuffer* offsets = call.Temporary(bytes);
  call.Run(ScanTotalsProgram(kind, shape, chunks, call.limits()), {x, totals});
  // Totals are in the order of scanning.
  const ScanKind of_totals = {kind.op, ArithmeticDType(kind.dtype), /*exclusive=*/true, /*reverse=*/false};
  Scan(call, of_totals, {shape.outer, chunks, shape.inner}, totals, offsets);
  call.Run(ScanProgram(kind, shape, chunks, call.limits()), {x, offsets, y});
}

template <ScanOp op>
Status ScanKernel(const Tensor& x, DenseArg axis, KernelFrame& frame) {
  ShaderCall call(frame);
  const int rank = x.shape().rank();
  const int scanned = AxisInput(axis.tensor(), rank);
  ScanShape shape = {1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    (i < scanned ? shape.outer : i == scanned ? shape.rows : shape.inner) *= static_cast<uint64_t>(x.shape().dim(i));
  }
  const ScanKind kind = {op, x.dtype(), frame.attrs().GetOr("exclusive", false), frame.attrs().GetOr("reverse", false)};
  Scan(call, kind, shape, call.Argument(0), call.Result(0));
  return call.Finish();
}

}  // namespace

Status RegisterScanKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ScanKernel<ScanOp::kSum>>("tf.Cumsum", kNumericDTypesOfGpu),
      KernelEntryOf<&ScanKernel<ScanOp::kProduct>>("tf.Cumprod", kNumericDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
