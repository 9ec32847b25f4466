// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface: what its functions do, and who owns what.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "c_api_test_fixture.h"
#include "objects.h"

namespace tandem {
namespace {

TEST_F(CApiTest, Versions) {
  EXPECT_EQ(tandem_abi_version(), uint32_t{TANDEM_ABI_VERSION});
  EXPECT_STRNE(tandem_version(), "");
  tandem_runtime* other = rt_;
  EXPECT_EQ(Code(tandem_runtime_create(TANDEM_ABI_VERSION + 1, nullptr, &other)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(other, nullptr);
}

TEST_F(CApiTest, CallsByNameAndByMadeOp) {
  tandem_tensor* x = F32({2, 2}, {1, 2, 3, 4});
  tandem_tensor* sum = nullptr;
  EXPECT_OK(Call1("tf.AddV2", {x, x}, &sum));
  EXPECT_EQ(Values(sum), "f32[2,2] = [2, 4, 6, 8]");
  tandem_op* op = nullptr;
  ASSERT_EQ(Text(tandem_op_create(rt_, "tf.MatMul", nullptr, &op)), "");
  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  EXPECT_EQ(tandem_attrs_set_bool(attrs, "transpose_b", 1), TANDEM_OK);
  call_.attrs = attrs;
  tandem_tensor* args[] = {x, x};
  tandem_tensor* product = nullptr;
  EXPECT_OK(tandem_op_execute(op, args, 2, &call_, &product, 1));
  tandem_attrs_release(attrs);
  tandem_op_release(op);
  EXPECT_EQ(Values(Keep(product)), "f32[2,2] = [5, 11, 11, 25]");
}

TEST_F(CApiTest, DtypeShapeAndDataCanBeRead) {
  tandem_tensor* x = F32({3, 1}, {1, 2, 3});
  tandem_dtype dtype = 0;
  EXPECT_OK(tandem_tensor_dtype(x, &dtype));
  EXPECT_EQ(dtype, TANDEM_F32);
  int64_t dims[TANDEM_MAX_RANK] = {};
  size_t rank = 0;
  EXPECT_OK(tandem_tensor_shape(x, dims, TANDEM_MAX_RANK, &rank));
  EXPECT_EQ(rank, 2u);
  EXPECT_EQ(dims[0], 3);
  EXPECT_EQ(dims[1], 1);
  EXPECT_OK(tandem_tensor_shape(x, nullptr, 0, &rank));
  EXPECT_EQ(rank, 2u);
  EXPECT_WRONG(tandem_tensor_shape(x, dims, 1, &rank));
  const void* data = nullptr;
  size_t size = 0;
  EXPECT_OK(tandem_tensor_data(x, &data, &size));
  ASSERT_EQ(size, 3 * sizeof(float));
  EXPECT_EQ(static_cast<const float*>(data)[2], 3.0f);
}

TEST_F(CApiTest, ElementsOfOtherRepresentationsAreShownDense) {
  const int32_t three = 3;
  const int64_t one_dim = 1;
  tandem_tensor* dims = nullptr;
  EXPECT_OK(tandem_tensor_create(rt_, TANDEM_I32, &one_dim, 1, &three, sizeof(three), &dims));
  tandem_tensor* filled = nullptr;
  EXPECT_OK(Call1("tf.Fill", {Keep(dims), F32({}, {7})}, &filled));
  const void* data = nullptr;
  const void* again = nullptr;
  size_t size = 0;
  EXPECT_OK(tandem_tensor_data(filled, &data, &size));
  EXPECT_OK(tandem_tensor_data(filled, &again, nullptr));
  ASSERT_EQ(size, 3 * sizeof(float));
  EXPECT_EQ(static_cast<const float*>(data)[2], 7.0f);
  EXPECT_EQ(again, data);
}

TEST_F(CApiTest, StringsMayHaveNuls) {
  const char* strings[] = {"one", "t\0o", nullptr};
  const size_t sizes[] = {3, 3, 0};
  const int64_t dim = 3;
  tandem_tensor* tensor = nullptr;
  EXPECT_OK(tandem_tensor_create_strings(rt_, &dim, 1, strings, sizes, 3, &tensor));
  Keep(tensor);
  const char* data = nullptr;
  size_t size = 0;
  EXPECT_OK(tandem_tensor_string(tensor, 1, &data, &size));
  EXPECT_EQ(std::string(data, size), std::string("t\0o", 3));
  EXPECT_WRONG(tandem_tensor_string(tensor, 3, &data, &size));
  EXPECT_WRONG(tandem_tensor_string(tensor, -1, &data, &size));
  EXPECT_WRONG(tandem_tensor_string(F32({}, {1}), 0, &data, &size));
  const void* elements = nullptr;
  EXPECT_WRONG(tandem_tensor_data(tensor, &elements, nullptr));
  EXPECT_WRONG(tandem_tensor_create_strings(rt_, &dim, 1, strings, nullptr, 3, &tensor));
  EXPECT_WRONG(tandem_tensor_create_strings(rt_, &dim, 1, strings, sizes, 2, &tensor));
}

TEST_F(CApiTest, WrappedMemoryIsReleasedOnce) {
  alignas(8) float memory[4] = {1, 2, 3, 4};
  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  const int64_t dim = 4;
  tandem_tensor* x = nullptr;
  ASSERT_EQ(Text(tandem_tensor_wrap(rt_, TANDEM_F32, &dim, 1, memory, sizeof(memory), release, &released, &x)), "");
  const void* data = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &data, nullptr));
  EXPECT_EQ(data, memory);
  tandem_tensor* copy = nullptr;
  EXPECT_OK(tandem_tensor_copy(x, &copy));
  tandem_tensor_release(x);
  EXPECT_EQ(released, 0);
  tandem_tensor_release(copy);
  EXPECT_EQ(released, 1);
  EXPECT_WRONG(tandem_tensor_wrap(rt_, TANDEM_F32, &dim, 1, memory, 3, release, &released, &x));
  EXPECT_EQ(released, 2) << "also if it fails";
  EXPECT_WRONG(
      tandem_tensor_wrap(rt_, TANDEM_F32, &dim, 1, reinterpret_cast<char*>(memory) + 1, 16, release, &released, &x));
  EXPECT_WRONG(tandem_tensor_wrap(nullptr, TANDEM_F32, &dim, 1, memory, 16, release, &released, &x));
  EXPECT_WRONG(tandem_tensor_wrap(rt_, TANDEM_F32, &dim, 1, memory, 16, release, &released, nullptr));
  EXPECT_EQ(released, 5);
}

TEST_F(CApiTest, ConsumedArgumentsGiveTheirMemory) {
  tandem_tensor* x = NewF32({64}, std::vector<float>(64, 1));
  const void* before = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &before, nullptr));
  call_.flags = TANDEM_CONSUME_ARGUMENTS;
  tandem_tensor* y = nullptr;
  EXPECT_OK(Call1("tf.Neg", {x}, &y));
  const void* after = nullptr;
  EXPECT_OK(tandem_tensor_data(y, &after, nullptr));
  EXPECT_EQ(after, before);
}

TEST_F(CApiTest, ATensorIsConsumedOnceThoughItComesTwice) {
  call_.flags = TANDEM_CONSUME_ARGUMENTS;
  tandem_tensor* x = NewF32({2}, {1, 2});
  tandem_tensor* y = nullptr;
  EXPECT_OK(Call1("tf.AddV2", {x, x}, &y));
  EXPECT_EQ(Values(y), "f32[2] = [2, 4]");
}

TEST_F(CApiTest, ArgumentsOfACallThatFailsAreConsumedToo) {
  call_.flags = TANDEM_CONSUME_ARGUMENTS;
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Code(Call1("tf.NoSuchOp", {NewF32({2}, {1, 2})}, &y)), TANDEM_NOT_FOUND);
  EXPECT_WRONG(Call1("tf.AddV2", {NewF32({2}, {1, 2}), nullptr}, &y));
  EXPECT_WRONG(Call1(nullptr, {NewF32({2}, {1, 2})}, &y));
}

TEST_F(CApiTest, AnErrorTellsAll) {
  call_.location = "model.py:12:7";
  tandem_tensor* y = reinterpret_cast<tandem_tensor*>(this);
  tandem_status* status = Call1("tf.MatMul", {F32({2, 3}, std::vector<float>(6)), F32({2}, {1, 2})}, &y);
  EXPECT_EQ(y, nullptr);
  EXPECT_EQ(tandem_status_code(status), TANDEM_INVALID_ARGUMENT);
  EXPECT_STREQ(tandem_code_name(tandem_status_code(status)), "InvalidArgument");
  EXPECT_STREQ(tandem_status_op(status), "tf.MatMul");
  EXPECT_STREQ(tandem_status_location(status), "model.py:12:7");
  const std::string message = tandem_status_message(status);
  EXPECT_EQ(message.rfind("[tf.MatMul] ", 0), 0u) << message;
  EXPECT_EQ(Text(status), "InvalidArgument: " + message + " (model.py:12:7)");
  EXPECT_EQ(num_told_, 1);
}

TEST_F(CApiTest, LocationsAreAnyText) {
  const char* texts[] = {"a.c:3", "C:\\a.c", "somewhere", ":1:2", "a.c:0:1", "a.c:99999999999:1", "x:1:2:3"};
  for (const char* text : texts) {
    call_.location = text;
    tandem_tensor* y = nullptr;
    tandem_status* status = Call1("tf.NoSuchOp", {}, &y);
    EXPECT_STREQ(tandem_status_location(status), text);
    tandem_status_release(status);
  }
}

// A program may make locations up; the memory for them is bounded.
TEST_F(CApiTest, LocationsAreBounded) {
  const auto location_of_call = [&](const std::string& text) {
    call_.location = text.c_str();
    tandem_tensor* y = nullptr;
    tandem_status* status = Call1("tf.Neg", {}, &y);  // wants an argument
    std::string location = tandem_status_location(status);
    tandem_status_release(status);
    return location;
  };
  const std::string end(1024, 'e');
  EXPECT_EQ(location_of_call("begin" + end), end);
  // With the one above.
  for (int i = 1; i < 65536; ++i) ASSERT_EQ(location_of_call("f.c:" + std::to_string(i)), "f.c:" + std::to_string(i));
  EXPECT_EQ(location_of_call("g.c:1"), "unknown: more than 65536 locations were given");
  EXPECT_EQ(location_of_call("f.c:17"), "f.c:17");
}

TEST_F(CApiTest, NoErrorIsEmpty) {
  EXPECT_EQ(tandem_status_code(nullptr), TANDEM_OK);
  EXPECT_STREQ(tandem_status_message(nullptr), "");
  EXPECT_STREQ(tandem_status_op(nullptr), "");
  EXPECT_STREQ(tandem_status_location(nullptr), "");
  EXPECT_STREQ(tandem_status_text(nullptr), "");
  EXPECT_EQ(tandem_status_cause(nullptr), nullptr);
  EXPECT_STREQ(tandem_code_name(-1), "Unknown");
  EXPECT_STREQ(tandem_code_name(1000), "Unknown");
}

TEST_F(CApiTest, AttributesOfEveryKind) {
  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  const int64_t ints[] = {1, 2};
  const float floats[] = {1, 2};
  const uint8_t bools[] = {0, 2};
  const char* strings[] = {"a", "b"};
  const tandem_dtype dtypes[] = {TANDEM_F32, TANDEM_STRING};
  const size_t ranks[] = {1, 0};
  tandem_attrs* nested = nullptr;
  EXPECT_OK(tandem_attrs_create(&nested));
  EXPECT_EQ(tandem_attrs_set_int(nested, "x", 1), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_bool(attrs, "bool", 1), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_int(attrs, "int", 1), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_float(attrs, "float", 1), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_string(attrs, "string", "text", 4), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_dtype(attrs, "dtype", TANDEM_F32), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_shape(attrs, "shape", ints, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_tensor(attrs, "tensor", TANDEM_F32, ints + 1, 1, floats, 8), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_function(attrs, "function", "f"), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_attrs(attrs, "attrs", nested), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_bools(attrs, "bools", bools, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_ints(attrs, "ints", ints, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_floats(attrs, "floats", floats, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_strings(attrs, "strings", strings, nullptr, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_dtypes(attrs, "dtypes", dtypes, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_shapes(attrs, "shapes", ints, ranks, 2), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_ints(attrs, "none", nullptr, 0), TANDEM_OK);
  EXPECT_OK(tandem_attrs_status(attrs));
  tandem_attrs_release(nested);
  tandem_attrs_release(attrs);
}

TEST_F(CApiTest, StructsOfNewerHeadersAreRead) {
  struct {
    tandem_call_options known;
    uint64_t more;
  } newer = {};
  newer.known.struct_size = sizeof(newer);
  newer.known.flags = TANDEM_CONSUME_ARGUMENTS;
  tandem_tensor* x = NewF32({}, {1});
  tandem_tensor* y = nullptr;
  EXPECT_OK(tandem_execute(rt_, "tf.Neg", &x, 1, &newer.known, &y, 1));
  EXPECT_EQ(Values(Keep(y)), "f32[] = [-1]");
}

// A program compiled with the first header does not know `device`.
TEST_F(CApiTest, OptionsOfTheFirstHeaderAreRead) {
  tandem_runtime_options older = options_;
  older.struct_size = offsetof(tandem_runtime_options, device);
  older.device = "not read";
  tandem_runtime* other = nullptr;
  EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &older, &other));
  EXPECT_OK(tandem_runtime_destroy(other));
}

TEST_F(CApiTest, NU3_ARuntimeMayBeExact) {
  for (const int32_t exact : {0, 1}) {
    tandem_runtime* other = nullptr;
    options_.exact = exact;
    EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
    EXPECT_EQ(other->running()->host().is_exact(), exact != 0);
    EXPECT_OK(tandem_runtime_destroy(other));
  }
  // Programs that know no such member get what they had.
  tandem_runtime_options older = options_;
  older.struct_size = offsetof(tandem_runtime_options, exact);
  tandem_runtime* other = nullptr;
  EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &older, &other));
  EXPECT_FALSE(other->running()->host().is_exact());
  EXPECT_OK(tandem_runtime_destroy(other));
}

TEST_F(CApiTest, PR6_ARuntimeMayComputeEachOpByItself) {
  for (const int32_t no_fusion : {0, 1}) {
    tandem_runtime* other = nullptr;
    options_.no_fusion = no_fusion;
    EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
    EXPECT_EQ(other->running()->host().fuses(), no_fusion == 0);
    EXPECT_OK(tandem_runtime_destroy(other));
  }
}

TEST_F(CApiTest, TheCpuIsADeviceThatCanBeChosen) {
  tandem_runtime* other = nullptr;
  options_.device = "cpu";
  EXPECT_OK(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
  EXPECT_OK(tandem_runtime_add_device(other, "cpu")) << "which it is already";
  EXPECT_OK(tandem_runtime_destroy(other));
  // What is there already is not copied (TH-6).
  tandem_tensor* x = F32({4, 8}, std::vector<float>(32, 1.0f));
  const void* before = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &before, nullptr));
  for (const char* device : {"cpu", static_cast<const char*>(nullptr)}) {
    tandem_tensor* there = nullptr;
    EXPECT_OK(tandem_tensor_transfer(x, device, &there));
    const void* data = nullptr;
    EXPECT_OK(tandem_tensor_data(Keep(there), &data, nullptr));
    EXPECT_EQ(data, before);
  }
  EXPECT_WRONG(tandem_tensor_transfer(x, nullptr, nullptr));
}

TEST_F(CApiTest, WhatIsOfAnotherRuntimeIsRefused) {
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  tandem_tensor* x = F32({}, {1});
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Text(tandem_execute(other, "tf.Neg", &x, 1, nullptr, &y, 1)),
            "InvalidArgument: [tf.Neg] argument 0 is of another runtime");
  EXPECT_OK(tandem_chain_create(other, &call_.chain));
  EXPECT_WRONG(Call1("tf.Neg", {x}, &y));
  tandem_chain_release(call_.chain);
  call_.chain = nullptr;
  EXPECT_OK(tandem_request_create(other, TANDEM_FOREVER, &call_.request));
  EXPECT_WRONG(Call1("tf.Neg", {x}, &y));
  tandem_request_release(call_.request);
  EXPECT_OK(tandem_runtime_destroy(other));
}

TEST_F(CApiTest, ObjectsOutliveTheirRuntimeForBeingReleased) {
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  const float value = 1;
  tandem_tensor* x = nullptr;
  tandem_chain* chain = nullptr;
  tandem_request* request = nullptr;
  tandem_op* op = nullptr;
  EXPECT_OK(tandem_tensor_create(other, TANDEM_F32, nullptr, 0, &value, sizeof(value), &x));
  EXPECT_OK(tandem_chain_create(other, &chain));
  EXPECT_OK(tandem_request_create(other, int64_t{3'600'000'000'000}, &request));
  EXPECT_OK(tandem_op_create(other, "tf.Neg", nullptr, &op));
  EXPECT_OK(tandem_runtime_destroy(other));
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Code(tandem_tensor_await(x, TANDEM_FOREVER)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_chain_await(chain, TANDEM_FOREVER)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_request_cancel(request, "late")), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_op_execute(op, &x, 1, nullptr, &y, 1)), TANDEM_FAILED_PRECONDITION);
  tandem_tensor_release(x);
  tandem_chain_release(chain);
  tandem_request_release(request);
  tandem_op_release(op);
}

TEST_F(CApiTest, CallsBackWhenATensorIsReady) {
  std::promise<std::string> told;
  const auto callback = [](void* user, const tandem_status* error) {
    static_cast<std::promise<std::string>*>(user)->set_value(tandem_status_text(error));
  };
  EXPECT_OK(tandem_tensor_on_ready(Long(), callback, &told));
  EXPECT_OK(tandem_runtime_settle(rt_));  // without threads, the product is computed in here
  EXPECT_EQ(told.get_future().get(), "");
  std::promise<std::string> at_once;
  EXPECT_OK(tandem_tensor_on_ready(F32({}, {1}), callback, &at_once));
  EXPECT_EQ(at_once.get_future().get(), "");
}

TEST_F(CApiTest, CallsBackWithTheErrorOfWhatIsCancelled) {
  Block();
  std::promise<tandem_code> told;
  tandem_tensor* pending = nullptr;
  EXPECT_OK(Call1("tf.Neg", {Long()}, &pending));
  const auto callback = [](void* user, const tandem_status* error) {
    static_cast<std::promise<tandem_code>*>(user)->set_value(tandem_status_code(error));
  };
  EXPECT_OK(tandem_tensor_on_ready(pending, callback, &told));
  EXPECT_OK(tandem_runtime_cancel(rt_, "enough"));
  EXPECT_EQ(told.get_future().get(), TANDEM_CANCELLED);
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Text(Call1("tf.Neg", {F32({}, {1})}, &y)), "Cancelled: [tf.Neg] enough");
  EXPECT_OK(tandem_runtime_restart(rt_));
  Unblock();
  EXPECT_OK(Call1("tf.Neg", {F32({}, {1})}, &y));
}

TEST_F(CApiTest, ACallbackMayNotDestroyTheRuntime) {
  struct Told {
    tandem_runtime* runtime;
    tandem_code code;
  } told = {rt_, TANDEM_OK};
  const auto callback = [](void* user, const tandem_status*) {
    auto* it = static_cast<Told*>(user);
    it->code = Code(tandem_runtime_destroy(it->runtime));
  };
  EXPECT_OK(tandem_tensor_on_ready(F32({}, {1}), callback, &told));
  EXPECT_EQ(told.code, TANDEM_FAILED_PRECONDITION);
}

TEST_F(CApiTest, DestroyingTellsWhoStillWaits) {
  Block();
  tandem_tensor* pending = nullptr;
  EXPECT_OK(Call1("tf.Neg", {Long()}, &pending));
  struct Told {
    std::promise<void>* unblocked;
    tandem_code code;
    tandem_status* status;
    tandem_tensor* pending;
  } told = {&unblocked_, TANDEM_OK, nullptr, pending};
  const auto callback = [](void* user, const tandem_status* error) {
    auto* it = static_cast<Told*>(user);
    it->code = tandem_status_code(error);
    it->status = tandem_tensor_await(it->pending, TANDEM_FOREVER);  // functions still work
    it->unblocked->set_value();
  };
  EXPECT_OK(tandem_tensor_on_ready(pending, callback, &told));
  EXPECT_OK(tandem_runtime_destroy(rt_));
  rt_ = nullptr;
  EXPECT_EQ(told.code, TANDEM_CANCELLED);
  EXPECT_EQ(Code(told.status), TANDEM_CANCELLED);
}

TEST_F(CApiTest, WaitingHasALimit) {
  Block();
  tandem_tensor* pending = nullptr;
  EXPECT_OK(Call1("tf.Neg", {Long()}, &pending));
  tandem_state state = TANDEM_ERROR;
  EXPECT_OK(tandem_tensor_state(pending, &state));
  EXPECT_EQ(state, TANDEM_PENDING);
  EXPECT_EQ(Code(tandem_tensor_await(pending, 0)), TANDEM_DEADLINE_EXCEEDED);
  EXPECT_EQ(Code(tandem_tensor_await(pending, 1000)), TANDEM_DEADLINE_EXCEEDED);
  Unblock();
  EXPECT_OK(tandem_tensor_await(pending, INT64_MAX));
  EXPECT_OK(tandem_tensor_state(pending, &state));
  EXPECT_EQ(state, TANDEM_AVAILABLE);
}

TEST_F(CApiTest, RequestsAreCancelledAlone) {
  Block();
  tandem_request* request = nullptr;
  EXPECT_OK(tandem_request_create(rt_, TANDEM_FOREVER, &request));
  EXPECT_OK(tandem_request_check(request));
  tandem_tensor* slow = Long();
  tandem_tensor* of_request = nullptr;
  tandem_tensor* of_none = nullptr;
  EXPECT_OK(Call1("tf.Neg", {slow}, &of_none));
  call_.request = request;
  EXPECT_OK(Call1("tf.Neg", {slow}, &of_request));
  EXPECT_OK(tandem_request_cancel(request, "not needed"));
  EXPECT_EQ(Text(tandem_request_check(request)), "Cancelled: not needed");
  EXPECT_EQ(Text(tandem_tensor_await(of_request, 0)), "Cancelled: [tf.Neg] not needed");
  tandem_tensor* later = nullptr;
  EXPECT_EQ(Code(Call1("tf.Neg", {F32({}, {1})}, &later)), TANDEM_CANCELLED);
  Unblock();
  EXPECT_OK(tandem_tensor_await(of_none, TANDEM_FOREVER));
  tandem_request_release(request);
}

TEST_F(CApiTest, RequestsHaveDeadlines) {
  EXPECT_OK(tandem_request_create(rt_, 0, &call_.request));
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Code(Call1("tf.Neg", {F32({}, {1})}, &y)), TANDEM_DEADLINE_EXCEEDED);
  tandem_request_release(call_.request);
}

TEST_F(CApiTest, ChainsOrderEffects) {
  EXPECT_OK(tandem_chain_create(rt_, &call_.chain));
  tandem_tensor* first = String("one");
  tandem_tensor* second = String("two");
  EXPECT_OK(tandem_execute(rt_, "tf.PrintV2", &first, 1, &call_, nullptr, 0));
  EXPECT_OK(tandem_execute(rt_, "tf.PrintV2", &second, 1, &call_, nullptr, 0));
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  EXPECT_EQ(printed_, "one\ntwo\n");
  int num_told = 0;
  EXPECT_OK(tandem_chain_on_ready(
      call_.chain, [](void* user, const tandem_status*) { ++*static_cast<int*>(user); }, &num_told));
  EXPECT_EQ(num_told, 1);
  tandem_chain_release(call_.chain);
  call_.chain = nullptr;
  EXPECT_WRONG(tandem_execute(rt_, "tf.PrintV2", &first, 1, &call_, nullptr, 0));
}

TEST_F(CApiTest, MemoryIsCountedAndLimited) {
  tandem_memory_stats stats = {};
  EXPECT_WRONG(tandem_runtime_memory(rt_, &stats));
  stats.struct_size = sizeof(stats);
  tandem_tensor* x = F32({1 << 16}, std::vector<float>(1 << 16, 1));
  EXPECT_OK(tandem_runtime_memory(rt_, &stats));
  EXPECT_EQ(stats.bytes_in_use, uint64_t{4} << 16);
  EXPECT_GE(stats.num_allocations, 1u);
  EXPECT_OK(tandem_runtime_set_memory_limit(rt_, 1 << 18));
  tandem_tensor* y = nullptr;
  tandem_status* status = Call1("tf.Neg", {x}, &y);
  if (status == nullptr) status = tandem_tensor_await(y, TANDEM_FOREVER);
  EXPECT_EQ(Code(status), TANDEM_RESOURCE_EXHAUSTED);
  EXPECT_OK(tandem_runtime_set_memory_limit(rt_, 0));
  EXPECT_OK(Call1("tf.Neg", {x}, &y));
  EXPECT_OK(tandem_tensor_await(y, TANDEM_FOREVER));
  EXPECT_OK(tandem_runtime_trim(rt_));
}

TEST_F(CApiTest, TracesAndDefinitionsAreJson) {
  EXPECT_OK(tandem_trace_start(rt_));
  tandem_tensor* y = nullptr;
  EXPECT_OK(Call1("tf.Neg", {F32({}, {1})}, &y));
  EXPECT_OK(tandem_runtime_settle(rt_));
  EXPECT_OK(tandem_trace_stop(rt_));
  char* json = nullptr;
  size_t size = 0;
  EXPECT_OK(tandem_trace_json(rt_, &json, &size));
  EXPECT_EQ(std::string(json).size(), size);
  EXPECT_NE(std::string(json).find("tf.Neg"), std::string::npos);
  tandem_free(json);
  EXPECT_OK(tandem_trace_clear(rt_));
  EXPECT_OK(tandem_trace_json(rt_, &json, nullptr));
  EXPECT_EQ(std::string(json).find("tf.Neg"), std::string::npos);
  tandem_free(json);
  EXPECT_OK(tandem_op_registry_json(rt_, &json, nullptr));
  EXPECT_NE(std::string(json).find("\"tf.MatMul\""), std::string::npos);
  tandem_free(json);
}

TEST_F(CApiTest, ManyThreadsMayCall) {
  tandem_op* op = nullptr;
  ASSERT_EQ(Text(tandem_op_create(rt_, "tf.AddV2", nullptr, &op)), "");
  tandem_tensor* x = F32({4}, {1, 2, 3, 4});
  const auto work = [&](const char* location) {
    tandem_call_options call = {};
    call.struct_size = sizeof(call);
    call.location = location;
    for (int i = 0; i < 1000; ++i) {
      tandem_tensor* args[] = {x, x};
      tandem_tensor* y = nullptr;
      EXPECT_OK(tandem_op_execute(op, args, 2, &call, &y, 1));
      EXPECT_OK(tandem_tensor_await(y, TANDEM_FOREVER));
      tandem_tensor_release(y);
    }
  };
  std::thread one(work, "one.c:1");
  std::thread two(work, "two.c:2");
  one.join();
  two.join();
  tandem_op_release(op);
}

}  // namespace
}  // namespace tandem
