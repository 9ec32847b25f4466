// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions compiled by TVM on a CUDA device (DL-2): they get its memory, and what they launch is in the order of the
// device's commands.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_handler.h"
#include "cuda_test_fixture.h"
#include "lib/tensor/dlpack_layout.h"
#include "tandem/dlpack.h"
#include "tandem/eager.h"
#include "tandem/op_library.h"
#include "tandem/tvm/tvm_ops.h"

namespace tandem::cuda {
namespace {

EmulatedCuda* g_cuda = nullptr;
StreamHandle g_stream = nullptr;  // that functions of the test launch in

// Of the classic ABI: y = x + 1, some time later.
int AddOne(void* values, int*, int num_values, void*, int*, void*) {
  const auto* const tensors = static_cast<DLTensor* const*>(values);
  const DLTensor x = *tensors[0], y = *tensors[num_values - 1];
  if (x.device.device_type != dlpack::kCuda || y.device.device_type != dlpack::kCuda) return -1;
  g_cuda->IssueOn(g_stream, [x, y, size = x.shape[0]] {
    for (int64_t i = 0; i < size; ++i) static_cast<float*>(y.data)[i] = static_cast<const float*>(x.data)[i] + 1;
  });
  return 0;
}

int Fail(void*, int*, int, void*, int*, void*) { return 7; }

class CudaTvmTest : public CudaTest {
 protected:
  CudaTvmTest() : rt_(std::move(*eager::Runtime::Create({.num_threads = 1, .on_diagnostic = [](const Status&) {}}))) {
    MakeQueue();
    handler_ = *AddCudaOpHandler(rt_->core(), std::move(queue_), {});
    rt_->UseHandler(*handler_);
    g_cuda = &cuda_;
    g_stream = reinterpret_cast<StreamHandle>(1);
  }

  eager::Tensor Call(std::string_view op, const eager::Tensor& x, const OpAttrs& attrs) {
    eager::Operand operand = x;
    return rt_->Execute(op, {&operand}, OpAttrsRef(attrs));
  }
  template <typename T>
  std::vector<T> Read(const eager::Tensor& tensor) {
    const auto values = tensor.To(rt_->host().device()).ToVector<T>();
    EXPECT_TRUE(values.ok()) << values.status().ToString();
    return values.ok() ? *values : std::vector<T>();
  }

  std::unique_ptr<eager::Runtime> rt_;
  shader::ShaderOpHandler* handler_ = nullptr;
};

TEST_F(CudaTvmTest, DL2_AFunctionWithoutARuntimeLibraryLaunchesInTheDefaultStream) {
  OpLibrary library(rt_->core());
  const tvm::PackedFunction add_one(tvm::Abi::kClassic, reinterpret_cast<void*>(&AddOne), "add_one");
  ASSERT_TRUE(tvm::DefineOp(library, *handler_, "test.AddOne", 1, add_one).ok());
  const OpAttrs none;
  const eager::Tensor x = rt_->FromValues<float>({1, 2, 3}, {3});
  // Each reads what the one before it wrote.
  const eager::Tensor y = Call("test.AddOne", Call("test.AddOne", x, none), none);
  ASSERT_TRUE(y.Await().ok()) << y.Await().ToString();
  EXPECT_EQ(y.handle().device(), handler_->device());
  EXPECT_EQ(cuda_.calls["cuStreamSynchronize"], 0) << "nobody on the host waits";
  EXPECT_EQ(Read<float>(y), (std::vector<float>{3, 4, 5}));
}

TEST_F(CudaTvmTest, DL2_ALibraryWithARuntimeIsToldOfTheStream) {
  ASSERT_TRUE(tvm::RegisterOps(rt_->core(), *handler_).ok());
  ASSERT_TRUE(tvm::RegisterOps(rt_->core(), *handler_).ok()) << "again";
  OpAttrs attrs;
  attrs.Set("lib_path", std::string_view(TANDEM_TVM_LIBRARIES "ffi_linked.so"));
  attrs.Set("func_name", std::string_view("stream"));
  const DType dtype = DType::kI64;
  const TensorShape shape = {3};
  attrs.SetArray("output_dtype", std::span<const DType>(&dtype, 1));
  attrs.SetArray("output_shape", std::span<const TensorShape>(&shape, 1));
  const int64_t own = *FindDlpackStream(rt_->core(), *handler_->device());
  const int waits = cuda_.calls["cuStreamWaitEvent"];
  EXPECT_EQ(Read<int64_t>(Call("tandem.TvmDso", rt_->FromValues<float>({1}, {1}), attrs)),
            (std::vector<int64_t>{own, dlpack::kCuda, 0}));
  EXPECT_EQ(cuda_.calls["cuStreamWaitEvent"], waits);
}

TEST_F(CudaTvmTest, DL4_WhatAFunctionSaysOfItsFailureIsTheError) {
  OpLibrary library(rt_->core());
  const tvm::PackedFunction fail(tvm::Abi::kClassic, reinterpret_cast<void*>(&Fail), "fail");
  ASSERT_TRUE(tvm::DefineOp(library, *handler_, "test.Fail", 1, fail).ok());
  const eager::Tensor y = Call("test.Fail", rt_->FromValues<float>({1}, {1}), OpAttrs());
  EXPECT_NE(y.Await().message().find("expected fail to return 0, got 7"), std::string::npos) << y.Await().ToString();
  const bool value = true;
  const eager::Tensor bools = Call("test.Fail", rt_->FromValues<bool>(std::span(&value, 1), {1}), OpAttrs());
  EXPECT_NE(bools.Await().message().find("cast it to u8"), std::string::npos) << bools.Await().ToString();
}

}  // namespace
}  // namespace tandem::cuda
