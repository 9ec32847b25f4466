// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Every kind of shader of reductions, scans, softmax and normalizations can be translated and compiled.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "glsl_text.h"
#include "kernels/nn/softmax_programs.h"
#include "kernels/normalization/normalization_programs.h"
#include "kernels/reduction/reduction_programs.h"
#include "kernels/scan/scan_programs.h"
#include "spirv.h"

namespace tandem::vulkan {
namespace {

using shader::GpuLimits;
using shader::ShaderVariant;

// On devices of every kind, each text once.
void ExpectToCompile(std::vector<ShaderVariant> (*variants)(const GpuLimits&)) {
  GpuLimits device;
  device.has_f16 = true;
  GpuLimits software = device;
  software.is_software = true;
  GpuLimits subgroups = device;
  subgroups.has_subgroups = true;
  subgroups.min_subgroup_size = subgroups.max_subgroup_size = 32;
  const SpirvCompiler compiler;
  std::set<std::string> seen;
  for (const GpuLimits& limits : {device, software, subgroups}) {
    for (const ShaderVariant& variant : variants(limits)) {
      const shader::ShaderText text = variant.Compose();
      if (!seen.insert(text.wgsl).second) continue;
      const StatusOr<std::string> glsl = TranslateToGlsl(text.wgsl, ParameterPlace::kPushConstants);
      ASSERT_TRUE(glsl.ok()) << glsl.status().ToString() << "\n" << text.wgsl;
      const auto spirv = compiler.Compile(*glsl);
      ASSERT_TRUE(spirv.ok()) << spirv.status().ToString() << "\n" << text.wgsl;
    }
  }
  EXPECT_GT(seen.size(), 10u);
}

TEST(ReductionShadersTest, Reductions) { ExpectToCompile(&shader::ReductionVariants); }
TEST(ReductionShadersTest, Softmax) { ExpectToCompile(&shader::SoftmaxVariants); }
TEST(ReductionShadersTest, Scans) { ExpectToCompile(&shader::ScanVariants); }
TEST(ReductionShadersTest, Normalizations) { ExpectToCompile(&shader::NormalizationVariants); }

}  // namespace
}  // namespace tandem::vulkan
