// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What element-wise shaders have in common: units, and how those of operands are found, with broadcasting.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FORM_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "tandem/shader/launch.h"
#include "tandem/tensor.h"

namespace tandem::shader {

// Operands of one launch: with the result, as many buffers as every device allows.
inline constexpr size_t kMaxElementwiseOperands = 7;

// What makes one pipeline differ from another of the same source.
struct ElementwiseForm {
  // How a unit of an operand is found.
  enum class Access : uint8_t {
    kWhole,    // it has the result's shape
    kSingle,   // it has one element
    kStrided,  // by strides, as many elements as the unit has
    kSplat,    // by strides, one element
  };
  struct Operand {
    DType dtype = DType::kInvalid;
    Access access = Access::kWhole;
  };

  DType result = DType::kInvalid;
  int in_place = -1;  // the operand whose buffer the result takes over
  int rank = 0;       // of the result, as far as strided operands need it
  int lanes = 1;      // elements of a unit
  bool has_alpha = false;
  size_t num_operands = 0;
  std::array<Operand, kMaxElementwiseOperands> operands;

  // In the first values of a variant.
  static constexpr size_t kNumValues = 1 + kMaxElementwiseOperands;
  void Pack(std::span<int32_t> values) const;
  static ElementwiseForm Unpack(std::span<const int32_t> values);

  bool IsStrided(size_t i) const {
    return operands[i].access == Access::kStrided || operands[i].access == Access::kSplat;
  }
  bool IsVector(size_t i) const {
    return lanes > 1 && (operands[i].access == Access::kWhole || operands[i].access == Access::kStrided);
  }
};

// How the operands lie over the result: dimensions of size 1 left out, neighbours merged where all operands allow it.
struct ElementwiseLayout {
  using Dims = std::array<int64_t, TensorShape::kMaxRank>;
  int rank = 0;
  Dims dims;
  std::array<Dims, kMaxElementwiseOperands> strides;  // in elements; 0 where an operand is stretched
};

// Of operands that broadcast to the result's shape, at most kMaxElementwiseOperands.
ElementwiseLayout MakeElementwiseLayout(std::span<const TensorMetadata* const> operands, const TensorShape& result);
// All of it that the operands decide on.
ElementwiseForm MakeElementwiseForm(std::span<const TensorMetadata* const> operands, const TensorShape& result,
                                    const ElementwiseLayout& layout);

// ---- Of a launch. Its first parameter is the number of units, its last ones are those of AddPlaces.

uint64_t NumUnits(const ElementwiseForm& form, const TensorShape& result);
std::array<uint32_t, 3> UnitWorkgroups(uint64_t units, const GpuLimits& limits);
void AddPlaces(const ElementwiseForm& form, const ElementwiseLayout& layout, LaunchParameters& parameters);

// ---- Of a shader. Its last buffers, the results, and what it computes of a unit are the caller's.

std::string JoinTexts(std::initializer_list<std::string_view> parts);
// The operand's name in expressions: a, b, ...
std::string OperandName(size_t operand);
// Its type in functions: A, B, ...
std::string OperandType(size_t operand);
std::string VectorType(std::string_view type);

// The types of all operands, and the buffers of those that are not in place.
void DeclareOperands(const ElementwiseForm& form, ShaderBuilder& builder);
void DeclarePlaces(const ElementwiseForm& form, ShaderBuilder& builder);
// Statements that read the unit `unit` of each operand: `let a: vec4<A> = ...;`, or `let a: A` where one element stands
// for all of them. `in_place` is the buffer of that operand.
std::string ReadUnitText(const ElementwiseForm& form, std::string_view in_place);
// Completes a shader that has a function `compute_unit(unit: u32)`.
ShaderText FinishUnits(ShaderBuilder& builder);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_ELEMENTWISE_FORM_H_
