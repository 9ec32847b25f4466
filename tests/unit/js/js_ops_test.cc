// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops whose kernels are JavaScript's: calls as events, their ends, and definitions that are wrong (DL-3).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "js_test_fixture.h"
#include "tandem_programs.h"

namespace tandem {
namespace {

class JsOpsTest : public JsTest {
 protected:
  // y = x in shape; attributes n and a.
  tandem_js_op_def Definition() {
    tandem_js_op_def def = {};
    def.name = "my.Op";
    def.inputs = inputs_;
    def.num_inputs = 1;
    def.outputs = outputs_;
    def.num_outputs = 1;
    def.attrs = attrs_;
    def.num_attrs = 3;
    def.shapes = shapes_;
    def.num_shapes = 1;
    def.has_kernel = 1;
    def.id = 7;
    return def;
  }
  std::string Register(const tandem_js_op_def& def) { return JsText(tandem_js_op_register(js_.get(), &def)); }
  tandem_tensor* CallMyOp(tandem_tensor* x, const tandem_call_options* options = nullptr) {
    tandem_tensor* result = nullptr;
    EXPECT_EQ(JsText(tandem_execute(tandem_js_runtime(js_.get()), "my.Op", &x, 1, options, &result, 1)), "");
    return Keep(result);
  }
  tandem_js_call* TakeCall() {
    const auto events = AwaitEvents();
    EXPECT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, uint32_t{TANDEM_JS_CALL});
    EXPECT_EQ(events[0].id, 7u);
    return reinterpret_cast<tandem_js_call*>(events[0].data);
  }

  void TakeDiagnostics() {
    for (const tandem_js_event& event : TakeEvents()) TakeText(event);
  }

  const char* inputs_[1] = {"x: T"};
  const char* outputs_[1] = {"y: T"};
  const char* attrs_[3] = {"T: {float, int32}", "n: int = 2", "a: list(float) = [1.5]"};
  const char* shapes_[1] = {"x"};
};

TEST_F(JsOpsTest, DL3_ACallIsAnEventAndEndsLater) {
  Create(0);
  ASSERT_EQ(Register(Definition()), "");
  tandem_tensor* y = CallMyOp(F32(2, 4));
  EXPECT_EQ(tandem_js_tensor_state(y), TANDEM_PENDING);
  tandem_js_description known;
  tandem_js_describe(y, &known);
  EXPECT_EQ(known.dtype, TANDEM_F32);
  EXPECT_EQ(known.dims[0], 2);
  tandem_tensor* z = Add(y, y);
  tandem_js_call* call = TakeCall();
  EXPECT_EQ(tandem_js_call_num_inputs(call), 1u);
  EXPECT_EQ(tandem_js_call_num_results(call), 1u);
  tandem_tensor* input = nullptr;
  ASSERT_EQ(JsText(tandem_js_call_input(call, 0, &input)), "");
  EXPECT_EQ(First(Keep(input)), 4);
  char* text = nullptr;
  ASSERT_EQ(JsText(tandem_js_call_attrs(call, &text, nullptr)), "");
  EXPECT_EQ(std::string(text), "{\"n\": 2, \"a\": [1.5]}");
  tandem_free(text);
  tandem_js_call_known(call, 0, &known);
  EXPECT_EQ(known.dtype, TANDEM_F32);
  EXPECT_EQ(known.rank, 1);
  EXPECT_EQ(known.dims[0], 2);
  EXPECT_EQ(tandem_js_call_is_cancelled(call), 0u);
  EXPECT_EQ(JsText(tandem_js_call_set_result(call, 0, F32(3, 1))),
            "Internal: kernel must give result 0 as f32[2], gave f32[3]");
  EXPECT_EQ(JsText(tandem_js_call_set_result(call, 0, I32({2}, {1, 2}))),
            "Internal: kernel must give result 0 as f32[2], gave i32[2]");
  EXPECT_EQ(JsText(tandem_js_call_set_result(call, 0, F32(2, 5))), "");
  tandem_js_call_finish(call, TANDEM_OK, "");
  EXPECT_EQ(First(y), 5);
  EXPECT_EQ(First(z), 10);
}

TEST_F(JsOpsTest, DL3_ACallMayFail) {
  Create(0);
  ASSERT_EQ(Register(Definition()), "");
  tandem_call_options options = {};
  options.struct_size = sizeof(options);
  options.location = "page.js:3:4";
  tandem_tensor* y = CallMyOp(F32(2, 4), &options);
  tandem_js_call_finish(TakeCall(), TANDEM_OUT_OF_RANGE, "too far");
  EXPECT_EQ(JsText(tandem_js_tensor_error(y)), "OutOfRange: [my.Op] too far (page.js:3:4)");
  TakeDiagnostics();
  tandem_tensor* without = CallMyOp(F32(2, 4));
  tandem_js_call_finish(TakeCall(), TANDEM_OK, "");
  EXPECT_EQ(JsText(tandem_js_tensor_error(without)), "Internal: [my.Op] kernel gave no value for result 0");
  TakeDiagnostics();
}

TEST_F(JsOpsTest, DL3_ShapesMayComeWithTheResults) {
  Create(0);
  tandem_js_op_def def = Definition();
  def.num_shapes = 0;
  ASSERT_EQ(Register(def), "");
  tandem_tensor* y = CallMyOp(F32(2, 4));
  tandem_js_call* call = TakeCall();
  tandem_js_description known;
  tandem_js_call_known(call, 0, &known);
  EXPECT_EQ(known.dtype, TANDEM_F32);
  EXPECT_EQ(known.rank, -1);
  EXPECT_EQ(JsText(tandem_js_call_set_result(call, 0, F32(5, 1))), "");
  tandem_js_call_finish(call, TANDEM_OK, "");
  tandem_js_describe(y, &known);
  EXPECT_EQ(known.dims[0], 5);
}

TEST_F(JsOpsTest, DL3_ACallKnowsThatItIsCancelled) {
  Create(0);
  ASSERT_EQ(Register(Definition()), "");
  tandem_tensor* y = CallMyOp(F32(2, 4));
  tandem_js_call* call = TakeCall();
  EXPECT_EQ(JsText(tandem_js_cancel(js_.get(), "enough")), "");
  EXPECT_EQ(tandem_js_call_is_cancelled(call), 1u);
  tandem_js_call_finish(call, TANDEM_CANCELLED, "enough");
  EXPECT_EQ(tandem_js_tensor_state(y), TANDEM_ERROR);
  TakeDiagnostics();
}

TEST_F(JsOpsTest, DL3_WorkersCallJavaScriptToo) {
  Create(2);
  ASSERT_EQ(Register(Definition()), "");
  tandem_tensor* x = F32(1 << 20, 1);
  tandem_tensor* y = CallMyOp(Add(x, x));
  tandem_js_call* call = TakeCall();
  EXPECT_EQ(JsText(tandem_js_call_set_result(call, 0, F32(1 << 20, 3))), "");
  tandem_js_call_finish(call, TANDEM_OK, "");
  EXPECT_EQ(First(y), 3);
}

TEST_F(JsOpsTest, DL3_TheRuntimeMayEndDuringACall) {
  Create(0);
  ASSERT_EQ(Register(Definition()), "");
  tandem_tensor* taken = CallMyOp(F32(2, 4));
  TakeCall();
  tandem_tensor* waiting = CallMyOp(F32(2, 4));
  tandem_op_release(add_);
  add_ = nullptr;
  js_.reset();
  EXPECT_EQ(tandem_js_tensor_state(taken), TANDEM_ERROR);
  EXPECT_EQ(tandem_js_tensor_state(waiting), TANDEM_ERROR);
}

TEST_F(JsOpsTest, DL3_WhatFailsHalfWayLeavesNothing) {
  Create(0);
  ASSERT_EQ(Register(Definition()), "");
  EXPECT_EQ(Register(Definition()).substr(0, 14), "AlreadyExists:");
  tandem_js_op_def def = Definition();
  def.name = "my.Other";
  const char* wrong[] = {"q"};
  def.shapes = wrong;
  EXPECT_EQ(
      Register(def),
      "InvalidArgument: op my.Other: shape of y: 'q': expected the name of an input that is one tensor, [sizes] or "
      "broadcast(inputs), got 'q'");
  const char* bad_attrs[] = {"T: {float", "n: wrong"};
  def.shapes = shapes_;
  def.attrs = bad_attrs;
  def.num_attrs = 2;
  EXPECT_EQ(Register(def).substr(0, 16), "InvalidArgument:");
  def = Definition();
  def.name = "my.Other";
  EXPECT_EQ(Register(def), "");
}

// EX-4: defined, but there is nothing that computes it on this device.
TEST_F(JsOpsTest, DL3_AShaderIsNoKernelOfTheCpu) {
  Create(0);
  tandem_js_op_def def = Definition();
  def.has_kernel = 0;
  def.wgsl = "fn element(i: u32) { y[i] = x[i]; }";
  ASSERT_EQ(Register(def), "");
  tandem_tensor* x = F32(2, 4);
  tandem_tensor* result = nullptr;
  const std::string error = JsText(tandem_execute(tandem_js_runtime(js_.get()), "my.Op", &x, 1, nullptr, &result, 1));
  EXPECT_NE(error.find("[my.Op]"), std::string::npos) << error;
  EXPECT_NE(error.find("kernel"), std::string::npos) << error;
  TakeDiagnostics();
}

}  // namespace
}  // namespace tandem
