// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders that come as text at run time, on a real device: results, compilers' messages, programs (DL-3).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/op_families.h"
#include "tandem/program.h"
#include "tandem/program_runner.h"
#include "tandem/shader_op.h"
#include "tandem/shape_rule.h"
#include "tandem/vulkan/vulkan_op_handler.h"
#include "test_runtime.h"

namespace tandem::vulkan {
namespace {

class VulkanUserShadersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RegisterAllOps(runtime_.registry()).ok());
    VulkanOptions options;
    options.fallback = *CreateCpuOpHandler(runtime_);
    options.cache_folder = "off";
    auto handler = CreateVulkanOpHandler(runtime_, options);
    if (!handler.ok()) {
      ASSERT_EQ(handler.status().code(), StatusCode::kNotFound) << handler.status().ToString();
      GTEST_SKIP() << "there is no Vulkan device";
    }
    vulkan_ = *handler;
  }

  std::string Register(OpDefBuilder def, std::vector<std::string> shapes, const ShaderKernel& kernel) {
    Status status = SetShapes(def, shapes);
    if (status.ok()) status = library_.Define(def);
    if (status.ok()) status = AddShaderKernel(library_, *vulkan_, def.name(), kernel);
    return status.ToString();
  }
  TensorHandle Dense(std::vector<int64_t> shape, const std::vector<float>& values) {
    return TensorHandle::MakeAvailable(*MakeDense({DType::kF32, TensorShape(shape)}, std::as_bytes(std::span(values)),
                                                  host().device(), host().allocator()));
  }
  TensorHandle Run(std::string_view op, TensorHandle x, const OpAttrs& attrs = {}) {
    TensorHandle result;
    runtime_.Execute(op, vulkan_, Location::Current(), {&x, 1}, attrs, {&result, 1});
    return result;
  }
  std::vector<float> Values(const TensorHandle& handle) {
    const TensorHandle host_handle = handle.TransferTo(ExecutionContext(host(), Location()), host().device());
    const Status status = host().Await(host_handle);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return {};
    const auto* data = static_cast<const float*>(host_handle.tensor().data());
    return std::vector<float>(data, data + host_handle.tensor().num_elements());
  }
  HostContext& host() { return runtime_.host(); }

  CoreRuntime runtime_{HostContext::Options{}};
  OpLibrary library_{runtime_};
  shader::ShaderOpHandler* vulkan_ = nullptr;
};

OpDefBuilder Scale() {
  OpDefBuilder def("my.Scale");
  def.Input("x: float").Output("y: float").Attr("factor: float = 2.0");
  return def;
}
const ShaderKernel kScale = {.wgsl = "fn element(i: u32) { y[i] = x[i] * parameters.factor; }",
                             .parameters = {{"factor", "factor"}}};

TEST_F(VulkanUserShadersTest, DL3_AShaderIsAnOp) {
  ASSERT_EQ(Register(Scale(), {"x"}, kScale), "Ok");
  OpAttrs attrs;
  attrs.Set("factor", 0.5f);
  const TensorHandle once = Run("my.Scale", Dense({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(Values(once), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(Values(Run("my.Scale", once.CopyRef(), attrs)), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(Values(Run("my.Scale", Dense({0}, {}))), std::vector<float>());
}

// More elements than workgroups fit into one dimension.
TEST_F(VulkanUserShadersTest, DL3_ElementsMayBeMany) {
  ASSERT_EQ(Register(Scale(), {"x"}, kScale), "Ok");
  const std::vector<float> values = Values(Run("my.Scale", Dense({5'000'000}, std::vector<float>(5'000'000, 1))));
  ASSERT_EQ(values.size(), 5'000'000u);
  EXPECT_EQ(std::count(values.begin(), values.end(), 2.0f), 5'000'000);
}

// Shared memory, barriers, three dimensions and sizes as parameters.
TEST_F(VulkanUserShadersTest, DL3_AShaderMayHaveItsOwnEntry) {
  OpDefBuilder def("my.RowSums");
  def.Input("x: float").Output("y: float");
  const ShaderKernel kernel = {.wgsl = R"(var<workgroup> parts: array<f32, 64>;
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  var sum: f32 = 0.0;
  for (var i: u32 = lidx; i < parameters.columns; i += 64u) { sum += x[wid.y * parameters.columns + i]; }
  parts[lidx] = sum;
  workgroupBarrier();
  for (var step: u32 = 32u; step > 0u; step = step / 2u) {
    if (lidx < step) { parts[lidx] += parts[lidx + step]; }
    workgroupBarrier();
  }
  if (lidx == 0u) { y[wid.y] = parts[0]; }
})",
                               .invocations = {"64", "x[0]"},
                               .parameters = {{"columns", "x[1]"}}};
  ASSERT_EQ(Register(def, {"[x[0]]"}, kernel), "Ok");
  std::vector<float> values(3 * 100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  EXPECT_EQ(Values(Run("my.RowSums", Dense({3, 100}, values))), (std::vector<float>{4950, 14950, 24950}));
}

TEST_F(VulkanUserShadersTest, DL3_WhatDoesNotCompileIsTheErrorOfTheCall) {
  ShaderKernel kernel = kScale;
  kernel.wgsl = "fn element(i: u32) {\n  let a: f32 = x[i];\n  y[i] = a * nowhere;\n}";
  ASSERT_EQ(Register(Scale(), {"x"}, kernel), "Ok");
  const TensorHandle result = Run("my.Scale", Dense({1}, {1}));
  EXPECT_FALSE(host().Await(result).ok());
  const std::string text = result.GetError().ToString();
  EXPECT_NE(text.find("[my.Scale] shader my.Scale: the shader does not compile: 0:3: 'nowhere_v'"), std::string::npos)
      << text;
  EXPECT_NE(text.find("vulkan_user_shaders_test.cc:"), std::string::npos) << text;

  kernel.wgsl = "fn element(i: u32) {\n  let a = x[i];\n}";
  OpDefBuilder other("my.Other");
  other.Input("x: float").Output("y: float").Attr("factor: float = 2.0");
  ASSERT_EQ(Register(other, {"x"}, kernel), "Ok");
  const TensorHandle untyped = Run("my.Other", Dense({1}, {1}));
  EXPECT_FALSE(host().Await(untyped).ok());
  EXPECT_NE(untyped.GetError().ToString().find("line 2"), std::string::npos) << untyped.GetError().ToString();
}

TEST_F(VulkanUserShadersTest, DL3_AProgramHasItsCalls) {
  ASSERT_EQ(Register(Scale(), {"x"}, kScale), "Ok");
  constexpr std::string_view kText = R"(func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("vulkan")
  %y = corert.executeop(%gpu) "my.Scale"(%x) { factor = 3.0 : f32 }
  %z = corert.executeop(%gpu) "tf.AddV2"(%y, %x)
  tfrt.return %z : !corert.tensorhandle
})";
  auto program = Program::Read(std::as_bytes(std::span(kText)), "p");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  auto runner = ProgramRunner::Create(runtime_, *std::move(program));
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  TensorHandle x = Dense({2}, {1, 2});
  TensorHandle result;
  runner->Run("main", ExecutionContext(host(), Location()), {&x, 1}, {&result, 1});
  EXPECT_EQ(Values(result), (std::vector<float>{4, 8}));
}

// EX-4
TEST_F(VulkanUserShadersTest, DL3_OtherDevicesHaveNoKernel) {
  ASSERT_EQ(Register(Scale(), {"x"}, kScale), "Ok");
  TensorHandle x = Dense({1}, {1});
  TensorHandle result;
  runtime_.Execute("my.Scale", runtime_.FindHandler("cpu"), Location(), {&x, 1}, OpAttrs(), {&result, 1});
  ASSERT_TRUE(result.IsError());
  EXPECT_NE(result.GetError().ToString().find("kernel"), std::string::npos) << result.GetError().ToString();
}

}  // namespace
}  // namespace tandem::vulkan
