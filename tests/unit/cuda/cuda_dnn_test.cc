// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Convolutions by cuDNN, which a library that checks its calls stands in for
// (tests/cuda/fake_cudnn.cc). The conformance cases run by it, too; here the CPU computes what is expected, and there
// are no kernels in the emulation, so that what the library does not compute fails.

#include "cuda_dnn.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_handler.h"
#include "cuda_test_fixture.h"
#include "tandem/device_report.h"
#include "tandem/eager.h"

namespace tandem::cuda {
namespace {

using shader::LibraryConvolution;

class CudaDnnTest : public CudaTest {
 protected:
  CudaDnnTest() : rt_(std::move(*eager::Runtime::Create({.num_threads = 1, .on_diagnostic = [](const Status&) {}}))) {
    setenv("TANDEM_CUDNN", TANDEM_FAKE_CUDNN, 1);
    const StatusOr<CudnnFunctions> functions = OpenCudnn();
    EXPECT_TRUE(functions.ok()) << functions.status().ToString();
    functions_ = *functions;
    num_live_ = TakeLibrary(TANDEM_FAKE_CUDNN);
  }
  ~CudaDnnTest() override { unsetenv("TANDEM_CUDNN"); }

  void MakeLibraryQueue() {
    CudaQueueOptions options = Options();
    options.cudnn = functions_;
    if (graphs_) options.graphs = cuda_.graphs();
    MakeQueue(options);
  }
  void MakeHandler() {
    MakeLibraryQueue();
    const auto handler = AddCudaOpHandler(rt_->core(), std::move(queue_), {});
    ASSERT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
  }

  // Small whole numbers, so that sums of their products are exact.
  eager::Tensor Numbers(DType dtype, const TensorShape& shape, int start) const {
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((static_cast<int>(i) * 7 + start) % 5 - 2);
    }
    const eager::Tensor numbers = rt_->FromValues<float>(std::span<const float>(values), shape);
    OpAttrs attrs;
    attrs.Set("SrcT", DType::kF32);
    attrs.Set("DstT", dtype);
    eager::Operand operand(numbers);
    rt_->UseHandler(*rt_->core().FindHandler("cpu"));
    return rt_->Execute("tf.Cast", {&operand}, attrs);
  }
  // One result of an op on both handlers.
  void ExpectSame(std::string_view op, const std::vector<eager::Tensor>& arguments, const OpAttrs& attrs,
                  size_t num_results = 1) const {
    SCOPED_TRACE(op);
    std::vector<std::vector<float>> results;
    for (const char* name : {"cpu", "cuda"}) {
      rt_->UseHandler(*rt_->core().FindHandler(name));
      std::vector<eager::Operand> operands(arguments.begin(), arguments.end());
      std::vector<eager::Operand*> places;
      for (eager::Operand& operand : operands) places.push_back(&operand);
      std::vector<eager::Tensor> made(num_results);
      rt_->Execute(op, places, OpAttrsRef(attrs), made, nullptr);
      ASSERT_TRUE(made[0].Await().ok()) << name << ": " << made[0].Await().ToString();
      results.push_back(*made[0].To(rt_->host().device()).ToVector<float>());
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_NEAR(results[0][i], results[1][i], 1e-2 * std::abs(results[0][i]) + 1e-6) << "element " << i;
    }
  }
  struct Windows {
    std::string_view padding;
    int64_t stride = 1;
    int64_t dilation = 1;
  };
  static void SetWindows(OpAttrs& attrs, const Windows& windows) {
    attrs.SetArray<int64_t>("strides", std::array<int64_t, 4>{1, windows.stride, windows.stride, 1});
    if (windows.dilation != 1) {
      attrs.SetArray<int64_t>("dilations", std::array<int64_t, 4>{1, windows.dilation, windows.dilation, 1});
    }
    attrs.Set("padding", windows.padding);
  }
  void ExpectSame(std::string_view op, const std::vector<eager::Tensor>& arguments, const Windows& windows) const {
    OpAttrs attrs;
    SetWindows(attrs, windows);
    ExpectSame(op, arguments, attrs);
  }

  std::unique_ptr<eager::Runtime> rt_;
  shader::ShaderOpHandler* handler_ = nullptr;
  CudnnFunctions functions_ = {};
  NumLive num_live_ = nullptr;
  bool graphs_ = false;  // of the queue that is made next
};

TEST_F(CudaDnnTest, ConvolutionsOfEveryDTypeStrideAndGroup) {
  MakeHandler();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(DTypeName(dtype));
    const eager::Tensor x = Numbers(dtype, {2, 7, 6, 4}, 1);
    const eager::Tensor filter = Numbers(dtype, {3, 2, 4, 6}, 2);
    ExpectSame("tf.Conv2D", {x, filter}, Windows{"VALID", 1, 1});
    ExpectSame("tf.Conv2D", {x, filter}, Windows{"VALID", 2, 1});
    ExpectSame("tf.Conv2D", {x, filter}, Windows{"VALID", 1, 2});
    ExpectSame("tf.Conv2D", {x, Numbers(dtype, {3, 3, 2, 6}, 3)}, Windows{"SAME", 1, 1});
  }
}

TEST_F(CudaDnnTest, ABiasAndReluGoWithTheConvolutionOrAfterIt) {
  MakeHandler();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    SCOPED_TRACE(DTypeName(dtype));
    for (const bool has_relu : {false, true}) {
      OpAttrs attrs;
      SetWindows(attrs, {"SAME"});
      const std::string_view ops[] = {"BiasAdd", "Relu"};
      attrs.SetArray<std::string_view>("fused_ops", std::span(ops, has_relu ? 2 : 1));
      attrs.Set("num_args", int64_t{1});
      ExpectSame("tf._FusedConv2D",
                 {Numbers(dtype, {1, 5, 5, 3}, 1), Numbers(dtype, {3, 3, 3, 4}, 2), Numbers(dtype, {4}, 3)}, attrs);
    }
  }
}

TEST_F(CudaDnnTest, AnOpIsDescribedOnceAndAllIsGivenBack) {
  MakeLibraryQueue();
  EXPECT_NE(queue_->adapter_name().find("with cuDNN 9.19"), std::string::npos) << queue_->adapter_name();
  LibraryConvolution op;
  op.channels = op.out_channels = 8;
  op.rows.input = op.cols.input = op.rows.output = op.cols.output = 5;
  const auto first = queue_->FindConvolution(op);
  ASSERT_TRUE(first.IsValid() && first.IsAvailable());
  const int live = num_live_();
  EXPECT_GT(live, 0);
  EXPECT_EQ(queue_->FindConvolution(op).value(), first.value());
  EXPECT_EQ(num_live_(), live);
  op.has_relu = true;
  EXPECT_NE(queue_->FindConvolution(op).value(), first.value());
}

TEST_F(CudaDnnTest, WhatTheLibraryHasNotIsLeftToKernels) {
  MakeLibraryQueue();
  LibraryConvolution op;
  op.channels = op.out_channels = 4;
  op.rows = op.cols = LibraryConvolution::Axis(WindowAxis{9, 3, 1, 1, 1, 1, 9});
  EXPECT_TRUE(queue_->FindConvolution(op).IsValid());
  LibraryConvolution other = op;
  other.dtype = DType::kI32;
  EXPECT_FALSE(queue_->FindConvolution(other).IsValid());
  other = op;
  other.rows.stride = 2;
  other.rows.pad_before = 0;  // and 1 behind
  other.rows.input = 8;
  other.rows.output = 4;
  EXPECT_FALSE(queue_->FindConvolution(other).IsValid());
  other = op;
  other.rows.dilation = 3;
  other.rows.pad_before = 3;
  EXPECT_FALSE(queue_->FindConvolution(other).IsValid());
  other = op;
  other.batch = int64_t{1} << 40;
  EXPECT_FALSE(queue_->FindConvolution(other).IsValid());
  other = op;
  other.batch = 0;
  EXPECT_FALSE(queue_->FindConvolution(other).IsValid());
}

TEST_F(CudaDnnTest, WithoutMemoryForItsWorkspaceAShaderComputes) {
  cuda_.capacity = 512;
  MakeLibraryQueue();
  LibraryConvolution op;
  op.channels = op.out_channels = 4;
  EXPECT_FALSE(queue_->FindConvolution(op).IsValid());
  EXPECT_TRUE(listener_.events().empty());
}

TEST_F(CudaDnnTest, TheWorkspaceGrowsAndGoesWithTheQueue) {
  MakeLibraryQueue();
  LibraryConvolution op;
  op.channels = op.out_channels = 4;
  ASSERT_TRUE(queue_->FindConvolution(op).IsValid());
  op.channels = op.out_channels = 256;
  ASSERT_TRUE(queue_->FindConvolution(op).IsValid());
  const uint64_t filter = 256 * 256 * 4;
  EXPECT_GE(cuda_.bytes_in_use, filter);
  queue_.reset();
  EXPECT_EQ(cuda_.bytes_in_use, 0u);
  EXPECT_EQ(num_live_(), 0);
}

// A graph that was captured before has the address of a workspace that is memory of others by then.
TEST_F(CudaDnnTest, GraphsFollowTheWorkspaceWhereItGrows) {
  graphs_ = true;
  MakeLibraryQueue();
  LibraryConvolution op;
  op.channels = op.out_channels = 2;
  auto pipeline = queue_->FindConvolution(op);
  ASSERT_TRUE(pipeline.IsValid());
  const gpu::BufferId x = MakeBuffer({1, 2}), filter = MakeBuffer({1, 2, 3, 4}), y = MakeBuffer({0, 0});
  const gpu::BufferRange buffers[] = {{x, 0, 0}, {filter, 0, 0}, {y, 0, 0}};
  gpu::BufferId other = 0;
  const std::vector<float> others((256 * 256 * 4 + 1024) / 4, 7.0f);
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    for (size_t i = 0; i < CudaGraphs::kLeastCommands; ++i) {
      ASSERT_TRUE(queue_->Dispatch(**pipeline, buffers, {}, {1, 1, 1}, {"tf.Conv2D", Location()}).ok());
    }
    ExpectRead(y, {7, 10});
    if (step != 1) continue;
    EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 1);
    op.channels = op.out_channels = 256;
    ASSERT_TRUE(queue_->FindConvolution(op).IsValid());
    other = MakeBuffer(others);
  }
  EXPECT_EQ(cuda_.calls["cuGraphInstantiate"], 2);
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 3);
  ExpectRead(other, others);
  for (const gpu::BufferId buffer : {x, filter, y, other}) queue_->DestroyBuffer(buffer);
  pipeline.reset();
  queue_.reset();
  EXPECT_EQ(cuda_.num_graphs, 0);
}

TEST_F(CudaDnnTest, TheReportTellsWhatIsUsedAndWhyOthersAreNot) {
  MakeHandler();
  const std::string report = ReportText(FindDeviceReport(rt_->core(), *handler_->device()));
  EXPECT_EQ(report.find("device Emulated (compute capability 9.0, driver of CUDA 13.0)\nNVRTC 13.0: compiles "), 0u)
      << report;
  EXPECT_NE(report.find("\ncuBLASLt is not used: it was not asked for; its ops are kernels'\n"), std::string::npos)
      << report;
  EXPECT_NE(report.find("\ncuDNN 9.19: tf.Conv2D, "), std::string::npos) << report;
  EXPECT_TRUE(FindDeviceReport(rt_->core(), rt_->host().device()).empty());
}

TEST(OpenCudnnTest, WhatIsNotThereIsNamed) {
  setenv("TANDEM_CUDNN", "off", 1);
  EXPECT_EQ(OpenCudnn().status().message(), "expected cuDNN, got none: TANDEM_CUDNN is off");
  setenv("TANDEM_CUDNN", "/nowhere/libcudnn.so", 1);
  EXPECT_EQ(OpenCudnn().status().code(), StatusCode::kNotFound);
  unsetenv("TANDEM_CUDNN");
}

}  // namespace
}  // namespace tandem::cuda
