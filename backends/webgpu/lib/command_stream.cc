// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Writing records, with what they name known by small numbers.

#include "command_stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace tandem::webgpu {

namespace {

// A batch with more is carried out: the device is to have something to do while the next one is written.
constexpr uint32_t kMaxDispatches = 512;
constexpr size_t kMaxWords = 64 * 1024;
// Host memory that a batch may keep.
constexpr uint64_t kMaxUploadBytes = uint64_t{32} << 20;
// More is not put into the arena.
constexpr uint64_t kSmallUpload = 4096;

}  // namespace

uint32_t Numbers::Take() {
  if (free_.empty()) return next_++;
  const uint32_t number = free_.back();
  free_.pop_back();
  return number;
}

size_t CommandStream::GroupKey::Hash::operator()(const GroupKey& key) const {
  uint32_t hash = 0;
  for (size_t i = 0; i < key.words[1] + 2; ++i) hash = (hash ^ key.words[i]) * 0x9E3779B1u;
  return hash ^ (hash >> 15);
}

// Batches.

void CommandStream::Open() {
  open_ = spare_ != nullptr ? std::move(spare_) : std::make_unique<PendingBatch>();
  open_->number = ++last_batch_;
}

bool CommandStream::IsLarge() const {
  return open_->num_dispatches >= kMaxDispatches || open_->words.size() >= kMaxWords ||
         open_->upload_bytes >= kMaxUploadBytes;
}

void CommandStream::Seal() {
  if (IsEmpty()) return;
  sealed_.push_back(std::move(open_));
  Open();
}

void CommandStream::Close() {
  sealed_.clear();
  executed_.clear();
  Open();
}

std::unique_ptr<PendingBatch> CommandStream::TakeSealed() {
  if (sealed_.empty()) return nullptr;
  std::unique_ptr<PendingBatch> batch = std::move(sealed_.front());
  sealed_.pop_front();
  return batch;
}

void CommandStream::FreeData(PendingBatch& batch) {
  batch.owners.clear();
  batch.copies.clear();
  batch.texts.clear();
  if (batch.arena != nullptr) spare_arena_ = std::move(batch.arena);
}

PendingBatch* CommandStream::FindExecuted(uint32_t number) const {
  for (const auto& batch : executed_) {
    if (static_cast<uint32_t>(batch->number) == number) return batch.get();
  }
  return nullptr;
}

void CommandStream::Done(uint32_t number) {
  if (FindExecuted(number) == nullptr) return;
  bool is_last = false;
  while (!is_last) {
    std::unique_ptr<PendingBatch> batch = std::move(executed_.front());
    executed_.pop_front();
    is_last = static_cast<uint32_t>(batch->number) == number;
    for (uint32_t buffer : batch->buffers) free_buffers_.GiveBack(buffer);
    for (uint32_t group : batch->groups) free_groups_.GiveBack(group);
    for (uint32_t pipeline : batch->pipelines) free_pipelines_.GiveBack(pipeline);
    if (spare_ != nullptr) continue;
    batch->words.clear();
    batch->origins.clear();
    batch->addresses.clear();
    batch->buffers.clear();
    batch->groups.clear();
    batch->pipelines.clear();
    batch->arena_size = batch->num_dispatches = 0;
    batch->upload_bytes = 0;
    batch->has_submit = false;
    spare_ = std::move(batch);
  }
}

uint32_t CommandStream::AddressWord(const void* address) {
  if constexpr (sizeof(void*) == sizeof(uint32_t)) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address));
  } else {
    open_->addresses.push_back(address);
    return static_cast<uint32_t>(open_->addresses.size() - 1);
  }
}

void CommandStream::Append(Command command, std::initializer_list<uint32_t> words) {
  assert(words.size() == NumWords(command));
  std::vector<uint32_t>& to = open_->words;
  to.push_back(static_cast<uint32_t>(command));
  to.insert(to.end(), words);
}

void CommandStream::Append(Command command, std::initializer_list<uint32_t> words,
                           const shader::CommandOrigin& origin) {
  open_->origins.push_back({open_->words.size(), origin});
  Append(command, words);
}

// Buffers.

uint32_t CommandStream::CreateBuffer(uint64_t bytes, const shader::CommandOrigin& origin) {
  const uint32_t buffer = AdoptBuffer(bytes);
  buffers_[buffer].is_external = false;
  buffers_[buffer].origin = origin;
  Append(Command::kCreateBuffer, {buffer, static_cast<uint32_t>(bytes)});
  return buffer;
}

uint32_t CommandStream::AdoptBuffer(uint64_t bytes) {
  const uint32_t buffer = free_buffers_.Take();
  if (buffer >= buffers_.size()) buffers_.resize(std::max<size_t>(buffer + 1, 2 * buffers_.size()));
  buffers_[buffer] = Buffer();
  buffers_[buffer].bytes = bytes;
  buffers_[buffer].is_external = true;
  return buffer;
}

void CommandStream::DropBuffer(uint32_t buffer) {
  Buffer& dropped = buffers_[buffer];
  while (!dropped.groups.empty()) DropGroup(dropped.groups.back());
  Append(Command::kDropBuffer, {buffer, dropped.is_external ? 0u : 1u});
  open_->buffers.push_back(buffer);
}

void CommandStream::SetFailed(uint32_t buffer, std::string_view text) {
  if (buffer >= buffers_.size()) return;
  Buffer& failed = buffers_[buffer];
  failed.revived = 0;
  failed.failed = ResourceExhausted("expected ", failed.bytes, " bytes of memory of the device, got none: ", text)
                      .WithContext(failed.origin.op, failed.origin.location);
}

void CommandStream::Use(uint32_t buffer, const shader::CommandOrigin& origin) {
  buffers_[buffer].last_use = open_->number;
  if (!buffers_[buffer].failed.ok() && buffers_[buffer].revived == 0) [[unlikely]]
    Revive(buffer, origin);
}

// There may be memory for it now. What was in it is known to be unusable.
void CommandStream::Revive(uint32_t buffer, const shader::CommandOrigin& origin) {
  Buffer& revived = buffers_[buffer];
  while (!revived.groups.empty()) DropGroup(revived.groups.back());
  revived.revived = open_->number;
  revived.origin = origin;
  Append(Command::kCreateBuffer, {buffer, static_cast<uint32_t>(revived.bytes)});
}

// Pipelines and groups.

uint32_t CommandStream::FindLayout(std::span<const shader::BufferAccess> buffers) {
  uint32_t read_only = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == shader::BufferAccess::kRead) read_only |= 1u << i;
  }
  const uint64_t key = uint64_t{read_only} << 8 | buffers.size();
  const auto [found, is_new] = layouts_.try_emplace(key, static_cast<uint32_t>(layouts_.size() + 1));
  if (is_new) Append(Command::kCreateLayout, {found->second, static_cast<uint32_t>(buffers.size()), read_only});
  return found->second;
}

PipelineRecord CommandStream::CreatePipeline(shader::ShaderText text) {
  const PipelineRecord pipeline{free_pipelines_.Take(), FindLayout(text.buffers)};
  // A deque does not move them.
  const std::string& wgsl = open_->texts.emplace_back(std::move(text.wgsl));
  const std::string& name = open_->texts.emplace_back(std::move(text.name));
  Append(Command::kCreatePipeline,
         {pipeline.number, pipeline.layout, AddressWord(wgsl.data()), static_cast<uint32_t>(wgsl.size()),
          AddressWord(name.data()), static_cast<uint32_t>(name.size())});
  return pipeline;
}

void CommandStream::DropPipeline(uint32_t pipeline) {
  Append(Command::kDropPipeline, {pipeline});
  open_->pipelines.push_back(pipeline);
}

uint32_t CommandStream::FindGroup(uint32_t layout, std::span<const shader::BufferId> buffers) {
  assert(buffers.size() <= GroupKey::kMaxBuffers);
  GroupKey key;
  key.words[0] = layout;
  key.words[1] = static_cast<uint32_t>(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) key.words[i + 2] = static_cast<uint32_t>(buffers[i]);
  if (const auto found = group_numbers_.find(key); found != group_numbers_.end()) return found->second;
  if (group_numbers_.size() >= kMaxGroups) {
    while (!group_numbers_.empty()) DropGroup(group_numbers_.begin()->second);
  }
  const uint32_t group = free_groups_.Take();
  if (group >= groups_.size()) groups_.resize(std::max<size_t>(group + 1, 2 * groups_.size()));
  groups_[group] = key;
  group_numbers_.emplace(key, group);
  Append(Command::kCreateGroup, {group, layout, key.words[1]});
  for (size_t i = 0; i < buffers.size(); ++i) {
    open_->words.push_back(key.words[i + 2]);
    buffers_[key.words[i + 2]].groups.push_back(group);
  }
  return group;
}

void CommandStream::DropGroup(uint32_t group) {
  const GroupKey& key = groups_[group];
  for (size_t i = 0; i < key.words[1]; ++i) std::erase(buffers_[key.words[i + 2]].groups, group);
  group_numbers_.erase(key);
  Append(Command::kDropGroup, {group});
  open_->groups.push_back(group);
}

// Commands.

void CommandStream::Reserve(size_t bytes) {
  if (open_->arena_size + bytes + kSlotBytes > kArenaBytes) Seal();
  if (open_->arena != nullptr) return;
  open_->arena = spare_arena_ != nullptr ? std::move(spare_arena_) : std::make_unique<std::byte[]>(kArenaBytes);
}

uint32_t CommandStream::AddToArena(const void* data, size_t bytes, uint32_t alignment) {
  const uint32_t at = (open_->arena_size + alignment - 1) / alignment * alignment;
  std::memcpy(open_->arena.get() + at, data, bytes);
  open_->arena_size = at + static_cast<uint32_t>((bytes + 3) / 4 * 4);
  return at;
}

uint32_t CommandStream::PlaceParameters(PipelineRecord& pipeline, std::span<const uint32_t> parameters) {
  if (parameters.empty()) return 0;
  const bool is_same = pipeline.batch == open_->number && std::memcmp(open_->arena.get() + pipeline.offset,
                                                                      parameters.data(), parameters.size_bytes()) == 0;
  if (!is_same) {
    pipeline.offset = AddToArena(parameters.data(), parameters.size_bytes(), kSlotBytes);
    pipeline.batch = open_->number;
  }
  return pipeline.offset;
}

void CommandStream::Dispatch(PipelineRecord& pipeline, std::span<const shader::BufferId> buffers,
                             std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                             const shader::CommandOrigin& origin) {
  Reserve(kSlotBytes);
  for (shader::BufferId buffer : buffers) Use(static_cast<uint32_t>(buffer), origin);
  const uint32_t group = FindGroup(pipeline.layout, buffers);
  const uint32_t offset = PlaceParameters(pipeline, parameters);
  Append(Command::kDispatch, {pipeline.number, group, offset, workgroups[0], workgroups[1], workgroups[2]}, origin);
  ++open_->num_dispatches;
  open_->has_submit = true;
}

bool CommandStream::Upload(uint32_t to, const void* data, uint64_t bytes, RcRef<TensorStorage> owner,
                           const shader::CommandOrigin& origin) {
  const bool is_small = bytes <= kSmallUpload;
  if (is_small) Reserve(bytes);
  const bool is_used = buffers_[to].last_use == open_->number;
  const auto size = static_cast<uint32_t>(bytes);
  if (is_used || !buffers_[to].failed.ok()) Use(to, origin);
  if (is_small && is_used) {
    const uint32_t offset = AddToArena(data, bytes, 4);
    Append(Command::kCopyFromArena, {offset, to, size}, origin);
    open_->has_submit = true;
    return true;
  }
  if (owner) {
    open_->owners.push_back(std::move(owner));
  } else if (is_small) {
    data = open_->arena.get() + AddToArena(data, bytes, 4);
  } else {
    std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[bytes + 3]);
    if (copy == nullptr) return false;
    std::memcpy(copy.get(), data, bytes);
    data = copy.get();
    open_->copies.push_back(std::move(copy));
  }
  Append(is_used ? Command::kStage : Command::kWrite, {to, AddressWord(data), size}, origin);
  open_->upload_bytes += bytes;
  open_->has_submit |= is_used;
  return true;
}

void CommandStream::Copy(uint32_t from, uint64_t from_offset, uint32_t to, uint64_t to_offset, uint64_t bytes,
                         const shader::CommandOrigin& origin) {
  Use(from, origin);
  Use(to, origin);
  Append(Command::kCopy,
         {from, static_cast<uint32_t>(from_offset), to, static_cast<uint32_t>(to_offset), static_cast<uint32_t>(bytes)},
         origin);
  open_->has_submit = true;
}

void CommandStream::Download(uint32_t from, void* to, uint64_t bytes, uint32_t download) {
  Use(from, {});
  Append(Command::kDownload, {from, AddressWord(to), static_cast<uint32_t>(bytes), download});
  open_->has_submit = true;
}

// Errors.

Status CommandStream::FailureOf(uint32_t buffer, const PendingBatch& batch) const {
  const Buffer& of = buffers_[buffer];
  return of.revived == 0 || batch.number < of.revived ? of.failed : Status();
}

Status CommandStream::ErrorOf(const PendingBatch& batch, uint32_t word, StatusCode code, std::string_view text) const {
  const auto at = std::find_if(batch.origins.begin(), batch.origins.end(),
                               [word](const PendingBatch::Origin& origin) { return origin.word == word; });
  if (at == batch.origins.end()) return MakeError(code, "expected the device to carry out a batch, got: ", text);
  const uint32_t* const record = &batch.words[word];
  Status failed;
  switch (static_cast<Command>(record[0])) {
    case Command::kDispatch: {
      const GroupKey& group = groups_[record[2]];
      for (size_t i = 0; i < group.words[1] && failed.ok(); ++i) failed = FailureOf(group.words[i + 2], batch);
      break;
    }
    case Command::kCopy:
      failed = FailureOf(record[1], batch);
      if (failed.ok()) failed = FailureOf(record[3], batch);
      break;
    case Command::kCopyFromArena:
      failed = FailureOf(record[2], batch);
      break;
    default:
      failed = FailureOf(record[1], batch);
  }
  if (!failed.ok()) return failed;
  return MakeError(code, "expected the device to carry out the op, got: ", text)
      .WithContext(at->origin.op, at->origin.location);
}

}  // namespace tandem::webgpu
