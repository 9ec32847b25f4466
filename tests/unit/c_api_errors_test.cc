// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface: wrong arguments of every kind are errors.

#include <cstdint>
#include <string>
#include <vector>

#include "c_api_test_fixture.h"

namespace tandem {
namespace {

class CApiErrorsTest : public CApiTest {};

TEST_F(CApiErrorsTest, TheFirstWrongAttributeIsTheErrorOfCalls) {
  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  EXPECT_EQ(tandem_attrs_set_int(attrs, "axis", 1), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_int(attrs, "axis", 2), TANDEM_INVALID_ARGUMENT);
  EXPECT_EQ(tandem_attrs_set_int(attrs, nullptr, 2), TANDEM_INVALID_ARGUMENT);
  EXPECT_EQ(Text(tandem_attrs_status(attrs)), "InvalidArgument: attribute axis is already set");
  call_.attrs = attrs;
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Text(Call1("tf.Neg", {F32({}, {1})}, &y)), "InvalidArgument: [tf.Neg] attribute axis is already set");
  tandem_attrs_release(attrs);
}

TEST_F(CApiErrorsTest, WrongAttributes) {
  const int64_t negative = -1;
  const int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const tandem_dtype no_dtype = 99;
  const char* null_string = nullptr;
  const size_t rank = 1;
  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  const tandem_code codes[] = {
      tandem_attrs_set_int(nullptr, "a", 1),
      tandem_attrs_set_int(attrs, "", 1),
      tandem_attrs_set_string(attrs, "a", nullptr, 1),
      tandem_attrs_set_dtype(attrs, "a", 0),
      tandem_attrs_set_dtype(attrs, "a", 16),
      tandem_attrs_set_shape(attrs, "a", &negative, 1),
      tandem_attrs_set_shape(attrs, "a", dims, 9),
      tandem_attrs_set_shape(attrs, "a", nullptr, 1),
      tandem_attrs_set_tensor(attrs, "a", TANDEM_F32, dims, 1, dims, 5),
      tandem_attrs_set_tensor(attrs, "a", TANDEM_F32, dims, 1, nullptr, 4),
      tandem_attrs_set_tensor(attrs, "a", TANDEM_STRING, dims, 1, dims, 0),
      tandem_attrs_set_function(attrs, "a", nullptr),
      tandem_attrs_set_attrs(attrs, "a", nullptr),
      tandem_attrs_set_bools(attrs, "a", nullptr, 1),
      tandem_attrs_set_ints(attrs, "a", nullptr, 1),
      tandem_attrs_set_floats(attrs, "a", nullptr, SIZE_MAX),
      tandem_attrs_set_strings(attrs, "a", &null_string, nullptr, 1),
      tandem_attrs_set_dtypes(attrs, "a", &no_dtype, 1),
      tandem_attrs_set_shapes(attrs, "a", nullptr, &rank, 1),
  };
  for (const tandem_code code : codes) EXPECT_EQ(code, TANDEM_INVALID_ARGUMENT) << &code - codes;
  EXPECT_WRONG(tandem_attrs_status(attrs));
  EXPECT_WRONG(tandem_attrs_status(nullptr));
  EXPECT_WRONG(tandem_attrs_create(nullptr));
  tandem_attrs_release(attrs);
}

// Each level takes stack where it is destroyed and printed, so the depth has a limit, which no number of levels passes.
TEST_F(CApiErrorsTest, AttributesThatAreNestedTooDeepAreAnError) {
  tandem_attrs* attrs = nullptr;
  ASSERT_EQ(Text(tandem_attrs_create(&attrs)), "");
  EXPECT_EQ(tandem_attrs_set_int(attrs, "x", 1), TANDEM_OK);
  int depth = 1;
  for (int i = 1; i < 150000; ++i) {
    tandem_attrs* outer = nullptr;
    ASSERT_EQ(Text(tandem_attrs_create(&outer)), "");
    const tandem_code code = tandem_attrs_set_attrs(outer, "inner", attrs);
    ASSERT_TRUE(code == TANDEM_OK || code == TANDEM_INVALID_ARGUMENT);
    if (code == TANDEM_OK) ++depth;
    tandem_attrs_release(attrs);
    attrs = outer;
  }
  EXPECT_EQ(depth, 64);
  call_.attrs = attrs;
  tandem_tensor* y = nullptr;
  // The error of the first list that was too deep is that of all that were to hold it.
  EXPECT_EQ(Text(Call1("tf.Neg", {F32({}, {1})}, &y)),
            "InvalidArgument: [tf.Neg] attribute inner: attributes may be nested at most 64 deep, got more");
  tandem_attrs_release(attrs);
}

// Kernels rely on elements of bool being 0 or 1 (TANDEM_BOOL).
TEST_F(CApiErrorsTest, OfBoolOtherBytesThan0And1AreNormalizedOrRefused) {
  const uint8_t bytes[] = {0, 1, 2, 255};
  const int64_t dim = 4;
  tandem_tensor* x = nullptr;
  EXPECT_OK(tandem_tensor_create(rt_, TANDEM_BOOL, &dim, 1, bytes, sizeof(bytes), &x));
  EXPECT_EQ(Values(Keep(x)), "bool[4] = [false, true, true, true]");
  const void* data = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &data, nullptr));
  const auto* elements = static_cast<const uint8_t*>(data);
  EXPECT_EQ(std::vector<uint8_t>(elements, elements + 4), (std::vector<uint8_t>{0, 1, 1, 1}));

  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  EXPECT_EQ(Text(tandem_tensor_wrap(rt_, TANDEM_BOOL, &dim, 1, bytes, sizeof(bytes), release, &released, &x)),
            "InvalidArgument: data of bool must be bytes of 0 or 1, got 2 at index 2");
  EXPECT_EQ(released, 1);

  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  EXPECT_EQ(tandem_attrs_set_tensor(attrs, "value", TANDEM_BOOL, &dim, 1, bytes, sizeof(bytes)), TANDEM_OK);
  EXPECT_EQ(tandem_attrs_set_dtype(attrs, "dtype", TANDEM_BOOL), TANDEM_OK);
  call_.attrs = attrs;
  tandem_tensor* constant = nullptr;
  EXPECT_OK(Call1("tf.Const", {}, &constant));
  EXPECT_OK(tandem_tensor_data(constant, &data, nullptr));
  elements = static_cast<const uint8_t*>(data);
  EXPECT_EQ(std::vector<uint8_t>(elements, elements + 4), (std::vector<uint8_t>{0, 1, 1, 1}));
  tandem_attrs_release(attrs);
}

TEST_F(CApiErrorsTest, WrongDevicesAreErrorsOfTheCallThatSayWhichThereAre) {
  call_.device = "abacus";
  call_.location = "sums.c:12";
  tandem_tensor* y = nullptr;
  tandem_tensor* x = F32({}, {1});
  EXPECT_EQ(Text(Call1("tf.Neg", {x}, &y)),
            "NotFound: [tf.Neg] expected a device of this runtime, cpu, got abacus (sums.c:12)");
  EXPECT_EQ(Text(tandem_tensor_transfer(x, "abacus", &y)),
            "NotFound: expected a device of this runtime, cpu, got abacus");
  tandem_op* op = nullptr;
  EXPECT_EQ(Text(tandem_op_create(rt_, "tf.Neg", "abacus", &op)),
            "NotFound: [tf.Neg] expected a device of this runtime, cpu, got abacus");
  EXPECT_EQ(Code(tandem_runtime_add_device(rt_, "abacus")), TANDEM_NOT_FOUND);
  EXPECT_WRONG(tandem_runtime_add_device(rt_, nullptr));
  EXPECT_WRONG(tandem_runtime_add_device(nullptr, "cpu"));
  tandem_runtime* other = nullptr;
  options_.device = "abacus";
  EXPECT_EQ(Code(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other)), TANDEM_NOT_FOUND);
  EXPECT_EQ(other, nullptr);
}

TEST_F(CApiErrorsTest, WrongTensors) {
  const float value = 1;
  const int64_t dims[2] = {int64_t{1} << 40, int64_t{1} << 40};
  tandem_tensor* tensor = nullptr;
  EXPECT_WRONG(tandem_tensor_create(nullptr, TANDEM_F32, nullptr, 0, &value, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, nullptr, 0, &value, 4, nullptr));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, nullptr, 0, nullptr, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, nullptr, 0, &value, 8, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, nullptr, 1, &value, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, dims, SIZE_MAX, &value, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_F32, dims, 2, &value, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, -1, nullptr, 0, &value, 4, &tensor));
  EXPECT_WRONG(tandem_tensor_create(rt_, TANDEM_STRING, nullptr, 0, nullptr, 0, &tensor));
  const int64_t three = 3;
  EXPECT_WRONG(tandem_tensor_create_strings(rt_, &three, 1, nullptr, nullptr, 3, &tensor));
  EXPECT_EQ(tensor, nullptr);
}

TEST_F(CApiErrorsTest, NullsAreErrors) {
  tandem_tensor* x = F32({}, {1});
  size_t size = 0;
  const void* data = nullptr;
  const char* text = nullptr;
  char* json = nullptr;
  tandem_state state = 0;
  tandem_dtype dtype = 0;
  tandem_op* op = nullptr;
  tandem_chain* chain = nullptr;
  tandem_request* request = nullptr;
  tandem_memory_stats stats = {};
  stats.struct_size = sizeof(stats);
  tandem_status* errors[] = {
      tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, nullptr),
      tandem_runtime_cancel(nullptr, nullptr),
      tandem_runtime_restart(nullptr),
      tandem_runtime_settle(nullptr),
      tandem_runtime_memory(nullptr, &stats),
      tandem_runtime_memory(rt_, nullptr),
      tandem_runtime_set_memory_limit(nullptr, 0),
      tandem_runtime_trim(nullptr),
      tandem_trace_start(nullptr),
      tandem_trace_stop(nullptr),
      tandem_trace_clear(nullptr),
      tandem_trace_json(nullptr, &json, &size),
      tandem_trace_json(rt_, nullptr, &size),
      tandem_op_registry_json(nullptr, &json, &size),
      tandem_op_registry_json(rt_, nullptr, &size),
      tandem_tensor_copy(nullptr, &x),
      tandem_tensor_state(nullptr, &state),
      tandem_tensor_dtype(nullptr, &dtype),
      tandem_tensor_shape(nullptr, nullptr, 0, &size),
      tandem_tensor_await(nullptr, TANDEM_FOREVER),
      tandem_tensor_on_ready(nullptr, nullptr, nullptr),
      tandem_tensor_data(nullptr, &data, &size),
      tandem_tensor_string(nullptr, 0, &text, &size),
      tandem_tensor_text(nullptr, 1, &json),
      tandem_chain_create(nullptr, &chain),
      tandem_chain_create(rt_, nullptr),
      tandem_chain_await(nullptr, TANDEM_FOREVER),
      tandem_chain_on_ready(nullptr, nullptr, nullptr),
      tandem_request_create(nullptr, TANDEM_FOREVER, &request),
      tandem_request_create(rt_, TANDEM_FOREVER, nullptr),
      tandem_request_cancel(nullptr, nullptr),
      tandem_request_check(nullptr),
      tandem_execute(nullptr, "tf.Neg", nullptr, 0, nullptr, nullptr, 0),
      tandem_execute(rt_, nullptr, nullptr, 0, nullptr, nullptr, 0),
      tandem_execute(rt_, "tf.Neg", nullptr, 1, nullptr, &x, 1),
      tandem_execute(rt_, "tf.Neg", nullptr, 0, nullptr, nullptr, 1),
      tandem_op_create(nullptr, "tf.Neg", nullptr, &op),
      tandem_op_create(rt_, nullptr, nullptr, &op),
      tandem_op_create(rt_, "tf.Neg", nullptr, nullptr),
      tandem_op_execute(nullptr, nullptr, 0, nullptr, nullptr, 0),
  };
  for (tandem_status*& error : errors) EXPECT_EQ(Code(error), TANDEM_INVALID_ARGUMENT) << &error - errors;
  EXPECT_WRONG(tandem_tensor_copy(tensors_[0], nullptr));
  EXPECT_WRONG(tandem_tensor_state(tensors_[0], nullptr));
  EXPECT_WRONG(tandem_tensor_dtype(tensors_[0], nullptr));
  EXPECT_WRONG(tandem_tensor_shape(tensors_[0], nullptr, 0, nullptr));
  EXPECT_WRONG(tandem_tensor_on_ready(tensors_[0], nullptr, nullptr));
  EXPECT_WRONG(tandem_tensor_data(tensors_[0], nullptr, nullptr));
  EXPECT_WRONG(tandem_tensor_string(tensors_[0], 0, nullptr, nullptr));
  EXPECT_WRONG(tandem_tensor_text(tensors_[0], 1, nullptr));
  EXPECT_OK(tandem_runtime_destroy(nullptr));
  tandem_tensor_release(nullptr);
  tandem_attrs_release(nullptr);
  tandem_chain_release(nullptr);
  tandem_request_release(nullptr);
  tandem_op_release(nullptr);
  tandem_status_release(nullptr);
  tandem_free(nullptr);
}

TEST_F(CApiErrorsTest, WrongCalls) {
  tandem_tensor* x = F32({}, {1});
  tandem_tensor* results[2] = {};
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, 2));
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, 0));
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 0, &call_, results, 1));
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, SIZE_MAX, &call_, results, 1));
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, SIZE_MAX));
  tandem_op* op = nullptr;
  EXPECT_EQ(Code(tandem_op_create(rt_, "tf.NoSuchOp", nullptr, &op)), TANDEM_NOT_FOUND);
  EXPECT_EQ(Code(tandem_op_create(rt_, "tf.Neg", "abacus", &op)), TANDEM_NOT_FOUND);
  EXPECT_EQ(op, nullptr);
  call_.device = "abacus";
  EXPECT_EQ(Code(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, 1)), TANDEM_NOT_FOUND);
  call_.device = "cpu";
  EXPECT_OK(Call1("tf.Neg", {x}, results));
  call_.flags = 2;
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, 1));
  call_.flags = 0;
  call_.struct_size = 1;
  EXPECT_WRONG(tandem_execute(rt_, "tf.Neg", &x, 1, &call_, results, 1));
  options_.struct_size = 1;
  tandem_runtime* other = nullptr;
  EXPECT_WRONG(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
  options_.struct_size = sizeof(options_);
  options_.num_threads = -1;
  EXPECT_WRONG(tandem_runtime_create(TANDEM_ABI_VERSION, &options_, &other));
}

}  // namespace
}  // namespace tandem
