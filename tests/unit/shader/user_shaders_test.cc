// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shaders that come as text at run time: what is declared for them, what they are launched with, and what is said of
// wrong ones (DL-3).

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "fake_shader_queue.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/shader_op.h"
#include "tandem/shape_rule.h"
#include "test_runtime.h"

namespace tandem::shader {
namespace {

class UserShadersTest : public testing::Test {
 protected:
  void Start() {
    ShaderOpHandlerOptions options;
    options.name = "fake";
    auto handler = CreateShaderOpHandler(rt_.runtime(), std::make_unique<FakeShaderQueue>(controls_), options);
    ASSERT_TRUE(handler.ok());
    handler_ = *handler;
    ASSERT_TRUE(handler_->TakeUserShaders().ok());
  }
  static OpDefBuilder Scale() {
    OpDefBuilder def("my.Scale");
    def.Input("x: T").Output("y: T").Attr("T: {float, int32, int64}").Attr("factor: float = 2.0");
    def.Attr("n: int = 0").Attr("flag: bool = true");
    EXPECT_TRUE(SetShapes(def, std::vector<std::string>{"x"}).ok());
    return def;
  }
  static ShaderKernel ScaleKernel() {
    ShaderKernel kernel;
    kernel.wgsl = "fn element(i: u32) {\n  y[i] = x[i] * T(parameters.factor);\n}";
    kernel.parameters = {{"factor", "factor"}, {"n: i32", "n - 1"}, {"last", "x[-1]"}, {"flag", "flag"}};
    return kernel;
  }
  std::string Add(const OpDefBuilder& def, const ShaderKernel& kernel) {
    OpLibrary library(rt_.runtime());
    Status status = library.Define(def);
    if (status.ok()) status = AddShaderKernel(library, *handler_, def.name(), kernel);
    return std::string(status.message());
  }
  std::string AddWrong(void (*change)(ShaderKernel&)) {
    ShaderKernel kernel = ScaleKernel();
    change(kernel);
    return Add(Scale(), kernel);
  }

  FakeShaderQueue::Controls controls_;
  TestRuntime rt_;
  ShaderOpHandler* handler_ = nullptr;
};

TEST_F(UserShadersTest, DL3_RunsOverTheElementsWithParameters) {
  Words seen;
  std::array<uint32_t, 3> groups = {};
  controls_.shaders["my.Scale"] = [&](std::span<Words* const> buffers, std::span<const uint32_t> parameters,
                                      const std::array<uint32_t, 3>& workgroups) {
    seen.assign(parameters.begin(), parameters.end());
    groups = workgroups;
    for (size_t i = 0; i < 130; ++i) {
      (*buffers[1])[i] = std::bit_cast<uint32_t>(std::bit_cast<float>((*buffers[0])[i]) * 3);
    }
  };
  Start();
  OpLibrary library(rt_.runtime());
  ASSERT_EQ(library.Define(Scale()).ToString(), "Ok");
  ASSERT_EQ(AddShaderKernel(library, *handler_, "my.Scale", ScaleKernel()).ToString(), "Ok");
  OpAttrs attrs;
  attrs.Set("factor", 3.0f);
  const std::vector<float> values(130, 1.5f);
  const Tensor x = *MakeDense({DType::kF32, {13, 10}}, std::as_bytes(std::span(values)), rt_.host().device(),
                              rt_.host().allocator());
  TensorHandle arg = TensorHandle::MakeAvailable(x);
  TensorHandle result;
  rt_.runtime().Execute("my.Scale", handler_, Location(), {&arg, 1}, attrs, {&result, 1});
  ASSERT_FALSE(result.IsError()) << result.GetError().ToString();
  const TensorHandle y = result.TransferTo(ExecutionContext(rt_.host(), Location()), rt_.host().device());
  ASSERT_TRUE(rt_.host().Await(y).ok());
  EXPECT_EQ(static_cast<const float*>(y.tensor().data())[129], 4.5f);
  EXPECT_EQ(seen, (Words{std::bit_cast<uint32_t>(3.0f), 0xffffffffu, 10, 1, 130}));
  EXPECT_EQ(groups, (std::array<uint32_t, 3>{3, 1, 1}));
}

TEST_F(UserShadersTest, DL3_WrongKernelsSayWhatIsWrong) {
  Start();
  const std::string op = "op my.Scale: ";
  EXPECT_EQ(AddWrong([](ShaderKernel& k) { k.wgsl = "fn other() {}"; }),
            op + "expected a shader with 'fn element(i: u32)' or 'fn main(...)', got neither");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) {
              k.workgroup = {64, 8, 1};
            }),
            op + "expected a workgroup of 1 to 256 invocations, at most 64 in z, got [64,8,1]");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) {
              k.invocations = {"1", "2"};
            }),
            op + "expected at most 1 numbers of invocations, got 2");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) { k.invocations = {"q"}; }),
            op + "invocations: 'q': expected the name of an int attribute, got 'q'");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) {
              k.parameters = {{"a: f64", "n"}};
            }),
            op + "parameter a: f64: expected the type u32, i32 or f32");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) {
              k.parameters = {{"a: u32", "factor"}};
            }),
            op + "parameter a: u32: expected the type f32 for a float attribute");
  EXPECT_EQ(AddWrong([](ShaderKernel& k) {
              k.parameters.assign(50, {"a", "n"});
            }),
            op + "expected at most 47 parameters, got 50");
  OpDefBuilder shapeless("my.Scale");
  shapeless.Input("x: float").Output("y: float");
  EXPECT_EQ(Add(shapeless, {.wgsl = "fn element("}),
            op + "expected an op whose shapes are known before its kernel runs, got none for its outputs");
  OpDefBuilder wide("my.Scale");
  wide.Input("x: int64").Output("y: float");
  EXPECT_TRUE(SetShapes(wide, std::vector<std::string>{"x"}).ok());
  EXPECT_EQ(Add(wide, {.wgsl = "fn element("}),
            op + "expected dtypes of {bool, i32, u32, f32} for a shader, got x of i64");
  // Nothing of them is left.
  EXPECT_EQ(Add(Scale(), ScaleKernel()), "");
  EXPECT_EQ(rt_.runtime().registry().Find("my.Scale"), nullptr);
}

TEST_F(UserShadersTest, DL3_OtherHandlersRunNoShaders) {
  Start();
  OpLibrary library(rt_.runtime());
  ASSERT_TRUE(library.Define(Scale()).ok());
  EXPECT_EQ(AddShaderKernel(library, rt_.runtime().null_handler(), "my.Scale", ScaleKernel()).code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(AddShaderKernel(library, *handler_, "my.Scal", ScaleKernel()).code(), StatusCode::kNotFound);
}

TEST_F(UserShadersTest, DL3_ATextKeepsItsLines) {
  std::string text;
  controls_.shaders["my.Scale"] = [](auto...) {};
  Start();
  OpLibrary library(rt_.runtime());
  ASSERT_TRUE(library.Define(Scale()).ok());
  ShaderKernel kernel = ScaleKernel();
  kernel.wgsl = "// one\nfn main(gid: vec3u, lid: vec3u,\n  wid: vec3u, nwg: vec3u, lidx: u32) {\n  wrong;\n}";
  kernel.workgroup = {8, 4, 1};
  kernel.invocations = {"x[1]", "y[0]"};
  ASSERT_EQ(AddShaderKernel(library, *handler_, "my.Scale", kernel).ToString(), "Ok");
  // As the queue gets it.
  controls_.on_compile = [&](const ShaderText& compiled) { text = compiled.wgsl; };
  const std::vector<int32_t> values(130);
  const Tensor x = *MakeDense({DType::kI32, {13, 10}}, std::as_bytes(std::span(values)), rt_.host().device(),
                              rt_.host().allocator());
  TensorHandle arg = TensorHandle::MakeAvailable(x);
  TensorHandle result;
  rt_.runtime().Execute("my.Scale", handler_, Location(), {&arg, 1}, OpAttrs(), {&result, 1});
  EXPECT_FALSE(result.IsError()) << result.GetError().ToString();
  const auto line = [&](size_t n) {
    size_t at = 0;
    for (; n > 1; --n) at = text.find('\n', at) + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line(1).find("alias T = i32;"), std::string::npos) << text;
  EXPECT_NE(line(1).find("// one"), std::string::npos) << text;
  EXPECT_EQ(line(4), "  wrong;") << text;
}

}  // namespace
}  // namespace tandem::shader
