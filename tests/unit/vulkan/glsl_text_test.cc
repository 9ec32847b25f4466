// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts of the kernels' language become GLSL that glslang takes; no device is needed. What they compute is tested in
// vulkan_queue_test.cc.

#include "glsl_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "shader/language_texts.h"
#include "spirv.h"

namespace tandem::vulkan {
namespace {

using namespace shader::language;

// What became of the text: GLSL, or "error: ".
std::string Translated(std::string_view wgsl, ParameterPlace place = ParameterPlace::kUniformBuffer) {
  const StatusOr<std::string> glsl = TranslateToGlsl(wgsl, place);
  return glsl.ok() ? *glsl : "error: " + std::string(glsl.status().message());
}

void ExpectCompiles(std::string_view wgsl) {
  for (const ParameterPlace place : {ParameterPlace::kUniformBuffer, ParameterPlace::kPushConstants}) {
    const StatusOr<std::string> glsl = TranslateToGlsl(wgsl, place);
    ASSERT_TRUE(glsl.ok()) << glsl.status().ToString() << "\n" << wgsl;
    const auto spirv = SpirvCompiler().Compile(*glsl);
    ASSERT_TRUE(spirv.ok()) << spirv.status().ToString() << "\n" << wgsl;
    EXPECT_EQ((*spirv)[0], 0x07230203u);
  }
}

TEST(GlslTextTest, NamesOfGlslAreFreeForKernels) {
  std::string declarations = "var<workgroup> shared: array<f32, 4>; fn texture(half: f32) -> f32 { return half; }\n";
  std::string body;
  for (const char* name :
       {"input",  "output", "sample", "buffer", "float",   "vec4",     "uint", "in",    "out",    "inout",
        "double", "common", "filter", "layout", "precise", "restrict", "gl",   "w_mod", "noise1", "mod"}) {
    if (std::string_view(name) == "vec4") continue;  // taken in WGSL, too
    body += "let " + std::string(name) + ": f32 = texture(1.0); y[0] = " + name + " + shared[1];\n";
  }
  ExpectCompiles(Shader(declarations, body));
}

TEST(GlslTextTest, StatementsOfAllKinds) { ExpectCompiles(StatementsText()); }

TEST(GlslTextTest, TypesOfAllKinds) { ExpectCompiles(TypesText()); }

TEST(GlslTextTest, FunctionsMayBeCalledAboveTheirDeclaration) { ExpectCompiles(FunctionsOutOfOrderText()); }

TEST(GlslTextTest, BuiltInFunctions) { ExpectCompiles(BuiltInFunctionsText()); }

TEST(GlslTextTest, HalfFloatsAndSubgroups) { ExpectCompiles(HalfFloatsAndSubgroupsText()); }

TEST(GlslTextTest, Numbers) { ExpectCompiles(NumbersText()); }

TEST(GlslTextTest, ParametersAreAUniformBufferOrPushConstants) {
  const std::string text =
      "struct Parameters { rows: u32, scale: f32, input: i32, }\n"
      "@group(0) @binding(3) var<uniform> parameters: Parameters;\n" +
      Shader("", "y[parameters.rows] = parameters.scale + f32(parameters.input);");
  ExpectCompiles(text);
  EXPECT_NE(Translated(text).find("layout(std140, set = 0, binding = 3) uniform"), std::string::npos);
  const std::string pushes = Translated(text, ParameterPlace::kPushConstants);
  EXPECT_NE(pushes.find("layout(push_constant) uniform"), std::string::npos);
}

TEST(GlslTextTest, OnlyBuffersThatAreWrittenMayBe) {
  const auto spirv = SpirvCompiler().Compile(Translated(Shader("", "x[0] = 1.0;")));
  ASSERT_FALSE(spirv.ok());
  EXPECT_NE(spirv.status().message().find("readonly"), std::string_view::npos) << spirv.status().message();
}

TEST(GlslTextTest, MessagesOfTheCompilerHaveTheKernelsLines) {
  const auto spirv = SpirvCompiler().Compile(Translated(Shader("", "\n\n  y[0] = x;\n")));
  ASSERT_FALSE(spirv.ok());
  EXPECT_NE(spirv.status().message().find(":7:"), std::string_view::npos) << spirv.status().message();
}

struct Wrong {
  std::string_view body;
  std::string_view error;
};

TEST(GlslTextTest, WhatTheLanguageHasNotIsAnErrorWithItsLine) {
  const Wrong wrongs[] = {
      {"let a = 1.0;", "line 5: expected a type, as in `name: f32`, got \"=\""},
      {"let a: mat2x2f = 1.0;", "line 5: expected a type, got \"mat2x2f\""},
      {"let a: ptr<function, f32> = 1.0;", "line 5: expected a type, got \"ptr\""},
      {"loop { break; }", "line 5: expected a statement, got \"{\""},
      {"y[0] = frobnicate(1.0);", "line 5: expected a function of the kernels' language, got \"frobnicate\""},
      {"y[0] = textureLoad(x, 1);", "line 5: expected a function of the kernels' language, got \"textureLoad\""},
      {"let a: f32 = 0x1p3;", "line 5: expected a decimal number, got \"0x1p3\""},
      {"y[0] = 1.0", "line 6: expected \";\", got \"}\""},
      {"if (true) { ", "line 7: expected \"}\", got the end of the text"},
      {"y[0] = (1.0;", "line 5: expected \")\", got \";\""},
      {"y[0] = ;", "line 5: expected an expression, got \";\""},
      {"y[0] += ? 1.0;", "line 5: expected a character of the kernels' language, got 63"},
      {"x[0];", "line 5: expected a statement, got \";\""},
      {"atomicAdd(counts[0], 1u);", "line 5: expected \"&\", got \"counts\""},
      {"atomicAdd(&counts[0]);", "line 5: expected another number of arguments of atomicAdd, got \";\""},
      {"atomicCompareExchangeWeak(&counts[0], 1u, 2u);", "line 5: expected \".\", got \";\""},
      {"let v: vec4f = vec4(1.0);", "line 5: expected the type of elements, as in vec4<f32>, got \"vec4\""},
      {"/* no end", "line 5: expected an end of the comment, got none"},
  };
  for (const Wrong& wrong : wrongs) {
    EXPECT_EQ(Translated(Shader("", wrong.body)), "error: " + std::string(wrong.error)) << wrong.body;
  }
  EXPECT_EQ(Translated("fn helper() { }"), "error: expected an entry point main, got none");
  EXPECT_EQ(Translated(""), "error: expected an entry point main, got none");
  EXPECT_EQ(Translated("enable chromium_f16;"), "error: line 1: expected f16 or subgroups, got \"chromium_f16\"");
  EXPECT_EQ(Translated("@group(1) @binding(0) var<storage, read> x: array<f32>;"),
            "error: line 1: expected a binding of group 0, got \"@\"");
  EXPECT_EQ(Translated("override x: f32;"), "error: line 1: expected a declaration, got \"override\"");
  EXPECT_EQ(Translated("var<private> x: f32;"),
            "error: line 1: expected a variable of storage, uniform or workgroup, got \":\"");
}

// Whatever a text is cut or changed to, there is an answer.
TEST(GlslTextTest, BrokenTextsEndInErrorsNotInCrashes) {
  const std::string good = TextToBreak();
  for (size_t i = 0; i < good.size(); ++i) {
    Translated(good.substr(0, i));
    std::string without = good;
    without.erase(i, 1);
    Translated(without);
    for (const char c : {'(', '<', '@', '}', ';', '\xFF'}) {
      std::string changed = good;
      changed[i] = c;
      Translated(changed);
    }
  }
  // No recursion without a bound.
  const Status deep =
      TranslateToGlsl(Shader("", "y[0] = " + std::string(100000, '(')), ParameterPlace::kUniformBuffer).status();
  EXPECT_EQ(deep.message(), "line 5: expected fewer expressions within each other, got \"(\"");
  const Status blocks = TranslateToGlsl(Shader("", std::string(100000, '{')), ParameterPlace::kUniformBuffer).status();
  EXPECT_EQ(blocks.message(), "line 5: expected fewer blocks within each other, got \"{\"");
}

}  // namespace
}  // namespace tandem::vulkan
