// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is computed on sums before they are stored: a bias or a normalization of columns, a tensor to add, and an
// activation.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_EPILOGUE_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_EPILOGUE_H_

#include <cstdint>

#include "tandem/op_attrs.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

enum class ColumnEpilogue : uint8_t {
  kNone,
  kBias,       // one more buffer, `bias`
  kBatchNorm,  // four more: `scale`, `offset`, `mean`, `variance`
};

struct FusedEpilogue {
  static constexpr uint8_t kRelu = 1;  // as an activation
  ColumnEpilogue columns = ColumnEpilogue::kNone;
  bool adds_tensor = false;  // one more buffer, `added`, after those of the columns, laid out as the result
  uint8_t activation = 0;    // index in the list of those that can be fused, from 1; 0: none
  float alpha = 0;           // of leaky ReLU
  float epsilon = 0;         // added to the variance

  // As the attributes fused_ops, leakyrelu_alpha and epsilon say, which the metadata function has checked.
  static FusedEpilogue FromAttrs(const OpAttrsRef& attrs);

  // One value of a shader's variant.
  int32_t Pack() const { return static_cast<int32_t>(columns) | activation << 8 | adds_tensor << 16; }
  static FusedEpilogue Unpack(int32_t packed);

  // Declares the buffers and parameters for AddText; `result` is the element type of the result's buffer, whose rows
  // are stored four elements at a time if `has_quads`.
  void Declare(ShaderBuilder& builder, std::string_view result) const;
  // `fn store(at: u32, col: u32, column: u32, sums: A4)`, see product_store.wgsl. The shader has the types T, A and A4
  // of elements, numbers and four numbers, which are f32 or, if `is_f64`, f64 unless there is no epilogue.
  void AddText(ShaderBuilder& builder, bool has_quads, bool is_f64) const;
  // Of these only `fn finish(sums: A4, column: u32) -> A4`, and no tensor to add.
  void AddFinish(ShaderBuilder& builder, bool is_f64) const;
  void AddParameters(int64_t num_columns, LaunchParameters& parameters) const;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_LINALG_PRODUCT_EPILOGUE_H_
