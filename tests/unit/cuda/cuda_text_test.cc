// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts of the kernels' language become CUDA C++ that NVRTC takes, where it is there; no device is needed. What they
// compute is tested by the conformance cases in emulation.

#include "cuda_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cuda_prelude.h"
#include "nvrtc.h"

namespace tandem::cuda {
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

// What became of the text: CUDA C++, or "error: ".
std::string Translated(std::string_view wgsl) {
  const StatusOr<std::string> cuda = TranslateToCuda(wgsl, "kernel");
  return cuda.ok() ? *cuda : "error: " + std::string(cuda.status().message());
}

// The PTX, or the compiler's words; skips the test where there is no compiler.
void Compile(std::string_view wgsl, StatusOr<Nvrtc::Code>& code) {
  const StatusOr<std::string> cuda = TranslateToCuda(wgsl, "kernel");
  ASSERT_TRUE(cuda.ok()) << cuda.status().ToString() << "\n" << wgsl;
  const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().ToString();
  code = nvrtc->Compile(std::string(kCudaPrelude) + *cuda, "kernel", 75, /*wants_ptx=*/true);
}

void ExpectCompiles(std::string_view wgsl) {
  StatusOr<Nvrtc::Code> code = Nvrtc::Code();
  Compile(wgsl, code);
  EXPECT_TRUE(code.ok()) << code.status().ToString() << "\n" << Translated(wgsl);
}

TEST(CudaTextTest, NamesOfCudaAreFreeForKernels) {
  std::string declarations = "var<workgroup> __shared__: array<f32, 4>; fn asm(int: f32) -> f32 { return int; }\n";
  std::string body;
  for (const char* name : {"float", "class", "template", "threadIdx", "w_add", "Kernel", "atomicAdd_", "this", "W_FN",
                           "half", "min_", "NULL", "signed", "new", "private", "wid_", "operator"}) {
    body += "let " + std::string(name) + ": f32 = asm(1.0); y[0] = " + name + " + __shared__[1];\n";
  }
  ExpectCompiles(Shader(declarations, body));
}

TEST(CudaTextTest, StatementsOfAllKinds) {
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

TEST(CudaTextTest, TypesOfAllKinds) {
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

TEST(CudaTextTest, FunctionsMayBeCalledAboveTheirDeclaration) {
  ExpectCompiles(
      "fn first(x: f32) -> f32 { return second(x); }\n" +
      Shader("fn second(x: f32) -> f32 { if (x > 1.0) { return 0.0; } return x; }\n", "y[0] = first(x[0]);"));
}

TEST(CudaTextTest, BuiltInFunctions) {
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

TEST(CudaTextTest, HalfFloatsAndSubgroups) {
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

TEST(CudaTextTest, Numbers) {
  ExpectCompiles(Shader("", R"(
  let low: i32 = -2147483648;
  let high: u32 = 4294967295u;
  let hex: u32 = 0xFFFFFFFFu + 0x1fu;
  let big: u32 = 4000000000;
  y[0] = 1f + .5 + 1. + 1e-3 + 1.5E+2f + 3.40282347e38f + f32(low) + f32(high) + f32(hex) + f32(7i) + f32(big);
)"));
}

TEST(CudaTextTest, ANameInItsOwnValueIsWhatItWasBefore) {
  const std::string text = Translated(Shader("", "let x: f32 = x[0]; { let x: f32 = x + 1.0; y[0] = x; }"));
  EXPECT_NE(text.find("float w_before_x_v = x_v[0]; float x_v = w_before_x_v;"), std::string::npos) << text;
  EXPECT_NE(text.find("float w_before_x_v = w_add(x_v, 1.0f); float x_v = w_before_x_v;"), std::string::npos) << text;
  ExpectCompiles(Shader("", "let x: f32 = x[0]; { let x: f32 = x + 1.0; y[0] = x; }"));
}

TEST(CudaTextTest, ParametersAreAStructByValueBehindTheBuffers) {
  const std::string text =
      "struct Parameters { rows: u32, scale: f32, input: i32, }\n"
      "@group(0) @binding(3) var<uniform> parameters: Parameters;\n" +
      Shader("", "y[parameters.rows] = parameters.scale + f32(parameters.input);");
  const std::string cuda = Translated(text);
  EXPECT_NE(cuda.find("struct Parameters_v { unsigned rows_v; float scale_v; int input_v; };"), std::string::npos);
  EXPECT_NE(cuda.find("kernel(const float* __restrict__ x_v, float* __restrict__ y_v, unsigned* __restrict__ counts_v, "
                      "const __grid_constant__ Parameters_v parameters_v)"),
            std::string::npos)
      << cuda;
  ExpectCompiles(text);
}

TEST(CudaTextTest, VectorsAreReadAndWrittenAtOnce) {
  StatusOr<Nvrtc::Code> code = Nvrtc::Code();
  Compile(
      "@group(0) @binding(0) var<storage, read> a: array<vec4f>;\n"
      "@group(0) @binding(1) var<storage, read_write> b: array<vec4f>;\n" +
          std::string(kMain) + "b[gid.x] = a[gid.x] * 2.0;\n}\n",
      code);
  if (testing::Test::IsSkipped()) return;
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_NE(code->bytes.find("ld.global.nc.v4.f32"), std::string::npos) << code->bytes;
  EXPECT_NE(code->bytes.find("st.global.v4.f32"), std::string::npos) << code->bytes;
}

// As the device takes it, by the assembler that is in NVRTC.
TEST(CudaTextTest, CodeForADeviceThatTheCompilerKnowsIsABinary) {
  const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().ToString();
  const std::string source = std::string(kCudaPrelude) + Translated(Shader("", "y[0] = exp(x[0]);"));
  for (const int architecture : {75, 90}) {
    const StatusOr<Nvrtc::Code> code = nvrtc->Compile(source, "kernel", architecture);
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    EXPECT_FALSE(code->is_ptx);
    EXPECT_EQ(code->bytes.substr(0, 4),
              "\x7f"
              "ELF");
  }
}

TEST(CudaTextTest, MessagesOfTheCompilerHaveTheKernelsLines) {
  StatusOr<Nvrtc::Code> code = Nvrtc::Code();
  Compile(Shader("", "\n\n  y[0] = x;\n"), code);
  if (testing::Test::IsSkipped()) return;
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find("(7): error"), std::string_view::npos) << code.status().message();
}

// The reading of texts is what Vulkan has; see glsl_text_test.cc.
TEST(CudaTextTest, WhatTheLanguageHasNotIsAnErrorWithItsLine) {
  EXPECT_EQ(Translated(Shader("", "let a = 1.0;")), "error: line 5: expected a type, as in `name: f32`, got \"=\"");
  EXPECT_EQ(Translated(Shader("", "y[0] = frobnicate(1.0);")),
            "error: line 5: expected a function of the kernels' language, got \"frobnicate\"");
  EXPECT_EQ(Translated("enable chromium_f16;"), "error: line 1: expected f16 or subgroups, got \"chromium_f16\"");
  EXPECT_EQ(Translated("fn helper() { }"), "error: expected an entry point main, got none");
}

// Whatever a text is cut or changed to, there is an answer.
TEST(CudaTextTest, BrokenTextsEndInErrorsNotInCrashes) {
  const std::string good =
      Shader("const N: u32 = 4u; var<workgroup> tile: array<array<f32, N>, 2>;",
             "for (var i: u32 = 0u; i < N; i++) { switch i { case 0u: { tile[0][i] = select(1.0, x[i], i == 2u); } "
             "default { y[i] = bitcast<f32>(i % 3u) << 2; } } }");
  for (size_t i = 0; i < good.size(); ++i) {
    Translated(good.substr(0, i));
    std::string without = good;
    without.erase(i, 1);
    Translated(without);
  }
}

}  // namespace
}  // namespace tandem::cuda
