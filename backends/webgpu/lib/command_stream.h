// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CommandStream: the records of a WebGpuQueue, and the objects they name.

#ifndef TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_
#define TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_

#include <array>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/shader/gpu_queue.h"
#include "tandem/webgpu/commands.h"

namespace tandem::webgpu {

// Numbers of objects. One that is given back is taken again only after the batch that drops the object is done, so that
// until then the records of older batches name what they meant.
class Numbers {
 public:
  uint32_t Take();
  void GiveBack(uint32_t number) { free_.push_back(number); }

 private:
  uint32_t next_ = 1;  // 0 is none
  std::vector<uint32_t> free_;
};

// A batch on its way: takes records, is sealed, carried out, and told of.
struct PendingBatch {
  struct Origin {
    size_t word;
    shader::CommandOrigin origin;
  };

  Batch AsBatch() const { return {static_cast<uint32_t>(number), words, {arena.get(), arena_size}, addresses}; }

  uint64_t number = 0;
  std::vector<uint32_t> words;
  std::vector<Origin> origins;  // by place
  std::unique_ptr<std::byte[]> arena;
  uint32_t arena_size = 0;
  uint32_t num_dispatches = 0;
  uint64_t upload_bytes = 0;
  bool has_submit = false;
  // What records point to.
  std::vector<const void*> addresses;
  std::vector<RcRef<TensorStorage>> owners;
  std::vector<std::unique_ptr<std::byte[]>> copies;
  std::deque<std::string> texts;
  // Numbers of what it drops.
  std::vector<uint32_t> buffers, groups, pipelines;
};

// What the stream knows of a pipeline.
struct PipelineRecord {
  uint32_t number = 0;
  uint32_t layout = 0;
  // Where in which batch's arena its last parameters are.
  uint64_t batch = 0;
  uint32_t offset = 0;
};

// Not thread-safe.
class CommandStream {
 public:
  uint64_t batch() const { return open_->number; }
  bool IsEmpty() const { return open_->words.empty(); }
  // Whether it is time to carry the open batch out.
  bool IsLarge() const;

  CommandStream() { Open(); }
  // Nothing is recorded any more.
  void Close();

  uint32_t CreateBuffer(uint64_t bytes, const shader::CommandOrigin& origin);
  uint32_t AdoptBuffer(uint64_t bytes);
  void DropBuffer(uint32_t buffer);
  PipelineRecord CreatePipeline(shader::ShaderText text);
  void DropPipeline(uint32_t pipeline);

  void Dispatch(PipelineRecord& pipeline, std::span<const shader::BufferId> buffers,
                std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                const shader::CommandOrigin& origin);
  // False if there is no memory for a copy of the data.
  bool Upload(uint32_t to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
              const shader::CommandOrigin& origin);
  void Copy(uint32_t from, uint64_t from_offset, uint32_t to, uint64_t to_offset, uint64_t bytes,
            const shader::CommandOrigin& origin);
  void Download(uint32_t from, void* to, uint64_t bytes, uint32_t download);

  // Ends the open batch, if it has records, and begins another.
  void Seal();
  // The next batch to be carried out; null if there is none. `Executed` gives it back when that has happened.
  std::unique_ptr<PendingBatch> TakeSealed();
  void Executed(std::unique_ptr<PendingBatch> batch) { executed_.push_back(std::move(batch)); }
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
    std::array<uint32_t, kMaxBuffers + 2> words = {};  // the layout, the number of buffers and their numbers
    friend bool operator==(const GroupKey&, const GroupKey&) = default;
    struct Hash {
      size_t operator()(const GroupKey& key) const;
    };
  };
  struct Buffer {
    uint64_t bytes = 0;
    uint64_t last_use = 0;  // the batch
    shader::CommandOrigin origin;
    bool is_external = false;
    Status failed;
    uint64_t revived = 0;  // the batch that made it again after it had failed
    std::vector<uint32_t> groups;
  };
  static constexpr size_t kMaxGroups = 8192;

  void Open();
  uint32_t AddressWord(const void* address);
  void Append(Command command, std::initializer_list<uint32_t> words);
  void Append(Command command, std::initializer_list<uint32_t> words, const shader::CommandOrigin& origin);
  // Before a record that uses the buffer, other than by kWrite.
  void Use(uint32_t buffer, const shader::CommandOrigin& origin);
  void Revive(uint32_t buffer, const shader::CommandOrigin& origin);
  uint32_t FindLayout(std::span<const shader::BufferAccess> buffers);
  uint32_t FindGroup(uint32_t layout, std::span<const shader::BufferId> buffers);
  void DropGroup(uint32_t group);
  // Where in the arena; it has room.
  uint32_t AddToArena(const void* data, size_t bytes, uint32_t alignment);
  uint32_t PlaceParameters(PipelineRecord& pipeline, std::span<const uint32_t> parameters);
  // Begins another batch if the arena has no room for so much.
  void Reserve(size_t bytes);

  uint64_t last_batch_ = 0;
  std::unique_ptr<PendingBatch> open_;
  std::deque<std::unique_ptr<PendingBatch>> sealed_;
  std::deque<std::unique_ptr<PendingBatch>> executed_;
  std::unique_ptr<PendingBatch> spare_;
  std::unique_ptr<std::byte[]> spare_arena_;
  std::vector<Buffer> buffers_;   // by number
  std::vector<GroupKey> groups_;  // by number
  std::unordered_map<GroupKey, uint32_t, GroupKey::Hash> group_numbers_;
  std::unordered_map<uint64_t, uint32_t> layouts_;
  Numbers free_buffers_, free_groups_, free_pipelines_;
};

}  // namespace tandem::webgpu

#endif  // TANDEM_BACKENDS_WEBGPU_LIB_COMMAND_STREAM_H_
