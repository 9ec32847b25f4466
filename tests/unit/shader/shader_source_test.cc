// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders put together, the keys of their pipelines, and how many workgroups a launch has.

#include "tandem/shader/shader_source.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "tandem/shader/launch.h"

namespace tandem::shader {
namespace {

TEST(ShaderBuilderTest, PutsTheModuleTogether) {
  ShaderBuilder builder("scale");
  builder.UseF16().UseSubgroups().Alias("T", "f16").Constant("N", 4);
  builder.Buffer("x", BufferAccess::kRead, "T").Buffer("y", BufferAccess::kReadWrite, "vec4f");
  builder.Parameter("n").Parameter("factor", "f32").Workgroup(8, 4);
  builder.Text("fn twice(x: f32) -> f32 { return 2.0 * x; }");
  const ShaderText text = builder.Finish(
      "var<workgroup> tile: array<f32, 4>;\n"
      "fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) { y[0] = vec4f(twice(1.0)); }\n");
  EXPECT_EQ(text.wgsl,
            "enable f16;\n"
            "enable subgroups;\n"
            "alias T = f16;\n"
            "const N: u32 = 4u;\n"
            "@group(0) @binding(0) var<storage, read> x: array<T>;\n"
            "@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;\n"
            "struct Parameters {\n"
            "  n: u32,\n"
            "  factor: f32,\n"
            "}\n"
            "@group(0) @binding(2) var<uniform> parameters: Parameters;\n"
            "fn twice(x: f32) -> f32 { return 2.0 * x; }\n"
            "var<workgroup> tile: array<f32, 4>;\n"
            "@compute @workgroup_size(8, 4, 1)\n"
            "fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(local_invocation_id) lid: vec3u, "
            "@builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) nwg: vec3u, "
            "@builtin(local_invocation_index) lidx: u32) { y[0] = vec4f(twice(1.0)); }\n");
  EXPECT_EQ(text.name, "scale");
  EXPECT_EQ(text.buffers, (std::vector{BufferAccess::kRead, BufferAccess::kReadWrite}));
  EXPECT_EQ(text.num_parameters, 2u);
  EXPECT_EQ(text.workgroup, (std::array<uint32_t, 3>{8, 4, 1}));
}

ShaderText Compose(const ShaderSource& source, std::span<const int32_t>) {
  return ShaderBuilder(source.name).Finish("fn main(gid: vec3u) {}");
}

TEST(ShaderVariantTest, IsTheSameForTheSameSourceAndValues) {
  constexpr ShaderSource kOne = {"one", &Compose, ""};
  constexpr ShaderSource kTwo = {"two", &Compose, ""};
  std::unordered_set<ShaderVariant, ShaderVariant::Hash> variants;
  for (const ShaderSource* source : {&kOne, &kTwo}) {
    for (int a = -3; a <= 3; ++a) {
      for (int b = 0; b < 5; ++b) variants.insert(ShaderVariant(*source, {a, b}));
    }
  }
  EXPECT_EQ(variants.size(), 2u * 7 * 5);
  EXPECT_TRUE(variants.contains(ShaderVariant(kOne, {-3})));  // values left out are 0
  EXPECT_FALSE(variants.contains(ShaderVariant(kOne, {-4})));
}

TEST(LinearWorkgroupsTest, CoverAllItemsWithinTheLimit) {
  GpuLimits limits;
  EXPECT_EQ(LinearWorkgroups(0, 64, limits), (std::array<uint32_t, 3>{0, 1, 1}));
  EXPECT_EQ(LinearWorkgroups(1, 64, limits), (std::array<uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(LinearWorkgroups(65, 64, limits), (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(LinearWorkgroups(65535u * 64, 64, limits), (std::array<uint32_t, 3>{65535, 1, 1}));
  for (const uint64_t items : {uint64_t{65536} * 64, uint64_t{100'000'007}, uint64_t{1} << 32}) {
    const auto [x, y, z] = LinearWorkgroups(items, 64, limits);
    EXPECT_LE(x, limits.max_workgroups);
    EXPECT_GE(uint64_t{x} * y * 64, items);
    EXPECT_LT(uint64_t{x} * y * 64, items + 64 * uint64_t{y} + 64);
    EXPECT_EQ(z, 1u);
  }
  // More than there may be are not made fewer silently.
  EXPECT_GT(LinearWorkgroups(UINT64_MAX / 2, 64, limits)[1], limits.max_workgroups);
}

}  // namespace
}  // namespace tandem::shader
