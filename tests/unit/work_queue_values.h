// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Values and tasks for tests of work queues.

#ifndef TANDEM_TESTS_UNIT_WORK_QUEUE_VALUES_H_
#define TANDEM_TESTS_UNIT_WORK_QUEUE_VALUES_H_

#include <array>
#include <atomic>
#include <vector>

#include "tandem/async_value.h"
#include "tandem/work_queue.h"

namespace tandem {

using Value = RcRef<ConcreteAsyncValue<int>>;

inline std::vector<Value> MakeValues(int count) {
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) values.push_back(MakeUnconstructed<int>());
  return values;
}

inline Status AwaitOne(WorkQueue& queue, const Value& value,
                       WorkQueue::Deadline deadline = WorkQueue::Deadline::max()) {
  const std::array<const AsyncValue*, 1> values = {value.get()};
  return queue.Await(values, deadline);
}

inline std::vector<const AsyncValue*> Pointers(const std::vector<Value>& values) {
  std::vector<const AsyncValue*> pointers;
  for (const Value& value : values) pointers.push_back(value.get());
  return pointers;
}

// Adds two of its kind until the depth is used up.
struct SpawningTask {
  WorkQueue* queue;
  int depth;
  std::atomic<int>* count;
  void operator()() const {
    if (depth > 0) {
      queue->AddTask(SpawningTask{queue, depth - 1, count});
      queue->AddTask(SpawningTask{queue, depth - 1, count});
    }
    ++*count;
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_WORK_QUEUE_VALUES_H_
