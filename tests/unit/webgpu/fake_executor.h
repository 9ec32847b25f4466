// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FakeExecutor: in place of JavaScript and its GPUDevice, reads the records of batches, and does them on vectors.

#ifndef TANDEM_TESTS_UNIT_WEBGPU_FAKE_EXECUTOR_H_
#define TANDEM_TESTS_UNIT_WEBGPU_FAKE_EXECUTOR_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/webgpu/commands.h"
#include "tandem/webgpu/webgpu_queue.h"

namespace tandem::webgpu {

using gpu::BufferId;
using gpu::BufferRange;
using gpu::CommandOrigin;
using shader::BufferAccess;
using Words = std::vector<uint32_t>;

inline constexpr CommandOrigin kOrigin = {"test.op", {}};

// A record as it was given.
struct Record {
  Command command;
  std::vector<uint32_t> words;
  size_t place;  // in its batch
};

// What a test says of a batch that it was given is left to the test, but for what `tell_all` tells.
class FakeExecutor final : public Executor {
 public:
  // Its buffers and parameters.
  using Shader = std::function<void(const std::vector<Words*>&, const uint32_t*)>;

  void Execute(const Batch& batch) override {
    EXPECT_FALSE(is_inside) << "batches must come one after the other";
    is_inside = true;
    batches.push_back(batch.number);
    records.clear();
    times_.clear();
    arena_bytes = batch.arena.size();
    for (size_t i = 0; i < batch.words.size();) i = Do(batch, i);
    is_inside = false;
  }
  void RequestFlush() override { ++num_requests; }

  // Tells the queue that all was well.
  void TellAll(WebGpuQueue& queue) {
    for (uint32_t batch : std::exchange(batches, {})) queue.OnBatchDone(batch);
    for (uint32_t pipeline : std::exchange(compiling, {})) {
      const bool is_wrong = pipelines_.count(pipeline) > 0 && wrong_shaders.count(pipelines_.at(pipeline).name) > 0;
      queue.OnPipelineDone(pipeline, is_wrong ? StatusCode::kInternal : StatusCode::kOk, is_wrong ? "wrong" : "");
    }
    for (uint32_t end : std::exchange(ends, {})) queue.OnEnd(end, StatusCode::kOk, "");
  }

  size_t Count(Command command) const {
    size_t count = 0;
    for (const Record& record : records) count += record.command == command ? 1 : 0;
    return count;
  }
  const Record& Find(Command command) const {
    for (const Record& record : records) {
      if (record.command == command) return record;
    }
    ADD_FAILURE() << "there is no such record";
    return records.front();
  }

  std::map<std::string, Shader> shaders;  // by name
  std::set<std::string> wrong_shaders;    // which do not compile
  std::map<uint32_t, Words> buffers;
  std::set<uint32_t> adopted;
  std::vector<uint32_t> batches;  // not told of
  std::vector<uint32_t> compiling;
  std::vector<uint32_t> ends;
  std::vector<Record> records;  // of the last batch
  size_t arena_bytes = 0;       // of the last batch
  int num_requests = 0;
  uint64_t clock = 1'000'000;  // nanoseconds; of a timed dispatch it is 1000 that nothing is done, then 500
  bool is_inside = false;

 private:
  struct Group {
    uint32_t layout;
    std::vector<uint32_t> parts;  // each a buffer, an offset and a size
  };
  struct Pipeline {
    uint32_t layout;
    std::string name;
  };

  size_t Do(const Batch& batch, size_t i) {
    const auto command = static_cast<Command>(batch.words[i]);
    size_t count = NumWords(command);
    if (command == Command::kCreateGroup) count += kBufferWords * batch.words[i + 3];
    const std::vector<uint32_t> words(&batch.words[i + 1], &batch.words[i + 1] + count);
    records.push_back({command, words, i});
    const auto text = [&](size_t at) {
      return std::string(static_cast<const char*>(Address(batch, words[at])), words[at + 1]);
    };
    switch (command) {
      case Command::kCreateBuffer:
        EXPECT_EQ(words[1] % 4, 0u);
        buffers[words[0]].assign(words[1] / 4, 0xDEADBEEF);
        break;
      case Command::kDropBuffer:
        EXPECT_EQ(buffers.count(words[0]), 1u) << "dropped twice, or never made";
        EXPECT_EQ(words[1] == 0, adopted.count(words[0]) == 1);
        buffers.erase(words[0]);
        break;
      case Command::kCreateLayout:
        EXPECT_TRUE(layouts_.emplace(words[0], words[1]).second);
        break;
      case Command::kCreatePipeline:
        EXPECT_EQ(layouts_.count(words[1]), 1u);
        pipelines_[words[0]] = {words[1], text(4)};
        compiling.push_back(words[0]);
        break;
      case Command::kDropPipeline:
        EXPECT_EQ(pipelines_.erase(words[0]), 1u);
        break;
      case Command::kCreateGroup:
        EXPECT_EQ(layouts_.at(words[1]), words[2]);
        EXPECT_EQ(groups_.count(words[0]), 0u) << "a number is taken that is in use";
        groups_[words[0]] = {words[1], {words.begin() + 3, words.end()}};
        break;
      case Command::kDropGroup:
        EXPECT_EQ(groups_.erase(words[0]), 1u);
        break;
      case Command::kTimedDispatch:
        times_.push_back(clock += 1000);
        times_.push_back(clock += 500);
        [[fallthrough]];
      case Command::kDispatch:
        Run(batch, words);
        break;
      case Command::kWrite:
        EXPECT_EQ(used_in_batch(batch.number).count(words[0]), 0u) << "a write would come before what uses it now";
        [[fallthrough]];
      case Command::kStage:
        std::memcpy(buffers.at(words[0]).data(), Address(batch, words[1]), words[2]);
        break;
      case Command::kCopyFromArena:
        EXPECT_LE(words[0] + words[2], batch.arena.size());
        std::memcpy(buffers.at(words[1]).data(), batch.arena.data() + words[0], words[2]);
        break;
      case Command::kCopy:
        std::memcpy(buffers.at(words[2]).data() + words[3] / 4, buffers.at(words[0]).data() + words[1] / 4, words[4]);
        break;
      case Command::kDownload:
        std::memcpy(const_cast<void*>(Address(batch, words[2])), buffers.at(words[0]).data() + words[1] / 4, words[3]);
        ends.push_back(words[4]);
        break;
      case Command::kEnd:
        ends.push_back(words[0]);
        break;
      case Command::kReadTimes:
        EXPECT_EQ(words[1], times_.size());
        std::memcpy(const_cast<void*>(Address(batch, words[0])), times_.data(), times_.size() * sizeof(uint64_t));
        ends.push_back(words[2]);
        break;
    }
    return i + 1 + count;
  }

  void Run(const Batch& batch, const std::vector<uint32_t>& words) {
    const Pipeline& pipeline = pipelines_.at(words[0]);
    const Group& group = groups_.at(words[1]);
    EXPECT_EQ(group.layout, pipeline.layout);
    EXPECT_EQ(words[2] % kSlotBytes, 0u);
    std::vector<Words*> used;
    std::list<Words> parts;  // only read
    for (size_t i = 0; i < group.parts.size(); i += kBufferWords) {
      const uint32_t buffer = group.parts[i], offset = group.parts[i + 1], size = group.parts[i + 2];
      Words& whole = buffers.at(buffer);
      EXPECT_EQ(offset % 256, 0u);
      EXPECT_LE(offset + size, whole.size() * 4);
      const auto first = whole.begin() + offset / 4;
      used.push_back(size == 0 ? &whole : &parts.emplace_back(first, first + size / 4));
      used_in_batch(batch.number).insert(buffer);
    }
    shaders.at(pipeline.name)(used, reinterpret_cast<const uint32_t*>(batch.arena.data() + words[2]));
  }

  std::set<uint32_t>& used_in_batch(uint32_t batch) {
    if (batch != used_of_) used_.clear();
    used_of_ = batch;
    return used_;
  }

  static const void* Address(const Batch& batch, uint32_t word) {
    if constexpr (sizeof(void*) == sizeof(uint32_t)) {
      return reinterpret_cast<const void*>(static_cast<uintptr_t>(word));
    } else {
      return batch.addresses[word];
    }
  }

  std::vector<uint64_t> times_;           // of the batch
  std::map<uint32_t, uint32_t> layouts_;  // how many buffers
  std::map<uint32_t, Pipeline> pipelines_;
  std::map<uint32_t, Group> groups_;
  std::set<uint32_t> used_;
  uint32_t used_of_ = 0;
};

}  // namespace tandem::webgpu

#endif  // TANDEM_TESTS_UNIT_WEBGPU_FAKE_EXECUTOR_H_
