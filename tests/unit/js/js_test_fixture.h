// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A runtime as JavaScript has it, and an event loop in place of JavaScript's.

#ifndef TANDEM_TESTS_UNIT_JS_JS_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_JS_JS_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "js_runtime.h"

namespace tandem {
inline std::atomic<int> num_js_wakes{0};
}  // namespace tandem

// What the module imports.
extern "C" __attribute__((used)) inline void tandem_js_wake(void) {
  ++tandem::num_js_wakes;
  tandem::num_js_wakes.notify_all();
}

extern "C" __attribute__((used)) inline bool tandem_js_run_code(uint32_t, const uint8_t*, uint32_t, const void* const*,
                                                                uint32_t) {
  return false;
}

__attribute__((used)) inline tandem::cpu::RelaxedKernels tandem_js_relaxed_kernels() { return nullptr; }

namespace tandem {

// The error's text, or nothing; releases it.
inline std::string JsText(tandem_status* status) {
  std::string text = tandem_status_text(status);
  tandem_status_release(status);
  return text;
}

class JsTest : public testing::Test {
 protected:
  static constexpr double kMiB = 1 << 20;

  JsTest() { num_js_wakes = 0; }
  ~JsTest() override {
    for (tandem_tensor* tensor : tensors_) tandem_tensor_release(tensor);
    tandem_op_release(add_);
  }

  void Create(int num_threads, double memory_limit = 0, double pending_limit = 0, bool exact = false,
              bool fuse = true) {
    tandem_js* js = nullptr;
    EXPECT_EQ(JsText(tandem_js_create(num_threads, memory_limit, pending_limit, 1, exact, fuse, &js)), "");
    js_.reset(js);
    EXPECT_EQ(JsText(tandem_op_create(tandem_js_runtime(js), "tf.AddV2", nullptr, &add_)), "");
  }

  // The fixture releases what these give, unless Release is called.
  tandem_tensor* Keep(tandem_tensor* tensor) {
    tensors_.push_back(tensor);
    return tensor;
  }
  tandem_tensor* F32(int64_t size, float value) {
    tandem_tensor* tensor = nullptr;
    void* data = nullptr;
    EXPECT_EQ(JsText(tandem_js_tensor_new(js_.get(), TANDEM_F32, &size, 1, &data, &tensor)), "");
    std::fill_n(static_cast<float*>(data), size, value);
    return Keep(tensor);
  }
  tandem_tensor* I32(std::vector<int64_t> shape, const std::vector<int32_t>& values) {
    tandem_tensor* tensor = nullptr;
    void* data = nullptr;
    EXPECT_EQ(JsText(tandem_js_tensor_new(js_.get(), TANDEM_I32, shape.data(), static_cast<uint32_t>(shape.size()),
                                          &data, &tensor)),
              "");
    std::copy(values.begin(), values.end(), static_cast<int32_t*>(data));
    return Keep(tensor);
  }
  tandem_tensor* Call(tandem_op* op, std::vector<tandem_tensor*> args) {
    tandem_tensor* result = nullptr;
    EXPECT_EQ(JsText(tandem_op_execute(op, args.data(), args.size(), nullptr, &result, 1)), "");
    return Keep(result);
  }
  tandem_tensor* Add(tandem_tensor* a, tandem_tensor* b) { return Call(add_, {a, b}); }
  void Release(tandem_tensor* tensor) {
    std::erase(tensors_, tensor);
    tandem_tensor_release(tensor);
  }
  float First(tandem_tensor* tensor) {
    const void* data = nullptr;
    EXPECT_EQ(JsText(tandem_tensor_data(tensor, &data, nullptr)), "");
    return data == nullptr ? 0 : *static_cast<const float*>(data);
  }

  std::vector<tandem_js_event> TakeEvents(size_t capacity = 64) {
    std::vector<tandem_js_event> events(capacity);
    events.resize(tandem_js_take_events(js_.get(), events.data(), static_cast<uint32_t>(capacity)));
    return events;
  }
  // Waits for workers' events, as an event loop does.
  std::vector<tandem_js_event> AwaitEvents() {
    for (;;) {
      const int wakes = num_js_wakes;
      std::vector<tandem_js_event> events = TakeEvents();
      if (!events.empty()) return events;
      num_js_wakes.wait(wakes);
    }
  }
  std::string TakeText(const tandem_js_event& event) { return JsText(reinterpret_cast<tandem_status*>(event.data)); }
  tandem_js_memory_info Memory() {
    tandem_js_memory_info info;
    tandem_js_memory(js_.get(), &info);
    return info;
  }

  struct Delete {
    void operator()(tandem_js* js) const { delete js; }
  };
  std::unique_ptr<tandem_js, Delete> js_;
  tandem_op* add_ = nullptr;
  std::vector<tandem_tensor*> tensors_;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_JS_JS_TEST_FIXTURE_H_
