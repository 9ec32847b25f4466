// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Device times in traces (TR-2), by the timestamps of whatever Vulkan device there is.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tandem/eager.h"
#include "tandem/ops.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

// On a queue that the validation layer watches.
class VulkanTimesTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    if (queue_->device().timestamp_bits() == 0) GTEST_SKIP() << "the device has no timestamps";
    queue_->ShowTimes(rt_->host());
  }
  void TearDown() override { queue_.reset(); }

  std::vector<nlohmann::json> DeviceEvents() {
    std::vector<nlohmann::json> events;
    const nlohmann::json trace = nlohmann::json::parse(rt_->host().tracer().ToJson());
    for (const nlohmann::json& event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == "device") events.push_back(event);
    }
    return events;
  }

  std::unique_ptr<eager::Runtime> rt_ = std::move(*eager::Runtime::Create({.num_threads = 1}));
};

TEST_F(VulkanTimesTest, TR2_CommandsHaveTheirTimesInTheirOrder) {
  const PipelineRef add = MakePipeline(AddShader());
  constexpr size_t kSize = size_t{1} << 16;
  const BufferId x = MakeBuffer(std::vector<float>(kSize, 1.0f));
  const BufferId y = MakeBuffer(std::vector<float>(kSize));
  rt_->host().StartTracing();
  const TraceEvent::Clock::time_point began = TraceEvent::Clock::now();
  // More than a batch has.
  for (int i = 0; i < 40; ++i) Add(*add, x, y, kSize, static_cast<float>(i));
  ASSERT_EQ(Read<float>(y, kSize)[kSize - 1], 40);
  const double taken = std::chrono::duration<double, std::micro>(TraceEvent::Clock::now() - began).count();
  const std::vector<nlohmann::json> events = DeviceEvents();
  ASSERT_EQ(events.size(), 41u) << "with the download";
  double last = -1, sum = 0;
  for (const nlohmann::json& event : events) {
    EXPECT_GE(event["ts"].get<double>(), last);
    EXPECT_GE(event["dur"].get<double>(), 0);
    last = event["ts"].get<double>() + event["dur"].get<double>() - 0.002;  // rounded
    sum += event["dur"].get<double>();
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, taken);
  EXPECT_EQ(events.back()["name"], "tandem.Transfer");
  EXPECT_EQ(events.front()["args"]["device"], "vulkan");
  Destroy({x, y});
}

TEST_F(VulkanTimesTest, TR1_ATraceMayBeginAndEndAtAnyTime) {
  const PipelineRef add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(4, 1.0f));
  const BufferId y = MakeBuffer(std::vector<float>(4));
  for (int i = 0; i < 3; ++i) {
    Add(*add, x, y, 4, 1);
    rt_->host().StartTracing();
    Add(*add, x, y, 4, 2);
    rt_->host().StopTracing();
    queue_->Flush();
    Add(*add, x, y, 4, 3);
    EXPECT_EQ(Read<float>(y, 4)[3], 4);
  }
  EXPECT_EQ(DeviceEvents().size(), 3u);
  Destroy({x, y});
}

}  // namespace
}  // namespace tandem::vulkan
