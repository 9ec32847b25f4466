// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Messages by MPI's point-to-point calls, which tell who does not answer; its collective calls would not.

#include "link.h"

#include <sched.h>
#include <time.h>

#include <new>
#include <utility>

namespace tandem::mpi {

namespace {

constexpr int kTag = 0;
constexpr size_t kLargestElement = 16;

Failure FailureOf(const char* what, int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(error, text, &size);
  return Fail(TANDEM_UNAVAILABLE, "%s failed: %.200s", what, text);
}

// Lets others run: at first whoever wants to, since most answers come soon, and later for as long as a message takes.
void Rest(std::chrono::steady_clock::duration waited) {
  if (waited < std::chrono::microseconds(200)) {
    sched_yield();
    return;
  }
  const timespec pause = {0, waited < std::chrono::milliseconds(20) ? 20'000 : 200'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

Failure Link::Start() {
  int is_started = 0, is_ended = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_started);
  MPI_Finalized(&is_ended);
  if (is_ended) return Fail(TANDEM_FAILED_PRECONDITION, "expected MPI to be running, the program has ended it");
  int error = MPI_SUCCESS;
  if (is_started) {
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
      return Fail(TANDEM_FAILED_PRECONDITION,
                  "expected MPI to be started with MPI_THREAD_MULTIPLE, or not by the program, got thread level %d",
                  level);
    }
  } else {
    error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    if (error != MPI_SUCCESS) return Fail(TANDEM_UNAVAILABLE, "MPI_Init_thread failed with error %d", error);
    has_started_mpi_ = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  error = MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  if (error != MPI_SUCCESS) return FailureOf("MPI_Comm_dup", error);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &count_);
  const size_t size = kBufferBytes + static_cast<size_t>(count_) * kLargestElement;
  outgoing_.reset(new (std::nothrow) std::byte[size]);
  incoming_.reset(new (std::nothrow) std::byte[size]);
  requests_.reset(new (std::nothrow) MPI_Request[2 * static_cast<size_t>(count_)]);
  if (outgoing_ == nullptr || incoming_ == nullptr || requests_ == nullptr) {
    return Fail(TANDEM_RESOURCE_EXHAUSTED, "expected memory for %d processes, got none", count_);
  }
  for (int i = 0; i < 2 * count_; ++i) requests_[i] = MPI_REQUEST_NULL;
  return Failure();
}

Failure Link::Begin(int64_t timeout_ms, Cancellation cancellation) {
  if (!broken_.ok()) return broken_;
  timeout_ms_ = timeout_ms;
  cancellation_ = cancellation;
  start_ = Clock::now();
  if (cancellation.is_cancelled(cancellation.user)) {
    return Break(Fail(TANDEM_CANCELLED, "the call of process %d of %d was cancelled before it began", rank_, count_));
  }
  return Failure();
}

void Link::Note(int error) {
  if (error_ == MPI_SUCCESS) error_ = error;
}

void Link::Send(int peer, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  Note(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, kTag, comm_, &requests_[count_ + peer]));
}

void Link::Receive(int peer, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  Note(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, kTag, comm_, &requests_[peer]));
}

Failure Link::Wait() {
  for (;;) {
    int is_done = 0;
    if (error_ == MPI_SUCCESS) error_ = MPI_Testall(2 * count_, requests_.get(), &is_done, MPI_STATUSES_IGNORE);
    if (error_ != MPI_SUCCESS) return Break(FailureOf("a message to or from another process", error_));
    if (is_done) return Failure();
    const Clock::duration waited = Clock::now() - start_;
    if (waited / std::chrono::milliseconds(1) >= timeout_ms_) {
      const Failure late = LateFailure();
      return late.ok() ? late : Break(late);
    }
    if (cancellation_.is_cancelled(cancellation_.user)) {
      return Break(Fail(TANDEM_CANCELLED, "process %d of %d was cancelled while it waited for others", rank_, count_));
    }
    Rest(waited);
  }
}

Failure Link::LateFailure() {
  char names[160] = "";
  size_t size = 0;
  int num_late = 0;
  for (int peer = 0; peer < count_; ++peer) {
    int has_sent = 1, has_received = 1;
    MPI_Test(&requests_[peer], &has_sent, MPI_STATUS_IGNORE);
    MPI_Test(&requests_[count_ + peer], &has_received, MPI_STATUS_IGNORE);
    if (has_sent && has_received) continue;
    if (++num_late > 8) continue;
    size += static_cast<size_t>(
        std::snprintf(names + size, sizeof(names) - size, num_late == 1 ? "process %d" : ", process %d", peer));
  }
  if (num_late > 8) std::snprintf(names + size, sizeof(names) - size, " and %d more", num_late - 8);
  if (num_late == 0) return Failure();
  return Fail(TANDEM_DEADLINE_EXCEEDED, "process %d of %d waited %lld ms for an answer of %s, got none", rank_, count_,
              static_cast<long long>((Clock::now() - start_) / std::chrono::milliseconds(1)), names);
}

Failure Link::Break(const Failure& why) {
  broken_ = Fail(TANDEM_FAILED_PRECONDITION,
                 "process %d of %d takes no part in collective ops any more, since one has failed: %.280s", rank_,
                 count_, why.text);
  return why;
}

void Link::End() {
  MPI_Comm_free(&comm_);
  if (has_started_mpi_) MPI_Finalize();
}

}  // namespace tandem::mpi
