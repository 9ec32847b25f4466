// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that run shaders, from the call to the result: transfers, waiting for pipelines, buffers taken over, failures
// of every kind (DI-2, DI-4, EX-13, ER-2, ER-5, TH-5, TH-6).

#include "tandem/shader/shader_call.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fake_shader_queue.h"
#include "tandem/logging_op_handler.h"
#include "tandem/op_families.h"
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
constexpr ShaderSource kBroken = {"broken", &ComposeFake, ""};

// Doubles by one shader, or in place.
Status DoubleKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  GpuBuffer* x = call.Argument(0);
  GpuBuffer* y = call.ForwardOrAllocate(0, {0});
  Launch launch;
  launch.parameters.Add(static_cast<uint32_t>(frame.arg(0).num_elements()));
  launch.variant = ShaderVariant(kDouble, {x == y});
  x == y ? call.Run(launch, {y}) : call.Run(launch, {x, y});
  return call.Finish();
}
// The same in two steps, with memory in between.
Status QuadrupleKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  Launch launch;
  launch.variant = ShaderVariant(kDouble, {0});
  launch.parameters.Add(static_cast<uint32_t>(frame.arg(0).num_elements()));
  GpuBuffer* between = call.Temporary(GpuByteSize(frame.arg(0).metadata()));
  call.Run(launch, {call.Argument(0), between});
  call.Run(launch, {between, call.Result(0)});
  return call.Finish();
}
Status BrokenKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  Launch launch;
  launch.variant = ShaderVariant(kBroken, {0});
  launch.parameters.Add(0);
  call.Run(launch, {call.Argument(0), call.Result(0)});
  return call.Finish();
}
Status SameKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  call.Share(0, 0);
  return call.Finish();
}
// The second half of what has an even number of elements, without a copy where that may be.
Status HalfKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const uint64_t bytes = GpuByteSize(frame.result_metadata(0));
  if (call.MaySharePart(0, 0, bytes)) {
    call.SharePart(0, 0, bytes);
  } else {
    call.Copy(call.Argument(0), bytes, call.Result(0), 0, bytes);
  }
  return call.Finish();
}
TensorMetadata Half(const TensorMetadata& x) { return {x.dtype, {x.shape.dim(0) / 2}}; }

Status WideKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  Launch launch;
  launch.variant = ShaderVariant(kDouble, {0});
  launch.parameters.Add(0);
  launch.workgroups = {1, 65536, 1};
  call.Run(launch, {call.Argument(0), call.Result(0)});
  return call.Finish();
}

class ShaderCallTest : public testing::Test {
 protected:
  ShaderCallTest() {
    controls_.shaders["double"] = [](std::span<Words* const> buffers, std::span<const uint32_t> parameters,
                                     const std::array<uint32_t, 3>&) {
      for (uint32_t i = 0; i < parameters[0]; ++i) {
        (*buffers.back())[i] = std::bit_cast<uint32_t>(2 * std::bit_cast<float>((*buffers[0])[i]));
      }
    };
    controls_.limits.max_buffer_bytes = 1 << 20;
    auto handler = CreateShaderOpHandler(rt_.runtime(), std::make_unique<FakeShaderQueue>(controls_),
                                         {.name = "fake", .memory = {}, .fallback = &rt_.cpu()});
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
    Add("t.GpuDouble", MakeKernel<&DoubleKernel>());
    Add("t.GpuQuadruple", MakeKernel<&QuadrupleKernel>());
    Add("t.GpuBroken", MakeKernel<&BrokenKernel>());
    Add("t.GpuSame", MakeKernel<&SameKernel>());
    Add("t.GpuWide", MakeKernel<&WideKernel>());
    rt_.Define(OpDefBuilder("t.GpuHalf").Input("x: float").Output("y: float").Metadata<&Half>());
    EXPECT_TRUE(handler_->AddKernel("t.GpuHalf", MakeKernel<&HalfKernel>()).ok());
  }

  void Add(std::string_view name, Kernel kernel) {
    rt_.Define(
        OpDefBuilder(name).Input("x: T").Output("y: T").Attr("T: {float, int32, bool}").Metadata<&test_ops::Same>());
    EXPECT_TRUE(handler_->AddKernel(name, {DType::kF32, DType::kBool}, std::move(kernel)).ok());
  }
  TensorHandle Call(std::string_view op, Args args, std::source_location site = std::source_location::current()) {
    TensorHandle result;
    rt_.runtime().Execute(ExecutionContext(rt_.host(), site), op, handler_, args.span(), OpAttrsRef(), {&result, 1});
    return result;
  }
  TensorHandle ToGpu(const TensorHandle& handle) {
    return handle.TransferTo(ExecutionContext(rt_.host(), Location::Current()), handler_->gpu());
  }
  TensorHandle ToHost(const TensorHandle& handle) {
    return handle.TransferTo(ExecutionContext(rt_.host(), Location::Current()), rt_.host().device());
  }
  std::vector<float> Values(const TensorHandle& handle) { return rt_.Values(ToHost(handle)); }
  std::string ErrorOf(const TensorHandle& handle) { return rt_.ErrorOf(handle); }

  // Destroyed last.
  FakeShaderQueue::Controls controls_;
  FakeShaderQueue::Controls others_;
  TestRuntime rt_;
  ShaderOpHandler* handler_;
};

TEST_F(ShaderCallTest, TH6_TensorsTravelThereAndBack) {
  const TensorHandle there = ToGpu(rt_.F32({1, -2, 3}));
  EXPECT_EQ(TextOf(there), "f32[3] on fake");
  EXPECT_EQ(Values(there), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(Values(ToGpu(rt_.Dense<float>({0}, {}))), std::vector<float>());
  EXPECT_EQ(Values(ToGpu(rt_.Spread({3}, 7))), (std::vector<float>{7, 7, 7}));
  const std::vector<float> many(10'000, 0.5f);
  EXPECT_EQ(Values(ToGpu(rt_.F32(many))), many);
}

TEST_F(ShaderCallTest, BoolTakesAWordThere) {
  EXPECT_EQ(GpuByteSize(TensorMetadata(DType::kBool, {3})), 12u);
  StatusOr<Tensor> host = AllocateDense({DType::kBool, {3}}, rt_.host().device(), rt_.host().allocator());
  std::memcpy(host->mutable_data(), "\1\0\1", 3);
  const TensorHandle there = ToGpu(TensorHandle::MakeAvailable(std::move(*host)));
  handler_->gpu().queue().Flush();
  const Words& words = controls_.buffers.at(ShaderDevice::BufferOf(there.tensor()).id());
  EXPECT_EQ(Words(words.begin(), words.begin() + 3), (Words{1, 0, 1}));
  const TensorHandle back = ToHost(there);
  ASSERT_TRUE(rt_.host().Await(back).ok());
  EXPECT_EQ(std::memcmp(back.tensor().data(), "\1\0\1", 3), 0);
}

TEST_F(ShaderCallTest, DI4_ResultsAreConcreteWithoutWaiting) {
  const TensorHandle y = Call("t.GpuDouble", {ToGpu(rt_.F32({1, 2}))});
  EXPECT_TRUE(y.IsConcrete());
  EXPECT_EQ(controls_.counters.submits, 0u);
  EXPECT_EQ(Values(Call("t.GpuDouble", {y})), (std::vector<float>{4, 8}));
  EXPECT_EQ(controls_.counters.submits, 1u);
  EXPECT_EQ(Values(y), (std::vector<float>{2, 4}));
}

TEST_F(ShaderCallTest, EX13_HostArgumentsAreMovedByATracedStep) {
  rt_.host().StartTracing();
  const TensorHandle y = Call("t.GpuDouble", {rt_.F32({1, 2})});
  rt_.host().StopTracing();
  EXPECT_NE(rt_.host().tracer().ToJson().find("tandem.Transfer"), std::string::npos);
  EXPECT_EQ(TextOf(y), "f32[2] on fake");
  EXPECT_EQ(Values(y), (std::vector<float>{2, 4}));
  // Also one that is to come.
  Promise promise = rt_.MakePromise();
  const TensorHandle late = Call("t.GpuDouble", {promise.Handle()});
  EXPECT_FALSE(late.IsAvailable());
  promise.Resolve(rt_.Filled(1, 4));
  EXPECT_EQ(Values(late), std::vector<float>{8});
}

TEST_F(ShaderCallTest, OH2_WhatHasNoShaderRunsOnTheFallback) {
  const TensorHandle sum = Call("t.Add", {ToGpu(rt_.F32({1, 2})), rt_.F32({3, 4})});
  EXPECT_EQ(Values(sum), (std::vector<float>{4, 6}));
  EXPECT_EQ(sum.device(), &handler_->gpu());
}

TEST_F(ShaderCallTest, EX13_TensorsOfAnotherDeviceAreAnError) {
  auto other = CreateShaderOpHandler(rt_.runtime(), std::make_unique<FakeShaderQueue>(others_),
                                     {.name = "other", .memory = {}, .fallback = nullptr});
  ASSERT_TRUE(other.ok());
  const TensorHandle there =
      rt_.F32({1}).TransferTo(ExecutionContext(rt_.host(), Location::Current()), (*other)->gpu());
  EXPECT_EQ(ErrorOf(Call("t.GpuDouble", {there})),
            "[t.GpuDouble] argument 0 (x) must be on device fake, got a tensor on other; transfer it first");
}

TEST_F(ShaderCallTest, SingleElementsComeFromACacheOfConstants) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Values(Call("t.GpuDouble", {rt_.F32({3})})), std::vector<float>{6});
  EXPECT_EQ(controls_.uploads, 1u);
  EXPECT_EQ(Values(Call("t.GpuDouble", {rt_.F32({-0.0f})})), std::vector<float>{0});
  EXPECT_EQ(Values(Call("t.GpuDouble", {rt_.F32({5})})), std::vector<float>{10});
  EXPECT_EQ(controls_.uploads, 3u);
  for (int i = 0; i < 1000; ++i) static_cast<void>(Call("t.GpuDouble", {rt_.F32({static_cast<float>(i)})}));
  EXPECT_EQ(Values(Call("t.GpuDouble", {rt_.F32({3})})), std::vector<float>{6});
}

TEST_F(ShaderCallTest, ProductsAreAskedOfALibraryFirst) {
  ASSERT_TRUE(RegisterLinalgOps(rt_.runtime().registry()).ok());
  for (const char* shader : {"product_direct", "product_tiled"}) {
    controls_.shaders[shader] = [](std::span<Words* const>, std::span<const uint32_t>, const std::array<uint32_t, 3>&) {
    };
  }
  OpAttrs attrs;
  attrs.Set("transpose_b", true);
  TensorHandle args[2] = {rt_.Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6}), rt_.Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6})};
  TensorHandle result;
  rt_.runtime().Execute("tf.MatMul", handler_, Location(), args, attrs.Freeze(), {&result, 1});
  EXPECT_EQ(TextOf(result), "f32[2,2] on fake");
  ASSERT_EQ(controls_.products.size(), 1u);
  EXPECT_EQ(controls_.products[0].count, 1);

  TensorHandle batches[2] = {rt_.Dense<float>({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), rt_.Dense<float>({2, 1}, {1, 2})};
  rt_.runtime().Execute("tf.BatchMatMulV2", handler_, Location(), batches, OpAttrsRef(), {&result, 1});
  EXPECT_EQ(TextOf(result), "f32[4,1,1] on fake");
  ASSERT_EQ(controls_.products.size(), 2u);
  EXPECT_EQ(controls_.products[1].count, 4);
  EXPECT_EQ(controls_.products[1].a_batch, 2);
  EXPECT_EQ(controls_.products[1].b_batch, 0);
}

TEST_F(ShaderCallTest, TH5_OnlyTheLastReferenceIsTakenOver) {
  TensorHandle x = ToGpu(rt_.F32({1, 2}));
  const BufferId id = ShaderDevice::BufferOf(x.tensor()).id();
  const TensorHandle kept = Call("t.GpuDouble", {x});
  EXPECT_NE(ShaderDevice::BufferOf(kept.tensor()).id(), id);
  const TensorHandle taken = Call("t.GpuDouble", {std::move(x)});
  EXPECT_EQ(ShaderDevice::BufferOf(taken.tensor()).id(), id);
  EXPECT_EQ(Values(kept), (std::vector<float>{2, 4}));
  EXPECT_EQ(Values(taken), (std::vector<float>{2, 4}));
  // Not a constant of the cache, nor a buffer that two tensors share.
  static_cast<void>(Call("t.GpuDouble", {rt_.F32({3})}));
  EXPECT_EQ(Values(Call("t.GpuDouble", {rt_.F32({3})})), std::vector<float>{6});
  TensorHandle shared = Call("t.GpuSame", {taken});
  EXPECT_EQ(ShaderDevice::BufferOf(shared.tensor()).id(), id);
  static_cast<void>(Call("t.GpuDouble", {std::move(shared)}));
  EXPECT_EQ(Values(taken), (std::vector<float>{2, 4}));
}

TEST_F(ShaderCallTest, APartOfABufferIsAnArgumentLikeAny) {
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  TensorHandle x = ToGpu(rt_.F32(values));
  const BufferId id = ShaderDevice::BufferOf(x.tensor()).id();
  const TensorHandle half = Call("t.GpuHalf", {x});
  EXPECT_EQ(ShaderDevice::BufferOf(half.tensor()).id(), id);
  EXPECT_EQ(ShaderDevice::BufferOf(half.tensor()).offset(), 512u);
  // Of 128 elements, at 768 bytes of the whole buffer.
  const TensorHandle quarter = Call("t.GpuHalf", {half});
  EXPECT_EQ(ShaderDevice::BufferOf(quarter.tensor()).offset(), 768u);
  x.reset();
  const std::vector<float> doubled = Values(Call("t.GpuDouble", {quarter}));
  ASSERT_EQ(doubled.size(), 64u);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(doubled[i], static_cast<float>(2 * (192 + i)));
  EXPECT_EQ(Values(half), std::vector<float>(values.begin() + 128, values.end()));
  // Where no buffer may begin, it is copied: here at 128 bytes of the part.
  const TensorHandle eighth = Call("t.GpuHalf", {quarter});
  EXPECT_NE(ShaderDevice::BufferOf(eighth.tensor()).id(), id);
  EXPECT_EQ(Values(eighth), std::vector<float>(values.begin() + 224, values.end()));
}

TEST_F(ShaderCallTest, ASmallPartDoesNotKeepALargeBuffer) {
  TensorHandle part = ToGpu(rt_.F32(std::vector<float>(8192, 3)));
  const BufferId id = ShaderDevice::BufferOf(part.tensor()).id();
  for (int i = 0; i < 3; ++i) part = Call("t.GpuHalf", {std::move(part)});
  EXPECT_EQ(ShaderDevice::BufferOf(part.tensor()).id(), id);
  part = Call("t.GpuHalf", {std::move(part)});
  EXPECT_NE(ShaderDevice::BufferOf(part.tensor()).id(), id);
  EXPECT_EQ(Values(part), std::vector<float>(512, 3));
}

TEST_F(ShaderCallTest, FreedBuffersAreUsedAgain) {
  TensorHandle y = ToGpu(rt_.F32({1, 1, 1}));
  for (int i = 0; i < 20; ++i) y = Call("t.GpuQuadruple", {std::move(y)});
  EXPECT_LE(controls_.buffers.size(), 3u);
  EXPECT_EQ(Values(y)[2], std::exp2f(40));
}

TEST_F(ShaderCallTest, AnOpWaitsForItsPipelines) {
  controls_.holds_pipelines = true;
  TensorHandle x = ToGpu(rt_.F32({1, 2}));
  TensorHandle first = Call("t.GpuQuadruple", {std::move(x)});
  EXPECT_FALSE(first.IsAvailable());
  EXPECT_EQ(TextOf(first), "pending f32[2] on fake");
  const TensorHandle second = Call("t.GpuDouble", {std::move(first)});
  EXPECT_FALSE(second.IsAvailable());
  // One shader, asked for once; the in-place variant only when its turn comes.
  EXPECT_EQ(controls_.compiled.size(), 1u);
  controls_.ReleasePipelines();
  controls_.ReleasePipelines();
  EXPECT_EQ(Values(second), (std::vector<float>{8, 16}));
}

TEST_F(ShaderCallTest, ER5_AShaderThatDoesNotCompileIsTheErrorOfItsOp) {
  const TensorHandle x = ToGpu(rt_.F32({1}));
  const TensorHandle broken = Call("t.GpuBroken", {x});
  EXPECT_EQ(ErrorOf(broken), "[t.GpuBroken] shader broken must compile, got: no such thing");
  EXPECT_EQ(ErrorOf(Call("t.GpuDouble", {broken})), ErrorOf(broken));
  EXPECT_EQ(Values(Call("t.GpuDouble", {x})), std::vector<float>{2});
}

TEST_F(ShaderCallTest, ER5_MemoryThatRunsOutIsAnErrorAndTheDeviceGoesOn) {
  controls_.capacity = 4096;
  const TensorHandle x = ToGpu(rt_.F32(std::vector<float>(512, 1)));
  TensorHandle y = Call("t.GpuDouble", {x});
  const TensorHandle z = Call("t.GpuDouble", {x});
  EXPECT_EQ(ErrorOf(z), "[t.GpuDouble] the fake is full");
  // What is kept for reuse is given back for another size.
  y.reset();
  EXPECT_EQ(handler_->gpu().memory().stats().bytes_cached, 2048u);
  const TensorHandle small = ToGpu(rt_.F32({1, 2}));
  EXPECT_EQ(handler_->gpu().memory().stats().bytes_cached, 0u);
  EXPECT_EQ(Values(Call("t.GpuDouble", {small})), (std::vector<float>{2, 4}));
}

TEST_F(ShaderCallTest, TensorsAboveTheLimitsAreAClearError) {
  EXPECT_EQ(ErrorOf(ToGpu(rt_.F32(std::vector<float>(300'000)))),
            "[tandem.Transfer] expected a tensor of at most 1048576 bytes on fake, got one of 1200000");
  EXPECT_EQ(ErrorOf(Call("t.GpuWide", {ToGpu(rt_.F32({1, 2}))})),
            "[t.GpuWide] expected at most 65535 workgroups in each dimension, got 65536");
}

TEST_F(ShaderCallTest, ER5_WhatAFailedBatchWroteIsAnError) {
  const TensorHandle before = ToGpu(rt_.F32({1, 2}));
  handler_->gpu().queue().Flush();
  const TensorHandle during = Call("t.GpuDouble", {before});
  controls_.listener->OnBatchesFailed(controls_.batch, controls_.batch, Internal("the driver says no"));
  EXPECT_EQ(ErrorOf(Call("t.GpuDouble", {during})), "[t.GpuDouble] the driver says no");
  EXPECT_EQ(ErrorOf(ToHost(during)), "[tandem.Transfer] the driver says no");
  handler_->gpu().queue().Flush();
  EXPECT_EQ(Values(Call("t.GpuDouble", {before})), (std::vector<float>{2, 4}));
}

TEST_F(ShaderCallTest, ER5_ALostDeviceIsAnErrorAndTheHostGoesOn) {
  const TensorHandle x = ToGpu(rt_.F32({1, 2}));
  controls_.listener->OnDeviceLost(MakeError(StatusCode::kUnavailable, "the device is lost"));
  EXPECT_FALSE(handler_->gpu().CheckLost().ok());
  EXPECT_EQ(ErrorOf(Call("t.GpuDouble", {x})), "[t.GpuDouble] the device is lost");
  EXPECT_EQ(ErrorOf(ToHost(x)), "[tandem.Transfer] the device is lost");
  EXPECT_EQ(rt_.Values(rt_.Call("t.Add", {rt_.F32({1}), rt_.F32({2})})), std::vector<float>{3});
}

TEST_F(ShaderCallTest, WQ3_TensorsMayOutliveTheirRuntime) {
  TensorHandle survivor;
  FakeShaderQueue::Controls controls;
  {
    TestRuntime other;
    auto handler = CreateShaderOpHandler(other.runtime(), std::make_unique<FakeShaderQueue>(controls),
                                         {.name = "fake", .memory = {}, .fallback = nullptr});
    ASSERT_TRUE(handler.ok());
    survivor = other.F32({1, 2}).TransferTo(ExecutionContext(other.host(), Location::Current()), (*handler)->gpu());
    ASSERT_TRUE(survivor.IsConcrete());
  }
  survivor.reset();
}

TEST_F(ShaderCallTest, PipelinesThatNeverComeLeaveNothingBehind) {
  FakeShaderQueue::Controls controls;
  controls.shaders = controls_.shaders;
  controls.holds_pipelines = true;
  TestRuntime other;
  auto handler = CreateShaderOpHandler(other.runtime(), std::make_unique<FakeShaderQueue>(controls),
                                       {.name = "fake", .memory = {}, .fallback = nullptr});
  ASSERT_TRUE(handler.ok());
  other.Define(OpDefBuilder("t.GpuDouble").Input("x: float").Output("y: float").Metadata<&test_ops::Same>());
  ASSERT_TRUE((*handler)->AddKernel("t.GpuDouble", {DType::kInvalid}, MakeKernel<&DoubleKernel>()).ok());
  TensorHandle x = other.F32({1, 2});
  TensorHandle y;
  other.runtime().Execute("t.GpuDouble", *handler, Location(), {&x, 1}, OpAttrsRef(), {&y, 1});
  EXPECT_FALSE(y.IsAvailable());
  other.host().CancelExecution("enough");
  EXPECT_TRUE(y.IsError());
}

StatusOr<TensorMetadata> Reshaped(const TensorMetadata& x, HostInput size) {
  TANDEM_ASSIGN_OR_RETURN(const int64_t n, size.Scalar("size"));
  if (n != x.num_elements()) return InvalidArgument("sizes must agree, got ", x, " and ", n);
  return TensorMetadata(x.dtype, {n});
}
StatusOr<Tensor> GiveFirst(DenseArg x, const Tensor&) { return x.tensor(); }

// MD-1, MD-6: wrong calls, which give the same error on the CPU and on the device, now and later, and which move and
// allocate nothing: with a kernel there, and without one, so that the fallback would run them.
class WrongCallTest : public ShaderCallTest, public testing::WithParamInterface<bool> {
 protected:
  WrongCallTest() {
    rt_.Define(OpDefBuilder("t.Two")
                   .Input("x: T")
                   .Input("y: T")
                   .Output("z: T")
                   .Attr("T: {float, int32}")
                   .Attr("m: int >= 1 = 1")
                   .Attr("a: int >= 1 = 1")
                   .Metadata<&test_ops::SameShape>());
    rt_.Define(OpDefBuilder("t.Reshaped")
                   .Input("x: float")
                   .HostInput("size: int32")
                   .Output("y: float")
                   .Attr("a: int >= 1 = 1")
                   .Metadata<&Reshaped>());
    rt_.AddKernel("t.Two", {DType::kF32, DType::kI32}, MakeKernel<&GiveFirst>());
    rt_.AddKernel("t.Reshaped", {DType::kInvalid}, MakeKernel<&GiveFirst>());
    if (!GetParam()) return;
    EXPECT_TRUE(handler_->AddKernel("t.Two", {DType::kF32, DType::kI32}, MakeKernel<&SameKernel>()).ok());
    EXPECT_TRUE(handler_->AddKernel("t.Reshaped", MakeKernel<&SameKernel>()).ok());
  }

  std::string RunOn(OpHandler& handler, std::string_view op, Args args, const OpAttrsRef& attrs) {
    TensorHandle result;
    const ExecutionContext exec(rt_.host(), Location::Current());
    rt_.runtime().Execute(exec, op, &handler, args.span(), attrs, {&result, 1});
    return rt_.ErrorOf(result);
  }
  // The error of a call with arguments on the host, whatever the path; `x` and `y` are copied.
  std::string ErrorEverywhere(std::string_view op, const TensorHandle& x, const TensorHandle& y,
                              const OpAttrsRef& attrs = {}) {
    const std::string error = RunOn(rt_.cpu(), op, {x, y}, attrs);
    EXPECT_EQ(RunOn(*handler_, op, {x, y}, attrs), error);
    EXPECT_EQ(RunOn(*handler_, op, {x, y}, OpAttrsRef(attrs).Freeze()), error);
    for (const bool is_known : {true, false}) {
      for (OpHandler* handler : {static_cast<OpHandler*>(&rt_.cpu()), static_cast<OpHandler*>(handler_)}) {
        Promise promise = is_known ? rt_.MakePromise(x.metadata()) : rt_.MakePromise();
        TensorHandle result;
        Args args = {promise.Handle(), y};
        const ExecutionContext exec(rt_.host(), Location::Current());
        rt_.runtime().Execute(exec, op, handler, args.span(), attrs, {&result, 1});
        if (is_known && !x.tensor().IsA(kSparseCooHost)) {
          EXPECT_TRUE(result.IsError()) << "told by the call";
        }
        promise.Resolve(x.tensor());
        EXPECT_EQ(rt_.ErrorOf(result), error) << op << " on " << handler->name() << (is_known ? ", known" : "");
      }
    }
    EXPECT_EQ(controls_.uploads, 0u);
    EXPECT_EQ(controls_.downloads, 0u);
    EXPECT_EQ(controls_.bytes, 0u);
    return error;
  }
};
INSTANTIATE_TEST_SUITE_P(Kernel, WrongCallTest, testing::Bool());

TEST_P(WrongCallTest, MD6_NothingIsTransferredForAWrongCall) {
  const TensorHandle x = rt_.F32({1, 2});
  EXPECT_EQ(ErrorEverywhere("t.Two", x, rt_.I32({1, 2})),
            "[t.Two] argument 1 (y) must be f32 like argument 0 (x), got i32[2]");
  EXPECT_EQ(ErrorEverywhere("t.Two", x, rt_.F32({1})), "[t.Two] shapes must agree, got x: f32[2], y: f32[1]");
  OpAttrs attrs;
  attrs.Set("a", int64_t{0});
  attrs.Set("m", int64_t{-1});
  EXPECT_EQ(ErrorEverywhere("t.Two", x, rt_.F32({1}), attrs), "[t.Two] attribute m must be at least 1, got -1");
  EXPECT_EQ(ErrorEverywhere("t.Reshaped", x, rt_.I32({3})), "[t.Reshaped] sizes must agree, got f32[2] and 3");
}

// MD-6: the content of a host input must be fetched to find its fault, but only if all else is right.
TEST_P(WrongCallTest, MD6_AHostInputOnTheDeviceIsFetchedLast) {
  const TensorHandle x = rt_.F32({1, 2});
  const TensorHandle size = ToGpu(rt_.I32({3}));
  rt_.host().StartTracing();
  OpAttrs attrs;
  attrs.Set("a", int64_t{0});
  EXPECT_EQ(RunOn(*handler_, "t.Reshaped", {x, size}, attrs), "[t.Reshaped] attribute a must be at least 1, got 0");
  EXPECT_EQ(RunOn(*handler_, "t.Reshaped", {rt_.I32({1}), size}, {}),
            "[t.Reshaped] argument 0 (x) must be f32, got i32[1]");
  EXPECT_EQ(rt_.host().tracer().num_events(), 0);
  EXPECT_EQ(RunOn(*handler_, "t.Reshaped", {x, size}, {}), "[t.Reshaped] sizes must agree, got f32[2] and 3");
  EXPECT_EQ(rt_.host().tracer().num_events(), 1) << "the transfer of the size";
  EXPECT_EQ(controls_.uploads, 1u) << "that of the size";
}

// MD-6: a representation that no kernel takes is told before another argument is moved or expanded.
TEST_F(ShaderCallTest, MD6_RepresentationsAreCheckedBeforeAnythingIsMoved) {
  rt_.Define(
      OpDefBuilder("t.Two").Input("x: float").Input("y: float").Output("z: float").Metadata<&test_ops::SameShape>());
  rt_.AddKernel("t.Two", {DType::kInvalid},
                MakeKernel([](DenseArg x, DenseArg) -> StatusOr<Tensor> { return x.tensor(); }));
  EXPECT_TRUE(handler_->AddKernel("t.Two", MakeKernel<&SameKernel>()).ok());
  const StatusOr<Tensor> sparse = ToSparseCoo(rt_.MakeTensor<float>({2}, {0, 1}), rt_.host().allocator());
  ASSERT_TRUE(sparse.ok());
  const TensorHandle y = TensorHandle::MakeAvailable(*sparse);
  constexpr std::string_view kError = "[t.Two] argument 1 (y) must be a dense tensor, got f32[2] as sparse_coo_host";
  Promise promise = rt_.MakePromise({DType::kF32, {2}});
  const TensorHandle late = Call("t.Two", {promise.Handle(), y});
  promise.Resolve(rt_.Filled(2, 1));
  EXPECT_EQ(ErrorOf(late), kError);
  EXPECT_EQ(ErrorOf(Call("t.Two", {rt_.F32({1, 2}), y})), kError);
  EXPECT_EQ(controls_.uploads, 0u);
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("t.Two", {rt_.Spread({2}, 1), y})), kError);
}

// TH-9: what a call moves shows in traces, and to a handler that looks on.
TEST_F(ShaderCallTest, TH9_ImplicitTransfersAreSeen) {
  std::vector<std::string> lines;
  OpHandler* logging = rt_.runtime().AddHandler(CreateLoggingOpHandler(
      "log", rt_.runtime(), *handler_, {.sink = [&lines](std::string_view line) { lines.emplace_back(line); }}));
  OpHandler* outer = rt_.runtime().AddHandler(CreateLoggingOpHandler(
      "outer", rt_.runtime(), *logging,
      {.sink = [&lines](std::string_view line) { lines.push_back("outer " + std::string(line)); }}));
  rt_.host().StartTracing();
  TensorHandle x = rt_.F32({1, 2});
  TensorHandle y;
  rt_.runtime().Execute("t.GpuDouble", logging, Location(), {&x, 1}, OpAttrsRef(), {&y, 1});
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "[1] t.GpuDouble",
                       "[1]   input 0: f32[2] = [1, 2]",
                       "[2] tandem.Transfer {from = dense_host on cpu, to = dense_gpu on fake}",
                       "[2]   input 0: f32[2] = [1, 2]",
                       "[2]   output 0: f32[2] as dense_gpu",
                       "[1]   output 0: f32[2] as dense_gpu",
                   }));
  const std::string trace = rt_.host().tracer().ToJson();
  EXPECT_NE(trace.find(R"("name":"tandem.Transfer")"), std::string::npos);
  EXPECT_NE(trace.find("{from = dense_host on cpu, to = dense_gpu on fake}"), std::string::npos);

  // There for the fallback and back, and to both of two handlers that look on.
  lines.clear();
  TensorHandle args[2] = {std::move(y), rt_.F32({1, 1})};
  rt_.runtime().Execute("t.Add", outer, Location(), args, OpAttrsRef(), {&y, 1});
  EXPECT_EQ(Values(y), (std::vector<float>{3, 5}));
  int num_seen = 0;
  for (const std::string& line : lines) num_seen += line.find("tandem.Transfer") != line.npos;
  EXPECT_EQ(num_seen, 4);
}

}  // namespace
}  // namespace tandem::shader
