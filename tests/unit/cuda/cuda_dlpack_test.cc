// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors on a CUDA device by DLPack (DL-3a): the same memory, in the order of streams, and nothing of a wrong struct
// used.

#include "cuda_dlpack.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cuda_handler.h"
#include "cuda_test_fixture.h"
#include "lib/tensor/dlpack_layout.h"
#include "objects.h"
#include "tandem.h"
#include "tandem/eager.h"

namespace tandem::cuda {
namespace {

constexpr DLDataType kF32Type = {2, 32, 1};

// A tensor of somebody else's on the device.
struct Foreign {
  Foreign(EmulatedCuda& cuda, void* data, uint64_t bytes, std::vector<int64_t> dims) : shape(std::move(dims)) {
    cuda.foreign[reinterpret_cast<DevicePointer>(data)] = {bytes};
    managed.version = {1, 1};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      auto& foreign = *static_cast<Foreign*>(self->manager_ctx);
      if (foreign.on_delete) foreign.on_delete();
      const std::shared_ptr<std::promise<void>> deleted = foreign.deleted;  // outlives who waits for it
      deleted->set_value();
    };
    managed.dl_tensor = {data, {dlpack::kCuda, 0}, static_cast<int32_t>(shape.size()), kF32Type, shape.data(), nullptr,
                         0};
  }
  // The device may still be at it.
  ~Foreign() { is_deleted.wait(); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  bool IsDeleted() { return is_deleted.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

  DLManagedTensorVersioned managed = {};
  std::vector<int64_t> shape;
  std::function<void()> on_delete;
  // Throws if it is so twice.
  std::shared_ptr<std::promise<void>> deleted = std::make_shared<std::promise<void>>();
  std::future<void> is_deleted = deleted->get_future();
};

class CudaDlpackTest : public CudaTest {
 protected:
  CudaDlpackTest()
      : rt_(std::move(*eager::Runtime::Create({.num_threads = 1, .on_diagnostic = [](const Status&) {}}))) {
    MakeQueue();
    auto handler = AddCudaOpHandler(rt_->core(), std::move(queue_), {});
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
  }

  const Device& device() const { return *handler_->device(); }
  eager::Tensor OnDevice(const std::vector<float>& values) {
    return rt_->FromValues<float>(std::span(values), {static_cast<int64_t>(values.size())}).To(device());
  }
  static float* AddressOf(const eager::Tensor& tensor) {
    return reinterpret_cast<float*>(gpu::GpuDevice::BufferOf(tensor.handle().tensor()).id());
  }
  std::string ErrorOf(Foreign& foreign, int64_t stream = kDlpackDefaultStream) {
    const eager::Tensor tensor = rt_->FromDlpack(&foreign.managed, stream);
    EXPECT_TRUE(foreign.IsDeleted());
    EXPECT_EQ(tensor.Await().code(), StatusCode::kInvalidArgument);
    return std::string(tensor.Await().message());
  }
  static int64_t NumberOf(StreamHandle stream) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(stream)); }

  std::unique_ptr<eager::Runtime> rt_;
  shader::ShaderOpHandler* handler_ = nullptr;
};

TEST_F(CudaDlpackTest, DL3a_AnImportedTensorIsTheSameMemoryAndSeesWhatItsStreamWrites) {
  alignas(16) float data[4] = {};
  const StreamHandle theirs = cuda_.MakeStream();
  cuda_.IssueOn(theirs, [&] {
    for (int i = 0; i < 4; ++i) data[i] = static_cast<float>(i + 1);
  });
  Foreign foreign(cuda_, data, sizeof(data), {2, 2});
  eager::Tensor x = rt_->FromDlpack(&foreign.managed, NumberOf(theirs));
  ASSERT_TRUE(x.Await().ok()) << x.Await().ToString();
  EXPECT_EQ(AddressOf(x), data);
  EXPECT_EQ(x.handle().device(), &device());
  EXPECT_EQ(x.handle().metadata().shape, TensorShape({2, 2}));
  EXPECT_TRUE(x.handle().tensor().storage()->is_external());
  EXPECT_EQ(data[0], 0) << "nobody on the host waits";
  EXPECT_EQ(*x.To(rt_->host().device()).ToVector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_FALSE(foreign.IsDeleted());
  x = eager::Tensor();
  foreign.is_deleted.wait();
}

TEST_F(CudaDlpackTest, DL3a_TheDefaultStreamIsWaitedForUnlessNoneIs) {
  alignas(16) float data[2] = {};
  cuda_.IssueOn(reinterpret_cast<StreamHandle>(1), [&] { data[0] = data[1] = 7; });
  Foreign unordered(cuda_, data, sizeof(data), {2});
  const eager::Tensor x = rt_->FromDlpack(&unordered.managed, kDlpackNoStream);
  EXPECT_EQ(*x.To(rt_->host().device()).ToVector<float>(), (std::vector<float>{0, 0}));
  Foreign ordered(cuda_, data, sizeof(data), {2});
  const eager::Tensor y = rt_->FromDlpack(&ordered.managed);
  EXPECT_EQ(*y.To(rt_->host().device()).ToVector<float>(), (std::vector<float>{7, 7}));
  Foreign wrong(cuda_, data, sizeof(data), {2});
  EXPECT_EQ(ErrorOf(wrong, 0), "expected a stream of CUDA, or -1 for none, got 0");
}

TEST_F(CudaDlpackTest, DL3a_TheDeleterIsCalledWhenTheDeviceIsDoneWithTheMemory) {
  alignas(16) float data[2] = {3, 4};
  const eager::Tensor copy = OnDevice({0, 0});
  ASSERT_TRUE(copy.Await().ok());
  float* const copied = AddressOf(copy);
  float seen = 0;
  Foreign foreign(cuda_, data, sizeof(data), {2});
  foreign.on_delete = [&] { seen = copied[1]; };
  {
    const eager::Tensor x = rt_->FromDlpack(&foreign.managed);
    ASSERT_TRUE(handler_->gpu()
                    .stream()
                    .Copy(reinterpret_cast<gpu::BufferId>(data), 0, reinterpret_cast<gpu::BufferId>(copied), 0, 8, {})
                    .ok());
  }
  foreign.is_deleted.wait();
  EXPECT_EQ(seen, 4);
}

TEST_F(CudaDlpackTest, DL3a_AnImportedTensorMayOutliveItsRuntime) {
  alignas(16) float data[1] = {3};
  Foreign foreign(cuda_, data, sizeof(data), {1});
  eager::Tensor x = rt_->FromDlpack(&foreign.managed);
  TensorHandle handle = x.handle().CopyRef();
  x = eager::Tensor();
  rt_.reset();
  EXPECT_FALSE(foreign.IsDeleted());
  handle = TensorHandle();
  EXPECT_TRUE(foreign.IsDeleted());
}

TEST_F(CudaDlpackTest, DL3a_MisalignedElementsAreCopiedOnTheDevice) {
  alignas(16) float data[4] = {1, 2, 3, 4};
  Foreign foreign(cuda_, data, sizeof(data), {3});
  foreign.managed.dl_tensor.byte_offset = 4;
  const eager::Tensor x = rt_->FromDlpack(&foreign.managed);
  ASSERT_TRUE(x.Await().ok()) << x.Await().ToString();
  EXPECT_NE(AddressOf(x), data + 1);
  foreign.is_deleted.wait();
  data[1] = 99;
  EXPECT_EQ(*x.To(rt_->host().device()).ToVector<float>(), (std::vector<float>{2, 3, 4}));
}

TEST_F(CudaDlpackTest, DL3a_EmptyTensorsScalarsAndManagedMemoryComeIn) {
  Foreign empty(cuda_, nullptr, 0, {3, 0});
  EXPECT_EQ(rt_->FromDlpack(&empty.managed).handle().metadata().shape, TensorShape({3, 0}));
  EXPECT_TRUE(empty.IsDeleted());
  alignas(16) float data[1] = {5};
  Foreign managed(cuda_, data, sizeof(data), {});
  managed.managed.dl_tensor.device = {dlpack::kCudaManaged, 3};
  EXPECT_EQ(*rt_->FromDlpack(&managed.managed).To(rt_->host().device()).ToVector<float>(), (std::vector<float>{5}));
}

TEST_F(CudaDlpackTest, DL3a_WhatIsNotOfTheDeviceIsAnError) {
  alignas(16) float data[4] = {};
  Foreign declared(cuda_, data, sizeof(data), {4});
  declared.managed.dl_tensor.device.device_id = 1;
  EXPECT_EQ(ErrorOf(declared),
            "expected memory of the CPU or of cuda (device 0 of type 2), got that of device 1 of type 2");
  Foreign elsewhere(cuda_, data, sizeof(data), {4});
  cuda_.foreign.begin()->second.ordinal = 2;
  EXPECT_EQ(ErrorOf(elsewhere), "expected memory of CUDA device 0, got that of device 2");
  Foreign on_host(cuda_, data, sizeof(data), {4});
  cuda_.foreign.begin()->second.type = kMemoryOfHost;
  EXPECT_EQ(ErrorOf(on_host), "expected memory of CUDA device 0, got that of the host");
  Foreign unknown(cuda_, data, sizeof(data), {4});
  cuda_.foreign.clear();
  EXPECT_EQ(ErrorOf(unknown), "expected memory of CUDA device 0, got a pointer that CUDA does not know");
  Foreign vulkan(cuda_, data, sizeof(data), {4});
  vulkan.managed.dl_tensor.device.device_type = 7;
  EXPECT_NE(ErrorOf(vulkan).find("got that of device 0 of type 7"), std::string::npos);
}

TEST_F(CudaDlpackTest, DL3a_WhatKernelsCannotReadIsAnError) {
  alignas(16) float data[4] = {};
  int64_t strides[] = {1, 2};
  Foreign transposed(cuda_, data, sizeof(data), {2, 2});
  transposed.managed.dl_tensor.strides = strides;
  EXPECT_EQ(ErrorOf(transposed), "expected elements of f32[2,2] on cuda to be row-major without gaps, got others");
  Foreign bools(cuda_, data, sizeof(data), {4});
  bools.managed.dl_tensor.dtype = {6, 8, 1};
  EXPECT_NE(ErrorOf(bools).find("pass u8 and cast it"), std::string::npos);
  Foreign version(cuda_, data, sizeof(data), {4});
  version.managed.version.major = 2;
  EXPECT_EQ(ErrorOf(version), "expected a tensor of DLPack 1.x, got one of 2.1");
  Foreign large(cuda_, data, sizeof(data), {int64_t{1} << 31});
  EXPECT_NE(ErrorOf(large).find("expected a tensor of at most"), std::string::npos);
}

TEST_F(CudaDlpackTest, DL3a_AnExportedTensorIsTheSameMemoryInTheOrderOfStreams) {
  const StreamHandle theirs = cuda_.MakeStream();
  eager::Tensor x = OnDevice({1, 2, 3});
  const auto managed = x.ShareByDlpack(NumberOf(theirs));
  ASSERT_TRUE(managed.ok()) << managed.status().ToString();
  const DLTensor& tensor = (*managed)->dl_tensor;
  EXPECT_EQ(tensor.data, AddressOf(x));
  EXPECT_EQ(tensor.device.device_type, dlpack::kCuda);
  EXPECT_EQ(tensor.device.device_id, 0);
  EXPECT_EQ(tensor.ndim, 1);
  EXPECT_EQ(tensor.shape[0], 3);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_TRUE(tensor.dtype == kF32Type);
  EXPECT_EQ((*managed)->flags, dlpack::kReadOnly);
  const float* const data = static_cast<const float*>(tensor.data);
  std::vector<float> seen;
  cuda_.IssueOn(theirs, [&] { seen.assign(data, data + 3); });
  EXPECT_EQ(cuda_.calls["cuStreamSynchronize"], 0);
  ASSERT_EQ(cuda_.Finish(theirs), kDriverSuccess);
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 3}));
  // Their last command comes before what the memory is used for next.
  cuda_.IssueOn(theirs, [&] { seen.assign(data, data + 3); });
  x = eager::Tensor();
  (*managed)->deleter(*managed);
  const eager::Tensor y = OnDevice({4, 5, 6});
  EXPECT_EQ(AddressOf(y), data) << "memory is used again";
  EXPECT_EQ(*y.To(rt_->host().device()).ToVector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 3}));
}

TEST_F(CudaDlpackTest, DL3a_AnExportedTensorMayOutliveTheRuntime) {
  eager::Tensor x = OnDevice({1, 2, 3});
  const auto managed = x.ShareByDlpack();
  ASSERT_TRUE(managed.ok());
  x = eager::Tensor();
  rt_.reset();
  (*managed)->deleter(*managed);
}

TEST_F(CudaDlpackTest, DL3a_BoolsAndHostTensorsGoOutAsTheyCan) {
  const bool values[] = {true, false};
  const eager::Tensor bools = rt_->FromValues<bool>(std::span(values), {2}).To(device());
  EXPECT_NE(bools.ShareByDlpack().status().message().find("cast it to u8"), std::string::npos);
  const float number = 1;
  const auto host = rt_->FromValues<float>(std::span(&number, 1), {1}).ShareByDlpack();
  ASSERT_TRUE(host.ok());
  EXPECT_EQ((*host)->dl_tensor.device.device_type, dlpack::kCpu);
  (*host)->deleter(*host);
  // The way by the host stays.
  const auto copied = OnDevice({1, 2}).ToDlpack();
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ((*copied)->dl_tensor.device.device_type, dlpack::kCpu);
  EXPECT_EQ(static_cast<const float*>((*copied)->dl_tensor.data)[1], 2);
  (*copied)->deleter(*copied);
}

TEST_F(CudaDlpackTest, ER5_ALostDeviceTakesAndGivesNothing) {
  alignas(16) float data[1] = {3};
  const eager::Tensor x = OnDevice({1});
  handler_->gpu().Lose(MakeError(StatusCode::kUnavailable, "the CUDA device is lost: a test"));
  Foreign foreign(cuda_, data, sizeof(data), {1});
  EXPECT_EQ(rt_->FromDlpack(&foreign.managed).Await().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(foreign.IsDeleted());
  EXPECT_EQ(x.ShareByDlpack().status().code(), StatusCode::kUnavailable);
}

// The C interface over a handler that is there.
TEST_F(CudaDlpackTest, DL3a_InC) {
  tandem_runtime* rt = nullptr;
  ASSERT_EQ(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &rt), nullptr);
  MakeQueue();
  const int64_t own = NumberOf(queue_->stream());
  ASSERT_TRUE(AddCudaOpHandler(rt->running()->core, std::move(queue_), {}).ok());
  int64_t stream = 0;
  ASSERT_EQ(tandem_device_stream(rt, "cuda", &stream), nullptr);
  EXPECT_EQ(stream, own);
  ASSERT_EQ(tandem_device_stream(rt, "cpu", &stream), nullptr);
  EXPECT_EQ(stream, kDlpackNoStream);

  char* report = nullptr;
  ASSERT_EQ(tandem_device_report(rt, "cuda", &report, nullptr), nullptr);
  EXPECT_NE(std::string(report).find("NVRTC 13.0: "), std::string::npos) << report;
  tandem_free(report);
  ASSERT_EQ(tandem_device_report(rt, "cpu", &report, nullptr), nullptr);
  EXPECT_STREQ(report, "");
  tandem_free(report);

  alignas(16) float data[2] = {};
  const StreamHandle theirs = cuda_.MakeStream();
  cuda_.IssueOn(theirs, [&] { data[1] = 6; });
  Foreign foreign(cuda_, data, sizeof(data), {2});
  tandem_tensor* x = nullptr;
  ASSERT_EQ(tandem_tensor_from_device_dlpack(rt, &foreign.managed, NumberOf(theirs), &x), nullptr);
  const void* values = nullptr;
  ASSERT_EQ(tandem_tensor_data(x, &values, nullptr), nullptr);
  EXPECT_EQ(static_cast<const float*>(values)[1], 6);
  DLManagedTensorVersioned* out = nullptr;
  ASSERT_EQ(tandem_tensor_to_device_dlpack(x, -1, &out), nullptr);
  EXPECT_EQ(out->dl_tensor.data, data);
  tandem_tensor_release(x);
  out->deleter(out);
  foreign.is_deleted.wait();
  EXPECT_EQ(tandem_runtime_destroy(rt), nullptr);
}

}  // namespace
}  // namespace tandem::cuda
