// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which records a WebGpuQueue writes, when they are carried out, and what becomes of them.

#include "tandem/webgpu/webgpu_queue.h"

#include <thread>

#include "tandem/host_allocator.h"
#include "webgpu/fake_executor.h"

namespace tandem::webgpu {
namespace {

struct Failure {
  uint64_t first;
  uint64_t last;
  Status error;
};

class Listener final : public gpu::StreamListener {
 public:
  void OnBatchesFailed(uint64_t first, uint64_t last, const Status& error) override {
    failures.push_back({first, last, error});
  }
  void OnDeviceLost(const Status& error) override { lost = error; }
  std::vector<Failure> failures;
  Status lost;
};

class WebGpuQueueTest : public testing::Test {
 protected:
  WebGpuQueueTest() {
    queue_->SetListener(listener_);
    // y = x + parameter 0
    executor_.shaders["add"] = [](const std::vector<Words*>& buffers, const uint32_t* parameters) {
      for (size_t i = 0; i < buffers[0]->size(); ++i) (*buffers[1])[i] = (*buffers[0])[i] + parameters[0];
    };
  }

  BufferId Buffer(uint64_t bytes) { return *queue_->CreateBuffer(bytes, kOrigin); }
  BufferId BufferOf(const Words& words) {
    const BufferId buffer = Buffer(words.size() * 4);
    EXPECT_TRUE(queue_->Upload(buffer, words.data(), words.size() * 4, nullptr, kOrigin).ok());
    return buffer;
  }
  RcRef<shader::Pipeline> Add() {
    auto value = queue_->CreatePipeline({"add", "text", {BufferAccess::kRead, BufferAccess::kReadWrite}, 1, {1, 1, 1}});
    queue_->Flush();
    executor_.TellAll(*queue_);
    EXPECT_TRUE(value.IsConcrete());
    return value.get();
  }
  uint64_t Dispatch(const shader::Pipeline& pipeline, BufferId from, BufferId to, uint32_t parameter,
                    const CommandOrigin& origin = kOrigin) {
    const auto batch = queue_->Dispatch(pipeline, std::array{BufferRange{from}, BufferRange{to}}, std::array{parameter},
                                        {1, 1, 1}, origin);
    EXPECT_TRUE(batch.ok());
    return *batch;
  }
  Words Read(BufferId buffer, size_t count) {
    Words words(count);
    Status status = Internal("never called");
    queue_->Download(buffer, 0, words.data(), count * 4, [&](const Status& result) { status = result; });
    executor_.TellAll(*queue_);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return words;
  }

  FakeExecutor executor_;
  Listener listener_;
  std::unique_ptr<WebGpuQueue> queue_ = std::make_unique<WebGpuQueue>(executor_, "fake", shader::GpuLimits());
};

TEST_F(WebGpuQueueTest, PartsOfABufferAreGroupsOfTheirOwn) {
  const RcRef<shader::Pipeline> add = Add();
  Words words(192);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = i;
  const BufferId x = BufferOf(words);
  const BufferId y = Buffer(64 * 4);
  const auto read_part = [&](uint64_t offset) {
    const std::array<BufferRange, 2> ranges = {{{x, offset, 64 * 4}, {y}}};
    EXPECT_TRUE(queue_->Dispatch(*add, ranges, std::array{10u}, {1, 1, 1}, kOrigin).ok());
    return Read(y, 64);
  };
  EXPECT_EQ(read_part(0)[63], 73u);
  EXPECT_EQ(read_part(256)[0], 74u);
  EXPECT_EQ(read_part(512)[63], 201u);
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 1u);
  // Known again.
  EXPECT_EQ(read_part(256)[63], 137u);
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 0u);
  // Whole by its size, or by none.
  const std::array<BufferRange, 2> sized = {{{x, 512}, {y, 0, 64 * 4}}};
  EXPECT_TRUE(queue_->Dispatch(*add, sized, std::array{1u}, {1, 1, 1}, kOrigin).ok());
  queue_->Flush();
  EXPECT_EQ(executor_.Count(Command::kDispatch), 1u);
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 0u);
  executor_.TellAll(*queue_);
  Words part(64);
  queue_->Download(x, 256, part.data(), 64 * 4, [](const Status& status) { EXPECT_TRUE(status.ok()); });
  executor_.TellAll(*queue_);
  EXPECT_EQ(part, Words(words.begin() + 64, words.begin() + 128));
}

TEST_F(WebGpuQueueTest, WhenAllIsDoneSomebodyIsTold) {
  std::vector<std::string> told;
  queue_->WhenDone([&](const Status& status) { told.push_back(status.ToString()); });
  EXPECT_TRUE(told.empty());
  executor_.TellAll(*queue_);
  EXPECT_EQ(told.size(), 1u);
  queue_->WhenDone([&](const Status& status) { told.push_back(std::string(status.message())); });
  queue_->OnDeviceLost("gone");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1], "the device fake is lost: gone");
}

TEST_F(WebGpuQueueTest, CarriesOutWhatWasIssuedInOneBatch) {
  const auto add = Add();
  const uint64_t before = queue_->counters().crossings;
  const BufferId x = BufferOf({1, 2, 3});
  const BufferId y = Buffer(12);
  const BufferId z = Buffer(12);
  Dispatch(*add, x, y, 10);
  Dispatch(*add, y, z, 100);
  EXPECT_TRUE(queue_->Copy(z, 0, x, 4, 8, kOrigin).ok());
  EXPECT_EQ(Read(z, 3), (Words{111, 112, 113}));
  EXPECT_EQ(queue_->counters().crossings, before + 1);
  EXPECT_EQ(queue_->counters().dispatches, 2u);
  EXPECT_EQ(Read(x, 3), (Words{1, 111, 112}));
}

TEST_F(WebGpuQueueTest, AsksOnceForAFlushOfABatch) {
  const int before = executor_.num_requests;
  const BufferId x = BufferOf({1});
  BufferOf({2});
  EXPECT_EQ(executor_.num_requests, before + 1);
  queue_->Flush();
  queue_->DestroyBuffer(x);
  EXPECT_EQ(executor_.num_requests, before + 2);
}

TEST_F(WebGpuQueueTest, AsksForAFlushOfWhatIsStillToCome) {
  for (int i = 0; i < 2; ++i) queue_->RequestFlush();
  EXPECT_EQ(executor_.num_requests, 1);
  queue_->Flush();
  queue_->RequestFlush();
  EXPECT_EQ(executor_.num_requests, 2);
  EXPECT_EQ(executor_.batches.size(), 0u);
}

TEST_F(WebGpuQueueTest, HandsOverNothingTwice) {
  BufferOf({1});
  queue_->Flush();
  const uint64_t before = queue_->counters().crossings;
  queue_->Flush();
  EXPECT_EQ(queue_->counters().crossings, before);
}

TEST_F(WebGpuQueueTest, MakesTwoBatchesOfAThousandDispatches) {
  const auto add = Add();
  BufferId from = BufferOf({1});
  BufferId to = Buffer(4);
  queue_->Flush();
  const auto before = queue_->counters();
  for (int i = 0; i < 1000; ++i) {
    Dispatch(*add, from, to, 1);
    std::swap(from, to);
  }
  EXPECT_EQ(Read(from, 1), Words{1001});
  EXPECT_EQ(queue_->counters().submits, before.submits + 2);
  EXPECT_EQ(queue_->counters().crossings, before.crossings + 2);
}

TEST_F(WebGpuQueueTest, KeepsEqualParametersOnce) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  const BufferId y = Buffer(4);
  queue_->Flush();
  for (uint32_t parameter : {7, 7, 8, 8, 8}) Dispatch(*add, x, y, parameter);
  queue_->Flush();
  EXPECT_GT(executor_.arena_bytes, kSlotBytes);
  EXPECT_LE(executor_.arena_bytes, 2 * kSlotBytes);
  EXPECT_EQ(executor_.buffers.at(static_cast<uint32_t>(y)), Words{9});
}

TEST_F(WebGpuQueueTest, BeginsAnotherBatchWhenTheParametersAreTooMany) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  const BufferId y = Buffer(4);
  const Words large(1000, 5);
  for (uint32_t i = 0; i < 400; ++i) {
    Dispatch(*add, x, y, i);
    EXPECT_TRUE(queue_->Upload(x, large.data(), 4, nullptr, kOrigin).ok());
    EXPECT_TRUE(queue_->Upload(y, large.data(), 4, nullptr, kOrigin).ok());
  }
  const BufferId z = Buffer(4000);
  for (uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(queue_->Upload(z, large.data(), 4000, nullptr, kOrigin).ok());
  EXPECT_EQ(Read(z, 1000), large);
  EXPECT_EQ(Read(y, 1), Words{5});
}

TEST_F(WebGpuQueueTest, WritesBeforeTheBatchOnlyWhatItDoesNotUse) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  const BufferId y = Buffer(4);
  const BufferId z = Buffer(4);
  Dispatch(*add, x, y, 1);
  const uint32_t ten = 10;
  EXPECT_TRUE(queue_->Upload(x, &ten, 4, nullptr, kOrigin).ok());
  Dispatch(*add, x, z, 1);
  EXPECT_EQ(Read(y, 1), Words{2});
  EXPECT_EQ(Read(z, 1), Words{11});
}

TEST_F(WebGpuQueueTest, StagesMuchDataForWhatTheBatchUses) {
  const auto add = Add();
  const Words ones(5000, 1), twos(5000, 2);
  const BufferId x = BufferOf(ones);
  const BufferId y = Buffer(20'000);
  Dispatch(*add, x, y, 1);
  EXPECT_TRUE(queue_->Upload(x, twos.data(), 20'000, nullptr, kOrigin).ok());
  queue_->Flush();
  EXPECT_EQ(executor_.Count(Command::kWrite), 1u);
  EXPECT_EQ(executor_.Count(Command::kStage), 1u);
  EXPECT_EQ(Read(y, 5000), Words(5000, 2));
  EXPECT_EQ(Read(x, 5000), twos);
}

TEST_F(WebGpuQueueTest, KeepsTheOwnerOfDataUntilItIsWritten) {
  class Owner final : public TensorStorage {
   public:
    explicit Owner(bool& is_alive) : is_alive_(is_alive) {}
    ~Owner() override { is_alive_ = false; }

   private:
    bool& is_alive_;
  };
  bool is_alive = true;
  Words words(5000, 3);
  const BufferId x = Buffer(20'000);
  EXPECT_TRUE(queue_->Upload(x, words.data(), 20'000, MakeRef<Owner>(is_alive), kOrigin).ok());
  EXPECT_TRUE(is_alive);
  queue_->Flush();
  EXPECT_FALSE(is_alive);
  words.assign(5000, 4);
  EXPECT_EQ(Read(x, 5000), Words(5000, 3));
}

TEST_F(WebGpuQueueTest, CopiesDataWithoutAnOwner) {
  Words words(5000, 3);
  const BufferId x = BufferOf(words);
  words.assign(5000, 4);
  EXPECT_EQ(Read(x, 5000), Words(5000, 3));
}

TEST_F(WebGpuQueueTest, UsesGroupsAgainUntilABufferIsDropped) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  BufferId y = Buffer(4);
  Dispatch(*add, x, y, 1);
  Dispatch(*add, x, y, 2);
  queue_->Flush();
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 1u);
  executor_.TellAll(*queue_);
  Dispatch(*add, x, y, 3);
  queue_->Flush();
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 0u);
  queue_->DestroyBuffer(y);
  y = Buffer(4);
  Dispatch(*add, x, y, 4);
  EXPECT_EQ(Read(y, 1), Words{5});
}

TEST_F(WebGpuQueueTest, GivesNumbersAgainOnlyWhenTheirBatchIsDone) {
  const BufferId x = Buffer(4);
  queue_->DestroyBuffer(x);
  EXPECT_NE(Buffer(4), x);
  queue_->Flush();
  EXPECT_NE(Buffer(4), x);
  executor_.TellAll(*queue_);
  EXPECT_EQ(Buffer(4), x);
}

TEST_F(WebGpuQueueTest, ForgetsAdoptedBuffers) {
  const BufferId x = *queue_->AdoptBuffer(8);
  executor_.adopted.insert(static_cast<uint32_t>(x));
  executor_.buffers[static_cast<uint32_t>(x)] = {5, 6};
  EXPECT_EQ(Read(x, 2), (Words{5, 6}));
  queue_->DestroyBuffer(x);
  queue_->Flush();
  EXPECT_EQ(executor_.Find(Command::kDropBuffer).words, (Words{static_cast<uint32_t>(x), 0}));
}

TEST_F(WebGpuQueueTest, TellsWhichOpOfABatchFailed) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  const BufferId y = Buffer(4);
  queue_->Flush();
  executor_.TellAll(*queue_);
  Dispatch(*add, x, y, 1, {"test.first", {}});
  const uint64_t batch = Dispatch(*add, y, x, 2, {"test.second", {}});
  queue_->Flush();
  const auto place = static_cast<uint32_t>(executor_.records.back().place);
  queue_->OnBatchFailed(static_cast<uint32_t>(batch), place, StatusCode::kInternal, "too bad");
  executor_.TellAll(*queue_);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].first, batch);
  EXPECT_EQ(listener_.failures[0].last, batch);
  EXPECT_EQ(listener_.failures[0].error.code(), StatusCode::kInternal);
  EXPECT_EQ(listener_.failures[0].error.message(),
            "[test.second] expected the device to carry out the op, got: too bad");
}

TEST_F(WebGpuQueueTest, TellsOfBatchesWhoseOpIsNotKnown) {
  BufferOf({1});
  queue_->Flush();
  queue_->OnBatchFailed(executor_.batches.back(), WebGpuQueue::kNoWord, StatusCode::kResourceExhausted, "too bad");
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].error.message(), "expected the device to carry out a batch, got: too bad");
  // Of others nothing is known.
  queue_->OnBatchFailed(12345, 0, StatusCode::kInternal, "");
  EXPECT_EQ(listener_.failures.size(), 1u);
}

TEST_F(WebGpuQueueTest, TellsWhichOpFoundNoMemoryAndTriesAgain) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  const BufferId y = *queue_->CreateBuffer(4, {"test.maker", {}});
  Dispatch(*add, x, y, 1, {"test.user", {}});
  queue_->Flush();
  const auto place = static_cast<uint32_t>(executor_.records.back().place);
  queue_->OnBufferFailed(static_cast<uint32_t>(y), "all is taken");
  // Before the batch is told of, the buffer is used once more.
  Dispatch(*add, x, y, 5, {"test.later", {}});
  queue_->OnBatchFailed(executor_.batches.back(), place, StatusCode::kInternal, "invalid buffer");
  executor_.TellAll(*queue_);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(listener_.failures[0].error.message(),
            "[test.maker] expected 4 bytes of memory of the device, got none: all is taken");
  queue_->Flush();
  EXPECT_EQ(executor_.Count(Command::kCreateBuffer), 1u);
  EXPECT_EQ(executor_.Count(Command::kCreateGroup), 1u);
  EXPECT_EQ(Read(y, 1), Words{6});
}

TEST_F(WebGpuQueueTest, GivesTheCompilersWords) {
  auto value = queue_->CreatePipeline({"broken", "text", {}, 0, {1, 1, 1}});
  EXPECT_FALSE(value.IsAvailable());
  queue_->Flush();
  executor_.TellAll(*queue_);
  EXPECT_TRUE(value.IsConcrete());
  value = queue_->CreatePipeline({"broken", "text", {}, 0, {1, 1, 1}});
  queue_->Flush();
  queue_->OnPipelineDone(executor_.compiling.back(), StatusCode::kInvalidArgument, "3:7 unknown name");
  ASSERT_TRUE(value.IsError());
  EXPECT_EQ(value.GetError().message(), "expected shader broken to compile, got: 3:7 unknown name");
}

TEST_F(WebGpuQueueTest, LosesEverythingWithTheDevice) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  uint32_t word = 0;
  Status read;
  queue_->Download(x, 0, &word, 4, [&](const Status& status) { read = status; });
  auto value = queue_->CreatePipeline({"add", "text", {}, 0, {1, 1, 1}});
  queue_->OnDeviceLost("it was destroyed");
  EXPECT_EQ(read.code(), StatusCode::kUnavailable);
  EXPECT_EQ(listener_.lost.message(), "the device fake is lost: it was destroyed");
  ASSERT_TRUE(value.IsError());
  EXPECT_EQ(value.GetError().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue_->CreateBuffer(4, kOrigin).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue_->Upload(x, &word, 4, nullptr, kOrigin).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue_->Copy(x, 0, x + 1, 0, 4, kOrigin).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue_->Dispatch(*add, std::array{BufferRange{x}, BufferRange{x}}, {}, {1, 1, 1}, kOrigin).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(queue_->CreatePipeline({"add", "text", {}, 0, {1, 1, 1}}).GetError().code(), StatusCode::kUnavailable);
  Status late;
  queue_->Download(x, 0, &word, 4, [&](const Status& status) { late = status; });
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  const uint64_t crossings = queue_->counters().crossings;
  queue_->DestroyBuffer(x);
  queue_->Flush();
  EXPECT_EQ(queue_->counters().crossings, crossings);
  // What comes late is not heard.
  executor_.TellAll(*queue_);
  queue_->OnDeviceLost("again");
  EXPECT_EQ(listener_.lost.message(), "the device fake is lost: it was destroyed");
}

TEST_F(WebGpuQueueTest, CancelsWhatIsLeftAtItsEnd) {
  const BufferId x = BufferOf({1});
  uint32_t word = 0;
  Status read;
  queue_->Download(x, 0, &word, 4, [&](const Status& status) { read = status; });
  auto value = queue_->CreatePipeline({"add", "text", {}, 0, {1, 1, 1}});
  queue_.reset();
  EXPECT_EQ(read.code(), StatusCode::kCancelled);
  EXPECT_EQ(value.GetError().code(), StatusCode::kCancelled);
}

TEST_F(WebGpuQueueTest, LeavesCarryingOutToTheDevicesThread) {
  const auto add = Add();
  const BufferId x = BufferOf({1});
  queue_->Flush();
  const uint64_t before = queue_->counters().crossings;
  const int requests = executor_.num_requests;
  Words words(1);
  Status read = Internal("never called");
  BufferId y = 0;
  std::thread worker([&] {
    BufferId from = x;
    y = Buffer(4);
    for (int i = 0; i < 1001; ++i) {
      Dispatch(*add, from, y, 1);
      std::swap(from, y);
    }
    std::swap(from, y);
    queue_->Flush();
    queue_->Download(y, 0, words.data(), 4, [&](const Status& status) { read = status; });
  });
  worker.join();
  EXPECT_EQ(queue_->counters().crossings, before);
  EXPECT_GT(executor_.num_requests, requests);
  queue_->Flush();
  executor_.TellAll(*queue_);
  EXPECT_TRUE(read.ok()) << read.ToString();
  EXPECT_EQ(words, Words{1002});
}

TEST_F(WebGpuQueueTest, TakesCommandsOfManyThreads) {
  const auto add = Add();
  std::vector<BufferId> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(BufferOf({0}));
  std::vector<std::thread> workers;
  for (const BufferId buffer : buffers) {
    workers.emplace_back([this, &add, buffer] {
      const BufferId other = Buffer(4);
      for (uint32_t i = 0; i < 300; ++i) {
        Dispatch(*add, buffer, other, 1);
        Dispatch(*add, other, buffer, 1);
      }
      queue_->DestroyBuffer(other);
    });
  }
  for (int i = 0; i < 100; ++i) queue_->Flush();
  for (std::thread& worker : workers) worker.join();
  for (const BufferId buffer : buffers) EXPECT_EQ(Read(buffer, 1), Words{600});
}

}  // namespace
}  // namespace tandem::webgpu
