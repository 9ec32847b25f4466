// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Device times in traces of a WebGpuQueue (TR-2): which records ask for them, and what is made of what they read.

#include <nlohmann/json.hpp>

#include "tandem/host_context.h"
#include "tandem/webgpu/webgpu_queue.h"
#include "test_runtime.h"
#include "webgpu/fake_executor.h"

namespace tandem::webgpu {
namespace {

class Listener final : public gpu::StreamListener {
 public:
  void OnBatchesFailed(uint64_t, uint64_t, const Status&) override {}
  void OnDeviceLost(const Status&) override {}
};

class WebGpuTimesTest : public testing::Test {
 protected:
  WebGpuTimesTest() {
    queue_->SetListener(listener_);
    queue_->ShowTimes(host());
    executor_.shaders["nothing"] = [](const std::vector<Words*>&, const uint32_t*) {};
    auto value = queue_->CreatePipeline({"nothing", "text", {BufferAccess::kReadWrite}, 0, {1, 1, 1}});
    queue_->Flush();
    executor_.TellAll(*queue_);
    pipeline_ = value.get();
    buffer_ = *queue_->CreateBuffer(4, kOrigin);
  }
  ~WebGpuTimesTest() override { pipeline_.reset(); }

  HostContext& host() { return runtime_.host(); }
  void Dispatch(std::string_view op) {
    EXPECT_TRUE(queue_->Dispatch(*pipeline_, std::array{BufferRange{buffer_}}, {}, {1, 1, 1}, {op, {}}).ok());
  }
  // How often each command of interest is in the batch that is carried out now: plain and timed dispatches, reads.
  std::array<size_t, 3> FlushAndCount() {
    queue_->Flush();
    return {executor_.Count(Command::kDispatch), executor_.Count(Command::kTimedDispatch),
            executor_.Count(Command::kReadTimes)};
  }
  std::vector<nlohmann::json> DeviceEvents() {
    std::vector<nlohmann::json> events;
    const nlohmann::json trace = nlohmann::json::parse(host().tracer().ToJson());
    for (const nlohmann::json& event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == "device") events.push_back(event);
    }
    return events;
  }

  TestRuntime runtime_;
  FakeExecutor executor_;
  Listener listener_;
  std::unique_ptr<WebGpuQueue> queue_ = std::make_unique<WebGpuQueue>(executor_, "fake", shader::GpuLimits());
  RcRef<shader::Pipeline> pipeline_;
  BufferId buffer_ = 0;
};

TEST_F(WebGpuTimesTest, TR2_ShadersHaveTheirTimesInTheirOrder) {
  host().StartTracing();
  const TraceEvent::Clock::time_point began = TraceEvent::Clock::now();
  Dispatch("tf.MatMul");
  Dispatch("tf.AddV2");
  EXPECT_EQ(FlushAndCount(), (std::array<size_t, 3>{0, 2, 1}));
  EXPECT_TRUE(DeviceEvents().empty()) << "before they were read";
  executor_.TellAll(*queue_);
  const TraceEvent::Clock::duration taken = TraceEvent::Clock::now() - began;
  const std::vector<nlohmann::json> events = DeviceEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "tf.MatMul");
  EXPECT_EQ(events[1]["name"], "tf.AddV2");
  EXPECT_EQ(events[1]["args"]["device"], "webgpu");
  for (const nlohmann::json& event : events) EXPECT_NEAR(event["dur"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(events[1]["ts"].get<double>() - events[0]["ts"].get<double>(), 1.5, 0.0011) << "rounded";
  EXPECT_LE(events[1]["ts"].get<double>(), std::chrono::duration<double>(taken).count() * 1e6);
}

TEST_F(WebGpuTimesTest, TR1_ATraceMayBeginAndEndAtAnyTime) {
  for (size_t i = 1; i <= 3; ++i) {
    Dispatch("before");
    host().StartTracing();
    Dispatch("traced");
    host().StopTracing();
    Dispatch("after");
    EXPECT_EQ(FlushAndCount(), (std::array<size_t, 3>{2, 1, 1}));
    executor_.TellAll(*queue_);
    EXPECT_EQ(DeviceEvents().size(), i);
  }
  Dispatch("untraced");
  EXPECT_EQ(FlushAndCount(), (std::array<size_t, 3>{1, 0, 0}));
}

TEST_F(WebGpuTimesTest, ManyShadersAreInSeveralBatches) {
  host().StartTracing();
  for (int i = 0; i < 1200; ++i) Dispatch("traced");
  queue_->Flush();
  executor_.TellAll(*queue_);
  EXPECT_EQ(DeviceEvents().size(), 1200u);
}

TEST_F(WebGpuTimesTest, TimesThatTheDeviceDidNotNoteAreLeftOut) {
  host().StartTracing();
  executor_.clock = uint64_t{0} - 1000;
  Dispatch("at 0");
  Dispatch("traced");
  queue_->Flush();
  executor_.TellAll(*queue_);
  ASSERT_EQ(DeviceEvents().size(), 1u);
  EXPECT_EQ(DeviceEvents()[0]["name"], "traced");
}

TEST_F(WebGpuTimesTest, TimesOfADeviceThatIsLostAreForgotten) {
  host().StartTracing();
  Dispatch("traced");
  queue_->Flush();
  Dispatch("not handed over");
  queue_->OnDeviceLost("gone");
  executor_.TellAll(*queue_);
  EXPECT_TRUE(DeviceEvents().empty());
}

TEST_F(WebGpuTimesTest, TimesMayBeWaitedForWhenTheQueueEnds) {
  host().StartTracing();
  Dispatch("traced");
  queue_->Flush();
  pipeline_.reset();
  queue_.reset();
  EXPECT_TRUE(DeviceEvents().empty());
}

}  // namespace
}  // namespace tandem::webgpu
