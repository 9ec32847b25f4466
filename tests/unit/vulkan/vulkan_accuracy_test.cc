// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What definitions state of the accuracy of element-wise ops, on Vulkan.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "../element_accuracy.h"
#include "tandem/eager.h"
#include "tandem/vulkan/vulkan_op_handler.h"

namespace tandem::eager {
namespace {

TEST(VulkanAccuracyTest, NU1_IsAsStated) {
  const std::unique_ptr<Runtime> runtime = std::move(*Runtime::Create());
  const auto handler = vulkan::CreateVulkanOpHandler(runtime->core(), {});
  if (!handler.ok()) {
    ASSERT_EQ(handler.status().code(), StatusCode::kNotFound) << handler.status().ToString();
    GTEST_SKIP() << handler.status().ToString();
  }
  runtime->UseHandler(**handler);
  ElementAccuracy accuracy(*runtime, true);
  for (const AccurateOp& op : kAccurateOps) accuracy.ExpectAsStated(op, 4);
}

}  // namespace
}  // namespace tandem::eager
