// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface to recordings: which calls become a program, what it computes, and what is wrong with each.

#include <string>
#include <vector>

#include "c_api_test_fixture.h"

namespace tandem {
namespace {

class CApiRecordingTest : public CApiTest {
 protected:
  ~CApiRecordingTest() override {
    tandem_recording_release(recording_);
    tandem_program_release(program_);
  }

  // From here on the calls of the fixture are recorded.
  void Start(const std::vector<tandem_tensor*>& inputs, const tandem_recording_options* options = nullptr) {
    EXPECT_OK(tandem_recording_start(rt_, options, &recording_));
    EXPECT_OK(tandem_recording_device(recording_, nullptr, &call_.device));
    for (const tandem_tensor* input : inputs) EXPECT_OK(tandem_recording_add_input(recording_, input));
  }
  void Finish(const std::vector<tandem_tensor*>& outputs) {
    EXPECT_OK(tandem_recording_finish(recording_, outputs.data(), outputs.size(), &program_));
  }
  tandem_tensor* Call(const char* op, const std::vector<tandem_tensor*>& args) {
    tandem_tensor* result = nullptr;
    EXPECT_OK(Call1(op, args, &result));
    return result;
  }
  std::string Replay(const char* function, const std::vector<tandem_tensor*>& args) {
    tandem_tensor* result = nullptr;
    tandem_status* status = tandem_program_run(program_, function, args.data(), args.size(), nullptr, &result, 1);
    return status != nullptr ? Text(status) : Values(Keep(result));
  }

  tandem_recording* recording_ = nullptr;
  tandem_program* program_ = nullptr;
};

TEST_F(CApiRecordingTest, PR4_CallsReplayWithOtherInputs) {
  tandem_tensor* x = F32({2}, {1, 2});
  tandem_tensor* constant = F32({2}, {10, 20});
  Start({x});
  EXPECT_STREQ(call_.device, "record:cpu");
  tandem_tensor* y = Call("tf.AddV2", {Call("tf.Neg", {x}), constant});
  EXPECT_EQ(Values(y), "f32[2] = [9, 18]") << "calls do what they do otherwise";
  Finish({y});
  EXPECT_STREQ(tandem_program_function(program_, 0), "main");
  size_t num_args = 0, num_results = 0;
  EXPECT_OK(tandem_program_signature(program_, "main", &num_args, &num_results));
  EXPECT_EQ(num_args, 1u);
  EXPECT_EQ(num_results, 1u);
  EXPECT_EQ(Replay("main", {F32({2}, {3, 5})}), "f32[2] = [7, 15]");
}

TEST_F(CApiRecordingTest, PR4_OpsThatAreMadeForTheDeviceAreRecorded) {
  tandem_tensor* x = F32({}, {2});
  Start({x});
  tandem_op* op = nullptr;
  EXPECT_OK(tandem_op_create(rt_, "tf.Neg", call_.device, &op));
  tandem_tensor* y = nullptr;
  EXPECT_OK(tandem_op_execute(op, &x, 1, nullptr, &y, 1));
  Finish({Keep(y)});
  tandem_op_release(op);
  EXPECT_EQ(Replay("main", {F32({}, {7})}), "f32[] = [-7]");
}

TEST_F(CApiRecordingTest, PR4_OtherCallsAreConstants) {
  tandem_tensor* x = F32({}, {2});
  Start({x});
  const char* recorded = call_.device;
  call_.device = nullptr;
  tandem_tensor* other = Call("tf.Neg", {x});
  call_.device = recorded;
  Finish({Call("tf.AddV2", {x, other})});
  EXPECT_EQ(Replay("main", {F32({}, {10})}), "f32[] = [8]");
}

TEST_F(CApiRecordingTest, PR4_EffectsAreRecorded) {
  tandem_tensor* x = F32({}, {2});
  Start({x});
  EXPECT_OK(tandem_chain_create(rt_, &call_.chain));
  EXPECT_OK(tandem_execute(rt_, "test.print", &x, 1, &call_, nullptr, 0));
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  const std::string first = printed_;
  Finish({});
  tandem_call_options options = {};
  options.struct_size = sizeof(options);
  options.chain = call_.chain;
  EXPECT_OK(tandem_program_run(program_, "main", &x, 1, &options, nullptr, 0));
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  EXPECT_NE(first, "");
  EXPECT_EQ(printed_, first + first);
  tandem_chain_release(call_.chain);
  call_.chain = nullptr;
}

TEST_F(CApiRecordingTest, TheFunctionHasItsName) {
  tandem_recording_options options = {};
  options.struct_size = sizeof(options);
  options.function = "negative";
  tandem_tensor* x = F32({}, {2});
  Start({x}, &options);
  Finish({Call("tf.Neg", {x})});
  EXPECT_STREQ(tandem_program_function(program_, 0), "negative");
  EXPECT_EQ(Replay("negative", {F32({}, {1})}), "f32[] = [-1]");
}

TEST_F(CApiRecordingTest, ThereIsOneAtATime) {
  Start({});
  tandem_recording* other = nullptr;
  EXPECT_EQ(Code(tandem_recording_start(rt_, nullptr, &other)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(other, nullptr);
  tandem_recording_release(recording_);
  recording_ = nullptr;
  EXPECT_OK(tandem_recording_start(rt_, nullptr, &recording_));
}

TEST_F(CApiRecordingTest, ItsDeviceStaysUsableWithoutRecording) {
  tandem_tensor* x = F32({}, {2});
  Start({x});
  tandem_recording_release(recording_);
  recording_ = nullptr;
  EXPECT_EQ(Values(Call("tf.Neg", {x})), "f32[] = [-2]");
}

TEST_F(CApiRecordingTest, AnErrorAmongTheOutputsIsThatOfTheRecording) {
  tandem_tensor* x = F32({}, {2});
  Start({x});
  Block();
  tandem_tensor* pending = Call("tf.Neg", {Long()});
  EXPECT_OK(tandem_runtime_cancel(rt_, "enough"));
  EXPECT_OK(tandem_runtime_restart(rt_));
  Unblock();
  EXPECT_EQ(Code(tandem_recording_finish(recording_, &pending, 1, &program_)), TANDEM_CANCELLED);
  EXPECT_EQ(program_, nullptr);
  EXPECT_OK(tandem_recording_finish(recording_, &x, 1, &program_));
}

TEST_F(CApiRecordingTest, NullsAreErrors) {
  tandem_tensor* x = F32({}, {2});
  const char* name = "";
  EXPECT_WRONG(tandem_recording_start(nullptr, nullptr, &recording_));
  EXPECT_WRONG(tandem_recording_start(rt_, nullptr, nullptr));
  tandem_recording_options small = {};
  EXPECT_WRONG(tandem_recording_start(rt_, &small, &recording_));
  EXPECT_WRONG(tandem_recording_device(nullptr, nullptr, &name));
  EXPECT_WRONG(tandem_recording_add_input(nullptr, x));
  EXPECT_WRONG(tandem_recording_finish(nullptr, &x, 1, &program_));
  tandem_recording_release(nullptr);
}

TEST_F(CApiRecordingTest, WhatIsNoTensorOfTheRuntimeIsAnError) {
  tandem_tensor* x = F32({}, {2});
  tandem_tensor* null = nullptr;
  Start({x});
  const char* name = "";
  EXPECT_WRONG(tandem_recording_device(recording_, nullptr, nullptr));
  EXPECT_EQ(Code(tandem_recording_device(recording_, "none", &name)), TANDEM_NOT_FOUND);
  EXPECT_EQ(name, nullptr);
  EXPECT_WRONG(tandem_recording_add_input(recording_, nullptr));
  EXPECT_WRONG(tandem_recording_add_input(recording_, x)) << "it is one already";
  EXPECT_WRONG(tandem_recording_finish(recording_, &null, 1, &program_));
  EXPECT_WRONG(tandem_recording_finish(recording_, nullptr, 1, &program_));
  EXPECT_WRONG(tandem_recording_finish(recording_, &x, SIZE_MAX, &program_));
  EXPECT_WRONG(tandem_recording_finish(recording_, &x, 1, nullptr));
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  tandem_tensor* foreign = nullptr;
  const float value = 1;
  EXPECT_OK(tandem_tensor_create(other, TANDEM_F32, nullptr, 0, &value, sizeof(value), &foreign));
  EXPECT_WRONG(tandem_recording_add_input(recording_, foreign));
  EXPECT_WRONG(tandem_recording_finish(recording_, &foreign, 1, &program_));
  tandem_tensor_release(foreign);
  EXPECT_OK(tandem_runtime_destroy(other));
}

TEST_F(CApiRecordingTest, RecordingsOutliveTheirRuntimeForBeingReleased) {
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  EXPECT_OK(tandem_recording_start(other, nullptr, &recording_));
  EXPECT_OK(tandem_runtime_destroy(other));
  const char* name = nullptr;
  EXPECT_EQ(Code(tandem_recording_device(recording_, nullptr, &name)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_recording_add_input(recording_, F32({}, {1}))), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_recording_finish(recording_, nullptr, 0, &program_)), TANDEM_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace tandem
