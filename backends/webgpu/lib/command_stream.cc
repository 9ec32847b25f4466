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

static_assert(shader::kMaxParameters * sizeof(uint32_t) <= kParameterBytes && kParameterBytes <= kSlotBytes);

}  // namespace

size_t CommandStream::GroupKey::Hash() const {
  uint32_t hash = layout;
  for (const Part& part : parts()) hash = (hash ^ (part.buffer + part.offset + part.size)) * 0x9E3779B1u;
  return hash ^ (hash >> 15);
}

// Batches.

bool CommandStream::Open() {
  open_ = std::move(spare_);
  if (open_ == nullptr) open_.reset(new (std::nothrow) PendingBatch);
  if (open_ == nullptr) return false;
  open_->number = ++last_batch_;
  return true;
}

bool CommandStream::Prepare(size_t arena_bytes) {
  if (open_ != nullptr && arena_bytes > 0 && open_->arena_size + arena_bytes + kSlotBytes > kArenaBytes) Seal();
  if (open_ == nullptr && !Open()) return false;
  PendingBatch& batch = *open_;
  if (arena_bytes > 0 && batch.arena == nullptr) {
    batch.arena = std::move(spare_arena_);
    if (batch.arena == nullptr) batch.arena.reset(new (std::nothrow) std::byte[kArenaBytes]);
    if (batch.arena == nullptr) return false;
  }
  constexpr size_t kMostAddresses = sizeof(void*) == sizeof(uint32_t) ? 0 : 2 + 1;
  return batch.words.Reserve(batch.words.size() + kMostWords + kReadTimesWords) &&
         batch.origins.Reserve(batch.origins.size() + 1) &&
         batch.addresses.Reserve(batch.addresses.size() + kMostAddresses);
}

bool CommandStream::IsLarge() const {
  return open_->num_dispatches >= kMaxDispatches || open_->words.size() >= kMaxWords ||
         open_->upload_bytes >= kMaxUploadBytes;
}

void CommandStream::WriteDropped() {
  if (dropped_.num_words == 0 || (open_ == nullptr && !Open())) return;
  if (!open_->words.Reserve(open_->words.size() + dropped_.num_words)) return;
  for (uint32_t group = dropped_.groups; group != 0; group = group_numbers_.Next(group)) {
    Append(Command::kDropGroup, {group});
  }
  for (uint32_t buffer = dropped_.buffers; buffer != 0; buffer = buffer_numbers_.Next(buffer)) {
    Append(Command::kDropBuffer, {buffer, buffers_[buffer].is_external ? 0u : 1u});
  }
  for (uint32_t pipeline = dropped_.pipelines; pipeline != 0; pipeline = pipeline_numbers_.Next(pipeline)) {
    Append(Command::kDropPipeline, {pipeline});
  }
  open_->dropped = std::exchange(dropped_, {});
}

void CommandStream::Seal() {
  if (open_ != nullptr && open_->times && open_->times->end != 0) {
    const BatchTimes& times = *open_->times;
    Append(Command::kReadTimes,
           {AddressWord(times.times.data()), static_cast<uint32_t>(2 * times.ops.size()), times.end});
  }
  WriteDropped();
  if (open_ != nullptr && !open_->words.empty()) sealed_.PushBack(std::move(open_));
}

void CommandStream::Close() {
  sealed_.clear();
  executed_.clear();
  open_.reset();
  dropped_ = {};
}

void CommandStream::FreeData(PendingBatch& batch) {
  batch.owners.clear();
  batch.copies.clear();
  if (batch.arena != nullptr) spare_arena_ = std::move(batch.arena);
}

PendingBatch* CommandStream::FindExecuted(uint32_t number) const {
  PendingBatch* batch = executed_.first();
  while (batch != nullptr && static_cast<uint32_t>(batch->number) != number) batch = batch->next.get();
  return batch;
}

void CommandStream::Done(uint32_t number) {
  if (FindExecuted(number) == nullptr) return;
  bool is_last = false;
  while (!is_last) {
    std::unique_ptr<PendingBatch> batch = executed_.PopFront();
    is_last = static_cast<uint32_t>(batch->number) == number;
    buffer_numbers_.GiveBack(batch->dropped.buffers);
    group_numbers_.GiveBack(batch->dropped.groups);
    pipeline_numbers_.GiveBack(batch->dropped.pipelines);
    if (spare_ != nullptr) continue;
    batch->words.clear();
    batch->origins.clear();
    batch->addresses.clear();
    batch->dropped = {};
    batch->arena_size = batch->num_dispatches = 0;
    batch->upload_bytes = 0;
    batch->has_submit = false;
    batch->times.reset();
    spare_ = std::move(batch);
  }
}

// Of these there is room in the open batch.

uint32_t CommandStream::AddressWord(const void* address) {
  if constexpr (sizeof(void*) == sizeof(uint32_t)) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address));
  } else {
    static_cast<void>(open_->addresses.Append(address));
    return static_cast<uint32_t>(open_->addresses.size() - 1);
  }
}

void CommandStream::Append(Command command, std::initializer_list<uint32_t> words) {
  assert(words.size() == NumWords(command));
  GrowingArray<uint32_t>& to = open_->words;
  static_cast<void>(to.Append(static_cast<uint32_t>(command)));
  for (uint32_t word : words) static_cast<void>(to.Append(word));
}

void CommandStream::Append(Command command, std::initializer_list<uint32_t> words, const gpu::CommandOrigin& origin) {
  static_cast<void>(open_->origins.Append({open_->words.size(), origin}));
  Append(command, words);
}

// Buffers.

uint32_t CommandStream::CreateBuffer(uint64_t bytes, const gpu::CommandOrigin& origin) {
  if (!Prepare()) return 0;
  const uint32_t buffer = AdoptBuffer(bytes);
  if (buffer == 0) return 0;
  buffers_[buffer].is_external = false;
  buffers_[buffer].origin = origin;
  Append(Command::kCreateBuffer, {buffer, static_cast<uint32_t>(bytes)});
  return buffer;
}

uint32_t CommandStream::AdoptBuffer(uint64_t bytes) {
  // One for each number, and for 0.
  if (!buffer_numbers_.Reserve() || !buffers_.Reserve(buffers_.size() + 2)) return 0;
  const uint32_t buffer = buffer_numbers_.Take();
  while (buffer >= buffers_.size()) static_cast<void>(buffers_.Append({}));
  buffers_[buffer] = Buffer();
  buffers_[buffer].bytes = bytes;
  buffers_[buffer].is_external = true;
  return buffer;
}

void CommandStream::DropBuffer(uint32_t buffer) {
  while (!buffers_[buffer].groups.empty()) DropGroup(buffers_[buffer].groups.back());
  buffer_numbers_.Put(buffer, dropped_.buffers);
  dropped_.num_words += 1 + NumWords(Command::kDropBuffer);
}

void CommandStream::SetFailed(uint32_t buffer, std::string_view text) {
  if (buffer >= buffers_.size()) return;
  Buffer& failed = buffers_[buffer];
  failed.revived = 0;
  failed.failed = ResourceExhausted("expected ", failed.bytes, " bytes of memory of the device, got none: ", text)
                      .WithContext(failed.origin.op, failed.origin.location);
}

void CommandStream::Use(uint32_t buffer, const gpu::CommandOrigin& origin) {
  buffers_[buffer].last_use = open_->number;
  if (!buffers_[buffer].failed.ok() && buffers_[buffer].revived == 0) [[unlikely]]
    Revive(buffer, origin);
}

// There may be memory for it now. What was in it is known to be unusable.
void CommandStream::Revive(uint32_t buffer, const gpu::CommandOrigin& origin) {
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
  const auto* const found = std::find(layouts_.begin(), layouts_.end(), key);
  const auto layout = static_cast<uint32_t>(found - layouts_.begin() + 1);
  if (found != layouts_.end()) return layout;
  static_cast<void>(layouts_.Append(key));
  Append(Command::kCreateLayout, {layout, static_cast<uint32_t>(buffers.size()), read_only});
  return layout;
}

PipelineRecord CommandStream::CreatePipeline(const shader::ShaderText& text) {
  if (!Prepare() || !pipeline_numbers_.Reserve() || !layouts_.Reserve(layouts_.size() + 1)) return {};
  const PipelineRecord pipeline{pipeline_numbers_.Take(), FindLayout(text.buffers)};
  Append(Command::kCreatePipeline,
         {pipeline.number, pipeline.layout, AddressWord(text.wgsl.data()), static_cast<uint32_t>(text.wgsl.size()),
          AddressWord(text.name.data()), static_cast<uint32_t>(text.name.size())});
  return pipeline;
}

void CommandStream::DropPipeline(uint32_t pipeline) {
  pipeline_numbers_.Put(pipeline, dropped_.pipelines);
  dropped_.num_words += 1 + NumWords(Command::kDropPipeline);
}

uint32_t CommandStream::FindGroup(uint32_t layout, std::span<const gpu::BufferRange> buffers) {
  assert(buffers.size() <= GroupKey::kMaxBuffers);
  GroupKey key;
  key.layout = layout;
  for (const gpu::BufferRange& range : buffers) {
    const auto buffer = static_cast<uint32_t>(range.buffer);
    const uint64_t rest = buffers_[buffer].bytes - range.offset;
    const uint64_t size = range.size == 0 ? rest : range.size;
    const bool is_whole = size == buffers_[buffer].bytes;
    key.all_parts[key.num_parts++] = {buffer, static_cast<uint32_t>(range.offset),
                                      is_whole ? 0 : static_cast<uint32_t>(size)};
  }
  uint32_t& bucket = group_buckets_[key.Hash() % kGroupBuckets];
  for (uint32_t group = bucket; group != 0; group = groups_[group].next) {
    if (groups_[group].key == key) return group;
  }
  bool has_room = group_numbers_.Reserve() && groups_.Reserve(groups_.size() + 2);
  for (const GroupKey::Part& part : key.parts()) {
    // It may be there more than once.
    GrowingArray<uint32_t>& of_buffer = buffers_[part.buffer].groups;
    has_room = has_room && of_buffer.Reserve(of_buffer.size() + buffers.size());
  }
  if (!has_room) return 0;
  if (num_groups_ >= kMaxGroups) {
    for (const uint32_t& first : group_buckets_) {
      while (first != 0) DropGroup(first);
    }
  }
  const uint32_t group = group_numbers_.Take();
  while (group >= groups_.size()) static_cast<void>(groups_.Append({}));
  groups_[group] = {key, std::exchange(bucket, group)};
  ++num_groups_;
  Append(Command::kCreateGroup, {group, layout, key.num_parts});
  for (const GroupKey::Part& part : key.parts()) {
    for (const uint32_t word : {part.buffer, part.offset, part.size}) static_cast<void>(open_->words.Append(word));
    static_cast<void>(buffers_[part.buffer].groups.Append(group));
  }
  return group;
}

void CommandStream::DropGroup(uint32_t group) {
  const GroupKey& key = groups_[group].key;
  for (const GroupKey::Part& part : key.parts()) {
    GrowingArray<uint32_t>& of_buffer = buffers_[part.buffer].groups;
    uint32_t* const place = std::find(of_buffer.begin(), of_buffer.end(), group);
    *place = of_buffer.back();
    of_buffer.TakeLast();
  }
  uint32_t* link = &group_buckets_[key.Hash() % kGroupBuckets];
  while (*link != group) link = &groups_[*link].next;
  *link = groups_[group].next;
  --num_groups_;
  group_numbers_.Put(group, dropped_.groups);
  dropped_.num_words += 1 + NumWords(Command::kDropGroup);
}

// Commands.

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

bool CommandStream::AddTimes(std::string_view op) {
  RcRef<BatchTimes>& times = open_->times;
  if (!times) times = MakeRef<BatchTimes>();
  return times && times->ops.size() < kMostTimedDispatches && times->ops.Append(op) != nullptr;
}

bool CommandStream::Dispatch(PipelineRecord& pipeline, std::span<const gpu::BufferRange> buffers,
                             std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                             bool is_timed, const gpu::CommandOrigin& origin) {
  if (!Prepare(kSlotBytes)) return false;
  for (const gpu::BufferRange& range : buffers) Use(static_cast<uint32_t>(range.buffer), origin);
  const uint32_t group = FindGroup(pipeline.layout, buffers);
  if (group == 0) return false;
  const uint32_t offset = PlaceParameters(pipeline, parameters);
  const Command command = is_timed && AddTimes(origin.op) ? Command::kTimedDispatch : Command::kDispatch;
  Append(command, {pipeline.number, group, offset, workgroups[0], workgroups[1], workgroups[2]}, origin);
  ++open_->num_dispatches;
  open_->has_submit = true;
  return true;
}

bool CommandStream::Upload(uint32_t to, const void* data, uint64_t bytes, RcRef<TensorStorage>&& owner,
                           const gpu::CommandOrigin& origin) {
  const bool is_small = bytes <= kSmallUpload;
  if (!Prepare(is_small ? static_cast<size_t>(bytes) : 0)) return false;
  std::unique_ptr<std::byte[]> copy;
  if (owner) {
    if (!open_->owners.Reserve(open_->owners.size() + 1)) return false;
  } else if (!is_small) {
    copy.reset(new (std::nothrow) std::byte[bytes + 3]);
    if (copy == nullptr || !open_->copies.Reserve(open_->copies.size() + 1)) return false;
  }
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
    static_cast<void>(open_->owners.Append(std::move(owner)));
  } else if (is_small) {
    data = open_->arena.get() + AddToArena(data, bytes, 4);
  } else {
    std::memcpy(copy.get(), data, bytes);
    data = copy.get();
    static_cast<void>(open_->copies.Append(std::move(copy)));
  }
  Append(is_used ? Command::kStage : Command::kWrite, {to, AddressWord(data), size}, origin);
  open_->upload_bytes += bytes;
  open_->has_submit |= is_used;
  return true;
}

bool CommandStream::Copy(uint32_t from, uint64_t from_offset, uint32_t to, uint64_t to_offset, uint64_t bytes,
                         const gpu::CommandOrigin& origin) {
  if (!Prepare()) return false;
  Use(from, origin);
  Use(to, origin);
  Append(Command::kCopy,
         {from, static_cast<uint32_t>(from_offset), to, static_cast<uint32_t>(to_offset), static_cast<uint32_t>(bytes)},
         origin);
  open_->has_submit = true;
  return true;
}

bool CommandStream::Download(uint32_t from, uint64_t offset, void* to, uint64_t bytes, uint32_t end) {
  if (!Prepare()) return false;
  Use(from, {});
  Append(Command::kDownload, {from, static_cast<uint32_t>(offset), AddressWord(to), static_cast<uint32_t>(bytes), end});
  open_->has_submit = true;
  return true;
}

bool CommandStream::End(uint32_t end) {
  if (!Prepare()) return false;
  Append(Command::kEnd, {end});
  return true;
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
    case Command::kDispatch:
    case Command::kTimedDispatch: {
      const GroupKey& group = groups_[record[2]].key;
      for (const GroupKey::Part& part : group.parts()) {
        if (failed.ok()) failed = FailureOf(part.buffer, batch);
      }
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
