// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lost devices, batches that the driver refuses, and memory that runs out: the driver's functions are replaced by ones
// that fail (ER-5).

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "vulkan_queue.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

using gpu::BufferId;

using VulkanFailuresTest = VulkanTest;

// Every call of a lost device.
void ExpectLost(const Status& status) { EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString(); }

TEST_F(VulkanFailuresTest, AllFailsOnceTheDeviceIsGivenUp) {
  const auto add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  const BufferId y = MakeBuffer(256);
  Add(*add, x, y, 64, 1.0f);
  queue_->Lose();
  ExpectLost(TryRead<float>(y, 64).status());
  ExpectLost(TryAdd(*add, x, y, 64, 1.0f).status());
  ExpectLost(queue_->CreateBuffer(256, {}).status());
  const uint32_t word = 0;
  ExpectLost(queue_->Upload(x, &word, 4, nullptr, {}).status());
  ExpectLost(queue_->Copy(x, 0, y, 0, 4, {}).status());
  ExpectLost(TryMakePipeline(AddShader()).status());
  queue_->Flush();
  Destroy({x, y});
}

VkResult LosingSubmit(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; }

TEST_F(VulkanFailuresTest, LossAtASubmitIsToldBeforeItsDownloadsEnd) {
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  functions_->QueueSubmit = &LosingSubmit;
  std::vector<float> values(64);
  std::promise<Status> done;
  queue_->Download(x, 0, values.data(), 256, [&](const Status& status) {
    listener_.Add("download ended");
    done.set_value(status);
  });
  ExpectLost(done.get_future().get());
  EXPECT_EQ(listener_.events(),
            (std::vector<std::string>{"lost: the device is lost: vkQueueSubmit gave VK_ERROR_DEVICE_LOST",
                                      "download ended"}));
  Destroy({x});
}

PFN_vkWaitSemaphores driver_wait;
VkResult LosingWait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  driver_wait(device, info, timeout);  // what a lost device does is done with
  return VK_ERROR_DEVICE_LOST;
}

TEST_F(VulkanFailuresTest, LossWhileCommandsRunIsToldOnce) {
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  driver_wait = functions_->WaitSemaphores;
  functions_->WaitSemaphores = &LosingWait;
  ExpectLost(TryRead<float>(x, 64).status());
  ExpectLost(TryRead<float>(x, 64).status());
  EXPECT_EQ(listener_.events(),
            std::vector<std::string>{"lost: the device is lost: vkWaitSemaphores gave VK_ERROR_DEVICE_LOST"});
  Destroy({x});
}

TEST_F(VulkanFailuresTest, ANewDeviceWorksBesideALostOne) {
  const BufferId lost = MakeBuffer(256);
  queue_->Lose();
  ExpectLost(TryRead<float>(lost, 64).status());
  std::unique_ptr<VulkanQueue> old = std::move(queue_);
  Use(MakeDevice());
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  EXPECT_EQ(Read<float>(x, 64), std::vector<float>(64, 1.0f));
  Destroy({x});
  old->DestroyBuffer(lost);
}

std::atomic<int> num_refused;
PFN_vkQueueSubmit driver_submit;
VkResult RefusingSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  if (num_refused > 0) {
    --num_refused;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  return driver_submit(queue, count, infos, fence);
}

TEST_F(VulkanFailuresTest, ARefusedBatchIsToldBeforeItsDownloadsEndAndTheNextOnesRun) {
  const auto add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  const BufferId y = MakeBuffer(std::vector<float>(64, 0.0f));
  EXPECT_EQ(Read<float>(x, 64), std::vector<float>(64, 1.0f));
  driver_submit = functions_->QueueSubmit;
  functions_->QueueSubmit = &RefusingSubmit;
  num_refused = 1;
  const StatusOr<uint64_t> batch = TryAdd(*add, x, y, 64, 1.0f);
  ASSERT_TRUE(batch.ok());
  std::vector<float> values(64);
  std::promise<Status> done;
  queue_->Download(y, 0, values.data(), 256, [&](const Status& status) {
    listener_.Add("download ended");
    done.set_value(status);
  });
  EXPECT_EQ(done.get_future().get().code(), StatusCode::kResourceExhausted);
  const std::string number = std::to_string(*batch);
  EXPECT_EQ(listener_.events(), (std::vector<std::string>{"failed " + number + "-" + number +
                                                              ": vkQueueSubmit gave VK_ERROR_OUT_OF_DEVICE_MEMORY",
                                                          "download ended"}));
  Add(*add, x, y, 64, 2.0f);
  EXPECT_EQ(Read<float>(y, 64), std::vector<float>(64, 3.0f));
  Destroy({x, y});
}

// A device with so much memory.
std::atomic<uint64_t> memory_left;
PFN_vkAllocateMemory driver_allocate;
VkResult LimitedAllocate(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                         VkDeviceMemory* memory) {
  if (info->allocationSize > memory_left) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const VkResult result = driver_allocate(device, info, callbacks, memory);
  if (result == VK_SUCCESS) memory_left -= info->allocationSize;
  return result;
}
PFN_vkFreeMemory driver_free;
std::atomic<uint64_t> size_of_freed;
void LimitedFree(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  memory_left += size_of_freed;
  driver_free(device, memory, callbacks);
}

class OutOfMemoryTest : public VulkanTest {
 protected:
  static constexpr uint64_t kLarge = uint64_t{40} << 20;

  void Limit(uint64_t bytes) {
    memory_left = bytes;
    size_of_freed = kLarge;
    driver_allocate = functions_->AllocateMemory;
    driver_free = functions_->FreeMemory;
    functions_->AllocateMemory = &LimitedAllocate;
    functions_->FreeMemory = &LimitedFree;
  }
};

TEST_F(OutOfMemoryTest, IsAnErrorAndTheDeviceGoesOn) {
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  Limit(kLarge);
  const BufferId large = MakeBuffer(kLarge);
  const Status error = queue_->CreateBuffer(kLarge, {}).status();
  EXPECT_EQ(error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "vkAllocateMemory gave VK_ERROR_OUT_OF_DEVICE_MEMORY");
  Destroy({large});
  Destroy({MakeBuffer(kLarge)});
  EXPECT_EQ(Read<float>(x, 64), std::vector<float>(64, 1.0f));
  Destroy({x});
  EXPECT_TRUE(listener_.events().empty());
}

TEST_F(OutOfMemoryTest, BuffersThatCommandsStillUseAreWaitedFor) {
  const auto add = MakePipeline(AddShader());
  const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
  Limit(kLarge);
  for (int i = 0; i < 3; ++i) {
    const BufferId large = MakeBuffer(kLarge);
    Add(*add, x, large, 64, 1.0f);
    Destroy({large});
  }
  EXPECT_EQ(Read<float>(x, 64), std::vector<float>(64, 1.0f));
  Destroy({x});
}

TEST_F(OutOfMemoryTest, SmallBuffersFindRoomWhereABlockDoesNot) {
  Limit(uint64_t{1} << 20);
  size_of_freed = 4096;
  const BufferId x = MakeBuffer(4096);
  EXPECT_NE(x, BufferId{0});
  Destroy({x});
}

}  // namespace
}  // namespace tandem::vulkan
