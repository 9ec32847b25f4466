// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers over devices by the C interface: what they do to calls, what they have found, and what is wrong with texts
// (OH-4).

#include <string>
#include <vector>

#include "c_api_test_fixture.h"
#include "tandem_plugin.h"

namespace tandem {
namespace {

// Of an op handler whose tf.Neg gives its argument.
tandem_status* KeepArgument(const tandem_plugin_api* api, tandem_plugin_call* call, void*) {
  tandem_plugin_tensor x = {};
  x.struct_size = sizeof(x);
  tandem_status* error = api->input(call, 0, &x);
  void* to = nullptr;
  if (error == nullptr) error = api->allocate_result(call, 0, &to);
  for (int64_t i = 0; error == nullptr && i < x.num_elements; ++i) {
    static_cast<float*>(to)[i] = static_cast<const float*>(x.data)[i];
  }
  return error;
}

tandem_status* AddWrongHandler(const tandem_plugin_api* api, tandem_plugin* plugin, void*) {
  if (tandem_status* error = api->add_handler(plugin, "wrong", nullptr)) return error;
  tandem_plugin_kernel_def kernel = {};
  kernel.struct_size = sizeof(kernel);
  kernel.handler = "wrong";
  kernel.op = "tf.Neg";
  kernel.dtypes = TANDEM_DTYPE_BIT(TANDEM_F32);
  kernel.run = &KeepArgument;
  return api->add_kernel(plugin, &kernel);
}

class CApiLayersTest : public CApiTest {
 protected:
  ~CApiLayersTest() override { tandem_op_library_unload(library_, nullptr); }

  // From here on calls of the fixture go through the layers.
  void Use(const char* text) {
    EXPECT_OK(tandem_layers_add(rt_, text));
    call_.device = text;
  }
  void AddWrong() {
    EXPECT_OK(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &AddWrongHandler, nullptr, nullptr, &library_));
  }
  std::string Call(const char* op, const std::vector<tandem_tensor*>& args) {
    tandem_tensor* result = nullptr;
    tandem_status* const error = Call1(op, args, &result);
    return error != nullptr ? Text(error) : Values(result);
  }
  std::string Json(tandem_status* (*read)(tandem_runtime*, char**, size_t*)) {
    EXPECT_OK(tandem_runtime_settle(rt_));
    char* text = nullptr;
    size_t size = 0;
    EXPECT_OK(read(rt_, &text, &size));
    const std::string json = text;
    EXPECT_EQ(json.size(), size);
    tandem_free(text);
    return json;
  }
  void ExpectHas(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  tandem_op_library* library_ = nullptr;
};

TEST_F(CApiLayersTest, OH4_AProfileCountsCallsUntilItIsReset) {
  Use("profile:cpu");
  Call("tf.AddV2", {F32({3}, {1, 2, 3}), F32({3}, {1, 2, 3})});
  Call("tf.AddV2", {F32({3}, {1, 2, 3}), F32({}, {1})});
  Call("tf.AddV2", {F32({3}, {1, 2, 3}), F32({2}, {1, 2})});
  const std::string json = Json(&tandem_layers_profile);
  const std::string counts =
      R"([{"op": "tf.AddV2", "dtype": "f32", "calls": 3, "pending": 0, "errors": 1, "dropped": 0, "result_bytes": 24, )"
      R"("call": {"count": 3, "total": )";
  EXPECT_EQ(json.substr(0, counts.size()), counts);
  ExpectHas(json, R"("results": {"count": 3, "total": )");
  ExpectHas(json, R"("min": )");
  EXPECT_EQ(json.substr(json.size() - 3), "}}]");
  EXPECT_OK(tandem_layers_reset_profile(rt_));
  EXPECT_EQ(Json(&tandem_layers_profile), "[]");
}

TEST_F(CApiLayersTest, OH4_ANanGuardMakesResultsErrors) {
  Use("nan-guard:cpu");
  call_.location = "here.c:7:1";
  EXPECT_EQ(Call("tf.Log", {F32({2}, {1, -1})}),
            "OutOfRange: [tf.Log] result 0 must be without NaN, got nan at [1] of f32[2] (here.c:7:1)");
  EXPECT_EQ(Call("tf.Log", {F32({}, {0})}), "f32[] = [-inf]");
  EXPECT_EQ(Json(&tandem_layers_nan_guard),
            R"([{"op": "tf.Log", "location": "here.c:7:1", "result": 0, "metadata": "f32[2]", "element": 1, )"
            R"("value": "nan", "message": "[tf.Log] result 0 must be without NaN, got nan at [1] of f32[2]"}])");
}

TEST_F(CApiLayersTest, OH4_ANanGuardMayOnlyTell) {
  Use("nan-guard{report,infinities}:cpu");
  EXPECT_EQ(Call("tf.Log", {F32({}, {0})}), "f32[] = [-inf]");
  ExpectHas(Json(&tandem_layers_nan_guard), R"("value": "-inf")");
  for (int i = 0; i < 100; ++i) Call("tf.Log", {F32({}, {0})});
  size_t count = 0;
  const std::string json = Json(&tandem_layers_nan_guard);
  for (size_t at = 0; (at = json.find("\"op\"", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 64u);
}

TEST_F(CApiLayersTest, OH4_AShadowComparesWithAnotherDevice) {
  Use("shadow:cpu|cpu");
  EXPECT_EQ(Call("tf.Neg", {F32({2}, {1, -2})}), "f32[2] = [-1, 2]");
  EXPECT_EQ(Json(&tandem_layers_shadow),
            R"({"equal": 1, "diverged": 0, "pending": 0, "skipped": {}, "divergences": []})");
}

// In WebAssembly a library's kernels come from the module alone.
#ifndef __EMSCRIPTEN__
TEST_F(CApiLayersTest, OH4_AShadowNamesTheOpThatIsWrong) {
  AddWrong();
  Use("shadow:cpu|wrong");
  EXPECT_EQ(Call("tf.Neg", {F32({2}, {0, 1})}), "f32[2] = [-0, -1]");
  EXPECT_EQ(Call("tf.Abs", {F32({2}, {0, -1})}), "f32[2] = [0, 1]");
  const std::string json = Json(&tandem_layers_shadow);
  const std::string begin =
      R"({"equal": 1, "diverged": 1, "pending": 0, "skipped": {}, "divergences": [{"op": "tf.Neg", "location": "", )"
      R"("call": 1, "result": 0, "element": 1, "actual": "-1", "expected": "1", "error": 2, "ulp": )";
  EXPECT_EQ(json.substr(0, begin.size()), begin);
  ExpectHas(json, R"("largest_error": 2, "num_different": 1, "metadata": "f32[2]", "attrs": "", "inputs": "f32[2]", )");
}

TEST_F(CApiLayersTest, OH4_AShadowHasTolerancesAndMayFail) {
  AddWrong();
  Use("shadow{fail}:cpu|wrong");
  ExpectHas(Call("tf.Neg", {F32({}, {1})}), "DataLoss: [tf.Neg]");
  Use("shadow{fail,abs=2}:cpu|wrong");
  EXPECT_EQ(Call("tf.Neg", {F32({}, {1})}), "f32[] = [-1]");
}
#endif  // __EMSCRIPTEN__

TEST_F(CApiLayersTest, OH4_LayersAreStacked) {
  Use("profile:(nan-guard:(shadow:cpu|cpu))");
  ExpectHas(Call("tf.Log", {F32({}, {-1})}), "OutOfRange");
  ExpectHas(Json(&tandem_layers_profile),
            R"({"op": "tf.Log", "dtype": "f32", "calls": 1, "pending": 0, "errors": 1, )");
  ExpectHas(Json(&tandem_layers_shadow), R"("equal": 1)");
  Use("log{elements=1}:cpu");
  Call("tf.Neg", {F32({2}, {3, 4})});
  EXPECT_OK(tandem_runtime_settle(rt_));
  ExpectHas(printed_, "f32[2] = [-3, ...]");
}

TEST_F(CApiLayersTest, OH4_RecordingsAreUnderLayersAndOverThem) {
  Use("profile:cpu");
  tandem_tensor* x = F32({}, {2});
  tandem_recording* recording = nullptr;
  EXPECT_OK(tandem_recording_start(rt_, nullptr, &recording));
  EXPECT_OK(tandem_recording_add_input(recording, x));
  const char* device = nullptr;
  EXPECT_OK(tandem_recording_device(recording, "cpu", &device));
  EXPECT_STREQ(device, "record:cpu");
  Use("profile:record:cpu");
  tandem_tensor* y = nullptr;
  EXPECT_OK(Call1("tf.Neg", {x}, &y));
  EXPECT_OK(tandem_recording_device(recording, "profile:cpu", &device));
  EXPECT_STREQ(device, "record:profile:cpu");
  call_.device = device;
  tandem_tensor* z = nullptr;
  EXPECT_OK(Call1("tf.Exp", {y}, &z));
  tandem_program* program = nullptr;
  EXPECT_OK(tandem_recording_finish(recording, &z, 1, &program));
  const std::string json = Json(&tandem_layers_profile);
  ExpectHas(json, R"("op": "tf.Neg")");
  ExpectHas(json, R"("op": "tf.Exp")");
  tandem_tensor* zero = F32({}, {0});
  tandem_tensor* result = nullptr;
  EXPECT_OK(tandem_program_run(program, "main", &zero, 1, nullptr, &result, 1));
  EXPECT_EQ(Values(Keep(result)), "f32[] = [1]");
  tandem_program_release(program);
  tandem_recording_release(recording);
}

TEST_F(CApiLayersTest, ProgramsRunThroughLayers) {
  EXPECT_OK(tandem_layers_add(rt_, "profile:cpu"));
  const std::string text =
      "func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {\n"
      "  %cpu = corert.get_op_handler(\"cpu\")\n"
      "  %y = corert.executeop(%cpu) \"tf.Neg\"(%x)\n"
      "  %z = corert.executeop(%cpu) \"tf.Abs\"(%y)\n"
      "  tfrt.return %z : !corert.tensorhandle\n"
      "}\n";
  tandem_program_options options = {};
  options.struct_size = sizeof(options);
  options.device = "profile:cpu";
  tandem_program* program = nullptr;
  EXPECT_OK(tandem_program_load(rt_, text.data(), text.size(), nullptr, &options, &program));
  tandem_tensor* x = F32({}, {2});
  tandem_tensor* result = nullptr;
  EXPECT_OK(tandem_program_run(program, "main", &x, 1, nullptr, &result, 1));
  EXPECT_EQ(Values(Keep(result)), "f32[] = [2]");
  const std::string json = Json(&tandem_layers_profile);
  ExpectHas(json, R"("op": "tf.Neg")");
  ExpectHas(json, R"("op": "tf.Abs")");
  tandem_program_release(program);
}

TEST_F(CApiLayersTest, ARuntimeMayHaveThemFromTheStart) {
  options_.device = "profile:nan-guard:cpu";
  tandem_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &runtime)), "");
  const float one = 1;
  tandem_tensor* x = nullptr;
  tandem_tensor* y = nullptr;
  EXPECT_OK(tandem_tensor_create(runtime, TANDEM_F32, nullptr, 0, &one, sizeof(one), &x));
  EXPECT_OK(tandem_execute(runtime, "tf.Neg", &x, 1, nullptr, &y, 1));
  char* json = nullptr;
  EXPECT_OK(tandem_layers_profile(runtime, &json, nullptr));
  ExpectHas(json, "tf.Neg");
  tandem_free(json);
  tandem_tensor_release(x);
  tandem_tensor_release(y);
  EXPECT_OK(tandem_runtime_destroy(runtime));
  options_.device = "profile:tpu";
  EXPECT_EQ(Code(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &runtime)), TANDEM_NOT_FOUND);
  EXPECT_EQ(runtime, nullptr);
}

TEST_F(CApiLayersTest, WithoutLayersNothingIsFound) {
  EXPECT_EQ(Json(&tandem_layers_profile), "[]");
  EXPECT_EQ(Json(&tandem_layers_nan_guard), "[]");
  const std::string none = Json(&tandem_layers_shadow);
  EXPECT_OK(tandem_layers_reset_profile(rt_));
  EXPECT_OK(tandem_layers_add(rt_, "cpu"));
  EXPECT_EQ(Json(&tandem_layers_shadow), none);
}

TEST_F(CApiLayersTest, WrongTextsAndNullsAreErrors) {
  EXPECT_EQ(
      Text(tandem_layers_add(rt_, "fast:cpu")),
      "NotFound: expected one of the layers log, nan-guard, profile, shadow and substitute, got \"fast\" at offset 0");
  EXPECT_EQ(Code(tandem_layers_add(rt_, "profile:npu")), TANDEM_NOT_FOUND);
  EXPECT_EQ(Code(tandem_layers_add(rt_, "profile:record:cpu")), TANDEM_NOT_FOUND);
  EXPECT_WRONG(tandem_layers_add(rt_, ""));
  EXPECT_WRONG(tandem_layers_add(rt_, "shadow:cpu"));
  EXPECT_WRONG(tandem_layers_add(rt_, "shadow{ulp=x}:cpu|cpu"));
  EXPECT_WRONG(tandem_layers_add(rt_, nullptr));
  EXPECT_WRONG(tandem_layers_add(nullptr, "profile:cpu"));
  EXPECT_WRONG(tandem_layers_reset_profile(nullptr));
  for (const auto read : {&tandem_layers_profile, &tandem_layers_shadow, &tandem_layers_nan_guard}) {
    char* json = printed_.data();
    EXPECT_WRONG(read(nullptr, &json, nullptr));
    EXPECT_EQ(json, nullptr);
    EXPECT_WRONG(read(rt_, nullptr, nullptr));
  }
  call_.device = "profile:cpu";
  tandem_tensor* result = nullptr;
  EXPECT_EQ(Code(Call1("tf.Neg", {F32({}, {1})}, &result)), TANDEM_NOT_FOUND) << "of layers that nobody added";
}

}  // namespace
}  // namespace tandem
