// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The records in which a WebGpuQueue says what is to be done, and who does it: JavaScript.

#ifndef TANDEM_WEBGPU_COMMANDS_H_
#define TANDEM_WEBGPU_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::webgpu {

// A record is its command's number and the words named here. Numbers of objects (buffers, layouts, pipelines, groups)
// are small: they are places in lists. web/src/wasm/webgpu/executor.ts reads the records; it has their numbers from
// tools/generate_layout.py, which reads this.
enum class Command : uint32_t {
  // buffer, bytes
  kCreateBuffer = 1,
  // buffer, 1 if it is to be destroyed, 0 if it is someone else's and only forgotten
  kDropBuffer,
  // layout, number of buffers, mask of those that are only read
  kCreateLayout,
  // pipeline, layout, address and bytes of the text, address and bytes of the name
  kCreatePipeline,
  // pipeline
  kDropPipeline,
  // group, layout, number of buffers, and of each its number, the offset and the size of the part that is meant; size
  // 0: all of it
  kCreateGroup,
  // group
  kDropGroup,
  // pipeline, group, where in the arena the parameters are, workgroups in x, y, z
  kDispatch,
  // buffer, address, bytes: into a buffer that no command of this batch has used before
  kWrite,
  // buffer, address, bytes: into any buffer
  kStage,
  // from where in the arena, buffer, bytes
  kCopyFromArena,
  // from, its offset, to, its offset, bytes
  kCopy,
  // buffer, offset, address, bytes, number of the end
  kDownload,
  // number of the end: told of when all before is done
  kEnd,
  // as kDispatch; when it began and ended is noted
  kTimedDispatch,
  // address, number of times, number of the end: a u64 in nanoseconds for each beginning and end noted in this batch
  kReadTimes,
};

// The words behind a record's first; those of kCreateGroup without its buffers, which have kBufferWords each.
inline constexpr size_t kBufferWords = 3;
constexpr size_t NumWords(Command command) {
  constexpr uint8_t kNumWords[] = {0, 2, 2, 3, 6, 1, 3, 1, 6, 3, 3, 3, 5, 5, 1, 6, 3};
  return kNumWords[static_cast<size_t>(command)];
}

// How many dispatches of a batch can be timed.
inline constexpr uint32_t kMostTimedDispatches = 512;

// Bytes of the arena, a buffer of the device that each batch fills anew before its commands: parameters, each set in a
// slot of its own, and what is too little to be written by itself.
inline constexpr uint32_t kArenaBytes = 256 * 1024;
// WebGPU's smallest multiple for the place of parameters. No set of them is larger than kParameterBytes.
inline constexpr uint32_t kSlotBytes = 256;
inline constexpr uint32_t kParameterBytes = 192;

// What is carried out at a time. `words` and `arena` are unchanged until WebGpuQueue::OnBatchDone is called with the
// batch, what the records point to until Execute returns.
struct Batch {
  uint32_t number;  // the low 32 bits
  std::span<const uint32_t> words;
  std::span<const std::byte> arena;
  std::span<const void* const> addresses;
};

// Carries batches out, in the order they come.
class Executor {
 public:
  virtual ~Executor() = default;
  // On the thread of the device. Begins the work, and later, but not before this returns, has the queue told what
  // became of the batch.
  virtual void Execute(const Batch& batch) = 0;
  // Has WebGpuQueue::Flush called soon on the thread of the device. From any thread, with locks held: it only takes
  // note.
  virtual void RequestFlush() = 0;
};

}  // namespace tandem::webgpu

#endif  // TANDEM_WEBGPU_COMMANDS_H_
