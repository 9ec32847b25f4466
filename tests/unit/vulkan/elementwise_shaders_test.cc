// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Every shader of element-wise, creation and random ops is one for Vulkan, too.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "glsl_text.h"
#include "kernels/creation/creation_programs.h"
#include "kernels/creation/fill_words.h"
#include "kernels/elementwise/elementwise_composer.h"
#include "kernels/elementwise/elementwise_functions.h"
#include "kernels/elementwise/fused_composer.h"
#include "kernels/random/random_programs.h"
#include "spirv.h"

namespace tandem::vulkan {
namespace {

using shader::ElementwiseFunction;

void ExpectCompiles(const SpirvCompiler& compiler, const shader::ShaderVariant& variant, const std::string& what) {
  const shader::ShaderText text = variant.Compose();
  const StatusOr<std::string> glsl = TranslateToGlsl(text.wgsl, ParameterPlace::kPushConstants);
  ASSERT_TRUE(glsl.ok()) << what << ": " << glsl.status().message() << "\n" << text.wgsl;
  const auto spirv = compiler.Compile(*glsl);
  EXPECT_TRUE(spirv.ok()) << what << ": " << spirv.status().message() << "\n" << text.wgsl;
}

std::vector<DType> DTypesOf(const ElementwiseFunction& function) {
  shader::GpuLimits limits;
  limits.has_f16 = true;
  const DTypeSet all = DTypesOf(function, limits);
  std::vector<DType> dtypes;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32, DType::kBool}) {
    if (all.Contains(dtype)) dtypes.push_back(dtype);
  }
  if (all.Contains(DType::kInvalid)) dtypes.push_back(DType::kBool);
  return dtypes;
}

bool GivesBool(const ElementwiseFunction& function) {
  return function.source.text.find("u32(") != std::string_view::npos &&
         function.source.text.find("u32(b)") == std::string_view::npos;
}

TEST(ElementwiseShadersTest, EveryFunctionCompilesInEveryForm) {
  const SpirvCompiler compiler;
  const TensorShape shapes[] = {TensorShape({3, 8}), TensorShape({3, 5})};
  for (const ElementwiseFunction& function : shader::ElementwiseFunctions()) {
    for (const DType dtype : DTypesOf(function)) {
      for (const TensorShape& shape : shapes) {
        const bool selects = function.source.name == "tf.SelectV2";
        // The last operand once whole, once a row, once a column, once a single element.
        for (const TensorShape& last : {shape, TensorShape({shape.dim(1)}), TensorShape({3, 1}), TensorShape()}) {
          if (function.num_operands == 1 && last != shape) continue;
          std::vector<TensorMetadata> operands(function.num_operands, TensorMetadata(dtype, shape));
          operands.back().shape = last;
          if (selects) operands[0].dtype = DType::kBool;
          std::vector<const TensorMetadata*> pointers;
          for (const TensorMetadata& operand : operands) pointers.push_back(&operand);
          const TensorMetadata result(GivesBool(function) ? DType::kBool : dtype, shape);
          shader::ElementwiseCall call;
          call.operands = pointers;
          call.result = &result;
          if (function.attribute != nullptr) call.alpha = 0.5f;
          if (operands[0].dtype == result.dtype && function.num_operands > 1) call.in_place = 0;
          const std::string what = std::string(function.source.name) + " " + std::string(DTypeName(dtype));
          ExpectCompiles(compiler, ElementwiseProgram(function.source, call, {}).variant, what);
          if (function.flag == nullptr) continue;
          ExpectCompiles(compiler, ElementwiseProgram(function.source_if_flag, call, {}).variant, what);
        }
      }
    }
  }
}

// Before a conversion and a product that takes one number twice.
TEST(ElementwiseShadersTest, EveryFunctionCompilesInAGroup) {
  const SpirvCompiler compiler;
  const shader::ShaderSource& product = shader::FindElementwiseFunction("tf.Mul", DType::kF32)->source;
  for (const ElementwiseFunction& function : shader::ElementwiseFunctions()) {
    for (const DType dtype : DTypesOf(function)) {
      for (const TensorShape& shape : {TensorShape({3, 8}), TensorShape({3, 5})}) {
        const DType result = GivesBool(function) ? DType::kBool : dtype;
        const uint8_t first = function.num_operands;
        const auto second = static_cast<uint8_t>(first + 1);
        shader::FusedSource source;
        source.name = "fused";
        source.compose = &shader::ComposeFused;
        source.num_inputs = first;
        source.steps = {{&function.source, result, function.attribute != nullptr, first, {0, 1, 2}},
                        {&shader::ConversionSource(result, DType::kF32, false), DType::kF32, false, 1, {first}},
                        {&product, DType::kF32, false, 2, {second, second}}};
        source.outputs = {0, 2};
        std::vector<TensorMetadata> inputs(first, TensorMetadata(dtype, shape));
        inputs.back().shape = TensorShape({shape.dim(1)});
        if (function.source.name == "tf.SelectV2") inputs[0].dtype = DType::kBool;
        if (first == 1) inputs[0].shape = shape;
        std::vector<const TensorMetadata*> pointers;
        for (const TensorMetadata& input : inputs) pointers.push_back(&input);
        const std::vector<float> alphas(function.attribute != nullptr ? 1 : 0, 0.5f);
        shader::Launch launch = FusedProgram(source, pointers, shape, alphas, {});
        const std::string what = std::string(function.source.name) + " " + std::string(DTypeName(dtype));
        ExpectCompiles(compiler, launch.variant, what);
        if (inputs[0].dtype != result || inputs[0].shape != shape) continue;
        SetInPlace(launch, 0, 0);
        ExpectCompiles(compiler, launch.variant, what + " in place");
      }
    }
  }
}

TEST(ElementwiseShadersTest, ShadersThatMakeTensorsCompile) {
  const SpirvCompiler compiler;
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    const TensorMetadata result(dtype, TensorShape({6}));
    ExpectCompiles(compiler, shader::FillProgram(result, {}).variant, "fill");
  }
  ExpectCompiles(compiler, shader::FillWordsProgram(1, {}, {}).variant, "fill_words");
  ExpectCompiles(compiler, shader::RangeProgram({DType::kI32, {1}}, 0, 1, {}).variant, "range");
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBool}) {
    for (const DType index : {DType::kU8, DType::kI8, DType::kI32, DType::kI64}) {
      const TensorMetadata result(dtype, TensorShape({2, 3}));
      ExpectCompiles(compiler, shader::OneHotProgram(index, result, 1, {}).variant, "one_hot");
    }
  }
  for (const auto distribution : {shader::Distribution::kUniform, shader::Distribution::kNormal}) {
    for (const int64_t size : {7, 8}) {
      for (const DType dtype : {DType::kF32, DType::kF16}) {
        for (const DType seed : {DType::kI32, DType::kI64}) {
          const TensorMetadata result(dtype, TensorShape({size}));
          ExpectCompiles(compiler, shader::RandomProgram(distribution, result, seed, {}).variant, "random");
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem::vulkan
