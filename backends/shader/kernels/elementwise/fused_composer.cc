// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/elementwise/fused_composer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/element_types.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {

namespace {

// Behind those of the form: the output that takes over an input's buffer.
constexpr size_t kInPlaceOutput = ElementwiseForm::kNumValues;
static_assert(kInPlaceOutput < ShaderVariant::kMaxValues);

// What goes from one op to another went through memory when they were two shaders. In one, a compiler may join what
// they compute: a multiplication and an addition to one that rounds once, (a + b) - b to a; and two numbers of which it
// knows that they are the same it takes for no NaN, so that their difference becomes 0. Behind this function it knows
// nothing of a number: `none` is always 0, which only the launch tells, and `place` is another one at each call.
std::string SettleText(std::string_view type, std::string_view bits, std::string_view bit) {
  return JoinTexts({"fn settle(x: ", type, ", place: u32) -> ", type, " {\nreturn bitcast<", type, ">(bitcast<", bits,
                    ">(x) + ", bit, "(parameters.none * place));\n}\n"});
}

// The same for a number that is rounded to f16 between two ops: NVIDIA's Vulkan driver takes f32(f16(x)) for x.
constexpr std::string_view kRoundToHalf = R"(
fn round_to_half(x: f32) -> f32 {
  let pair: vec2h = vec2h(f16(x), f16(0.0));
  return f32(bitcast<vec2h>(bitcast<u32>(pair) + parameters.none)[0]);
}
)";

std::string OutputName(size_t output) { return "result" + std::to_string(output); }

class Composer {
 public:
  Composer(const FusedSource& source, std::span<const int32_t> values)
      : source_(source),
        form_(ElementwiseForm::Unpack(values)),
        is_vector_(form_.lanes > 1),
        in_place_output_(static_cast<size_t>(values[kInPlaceOutput])) {}

  ShaderText Compose() {
    ShaderBuilder builder(source_.name);
    DeclareOperands(form_, builder);
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      builder.Buffer(OutputName(i), BufferAccess::kReadWrite, UnitOf(StorageType(DTypeOfOutput(i))));
    }
    builder.Parameter("units").Parameter("none");
    std::string statements;
    for (size_t i = 0; i < source_.steps.size(); ++i) {
      const FusedStep& step = source_.steps[i];
      if (step.result == DType::kF16) builder.UseF16();
      if (step.has_alpha) builder.Parameter(AlphaName(i), "f32");
      statements += StepText(i);
    }
    DeclarePlaces(form_, builder);
    for (size_t i = 0; i < source_.outputs.size(); ++i) {
      const std::string type = UnitOf(StorageType(DTypeOfOutput(i)));
      statements += JoinTexts({OutputName(i), "[unit] = ", type, "(", StepName(source_.outputs[i]), ");\n"});
    }
    builder.Text(FunctionsCalledBy(functions_, takes_f64_ ? FunctionTypes::kAll : FunctionTypes::kF32));
    builder.Text(SettleText(UnitOf("f32"), UnitOf("u32"), "u32"));
    if (takes_f64_) builder.Text(SettleText(UnitOf("f64"), UnitOf("u64"), "u64"));
    if (rounds_to_half_) builder.Text(kRoundToHalf);
    builder.Text(functions_);
    const std::string reads = ReadUnitText(form_, OutputName(in_place_output_));
    builder.Text(JoinTexts({"fn compute_unit(unit: u32) {\n", reads, statements, "}\n"}));
    return FinishUnits(builder);
  }

 private:
  // An operand of a step, by the name of its unit.
  struct Operand {
    std::string name;
    bool is_vector = false;
  };

  static bool IsSettled(std::string_view type) { return type == "f32" || type == "f64"; }
  static std::string AlphaName(size_t step) { return "alpha" + std::to_string(step); }
  static std::string StepName(size_t step) { return "s" + std::to_string(step); }

  std::string UnitOf(std::string_view type) const { return is_vector_ ? VectorType(type) : std::string(type); }
  DType DTypeOfOutput(size_t output) const { return source_.steps[source_.outputs[output]].result; }
  bool IsInput(size_t operand) const { return operand < source_.num_inputs; }
  DType DTypeOf(size_t operand) const {
    return IsInput(operand) ? form_.operands[operand].dtype : source_.steps[operand - source_.num_inputs].result;
  }

  // The name of the function that computes the step, which is written where it is the first of its kind.
  std::string FunctionOf(const FusedStep& step) {
    std::array<std::string_view, FusedStep::kMaxOperands> types;
    for (size_t k = 0; k < step.num_operands; ++k) types[k] = ArithmeticType(DTypeOf(step.operands[k]));
    std::string expression(step.function->text);
    const std::string_view storage = StorageType(step.result);
    const std::string_view arithmetic = ArithmeticType(step.result);
    if (step.result == DType::kF16) {
      expression = JoinTexts({"round_to_half(", expression, ")"});
      rounds_to_half_ = true;
    } else if (storage != arithmetic) {
      expression = JoinTexts({arithmetic, "(", storage, "(", expression, "))"});
    }
    for (size_t k = 0; k < step.num_operands; ++k) takes_f64_ = takes_f64_ || types[k] == "f64";
    takes_f64_ = takes_f64_ || arithmetic == "f64";
    std::string text = FunctionOfExpression("", {types.data(), step.num_operands}, ArithmeticType(step.result),
                                            expression, step.has_alpha);
    const auto known = std::find(texts_.begin(), texts_.end(), text);
    const std::string name = "f" + std::to_string(known - texts_.begin());
    if (known == texts_.end()) {
      texts_.push_back(text);
      functions_ += text.insert(std::string_view("fn ").size(), name);
    }
    return name;
  }

  // `place`: for a number, 1 and up to that of steps; for a second name of it a multiple of kNames, so that no two sums
  // are the same.
  static constexpr size_t kNames = 1000;
  static std::string SettledText(std::string_view unit, size_t place) {
    return JoinTexts({"settle(", unit, ", ", std::to_string(place), "u)"});
  }

  // What the step takes as operand `k`. A number that it takes twice has two names; `text` gets the second.
  Operand FindOperand(size_t i, size_t k, std::string& text) {
    const FusedStep& step = source_.steps[i];
    const size_t operand = step.operands[k];
    Operand found = {IsInput(operand) ? OperandName(operand) : StepName(operand - source_.num_inputs),
                     IsInput(operand) ? form_.IsVector(operand) : is_vector_};
    const auto end = step.operands.begin() + static_cast<ptrdiff_t>(k);
    const std::string_view scalar = ArithmeticType(DTypeOf(operand));
    if (!IsSettled(scalar) || std::find(step.operands.begin(), end, operand) == end) return found;
    const std::string type = UnitOf(scalar);
    const std::string name = JoinTexts({"t", std::to_string(i), "_", std::to_string(k)});
    const std::string unit = JoinTexts({type, "(", found.name, ")"});
    text +=
        JoinTexts({"let ", name, ": ", type, " = ", SettledText(unit, kNames * (i * step.operands.size() + k)), ";\n"});
    return {name, is_vector_};
  }

  std::string StepText(size_t i) {
    const FusedStep& step = source_.steps[i];
    const std::string function = FunctionOf(step);
    std::string text;
    std::array<Operand, FusedStep::kMaxOperands> operands;
    for (size_t k = 0; k < step.num_operands; ++k) operands[k] = FindOperand(i, k, text);
    const std::string_view type = ArithmeticType(step.result);
    std::string unit = UnitOf(type) + "(";
    for (int lane = 0; lane < form_.lanes; ++lane) {
      const char member[] = {'.', "xyzw"[lane], '\0'};
      unit += JoinTexts({lane == 0 ? "" : ", ", function, "("});
      for (size_t k = 0; k < step.num_operands; ++k) {
        unit += JoinTexts({k == 0 ? "" : ", ", operands[k].name, operands[k].is_vector ? member : ""});
      }
      unit += JoinTexts({step.has_alpha ? ", parameters." + AlphaName(i) : "", ")"});
    }
    unit += ")";
    return JoinTexts({text, "let ", StepName(i), ": ", UnitOf(type), " = ",
                      IsSettled(type) ? SettledText(unit, i + 1) : unit, ";\n"});
  }

  const FusedSource& source_;
  const ElementwiseForm form_;
  const bool is_vector_;
  const size_t in_place_output_;
  bool takes_f64_ = false;
  bool rounds_to_half_ = false;
  std::vector<std::string> texts_;  // of the functions so far, without their names
  std::string functions_;
};

}  // namespace

ShaderText ComposeFused(const ShaderSource& source, std::span<const int32_t> values) {
  return Composer(static_cast<const FusedSource&>(source), values).Compose();
}

Launch FusedProgram(const FusedSource& source, std::span<const TensorMetadata* const> inputs, const TensorShape& shape,
                    std::span<const float> alphas, const GpuLimits& limits) {
  const ElementwiseLayout layout = MakeElementwiseLayout(inputs, shape);
  const ElementwiseForm form = MakeElementwiseForm(inputs, shape, layout);
  Launch launch;
  launch.variant = ShaderVariant(source);
  form.Pack(launch.variant.values);
  const uint64_t units = NumUnits(form, shape);
  launch.workgroups = UnitWorkgroups(units, limits);
  launch.parameters.Add(static_cast<uint32_t>(units));
  launch.parameters.Add(0);
  for (const float alpha : alphas) launch.parameters.AddFloat(alpha);
  AddPlaces(form, layout, launch.parameters);
  return launch;
}

void SetInPlace(Launch& launch, size_t input, size_t output) {
  ElementwiseForm form = ElementwiseForm::Unpack(launch.variant.values);
  form.in_place = static_cast<int>(input);
  form.Pack(launch.variant.values);
  launch.variant.values[kInPlaceOutput] = static_cast<int32_t>(output);
}

size_t MostFusedParameters(size_t num_alphas, size_t num_stretched, int rank) {
  const size_t places = num_stretched == 0 ? 0 : (num_stretched + 1) * static_cast<size_t>(rank);
  return 2 + num_alphas + places;
}

}  // namespace tandem::shader
