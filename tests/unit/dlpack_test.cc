// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors by DLPack (DL-3a): the same memory on both sides, one call of the deleter, and nothing of a wrong struct
// used.

#include "tandem/dlpack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "c_api_test_fixture.h"
#include "lib/tensor/dlpack_layout.h"
#include "tandem/eager.h"
#include "tandem/ops.h"

namespace tandem {
namespace {

// The published layout, in numbers.
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80 &&
               offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20 &&
               offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
               offsetof(DLTensor, byte_offset) == 40 && offsetof(DLManagedTensor, deleter) == 56 &&
               offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
               offsetof(DLManagedTensorVersioned, dl_tensor) == 32));

// A tensor of somebody else's: `num_deleted` counts the calls of its deleter.
struct Foreign {
  Foreign(void* data, DLDataType type, std::vector<int64_t> dims, std::vector<int64_t> steps = {})
      : shape(std::move(dims)), strides(std::move(steps)) {
    managed.version = {1, 3};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->num_deleted; };
    managed.flags = 0;
    managed.dl_tensor = {data, {1, 0},       static_cast<int32_t>(shape.size()),
                         type, shape.data(), strides.empty() ? nullptr : strides.data(),
                         0};
  }
  DLManagedTensorVersioned managed;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int num_deleted = 0;
};

constexpr DLDataType kF32Type = {2, 32, 1};

class DlpackTest : public testing::Test {
 protected:
  DlpackTest() : rt_(std::move(*eager::Runtime::Create({.num_threads = 1, .on_diagnostic = [](const Status&) {}}))) {}

  std::string ErrorOf(Foreign& foreign) {
    const eager::Tensor tensor = rt_->FromDlpack(&foreign.managed);
    EXPECT_EQ(foreign.num_deleted, foreign.managed.deleter == nullptr ? 0 : 1);
    const Status status = tensor.Await();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.ToString().find("dlpack_test.cc:"), std::string::npos) << "DL-4: " << status.ToString();
    return std::string(status.message());
  }

  std::unique_ptr<eager::Runtime> rt_;
};

TEST_F(DlpackTest, DL3a_AnImportedTensorIsTheSameMemoryUntilItsLastReferenceGoes) {
  alignas(64) float data[32];
  for (int i = 0; i < 32; ++i) data[i] = static_cast<float>(i);
  Foreign foreign(data, kF32Type, {4, 8});
  eager::Tensor x = rt_->FromDlpack(&foreign.managed);
  EXPECT_EQ(x.Values<float>()->data(), data);
  EXPECT_EQ(x.handle().metadata().shape, TensorShape({4, 8}));
  eager::Tensor y = x;
  x = eager::Tensor();
  EXPECT_EQ(foreign.num_deleted, 0);
  // TH-5: memory that somebody else sees is not taken over.
  EXPECT_EQ((*neg(y).Values<float>())[31], -31);
  EXPECT_EQ(data[31], 31);
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
  std::thread([last = std::move(y)] {}).join();
#else
  y = eager::Tensor();
#endif
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST_F(DlpackTest, DL3a_AnOffsetAndPlainStridesNeedNoCopy) {
  float data[40] = {};
  data[8] = 5;
  Foreign foreign(data, kF32Type, {1, 2, 16}, {777, 16, 1});
  foreign.managed.dl_tensor.byte_offset = 8 * sizeof(float);
  foreign.managed.flags = dlpack::kReadOnly;
  const eager::Tensor x = rt_->FromDlpack(&foreign.managed);
  EXPECT_EQ(x.Values<float>()->data(), data + 8);
  EXPECT_EQ(foreign.num_deleted, 0);
}

TEST_F(DlpackTest, DL3a_WhatIsNotRowMajorIsCopiedAndReleasedAtOnce) {
  int32_t data[12];
  for (int i = 0; i < 12; ++i) data[i] = i;
  const DLDataType i32 = {0, 32, 1};
  Foreign transposed(data, i32, {4, 3}, {1, 4});
  EXPECT_EQ(*rt_->FromDlpack(&transposed.managed).ToVector<int>(),
            (std::vector<int>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(transposed.num_deleted, 1);
  Foreign backwards(data + 11, i32, {3}, {-2});
  EXPECT_EQ(*rt_->FromDlpack(&backwards.managed).ToVector<int>(), (std::vector<int>{11, 9, 7}));
  Foreign repeated(data + 5, i32, {2, 2}, {0, 1});
  EXPECT_EQ(*rt_->FromDlpack(&repeated.managed).ToVector<int>(), (std::vector<int>{5, 6, 5, 6}));
}

TEST_F(DlpackTest, DL3a_MisalignedElementsAreCopied) {
  alignas(8) unsigned char data[1 + 20 * sizeof(double)];
  for (int i = 0; i < 20; ++i) {
    const double value = i + 0.5;
    std::memcpy(data + 1 + static_cast<size_t>(i) * sizeof(double), &value, sizeof(double));
  }
  Foreign foreign(data + 1, {2, 64, 1}, {20});
  const eager::Tensor x = rt_->FromDlpack(&foreign.managed);
  EXPECT_EQ(foreign.num_deleted, 1);
  EXPECT_EQ((*x.Values<double>())[19], 19.5);
}

TEST_F(DlpackTest, DL3a_BoolsOfOtherBytesBecomeOne) {
  unsigned char data[3] = {0, 7, 1};
  Foreign foreign(data, {6, 8, 1}, {3});
  EXPECT_EQ(*rt_->FromDlpack(&foreign.managed).ToVector<int>(), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST_F(DlpackTest, DL3a_EmptyTensorsAndScalarsComeIn) {
  Foreign empty(nullptr, kF32Type, {3, 0, 5});
  EXPECT_EQ(rt_->FromDlpack(&empty.managed).ToVector<float>()->size(), 0u);
  EXPECT_EQ(empty.num_deleted, 1);
  double value = 2.5;
  Foreign scalar(&value, {2, 64, 1}, {});
  EXPECT_EQ(*rt_->FromDlpack(&scalar.managed).Item<double>(), 2.5);
}

TEST_F(DlpackTest, DL3a_ATensorMayHaveNoDeleter) {
  float value = 1;
  Foreign foreign(&value, kF32Type, {1});
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(*rt_->FromDlpack(&foreign.managed).Item<float>(), 1);
}

TEST_F(DlpackTest, DL3a_EachDTypeGoesOutAndComesBack) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kString) continue;
    const std::vector<std::byte> bytes(24 * DTypeSize(dtype), std::byte{1});
    const eager::Tensor x = rt_->FromBytes(dtype, bytes, {2, 3, 4});
    DLManagedTensorVersioned* const managed = *x.ToDlpack();
    EXPECT_EQ(managed->dl_tensor.dtype.bits, 8 * DTypeSize(dtype));
    const eager::Tensor y = rt_->FromDlpack(managed);
    EXPECT_EQ(y.handle().metadata(), x.handle().metadata());
    EXPECT_EQ(std::memcmp(y.handle().tensor().data(), bytes.data(), bytes.size()), 0) << DTypeName(dtype);
  }
}

TEST_F(DlpackTest, DL3a_AnExportedTensorIsTheSameMemoryAndReadOnly) {
  eager::Tensor x = rt_->FromValues<float>(std::vector<float>(100, 3), {5, 20});
  const float* const data = x.Values<float>()->data();
  DLManagedTensorVersioned* const managed = *x.ToDlpack();
  x = eager::Tensor();
  const DLTensor& out = managed->dl_tensor;
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, dlpack::kReadOnly);
  EXPECT_EQ(out.data, data);
  EXPECT_EQ(out.device.device_type, 1);
  EXPECT_EQ(out.ndim, 2);
  EXPECT_EQ(out.dtype, kF32Type);
  EXPECT_EQ(std::vector<int64_t>(out.shape, out.shape + 2), (std::vector<int64_t>{5, 20}));
  EXPECT_EQ(std::vector<int64_t>(out.strides, out.strides + 2), (std::vector<int64_t>{20, 1}));
  EXPECT_EQ(static_cast<const float*>(out.data)[99], 3);
  rt_ = nullptr;  // the memory outlives the runtime
  EXPECT_EQ(static_cast<const float*>(out.data)[99], 3);
  managed->deleter(managed);
}

TEST_F(DlpackTest, DL3a_SmallAndSpreadTensorsGoOutAsCopies) {
  const eager::Tensor small = rt_->Scalar<float>(4);
  DLManagedTensor* const managed = *small.ToUnversionedDlpack();
  EXPECT_NE(managed->dl_tensor.data, small.Values<float>()->data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(managed->dl_tensor.data) % 64, 0u);
  EXPECT_EQ(*static_cast<const float*>(managed->dl_tensor.data), 4);
  managed->deleter(managed);
  const int64_t nine = 9;
  const auto spread = MakeScalar({DType::kI64, {1000}}, &nine, rt_->host().device());
  DLManagedTensorVersioned* const dense = *ToDlpack(*spread, rt_->host().allocator());
  EXPECT_EQ(dense->flags, dlpack::kIsCopied);
  EXPECT_EQ(static_cast<const int64_t*>(dense->dl_tensor.data)[999], 9);
  dense->deleter(dense);
}

TEST_F(DlpackTest, DL3a_APendingTensorIsWaitedFor) {
  const eager::Tensor x = rt_->FromValues<float>(std::vector<float>(1 << 16, 3), {1 << 16});
  DLManagedTensorVersioned* const managed = *exp(neg(x)).ToDlpack();
  EXPECT_GT(static_cast<const float*>(managed->dl_tensor.data)[9], 0.04f);
  managed->deleter(managed);
}

TEST_F(DlpackTest, DL4_WhatIsNoTensorOfNumbersDoesNotGoOut) {
  const std::string_view texts[] = {"a"};
  const auto strings = rt_->FromStrings(texts, {1}).ToDlpack();
  EXPECT_EQ(strings.status().message(),
            "expected a tensor of numbers on the host for DLPack, got string[1] as string_host");
  EXPECT_NE(strings.status().ToString().find("dlpack_test.cc:"), std::string::npos);
  EXPECT_EQ(eager::Tensor().ToDlpack().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(DlpackTest, DL4_WrongStructsAreReleasedAndSayWhatIsWrong) {
  float data[4] = {};
  Foreign version(data, kF32Type, {4});
  version.managed.version = {2, 0};
  version.managed.dl_tensor.ndim = -7;  // not looked at
  EXPECT_EQ(ErrorOf(version), "expected a tensor of DLPack 1.x, got one of 2.0");
  Foreign device(data, kF32Type, {4});
  device.managed.dl_tensor.device.device_type = 2;
  EXPECT_EQ(ErrorOf(device), "expected memory of the CPU, got that of device 0 of type 2");
  Foreign null_data(nullptr, kF32Type, {4});
  EXPECT_EQ(ErrorOf(null_data), "expected data of f32[4], got null");
  Foreign negative(data, kF32Type, {-4});
  EXPECT_NE(ErrorOf(negative).find("-4"), std::string::npos);
  Foreign huge(data, kF32Type, {int64_t{1} << 40, int64_t{1} << 40});
  ErrorOf(huge);
  Foreign rank(data, kF32Type, std::vector<int64_t>(9, 1));
  EXPECT_EQ(ErrorOf(rank), "expected at most 8 dimensions, got 9");
  Foreign negative_rank(data, kF32Type, {4});
  negative_rank.managed.dl_tensor.ndim = -1;
  EXPECT_EQ(ErrorOf(negative_rank), "expected at most 8 dimensions, got -1");
  Foreign no_shape(data, kF32Type, {4});
  no_shape.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(ErrorOf(no_shape), "expected a shape of 1 dimensions, got null");
  for (const int64_t stride : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    Foreign strides(data, kF32Type, {2, 2}, {stride, 1});
    EXPECT_EQ(ErrorOf(strides), "strides of f32[2,2] lead beyond what can be addressed");
  }
  Foreign offset(data, kF32Type, {4});
  offset.managed.dl_tensor.byte_offset = std::numeric_limits<uint64_t>::max();
  EXPECT_NE(ErrorOf(offset).find("expected an offset within memory"), std::string::npos);
  EXPECT_EQ(rt_->FromDlpack(static_cast<DLManagedTensor*>(nullptr)).Await().message(),
            "expected a tensor of DLPack, got null");
}

TEST_F(DlpackTest, DL4_ElementsThatAreNoDTypeAreNamed) {
  float data[4] = {};
  Foreign lanes(data, {2, 32, 4}, {1});
  EXPECT_NE(ErrorOf(lanes).find("got type code 2 of 32 bits and 4 lanes"), std::string::npos);
  for (const DLDataType type : {DLDataType{3, 64, 1},
                                {2, 8, 1},
                                {0, 4, 1},
                                {5, 128, 1},
                                {6, 1, 1},
                                {17, 4, 1},
                                {2, 32, 0},
                                {255, 255, 65535}}) {
    Foreign foreign(data, type, {1});
    EXPECT_NE(ErrorOf(foreign).find("expected elements of {bool, u8,"), std::string::npos);
  }
}

class CDlpackTest : public CApiTest {};

TEST_F(CDlpackTest, DL3a_TensorsGoInAndOutFromC) {
  float data[20] = {1, 2};
  Foreign foreign(data, kF32Type, {20});
  tandem_tensor* x = nullptr;
  EXPECT_OK(tandem_tensor_from_dlpack(rt_, &foreign.managed, &x));
  const void* seen = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &seen, nullptr));
  EXPECT_EQ(seen, data);
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_OK(tandem_tensor_to_dlpack(x, &out));
  DLManagedTensor* unversioned = nullptr;
  EXPECT_OK(tandem_tensor_to_unversioned_dlpack(x, &unversioned));
  tandem_tensor_release(x);
  EXPECT_EQ(out->dl_tensor.data, data);
  tandem_tensor* again = nullptr;
  EXPECT_OK(tandem_tensor_from_unversioned_dlpack(rt_, unversioned, &again));
  EXPECT_OK(tandem_tensor_data(again, &seen, nullptr));
  EXPECT_EQ(seen, data);
  out->deleter(out);
  EXPECT_EQ(foreign.num_deleted, 0);
  tandem_tensor_release(again);
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST_F(CDlpackTest, DL4_NullsAndErrorsAreTold) {
  float value = 1;
  Foreign foreign(&value, kF32Type, {1});
  tandem_tensor* x = nullptr;
  EXPECT_WRONG(tandem_tensor_from_dlpack(rt_, &foreign.managed, nullptr));
  EXPECT_WRONG(tandem_tensor_from_dlpack(nullptr, &foreign.managed, &x));
  EXPECT_WRONG(tandem_tensor_from_dlpack(rt_, nullptr, &x));
  EXPECT_WRONG(tandem_tensor_to_dlpack(nullptr, nullptr));
  EXPECT_EQ(foreign.num_deleted, 0) << "of a null argument, nothing is taken over";
  foreign.managed.dl_tensor.dtype.lanes = 2;
  EXPECT_WRONG(tandem_tensor_from_dlpack(rt_, &foreign.managed, &x));
  EXPECT_EQ(foreign.num_deleted, 1);
  EXPECT_EQ(x, nullptr);
}

}  // namespace
}  // namespace tandem
