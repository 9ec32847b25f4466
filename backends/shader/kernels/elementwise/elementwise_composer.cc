// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_composer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <initializer_list>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;
constexpr uint32_t kRounds = 4;

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

// What makes one pipeline differ from another of the same source.
struct Form {
  DType result = DType::kInvalid;
  int in_place = -1;
  int rank = 0;   // of the result, as far as strided operands need it
  int lanes = 1;  // elements of a unit
  bool has_alpha = false;
  size_t num_operands = 0;
  std::array<Operand, kMaxElementwiseOperands> operands;

  // In the values of a variant; 0 for an operand that is not there, since no dtype is.
  void Pack(std::array<int32_t, ShaderVariant::kMaxValues>& values) const {
    values[0] = static_cast<int32_t>(result) | (in_place + 1) << 8 | rank << 16 | lanes << 24 |
                static_cast<int32_t>(has_alpha) << 28;
    for (size_t i = 0; i < num_operands; ++i) {
      values[i + 1] = static_cast<int32_t>(operands[i].dtype) | static_cast<int32_t>(operands[i].access) << 8;
    }
  }
  static Form Unpack(std::span<const int32_t> values) {
    Form form;
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

  bool IsStrided(size_t i) const {
    return operands[i].access == Access::kStrided || operands[i].access == Access::kSplat;
  }
  bool IsVector(size_t i) const {
    return lanes > 1 && (operands[i].access == Access::kWhole || operands[i].access == Access::kStrided);
  }
};

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text.append(part);
  return text;
}

// The operand's name in expressions, and its type in functions.
std::string NameOf(size_t operand) { return {static_cast<char>('a' + operand)}; }
std::string TypeOf(size_t operand) { return {static_cast<char>('A' + operand)}; }

std::string Vector(std::string_view type) { return Join({"vec4<", type, ">"}); }

std::string SizeName(int axis) { return "size" + std::to_string(axis); }
std::string StrideName(size_t operand, int axis) { return Join({NameOf(operand), "_stride", std::to_string(axis)}); }

void DeclareBuffers(const Form& form, ShaderBuilder& builder) {
  bool uses_f16 = form.result == DType::kF16;
  for (size_t i = 0; i < form.num_operands; ++i) {
    const DType dtype = form.operands[i].dtype;
    uses_f16 = uses_f16 || dtype == DType::kF16;
    builder.Alias(TypeOf(i), ArithmeticType(dtype));
    if (static_cast<int>(i) == form.in_place) continue;
    const std::string_view type = StorageType(dtype);
    builder.Buffer("in_" + NameOf(i), BufferAccess::kRead, form.IsVector(i) ? Vector(type) : type);
  }
  const std::string_view type = StorageType(form.result);
  builder.Alias("R", ArithmeticType(form.result))
      .Buffer("result", BufferAccess::kReadWrite, form.lanes > 1 ? Vector(type) : type);
  if (uses_f16) builder.UseF16();
}

void DeclareParameters(const Form& form, ShaderBuilder& builder) {
  builder.Parameter("units");
  if (form.has_alpha) builder.Parameter("alpha", "f32");
  for (int axis = 1; axis < form.rank; ++axis) builder.Parameter(SizeName(axis));
  for (size_t i = 0; i < form.num_operands; ++i) {
    for (int axis = 0; form.IsStrided(i) && axis < form.rank; ++axis) builder.Parameter(StrideName(i, axis));
  }
}

// Statements that give the unit's place i0, i1, ... in the result, and from it that in each strided operand.
std::string PlaceText(const Form& form) {
  if (form.rank == 0) return {};
  std::string text = "var rest: u32 = unit;\n";
  for (int axis = form.rank - 1; axis > 0; --axis) {
    const std::string number = std::to_string(axis);
    text += Join({"let i", number, ": u32 = rest % parameters.", SizeName(axis), ";\nrest = rest / parameters.",
                  SizeName(axis), ";\n"});
  }
  text += "let i0: u32 = rest;\n";
  for (size_t i = 0; i < form.num_operands; ++i) {
    if (!form.IsStrided(i)) continue;
    text += Join({"let at_", NameOf(i), ": u32 = "});
    for (int axis = 0; axis < form.rank; ++axis) {
      text += Join({axis == 0 ? "" : " + ", "i", std::to_string(axis), " * parameters.", StrideName(i, axis)});
    }
    text += ";\n";
  }
  return text;
}

// The statement that reads a unit of an operand.
std::string LoadText(const Form& form, size_t i) {
  const std::string type = form.IsVector(i) ? Vector(TypeOf(i)) : TypeOf(i);
  const std::string buffer = static_cast<int>(i) == form.in_place ? "result" : "in_" + NameOf(i);
  std::string place = "unit";
  if (form.IsStrided(i)) place = "at_" + NameOf(i);
  if (form.operands[i].access == Access::kSingle) place = "0u";
  return Join({"let ", NameOf(i), ": ", type, " = ", type, "(", buffer, "[", place, "]);\n"});
}

std::string ComputeUnitText(const Form& form) {
  std::string text = "fn compute_unit(unit: u32) {\n" + PlaceText(form);
  for (size_t i = 0; i < form.num_operands; ++i) text += LoadText(form, i);
  const std::string_view storage = StorageType(form.result);
  const std::string type = form.lanes > 1 ? Vector(storage) : std::string(storage);
  text += Join({"result[unit] = ", type, "("});
  for (int lane = 0; lane < form.lanes; ++lane) {
    text += Join({lane == 0 ? "" : ", ", form.lanes > 1 ? storage : "", "(apply("});
    for (size_t i = 0; i < form.num_operands; ++i) {
      const char member[] = {'.', "xyzw"[lane], '\0'};
      text += Join({i == 0 ? "" : ", ", NameOf(i), form.IsVector(i) ? member : ""});
    }
    text += Join({form.has_alpha ? ", parameters.alpha" : "", "))"});
  }
  return text + ");\n}\n";
}

using Dims = std::array<int64_t, TensorShape::kMaxRank>;

// How the operands lie over the result: dimensions of size 1 left out, neighbours merged where all operands allow it.
struct Layout {
  int rank = 0;
  Dims dims;
  std::array<Dims, kMaxElementwiseOperands> strides;  // in elements; 0 where an operand is stretched
};

Layout MakeLayout(std::span<const TensorMetadata* const> operands, const TensorShape& result) {
  Layout layout;
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

Form MakeForm(const ElementwiseCall& call, const Layout& layout) {
  const int64_t n = call.result->num_elements();
  Form form;
  form.result = call.result->dtype;
  form.in_place = call.in_place;
  form.has_alpha = call.alpha.has_value();
  form.num_operands = call.operands.size();
  const int last = layout.rank - 1;
  const bool whole_vectors = last >= 0 && layout.dims[last] % 4 == 0;
  form.lanes = whole_vectors ? 4 : 1;
  for (size_t i = 0; i < form.num_operands; ++i) {
    const int64_t size = call.operands[i]->num_elements();
    Access access = Access::kWhole;
    if (size == 1 && n != 1) {
      access = Access::kSingle;
    } else if (size != n) {
      access = whole_vectors && layout.strides[i][last] == 0 ? Access::kSplat : Access::kStrided;
      form.rank = layout.rank;
    }
    form.operands[i] = {call.operands[i]->dtype, access};
  }
  return form;
}

}  // namespace

std::string FunctionOfExpression(std::string_view name, std::span<const std::string_view> operand_types,
                                 std::string_view result_type, std::string_view expression, bool has_alpha) {
  std::string text = Join({"fn ", name, "("});
  for (size_t i = 0; i < operand_types.size(); ++i) {
    text += Join({i == 0 ? "" : ", ", NameOf(i), ": ", operand_types[i]});
  }
  text += Join({has_alpha ? ", alpha: f32" : "", ") -> ", result_type, " {\nreturn ", expression, ";\n}\n"});
  return text;
}

ShaderText ComposeElementwise(const ShaderSource& source, std::span<const int32_t> values) {
  const Form form = Form::Unpack(values);
  ShaderBuilder builder(source.name);
  DeclareBuffers(form, builder);
  DeclareParameters(form, builder);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Constant("ROUNDS", kRounds);
  std::string apply(source.text);
  if (apply.find("fn apply(") == std::string::npos) {
    std::array<std::string, kMaxElementwiseOperands> names;
    std::array<std::string_view, kMaxElementwiseOperands> types;
    for (size_t i = 0; i < form.num_operands; ++i) types[i] = names[i] = TypeOf(i);
    apply = FunctionOfExpression("apply", {types.data(), form.num_operands}, "R", apply, form.has_alpha);
  }
  builder.Text(FunctionsCalledBy(apply)).Text(apply).Text(ComputeUnitText(form));
  return builder.Finish(kElementwiseText);
}

Launch ElementwiseProgram(const ShaderSource& source, const ElementwiseCall& call, const GpuLimits& limits) {
  assert(call.operands.size() <= kMaxElementwiseOperands);
  const Layout layout = MakeLayout(call.operands, call.result->shape);
  const Form form = MakeForm(call, layout);
  Launch launch;
  launch.variant = ShaderVariant(source);
  form.Pack(launch.variant.values);
  const auto units = static_cast<uint64_t>(call.result->num_elements() / form.lanes);
  launch.workgroups = LinearWorkgroups(units, kWorkgroup * kRounds, limits);
  launch.parameters.Add(static_cast<uint32_t>(units));
  if (call.alpha) launch.parameters.AddFloat(*call.alpha);
  for (int axis = 1; axis < form.rank; ++axis) {
    const int lanes = axis == layout.rank - 1 ? form.lanes : 1;
    launch.parameters.Add(static_cast<uint32_t>(layout.dims[axis] / lanes));
  }
  for (size_t i = 0; i < form.num_operands; ++i) {
    // A step along the last dimension is one unit: as many elements, or one of the operand's own units.
    const int lanes = form.operands[i].access == Access::kStrided ? form.lanes : 1;
    for (int axis = 0; form.IsStrided(i) && axis < form.rank; ++axis) {
      const int64_t stride = layout.strides[i][axis];
      launch.parameters.Add(static_cast<uint32_t>(axis == form.rank - 1 ? stride : stride / lanes));
    }
  }
  return launch;
}

}  // namespace tandem::shader
