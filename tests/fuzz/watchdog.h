// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Watchdog: says what a program was at when it crashes or hangs.

#ifndef TANDEM_TESTS_FUZZ_WATCHDOG_H_
#define TANDEM_TESTS_FUZZ_WATCHDOG_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tandem::fuzz {

// One in a process, whose signals for crashes it takes. A program in which nothing is begun for so many seconds is
// ended by SIGABRT; the limit is far above what anything may take.
class Watchdog {
 public:
  // Writes to standard error what is under way; called in a signal handler, or while other threads run.
  using Report = void (*)();

  Watchdog(Report report, int limit_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Something has begun.
  void Note() { num_begun_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void Watch(int limit_seconds);

  std::atomic<uint64_t> num_begun_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

// Writes to standard error, from signal handlers too.
void WriteError(const char* text);
void WriteError(uint64_t number);

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_WATCHDOG_H_
