// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which device is taken, what is kept on disk, and what is said where there is none.

#include "vulkan_device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include "../temporary_folder.h"
#include "tandem/vulkan/vulkan_op_handler.h"
#include "vulkan_test_fixture.h"

namespace tandem::vulkan {
namespace {

// Sets a variable of the environment for a while; null unsets it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    Set(value);
  }
  ~Variable() { Set(old_ ? old_->c_str() : nullptr); }

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }
  const char* const name_;
  std::optional<std::string> old_;
};

class VulkanDeviceTest : public VulkanTest {};

TEST(VulkanWithoutADriverTest, IsNotFound) {
  const Variable files("VK_ICD_FILENAMES", "/nonexistent.json");
  const Variable driver_files("VK_DRIVER_FILES", "/nonexistent.json");
  const auto queue = CreateVulkanQueue({});
  ASSERT_EQ(queue.status().code(), StatusCode::kNotFound) << queue.status().ToString();
  EXPECT_TRUE(queue.status().message().starts_with("expected ")) << queue.status().message();
}

TEST_F(VulkanDeviceTest, IsChosenByPartOfItsNameOrByIndex) {
  const std::string name(queue_->adapter_name());
  const Variable none("TANDEM_VULKAN_DEVICE", nullptr);
  VulkanOptions options;
  options.device = name.substr(1, 5);
  for (char& c : options.device) c = static_cast<char>(toupper(c));
  auto queue = CreateVulkanQueue(options);
  ASSERT_TRUE(queue.ok()) << queue.status().ToString();
  EXPECT_EQ((*queue)->adapter_name(), name);
  options.device = "0";
  EXPECT_TRUE(CreateVulkanQueue(options).ok());
}

TEST_F(VulkanDeviceTest, TheEnvironmentComesFirst) {
  const Variable variable("TANDEM_VULKAN_DEVICE", "no such device");
  const auto queue = CreateVulkanQueue({});
  ASSERT_EQ(queue.status().code(), StatusCode::kNotFound);
  const std::string text(queue.status().message());
  EXPECT_TRUE(text.starts_with("expected a Vulkan device \"no such device\", got 0: ")) << text;
  EXPECT_NE(text.find(queue_->adapter_name()), std::string::npos) << text;
}

TEST_F(VulkanDeviceTest, CompiledShadersAreKeptOnDisk) {
  const TemporaryFolder folder;
  Use(MakeDevice(), folder.path() + "/a/b");
  MakePipeline(AddShader());
  Use(MakeDevice(), "off");
  size_t num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/a/b")) {
    num_files += entry.is_regular_file();
  }
  EXPECT_EQ(num_files, 2u) << "one of the shader, one of the driver's";
}

TEST_F(VulkanDeviceTest, AFileThatIsNotAsItWasWrittenIsIgnored) {
  const TemporaryFolder folder;
  Use(MakeDevice(), folder.path());
  MakePipeline(AddShader());
  Use(MakeDevice(), "off");
  // In every file, one byte after the other is another one, or missing with all behind it.
  for (const size_t place : {0u, 8u, 12u, 24u, 40u, 90u}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      const std::string name = entry.path().filename();
      std::string bytes = folder.Read(name);
      if (place % 16 == 8) {
        bytes.resize(place);
      } else if (place < bytes.size()) {
        bytes[place] = static_cast<char>(bytes[place] ^ 0x55);
      }
      folder.Write(name, bytes);
    }
    Use(MakeDevice(), folder.path());
    const auto add = MakePipeline(AddShader());
    const BufferId x = MakeBuffer(std::vector<float>(64, 1.0f));
    const BufferId y = MakeBuffer(256);
    Add(*add, x, y, 64, 1.0f);
    EXPECT_EQ(Read<float>(y, 64), std::vector<float>(64, 2.0f)) << place;
    Destroy({x, y});
  }
}

}  // namespace
}  // namespace tandem::vulkan
