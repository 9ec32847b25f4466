// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TANDEM_CPU_TARGET: what it may name, and that kernels then use nothing better.

#include <gtest/gtest.h>
#include <stdlib.h>  // setenv, unsetenv

#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"

#ifdef __x86_64__
#include "hwy/targets.h"
#endif

namespace tandem {
namespace {

class CpuTargetTest : public testing::Test {
 protected:
  ~CpuTargetTest() override { unsetenv("TANDEM_CPU_TARGET"); }

  static Status CreateHandler(const char* target) {
    setenv("TANDEM_CPU_TARGET", target, 1);
    CoreRuntime runtime(HostContext::Options{});
    return CreateCpuOpHandler(runtime).status();
  }
};

#ifdef __EMSCRIPTEN__
TEST_F(CpuTargetTest, WebAssemblyHasOneInstructionSetAndNoSuchVariable) { EXPECT_TRUE(CreateHandler("abacus").ok()); }
#else
TEST_F(CpuTargetTest, OtherNamesAreErrorsThatSayWhichThereAre) {
  const Status status = CreateHandler("abacus");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(status.message().starts_with("expected TANDEM_CPU_TARGET to be one of ")) << status.message();
  EXPECT_TRUE(status.message().ends_with(", got \"abacus\"")) << status.message();
}

TEST_F(CpuTargetTest, InstructionSetsOfOtherMachinesAreNotFound) {
#ifdef __aarch64__
  const Status status = CreateHandler("avx2");
#else
  const Status status = CreateHandler("neon");
#endif
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
}

TEST_F(CpuTargetTest, HoldsForTheProcess) {
#ifdef __aarch64__
  const char* const target = "neon";
#else
  const char* const target = "scalar";
#endif
  const Status status = CreateHandler(target);
  if (status.code() == StatusCode::kNotFound) GTEST_SKIP() << "the compiler's flags allow more: " << status.message();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(CreateHandler(target).ok());
#ifdef __x86_64__
  EXPECT_TRUE(CreateHandler("sse2").ok()) << "another name of the same";
  const Status better = CreateHandler("avx2");
  if (better.code() == StatusCode::kNotFound) GTEST_SKIP() << better.message();
  EXPECT_EQ(better.code(), StatusCode::kFailedPrecondition) << better.ToString();
  EXPECT_EQ(hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3), 0);
#endif
}

#endif

}  // namespace
}  // namespace tandem
