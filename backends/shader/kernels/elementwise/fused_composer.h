// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders and programs of several element-wise functions, one after the other, each of which may take what others gave.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUSED_COMPOSER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUSED_COMPOSER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/elementwise/elementwise_form.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// One function.
struct FusedStep {
  static constexpr size_t kMaxOperands = 3;

  const ShaderSource* function = nullptr;  // whose text is an expression; of static storage duration
  DType result = DType::kInvalid;
  bool has_alpha = false;
  uint8_t num_operands = 0;
  // Below the number of inputs: these; from there on, results of earlier steps.
  std::array<uint8_t, kMaxOperands> operands = {};

  friend bool operator==(const FusedStep&, const FusedStep&) = default;
};

// What one shader computes, whatever the shapes are: its structure.
struct FusedSource : ShaderSource {
  size_t num_inputs = 0;  // at most kMaxElementwiseOperands
  std::vector<FusedStep> steps;
  std::vector<uint8_t> outputs;  // the steps whose results are written, at least one

  bool HasStructureOf(const FusedSource& other) const {
    return num_inputs == other.num_inputs && steps == other.steps && outputs == other.outputs;
  }
};

// Whether ops on elements of a dtype are joined: not of c64, whose parts would have to be settled one by one.
inline bool IsFusedDType(DType dtype) { return dtype != DType::kC64; }

// Composes the shader of a FusedSource. Its buffers are the inputs, without the one in place, and then the outputs.
// What a step gives is what its op alone would write to memory, bit by bit.
ShaderText ComposeFused(const ShaderSource& source, std::span<const int32_t> values);

// `alphas` of the steps that have one, in order. As in ElementwiseProgram, every input broadcasts to `shape`.
Launch FusedProgram(const FusedSource& source, std::span<const TensorMetadata* const> inputs, const TensorShape& shape,
                    std::span<const float> alphas, const GpuLimits& limits);
// The same launch, but with output `output` taking over the buffer of input `input`, which has the same dtype and
// shape.
void SetInPlace(Launch& launch, size_t input, size_t output);

// The parameters that FusedProgram needs at most: for so many alphas, and inputs that are stretched over a result of
// this rank.
size_t MostFusedParameters(size_t num_alphas, size_t num_stretched, int rank);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_FUSED_COMPOSER_H_
