// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Signals, the sanitizers' own way to end a program, and the clock.

#include "watchdog.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tandem::fuzz {
namespace {

std::atomic<Watchdog::Report> current_report{nullptr};

void ReportOnce() {
  if (const Watchdog::Report report = current_report.exchange(nullptr)) report();
}

void OnSignal(int signal) {
  ReportOnce();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Watchdog::Watchdog(Report report, int limit_seconds) {
  current_report = report;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_death_callback(&ReportOnce);
  std::signal(SIGABRT, &OnSignal);
#else
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, &OnSignal);
#endif
  thread_ = std::thread([this, limit_seconds] { Watch(limit_seconds); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  current_report = nullptr;
}

void Watchdog::Watch(int limit_seconds) {
  std::unique_lock lock(mutex_);
  uint64_t last = num_begun_;
  for (int seconds = 0; !is_over_; ++seconds) {
    changed_.wait_for(lock, std::chrono::seconds(1));
    const uint64_t now = num_begun_;
    if (now != last) seconds = 0;
    last = now;
    if (is_over_ || seconds < limit_seconds) continue;
    WriteError("hang: nothing has begun for ");
    WriteError(static_cast<uint64_t>(limit_seconds));
    WriteError(" seconds\n");
    std::abort();
  }
}

void WriteError(const char* text) {
  const size_t size = std::strlen(text);
  for (size_t done = 0; done < size;) {
    const ssize_t written = write(STDERR_FILENO, text + done, size - done);
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

void WriteError(uint64_t number) {
  char text[21];
  char* begin = text + sizeof(text) - 1;
  *begin = '\0';
  do {
    *--begin = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  WriteError(begin);
}

}  // namespace tandem::fuzz
