// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A runtime and shorthands for tests of the C interface.

#ifndef TANDEM_TESTS_UNIT_C_API_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_C_API_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tandem.h"

namespace tandem {

// The error's text, or nothing; releases it.
inline std::string Text(tandem_status* status) {
  std::string text = tandem_status_text(status);
  tandem_status_release(status);
  return text;
}

inline tandem_code Code(tandem_status* status) {
  const tandem_code code = tandem_status_code(status);
  tandem_status_release(status);
  return code;
}

#define EXPECT_OK(expr) EXPECT_EQ(Text(expr), "")
#define EXPECT_WRONG(expr) EXPECT_EQ(Code(expr), TANDEM_INVALID_ARGUMENT)

class CApiTest : public testing::Test {
 protected:
  CApiTest() {
    options_.struct_size = sizeof(options_);
    options_.num_threads = 1;
    options_.on_diagnostic = [](void* user, const tandem_status*) { ++static_cast<CApiTest*>(user)->num_told_; };
    options_.diagnostic_user = this;
    options_.print = [](void* user, const char* text, size_t size) {
      static_cast<CApiTest*>(user)->printed_.append(text, size);
    };
    options_.print_user = this;
    EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &rt_));
    call_.struct_size = sizeof(call_);
  }
  ~CApiTest() override {
    for (tandem_tensor* tensor : tensors_) tandem_tensor_release(tensor);
    EXPECT_OK(tandem_runtime_destroy(rt_));
  }

  // The fixture releases what these give.
  tandem_tensor* Keep(tandem_tensor* tensor) {
    tensors_.push_back(tensor);
    return tensor;
  }
  tandem_tensor* NewF32(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    tandem_tensor* tensor = nullptr;
    EXPECT_OK(tandem_tensor_create(rt_, TANDEM_F32, dims.data(), dims.size(), values.data(),
                                   values.size() * sizeof(float), &tensor));
    return tensor;
  }
  tandem_tensor* F32(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    return Keep(NewF32(dims, values));
  }
  tandem_tensor* String(const char* text) {
    tandem_tensor* tensor = nullptr;
    EXPECT_OK(tandem_tensor_create_strings(rt_, nullptr, 0, &text, nullptr, 1, &tensor));
    return Keep(tensor);
  }
  // A product that is long enough to be computed by the worker.
  tandem_tensor* Long() {
    tandem_tensor* x = F32({256, 256}, std::vector<float>(size_t{256} * 256, 0.5f));
    tandem_tensor* args[] = {x, x};
    tandem_tensor* result = nullptr;
    EXPECT_OK(tandem_execute(rt_, "tf.MatMul", args, 2, nullptr, &result, 1));
    return Keep(result);
  }
  // Has the one worker wait in a callback: what is Long() from here on is pending, until Unblock. Without threads it is
  // pending in any case, until somebody waits.
  void Block() {
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
    const auto callback = [](void* user, const tandem_status*) {
      auto* test = static_cast<CApiTest*>(user);
      test->was_early_ = std::this_thread::get_id() == test->main_thread_;
      if (test->was_early_) return;
      test->blocked_.set_value();
      test->unblocked_.get_future().wait();
    };
    // Once more if the product was there before the callback.
    do {
      was_early_ = false;
      EXPECT_OK(tandem_tensor_on_ready(Long(), callback, this));
    } while (was_early_);
    blocked_.get_future().wait();
#endif
  }
  void Unblock() { unblocked_.set_value(); }
  tandem_status* Call1(const char* op, const std::vector<tandem_tensor*>& args, tandem_tensor** result) {
    tandem_status* status = tandem_execute(rt_, op, args.data(), args.size(), &call_, result, 1);
    if (*result != nullptr) Keep(*result);
    return status;
  }
  std::string Values(const tandem_tensor* tensor) {
    char* text = nullptr;
    tandem_status* status = tandem_tensor_text(tensor, 16, &text);
    if (status != nullptr) return Text(status);
    const std::string result = text;
    tandem_free(text);
    return result;
  }

  tandem_runtime_options options_ = {};
  tandem_call_options call_ = {};
  tandem_runtime* rt_ = nullptr;
  std::vector<tandem_tensor*> tensors_;
  std::atomic<int> num_told_{0};
  const std::thread::id main_thread_ = std::this_thread::get_id();
  std::atomic<bool> was_early_{false};
  std::promise<void> blocked_;
  std::promise<void> unblocked_;
  std::string printed_;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_C_API_TEST_FIXTURE_H_
