// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The profile op handler: measures what passes through it to the handler below; Profile: what it has measured.

#ifndef TANDEM_PROFILE_OP_HANDLER_H_
#define TANDEM_PROFILE_OP_HANDLER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/growing_array.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"

namespace tandem {

// Durations of several calls; all 0 while there is none.
struct TANDEM_EXPORT ProfileTimes {
  void Add(std::chrono::nanoseconds time);

  int64_t count = 0;
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds min{0};
  std::chrono::nanoseconds max{0};
};

// Of the calls of one op with arguments of one dtype.
struct ProfileCounts {
  int64_t calls = 0;    // that have returned
  int64_t pending = 0;  // of these, that have results still to come
  int64_t errors = 0;   // that have a result, or in place of results a chain, that is an error
  // That nobody can say the end of: a result was destroyed while it was pending, or memory to wait for it could not be
  // had.
  int64_t dropped = 0;
  uint64_t result_bytes = 0;  // of results as dense tensors; strings count 0
  ProfileTimes call;          // until the call returned
  ProfileTimes results;       // until its last result was there; in `count` are neither pending nor dropped calls
};

// One line of a profile.
struct OpProfile : ProfileCounts {
  std::string op;
  // Of the first argument; kInvalid for calls that have none, or one of which it was not known.
  DType dtype = DType::kInvalid;
};

// Thread-safe. May be shared by several handlers, whose calls of an op then count together, and outlive them.
class TANDEM_EXPORT Profile : public RefCounted<Profile> {
 public:
  // A time that never goes back; called from any thread.
  using Clock = std::function<std::chrono::nanoseconds()>;

  // The steady clock, if none is given.
  explicit Profile(Clock clock = nullptr);
  ~Profile();

  // One for each op and dtype that was called: those whose results took most time in all first, then by name and dtype.
  std::vector<OpProfile> Entries();
  // Forgets what was measured. Calls that are pending count no more.
  void Reset();
  // Entries() as a table of aligned columns, times in microseconds.
  std::string ToText();

 private:
  friend class ProfileOp;
  friend class ProfileOpHandler;
  struct Outcome;
  class Record;
  class PendingResults;
  class ResultWaiter;

  // Where calls of the op are counted; null if memory is exhausted. It lives as long as the profile.
  Record* FindOrAddRecord(std::string_view op);
  std::chrono::nanoseconds Now() const { return clock_(); }
  // Ends the waiting for values that nobody else refers to any more.
  void DropAbandoned();

  const Clock clock_;
  std::mutex records_mutex_;
  GrowingArray<std::unique_ptr<Record>> records_;
  std::mutex waiters_mutex_;
  ResultWaiter* waiters_ = nullptr;  // linked
};

// A handler named `name` over `delegate` that counts into `profile`, which is not null. It never waits: a result that
// is pending is timed when it comes. Until then its async value, not the tensor, is referred to, and no more when the
// first of its users hears of it, so that he may take its memory over. Changes nothing.
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateProfileOpHandler(std::string_view name, CoreRuntime& runtime,
                                                                OpHandler& delegate, RcRef<Profile> profile);

}  // namespace tandem

#endif  // TANDEM_PROFILE_OP_HANDLER_H_
