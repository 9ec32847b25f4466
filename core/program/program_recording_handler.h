// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RecordingState: what a runtime has for recordings: the one in progress, and the op handlers that calls come through.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_HANDLER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_HANDLER_H_

#include <atomic>
#include <mutex>
#include <vector>

#include "program_recording.h"
#include "tandem/core_runtime.h"
#include "tandem/device.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem {

// One a runtime. Thread-safe.
class RecordingState final : public SharedContext {
 public:
  // Null if nothing is recorded.
  RcRef<Recording> Active() const;
  // The recording that calls and transfers come to from here on.
  StatusOr<RcRef<Recording>> Begin(CoreRuntime& runtime);
  // No more, if it is this one.
  void End(CoreRuntime& runtime, Recording& recording);

  StatusOr<OpHandler*> HandlerOver(CoreRuntime& runtime, OpHandler& delegate);
  // The first that has a handler over it and that is for this device; null if there is none.
  const OpHandler* FindDelegate(const Device& device) const;

 private:
  struct Handler {
    OpHandler* handler;
    OpHandler* delegate;
  };
  // Whether the handler is one of these; to be called with the lock.
  bool IsRecording(const OpHandler& handler) const;

  std::atomic<bool> is_active_{false};
  mutable std::mutex mutex_;
  RcRef<Recording> active_;
  std::vector<Handler> handlers_;  // in the order in which they were made
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_HANDLER_H_
