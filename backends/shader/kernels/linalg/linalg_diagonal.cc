// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MatrixBandPart, MatrixDiag, MatrixDiagPart.

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/linalg/linalg.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

enum Kind : int32_t { kBand, kDiagonalMatrix, kDiagonalOf };

constexpr uint32_t kWorkgroup = 64;

ShaderText Compose(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Buffer("x", BufferAccess::kRead, "T").Buffer("y", BufferAccess::kReadWrite, "T");
  builder.Parameter("elements").Parameter("rows").Parameter("cols").Parameter("lower", "i32").Parameter("upper", "i32");
  builder.Workgroup(kWorkgroup).Constant("workgroup_size", kWorkgroup);
  return builder.Finish(Unroll(source.text, {{"BAND", values[1] == kBand}, {"DIAGONAL_OF", values[1] == kDiagonalOf}}));
}

const ShaderSource kMatrixDiagonal = {"matrix_diagonal", &Compose, kMatrixDiagonalText};

// Of matrices of the shape `matrices`, which are the argument or the result.
Status Run(KernelFrame& frame, Kind kind, const TensorShape& matrices, int64_t lower, int64_t upper) {
  ShaderCall call(frame);
  const int64_t elements = frame.result_metadata(0).num_elements();
  Launch launch;
  launch.variant = ShaderVariant(kMatrixDiagonal, {static_cast<int32_t>(frame.result_metadata(0).dtype), kind});
  for (int64_t value : {elements, matrices.dim(matrices.rank() - 2), matrices.dim(matrices.rank() - 1), lower, upper}) {
    launch.parameters.Add(static_cast<uint32_t>(value));
  }
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(elements), kWorkgroup, call.limits());
  call.Run(launch, {call.Argument(0), call.Result(0)});
  return call.Finish();
}

// How many diagonals are kept; more than there can be if all are.
int64_t ReadBand(const Tensor& band) {
  const int64_t given = band.dtype() == DType::kI32 ? *static_cast<const int32_t*>(band.data())
                                                    : *static_cast<const int64_t*>(band.data());
  constexpr int64_t kAll = INT32_MAX;
  return given < 0 ? kAll : std::min(given, kAll);
}

Status MatrixBandPartKernel(KernelFrame& frame) {
  return Run(frame, kBand, frame.arg(0).shape(), ReadBand(frame.arg(1)), ReadBand(frame.arg(2)));
}

Status MatrixDiagKernel(KernelFrame& frame) {
  return Run(frame, kDiagonalMatrix, frame.result_metadata(0).shape, 0, 0);
}

Status MatrixDiagPartKernel(KernelFrame& frame) { return Run(frame, kDiagonalOf, frame.arg(0).shape(), 0, 0); }

// One matrix, whose diagonal is the whole other tensor.
Status DiagKernel(KernelFrame& frame) {
  const int64_t size = frame.arg(0).num_elements();
  return Run(frame, kDiagonalMatrix, {size, size}, 0, 0);
}

Status DiagPartKernel(KernelFrame& frame) {
  const int64_t size = frame.result_metadata(0).num_elements();
  return Run(frame, kDiagonalOf, {size, size}, 0, 0);
}

}  // namespace

Status RegisterDiagonalKernels(ShaderOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MatrixBandPartKernel>("tf.MatrixBandPart", kDTypesOfGpu),
      KernelEntryOf<&MatrixDiagKernel>("tf.MatrixDiag", kDTypesOfGpu),
      KernelEntryOf<&MatrixDiagPartKernel>("tf.MatrixDiagPart", kDTypesOfGpu),
      KernelEntryOf<&DiagKernel>("tf.Diag", kDTypesOfGpu),
      KernelEntryOf<&DiagPartKernel>("tf.DiagPart", kDTypesOfGpu),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
