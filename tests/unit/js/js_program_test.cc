// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs and recordings as JavaScript has them: weights by name, recordings that never wait.

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "js_test_fixture.h"
#include "tandem_programs.h"

namespace tandem {
namespace {

constexpr char kWeighted[] = R"(func @weighted(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("a device that nobody has")
  %w = corert.const_dense_tensor "w" : tensor<2xf32>
  %y = corert.executeop(%gpu) "tf.AddV2"(%x, %w)
  tfrt.return %y : !corert.tensorhandle
}
func @effect(%ch: !tfrt.chain) -> !tfrt.chain {
  tfrt.return %ch : !tfrt.chain
}
)";

class JsProgramTest : public JsTest {
 protected:
  ~JsProgramTest() override {
    tandem_recording_release(recording_);
    tandem_program_release(program_);
  }

  std::string Load(const char* device, std::vector<const char*> names = {}, std::vector<tandem_tensor*> weights = {}) {
    const tandem_js_program_options options = {device, 1, static_cast<uint32_t>(names.size()), names.data(),
                                               weights.data()};
    return JsText(tandem_js_program_load(js_.get(), kWeighted, std::strlen(kWeighted), "f.mlir", &options, &program_));
  }
  std::string Record(const char* function = "main", double max_inline_bytes = HUGE_VAL) {
    std::string error = JsText(tandem_js_recording_start(js_.get(), function, max_inline_bytes, &recording_));
    if (recording_ == nullptr) return error;
    const char* device = nullptr;
    EXPECT_EQ(JsText(tandem_recording_device(recording_, "cpu", &device)), "");
    tandem_op_release(add_);
    EXPECT_EQ(JsText(tandem_op_create(tandem_js_runtime(js_.get()), "tf.AddV2", device, &add_)), "");
    return error;
  }
  std::string Finish(std::vector<tandem_tensor*> outputs) {
    return JsText(tandem_js_recording_finish(recording_, outputs.data(), static_cast<uint32_t>(outputs.size()), "cpu",
                                             &program_));
  }
  tandem_tensor* Run(const char* function, std::vector<tandem_tensor*> args) {
    tandem_tensor* result = nullptr;
    EXPECT_EQ(JsText(tandem_program_run(program_, function, args.data(), args.size(), nullptr, &result, 1)), "");
    return Keep(result);
  }

  tandem_program* program_ = nullptr;
  tandem_recording* recording_ = nullptr;
};

TEST_F(JsProgramTest, PR4_OpsRunOnTheDeviceThatIsGivenWithWeightsByName) {
  Create(0);
  ASSERT_EQ(Load("cpu", {"v", "w"}, {F32(2, 9), F32(2, 40)}), "");
  EXPECT_EQ(First(Run("weighted", {F32(2, 2)})), 42);
}

TEST_F(JsProgramTest, WithoutADeviceOrAWeightThePlaceInTheProgramIsTold) {
  Create(0);
  EXPECT_NE(Load(nullptr, {"w"}, {F32(2, 1)}).find("NotFound"), std::string::npos);
  EXPECT_NE(Load("cpu").find("expected a tensor as the weight w, got none"), std::string::npos);
  EXPECT_NE(Load("cpu", {"w"}, {F32(3, 1)}).find("f.mlir:3:"), std::string::npos);
  EXPECT_NE(Load("gpu", {"w"}, {F32(2, 1)}).find("expected a device of this runtime"), std::string::npos);
  EXPECT_EQ(program_, nullptr);
}

TEST_F(JsProgramTest, ChainsOfAFunctionAreTold) {
  Create(0);
  ASSERT_EQ(Load("cpu", {"w"}, {F32(2, 1)}), "");
  EXPECT_EQ(tandem_js_program_has_chains(program_, "weighted"), 0u);
  EXPECT_EQ(tandem_js_program_has_chains(program_, "effect"), 1u);
  EXPECT_EQ(tandem_js_program_has_chains(program_, "none"), 0u);
}

// Without workers nothing computes but from the event loop, so that waiting would never end.
TEST_F(JsProgramTest, PR4_ARecordingTellsWhenItNeedsNotWait) {
  Create(0);
  tandem_tensor* const x = F32(1 << 20, 1);
  ASSERT_EQ(Record("sum"), "");
  ASSERT_EQ(JsText(tandem_recording_add_input(recording_, x)), "");
  tandem_tensor* const y = Add(x, x);
  ASSERT_EQ(tandem_js_tensor_state(y), TANDEM_PENDING);
  ASSERT_EQ(JsText(tandem_js_recording_ready(js_.get(), recording_, &y, 1, 7)), "");
  EXPECT_TRUE(TakeEvents().empty());
  while (tandem_js_run_tasks(js_.get(), 1000) != 0) continue;
  const std::vector<tandem_js_event> events = TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, static_cast<uint32_t>(TANDEM_JS_READY));
  EXPECT_EQ(events[0].id, 7u);
  EXPECT_EQ(events[0].data, 0u);
  ASSERT_EQ(Finish({y}), "");
  EXPECT_EQ(First(Run("sum", {F32(2, 21)})), 42);
}

TEST_F(JsProgramTest, PR4_LargeConstantsAreWeights) {
  Create(0);
  tandem_tensor* const x = F32(2, 1);
  ASSERT_EQ(Record("main", 4), "");
  ASSERT_EQ(JsText(tandem_recording_add_input(recording_, x)), "");
  ASSERT_EQ(Finish({Add(Add(x, F32(2, 40)), F32(1, 1))}), "");
  const char* name = nullptr;
  tandem_tensor* weight = nullptr;
  ASSERT_EQ(JsText(tandem_js_recording_weight(recording_, 0, &name, &weight)), "");
  EXPECT_STREQ(name, "weight0");
  EXPECT_EQ(First(Keep(weight)), 40);
  ASSERT_EQ(JsText(tandem_js_recording_weight(recording_, 1, &name, &weight)), "");
  EXPECT_EQ(name, nullptr);
  EXPECT_EQ(weight, nullptr);
  EXPECT_EQ(First(Run("main", {F32(2, 1)})), 42);
}

TEST_F(JsProgramTest, ASecondRecordingIsRefused) {
  Create(0);
  ASSERT_EQ(Record(), "");
  tandem_recording* second = nullptr;
  EXPECT_NE(JsText(tandem_js_recording_start(js_.get(), "main", 0, &second)).find("FailedPrecondition"),
            std::string::npos);
  EXPECT_EQ(second, nullptr);
}

TEST_F(JsProgramTest, OutputsOfOthersAreRefused) {
  Create(0);
  ASSERT_EQ(Record(), "");
  EXPECT_NE(Finish({nullptr}).find("output 0 must be a tensor"), std::string::npos);
  tandem_tensor* none = nullptr;
  EXPECT_NE(JsText(tandem_js_recording_ready(js_.get(), recording_, &none, 1, 1)), "");
}

}  // namespace
}  // namespace tandem
