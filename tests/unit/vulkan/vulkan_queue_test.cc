// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a ShaderQueue promises, on a real device.

#include "vulkan_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

using gpu::BufferId;
using gpu::BufferRange;
using shader::BufferAccess;
using shader::ShaderText;

using VulkanQueueTest = VulkanTest;

std::vector<float> Counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_F(VulkanQueueTest, DependentDispatchesSeeEachOthersResults) {
  const size_t count = 1000;
  BufferId a = MakeBuffer(Counting(count));
  BufferId b = MakeBuffer(count * 4);
  {
    const auto add = MakePipeline(AddShader());
    for (int i = 0; i < 301; ++i) {
      Add(*add, a, b, count, 1.0f);
      std::swap(a, b);
    }
  }
  const std::vector<float> result = Read<float>(a, count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], static_cast<float>(i) + 301.0f);
  Destroy({a, b});
  EXPECT_TRUE(listener_.events().empty());
}

std::atomic<int> num_barriers;
PFN_vkCmdPipelineBarrier driver_barrier;
void CountingBarrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                     VkDependencyFlags flags, uint32_t num_memory, const VkMemoryBarrier* memory, uint32_t num_buffers,
                     const VkBufferMemoryBarrier* buffers, uint32_t num_images, const VkImageMemoryBarrier* images) {
  ++num_barriers;
  driver_barrier(commands, from, to, flags, num_memory, memory, num_buffers, buffers, num_images, images);
}

TEST_F(VulkanQueueTest, OnlyDependentCommandsHaveABarrierBetweenThem) {
  driver_barrier = functions_->CmdPipelineBarrier;
  functions_->CmdPipelineBarrier = &CountingBarrier;
  const auto add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  std::vector<BufferId> ys;
  for (int i = 0; i < 10; ++i) ys.push_back(MakeBuffer(256));
  num_barriers = 0;
  for (BufferId y : ys) Add(*add, x, y, 64, 1.0f);
  EXPECT_EQ(num_barriers, 1) << "for the upload";
  Add(*add, ys[3], ys[4], 64, 1.0f);
  EXPECT_EQ(num_barriers, 2) << "reads and writes what was written";
  Add(*add, ys[5], ys[6], 64, 1.0f);
  EXPECT_EQ(num_barriers, 2) << "both were written before that barrier";
  Add(*add, ys[7], x, 64, 1.0f);
  EXPECT_EQ(num_barriers, 2) << "x was read before that barrier";
  Add(*add, x, ys[8], 64, 1.0f);
  EXPECT_EQ(num_barriers, 3) << "reads what was just written";
  Add(*add, ys[9], x, 64, 1.0f);
  EXPECT_EQ(num_barriers, 4) << "writes what was just read";
  EXPECT_EQ(Read<float>(ys[4], 1)[0], 3.0f);
  EXPECT_EQ(Read<float>(ys[8], 1)[0], 4.0f);
  for (BufferId y : ys) Destroy({y});
  Destroy({x});
}

std::thread::id issuing_thread;
std::atomic<int> num_waits;
PFN_vkWaitSemaphores driver_wait;
VkResult CountingWait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  if (std::this_thread::get_id() == issuing_thread) ++num_waits;
  return driver_wait(device, info, timeout);
}

TEST_F(VulkanQueueTest, WhoIssuesMoreThanTheDeviceCanDoWaitsForItHoweverBatchesEnd) {
  issuing_thread = std::this_thread::get_id();
  driver_wait = functions_->WaitSemaphores;
  functions_->WaitSemaphores = &CountingWait;
  // Batches of one command each, which takes the device far longer than to record it.
  constexpr size_t kCount = size_t{1} << 21;
  const auto add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(kCount, 1.0f));
  const BufferId y = MakeBuffer(uint64_t{kCount} * 4);
  float read = 0;
  const std::function<void()> ways[] = {
      [&] { queue_->Flush(); },
      [&] { queue_->WhenDone([](const Status& status) { EXPECT_TRUE(status.ok()); }); },
      [&] { queue_->Download(y, 0, &read, sizeof(read), [](const Status& status) { EXPECT_TRUE(status.ok()); }); },
  };
  for (const auto& end_batch : ways) {
    num_waits = 0;
    const uint64_t before = queue_->counters().submits;
    for (int i = 0; i < 100; ++i) {
      Add(*add, x, y, kCount, 1.0f);
      end_batch();
    }
    EXPECT_EQ(queue_->counters().submits - before, 100u);
    EXPECT_GT(num_waits, 0);
    EXPECT_EQ(Read<float>(y, 1)[0], 2.0f);
  }
  EXPECT_EQ(read, 2.0f);
  Destroy({x, y});
}

TEST_F(VulkanQueueTest, BytesOfAnySizeGoToTheDeviceAndBack) {
  for (const size_t size : {1u, 3u, 4u, 5u, 255u, 65533u, 65536u, 65537u, 300001u, 5000003u}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
    const BufferId buffer = MakeBuffer(bytes);
    EXPECT_EQ(Read<uint8_t>(buffer, size), bytes) << size;
    Destroy({buffer});
  }
}

TEST_F(VulkanQueueTest, LargeAndSmallUploadsOfABatchKeepApart) {
  std::vector<BufferId> buffers;
  for (size_t i = 0; i < 8; ++i) {
    const size_t count = i % 2 == 0 ? 100000 : 100;
    buffers.push_back(MakeBuffer(std::vector<uint32_t>(count, static_cast<uint32_t>(i))));
  }
  for (size_t i = 0; i < 8; ++i) {
    const size_t count = i % 2 == 0 ? 100000 : 100;
    EXPECT_EQ(Read<uint32_t>(buffers[i], count), std::vector<uint32_t>(count, static_cast<uint32_t>(i)));
    Destroy({buffers[i]});
  }
}

TEST_F(VulkanQueueTest, CopiesTakeOffsets) {
  const BufferId from = MakeBuffer(Counting(100));
  const BufferId to = MakeBuffer(std::vector<float>(100, -1.0f));
  ASSERT_TRUE(queue_->Copy(from, 40, to, 8, 20, {}).ok());
  std::vector<float> expected(100, -1.0f);
  for (size_t i = 0; i < 5; ++i) expected[2 + i] = static_cast<float>(10 + i);
  EXPECT_EQ(Read<float>(to, 100), expected);
  Destroy({from, to});
}

TEST_F(VulkanQueueTest, PartsOfABufferAreReadInPlace) {
  const auto pipeline = MakePipeline(AddShader());
  const uint64_t part = std::max<uint64_t>(queue_->limits().offset_alignment, 64);
  const size_t count = part / 4;
  std::vector<float> values(3 * count);
  std::iota(values.begin(), values.end(), 0.0f);
  const BufferId x = MakeBuffer(values);
  const BufferId y = MakeBuffer(values.size() * 4);
  for (size_t i = 0; i < 3; ++i) {
    const BufferRange buffers[] = {{x, i * part, part}, {y, (2 - i) * part, part}};
    const uint32_t parameters[] = {static_cast<uint32_t>(count), std::bit_cast<uint32_t>(0.5f)};
    const auto groups = static_cast<uint32_t>((count + 63) / 64);
    ASSERT_TRUE(queue_->Dispatch(*pipeline, buffers, parameters, {groups, 1, 1}, {}).ok());
  }
  const std::vector<float> moved = Read<float>(y, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(moved[i], values[(2 - i / count) * count + i % count] + 0.5f) << i;
  }
  std::vector<float> middle(count);
  std::promise<Status> done;
  queue_->Download(x, part, middle.data(), part, [&](const Status& status) { done.set_value(status); });
  EXPECT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(middle[0], values[count]);
  EXPECT_EQ(middle.back(), values[2 * count - 1]);
  Destroy({x, y});
}

TEST_F(VulkanQueueTest, WhenAllIsDoneSomebodyIsTold) {
  const BufferId x = MakeBuffer(std::vector<float>(64, 1));
  std::promise<Status> done;
  queue_->WhenDone([&](const Status& status) { done.set_value(status); });
  EXPECT_TRUE(done.get_future().get().ok());
  // Also where there is nothing to be done.
  std::promise<Status> again;
  queue_->WhenDone([&](const Status& status) { again.set_value(status); });
  EXPECT_TRUE(again.get_future().get().ok());
  Destroy({x});
}

TEST_F(VulkanQueueTest, DownloadReadsWhatWasThereWhenItWasIssued) {
  const BufferId buffer = MakeBuffer(std::vector<uint32_t>(1000, 1));
  std::vector<uint32_t> first(1000);
  std::promise<Status> done;
  queue_->Download(buffer, 0, first.data(), 4000, [&](const Status& status) { done.set_value(status); });
  Upload(buffer, std::vector<uint32_t>(1000, 2));
  EXPECT_EQ(Read<uint32_t>(buffer, 1000), std::vector<uint32_t>(1000, 2));
  EXPECT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(first, std::vector<uint32_t>(1000, 1));
  Destroy({buffer});
}

// Tensors may outlive their device, which then frees the memory of all. LeakSanitizer counts what it left.
TEST_F(VulkanQueueTest, WQ3_BuffersThatNobodyDestroysEndWithTheQueue) {
  const BufferId first = MakeBuffer(Counting(100));
  const BufferId second = MakeBuffer(Counting(100));
  const BufferId third = MakeBuffer(Counting(100));
  EXPECT_NE(first, third);
  Destroy({second});
}

TEST_F(VulkanQueueTest, CommandsOutliveTheirBuffersAndPipeline) {
  const size_t count = 100000;
  const BufferId y = MakeBuffer(count * 4);
  {
    const auto add = MakePipeline(AddShader());
    const BufferId x = MakeBuffer(Counting(count));
    Add(*add, x, y, count, 1.0f);
    Destroy({x});
  }
  // What takes the memory of x must not do so before x was read.
  const BufferId z = MakeBuffer(std::vector<float>(count, -5.0f));
  const std::vector<float> result = Read<float>(y, count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], static_cast<float>(i) + 1.0f);
  Destroy({y, z});
}

std::atomic<int> num_allocations;
PFN_vkAllocateMemory driver_allocate;
VkResult CountingAllocate(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                          VkDeviceMemory* memory) {
  ++num_allocations;
  return driver_allocate(device, info, callbacks, memory);
}

TEST_F(VulkanQueueTest, SmallBuffersShareMemoryAndLeaveIt) {
  num_allocations = 0;
  driver_allocate = functions_->AllocateMemory;
  functions_->AllocateMemory = &CountingAllocate;
  std::vector<BufferId> buffers;
  for (int round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 1000; ++i) buffers.push_back(MakeBuffer(4 + i % 97 * 400));
    // In another order than that of their making.
    for (size_t i = 0; i < buffers.size(); i += 2) Destroy({buffers[i]});
    for (size_t i = 1; i < buffers.size(); i += 2) Destroy({buffers[i]});
    buffers.clear();
  }
  EXPECT_EQ(num_allocations, 1);
}

TEST_F(VulkanQueueTest, BuffersInOneBlockDoNotOverlap) {
  std::vector<BufferId> buffers;
  for (uint32_t i = 0; i < 200; ++i) buffers.push_back(MakeBuffer(std::vector<uint32_t>(1 + i % 50, i)));
  for (uint32_t i = 0; i < 200; i += 3) {
    Destroy({buffers[i]});
    buffers[i] = MakeBuffer(std::vector<uint32_t>(1 + i % 20, i));
  }
  for (uint32_t i = 0; i < 200; ++i) {
    const size_t count = 1 + i % (i % 3 == 0 ? 20 : 50);
    EXPECT_EQ(Read<uint32_t>(buffers[i], count), std::vector<uint32_t>(count, i));
    Destroy({buffers[i]});
  }
}

TEST_F(VulkanQueueTest, ManyThreadsIssue) {
  const auto add = MakePipeline(AddShader());
  const size_t count = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        BufferId a = MakeBuffer(std::vector<float>(count, static_cast<float>(t)));
        BufferId b = MakeBuffer(count * 4);
        for (int i = 0; i < 50; ++i) {
          Add(*add, a, b, count, 1.0f);
          std::swap(a, b);
        }
        EXPECT_EQ(Read<float>(a, count), std::vector<float>(count, static_cast<float>(t + 50)));
        Destroy({a, b});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(listener_.events().empty());
}

TEST_F(VulkanQueueTest, MoreCommandsThanAreInFlightAtOnce) {
  const auto add = MakePipeline(AddShader());
  BufferId a = MakeBuffer(std::vector<float>(64, 0.0f));
  BufferId b = MakeBuffer(256);
  const int count = 12000;
  for (int i = 0; i < count; ++i) {
    Add(*add, a, b, 64, 1.0f);
    std::swap(a, b);
  }
  EXPECT_EQ(Read<float>(a, 64), std::vector<float>(64, count));
  const shader::ShaderQueue::Counters counters = queue_->counters();
  EXPECT_EQ(counters.dispatches, uint64_t{count});
  EXPECT_LT(counters.submits, uint64_t{count} / 10);
  Destroy({a, b});
}

// As many parameters as a shader may have, more than devices need take as push constants.
TEST_F(VulkanQueueTest, ManyParameters) {
  ShaderText text;
  text.name = "parameters";
  std::string members;
  std::string body;
  for (size_t i = 0; i < shader::kMaxParameters; ++i) {
    const std::string name = "p" + std::to_string(i);
    members += name + ": u32, ";
    body += "y[" + std::to_string(i) + "u] = parameters." + name + ";\n";
  }
  text.wgsl = "struct Parameters { " + members + "}\n" +
              "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n"
              "@group(0) @binding(1) var<uniform> parameters: Parameters;\n"
              "@compute @workgroup_size(1, 1, 1) fn main() {\n" +
              body + "}\n";
  text.buffers = {BufferAccess::kReadWrite};
  text.num_parameters = shader::kMaxParameters;
  const auto pipeline = MakePipeline(text);
  const BufferId first = MakeBuffer(shader::kMaxParameters * 4);
  const BufferId second = MakeBuffer(shader::kMaxParameters * 4);
  std::vector<uint32_t> parameters(shader::kMaxParameters);
  std::iota(parameters.begin(), parameters.end(), 1000u);
  ASSERT_TRUE(queue_->Dispatch(*pipeline, std::array{BufferRange{first}}, parameters, {1, 1, 1}, {}).ok());
  std::vector<uint32_t> others(shader::kMaxParameters, 7);
  ASSERT_TRUE(queue_->Dispatch(*pipeline, std::array{BufferRange{second}}, others, {1, 1, 1}, {}).ok());
  EXPECT_EQ(Read<uint32_t>(first, parameters.size()), parameters);
  EXPECT_EQ(Read<uint32_t>(second, others.size()), others);
  Destroy({first, second});
}

TEST_F(VulkanQueueTest, BrokenShadersSayWhereAndWhy) {
  ShaderText text = AddShader();
  text.wgsl += "fn broken() -> f32 { return nothing; }\n";
  Status error = TryMakePipeline(text).status();
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(error.message().find("shader add: "), std::string_view::npos) << error.message();
  EXPECT_NE(error.message().find("nothing_v"), std::string_view::npos) << error.message();
  EXPECT_NE(error.message().find(":10:"), std::string_view::npos) << error.message();

  text = AddShader();
  text.wgsl += "fn broken() -> texture_2d { }\n";
  error = TryMakePipeline(text).status();
  EXPECT_EQ(error.message(), "shader add: line 10: expected a type, got \"texture_2d\"");
}

TEST_F(VulkanQueueTest, PipelinesThatAreNotWaitedForEndWithTheQueue) {
  std::vector<AsyncValueRef<RcRef<shader::Pipeline>>> pipelines;
  for (int i = 0; i < 20; ++i) {
    ShaderText text = AddShader();
    text.wgsl += "const UNUSED: u32 = " + std::to_string(i) + "u;\n";
    auto pipeline = queue_->CreatePipeline(text);
    // Those that are made are dropped here, at once.
    if (i == 0) pipelines.push_back(std::move(pipeline));
  }
  const AsyncValue* const first = pipelines[0].value();
  EXPECT_TRUE(work_->Await({&first, 1}).ok());
  pipelines.clear();
  queue_.reset();
}

TEST_F(VulkanQueueTest, DownloadsAreEndedBeforeTheQueue) {
  const BufferId buffer = MakeBuffer(std::vector<uint32_t>(100000, 3));
  std::vector<uint32_t> values(100000);
  bool ended = false;
  queue_->Download(buffer, 0, values.data(), 400000, [&](const Status&) { ended = true; });
  Destroy({buffer});
  queue_.reset();
  EXPECT_TRUE(ended);
}

// Shaders of all that kernels may use, on the device: their results are known.
TEST_F(VulkanQueueTest, TheLanguageMeansTheSame) {
  ShaderText text;
  text.name = "language";
  text.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> u: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
var<workgroup> total: atomic<u32>;
var<workgroup> tile: array<f32, 64>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(local_invocation_index) lidx: u32) {
  if (lidx == 0u) { atomicStore(&total, 0u); }
  tile[lidx] = f32(lidx);
  workgroupBarrier();
  atomicAdd(&total, lidx);
  atomicAdd(&counts[lidx % 4u], 1u);
  workgroupBarrier();
  if (lidx != 0u) { return; }
  var minus: i32 = -7;
  u[0] = u32(minus % 3 + 10);
  u[1] = u32(minus / 2 + 10);
  u[2] = bitcast<u32>(-7.5 % 2.0);
  u[3] = u32(-3.7);
  u[4] = u32(1e20);
  u[5] = bitcast<u32>(i32(-1e20));
  u[6] = u32(round(2.5)) * 10u + u32(round(3.5));
  u[7] = select(1u, 2u, minus < 0);
  u[8] = countOneBits(255u) + firstLeadingBit(256u) + firstTrailingBit(8u);
  u[9] = extractBits(0xABCDu, 4u, 8u);
  u[10] = 1u << (33u + lidx);
  u[11] = pack2x16float(vec2f(1.0, -2.0));
  u[12] = atomicLoad(&total);
  var sum: f32 = 0.0;
  for (var i: u32 = 0u; i < 64u; i++) { sum += tile[i]; }
  u[13] = u32(sum);
  var array_sum: u32 = 0u;
  var zeros: array<array<u32, 3>, 2>;
  zeros[1][2] += 5u;
  for (var i: u32 = 0u; i < 6u; i++) { array_sum += zeros[i / 3u][i % 3u]; }
  u[14] = array_sum;
  switch u[7] { case 0u, 1u: { u[15] = 100u; } case 2u: { u[15] = 200u; } default: { u[15] = 300u; } }
  u[16] = u32(saturate(3.0) + saturate(-1.0) + trunc(-1.5) + 5.0);
  u[17] = reverseBits(1u);
}
)";
  text.buffers = {BufferAccess::kReadWrite, BufferAccess::kReadWrite};
  text.workgroup = {64, 1, 1};
  const auto pipeline = MakePipeline(text);
  const BufferId u = MakeBuffer(std::vector<uint32_t>(18, 77));
  const BufferId counts = MakeBuffer(std::vector<uint32_t>(4, 0));
  const BufferRange buffers[] = {{u}, {counts}};
  ASSERT_TRUE(queue_->Dispatch(*pipeline, buffers, {}, {1, 1, 1}, {}).ok());
  const std::vector<uint32_t> expected = {9,    7,           std::bit_cast<uint32_t>(-1.5f),
                                          0,    0xFFFFFFFFu, 0x80000000u,
                                          24,   2,           19,
                                          0xBC, 2,           0xC0003C00u,
                                          2016, 2016,        5,
                                          200,  5,           0x80000000u};
  const std::vector<uint32_t> actual = Read<uint32_t>(u, 18);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << "u[" << i << "]";
  EXPECT_EQ(Read<uint32_t>(counts, 4), std::vector<uint32_t>(4, 16));
  Destroy({u, counts});
}

TEST_F(VulkanQueueTest, LimitsAreAtLeastThoseOfWebGpu) {
  const shader::GpuLimits least;
  const shader::GpuLimits& limits = queue_->limits();
  EXPECT_GE(limits.max_storage_buffers, least.max_storage_buffers);
  EXPECT_GE(limits.max_binding_bytes, least.max_binding_bytes);
  EXPECT_GE(limits.max_buffer_bytes, limits.max_binding_bytes);
  EXPECT_GE(limits.max_workgroups, least.max_workgroups);
  EXPECT_GE(limits.max_invocations, least.max_invocations);
  EXPECT_GE(limits.max_workgroup_bytes, least.max_workgroup_bytes);
  EXPECT_EQ(limits.has_subgroups, limits.max_subgroup_size > 0);
  EXPECT_FALSE(queue_->adapter_name().empty());
}

// Devices without VK_KHR_push_descriptor.
class WithoutPushDescriptorsTest : public VulkanTest {
 protected:
  void SetUp() override {
    std::unique_ptr<VulkanDevice> device = MakeDevice();
    if (device == nullptr) GTEST_SKIP() << "there is no Vulkan device";
    device->functions().CmdPushDescriptorSetWithTemplate = nullptr;
    Use(std::move(device));
  }
};

TEST_F(WithoutPushDescriptorsTest, DescriptorSetsComeFromPools) {
  const auto add = MakePipeline(AddShader());
  BufferId a = MakeBuffer(std::vector<float>(64, 0.0f));
  BufferId b = MakeBuffer(256);
  for (int i = 0; i < 3000; ++i) {
    Add(*add, a, b, 64, 1.0f);
    std::swap(a, b);
  }
  EXPECT_EQ(Read<float>(a, 64), std::vector<float>(64, 3000.0f));
  Destroy({a, b});
}

}  // namespace
}  // namespace tandem::vulkan
