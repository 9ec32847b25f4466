// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CommandStream: the records of a WebGpuQueue, and the objects they name.

#ifndef TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_
#define TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "batch_times.h"
#include "numbers.h"
#include "tandem/gpu/linked_queue.h"
#include "tandem/growing_array.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/webgpu/commands.h"

namespace tandem::webgpu {

// Numbers of what is to be dropped, in lists. A number is given back only after the batch that drops the object is
// done, so that until then the records of older batches name what they meant.
struct Dropped {
  uint32_t buffers = 0;
  uint32_t groups = 0;
  uint32_t pipelines = 0;
  size_t num_words = 0;  // of the records
};

// A batch on its way: takes records, is sealed, carried out, and told of.
struct PendingBatch {
  struct Origin {
    size_t word;
    gpu::CommandOrigin origin;
  };

  Batch AsBatch() const {
    return {static_cast<uint32_t>(number), words.span(), {arena.get(), arena_size}, addresses.span()};
  }

  uint64_t number = 0;
  GrowingArray<uint32_t> words;
  GrowingArray<Origin> origins;  // by place
  std::unique_ptr<std::byte[]> arena;
  uint32_t arena_size = 0;
  uint32_t num_dispatches = 0;
  uint64_t upload_bytes = 0;
  bool has_submit = false;
  RcRef<BatchTimes> times;  // null: nobody wants to know
  // What records point to.
  GrowingArray<const void*> addresses;
  GrowingArray<RcRef<TensorStorage>> owners;
  GrowingArray<std::unique_ptr<std::byte[]>> copies;
  Dropped dropped;
  std::unique_ptr<PendingBatch> next;
};

// What the stream knows of a pipeline.
struct PipelineRecord {
  uint32_t number = 0;
  uint32_t layout = 0;
  // Where in which batch's arena its last parameters are.
  uint64_t batch = 0;
  uint32_t offset = 0;
};

// Commands take their memory first: where it is exhausted they say so, and are not recorded. What is dropped needs
// none: its records are written at the end of the batch, or of a later one if memory is short. Not thread-safe.
class CommandStream {
 public:
  // Of the last command.
  uint64_t batch() const { return open_->number; }
  // Of the open batch; null if there are none.
  BatchTimes* times() const { return open_->times.get(); }
  bool IsEmpty() const { return (open_ == nullptr || open_->words.empty()) && dropped_.num_words == 0; }
  // Whether it is time to carry the open batch out.
  bool IsLarge() const;

  // Nothing is recorded any more.
  void Close();

  // The number; 0 if memory is exhausted.
  [[nodiscard]] uint32_t CreateBuffer(uint64_t bytes, const gpu::CommandOrigin& origin);
  [[nodiscard]] uint32_t AdoptBuffer(uint64_t bytes);
  void DropBuffer(uint32_t buffer);
  // `text` stays where it is until the batch has been carried out. With number 0 if memory is exhausted.
  [[nodiscard]] PipelineRecord CreatePipeline(const shader::ShaderText& text);
  void DropPipeline(uint32_t pipeline);

  // These are false if memory is exhausted. A dispatch that `is_timed` has times, unless there is no memory for these.
  [[nodiscard]] bool Dispatch(PipelineRecord& pipeline, std::span<const gpu::BufferRange> buffers,
                              std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                              bool is_timed, const gpu::CommandOrigin& origin);
  [[nodiscard]] bool Upload(uint32_t to, const void* data, uint64_t bytes, RcRef<TensorStorage>&& owner,
                            const gpu::CommandOrigin& origin);
  [[nodiscard]] bool Copy(uint32_t from, uint64_t from_offset, uint32_t to, uint64_t to_offset, uint64_t bytes,
                          const gpu::CommandOrigin& origin);
  [[nodiscard]] bool Download(uint32_t from, uint64_t offset, void* to, uint64_t bytes, uint32_t end);
  [[nodiscard]] bool End(uint32_t end);

  // Ends the open batch, if it has records.
  void Seal();
  // The next batch to be carried out; null if there is none. `Executed` gives it back when that has happened.
  std::unique_ptr<PendingBatch> TakeSealed() { return sealed_.PopFront(); }
  void Executed(std::unique_ptr<PendingBatch> batch) { executed_.PushBack(std::move(batch)); }
  // What the records of a batch point to is not needed any more.
  void FreeData(PendingBatch& batch);
  // A batch that was carried out and not told of; null if there is none.
  PendingBatch* FindExecuted(uint32_t number) const;
  // It, and all before it, have been told of.
  void Done(uint32_t number);

  // What became of a record.
  void SetFailed(uint32_t buffer, std::string_view text);
  // The error of a record of a batch, or of any of them if `word` is not where one begins.
  Status ErrorOf(const PendingBatch& batch, uint32_t word, StatusCode code, std::string_view text) const;
  // Why a batch could not use a buffer; ok if it could.
  Status FailureOf(uint32_t buffer, const PendingBatch& batch) const;

 private:
  struct GroupKey {
    static constexpr size_t kMaxBuffers = 10;
    // A buffer, or the part of it from `offset` on that has `size` bytes; 0: all of it.
    struct Part {
      uint32_t buffer;
      uint32_t offset;
      uint32_t size;
      friend bool operator==(const Part&, const Part&) = default;
    };
    std::span<const Part> parts() const { return {all_parts.data(), num_parts}; }
    friend bool operator==(const GroupKey& a, const GroupKey& b) {
      return a.layout == b.layout && std::ranges::equal(a.parts(), b.parts());
    }
    size_t Hash() const;

    uint32_t layout = 0;
    uint32_t num_parts = 0;
    std::array<Part, kMaxBuffers> all_parts;
  };
  struct Group {
    GroupKey key;
    uint32_t next = 0;  // in its bucket
  };
  struct Buffer {
    uint64_t bytes = 0;
    uint64_t last_use = 0;  // the batch
    gpu::CommandOrigin origin;
    bool is_external = false;
    Status failed;
    uint64_t revived = 0;  // the batch that made it again after it had failed
    GrowingArray<uint32_t> groups;
  };
  static constexpr size_t kMaxGroups = 8192;
  static constexpr size_t kGroupBuckets = 4096;
  // The most words of a command: a dispatch that makes all of its buffers anew, and their group.
  static constexpr size_t kMostWords = 7 + 4 + (kBufferWords + 3) * GroupKey::kMaxBuffers;

  // Those of the record that a batch with times ends with.
  static constexpr size_t kReadTimesWords = 4;

  // Room in an open batch for one more command, which puts so much into the arena; begins another batch if that one's
  // arena has no room. False if memory is exhausted.
  bool Prepare(size_t arena_bytes = 0);
  bool Open();
  void WriteDropped();
  // Whether there are times for one more command of the open batch.
  bool AddTimes(std::string_view op);
  uint32_t AddressWord(const void* address);
  void Append(Command command, std::initializer_list<uint32_t> words);
  void Append(Command command, std::initializer_list<uint32_t> words, const gpu::CommandOrigin& origin);
  // Before a record that uses the buffer, other than by kWrite.
  void Use(uint32_t buffer, const gpu::CommandOrigin& origin);
  void Revive(uint32_t buffer, const gpu::CommandOrigin& origin);
  // There is room for a new one.
  uint32_t FindLayout(std::span<const shader::BufferAccess> buffers);
  // 0 if memory is exhausted.
  uint32_t FindGroup(uint32_t layout, std::span<const gpu::BufferRange> buffers);
  void DropGroup(uint32_t group);
  // Where in the arena; it has room.
  uint32_t AddToArena(const void* data, size_t bytes, uint32_t alignment);
  uint32_t PlaceParameters(PipelineRecord& pipeline, std::span<const uint32_t> parameters);

  uint64_t last_batch_ = 0;
  std::unique_ptr<PendingBatch> open_;  // null: nothing is recorded
  gpu::LinkedQueue<PendingBatch> sealed_;
  gpu::LinkedQueue<PendingBatch> executed_;
  std::unique_ptr<PendingBatch> spare_;
  std::unique_ptr<std::byte[]> spare_arena_;
  Dropped dropped_;               // no batch has the records yet
  GrowingArray<Buffer> buffers_;  // by number
  GrowingArray<Group> groups_;    // by number
  std::array<uint32_t, kGroupBuckets> group_buckets_ = {};
  size_t num_groups_ = 0;
  GrowingArray<uint64_t> layouts_;  // what they are, by number less one
  Numbers buffer_numbers_, group_numbers_, pipeline_numbers_;
};

}  // namespace tandem::webgpu

#endif  // TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_
