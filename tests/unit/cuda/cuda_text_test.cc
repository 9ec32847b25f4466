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
#include "shader/language_texts.h"

namespace tandem::cuda {
namespace {

using namespace shader::language;

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
  code = nvrtc->Compile(std::string(kCudaPrelude) + *cuda, "kernel", 75, {.ptx = true});
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

TEST(CudaTextTest, StatementsOfAllKinds) { ExpectCompiles(StatementsText()); }

TEST(CudaTextTest, TypesOfAllKinds) { ExpectCompiles(TypesText()); }

TEST(CudaTextTest, FunctionsMayBeCalledAboveTheirDeclaration) { ExpectCompiles(FunctionsOutOfOrderText()); }

TEST(CudaTextTest, BuiltInFunctions) { ExpectCompiles(BuiltInFunctionsText()); }

TEST(CudaTextTest, HalfFloatsAndSubgroups) { ExpectCompiles(HalfFloatsAndSubgroupsText()); }

TEST(CudaTextTest, Numbers) { ExpectCompiles(NumbersText()); }

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

TEST(CudaTextTest, AProductAndASumAreRoundedOnceOnlyWhereTheyMayBe) {
  const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().ToString();
  const std::string source = std::string(kCudaPrelude) + Translated(Shader("", "y[0] = x[0] * x[1] + x[2];"));
  for (const bool contracts : {false, true}) {
    const StatusOr<Nvrtc::Code> code = nvrtc->Compile(source, "kernel", 75, {.ptx = true, .contracts = contracts});
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    EXPECT_EQ(code->bytes.find("fma.rn.f32") != std::string::npos, contracts) << code->bytes;
  }
}

// As the device takes it, by the assembler that is in NVRTC.
TEST(CudaTextTest, CodeForADeviceThatTheCompilerKnowsIsABinary) {
  const StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().ToString();
  const std::string source = std::string(kCudaPrelude) + Translated(Shader("", "y[0] = exp(x[0]);"));
  for (const int architecture : {75, 90}) {
    const StatusOr<Nvrtc::Code> code = nvrtc->Compile(source, "kernel", architecture, {});
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
  const std::string good = TextToBreak();
  for (size_t i = 0; i < good.size(); ++i) {
    Translated(good.substr(0, i));
    std::string without = good;
    without.erase(i, 1);
    Translated(without);
  }
}

}  // namespace
}  // namespace tandem::cuda
