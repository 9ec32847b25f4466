// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Objects in a row that are linked by themselves.

#include "tandem/gpu/linked_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace tandem::gpu {
namespace {

struct Element {
  explicit Element(int number) : number(number) {}
  const int number;
  std::unique_ptr<Element> next;
};

using Numbers = std::vector<int>;

Numbers NumbersOf(const LinkedQueue<Element>& queue) {
  Numbers numbers;
  const Element* last = nullptr;
  for (const Element* each = queue.first(); each != nullptr; each = each->next.get()) {
    numbers.push_back(each->number);
    last = each;
  }
  EXPECT_EQ(queue.last(), last);
  EXPECT_EQ(queue.empty(), numbers.empty());
  return numbers;
}

LinkedQueue<Element> QueueOf(const Numbers& numbers) {
  LinkedQueue<Element> queue;
  for (int number : numbers) queue.PushBack(std::make_unique<Element>(number));
  return queue;
}

TEST(LinkedQueueTest, KeepsTheOrder) {
  LinkedQueue<Element> queue = QueueOf({1, 2, 3});
  queue.PushFront(std::make_unique<Element>(0));
  EXPECT_EQ(NumbersOf(queue), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(queue.PopFront()->number, 0);
  EXPECT_EQ(NumbersOf(queue), (Numbers{1, 2, 3}));
  queue.clear();
  EXPECT_EQ(queue.PopFront(), nullptr);
  queue.PushFront(std::make_unique<Element>(4));
  EXPECT_EQ(NumbersOf(queue), Numbers{4});
}

TEST(LinkedQueueTest, GivesUpAnElementOfAnyPlace) {
  for (int removed : {1, 2, 3}) {
    LinkedQueue<Element> queue = QueueOf({1, 2, 3});
    const Element* element = queue.first();
    while (element->number != removed) element = element->next.get();
    EXPECT_EQ(queue.Remove(*element)->number, removed);
    Numbers rest = {1, 2, 3, 4};
    std::erase(rest, removed);
    queue.PushBack(std::make_unique<Element>(4));
    EXPECT_EQ(NumbersOf(queue), rest);
  }
  LinkedQueue<Element> one = QueueOf({1});
  EXPECT_EQ(one.Remove(*one.first())->number, 1);
  EXPECT_EQ(NumbersOf(one), Numbers{});
}

TEST(LinkedQueueTest, Moves) {
  LinkedQueue<Element> from = QueueOf({1, 2});
  LinkedQueue<Element> to = std::move(from);
  EXPECT_EQ(NumbersOf(to), (Numbers{1, 2}));
  EXPECT_EQ(NumbersOf(from), Numbers{});
  LinkedQueue<Element> other = QueueOf({3});
  std::swap(to, other);
  EXPECT_EQ(NumbersOf(to), Numbers{3});
  EXPECT_EQ(NumbersOf(other), (Numbers{1, 2}));
}

// A chain of pointers would end with a call for each element.
TEST(LinkedQueueTest, ALongOneIsDestroyed) {
  LinkedQueue<Element> queue;
  for (int i = 0; i < 1'000'000; ++i) queue.PushBack(std::make_unique<Element>(i));
}

}  // namespace
}  // namespace tandem::gpu
