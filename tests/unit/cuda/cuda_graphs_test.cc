// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Stretches of commands that come again as CUDA graphs: launches are counted, and results are those of the commands.

#include "cuda_graphs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda_test_fixture.h"
#include "tandem/device_report.h"

namespace tandem::cuda {
namespace {

class CudaGraphsTest : public CudaTest {
 protected:
  CudaGraphsTest() {
    CudaQueueOptions options = Options();
    options.graphs = cuda_.graphs();
    MakeQueue(options);
    add_ = MakeAdd();
  }
  ~CudaGraphsTest() override {
    add_.reset();
    queue_.reset();
    EXPECT_EQ(cuda_.num_graphs, 0);
    EXPECT_EQ(cuda_.num_modules, 0);
    EXPECT_EQ(cuda_.bytes_in_use, 0u);
  }
  // y = x + 5 amounts, by 5 kernels; then x is y, too.
  void Step(gpu::BufferId x, gpu::BufferId y, float amount) {
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(Add(*add_, i == 0 ? x : y, y, 2, amount).ok());
    }
    ASSERT_TRUE(queue_->Copy(y, 0, x, 0, 8, {"tf.Copy", Location()}).ok());
  }
  void Destroy(const std::vector<gpu::BufferId>& buffers) {
    for (const gpu::BufferId buffer : buffers) queue_->DestroyBuffer(buffer);
  }

  RcRef<shader::Pipeline> add_;
};

TEST_F(CudaGraphsTest, AStretchThatComesAgainIsOneLaunch) {
  const gpu::BufferId x = MakeBuffer({0, 1}), y = MakeBuffer({0, 0});
  float expected = 0;
  for (int step = 0; step < 6; ++step) {
    Step(x, y, 1);
    expected += 5;
    ExpectRead(y, {expected, expected + 1});
  }
  // The first time one by one, the second time captured.
  EXPECT_EQ(cuda_.calls["cuLaunchKernel"], 10);
  EXPECT_EQ(cuda_.calls["cuGraphInstantiate"], 1);
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 5);
  EXPECT_EQ(queue_->counters().dispatches, 30u);
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, OtherAddressesOrParametersAreAnotherStretch) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0}), z = MakeBuffer({0, 0});
  float expected = 0;
  for (int step = 0; step < 4; ++step) {
    for (const auto& [to, amount] : {std::pair{y, 1.0f}, std::pair{z, 1.0f}, std::pair{z, 2.0f}}) {
      Step(x, to, amount);
      expected += 5 * amount;
      ExpectRead(to, {expected, expected});
    }
  }
  EXPECT_EQ(cuda_.calls["cuGraphInstantiate"], 3);
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 9);
  Destroy({x, y, z});
}

TEST_F(CudaGraphsTest, OfThoseThatNeverComeAgainAFewAreKept) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0});
  constexpr int kSteps = 600;
  for (int step = 1; step <= kSteps; ++step) {
    Step(x, y, static_cast<float>(step));
    queue_->Flush();
    // One that comes again is not lost by that.
    Step(x, y, 0);
    queue_->Flush();
  }
  EXPECT_EQ(cuda_.calls["cuGraphInstantiate"], 1);
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], kSteps - 1);
  EXPECT_EQ(cuda_.num_graphs, 1);
  ExpectRead(y, {5 * kSteps * (kSteps + 1) / 2, 5 * kSteps * (kSteps + 1) / 2});
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, WhatCannotBeCapturedIsIssued) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0});
  int length = 4;
  for (const char* call : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate"}) {
    SCOPED_TRACE(call);
    ++length;  // a stretch of its own
    const auto amount = static_cast<float>(length);
    for (int step = 0; step < 3; ++step) {
      if (step == 1) cuda_.faults[call] = {1, 0};
      for (int i = 0; i < length; ++i) {
        ASSERT_TRUE(Add(*add_, x, y, 2, amount).ok());
      }
      ExpectRead(y, {amount, amount});
    }
    EXPECT_TRUE(cuda_.faults.empty());
  }
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 0);
  EXPECT_TRUE(listener_.events().empty());
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, LongStretchesAreHandedOverAndShortOnesAreNoGraphs) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0});
  for (size_t i = 0; i < CudaGraphs::kMostCommands; ++i) {
    ASSERT_TRUE(Add(*add_, x, y, 2, 1).ok());
  }
  EXPECT_EQ(cuda_.calls["cuLaunchKernel"], static_cast<int>(CudaGraphs::kMostCommands)) << "nobody has asked for it";
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Add(*add_, x, y, 2, 1).ok());
    queue_->Flush();
  }
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 0);
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, LargeCopiesAreNotCaptured) {
  const uint64_t bytes = CudaGraphs::kMostCopiedBytes + 4;
  const std::vector<float> values(bytes / 4, 3.0f);
  const gpu::BufferId x = MakeBuffer(values), y = MakeBuffer(std::vector<float>(bytes / 4));
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < CudaGraphs::kLeastCommands; ++i) {
      ASSERT_TRUE(queue_->Copy(x, 0, y, 0, bytes, {"tf.Copy", Location()}).ok());
    }
    ExpectRead(y, values);
  }
  EXPECT_EQ(cuda_.calls["cuGraphLaunch"], 0);
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, ALaunchThatIsRefusedFailsItsBatch) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0});
  cuda_.faults["cuLaunchKernel"] = {1, 1};
  Step(x, y, 1);
  static_cast<void>(Read(y, 2));
  ASSERT_EQ(listener_.events().size(), 1u);
  EXPECT_EQ(listener_.events()[0].find("failed: "), 0u);
  EXPECT_NE(listener_.events()[0].find("tf.AddV2"), std::string::npos) << listener_.events()[0];
  Destroy({x, y});
}

TEST_F(CudaGraphsTest, AKernelsFaultInAGraphLosesTheDevice) {
  const gpu::BufferId x = MakeBuffer({0, 0}), y = MakeBuffer({0, 0});
  for (int step = 0; step < 3; ++step) {
    Step(x, y, 1);
    ASSERT_TRUE(Read(y, 2).ok());
  }
  cuda_.kernels["tandem_test_Add"].run = [](void**) { return 700; };
  Step(x, y, 1);
  const Status status = Read(y, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("the last ops issued are tf.Copy, tf.AddV2"), std::string::npos) << status.ToString();
  EXPECT_EQ(Add(*add_, x, y, 1, 1).status(), status);
  // What the context had went with it.
  cuda_.num_modules = 0;
  cuda_.bytes_in_use = 0;
}

TEST_F(CudaGraphsTest, TheReportTellsWhetherThereAreSomeAndWhyNot) {
  const auto report = [&](const CudaQueueOptions& options) {
    const auto queue = TryMakeQueue(options);
    return queue.ok() ? ReportText((*queue)->report()) : queue.status().ToString();
  };
  CudaQueueOptions options = Options();
  EXPECT_NE(
      report(options).find("\nlaunch by CUDA graphs is not used: it was not asked for; each command is a launch\n"),
      std::string::npos)
      << report(options);
  options.graphs = cuda_.graphs();
  EXPECT_NE(report(options).find("\nlaunch by CUDA graphs: stretches of commands that come again\n"),
            std::string::npos);
  options.synchronous = true;
  EXPECT_NE(report(options).find("\nlaunch by CUDA graphs is not used: the device is waited for"), std::string::npos);
}

}  // namespace
}  // namespace tandem::cuda
