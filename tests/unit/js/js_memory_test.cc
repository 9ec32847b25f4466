// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What happens for JavaScript when memory is short: garbage is collected first.

#include "js_test_fixture.h"

namespace tandem {
namespace {

constexpr int64_t kLong = 1 << 18;  // elements of 1 MiB

class JsMemoryTest : public JsTest {
 protected:
  // Collects as JavaScript does: what nobody refers to any more is released, then the runtime hears of it.
  void Collect(double threshold) {
    for (tandem_tensor* tensor : std::exchange(garbage_, {})) {
      if (tandem_js_tensor_state(tensor) != TANDEM_PENDING) {
        Release(tensor);
      } else {
        garbage_.push_back(tensor);
      }
    }
    tandem_js_collected(js_.get(), threshold);
  }
  static size_t CountShortages(const std::vector<tandem_js_event>& events) {
    size_t count = 0;
    for (const tandem_js_event& event : events) count += event.kind == TANDEM_JS_SHORTAGE;
    return count;
  }

  std::vector<tandem_tensor*> garbage_;
};

TEST_F(JsMemoryTest, PendingCallsWaitForACollection) {
  Create(0);
  tandem_tensor* x = F32(kLong, 1);
  tandem_js_collected(js_.get(), 4 * kMiB);
  tandem_tensor* last = nullptr;
  for (int i = 0; i < 100; ++i) garbage_.push_back(last = Add(x, x));
  garbage_.pop_back();
  int collections = 0;
  while (tandem_js_tensor_state(last) == TANDEM_PENDING) {
    if (tandem_js_run_tasks(js_.get(), 1000) != 0) continue;
    if (tandem_js_tensor_state(last) != TANDEM_PENDING) break;
    ASSERT_EQ(CountShortages(TakeEvents()), 1u);
    // Nothing runs before the collection.
    const double in_use = Memory().bytes_in_use;
    EXPECT_EQ(tandem_js_run_tasks(js_.get(), 1000), 0u);
    EXPECT_EQ(Memory().bytes_in_use, in_use);
    Collect(4 * kMiB);
    ++collections;
  }
  EXPECT_GE(collections, 30);
  EXPECT_EQ(First(last), 2.0f);
  EXPECT_LE(Memory().peak_bytes_in_use, 4 * kMiB);
}

TEST_F(JsMemoryTest, ShortCallsAreQueuedUntilTheCollection) {
  Create(0);
  tandem_tensor* one = F32(1 << 10, 1);
  tandem_js_collected(js_.get(), kMiB / 2);
  // A call in itself, which cannot wait, goes beyond the threshold.
  tandem_tensor* x = F32(kLong, 1);
  EXPECT_EQ(CountShortages(TakeEvents()), 1u);
  tandem_tensor* sum = Add(one, one);
  EXPECT_EQ(tandem_js_tensor_state(sum), TANDEM_PENDING);
  garbage_.push_back(x);
  Collect(kMiB / 2);
  EXPECT_EQ(tandem_js_run_tasks(js_.get(), 1000), 0u);
  EXPECT_EQ(First(sum), 2.0f);
  EXPECT_EQ(tandem_js_tensor_state(Add(one, one)), TANDEM_AVAILABLE);
}

// What axes and sizes are computed by runs at once, so that results' shapes are known at the call (MD-2): the first
// paddings are computed while memory is short, the others are there already.
TEST_F(JsMemoryTest, ShapesAreKnownWhileMemoryIsShort) {
  Create(0);
  tandem_tensor* paddings = I32({1, 2}, {3, 4});
  tandem_op* pad = nullptr;
  tandem_op* transpose = nullptr;
  EXPECT_EQ(JsText(tandem_op_create(tandem_js_runtime(js_.get()), "tf.Pad", nullptr, &pad)), "");
  EXPECT_EQ(JsText(tandem_op_create(tandem_js_runtime(js_.get()), "tf.Transpose", nullptr, &transpose)), "");
  tandem_js_collected(js_.get(), kMiB / 2);
  tandem_tensor* x = F32(kLong, 1);
  EXPECT_EQ(CountShortages(TakeEvents()), 1u);
  tandem_tensor* computed = Call(transpose, {I32({1, 2}, {5, 6}), I32({2}, {0, 1})});
  computed = Add(computed, computed);
  EXPECT_EQ(tandem_js_tensor_state(computed), TANDEM_AVAILABLE);
  for (const auto& [given, size] : {std::pair(computed, kLong + 22), std::pair(paddings, kLong + 7)}) {
    tandem_tensor* padded = Call(pad, {x, given});
    EXPECT_EQ(tandem_js_tensor_state(padded), TANDEM_PENDING);
    tandem_js_description description;
    tandem_js_describe(padded, &description);
    ASSERT_EQ(description.rank, 1);
    EXPECT_EQ(description.dims[0], static_cast<double>(size));
  }
  tandem_op_release(pad);
  tandem_op_release(transpose);
}

TEST_F(JsMemoryTest, ACallFailsIfACollectionDoesNotHelpAndTheRuntimeGoesOn) {
  Create(0, /*memory_limit=*/8 * kMiB);
  tandem_tensor* x = F32(kLong, 1);
  std::vector<tandem_tensor*> sums;
  for (int i = 0; i < 12; ++i) sums.push_back(Add(x, x));
  for (int turn = 0; turn < 100 && Memory().pending_ops > 0; ++turn) {
    static_cast<void>(tandem_js_run_tasks(js_.get(), 1000));
    for (const tandem_js_event& event : TakeEvents()) {
      if (event.kind == TANDEM_JS_DIAGNOSTIC) TakeText(event);
      if (event.kind == TANDEM_JS_SHORTAGE) Collect(16 * kMiB);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(tandem_js_tensor_state(sums[i]), i < 7 ? TANDEM_AVAILABLE : TANDEM_ERROR) << i;
  }
  EXPECT_EQ(JsText(tandem_js_tensor_error(sums[11])),
            "ResourceExhausted: [tf.AddV2] cannot allocate 1048576 bytes for a tensor: 8388608 bytes in use, limit "
            "8388608 bytes");
  Release(sums[0]);
  EXPECT_EQ(Memory().limit, 8 * kMiB);
  tandem_tensor* after = Add(x, x);
  static_cast<void>(tandem_js_run_tasks(js_.get(), 1000));
  EXPECT_EQ(First(after), 2.0f);
}

TEST_F(JsMemoryTest, WorkersWaitForACollection) {
  Create(2);
  tandem_tensor* x = F32(kLong, 1);
  tandem_js_collected(js_.get(), 4 * kMiB);
  tandem_tensor* last = nullptr;
  for (int i = 0; i < 100; ++i) garbage_.push_back(last = Add(x, x));
  garbage_.pop_back();
  EXPECT_EQ(tandem_js_on_settled(js_.get(), 1), nullptr);
  bool is_settled = false;
  while (!is_settled) {
    for (const tandem_js_event& event : AwaitEvents()) {
      if (event.kind == TANDEM_JS_SHORTAGE) Collect(4 * kMiB);
      if (event.kind == TANDEM_JS_DIAGNOSTIC) ADD_FAILURE() << TakeText(event);
      is_settled |= event.kind == TANDEM_JS_READY;
    }
  }
  EXPECT_EQ(First(last), 2.0f);
}

TEST_F(JsMemoryTest, WorkersThatWaitForACollectionAreCancelled) {
  Create(1, /*memory_limit=*/2 * kMiB);
  tandem_tensor* x = F32(kLong, 1);
  Add(x, x);
  tandem_tensor* waits = Add(x, x);
  EXPECT_EQ(tandem_js_on_ready(js_.get(), waits, 1), nullptr);
  bool is_ready = false;
  while (!is_ready) {
    for (const tandem_js_event& event : AwaitEvents()) {
      if (event.kind == TANDEM_JS_SHORTAGE) {
        EXPECT_EQ(JsText(tandem_js_cancel(js_.get(), "disposed")), "");
      }
      if (event.kind == TANDEM_JS_DIAGNOSTIC) TakeText(event);
      if (event.kind != TANDEM_JS_READY) continue;
      is_ready = true;
      EXPECT_NE(TakeText(event), "");
    }
  }
}

}  // namespace
}  // namespace tandem
