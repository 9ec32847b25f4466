// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The stream over the driver's functions: commands in order, memory, staging, and what fails (DI-4, ER-5).

#include "cuda_queue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cuda_test_fixture.h"
#include "tandem/gpu/gpu_memory.h"
#include "temporary_folder.h"

namespace tandem::cuda {
namespace {

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

TEST_F(CudaTest, CommandsAreExecutedInOrderAndNoneWaits) {
  MakeQueue();
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1, 2, 3});
  const gpu::BufferId y = MakeBuffer({0, 0, 0});
  ASSERT_TRUE(Add(*add, x, y, 3, 10).ok());
  ASSERT_TRUE(queue_->Copy(y, 4, x, 0, 8, {}).ok());
  ASSERT_TRUE(Add(*add, x, y, 3, 100).ok());
  EXPECT_EQ(cuda_.calls["cuStreamSynchronize"], 0);
  EXPECT_EQ(cuda_.calls["cuEventSynchronize"], 0);
  ExpectRead(y, {112, 113, 103});
  EXPECT_EQ(queue_->counters().dispatches, 2u);
}

TEST_F(CudaTest, APartOfABufferIsBoundAtItsOffset) {
  MakeQueue();
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer(Numbers(64));
  const gpu::BufferId y = MakeBuffer({0, 0});
  const gpu::BufferRange buffers[] = {{x, 32, 8}, {y, 0, 0}};
  const uint32_t words[2] = {2, 0};
  ASSERT_TRUE(queue_->Dispatch(*add, buffers, words, {1, 1, 1}, {}).ok());
  ExpectRead(y, {8, 9});
  const auto part = Read(x, 2, 40);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(*part, (std::vector<float>{10, 11}));
}

TEST_F(CudaTest, LargeCopiesGoInPiecesThroughBoundedPinnedMemory) {
  MakeQueue();
  const size_t count = 3 * CudaStaging::kChunkBytes / 4 + 5;
  const std::vector<float> numbers = Numbers(count);
  const gpu::BufferId x = MakeBuffer(numbers);
  ExpectRead(x, numbers);
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(queue_->Upload(x, numbers.data(), count * 4, nullptr, {}).ok());
  }
  EXPECT_LE(cuda_.calls["cuMemHostAlloc"], static_cast<int>(CudaStaging::kMostBytes / CudaStaging::kChunkBytes));
  ExpectRead(x, numbers);
}

TEST_F(CudaTest, ManySmallUploadsShareAChunk) {
  MakeQueue();
  for (int i = 0; i < 1000; ++i) MakeBuffer({static_cast<float>(i)});
  EXPECT_EQ(cuda_.calls["cuMemHostAlloc"], 1);
}

TEST_F(CudaTest, EndsAreToldWhenCommandsAreDone) {
  MakeQueue();
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  const gpu::BufferId y = MakeBuffer({0});
  ASSERT_TRUE(Add(*add, x, y, 1, 1).ok());
  std::promise<float> value;
  queue_->WhenDone([&](const Status& status) {
    EXPECT_TRUE(status.ok());
    value.set_value(*reinterpret_cast<const float*>(y));
  });
  EXPECT_EQ(value.get_future().get(), 2.0f);
}

TEST_F(CudaTest, AnEndTakesNoPinnedMemory) {
  MakeQueue();
  for (int i = 0; i < 3; ++i) {
    std::promise<Status> done;
    queue_->WhenDone([&](const Status& status) { done.set_value(status); });
    EXPECT_TRUE(done.get_future().get().ok());
  }
  float nothing = 0;
  std::promise<Status> downloaded;
  queue_->Download(0, 0, &nothing, 0, [&](const Status& status) { downloaded.set_value(status); });
  EXPECT_TRUE(downloaded.get_future().get().ok());
  EXPECT_EQ(cuda_.calls["cuMemHostAlloc"], 0);
  queue_.reset();
  EXPECT_EQ(cuda_.calls["cuEventCreate"], cuda_.calls["cuEventDestroy"]);
}

TEST_F(CudaTest, AnEndThatCannotBeAwaitedIsToldOfWithTheError) {
  MakeQueue();
  for (const char* call : {"cuEventCreate", "cuEventRecord"}) {
    cuda_.faults[call] = {1, 0};
    std::promise<Status> done;
    queue_->WhenDone([&](const Status& status) { done.set_value(status); });
    const Status status = done.get_future().get();
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_NE(status.message().find(call), std::string::npos) << status.ToString();
  }
}

TEST_F(CudaTest, TheDestructorWaitsForDownloadsAndGivesAllBack) {
  MakeQueue();
  auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1, 2});
  std::vector<float> values(2);
  std::promise<Status> done;
  queue_->Download(x, 0, values.data(), 8, [&](const Status& status) { done.set_value(status); });
  queue_->DestroyBuffer(x);
  add.reset();
  queue_.reset();
  EXPECT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  EXPECT_EQ(cuda_.bytes_in_use, 0u);
  EXPECT_EQ(cuda_.num_modules, 0);
  EXPECT_EQ(cuda_.calls["cuMemHostAlloc"], cuda_.calls["cuMemFreeHost"]);
  EXPECT_EQ(cuda_.calls["cuEventCreate"], cuda_.calls["cuEventDestroy"]);
  EXPECT_EQ(cuda_.calls["cuDevicePrimaryCtxRelease"], 1);
}

TEST_F(CudaTest, SeveralThreadsMayIssue) {
  MakeQueue();
  const auto add = MakeAdd();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const gpu::BufferId x = MakeBuffer({static_cast<float>(t)});
        const gpu::BufferId y = MakeBuffer({0});
        ASSERT_TRUE(Add(*add, x, y, 1, static_cast<float>(i)).ok());
        ExpectRead(y, {static_cast<float>(t + i)});
        queue_->DestroyBuffer(x);
        queue_->DestroyBuffer(y);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Memory.

TEST_F(CudaTest, OutOfMemoryGivesBackWhatThePoolHoldsAndTriesAgain) {
  cuda_.capacity = 1000;
  MakeQueue();
  const StatusOr<gpu::BufferId> first = queue_->CreateBuffer(800, {});
  ASSERT_TRUE(first.ok());
  const StatusOr<gpu::BufferId> second = queue_->CreateBuffer(800, {});
  EXPECT_EQ(second.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(second.status().ToString().find("expected 800 bytes of memory of Emulated"), std::string::npos)
      << second.status().ToString();
  queue_->DestroyBuffer(*first);
  EXPECT_TRUE(queue_->CreateBuffer(800, {}).ok());
  EXPECT_GE(cuda_.calls["cuMemPoolTrimTo"], 2);
  EXPECT_TRUE(listener_.events().empty());
}

TEST_F(CudaTest, OutOfMemoryGivesBackCachedTensors) {
  cuda_.capacity = 10 << 10;
  MakeQueue();
  const auto memory = MakeRef<gpu::GpuMemory>(*queue_, gpu::GpuMemory::Options());
  { const auto kept = memory->Allocate(8 << 10, {}); }
  EXPECT_EQ(memory->stats().bytes_cached, uint64_t{8} << 10);
  EXPECT_TRUE(memory->Allocate(4 << 10, {}).ok());
  EXPECT_EQ(memory->stats().bytes_cached, uint64_t{4} << 10);
  memory->Close();
}

// ---- Failures.

TEST_F(CudaTest, AKernelsFaultLosesTheDeviceAndNamesTheLastOps) {
  MakeQueue();
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  const gpu::BufferId y = MakeBuffer({1});
  cuda_.kernels["tandem_test_Add"].run = [](void**) { return 700; };
  ASSERT_TRUE(Add(*add, x, y, 1, 1, "tf.AddV2").ok());
  ASSERT_TRUE(queue_->Copy(x, 0, y, 0, 4, {"tf.Copy", Location()}).ok());
  const Status status = Read(y, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("the CUDA device is lost: "), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("the last ops issued are tf.Copy, tf.AddV2 (TANDEM_CUDA_SYNCHRONOUS=1 tells which"),
            std::string::npos)
      << status.ToString();
  ASSERT_EQ(listener_.events().size(), 1u);
  EXPECT_EQ(listener_.events()[0], "lost: " + std::string(status.message()));
  // All fails from now on, in the same words.
  EXPECT_EQ(Add(*add, x, y, 1, 1).status(), status);
  EXPECT_EQ(queue_->CreateBuffer(4, {}).status(), status);
  EXPECT_EQ(queue_->Copy(x, 0, y, 0, 4, {}).status(), status);
  EXPECT_EQ(Read(y, 1).status(), status);
  queue_->DestroyBuffer(x);
}

TEST_F(CudaTest, ASynchronousQueueTellsTheOp) {
  MakeQueue(Options("off", /*synchronous=*/true));
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  cuda_.kernels["tandem_test_Add"].run = [](void**) { return 719; };
  const Status status = Add(*add, x, x, 1, 1, "tf.Exp").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(status.message().ends_with("; the op is tf.Exp")) << status.ToString();
  EXPECT_EQ(listener_.events().size(), 1u);
}

TEST_F(CudaTest, ALaunchThatIsRefusedFailsAlone) {
  MakeQueue();
  const auto add = MakeAdd();
  const gpu::BufferId x = MakeBuffer({1});
  const gpu::BufferId y = MakeBuffer({0});
  cuda_.faults["cuLaunchKernel"] = {1, 0};  // CUDA_ERROR_INVALID_VALUE
  const Status status = Add(*add, x, y, 1, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("expected cuLaunchKernel to succeed"), std::string::npos) << status.ToString();
  EXPECT_TRUE(listener_.events().empty());
  ASSERT_TRUE(Add(*add, x, y, 1, 1).ok());
  ExpectRead(y, {2});
}

TEST_F(CudaTest, ADownloadThatFailsHalfwayEndsOnceWithTheError) {
  MakeQueue();
  const size_t count = 2 * CudaStaging::kChunkBytes / 4;
  const gpu::BufferId x = MakeBuffer(Numbers(count));
  cuda_.faults["cuMemcpyDtoHAsync"] = {1, 1};  // the second piece
  EXPECT_EQ(Read(x, count).status().code(), StatusCode::kInternal);
  ExpectRead(x, Numbers(count));
}

TEST_F(CudaTest, WithoutPinnedMemoryUploadsFailAndNothingElse) {
  MakeQueue();
  const StatusOr<gpu::BufferId> x = queue_->CreateBuffer(4, {});
  ASSERT_TRUE(x.ok());
  cuda_.faults["cuMemHostAlloc"] = {kDriverOutOfMemory, 0};
  const float value = 3;
  EXPECT_EQ(queue_->Upload(*x, &value, 4, nullptr, {}).status().code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(queue_->Upload(*x, &value, 4, nullptr, {}).ok());
  ExpectRead(*x, {3});
}

TEST_F(CudaTest, WhatTheQueueCannotMakeIsAnErrorOfItsCreation) {
  for (const char* call :
       {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuMemPoolCreate", "cuMemPoolSetAttribute"}) {
    cuda_.faults[call] = {1, 0};
    const Status status = TryMakeQueue().status();
    EXPECT_NE(status.message().find(call), std::string::npos) << status.ToString();
    EXPECT_TRUE(TryMakeQueue().ok());
  }
}

// ---- Kernels.

TEST_F(CudaTest, ATextThatIsNotTranslatedOrCompiledIsAnErrorOfItsShader) {
  MakeQueue();
  shader::ShaderText text = AddShader();
  text.wgsl += "fn more() { let x = 1; }";
  EXPECT_EQ(TryMakePipeline(std::move(text)).status().message().find("shader test.Add: line "), 0u);
  cuda_.compile_error = "tandem_test_Add.cu(7): error: words of the compiler's";
  const Status status = TryMakePipeline(AddShader()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "shader test.Add: tandem_test_Add.cu(7): error: words of the compiler's");
}

// On a device LinSpace and functions of f64 were wrong by the last bits with one rounding for both.
TEST_F(CudaTest, KernelsThatComputeInF64RoundEachOperation) {
  MakeQueue();
  const auto options = [&](std::string_view body) {
    EXPECT_TRUE(TryMakePipeline(shader::ShaderBuilder("test.Add")
                                    .Buffer("x", shader::BufferAccess::kRead, "f32")
                                    .Buffer("y", shader::BufferAccess::kReadWrite, "f32")
                                    .Workgroup(64)
                                    .Finish(body))
                    .ok());
    return cuda_.compile_options;
  };
  EXPECT_EQ(options("fn main() { y[0] = x[0] * x[1] + x[2]; }").back(), "--fmad=true");
  EXPECT_EQ(options("fn main() { let wide: f64 = f64(x[0]); y[0] = f32(wide * wide + wide); }").back(), "--fmad=false");
}

TEST_F(CudaTest, CompiledKernelsAreKeptByArchitectureAndDriver) {
  const TemporaryFolder folder;
  const auto compile = [&] {
    MakeQueue(Options(folder.path()));
    MakeAdd();
    queue_.reset();
    return std::exchange(cuda_.compiled, {}).size();
  };
  EXPECT_EQ(compile(), 1u);
  EXPECT_EQ(compile(), 0u);
  cuda_.architecture = 80;
  EXPECT_EQ(compile(), 1u);
  cuda_.driver_version = 12040;
  EXPECT_EQ(compile(), 1u);
  EXPECT_EQ(compile(), 0u);
}

TEST_F(CudaTest, WhatIsDamagedOnDiskIsCompiledAgain) {
  const TemporaryFolder folder;
  MakeQueue(Options(folder.path()));
  MakeAdd();
  queue_.reset();
  ASSERT_EQ(folder.Count(), 1u);
  const std::string file = std::filesystem::directory_iterator(folder.path())->path().filename();
  const std::string bytes = folder.Read(file);
  for (const size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    folder.Write(file, damaged);
    cuda_.compiled.clear();
    MakeQueue(Options(folder.path()));
    MakeAdd();
    EXPECT_EQ(cuda_.compiled.size(), 1u);
    queue_.reset();
  }
  // The file is whole, but the driver does not take the code.
  cuda_.compiled.clear();
  cuda_.faults["cuModuleLoadData"] = {200, 0};
  MakeQueue(Options(folder.path()));
  MakeAdd();
  EXPECT_EQ(cuda_.compiled.size(), 1u);
}

}  // namespace
}  // namespace tandem::cuda
