// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/elementwise_composer.h"

#include <array>
#include <cassert>

#include "kernels/element_types.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

std::string ComputeUnitText(const ElementwiseForm& form) {
  std::string text = "fn compute_unit(unit: u32) {\n" + ReadUnitText(form, "result");
  const std::string_view storage = StorageType(form.result);
  const std::string type = form.lanes > 1 ? VectorType(storage) : std::string(storage);
  text += JoinTexts({"result[unit] = ", type, "("});
  for (int lane = 0; lane < form.lanes; ++lane) {
    text += JoinTexts({lane == 0 ? "" : ", ", form.lanes > 1 ? storage : "", "(apply("});
    for (size_t i = 0; i < form.num_operands; ++i) {
      const char member[] = {'.', "xyzw"[lane], '\0'};
      text += JoinTexts({i == 0 ? "" : ", ", OperandName(i), form.IsVector(i) ? member : ""});
    }
    text += JoinTexts({form.has_alpha ? ", parameters.alpha" : "", "))"});
  }
  return text + ");\n}\n";
}

// Of what types the functions are that an expression of this form may call.
FunctionTypes FunctionTypesOf(const ElementwiseForm& form) {
  // The parts of c64 are f32.
  bool takes_f32 = ArithmeticDType(form.result) == DType::kF32 || form.operands[0].dtype == DType::kC64;
  bool is_wide = ArithmeticBytes(form.result) == 8;
  for (size_t i = 0; i < form.num_operands; ++i) {
    takes_f32 = takes_f32 || ArithmeticDType(form.operands[i].dtype) == DType::kF32;
    is_wide = is_wide || ArithmeticBytes(form.operands[i].dtype) == 8;
  }
  if (!is_wide) return FunctionTypes::kF32;
  return takes_f32 ? FunctionTypes::kAll : FunctionTypes::kWide;
}

}  // namespace

std::string FunctionOfExpression(std::string_view name, std::span<const std::string_view> operand_types,
                                 std::string_view result_type, std::string_view expression, bool has_alpha) {
  std::string text = JoinTexts({"fn ", name, "("});
  for (size_t i = 0; i < operand_types.size(); ++i) {
    text += JoinTexts({i == 0 ? "" : ", ", OperandName(i), ": ", operand_types[i]});
  }
  text += JoinTexts({has_alpha ? ", alpha: f32" : "", ") -> ", result_type, " {\nreturn ", expression, ";\n}\n"});
  return text;
}

ShaderText ComposeElementwise(const ShaderSource& source, std::span<const int32_t> values) {
  const ElementwiseForm form = ElementwiseForm::Unpack(values);
  ShaderBuilder builder(source.name);
  DeclareOperands(form, builder);
  const std::string_view type = StorageType(form.result);
  builder.Alias("R", ArithmeticType(form.result))
      .Buffer("result", BufferAccess::kReadWrite, form.lanes > 1 ? VectorType(type) : type);
  if (form.result == DType::kF16) builder.UseF16();
  builder.Parameter("units");
  if (form.has_alpha) builder.Parameter("alpha", "f32");
  DeclarePlaces(form, builder);
  std::string apply(source.text);
  if (apply.find("fn apply(") == std::string::npos) {
    std::array<std::string, kMaxElementwiseOperands> names;
    std::array<std::string_view, kMaxElementwiseOperands> types;
    for (size_t i = 0; i < form.num_operands; ++i) types[i] = names[i] = OperandType(i);
    apply = FunctionOfExpression("apply", {types.data(), form.num_operands}, "R", apply, form.has_alpha);
  }
  builder.Text(FunctionsCalledBy(apply, FunctionTypesOf(form))).Text(apply).Text(ComputeUnitText(form));
  return FinishUnits(builder);
}

Launch ElementwiseProgram(const ShaderSource& source, const ElementwiseCall& call, const GpuLimits& limits) {
  assert(call.operands.size() <= kMaxElementwiseOperands);
  const ElementwiseLayout layout = MakeElementwiseLayout(call.operands, call.result->shape);
  ElementwiseForm form = MakeElementwiseForm(call.operands, call.result->shape, layout);
  form.result = call.result->dtype;
  form.in_place = call.in_place;
  form.has_alpha = call.alpha.has_value();
  Launch launch;
  launch.variant = ShaderVariant(source);
  form.Pack(launch.variant.values);
  const uint64_t units = NumUnits(form, call.result->shape);
  launch.workgroups = UnitWorkgroups(units, limits);
  launch.parameters.Add(static_cast<uint32_t>(units));
  if (call.alpha) launch.parameters.AddFloat(*call.alpha);
  AddPlaces(form, layout, launch.parameters);
  return launch;
}

}  // namespace tandem::shader
