// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts of the kernels' language become GLSL that glslang takes; no device is needed. What they compute is tested in
// vulkan_queue_test.cc.

#include "glsl_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "spirv.h"

namespace tandem::vulkan {
namespace {

constexpr std::string_view kBegin =
    "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
    "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
    "@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;\n";
constexpr std::string_view kMain =
    "@compute @workgroup_size(64, 1, 1) fn main(@builtin(global_invocation_id) gid: vec3u, "
    "@builtin(local_invocation_id) lid: vec3u, @builtin(workgroup_id) wid: vec3u, "
    "@builtin(num_workgroups) nwg: vec3u, @builtin(local_invocation_index) lidx: u32) {\n";

std::string Shader(std::string_view declarations, std::string_view body) {
  std::string text(declarations);
  return text.append(kBegin).append(kMain).append(body).append("\n}\n");
}

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

TEST(GlslTextTest, StatementsOfAllKinds) {
  ExpectCompiles(Shader("", R"(
  var i: i32 = 0;
  var done: bool;
  for (var j: u32 = 0u; j < 4u; j++) { i += 1; }
  for (; i < 10; ) { i *= 2; }
  while (i > 0) { i -= 3; if (i == 1) { break; } else if i == 2 { continue; } else { i--; } }
  switch (i) { case 0: { y[0] = 1.0; } case 1, 2, { y[0] = 2.0; } default: { y[0] = 3.0; } }
  { let inner: f32 = x[lid.x]; y[gid.x] = inner; }
  i <<= 2u; i >>= u32(i); i &= 7; i |= 8; i ^= 1; i %= 5; i /= 2;
  _ = atomicAdd(&counts[0], 1u);
  done = !done && (i != 0 || -i >= ~i);
  if (done) { return; }
  ;
)"));
}

TEST(GlslTextTest, TypesOfAllKinds) {
  ExpectCompiles(
      Shader("alias Vector = vec4f; alias Row = array<Vector, 2>; const SIZE: u32 = 4u * 2u + 1u;\n"
             "var<workgroup> tile: array<array<f32, SIZE>, 3>; var<workgroup> total: atomic<i32>;\n"
             "var<workgroup> sums: array<atomic<u32>, 4>;\n"
             "fn sum(row: Row) -> f32 { return dot(row[0], row[1]); }\n",
             R"(
  var row: Row = Row(Vector(1.0), vec4<f32>(vec2f(1.0, 2.0), 3.0, 4.0));
  var rows: array<Row, 3>;
  rows[1][0].x = 2.0;
  let v: vec2i = vec2i(vec2f(1.0, 2.0));
  let b: vec2<bool> = vec2<bool>(true, false);
  let s: vec4f = select(row[0], row[1], v.x == 1);
  let t: vec2i = select(v, v + 1, b);
  tile[2][SIZE - 1u] = sum(row) + s.w + f32(t.y) + f32(array<i32, 2>(3, 4)[1]);
  atomicMax(&total, -3); atomicMin(&sums[lidx % 4u], 2u); atomicStore(&total, 1); atomicSub(&sums[0], 1u);
  y[0] = tile[0][0] + f32(atomicLoad(&total)) + f32(atomicExchange(&sums[1], 2u));
)"));
}

TEST(GlslTextTest, FunctionsMayBeCalledAboveTheirDeclaration) {
  ExpectCompiles(
      "fn first(x: f32) -> f32 { return second(x); }\n" +
      Shader("fn second(x: f32) -> f32 { if (x > 1.0) { return 0.0; } return x; }\n", "y[0] = first(x[0]);"));
}

TEST(GlslTextTest, BuiltInFunctions) {
  ExpectCompiles(Shader("", R"(
  let f: f32 = x[0];
  let v: vec4f = vec4f(f);
  var a: f32 = inverseSqrt(f) + round(f) + atan2(f, 2.0) + saturate(f) + fma(f, f, f) + trunc(f) + sign(f) + fract(f);
  a += abs(f) + ceil(f) + floor(f) + exp(f) + exp2(f) + log(f) + log2(f) + pow(f, 2.0) + sqrt(f) + min(f, 1.0);
  a += max(f, 1.0) + clamp(f, 0.0, 1.0) + mix(f, 1.0, 0.5) + step(f, 1.0) + smoothstep(0.0, 1.0, f) + sinh(f) + cosh(f);
  a += tanh(f) + asinh(f) + acosh(f) + atanh(f) + asin(f) + acos(f) + atan(f) + sin(f) + cos(f) + tan(f) + ldexp(f, 2);
  a += dot(v, v) + length(v) + f % 2.0 + (v % v).x + saturate(v).y + round(v).z;
  let u: u32 = countOneBits(1u) + firstLeadingBit(1u) + firstTrailingBit(1u) + extractBits(5u, 1u, 2u) + reverseBits(1u);
  let i: i32 = countOneBits(1) + firstLeadingBit(-1) + firstTrailingBit(1) + extractBits(5, 1u, 2u);
  let w: u32 = insertBits(u, 3u, 1u, 2u) + countLeadingZeros(u) + countTrailingZeros(u) + pack2x16float(vec2f(f));
  let p: vec2f = unpack2x16float(w);
  y[0] = a + p.x + bitcast<f32>(u) + bitcast<f32>(i) + bitcast<vec2f>(vec2u(u)).x + f32(bitcast<vec4i>(v).x);
  let taken: bool = atomicCompareExchangeWeak(&counts[0], 1u, 2u).exchanged;
  let old: u32 = atomicCompareExchangeWeak(&counts[0], 1u, 2u).old_value + atomicOr(&counts[1], 1u);
  storageBarrier(); workgroupBarrier();
)"));
}

TEST(GlslTextTest, HalfFloatsAndSubgroups) {
  ExpectCompiles("enable f16;\nenable subgroups;\n" +
                 Shader("@group(0) @binding(3) var<storage, read_write> h: array<f16>;\n"
                        "@group(0) @binding(4) var<storage, read_write> hv: array<vec4h>;\n",
                        R"(
  let a: f16 = h[0] * 2.0h + f16(x[0]) - 1h;
  hv[0] = vec4h(a, 1.0h, max(a, 0.0h), select(a, 1.0h, a > 0.0h));
  h[1] = fma(a, a, a) % 2.0h;
  y[0] = subgroupAdd(x[0]) + subgroupMax(x[1]) + subgroupMin(x[2]) + subgroupMul(x[3]) + subgroupBroadcastFirst(x[4]);
  y[1] = f32(i32(a)) + f32(u32(a)) + vec4f(hv[0]).x;
  if (subgroupElect() || subgroupAny(x[0] > 0.0)) { y[2] = f32(subgroupAdd(1u)); }
)"));
}

TEST(GlslTextTest, Numbers) {
  ExpectCompiles(Shader("", R"(
  let low: i32 = -2147483648;
  let high: u32 = 4294967295u;
  let hex: u32 = 0xFFFFFFFFu + 0x1fu;
  let big: u32 = 4000000000;
  y[0] = 1f + .5 + 1. + 1e-3 + 1.5E+2f + 3.40282347e38f + f32(low) + f32(high) + f32(hex) + f32(7i) + f32(big);
)"));
}

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
  const std::string good =
      Shader("const N: u32 = 4u; var<workgroup> tile: array<array<f32, N>, 2>;",
             "for (var i: u32 = 0u; i < N; i++) { switch i { case 0u: { tile[0][i] = select(1.0, x[i], i == 2u); } "
             "default { y[i] = bitcast<f32>(i % 3u) << 2; } } }");
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
