// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op libraries of the C interface that a program fills itself, and what is wrong with them (DL-1, DL-4, OR-3).

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "c_api_test_fixture.h"
#include "tandem_plugin.h"

namespace tandem {
namespace {

// In WebAssembly a library's kernels are for op handlers of its own alone.
#ifndef __EMSCRIPTEN__

// What the functions of the library are called with.
struct Counts {
  int filled = 0;
  int destroyed = 0;
  bool fails = false;
};
void CountDestroyed(void* user) { ++static_cast<Counts*>(user)->destroyed; }

tandem_status* SameMetadata(const tandem_plugin_api* api, tandem_plugin_call* call, void*) {
  tandem_plugin_tensor x = {};
  x.struct_size = sizeof(x);
  if (tandem_status* error = api->input(call, 0, &x)) return error;
  void* data = nullptr;
  tandem_status* const none = api->allocate_result(call, 0, &data);
  EXPECT_EQ(api->error_code(none), TANDEM_FAILED_PRECONDITION) << "in a metadata function";
  api->release_error(none);
  return api->describe_result(call, 0, x.dtype, x.dims, x.rank);
}

tandem_status* Negate(const tandem_plugin_api* api, tandem_plugin_call* call, void*) {
  tandem_plugin_tensor x = {};
  EXPECT_WRONG(api->input(call, 0, &x)) << "without a struct_size";
  x.struct_size = sizeof(x);
  EXPECT_WRONG(api->input(call, 1, &x));
  EXPECT_WRONG(api->result(call, 1, &x));
  int64_t value = 0;
  EXPECT_WRONG(api->attr_int(api->attr(call, "none"), 0, &value));
  EXPECT_FALSE(api->is_cancelled(call));
  EXPECT_FALSE(api->is_exact(call));
  void* to = nullptr;
  tandem_status* error = api->input(call, 0, &x);
  if (error == nullptr) error = api->allocate_result(call, 0, &to);
  for (int64_t i = 0; error == nullptr && i < x.num_elements; ++i) {
    static_cast<float*>(to)[i] = -static_cast<const float*>(x.data)[i];
  }
  return error;
}

tandem_status* Fill(const tandem_plugin_api* api, tandem_plugin* plugin, void* user) {
  auto* const counts = static_cast<Counts*>(user);
  ++counts->filled;
  const char* const inputs[] = {"x: T", nullptr};
  const char* const outputs[] = {"y: T", nullptr};
  const char* const attrs[] = {"T: {float, double}", nullptr};
  tandem_plugin_op_def op = {};
  op.struct_size = sizeof(op);
  op.name = "mine.Neg";
  op.inputs = inputs;
  op.outputs = outputs;
  op.attrs = attrs;
  op.metadata = &SameMetadata;
  op.user = user;
  op.destroy = &CountDestroyed;
  EXPECT_OK(api->define_op(plugin, &op));
  EXPECT_EQ(Code(api->define_op(plugin, &op)), TANDEM_ALREADY_EXISTS);
  op.struct_size = 8;
  EXPECT_WRONG(api->define_op(plugin, &op));
  tandem_plugin_kernel_def kernel = {};
  kernel.struct_size = sizeof(kernel);
  kernel.op = "mine.Neg";
  kernel.dtypes = TANDEM_DTYPE_BIT(TANDEM_F32);
  kernel.run = &Negate;
  kernel.user = user;
  kernel.destroy = &CountDestroyed;
  EXPECT_OK(api->add_kernel(plugin, &kernel));
  EXPECT_EQ(Code(api->add_kernel(plugin, &kernel)), TANDEM_ALREADY_EXISTS);
  kernel.handler = "nowhere";
  EXPECT_EQ(Code(api->add_kernel(plugin, &kernel)), TANDEM_NOT_FOUND);
  kernel.handler = nullptr;
  kernel.dtypes = uint64_t{1} << 40;
  EXPECT_WRONG(api->add_kernel(plugin, &kernel)) << "no such dtype";
  EXPECT_EQ(Code(api->add_handler(plugin, "cpu", nullptr)), TANDEM_ALREADY_EXISTS);
  return counts->fails ? api->make_error(TANDEM_UNAVAILABLE, "refused") : nullptr;
}

class CApiOpLibraryTest : public CApiTest {
 protected:
  std::string NegOfTwo() {
    tandem_tensor* x = F32({1}, {2});
    tandem_tensor* y = nullptr;
    tandem_status* const error = tandem_execute(rt_, "mine.Neg", &x, 1, nullptr, &y, 1);
    if (error != nullptr) return Text(error);
    char* text = nullptr;
    EXPECT_OK(tandem_tensor_text(Keep(y), 1, &text));
    const std::string copy = text;
    tandem_free(text);
    return copy;
  }
  std::string Run(const tandem_program* program, const std::vector<float>& values) {
    tandem_tensor* x = F32({static_cast<int64_t>(values.size())}, values);
    tandem_tensor* y = nullptr;
    tandem_status* const error = tandem_program_run(program, "main", &x, 1, nullptr, &y, 1);
    return error != nullptr ? Text(error) : Values(Keep(y));
  }

  Counts counts_;
  tandem_op_library* library_ = nullptr;
};

TEST_F(CApiOpLibraryTest, DL1_AProgramAddsOpsOfItsOwn) {
  EXPECT_OK(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, nullptr, &library_));
  EXPECT_EQ(counts_.filled, 1);
  EXPECT_EQ(counts_.destroyed, 4) << "of what could not be added; a struct that cannot be read has none";
  EXPECT_EQ(NegOfTwo(), "f32[1] = [-2]");
  tandem_chain* unloaded = nullptr;
  EXPECT_OK(tandem_op_library_unload(library_, &unloaded));
  EXPECT_OK(tandem_chain_await(unloaded, TANDEM_FOREVER));
  tandem_chain_release(unloaded);
  EXPECT_EQ(counts_.destroyed, 6);
  EXPECT_NE(NegOfTwo().find("op mine.Neg is not defined"), std::string::npos);
}

// What plug-ins add is recorded and replayed as anything else, by programs that were read, too; they keep what they
// were loaded with.
TEST_F(CApiOpLibraryTest, PR4_OpsOfALibraryAreRecordedAndReplayed) {
  EXPECT_OK(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, nullptr, &library_));
  tandem_tensor* x = F32({2}, {1, -2});
  tandem_recording* recording = nullptr;
  EXPECT_OK(tandem_recording_start(rt_, nullptr, &recording));
  EXPECT_OK(tandem_recording_device(recording, nullptr, &call_.device));
  EXPECT_OK(tandem_recording_add_input(recording, x));
  // Between ops that a program computes as one.
  tandem_tensor* y = nullptr;
  EXPECT_OK(Call1("tf.AddV2", {x, x}, &y));
  EXPECT_OK(Call1("tf.Square", {y}, &y));
  EXPECT_OK(Call1("mine.Neg", {y}, &y));
  EXPECT_OK(Call1("tf.AddV2", {y, x}, &y));
  EXPECT_EQ(Values(y), "f32[2] = [-3, -18]");
  tandem_program* recorded = nullptr;
  EXPECT_OK(tandem_recording_finish(recording, &y, 1, &recorded));
  tandem_recording_release(recording);
  void* bytes = nullptr;
  size_t size = 0;
  EXPECT_OK(tandem_program_bytes(recorded, &bytes, &size));
  tandem_program* loaded = nullptr;
  EXPECT_OK(tandem_program_load(rt_, bytes, size, nullptr, nullptr, &loaded));
  EXPECT_EQ(Run(recorded, {3, 0}), "f32[2] = [-33, 0]");
  EXPECT_EQ(Run(loaded, {3, 0}), "f32[2] = [-33, 0]");

  EXPECT_OK(tandem_op_library_unload(std::exchange(library_, nullptr), nullptr));
  EXPECT_EQ(Run(loaded, {3, 0}), "f32[2] = [-33, 0]") << "loaded before";
  const int before = counts_.destroyed;
  tandem_program_release(loaded);
  tandem_program_release(recorded);
  EXPECT_EQ(counts_.destroyed, before + 2) << "the definition and the kernel";
  tandem_status* const error = tandem_program_load(rt_, bytes, size, nullptr, nullptr, &loaded);
  EXPECT_EQ(tandem_status_code(error), TANDEM_NOT_FOUND);
  EXPECT_STREQ(tandem_status_op(error), "mine.Neg");
  tandem_status_release(error);
  EXPECT_OK(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, nullptr, &library_));
  EXPECT_OK(tandem_program_load(rt_, bytes, size, nullptr, nullptr, &loaded));
  EXPECT_EQ(Run(loaded, {3, 0}), "f32[2] = [-33, 0]");
  tandem_program_release(loaded);
  EXPECT_OK(tandem_op_library_unload(library_, nullptr));
  tandem_free(bytes);
}

TEST_F(CApiOpLibraryTest, DL4_WhatFailsLeavesNothing) {
  counts_.fails = true;
  tandem_status* const error =
      tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, "place:1", &library_);
  EXPECT_EQ(tandem_status_code(error), TANDEM_UNAVAILABLE);
  EXPECT_STREQ(tandem_status_message(error), "refused");
  EXPECT_STREQ(tandem_status_location(error), "place:1");
  tandem_status_release(error);
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(counts_.destroyed, 6);
  EXPECT_NE(NegOfTwo().find("op mine.Neg is not defined"), std::string::npos);
}

TEST_F(CApiOpLibraryTest, DL4_WrongArguments) {
  EXPECT_EQ(Code(tandem_op_library_create(rt_, 99, &Fill, &counts_, nullptr, &library_)), TANDEM_FAILED_PRECONDITION);
  EXPECT_WRONG(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, nullptr, nullptr, nullptr, &library_));
  EXPECT_WRONG(tandem_op_library_create(rt_, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, nullptr, nullptr));
  EXPECT_WRONG(tandem_op_library_load(nullptr, "x.so", nullptr, &library_));
  EXPECT_EQ(counts_.filled, 0);
  EXPECT_OK(tandem_op_library_unload(nullptr, nullptr));
  EXPECT_WRONG(tandem_op_library_load(rt_, nullptr, nullptr, &library_));
  EXPECT_EQ(Text(tandem_op_library_load(rt_, "/nowhere/none.so", "place:2", &library_)),
            "NotFound: expected the op library /nowhere/none.so: No such file or directory (place:2)");
}

TEST_F(CApiOpLibraryTest, OR3_LibrariesEndWithTheirRuntime) {
  tandem_runtime* other = nullptr;
  EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
  EXPECT_OK(tandem_op_library_create(other, TANDEM_PLUGIN_ABI_VERSION, &Fill, &counts_, nullptr, &library_));
  EXPECT_OK(tandem_runtime_destroy(other));
  EXPECT_EQ(counts_.destroyed, 6);
  EXPECT_OK(tandem_op_library_unload(library_, nullptr));
}

#endif  // __EMSCRIPTEN__

}  // namespace
}  // namespace tandem
