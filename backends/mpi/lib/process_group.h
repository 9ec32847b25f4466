// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProcessGroup: the processes of an MPI job as this one sees them, and the thread that talks to them.

#ifndef TANDEM_MPI_PROCESS_GROUP_H_
#define TANDEM_MPI_PROCESS_GROUP_H_

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "failure.h"
#include "link.h"

namespace tandem::mpi {

// What is to be done with the other processes.
class Job {
 public:
  // By the thread of the group, which alone uses the link. It is deleted afterwards.
  virtual void Run(Link& link) = 0;
  virtual ~Job() = default;

 private:
  friend class ProcessGroup;
  Job* next_ = nullptr;
};

// One for the process, since MPI can be started and ended only once in it, and from the first use until the process
// exits. Thread-safe.
class ProcessGroup {
 public:
  static ProcessGroup& Get();

  // Starts MPI if nobody has, and waits so long for that. A failure of MPI stays; that it takes long does not.
  Failure Join(int64_t timeout_ms);

  // Once joined.
  int rank() const { return link_.rank(); }
  int count() const { return link_.count(); }
  // Runs it after those added before, and deletes it. False, and it stays the caller's, if the process ends.
  bool Add(Job* job);

 private:
  enum class State { kNone, kStarting, kReady, kEnded };

  ProcessGroup() = default;
  static void* Main(void* group);
  static void EndOfProcess();
  void Loop();
  void SetState(State state);

  std::mutex mutex_;
  std::condition_variable changed_;  // state or jobs, or that the process ends
  State state_ = State::kNone;
  bool is_ending_ = false;
  int64_t longest_timeout_ms_ = 0;  // that any call has had
  Failure start_failure_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  pthread_t thread_;
  Link link_;  // of the thread; rank and count do not change once it is ready
};

}  // namespace tandem::mpi

#endif  // TANDEM_MPI_PROCESS_GROUP_H_
