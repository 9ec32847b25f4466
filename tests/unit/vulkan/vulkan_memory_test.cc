// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory of the host on the way of calls to a Vulkan device (ER-5): each allocation of the calling thread that may fail
// fails once, alone or with all after it; the result is the value or ResourceExhausted, and the queue goes on. What the
// driver and glslang take is left out, since they use C's functions or forms of new that may not fail, and so are the
// queue's own threads, which watch batches and compile.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "tandem/op_families.h"
#include "tandem/vulkan/vulkan_op_handler.h"
#include "test_runtime.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

using gpu::BufferId;

// What happens while it lives is not part of the test of allocations that fail.
class WithAllMemory {
 public:
  WithAllMemory() : allowed_(std::exchange(thread_heap.allowed, -1)) {}
  ~WithAllMemory() { thread_heap.allowed = allowed_; }

 private:
  const int64_t allowed_;
};

// `fn` with each allocation failing, alone and with all after it.
template <typename F>
void FailEach(int least_failures, F fn) {
  for (const bool fails_once : {false, true}) {
    const int failures = FailEachAllocation([&] {
      thread_heap.fails_once = fails_once;
      fn();
      thread_heap.fails_once = false;
    });
    EXPECT_GE(failures, least_failures);
  }
}

class VulkanMemoryTest : public VulkanTest {
 protected:
  bool IsOkOrMemory(const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kResourceExhausted) << status.ToString();
    return status.ok();
  }

  BufferId TryMakeBuffer(uint64_t bytes, bool& all) {
    const StatusOr<BufferId> buffer = queue_->CreateBuffer(bytes, {});
    all &= IsOkOrMemory(buffer.status());
    return buffer.ok() ? *buffer : 0;
  }

  // Every kind of command. True if all were accepted; then `result` is of them.
  bool IssueAll(const std::vector<float>& many, std::vector<float>& result) {
    bool all = true;
    const auto note = [&](const Status& status) { all &= IsOkOrMemory(status); };
    const auto pipeline = queue_->CreatePipeline(AddShader());
    {
      const WithAllMemory all_memory;
      const AsyncValue* const value = pipeline.value();
      EXPECT_TRUE(work_->Await({&value, 1}).ok());
    }
    if (pipeline.IsError()) note(pipeline.GetError());
    const size_t count = many.size();
    const BufferId x = TryMakeBuffer(count * 4, all);
    const BufferId y = TryMakeBuffer(count * 4, all);
    const BufferId z = TryMakeBuffer(uint64_t{20} << 20, all);  // has a block of its own
    const float three = 3.0f;
    if (x != 0) {
      note(queue_->Upload(x, many.data(), count * 4, nullptr, {}).status());
      note(queue_->Upload(x, &three, 4, nullptr, {}).status());
    }
    if (x != 0 && y != 0 && pipeline.IsConcrete()) note(TryAdd(**pipeline, x, y, count, 10.0f).status());
    if (y != 0 && z != 0) note(queue_->Copy(y, 0, z, 0, count * 4, {}).status());
    if (z != 0) {
      std::promise<Status> done;
      queue_->Download(z, 0, result.data(), count * 4, [&done](const Status& status) { done.set_value(status); });
      // Commands of the batch may still use them.
      for (const BufferId buffer : {x, y, z}) {
        if (buffer != 0) queue_->DestroyBuffer(buffer);
      }
      const WithAllMemory all_memory;
      note(done.get_future().get());
    } else {
      for (const BufferId buffer : {x, y}) {
        if (buffer != 0) queue_->DestroyBuffer(buffer);
      }
    }
    return all;
  }

  void FailEachAllocationOfAll() {
    const std::vector<float> many(50'000, 1.0f);
    std::vector<float> expected(many.size(), 11.0f);
    expected[0] = 13.0f;
    int num_complete = 0;
    const auto check = [&] {
      std::vector<float> result(many.size());
      if (!IssueAll(many, result)) return false;
      EXPECT_EQ(result, expected);
      return true;
    };
    EXPECT_TRUE(check());
    FailEach(4, [&] {
      num_complete += check() ? 1 : 0;
      thread_heap.allowed = -1;
      EXPECT_TRUE(check()) << "with memory again";
    });
    EXPECT_GE(num_complete, 2);
    EXPECT_TRUE(listener_.events().empty());
  }
};

TEST_F(VulkanMemoryTest, ER5_EachAllocationThatFailsIsAnErrorOfItsCommand) { FailEachAllocationOfAll(); }

TEST_F(VulkanMemoryTest, ER5_AllocationsOfANewQueueFailAsWell) {
  const std::vector<float> many(50'000, 1.0f);
  std::vector<float> result(many.size());
  FailEach(10, [&] {
    {
      const WithAllMemory all_memory;
      queue_.reset();
      Use(MakeDevice());
    }
    IssueAll(many, result);
    thread_heap.allowed = -1;
    EXPECT_TRUE(IssueAll(many, result)) << "with memory again";
    EXPECT_EQ(result.back(), 11.0f);
  });
}

TEST_F(VulkanMemoryTest, ER5_DescriptorPoolsThatCannotBeNotedAreAnError) {
  queue_.reset();
  std::unique_ptr<VulkanDevice> device = MakeDevice();
  device->functions().CmdPushDescriptorSetWithTemplate = nullptr;
  Use(std::move(device));
  FailEachAllocationOfAll();
}

// Buffers die in any order, and leave holes in the memory that they share.
TEST_F(VulkanMemoryTest, ER5_BuffersDieWithoutMemory) {
  std::vector<BufferId> buffers;
  const auto pipeline = MakePipeline(AddShader());
  for (int i = 0; i < 500; ++i) buffers.push_back(MakeBuffer(256));
  for (size_t i = 1; i < buffers.size(); i += 5) Add(*pipeline, buffers[0], buffers[i], 64, 1.0f);
  WithoutMemory([&] {
    for (size_t i = 1; i < buffers.size(); i += 2) queue_->DestroyBuffer(buffers[i]);
    queue_->Flush();
    EXPECT_EQ(queue_->CreateBuffer(256, {}).status().code(), StatusCode::kResourceExhausted);
    for (size_t i = 2; i < buffers.size(); i += 2) queue_->DestroyBuffer(buffers[i]);
  });
  EXPECT_EQ(Read<float>(buffers[0], 64).size(), 64u);
  Destroy({buffers[0]});
}

// Counts what this thread takes from operator new, which a driver written in C++ calls, too: only where that is known
// not to be so, and without layers.
TEST_F(VulkanMemoryTest, ER5_CommandsTakeNothingThatMayNotFail) {
  queue_.reset();
  VulkanOptions options;
  options.validation = false;
  auto device = VulkanDevice::Create(options);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  Use(std::move(*device));
  if (queue_->adapter_name().find("llvmpipe") == std::string_view::npos)
    GTEST_SKIP() << "what " << queue_->adapter_name() << " itself takes from operator new would be counted";
  const auto pipeline = MakePipeline(AddShader());
  const std::vector<float> many(50'000, 1.0f);
  std::vector<float> result(many.size());
  const int64_t throwing = thread_heap.num_throwing;
  for (int i = 0; i < 40; ++i) {
    const BufferId x = *queue_->CreateBuffer(many.size() * 4, {});
    const BufferId y = *queue_->CreateBuffer(many.size() * 4, {});
    EXPECT_TRUE(queue_->Upload(x, many.data(), many.size() * 4, nullptr, {}).ok());
    EXPECT_TRUE(queue_->Upload(x, many.data(), 4, nullptr, {}).ok());
    for (int j = 0; j < 30; ++j) EXPECT_TRUE(TryAdd(*pipeline, x, y, many.size(), 1.0f).ok());
    EXPECT_TRUE(queue_->Copy(x, 0, y, 8, 16, {}).ok());
    queue_->Download(y, 0, result.data(), many.size() * 4, [](const Status&) {});
    queue_->DestroyBuffer(x);
    queue_->DestroyBuffer(y);
  }
  EXPECT_EQ(thread_heap.num_throwing, throwing);
  const BufferId last = MakeBuffer(many);
  EXPECT_EQ(Read<float>(last, many.size()), many);
  Destroy({last});
}

// Ops, from tensors of the host to tensors of the host.
class VulkanOpMemoryTest : public testing::Test {
 protected:
  struct Case {
    const char* op;
    std::vector<TensorHandle> args;
    TensorHandle axes;  // if the op takes some: stays on the host
    std::vector<float> expected;
  };

  void SetUp() override {
    ASSERT_TRUE(RegisterAllOps(rt_.runtime().registry()).ok());
    VulkanOptions options;
    options.cache_folder = "off";
    auto handler = CreateVulkanOpHandler(rt_.runtime(), options);
    if (!handler.ok()) {
      ASSERT_EQ(handler.status().code(), StatusCode::kNotFound) << handler.status().ToString();
      GTEST_SKIP() << handler.status().ToString();
    }
    gpu_ = *handler;
  }

  // Uploads, calls and downloads.
  TensorHandle Call(const Case& c) {
    const ExecutionContext exec(rt_.host(), Location::Current());
    TensorHandle args[3];
    size_t count = 0;
    for (const TensorHandle& arg : c.args) args[count++] = arg.TransferTo(exec, gpu_->gpu());
    if (c.axes.IsValid()) args[count++] = c.axes.CopyRef();
    TensorHandle result;
    rt_.runtime().Execute(exec, c.op, gpu_, {args, count}, OpAttrsRef(), {&result, 1});
    {
      const WithAllMemory all_memory;
      static_cast<void>(rt_.host().Await(result));
    }
    TensorHandle here = result.TransferTo(exec, rt_.host().device());
    const WithAllMemory all_memory;
    static_cast<void>(rt_.host().Await(here));
    return here;
  }

  bool Check(const Case& c) {
    const TensorHandle result = Call(c);
    const WithAllMemory all_memory;
    if (result.IsError()) {
      EXPECT_EQ(result.GetError().code(), StatusCode::kResourceExhausted) << result.GetError().ToString();
      return false;
    }
    EXPECT_EQ(rt_.Values(result), c.expected) << c.op;
    return true;
  }

  TestRuntime rt_{TestRuntime::WithWorkers(0)};
  shader::ShaderOpHandler* gpu_ = nullptr;
};

TEST_F(VulkanOpMemoryTest, ER5_EachAllocationOfACallThatFailsIsItsError) {
  const auto dense = [&](const TensorShape& shape, std::vector<float> values) {
    return rt_.Dense<float>(shape, std::move(values));
  };
  std::vector<Case> cases(3);
  cases[0].op = "tf.AddV2";
  cases[0].args.push_back(dense({3}, {1, 2, 3}));
  cases[0].args.push_back(dense({3}, {10, 20, 30}));
  cases[0].expected = {11, 22, 33};
  cases[1].op = "tf.MatMul";
  cases[1].args.push_back(dense({2, 2}, {1, 2, 3, 4}));
  cases[1].args.push_back(dense({2, 2}, {5, 6, 7, 8}));
  cases[1].expected = {19, 22, 43, 50};
  cases[2].op = "tf.Sum";
  cases[2].args.push_back(dense({2, 3}, {1, 2, 3, 4, 5, 6}));
  cases[2].axes = rt_.I32({1});
  cases[2].expected = {6, 15};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    // The shader is made by whichever call is the first to have the memory for it.
    FailEach(5, [&] {
      Check(c);
      thread_heap.allowed = -1;
      EXPECT_TRUE(Check(c)) << "with memory again";
    });
    EXPECT_EQ(gpu_->gpu().memory().stats().bytes_in_use, 0u);
  }
}

}  // namespace
}  // namespace tandem::vulkan
