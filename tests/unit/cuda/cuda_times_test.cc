// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Device times in traces (TR-2): each command of the stream between two events, next to the host's.

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuda_handler.h"
#include "cuda_test_fixture.h"
#include "tandem/eager.h"

namespace tandem::cuda {
namespace {

class CudaTimesTest : public CudaTest {
 protected:
  CudaTimesTest() : rt_(std::move(*eager::Runtime::Create({.num_threads = 1}))) {
    CudaQueueOptions options = Options();
    options.host = &rt_->host();
    MakeQueue(options);
  }
  ~CudaTimesTest() override { queue_.reset(); }

  // Of all commands so far.
  std::vector<nlohmann::json> DeviceEvents() {
    std::promise<void> done;
    queue_->WhenDone([&](const Status&) { done.set_value(); });
    done.get_future().wait();
    std::vector<nlohmann::json> events;
    const nlohmann::json trace = nlohmann::json::parse(rt_->host().tracer().ToJson());
    for (const nlohmann::json& event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == "device") events.push_back(event);
    }
    return events;
  }

  std::unique_ptr<eager::Runtime> rt_;
};

TEST_F(CudaTimesTest, TR2_EachCommandHasItsTimeOnTheDevice) {
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  const gpu::BufferId y = MakeBuffer({0});
  rt_->host().StartTracing();
  ASSERT_TRUE(Add(*add, x, y, 1, 10, "tf.AddV2").ok());
  ASSERT_TRUE(queue_->Copy(y, 0, x, 0, 4, {"tf.Copy", Location()}).ok());
  const std::vector<nlohmann::json> events = DeviceEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "tf.AddV2");
  EXPECT_EQ(events[1]["name"], "tf.Copy");
  EXPECT_EQ(events[0]["args"]["device"], "cuda");
  // The emulated device counts a microsecond for each event.
  EXPECT_NEAR(events[0]["dur"].get<double>(), 1, 0.002);
  EXPECT_NEAR(events[1]["dur"].get<double>(), 1, 0.002);
  EXPECT_GE(events[1]["ts"].get<double>() - events[0]["ts"].get<double>(), 1.998);
  ExpectRead(x, {11});
}

TEST_F(CudaTimesTest, TR1_WithoutATraceThereAreNoEvents) {
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  ASSERT_TRUE(Add(*add, x, MakeBuffer({0}), 1, 10).ok());
  rt_->host().StartTracing();
  rt_->host().StopTracing();
  const int records = cuda_.calls["cuEventRecord"];
  ASSERT_TRUE(Add(*add, x, MakeBuffer({0}), 1, 10).ok());
  EXPECT_EQ(cuda_.calls["cuEventRecord"], records);
  EXPECT_TRUE(DeviceEvents().empty());
}

TEST_F(CudaTimesTest, ACommandThatCannotBeTimedIsExecuted) {
  auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  const gpu::BufferId y = MakeBuffer({0});
  rt_->host().StartTracing();
  cuda_.faults["cuEventCreate"] = {kDriverOutOfMemory, 1};
  ASSERT_TRUE(Add(*add, x, y, 1, 1).ok());
  cuda_.faults["cuEventElapsedTime"] = {kDriverOutOfMemory, 0};
  ASSERT_TRUE(Add(*add, y, x, 1, 1).ok());
  EXPECT_TRUE(DeviceEvents().empty());
  ExpectRead(x, {3});
  add.reset();
  queue_.reset();
  EXPECT_EQ(cuda_.calls["cuEventDestroy"] + 1, cuda_.calls["cuEventCreate"]) << "but for the one that was refused";
}

}  // namespace
}  // namespace tandem::cuda
