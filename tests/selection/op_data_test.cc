// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tests of definitions as data, which builds with a list of ops have: each is what the parser makes of its specs.

#include "defs/op_data.h"

#include <gtest/gtest.h>

#include "tandem/op_families.h"

namespace tandem {
namespace {

// OR-4
TEST(OpDataTest, DefinitionsAreThoseThatTheParserGives) {
  OpRegistry parsed;
  ASSERT_TRUE(RegisterAllOps(parsed).ok());
  OpRegistry of_data;
  for (const OpData& data : OpsOfBuild()) {
    StatusOr<OpDef> def = MakeOpDef(data);
    ASSERT_TRUE(def.ok()) << def.status().ToString();
    const OpDef* const original = parsed.Find(data.name);
    ASSERT_NE(original, nullptr) << data.name;
    // What data does not have.
    def->doc = original->doc;
    def->metadata = original->metadata;
    ASSERT_TRUE(of_data.Register(std::move(*def)).ok());
  }
  EXPECT_EQ(of_data.ToJson(), parsed.ToJson());
}

// OR-4: defaults, which calls take.
TEST(OpDataTest, DefaultsAreThoseThatTheParserGives) {
  OpRegistry parsed;
  ASSERT_TRUE(RegisterAllOps(parsed).ok());
  for (const OpData& data : OpsOfBuild()) {
    const StatusOr<OpDef> def = MakeOpDef(data);
    ASSERT_TRUE(def.ok());
    const OpDef& original = *parsed.Find(data.name);
    ASSERT_EQ(def->defaults.get() != nullptr, original.defaults.get() != nullptr) << data.name;
    EXPECT_EQ(def->has_host_inputs, original.has_host_inputs) << data.name;
    if (original.defaults.get() == nullptr) continue;
    const OpAttrsRef mine(def->defaults);
    const OpAttrsRef theirs(original.defaults);
    MessageBuilder mine_text, their_text;
    mine_text.Append(mine);
    their_text.Append(theirs);
    EXPECT_EQ(mine_text.view(), their_text.view()) << data.name;
  }
}

}  // namespace
}  // namespace tandem
