// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory of the host on the way of commands to WebGPU (ER-5): a WebGpuQueue takes nothing from the heap that may not
// fail, each allocation that fails is an error of one command, and what dies needs no memory.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "webgpu/fake_executor.h"

namespace tandem::webgpu {
namespace {

class IgnoringListener final : public gpu::StreamListener {
 public:
  void OnBatchesFailed(uint64_t, uint64_t, const Status&) override { ADD_FAILURE() << "no batch fails here"; }
  void OnDeviceLost(const Status&) override {}
};

// Does nothing, and takes nothing from the heap.
class SilentExecutor final : public Executor {
 public:
  void Execute(const Batch& batch) override { last = batch.number; }
  void RequestFlush() override {}
  uint32_t last = 0;
};

class Owner final : public TensorStorage {
 public:
  explicit Owner(int& num_alive) : num_alive_(num_alive) { ++num_alive_; }
  ~Owner() override { --num_alive_; }

 private:
  int& num_alive_;
};

shader::ShaderText AddText() { return {"add", "text", {BufferAccess::kRead, BufferAccess::kReadWrite}, 1, {1, 1, 1}}; }

// A queue and a device that computes on the host, for one case.
struct World {
  World() : queue(std::make_unique<WebGpuQueue>(executor, "fake", shader::GpuLimits())) {
    queue->SetListener(listener);
    // y = x + parameter 0
    executor.shaders["add"] = [](const std::vector<Words*>& buffers, const uint32_t* parameters) {
      for (size_t i = 0; i < buffers[0]->size(); ++i) (*buffers[1])[i] = (*buffers[0])[i] + parameters[0];
    };
  }
  void Tell() {
    queue->Flush();
    executor.TellAll(*queue);
  }

  FakeExecutor executor;
  IgnoringListener listener;
  std::unique_ptr<WebGpuQueue> queue;
};

bool IsOkOrMemory(const Status& status) {
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kResourceExhausted) << status.ToString();
  return status.ok();
}

// Every kind of command. True if all were accepted; then `result` is of them.
bool IssueAll(World& world, const Words& many, Words& result, int& num_owners) {
  WebGpuQueue& queue = *world.queue;
  bool all = true;
  const auto note = [&all](const Status& status) { all &= IsOkOrMemory(status); };
  auto pipeline = queue.CreatePipeline(AddText());
  world.Tell();
  EXPECT_TRUE(pipeline.IsAvailable());
  if (pipeline.IsError()) note(pipeline.GetError());
  std::array<BufferId, 3> buffers = {};
  for (BufferId& buffer : buffers) {
    const StatusOr<BufferId> made = queue.CreateBuffer(many.size() * 4, kOrigin);
    note(made.status());
    if (made.ok()) buffer = *made;
  }
  const auto [x, y, z] = buffers;
  const uint32_t three = 3;
  if (x != 0) note(queue.Upload(x, many.data(), many.size() * 4, nullptr, kOrigin).status());
  if (x != 0) note(queue.Upload(x, &three, 4, nullptr, kOrigin).status());
  if (x != 0 && y != 0 && pipeline.IsConcrete()) {
    note(queue.Dispatch(**pipeline, std::array{BufferRange{x}, BufferRange{y}}, std::array{10u}, {1, 1, 1}, kOrigin)
             .status());
    // Into what the batch uses: by a copy out of the arena, and by one of its own.
    note(queue.Upload(x, &three, 4, nullptr, kOrigin).status());
    note(queue.Upload(x, many.data(), many.size() * 4, nullptr, kOrigin).status());
  }
  if (z != 0) note(queue.Upload(z, many.data(), many.size() * 4, MakeRef<Owner>(num_owners), kOrigin).status());
  if (y != 0 && z != 0) note(queue.Copy(y, 0, z, 0, 8, kOrigin).status());
  Status read = Internal("never called");
  if (z != 0) {
    queue.Download(z, 0, result.data(), result.size() * 4, [&read](const Status& status) { read = status; });
    world.Tell();
    note(read);
  }
  for (const BufferId buffer : buffers) {
    if (buffer != 0) queue.DestroyBuffer(buffer);
  }
  return all;
}

TEST(WebGpuMemoryTest, ER5_EachAllocationThatFailsIsAnErrorOfItsCommand) {
  const Words many(5000, 7);
  Words expected = many;
  expected[0] = 13;
  expected[1] = 17;
  int num_complete = 0;
  int num_owners = 0;
  const auto run = [&] {
    World world;
    Words result(many.size());
    if (IssueAll(world, many, result, num_owners)) {
      ++num_complete;
      EXPECT_EQ(result, expected);
    }
    // With memory again, all is as before.
    thread_heap.allowed = -1;
    EXPECT_TRUE(IssueAll(world, many, result, num_owners));
    EXPECT_EQ(result, expected);
    world.Tell();
    EXPECT_TRUE(world.executor.buffers.empty()) << "a buffer is left";
    EXPECT_EQ(num_owners, 0);
  };
  run();
  const int64_t live = num_live_blocks;
  for (const bool fails_once : {false, true}) {
    num_complete = 0;
    const int failures = FailEachAllocation([&] {
      thread_heap.fails_once = fails_once;
      run();
      thread_heap.fails_once = false;
    });
    EXPECT_GT(failures, 20);
    EXPECT_GT(num_complete, 0);
  }
  EXPECT_EQ(num_live_blocks, live);
}

TEST(WebGpuMemoryTest, ER5_TakesNothingThatMayNotFail) {
  SilentExecutor executor;
  IgnoringListener listener;
  WebGpuQueue queue(executor, "silent", shader::GpuLimits());
  queue.SetListener(listener);
  const Words many(5000, 7);
  Words read(1);
  shader::ShaderText text = AddText();
  const int64_t throwing = thread_heap.num_throwing;
  auto pipeline = queue.CreatePipeline(std::move(text));
  queue.Flush();
  queue.OnPipelineDone(1, StatusCode::kOk, "");
  ASSERT_TRUE(pipeline.IsConcrete());
  for (int i = 0; i < 700; ++i) {
    const BufferId x = *queue.CreateBuffer(many.size() * 4, kOrigin);
    const BufferId y = *queue.CreateBuffer(many.size() * 4, kOrigin);
    ASSERT_TRUE(queue.Upload(x, many.data(), (i % 2 == 0 ? 1 : many.size()) * 4, nullptr, kOrigin).ok());
    ASSERT_TRUE(
        queue.Dispatch(**pipeline, std::array{BufferRange{x}, BufferRange{y}}, std::array{1u}, {1, 1, 1}, kOrigin)
            .ok());
    ASSERT_TRUE(queue.Upload(x, many.data(), many.size() * 4, nullptr, kOrigin).ok());
    ASSERT_TRUE(queue.Copy(x, 0, y, 0, 8, kOrigin).ok());
    if (i % 50 == 0) queue.Download(y, 0, read.data(), 4, [](const Status&) {});
    queue.DestroyBuffer(x);
    queue.DestroyBuffer(y);
    if (i % 100 == 0) queue.OnBatchDone(executor.last);
  }
  queue.Flush();
  queue.OnBatchDone(executor.last);
  for (uint32_t download = 1; download <= 14; ++download) queue.OnEnd(download, StatusCode::kOk, "");
  pipeline = {};
  EXPECT_EQ(thread_heap.num_throwing, throwing);
}

// What a batch needed is used again by the next one.
TEST(WebGpuMemoryTest, TakesNothingForCommandsLikeThoseBefore) {
  SilentExecutor executor;
  IgnoringListener listener;
  WebGpuQueue queue(executor, "silent", shader::GpuLimits());
  queue.SetListener(listener);
  auto pipeline = queue.CreatePipeline(AddText());
  queue.Flush();
  queue.OnPipelineDone(1, StatusCode::kOk, "");
  const BufferId x = *queue.CreateBuffer(4, kOrigin);
  const BufferId y = *queue.CreateBuffer(4, kOrigin);
  const auto batch = [&] {
    for (uint32_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(queue.Upload(x, &i, 4, nullptr, kOrigin).ok());
      EXPECT_TRUE(
          queue.Dispatch(**pipeline, std::array{BufferRange{x}, BufferRange{y}}, std::array{i}, {1, 1, 1}, kOrigin)
              .ok());
      EXPECT_TRUE(queue.Copy(y, 0, x, 0, 4, kOrigin).ok());
    }
    queue.Flush();
    queue.OnBatchDone(executor.last);
  };
  for (int i = 0; i < 3; ++i) batch();
  EXPECT_EQ(CountAllocations(batch), 0);
}

TEST(WebGpuMemoryTest, ER5_WhatDiesWithoutMemoryIsDroppedLater) {
  World world;
  WebGpuQueue& queue = *world.queue;
  std::vector<BufferId> buffers;
  std::vector<RcRef<shader::Pipeline>> pipelines;
  for (int i = 0; i < 200; ++i) {
    buffers.push_back(*queue.CreateBuffer(4, kOrigin));
    auto pipeline = queue.CreatePipeline(AddText());
    world.Tell();
    ASSERT_TRUE(pipeline.IsConcrete());
    pipelines.push_back(pipeline.get());
    const BufferId from = buffers[static_cast<size_t>(i / 2)];
    if (from == buffers.back()) continue;
    ASSERT_TRUE(queue
                    .Dispatch(*pipelines.back(), std::array{BufferRange{from}, BufferRange{buffers.back()}},
                              std::array{1u}, {1, 1, 1}, kOrigin)
                    .ok());
  }
  world.Tell();
  WithoutMemory([&] {
    pipelines.clear();
    for (const BufferId buffer : buffers) queue.DestroyBuffer(buffer);
    world.Tell();
    world.Tell();
  });
  world.Tell();
  EXPECT_TRUE(world.executor.buffers.empty());
  // Their numbers are taken again.
  EXPECT_LE(*queue.CreateBuffer(4, kOrigin), 200u);
}

}  // namespace
}  // namespace tandem::webgpu
