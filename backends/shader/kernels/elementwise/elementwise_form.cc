// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_form.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kRounds = 4;

using Access = ElementwiseForm::Access;

std::string SizeName(int axis) { return "size" + std::to_string(axis); }
std::string StrideName(size_t operand, int axis) {
  return JoinTexts({OperandName(operand), "_stride", std::to_string(axis)});
}

// Statements that give the unit's place i0, i1, ... in the result, and from it that in each strided operand.
std::string PlaceText(const ElementwiseForm& form) {
  if (form.rank == 0) return {};
  std::string text = "var rest: u32 = unit;\n";
  for (int axis = form.rank - 1; axis > 0; --axis) {
    const std::string number = std::to_string(axis);
    text += JoinTexts({"let i", number, ": u32 = rest % parameters.", SizeName(axis), ";\nrest = rest / parameters.",
                       SizeName(axis), ";\n"});
  }
  text += "let i0: u32 = rest;\n";
  for (size_t i = 0; i < form.num_operands; ++i) {
    if (!form.IsStrided(i)) continue;
    text += JoinTexts({"let at_", OperandName(i), ": u32 = "});
    for (int axis = 0; axis < form.rank; ++axis) {
      text += JoinTexts({axis == 0 ? "" : " + ", "i", std::to_string(axis), " * parameters.", StrideName(i, axis)});
    }
    text += ";\n";
  }
  return text;
}

// The statement that reads a unit of an operand.
std::string LoadText(const ElementwiseForm& form, size_t i, std::string_view in_place) {
  const std::string type = form.IsVector(i) ? VectorType(OperandType(i)) : OperandType(i);
  const std::string buffer = static_cast<int>(i) == form.in_place ? std::string(in_place) : "in_" + OperandName(i);
  std::string place = "unit";
  if (form.IsStrided(i)) place = "at_" + OperandName(i);
  if (form.operands[i].access == Access::kSingle) place = "0u";
  return JoinTexts({"let ", OperandName(i), ": ", type, " = ", type, "(", buffer, "[", place, "]);\n"});
}

}  // namespace

// 0 for an operand that is not there, since no dtype is.
void ElementwiseForm::Pack(std::span<int32_t> values) const {
  values[0] = static_cast<int32_t>(result) | (in_place + 1) << 8 | rank << 16 | lanes << 24 |
              static_cast<int32_t>(has_alpha) << 28;
  for (size_t i = 0; i < num_operands; ++i) {
    values[i + 1] = static_cast<int32_t>(operands[i].dtype) | static_cast<int32_t>(operands[i].access) << 8;
  }
}

ElementwiseForm ElementwiseForm::Unpack(std::span<const int32_t> values) {
  ElementwiseForm form;
  form.result = static_cast<DType>(values[0] & 0xFF);
  form.in_place = (values[0] >> 8 & 0xFF) - 1;
  form.rank = values[0] >> 16 & 0xFF;
  form.lanes = values[0] >> 24 & 0xF;
  form.has_alpha = (values[0] >> 28 & 1) != 0;
  for (; form.num_operands < kMaxElementwiseOperands && values[form.num_operands + 1] != 0; ++form.num_operands) {
    const int32_t value = values[form.num_operands + 1];
    form.operands[form.num_operands] = {static_cast<DType>(value & 0xFF), static_cast<Access>(value >> 8)};
  }
  return form;
}

ElementwiseLayout MakeElementwiseLayout(std::span<const TensorMetadata* const> operands, const TensorShape& result) {
  ElementwiseLayout layout;
  std::array<int64_t, kMaxElementwiseOperands> step;
  step.fill(1);
  // From the innermost dimension outwards; the layout is turned round at the end.
  for (int axis = result.rank(); axis-- > 0;) {
    const int64_t size = result.dim(axis);
    if (size == 1) continue;
    const int last = layout.rank - 1;
    bool merges = last >= 0;
    std::array<int64_t, kMaxElementwiseOperands> stride = {};
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorShape& shape = operands[i]->shape;
      const int own = axis - (result.rank() - shape.rank());
      if (own >= 0 && shape.dim(own) != 1) {
        stride[i] = step[i];
        step[i] *= size;
      }
      merges = merges && stride[i] == layout.strides[i][last] * layout.dims[last];
    }
    if (merges) {
      layout.dims[last] *= size;
      continue;
    }
    layout.dims[layout.rank] = size;
    for (size_t i = 0; i < operands.size(); ++i) layout.strides[i][layout.rank] = stride[i];
    ++layout.rank;
  }
  std::reverse(layout.dims.begin(), layout.dims.begin() + layout.rank);
  for (size_t i = 0; i < operands.size(); ++i) {
    std::reverse(layout.strides[i].begin(), layout.strides[i].begin() + layout.rank);
  }
  return layout;
}

ElementwiseForm MakeElementwiseForm(std::span<const TensorMetadata* const> operands, const TensorShape& result,
                                    const ElementwiseLayout& layout) {
  const int64_t n = result.num_elements();
  ElementwiseForm form;
  form.num_operands = operands.size();
  const int last = layout.rank - 1;
  const bool whole_vectors = last >= 0 && layout.dims[last] % 4 == 0;
  form.lanes = whole_vectors ? 4 : 1;
  for (size_t i = 0; i < form.num_operands; ++i) {
    const int64_t size = operands[i]->num_elements();
    Access access = Access::kWhole;
    if (size == 1 && n != 1) {
      access = Access::kSingle;
    } else if (size != n) {
      access = whole_vectors && layout.strides[i][last] == 0 ? Access::kSplat : Access::kStrided;
      form.rank = layout.rank;
    }
    form.operands[i] = {operands[i]->dtype, access};
  }
  return form;
}

uint64_t NumUnits(const ElementwiseForm& form, const TensorShape& result) {
  return static_cast<uint64_t>(result.num_elements() / form.lanes);
}

std::array<uint32_t, 3> UnitWorkgroups(uint64_t units, const GpuLimits& limits) {
  return LinearWorkgroups(units, kWorkgroup * kRounds, limits);
}

void AddPlaces(const ElementwiseForm& form, const ElementwiseLayout& layout, LaunchParameters& parameters) {
  for (int axis = 1; axis < form.rank; ++axis) {
    const int lanes = axis == layout.rank - 1 ? form.lanes : 1;
    parameters.Add(static_cast<uint32_t>(layout.dims[axis] / lanes));
  }
  for (size_t i = 0; i < form.num_operands; ++i) {
    // A step along the last dimension is one unit: as many elements, or one of the operand's own units.
    const int lanes = form.operands[i].access == Access::kStrided ? form.lanes : 1;
    for (int axis = 0; form.IsStrided(i) && axis < form.rank; ++axis) {
      const int64_t stride = layout.strides[i][axis];
      parameters.Add(static_cast<uint32_t>(axis == form.rank - 1 ? stride : stride / lanes));
    }
  }
}

std::string JoinTexts(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text.append(part);
  return text;
}

std::string OperandName(size_t operand) { return {static_cast<char>('a' + operand)}; }
std::string OperandType(size_t operand) { return {static_cast<char>('A' + operand)}; }
std::string VectorType(std::string_view type) { return JoinTexts({"vec4<", type, ">"}); }

void DeclareOperands(const ElementwiseForm& form, ShaderBuilder& builder) {
  for (size_t i = 0; i < form.num_operands; ++i) {
    const DType dtype = form.operands[i].dtype;
    if (dtype == DType::kF16) builder.UseF16();
    builder.Alias(OperandType(i), ArithmeticType(dtype));
    if (static_cast<int>(i) == form.in_place) continue;
    const std::string_view type = StorageType(dtype);
    builder.Buffer("in_" + OperandName(i), BufferAccess::kRead, form.IsVector(i) ? VectorType(type) : type);
  }
}

void DeclarePlaces(const ElementwiseForm& form, ShaderBuilder& builder) {
  for (int axis = 1; axis < form.rank; ++axis) builder.Parameter(SizeName(axis));
  for (size_t i = 0; i < form.num_operands; ++i) {
    for (int axis = 0; form.IsStrided(i) && axis < form.rank; ++axis) builder.Parameter(StrideName(i, axis));
  }
}

std::string ReadUnitText(const ElementwiseForm& form, std::string_view in_place) {
  std::string text = PlaceText(form);
  for (size_t i = 0; i < form.num_operands; ++i) text += LoadText(form, i, in_place);
  return text;
}

ShaderText FinishUnits(ShaderBuilder& builder) {
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Constant("ROUNDS", kRounds);
  return builder.Finish(kElementwiseText);
}

}  // namespace tandem::shader
