// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Link: messages to and from the other processes, each answered within a time.

#ifndef TANDEM_MPI_LINK_H_
#define TANDEM_MPI_LINK_H_

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "failure.h"

namespace tandem::mpi {

// Whether whoever waits for a call does not want it any more.
struct Cancellation {
  bool (*is_cancelled)(void* user) = [](void*) { return false; };
  void* user = nullptr;
};

// MPI is given nothing but the link's own buffers, so that a call may end though a message is still on its way: from
// then on the link is broken, and all that follows fails with the same reason. For one thread.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Starts MPI, unless the program has, and meets the other processes; waits for them as long as MPI does.
  Failure Start();
  // Ends MPI if Start started it, which waits for the other processes to do the same without end.
  void End();

  int rank() const { return rank_; }
  int count() const { return count_; }

  // The buffers, of kBufferBytes and room for an element of each process.
  static constexpr size_t kBufferBytes = size_t{4} << 20;
  std::byte* outgoing() { return outgoing_.get(); }
  std::byte* incoming() { return incoming_.get(); }

  // A call begins, which has so long.
  Failure Begin(int64_t timeout_ms, Cancellation cancellation);
  // Messages begin, to and from others than this process, as often with each as the other has it. Empty ones are none.
  void Send(int peer, std::span<const std::byte> bytes);
  void Receive(int peer, std::span<std::byte> bytes);
  // Waits for those. DeadlineExceeded says for whom; Cancelled; Unavailable with what MPI says.
  Failure Wait();
  // All that follows fails because of `why`, which it gives back. What is on its way may still come into the buffers,
  // which have to stay.
  Failure Break(const Failure& why);
  // Of the last call; at first a minute.
  int64_t timeout_ms() const { return timeout_ms_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Note(int error);
  // Ok if an answer has come in the meantime.
  Failure LateFailure();

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool has_started_mpi_ = false;
  int rank_ = 0;
  int count_ = 0;
  std::unique_ptr<std::byte[]> outgoing_;
  std::unique_ptr<std::byte[]> incoming_;
  std::unique_ptr<MPI_Request[]> requests_;  // of each process what it sends, and then what is sent to each
  int error_ = MPI_SUCCESS;                  // of a message that could not begin
  int64_t timeout_ms_ = 60'000;
  Clock::time_point start_;
  Cancellation cancellation_;
  Failure broken_;
};

}  // namespace tandem::mpi

#endif  // TANDEM_MPI_LINK_H_
