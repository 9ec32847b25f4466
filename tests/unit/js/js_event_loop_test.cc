// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What JavaScript's event loop sees of a runtime: wake-ups, tasks to run, events.

#include <cstdlib>

#include "js_test_fixture.h"

namespace tandem {
namespace {

constexpr int64_t kLong = 1 << 20;

using JsEventLoopTest = JsTest;

TEST_F(JsEventLoopTest, ShortCallsAreComputedAtOnceAndWakeNobody) {
  Create(0);
  tandem_tensor* sum = Add(F32(2, 1.5f), F32(2, 2.0f));
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_AVAILABLE);
  EXPECT_EQ(First(sum), 3.5f);
  EXPECT_EQ(num_js_wakes, 0);
}

TEST_F(JsEventLoopTest, LongCallsAreRunByTheLoop) {
  Create(0);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* sum = Add(x, x);
  tandem_tensor* other = Add(x, x);
  EXPECT_EQ(num_js_wakes, 1);
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_PENDING);
  EXPECT_EQ(tandem_js_on_ready(js_.get(), sum, 7), nullptr);
  // One task at least, however little time there is.
  EXPECT_EQ(tandem_js_run_tasks(js_.get(), 0), 1u);
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_AVAILABLE);
  EXPECT_EQ(tandem_js_tensor_state(other), TANDEM_PENDING);
  const auto events = TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, uint32_t{TANDEM_JS_READY});
  EXPECT_EQ(events[0].id, 7u);
  EXPECT_EQ(events[0].data, 0u);
  while (tandem_js_run_tasks(js_.get(), 1000) != 0) {
  }
  EXPECT_EQ(First(other), 2.0f);
}

TEST_F(JsEventLoopTest, WakesOnceUntilEventsAreTaken) {
  Create(0);
  tandem_tensor* x = F32(1, 1);
  for (uint32_t id = 1; id <= 3; ++id) EXPECT_EQ(tandem_js_on_ready(js_.get(), x, id), nullptr);
  EXPECT_EQ(num_js_wakes, 1);
  ASSERT_EQ(TakeEvents(2).size(), 2u);
  const auto rest = TakeEvents(2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].id, 3u);
  EXPECT_EQ(tandem_js_on_ready(js_.get(), x, 4), nullptr);
  EXPECT_EQ(num_js_wakes, 2);
}

TEST_F(JsEventLoopTest, ErrorsAreToldAndAreThoseOfTheTensor) {
  Create(0);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* sum = Add(x, x);
  EXPECT_EQ(tandem_js_tensor_error(sum), nullptr);
  EXPECT_EQ(tandem_js_on_ready(js_.get(), sum, 5), nullptr);
  EXPECT_EQ(JsText(tandem_js_cancel(js_.get(), "enough")), "");
  const std::string expected = "Cancelled: [tf.AddV2] enough";
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_ERROR);
  EXPECT_EQ(JsText(tandem_js_tensor_error(sum)), expected);
  const auto events = TakeEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, uint32_t{TANDEM_JS_DIAGNOSTIC});
  EXPECT_EQ(TakeText(events[0]), "Cancelled: enough");
  EXPECT_EQ(events[1].kind, uint32_t{TANDEM_JS_READY});
  EXPECT_EQ(TakeText(events[1]), expected);
}

TEST_F(JsEventLoopTest, PrintedTextIsAnEvent) {
  Create(0);
  tandem_chain* chain = nullptr;
  ASSERT_EQ(JsText(tandem_chain_create(tandem_js_runtime(js_.get()), &chain)), "");
  const char* text = "hello";
  tandem_tensor* string = nullptr;
  ASSERT_EQ(JsText(tandem_tensor_create_strings(tandem_js_runtime(js_.get()), nullptr, 0, &text, nullptr, 1, &string)),
            "");
  Keep(string);
  tandem_call_options options = {};
  options.struct_size = sizeof(options);
  options.chain = chain;
  ASSERT_EQ(JsText(tandem_execute(tandem_js_runtime(js_.get()), "tf.PrintV2", &string, 1, &options, nullptr, 0)), "");
  const auto events = TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, uint32_t{TANDEM_JS_PRINT});
  auto* printed = reinterpret_cast<char*>(events[0].data);
  EXPECT_EQ(std::string(printed, events[0].size), "hello\n");
  tandem_free(printed);
  tandem_chain_release(chain);
}

TEST_F(JsEventLoopTest, SettlesWhenNothingIsQueued) {
  Create(0);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* sum = Add(Add(x, x), x);
  EXPECT_EQ(tandem_js_on_settled(js_.get(), 9), nullptr);
  EXPECT_TRUE(TakeEvents().empty());
  while (tandem_js_run_tasks(js_.get(), 1000) != 0) {
  }
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_AVAILABLE);
  const auto events = TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].id, 9u);
}

TEST_F(JsEventLoopTest, DeadlinesPassWhileTheLoopRuns) {
  Create(0);
  tandem_request* request = nullptr;
  ASSERT_EQ(JsText(tandem_js_request_create(js_.get(), 0, &request)), "");
  EXPECT_EQ(tandem_js_run_tasks(js_.get(), 0), 0u);
  tandem_status* status = tandem_request_check(request);
  EXPECT_EQ(tandem_status_code(status), TANDEM_DEADLINE_EXCEEDED);
  tandem_status_release(status);
  tandem_request_release(request);
}

// A task computes what waits for it, too, where that is an element-wise op.
TEST_F(JsEventLoopTest, PR6_AChainIsOneTask) {
  Create(0);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* last = Add(Add(x, x), x);
  tandem_js_run_tasks(js_.get(), 0);
  ASSERT_EQ(tandem_js_tensor_state(last), TANDEM_AVAILABLE);
  EXPECT_EQ(First(last), 3);
}

TEST_F(JsEventLoopTest, PR6_OffByAnOption) {
  Create(0, /*memory_limit=*/0, /*pending_limit=*/0, /*exact=*/false, /*fuse=*/false);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* last = Add(Add(x, x), x);
  tandem_js_run_tasks(js_.get(), 0);
  EXPECT_EQ(tandem_js_tensor_state(last), TANDEM_PENDING);
  tandem_js_run_tasks(js_.get(), 0);
  ASSERT_EQ(tandem_js_tensor_state(last), TANDEM_AVAILABLE);
  EXPECT_EQ(First(last), 3);
}

TEST_F(JsEventLoopTest, NU3_ARuntimeMayBeExact) {
  Create(0, /*memory_limit=*/0, /*pending_limit=*/0, /*exact=*/true);
  EXPECT_TRUE(js_->host().is_exact());
  EXPECT_EQ(First(Add(F32(2, 1.5f), F32(2, 2.0f))), 3.5f);
}

// EX-11
TEST_F(JsEventLoopTest, EX11_TooManyPendingCallsAreAnErrorOfTheCallAndRunNoTasks) {
  Create(0, /*memory_limit=*/0, /*pending_limit=*/3);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* first = Add(x, x);
  Add(x, x);
  Add(x, x);
  tandem_tensor* args[] = {x, x};
  tandem_tensor* result = nullptr;
  tandem_status* status = tandem_op_execute(add_, args, 2, nullptr, &result, 1);
  EXPECT_EQ(tandem_status_code(status), TANDEM_RESOURCE_EXHAUSTED);
  tandem_status_release(status);
  EXPECT_EQ(tandem_js_tensor_state(first), TANDEM_PENDING);
  EXPECT_EQ(Memory().pending_ops, 3);
}

// AV-7
TEST_F(JsEventLoopTest, AV7_TheEventLoopNeverWaits) {
  for (const int num_threads : {0, 2}) {
    Create(num_threads);
    EXPECT_FALSE(js_->host().work_queue().MayBlock());
    const auto never = MakeUnconstructed<int>();
    const AsyncValue* value = never.get();
    const Status status = js_->host().Await({&value, 1});
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
    tandem_op_release(std::exchange(add_, nullptr));
    js_.reset();
  }
}

TEST_F(JsEventLoopTest, WorkersComputeLongCalls) {
  Create(2);
  tandem_tensor* x = F32(kLong, 1);
  tandem_tensor* sum = Add(x, x);
  EXPECT_EQ(tandem_js_on_ready(js_.get(), sum, 3), nullptr);
  const auto events = AwaitEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].id, 3u);
  EXPECT_EQ(First(sum), 2.0f);
  EXPECT_EQ(tandem_js_on_settled(js_.get(), 4), nullptr);
  const auto settled = AwaitEvents();
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].id, 4u);
}

// What a worker issues while JavaScript is between running tasks and taking events, when a wake is still outstanding.
TEST_F(JsEventLoopTest, WhatADeviceIsGivenBeforeEventsAreTakenIsFlushed) {
  struct Device final : js::JsDevice {
    explicit Device(js::EventList& events, int& issued) : events(events), issued(issued) {}
    void Issue() {
      ++issued;
      events.Wake();
    }
    void Flush() override { issued = 0; }
    js::EventList& events;
    int& issued;
  };
  Create(0);
  int issued = 0;
  auto made = std::make_unique<Device>(js_->events, issued);
  Device& device = *made;
  js_->device = std::move(made);
  device.Issue();
  EXPECT_EQ(num_js_wakes, 1);
  tandem_js_run_tasks(js_.get(), 10);
  device.Issue();
  TakeEvents();
  EXPECT_TRUE(issued == 0 || num_js_wakes == 2) << issued << " commands that nobody will flush";
  device.Issue();
  EXPECT_EQ(num_js_wakes, 2);
}

}  // namespace
}  // namespace tandem
