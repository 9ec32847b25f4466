// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors as JavaScript makes, describes and reads them.

#include <cmath>
#include <cstring>
#include <limits>

#include "js_test_fixture.h"

namespace tandem {
namespace {

using JsTensorTest = JsTest;

TEST_F(JsTensorTest, ANewTensorIsFilledInPlaceAndDescribed) {
  Create(0);
  const int64_t dims[] = {2, 3};
  void* data = nullptr;
  tandem_tensor* tensor = nullptr;
  ASSERT_EQ(JsText(tandem_js_tensor_new(js_.get(), TANDEM_I16, dims, 2, &data, &tensor)), "");
  Keep(tensor);
  const int16_t values[] = {1, 2, 3, 4, 5, -6};
  std::memcpy(data, values, sizeof(values));
  tandem_js_description description;
  tandem_js_describe(tensor, &description);
  EXPECT_EQ(description.state, TANDEM_AVAILABLE);
  EXPECT_EQ(description.dtype, TANDEM_I16);
  EXPECT_EQ(description.rank, 2);
  EXPECT_EQ(description.dims[0], 2);
  EXPECT_EQ(description.dims[1], 3);
  EXPECT_EQ(description.byte_size, 12);
  EXPECT_EQ(description.data, data);
  char* text = nullptr;
  ASSERT_EQ(JsText(tandem_tensor_text(tensor, 10, &text)), "");
  EXPECT_STREQ(text, "i16[2,3] = [1, 2, 3, 4, 5, -6]");
  tandem_free(text);
}

TEST_F(JsTensorTest, WrongDTypesAndShapesAreErrors) {
  Create(0);
  void* data = nullptr;
  tandem_tensor* tensor = nullptr;
  const int64_t negative = -1;
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_NE(JsText(tandem_js_tensor_new(js_.get(), TANDEM_F32, &negative, 1, &data, &tensor)), "");
  EXPECT_NE(JsText(tandem_js_tensor_new(js_.get(), TANDEM_F32, huge, 2, &data, &tensor)), "");
  EXPECT_NE(JsText(tandem_js_tensor_new(js_.get(), 99, huge, 0, &data, &tensor)), "");
  EXPECT_NE(JsText(tandem_js_tensor_new(js_.get(), TANDEM_STRING, huge, 0, &data, &tensor)), "");
  EXPECT_EQ(tensor, nullptr);
  for (const tandem_js_event& event : TakeEvents()) TakeText(event);
}

TEST_F(JsTensorTest, PendingResultsAreDescribedAsFarAsTheyAreKnown) {
  Create(0);
  tandem_tensor* x = F32(1 << 20, 1);
  tandem_js_description description;
  tandem_js_describe(Add(x, x), &description);
  EXPECT_EQ(description.state, TANDEM_PENDING);
  EXPECT_EQ(description.dtype, TANDEM_F32);
  EXPECT_EQ(description.rank, 1);
  EXPECT_EQ(description.data, nullptr);
}

TEST_F(JsTensorTest, TY2_NumbersWaitForTheDTypeOfATensor) {
  Create(0);
  tandem_tensor* x = F32(1 << 20, 1);
  tandem_tensor* sum = Add(x, x);
  tandem_tensor* found = nullptr;
  ASSERT_EQ(JsText(tandem_execute(tandem_js_runtime(js_.get()), "tf.Where", &sum, 1, nullptr, &found, 1)), "");
  Keep(found);
  tandem_op* op = nullptr;
  ASSERT_EQ(JsText(tandem_op_create(tandem_js_runtime(js_.get()), "tf.AddV2", nullptr, &op)), "");
  tandem_tensor* one = Keep(tandem_js_scalar(js_.get(), TANDEM_F64, 1));
  tandem_tensor* half = Keep(tandem_js_scalar(js_.get(), TANDEM_F64, 0.5));
  tandem_tensor* fits = Keep(tandem_js_cast_like(js_.get(), one, found, op, 1, nullptr, "a.js:1:2"));
  tandem_tensor* does_not = Keep(tandem_js_cast_like(js_.get(), half, found, op, 1, nullptr, "a.js:1:2"));
  tandem_op_release(op);
  tandem_js_description description;
  tandem_js_describe(fits, &description);
  EXPECT_EQ(description.state, TANDEM_PENDING);
  EXPECT_EQ(description.dtype, 0);
  while (tandem_js_run_tasks(js_.get(), 10) != 0) {
  }
  tandem_js_describe(fits, &description);
  EXPECT_EQ(description.state, TANDEM_AVAILABLE);
  EXPECT_EQ(description.dtype, TANDEM_I64);
  EXPECT_EQ(*static_cast<const int64_t*>(description.data), 1);
  EXPECT_EQ(JsText(tandem_js_tensor_error(does_not)),
            "InvalidArgument: [tf.AddV2] y: expected an integer for i64, got 0.5 (a.js:1:2)");
}

TEST_F(JsTensorTest, ScalarsAreOfTheDTypeIfTheyFit) {
  Create(0);
  const auto expect = [&](tandem_dtype dtype, double value, auto expected) {
    tandem_tensor* scalar = tandem_js_scalar(js_.get(), dtype, value);
    ASSERT_NE(scalar, nullptr);
    Keep(scalar);
    const void* data = nullptr;
    size_t size = 0;
    ASSERT_EQ(JsText(tandem_tensor_data(scalar, &data, &size)), "");
    ASSERT_EQ(size, sizeof(expected));
    EXPECT_EQ(std::memcmp(data, &expected, size), 0) << "dtype " << dtype << ", value " << value;
  };
  expect(TANDEM_BOOL, 1, uint8_t{1});
  expect(TANDEM_U8, 255, uint8_t{255});
  expect(TANDEM_I8, -128, int8_t{-128});
  expect(TANDEM_U16, 65535, uint16_t{65535});
  expect(TANDEM_I16, -1, int16_t{-1});
  expect(TANDEM_I32, 2147483647.0, int32_t{2147483647});
  expect(TANDEM_U32, 4294967295.0, uint32_t{4294967295u});
  expect(TANDEM_I64, -0x1p63, std::numeric_limits<int64_t>::min());
  expect(TANDEM_U64, 0x1p63, uint64_t{1} << 63);
  expect(TANDEM_F16, 1.0, uint16_t{0x3C00});
  expect(TANDEM_BF16, 1.0, uint16_t{0x3F80});
  expect(TANDEM_F32, 0.1, 0.1f);
  expect(TANDEM_F64, 0.1, 0.1);
  for (const auto& [dtype, value] : {std::pair(TANDEM_U8, 256.0), std::pair(TANDEM_BOOL, 0.5),
                                     std::pair(TANDEM_I32, std::nan("")), std::pair(TANDEM_F32, 1e300)}) {
    EXPECT_EQ(tandem_js_scalar(js_.get(), dtype, value), nullptr) << "dtype " << dtype << ", value " << value;
  }
  EXPECT_EQ(tandem_js_scalar(js_.get(), TANDEM_STRING, 1), nullptr);
  EXPECT_EQ(tandem_js_scalar(js_.get(), 0, 1), nullptr);
}

TEST_F(JsTensorTest, StringsAreReadManyAtATime) {
  Create(0);
  const char* texts[] = {"one", "", "three"};
  const int64_t size = 3;
  tandem_tensor* tensor = nullptr;
  ASSERT_EQ(JsText(tandem_tensor_create_strings(tandem_js_runtime(js_.get()), &size, 1, texts, nullptr, 3, &tensor)),
            "");
  Keep(tensor);
  tandem_js_string strings[4];
  ASSERT_EQ(tandem_js_strings(tensor, 1, 4, strings), 2u);
  EXPECT_EQ(strings[0].size, 0u);
  EXPECT_EQ(std::string(strings[1].data, strings[1].size), "three");
  EXPECT_EQ(tandem_js_strings(tensor, 3, 4, strings), 0u);
  EXPECT_EQ(tandem_js_strings(F32(1, 0), 0, 4, strings), 0u);
}

}  // namespace
}  // namespace tandem
