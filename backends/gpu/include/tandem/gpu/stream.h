// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Stream: what a GPU's interface must offer for tensors to be on it: buffers, and copies to, from and within it. What
// runs kernels on it is added by those who know how (see tandem/shader/shader_queue.h).

#ifndef TANDEM_GPU_STREAM_H_
#define TANDEM_GPU_STREAM_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem::gpu {

// What a device grants to any use of it.
struct StreamLimits {
  uint64_t max_buffer_bytes = uint64_t{1} << 28;
  // Parts of a buffer that kernels use by themselves begin at a multiple of this; a power of two, at least 4.
  uint32_t offset_alignment = 256;
};

// A buffer of a stream; never 0.
using BufferId = uint64_t;

// A part of a buffer, in bytes; the offset is a multiple of StreamLimits::offset_alignment.
struct BufferRange {
  BufferId buffer = 0;
  uint64_t offset = 0;
  uint64_t size = 0;  // 0: to the end
};

// Whose command it is, for errors that a device reports later. `op` lives as long as the op registry.
struct CommandOrigin {
  std::string_view op;
  Location location;
};

// What a stream tells of failures that no call of it can return, from any thread and without a lock of its own held.
class StreamListener {
 public:
  // Commands of the batches `first` to `last` have not, or not all, been executed; what they were to write is unusable.
  virtual void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) = 0;
  // The device is gone for good, and with it the content of all buffers. Every call fails from now on.
  virtual void OnDeviceLost(const Status& error) = 0;

 protected:
  ~StreamListener() = default;
};

// Commands are executed as if one after the other, in the order of the calls that issued them; `Upload` and `Copy`, and
// commands that a derived class adds, only note them, and a batch of them is handed to the device by Flush, at a size
// that the stream chooses, or at the end of the task where there is an event loop. Batches are numbered from 1. All
// methods may be called from any thread. The destructor waits for the device, and calls what is left of the functions
// given to Download and WhenDone with Cancelled.
//
// Errors of every method: Unavailable once the device is lost; ResourceExhausted for lack of memory.
class TANDEM_EXPORT Stream {
 public:
  // Ok, or why what was waited for has not been done.
  using Done = std::function<void(const Status&)>;

  virtual ~Stream() = default;

  // "llvmpipe (LLVM 15.0.6, 256 bits)", for messages.
  virtual std::string_view adapter_name() const = 0;
  virtual const StreamLimits& limits() const = 0;
  // Before any other call; `listener` outlives the stream.
  virtual void SetListener(StreamListener& listener) = 0;

  // A buffer for use by kernels and copies, its content arbitrary; `bytes` is a multiple of 4, above 0 and at most
  // limits().max_buffer_bytes. Where creation is asynchronous the error is one of the batches that use the buffer.
  virtual StatusOr<BufferId> CreateBuffer(uint64_t bytes, const CommandOrigin& origin) = 0;
  // Commands issued before may still use it.
  virtual void DestroyBuffer(BufferId buffer) = 0;

  // Writes `bytes` of `data` to the start of a buffer; the last word is filled up with anything. `owner`, if not null,
  // keeps `data` alive and unchanged as long as it is referred to; otherwise the data is copied before this returns.
  // Gives the batch that the command is in.
  virtual StatusOr<uint64_t> Upload(BufferId to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                                    const CommandOrigin& origin) = 0;
  // Copies within the device; offsets and `bytes` are multiples of 4, and the buffers are two.
  virtual StatusOr<uint64_t> Copy(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset, uint64_t bytes,
                                  const CommandOrigin& origin) = 0;
  // Reads `bytes` of a buffer, from `offset`, a multiple of 4, to `to`, which must live until `done` is called: once,
  // on any thread, after all failures of commands issued before have been told to the listener. Flushes.
  virtual void Download(BufferId from, uint64_t offset, void* to, uint64_t bytes, Done done) = 0;
  // Calls `done` when all commands issued before have been executed, as Download does. Flushes.
  virtual void WhenDone(Done done) = 0;

  // Hands over what was issued. Does not wait.
  virtual void Flush() = 0;

  // Notes commands that were put off, and lets go of the buffers that it holds for them. False if there were none. Not
  // with a lock held that allocating or freeing memory takes.
  virtual bool IssueLate() { return false; }

  // What was handed over so far.
  struct Counters {
    uint64_t submits = 0;     // batches handed to the device
    uint64_t dispatches = 0;  // kernels
    uint64_t crossings = 0;   // calls out of WebAssembly to bring about the above; 0 natively
  };
  virtual Counters counters() const = 0;
};

}  // namespace tandem::gpu

#endif  // TANDEM_GPU_STREAM_H_
