// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Producers of async values: each ends its value once, at the latest when it goes away (AV-8).

#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "async_value_test_fixture.h"
#include "failing_heap.h"
#include "tandem/async_value.h"

namespace tandem {
namespace {

// AV-8
TEST_F(AsyncValueTest, AV8_AProducerEndsItsValueOnce) {
  auto producer = Producer<Counted>::Make();
  const AsyncValueRef<Counted> value = producer.ref();
  EXPECT_EQ(value.value()->state(), State::kUnconstructed);
  producer.Construct(4);
  EXPECT_EQ(value.FindContent()->value, 4);
  producer.SetConcrete();
  EXPECT_FALSE(producer);
  EXPECT_EQ(value->value, 4);
  EXPECT_TRUE(value.value()->IsUnique());

  auto failing = Producer<Counted>::MakeConstructed(5);
  const AsyncValueRef<Counted> failed = failing.ref();
  EXPECT_EQ(failing.value().value, 5);
  failing.SetError(Internal("x"));
  EXPECT_FALSE(failing);
  EXPECT_EQ(failed.GetError().message(), "x");
}

// AV-8
TEST_F(AsyncValueTest, AV8_AProducerThatGoesAwayMakesItsValueAnError) {
  const std::source_location site = std::source_location::current();
  std::vector<std::string> heard;
  AsyncValueRef<int> value;
  {
    auto producer = Producer<int>::Make();
    producer.Describe("tf.Slow", site);
    value = producer.ref();
    ASSERT_TRUE(value.AndThen([&] { heard.emplace_back(value.GetError().message()); }));
  }
  EXPECT_EQ(heard, std::vector<std::string>{"[tf.Slow] abandoned by its producer"});
  EXPECT_EQ(value.GetError().location().line, site.line());
}

// AV-8: in a closure that is never run, by assignment, and by a move that must not end it.
TEST_F(AsyncValueTest, AV8_AProducerIsAbandonedWhereverItIsLost) {
  auto producer = Producer<int>::Make();
  const AsyncValueRef<int> unrun = producer.ref();
  {
    auto closure = [producer = std::move(producer)]() mutable { producer.Emplace(1); };
    EXPECT_FALSE(producer);
    EXPECT_FALSE(unrun.IsAvailable());
    auto moved = std::move(closure);
    EXPECT_FALSE(unrun.IsAvailable());
  }
  EXPECT_EQ(unrun.GetError().message(), "abandoned by its producer");

  producer = Producer<int>::Make();
  const AsyncValueRef<int> replaced = producer.ref();
  producer = Producer<int>::Make();
  EXPECT_TRUE(replaced.IsError());
  const AsyncValueRef<int> last = producer.ref();
  producer = Producer<int>();
  EXPECT_TRUE(last.IsError());
}

// AV-8: without memory there is no value to end.
TEST_F(AsyncValueTest, AV8_AProducerWithoutMemoryIsNull) {
  EXPECT_FALSE(WithoutMemory([] { return Producer<Counted>::Make(); }));
  EXPECT_FALSE(WithoutMemory([] { return Producer<Counted>::MakeConstructed(1); }));
}

}  // namespace
}  // namespace tandem
