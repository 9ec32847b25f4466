// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers of op handlers as JavaScript has them.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "js_test_fixture.h"
#include "tandem/op_handler.h"
#include "tandem/shadow_op_handler.h"
#include "tandem_programs.h"

namespace tandem {
namespace {

// An op with two arguments and one result that gives the first argument.
class First final : public OpImpl {
 public:
  explicit First(std::string_view name) : OpImpl(name) {}
  void Invoke(const OpInvocation& invocation) const override { invocation.results[0] = invocation.args[0].CopyRef(); }
};

class FirstOpHandler final : public OpHandler {
 public:
  FirstOpHandler(CoreRuntime& runtime, OpHandler& cpu) : OpHandler("first", runtime, &cpu) {}
  StatusOr<Op> MakeOp(std::string_view op_name) override { return Op(MakeRef<const First>(op_name)); }
};

class JsLayersTest : public JsTest {
 protected:
  std::string AddLayers(const char* text) {
    std::string error = JsText(tandem_js_layers_add(js_.get(), text));
    if (!error.empty()) return error;
    tandem_op_release(add_);
    EXPECT_EQ(JsText(tandem_op_create(tandem_js_runtime(js_.get()), "tf.AddV2", text, &add_)), "");
    return error;
  }
  using Records = std::vector<std::vector<std::string>>;
  Records Read(tandem_status* (*read)(tandem_js*, char**, size_t*)) {
    char* text = nullptr;
    size_t size = 0;
    EXPECT_EQ(JsText(read(js_.get(), &text, &size)), "");
    Records records;
    std::vector<std::string> fields;
    std::string field;
    for (const char c : std::string(text, size)) {
      if (c == '\x1f') {
        fields.push_back(std::exchange(field, {}));
      } else if (c == '\x1e') {
        records.push_back(std::exchange(fields, {}));
      } else {
        field += c;
      }
    }
    EXPECT_TRUE(field.empty() && fields.empty());
    tandem_free(text);
    return records;
  }
};

TEST_F(JsLayersTest, OH4_AProfileCountsCallsUntilItIsReset) {
  Create(0);
  ASSERT_EQ(AddLayers("profile:cpu"), "");
  Add(F32(3, 1), F32(3, 1));
  Add(F32(3, 1), F32(1, 1));
  const Records records = Read(tandem_js_profile);
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(records[0].size(), 15u);
  EXPECT_EQ(std::vector(records[0].begin(), records[0].begin() + 8),
            (std::vector<std::string>{"tf.AddV2", "f32", "2", "0", "0", "0", "24", "2"}));
  EXPECT_EQ(records[0][11], "2");
  tandem_js_profile_reset(js_.get());
  EXPECT_TRUE(Read(tandem_js_profile).empty());
}

TEST_F(JsLayersTest, OH4_AShadowNamesTheOpThatIsWrong) {
  Create(0);
  js_->running().core.AddHandler(std::make_unique<FirstOpHandler>(js_->running().core, *js_->running().cpu));
  ASSERT_EQ(AddLayers("shadow:cpu|first"), "");
  EXPECT_EQ(JsTest::First(Add(F32(3, 1), F32(3, 2))), 3);
  Add(F32(3, 1), F32(3, 0));
  const Records records = Read(tandem_js_shadow);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0][0], "1");
  EXPECT_EQ(records[0][1], "1");
  EXPECT_EQ(records[0].size(), 2 + 2 * kNumShadowSkips);
  ASSERT_EQ(records[1].size(), 15u);
  EXPECT_EQ(std::vector(records[1].begin(), records[1].begin() + 8),
            (std::vector<std::string>{"tf.AddV2", "", "1", "0", "0", "3", "1", "2"}));
  EXPECT_EQ(records[1][10], "3");
  EXPECT_EQ(records[1][11], "f32[3]");
}

TEST_F(JsLayersTest, OH4_ANanGuardMakesTheResultAnError) {
  Create(0);
  ASSERT_EQ(AddLayers("nan-guard:cpu"), "");
  tandem_tensor* args[] = {F32(1, NAN), F32(1, 1)};
  tandem_tensor* result = nullptr;
  const std::string error = JsText(tandem_op_execute(add_, args, 2, nullptr, &result, 1));
  EXPECT_NE(error.find("OutOfRange: [tf.AddV2] result 0 must be without NaN"), std::string::npos) << error;
  for (const tandem_js_event& event : TakeEvents()) TakeText(event);
}

TEST_F(JsLayersTest, OH4_ALogIsPrinted) {
  Create(0);
  ASSERT_EQ(AddLayers("log:cpu"), "");
  Add(F32(1, 1), F32(1, 1));
  std::string printed;
  for (const tandem_js_event& event : TakeEvents()) {
    ASSERT_EQ(event.kind, static_cast<uint32_t>(TANDEM_JS_PRINT));
    auto* const text = reinterpret_cast<char*>(event.data);
    printed.append(text, event.size);
    tandem_free(text);
  }
  EXPECT_NE(printed.find("tf.AddV2"), std::string::npos);
}

TEST_F(JsLayersTest, WithoutLayersThereIsNothing) {
  Create(0);
  EXPECT_TRUE(Read(tandem_js_profile).empty());
  EXPECT_TRUE(Read(tandem_js_shadow).empty());
  tandem_js_profile_reset(js_.get());
}

TEST_F(JsLayersTest, WrongTextsAreErrors) {
  Create(0);
  EXPECT_NE(AddLayers("fast:cpu").find("expected one of the layers"), std::string::npos);
  EXPECT_NE(AddLayers("profile:gpu").find("NotFound"), std::string::npos);
}

}  // namespace
}  // namespace tandem
