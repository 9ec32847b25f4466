// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls that wait for their arguments ask for their pipelines at once (KernelRehearsal), and do nothing else yet.

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "fake_shader_queue.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_op_handler.h"
#include "test_runtime.h"

namespace tandem::shader {
namespace {

ShaderText ComposeFake(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  if (values[0] == 0) builder.Buffer("x", BufferAccess::kRead, "f32");
  builder.Buffer("y", BufferAccess::kReadWrite, "f32").Parameter("n");
  return builder.Finish("fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {}");
}
constexpr ShaderSource kDouble = {"double", &ComposeFake, ""};
constexpr ShaderSource kHalve = {"halve", &ComposeFake, ""};
constexpr ShaderSource kBroken = {"broken", &ComposeFake, ""};

Launch LaunchOf(const ShaderSource& source, const KernelFrame& frame, bool is_in_place) {
  Launch launch;
  launch.variant = ShaderVariant(source, {is_in_place ? 1 : 0});
  launch.parameters.Add(static_cast<uint32_t>(frame.arg(0).num_elements()));
  return launch;
}

template <const ShaderSource& source>
Status InPlaceKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  GpuBuffer* const x = call.Argument(0);
  GpuBuffer* const y = call.ForwardOrAllocate(0, {0});
  const Launch launch = LaunchOf(source, frame, x == y);
  x == y ? call.Run(launch, {y}) : call.Run(launch, {x, y});
  return call.Finish();
}
// In two steps, with memory and a table.
Status TwoStepsKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  GpuBuffer* const between = call.Temporary(GpuByteSize(frame.arg(0).metadata()));
  static_cast<void>(call.Table(std::array{1u, 2u}));
  call.Run(LaunchOf(kDouble, frame, false), {call.Argument(0), between});
  call.Run(LaunchOf(kHalve, frame, false), {between, call.Result(0)});
  return call.Finish();
}

class AskAheadTest : public testing::Test {
 protected:
  AskAheadTest() {
    const auto scale = [](float factor) {
      return [factor](std::span<Words* const> buffers, std::span<const uint32_t> parameters,
                      const std::array<uint32_t, 3>&) {
        for (uint32_t i = 0; i < parameters[0]; ++i) {
          (*buffers.back())[i] = std::bit_cast<uint32_t>(factor * std::bit_cast<float>((*buffers[0])[i]));
        }
      };
    };
    controls_.shaders["double"] = scale(2);
    controls_.shaders["halve"] = scale(0.5f);
    auto handler = CreateShaderOpHandler(rt_.runtime(), std::make_unique<FakeShaderQueue>(controls_),
                                         {.name = "fake", .memory = {}, .fallback = nullptr, .asks_ahead = true});
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
    Add("t.GpuDouble", MakeKernel<&InPlaceKernel<kDouble>>());
    Add("t.GpuHalve", MakeKernel<&InPlaceKernel<kHalve>>());
    Add("t.GpuBroken", MakeKernel<&InPlaceKernel<kBroken>>());
    Add("t.GpuTwoSteps", MakeKernel<&TwoStepsKernel>());
    Add("t.GpuForeign", MakeKernel([this](DeviceArg x) {
          ++num_foreign_;
          return StatusOr<Tensor>(x.tensor());
        }));
    x_ = rt_.F32({1, -2, 3}).TransferTo(ExecutionContext(rt_.host(), Location::Current()), handler_->gpu());
    controls_.holds_pipelines = true;
  }

  void Add(std::string_view name, Kernel kernel) {
    rt_.Define(OpDefBuilder(name).Input("x: float").Output("y: float").Metadata<&test_ops::Same>());
    EXPECT_TRUE(handler_->AddKernel(name, {DType::kInvalid}, std::move(kernel)).ok());
  }
  TensorHandle Call(std::string_view op, Args args) {
    TensorHandle result;
    rt_.runtime().Execute(ExecutionContext(rt_.host(), Location::Current()), op, handler_, args.span(), OpAttrsRef(),
                          {&result, 1});
    return result;
  }
  // By name: how often what was asked for by now.
  std::map<std::string, int> Asked() const {
    std::map<std::string, int> asked;
    for (const std::string& name : controls_.compiled) ++asked[name];
    return asked;
  }
  std::vector<float> Values(const TensorHandle& handle) {
    return rt_.Values(handle.TransferTo(ExecutionContext(rt_.host(), Location::Current()), rt_.host().device()));
  }

  // Destroyed last.
  FakeShaderQueue::Controls controls_;
  TestRuntime rt_;
  ShaderOpHandler* handler_;
  TensorHandle x_;
  int num_foreign_ = 0;
};

TEST_F(AskAheadTest, ACallThatWaitsAsksForAllThatItMayNeed) {
  TensorHandle y = Call("t.GpuDouble", {x_});
  EXPECT_EQ(Asked(), (std::map<std::string, int>{{"double", 1}}));
  TensorHandle z = Call("t.GpuHalve", {y});
  EXPECT_EQ(Asked(), (std::map<std::string, int>{{"double", 1}, {"halve", 2}})) << "in place, too";
  EXPECT_FALSE(z.IsAvailable());
  TensorHandle last = Call("t.GpuTwoSteps", {std::move(z)});
  EXPECT_EQ(Asked(), (std::map<std::string, int>{{"double", 1}, {"halve", 2}})) << "which are known";
  controls_.ReleasePipelines();
  EXPECT_EQ(Values(last), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(controls_.counters.dispatches, 4u);
  EXPECT_EQ(Asked(), (std::map<std::string, int>{{"double", 1}, {"halve", 2}})) << "nothing was compiled later";
}

TEST_F(AskAheadTest, NothingIsAllocatedUploadedOrRunBeforeItsTime) {
  TensorHandle y = Call("t.GpuDouble", {x_});
  const uint64_t allocations = handler_->gpu().memory().stats().num_allocations;
  const uint64_t uploads = controls_.uploads;
  TensorHandle z = Call("t.GpuTwoSteps", {y});
  EXPECT_EQ(handler_->gpu().memory().stats().num_allocations, allocations);
  EXPECT_EQ(controls_.uploads, uploads);
  EXPECT_EQ(controls_.counters.dispatches, 0u);
  controls_.ReleasePipelines();
  EXPECT_EQ(Values(z), (std::vector<float>{2, -4, 6}));
  EXPECT_EQ(controls_.uploads, uploads + 1) << "of the table";
  EXPECT_EQ(Values(y), (std::vector<float>{2, -4, 6})) << "which somebody holds";
}

TEST_F(AskAheadTest, AShaderThatDoesNotCompileIsAnErrorOnce) {
  TensorHandle y = Call("t.GpuDouble", {x_});
  TensorHandle z = Call("t.GpuBroken", {y});
  EXPECT_TRUE(rt_.told().empty());
  EXPECT_FALSE(z.IsAvailable());
  controls_.ReleasePipelines();
  EXPECT_EQ(rt_.ErrorOf(z), "[t.GpuBroken] shader broken must compile, got: no such thing");
  EXPECT_EQ(rt_.told().size(), 1u);
  EXPECT_EQ(Values(y), (std::vector<float>{2, -4, 6}));
}

TEST_F(AskAheadTest, KernelsThatUseNoShaderCallSeeNoStandIns) {
  TensorHandle y = Call("t.GpuDouble", {x_});
  TensorHandle z = Call("t.GpuForeign", {y});
  EXPECT_EQ(num_foreign_, 0);
  controls_.ReleasePipelines();
  EXPECT_EQ(Values(z), (std::vector<float>{2, -4, 6}));
  EXPECT_EQ(num_foreign_, 1);
  EXPECT_TRUE(rt_.told().empty());
}

TEST_F(AskAheadTest, HostTensorsThatWouldBeMovedHaveStandInsToo) {
  rt_.Define(OpDefBuilder("t.GpuFirst")
                 .Input("x: float")
                 .Input("y: float")
                 .Output("z: float")
                 .Metadata<&test_ops::SameShape>());
  ASSERT_TRUE(handler_->AddKernel("t.GpuFirst", {DType::kInvalid}, MakeKernel<&InPlaceKernel<kHalve>>()).ok());
  TensorHandle y = Call("t.GpuDouble", {x_});
  TensorHandle z = Call("t.GpuFirst", {rt_.F32({4, 5, 6}), y});
  EXPECT_EQ(Asked()["halve"], 1);
  controls_.ReleasePipelines();
  controls_.ReleasePipelines();
  EXPECT_EQ(Values(z), (std::vector<float>{2, 2.5f, 3}));
}

}  // namespace
}  // namespace tandem::shader
