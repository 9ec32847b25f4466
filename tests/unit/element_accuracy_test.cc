// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What definitions state of the accuracy of element-wise ops, on the CPU.

#include "element_accuracy.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "instruction_sets.h"
#include "tandem/eager.h"
#include "tandem/op_def.h"
#include "tandem/op_registry.h"

namespace tandem::eager {
namespace {

TEST(ElementAccuracyTest, NU1_IsAsStatedWithEveryInstructionSet) {
  cpu::ForEachInstructionSet([](const char*) {
    const std::unique_ptr<Runtime> runtime = std::move(*Runtime::Create({.num_threads = 1}));
    ElementAccuracy accuracy(*runtime, false);
    for (const AccurateOp& op : kAccurateOps) accuracy.ExpectAsStated(op, 8);
  });
}

TEST(ElementAccuracyTest, NU1_IsStatedOfEveryElementwiseOp) {
  const std::unique_ptr<Runtime> runtime = std::move(*Runtime::Create());
  for (const OpDef* def : runtime->core().registry().List()) {
    // A sum of any number of terms is as accurate as its terms are many.
    const bool is_to_state = def->kind == OpKind::kElementwise && def->name != "tf.AddN";
    EXPECT_EQ(def->max_ulp >= 0, is_to_state) << def->name;
  }
}

}  // namespace
}  // namespace tandem::eager
