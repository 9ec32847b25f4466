// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Softmax, its logarithm and its loss: one launch, in which the lanes of a row go over it three times.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_NN_SOFTMAX_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_NN_SOFTMAX_PROGRAMS_H_

#include <cstdint>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

enum class SoftmaxKind : int32_t {
  kSoftmax,            // buffers x, y
  kLogSoftmax,         // x, y
  kSparseCrossEntropy  // x, labels, loss, y: the gradient
};

// Of `rows` rows of `cols` elements. `labels`: the dtype of labels, i32 or i64.
Launch SoftmaxProgram(SoftmaxKind kind, DType dtype, uint64_t rows, uint64_t cols, const GpuLimits& limits,
                      DType labels = DType::kInvalid);

// One variant of each kind of shader, for tests that compile them.
std::vector<ShaderVariant> SoftmaxVariants(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_NN_SOFTMAX_PROGRAMS_H_
