// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Runs a function on a thread whose stack is too small for recursion that grows with the input.

#ifndef TANDEM_TESTS_UNIT_SMALL_STACK_H_
#define TANDEM_TESTS_UNIT_SMALL_STACK_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <type_traits>

namespace tandem {

// Two bytes and a half for each of 100,000 levels.
inline constexpr size_t kSmallStackBytes = size_t{256} << 10;

template <typename F>
void RunOnSmallStack(F&& fn) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kSmallStackBytes), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::remove_reference_t<F>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &fn), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_SMALL_STACK_H_
