// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs and shaders of element-wise ops: what is one pipeline, what is a parameter, which functions a text takes.

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "kernels/shader_functions.h"

namespace tandem::shader {
namespace {

constexpr ShaderSource kSum = {"sum", &ComposeElementwise, "a + b"};
constexpr ShaderSource kDouble = {"double", &ComposeElementwise, "fn apply(a: A) -> R {\n  return a + a;\n}\n"};

Launch Program(const ShaderSource& source, const std::vector<TensorMetadata>& operands, const TensorMetadata& result,
               int in_place = -1, const GpuLimits& limits = {}) {
  std::vector<const TensorMetadata*> pointers;
  for (const TensorMetadata& operand : operands) pointers.push_back(&operand);
  ElementwiseCall call;
  call.operands = pointers;
  call.result = &result;
  call.in_place = in_place;
  return ElementwiseProgram(source, call, limits);
}

TensorMetadata F32(std::initializer_list<int64_t> dims) { return TensorMetadata(DType::kF32, TensorShape(dims)); }

std::vector<uint32_t> Words(const Launch& launch) {
  return {launch.parameters.words().begin(), launch.parameters.words().end()};
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ElementwiseProgramTest, SizesAreParametersNotPipelines) {
  const Launch small = Program(kSum, {F32({4}), F32({4})}, F32({4}));
  const Launch large = Program(kSum, {F32({3, 100, 8}), F32({3, 100, 8})}, F32({3, 100, 8}));
  EXPECT_EQ(small.variant, large.variant);
  EXPECT_EQ(Words(small), (std::vector<uint32_t>{1}));  // four elements each
  EXPECT_EQ(Words(large), (std::vector<uint32_t>{600}));
  EXPECT_EQ(small.workgroups, (std::array<uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(large.workgroups, (std::array<uint32_t, 3>{3, 1, 1}));
}

TEST(ElementwiseProgramTest, OddSizesTakeOneElementAtATime) {
  const Launch odd = Program(kSum, {F32({33}), F32({33})}, F32({33}));
  EXPECT_NE(odd.variant, Program(kSum, {F32({32}), F32({32})}, F32({32})).variant);
  EXPECT_EQ(Words(odd), (std::vector<uint32_t>{33}));
  EXPECT_EQ(Count(odd.variant.Compose().wgsl, "vec4<"), 0u);
}

TEST(ElementwiseProgramTest, AScalarIsReadWhereItLies) {
  const Launch right = Program(kSum, {F32({5, 8}), F32({})}, F32({5, 8}));
  EXPECT_EQ(right.variant, Program(kSum, {F32({8}), F32({1})}, F32({8})).variant);
  EXPECT_EQ(Words(right), (std::vector<uint32_t>{10}));
  EXPECT_EQ(Count(right.variant.Compose().wgsl, "in_b[0u]"), 1u);
  // With one element everywhere, no operand is stretched.
  EXPECT_EQ(Words(Program(kSum, {F32({1, 1}), F32({})}, F32({1, 1}))), (std::vector<uint32_t>{1}));
}

TEST(ElementwiseProgramTest, BroadcastDimensionsAreMergedAndBecomeStrides) {
  // A bias: [6, 5, 8] + [8] is [30, 8] + [8]; two units a row. Sizes without the first, then strides.
  const Launch bias = Program(kSum, {F32({6, 5, 8}), F32({8})}, F32({6, 5, 8}));
  EXPECT_EQ(Words(bias), (std::vector<uint32_t>{60, 2, 0, 1}));
  EXPECT_EQ(bias.variant, Program(kSum, {F32({2, 12}), F32({12})}, F32({2, 12})).variant);
  // One number a row stands for all four of a unit, so it is another pipeline.
  const Launch rows = Program(kSum, {F32({5, 8}), F32({5, 1})}, F32({5, 8}));
  EXPECT_EQ(Words(rows), (std::vector<uint32_t>{10, 2, 1, 0}));
  EXPECT_NE(rows.variant, bias.variant);
  // Rows that are no multiple of four.
  EXPECT_EQ(Words(Program(kSum, {F32({5, 7}), F32({5, 1})}, F32({5, 7}))), (std::vector<uint32_t>{35, 7, 1, 0}));
}

TEST(ElementwiseProgramTest, BothOperandsMayBeStretched) {
  // [2,1,4] with [3,1]: three dimensions; strides of a, then of b.
  const Launch both = Program(kSum, {F32({2, 1, 4}), F32({3, 1})}, F32({2, 3, 4}));
  EXPECT_EQ(Words(both), (std::vector<uint32_t>{6, 3, 1, 1, 0, 1, 0, 1, 0}));
  // Dimensions that alternate up to the highest rank.
  const std::vector<uint32_t> many = Words(
      Program(kSum, {F32({2, 1, 2, 1, 2, 1, 2, 1}), F32({1, 3, 1, 3, 1, 3, 1, 3})}, F32({2, 3, 2, 3, 2, 3, 2, 3})));
  ASSERT_EQ(many.size(), 1u + 7 + 8 + 8);
  EXPECT_EQ(many[0], 1296u);
  EXPECT_EQ(std::vector<uint32_t>(many.begin() + 8, many.begin() + 16),
            (std::vector<uint32_t>{8, 0, 4, 0, 2, 0, 1, 0}));
}

TEST(ElementwiseProgramTest, EveryPlaceIsThatOfNumPyBroadcasting) {
  const TensorMetadata a = F32({3, 1, 2, 4});
  const TensorMetadata b = F32({5, 1, 4});
  const TensorMetadata result = F32({3, 5, 2, 4});
  const std::vector<uint32_t> words = Words(Program(kSum, {a, b}, result));
  ASSERT_EQ(words.size(), 1u + 3 + 4 + 4);
  for (uint32_t unit = 0; unit < words[0]; ++unit) {
    // As the shader's text does it.
    uint32_t rest = unit;
    std::array<uint32_t, 4> index;
    for (int axis = 3; axis > 0; --axis) {
      index[axis] = rest % words[axis];
      rest /= words[axis];
    }
    index[0] = rest;
    uint32_t at_a = 0;
    uint32_t at_b = 0;
    for (int axis = 0; axis < 4; ++axis) {
      at_a += index[axis] * words[4 + axis];
      at_b += index[axis] * words[8 + axis];
    }
    const uint32_t n = unit / 10;
    const uint32_t c = unit / 2 % 5;
    const uint32_t h = unit % 2;
    EXPECT_EQ(at_a, n * 2 + h);
    EXPECT_EQ(at_b, c);
  }
}

TEST(ElementwiseProgramTest, LargeAndEmptyTensors) {
  GpuLimits limits;
  const auto elements = int64_t{65536} * 64 * 4 * 4;
  const Launch large = Program(kSum, {F32({elements}), F32({elements})}, F32({elements}), -1, limits);
  EXPECT_LE(large.workgroups[0], limits.max_workgroups);
  EXPECT_EQ(large.workgroups[1], 2u);
  EXPECT_GE(uint64_t{large.workgroups[0]} * large.workgroups[1] * 256 * 4, static_cast<uint64_t>(elements));
  EXPECT_TRUE(Program(kSum, {F32({0, 4}), F32({4})}, F32({0, 4})).IsEmpty());
}

TEST(ElementwiseShaderTest, ReadsItsOperandFromTheResultInPlace) {
  const Launch launch = Program(kSum, {F32({8}), F32({8})}, F32({8}), /*in_place=*/1);
  EXPECT_NE(launch.variant, Program(kSum, {F32({8}), F32({8})}, F32({8})).variant);
  const ShaderText text = launch.variant.Compose();
  EXPECT_EQ(text.buffers, (std::vector{BufferAccess::kRead, BufferAccess::kReadWrite}));
  EXPECT_EQ(Count(text.wgsl, "in_b"), 0u);
  EXPECT_EQ(Count(text.wgsl, "(result[unit])"), 1u);
}

TEST(ElementwiseShaderTest, TypesAreThoseOfOperandsAndResult) {
  const TensorMetadata half(DType::kF16, TensorShape({8}));
  const TensorMetadata truth(DType::kBool, TensorShape({8}));
  const ShaderText text = Program(kSum, {half, half}, truth).variant.Compose();
  EXPECT_EQ(Count(text.wgsl, "enable f16;"), 1u);
  EXPECT_EQ(Count(text.wgsl, "alias A = f32;"), 1u);
  EXPECT_EQ(Count(text.wgsl, "alias R = u32;"), 1u);
  EXPECT_EQ(Count(text.wgsl, "in_a: array<vec4<f16>>"), 1u);
  EXPECT_EQ(Count(text.wgsl, "result: array<vec4<u32>>"), 1u);
  EXPECT_EQ(Count(text.wgsl, "fn apply(a: A, b: B) -> R"), 1u);
}

TEST(ElementwiseShaderTest, TakesWholeFunctionsToo) {
  const ShaderText text = Program(kDouble, {F32({8})}, F32({8})).variant.Compose();
  EXPECT_EQ(Count(text.wgsl, "fn apply("), 1u);
  EXPECT_EQ(Count(text.wgsl, "return a + a;"), 1u);
}

TEST(ElementwiseShaderTest, ParametersOfFunctionsAreNotPartOfThePipeline) {
  const ElementwiseFunction& leaky = *FindElementwiseFunction("tf.LeakyRelu", DType::kF32);
  const TensorMetadata x = F32({8});
  const TensorMetadata* const operands[] = {&x};
  ElementwiseCall call;
  call.operands = operands;
  call.result = &x;
  call.alpha = 0.25f;
  const Launch quarter = ElementwiseProgram(leaky.source, call, {});
  call.alpha = 0.5f;
  const Launch half = ElementwiseProgram(leaky.source, call, {});
  EXPECT_EQ(quarter.variant, half.variant);
  EXPECT_EQ(Words(half), (std::vector<uint32_t>{2, 0x3F000000u}));
  EXPECT_EQ(quarter.variant.Compose().num_parameters, 2u);
}

TEST(FunctionsCalledByTest, TakesWhatIsCalledOnceAndInOrder) {
  const std::string text = FunctionsCalledBy("return sinh_of(a) + half_exp(b);");
  EXPECT_EQ(Count(text, "fn sinh_of("), 1u);
  EXPECT_EQ(Count(text, "fn half_exp("), 1u);
  EXPECT_EQ(Count(text, "fn expm1_of_rest("), 1u);  // which both call by way of others
  EXPECT_LT(text.find("fn expm1_of_rest("), text.find("fn half_exp("));
  EXPECT_LT(text.find("fn half_exp("), text.find("fn sinh_of("));
  // A name that ends with another is not that one.
  EXPECT_EQ(Count(FunctionsCalledBy("return log1p_of(a);"), "fn log_of("), 0u);
  EXPECT_EQ(FunctionsCalledBy("return my_exp_of(a) + exp_of;"), "");
}

TEST(ElementwiseFunctionsTest, EachIsForItsOwnDTypes) {
  const std::span<const ElementwiseFunction> functions = ElementwiseFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    for (size_t j = i + 1; j < functions.size(); ++j) {
      if (functions[i].source.name != functions[j].source.name) continue;
      EXPECT_TRUE((functions[i].dtypes & functions[j].dtypes).IsEmpty()) << functions[i].source.name;
    }
  }
  EXPECT_EQ(FindElementwiseFunction("tf.Relu", DType::kI32)->source.text, "max(a, 0)");
  EXPECT_EQ(FindElementwiseFunction("tf.Exp", DType::kI32), nullptr);
  EXPECT_EQ(FindElementwiseFunction("tf.NoSuch", DType::kF32), nullptr);
}

TEST(ElementwiseFunctionsTest, UnaryOnesAreForOtherKernelsToo) {
  const std::string tanh = UnaryFunctionText("tf.Tanh", "activate");
  EXPECT_EQ(Count(tanh, "fn activate(a: f32) -> f32 {"), 1u);
  EXPECT_EQ(Count(tanh, "fn tanh_of("), 1u);
  EXPECT_EQ(Count(UnaryFunctionText("tf.LeakyRelu", "f"), "fn f(a: f32, alpha: f32) -> f32 {"), 1u);
  EXPECT_NE(UnaryFunctionText("tandem.Gelu", "f"), UnaryFunctionText("tandem.Gelu", "f", /*flag=*/true));
  EXPECT_EQ(UnaryFunctionText("tf.AddV2", "f"), "");
  EXPECT_EQ(UnaryFunctionText("tf.NoSuch", "f"), "");
}

}  // namespace
}  // namespace tandem::shader
