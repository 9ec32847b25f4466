// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of a work queue with any number of workers.

#ifndef TANDEM_TESTS_UNIT_WORK_QUEUE_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_WORK_QUEUE_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>

#include "tandem/work_queue.h"

namespace tandem {

// The parameter is the number of workers; 0 stands for the single-threaded queue.
class QueueTest : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<WorkQueue> Create() {
    return GetParam() == 0 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(GetParam());
  }
  std::unique_ptr<WorkQueue> queue_ = Create();
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_WORK_QUEUE_TEST_FIXTURE_H_
