// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the contract promises of tensors, calls and programs on a device that is there: of Vulkan, and of CUDA with and
// without graphs. Tests are skipped where there is none.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/host_context.h"
#include "tandem/ops.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"
#include "tandem/shader/shader_op_handler.h"
#ifdef TANDEM_HAS_VULKAN
#include "tandem/vulkan/vulkan_op_handler.h"
#endif
#ifdef TANDEM_HAS_CUDA
#include "tandem/cuda/cuda_op_handler.h"
#endif

namespace tandem {
namespace {

using eager::Tensor;

enum class DeviceKind { kVulkan, kCuda, kCudaGraphs };

StatusOr<shader::ShaderOpHandler*> MakeHandler([[maybe_unused]] DeviceKind device,
                                               [[maybe_unused]] eager::Runtime& runtime,
                                               [[maybe_unused]] const gpu::GpuMemory::Options& memory) {
#ifdef TANDEM_HAS_VULKAN
  if (device == DeviceKind::kVulkan) {
    vulkan::VulkanOptions options;
    options.memory = memory;
    options.fallback = &runtime.handler();
    return vulkan::CreateVulkanOpHandler(runtime.core(), options);
  }
#endif
#ifdef TANDEM_HAS_CUDA
  if (device != DeviceKind::kVulkan) {
    cuda::CudaOptions options;
    options.memory = memory;
    options.fallback = &runtime.handler();
    options.graphs = device == DeviceKind::kCudaGraphs;
    return cuda::CreateCudaOpHandler(runtime.core(), options);
  }
#endif
  return MakeError(StatusCode::kNotFound, "this build has no such op handler");
}

class DeviceContractTest : public testing::TestWithParam<DeviceKind> {
 protected:
  DeviceContractTest() { Start({}); }

  void Start(const gpu::GpuMemory::Options& memory) {
    handler_ = nullptr;
    rt_ = std::move(*eager::Runtime::Create({.num_threads = 2, .on_diagnostic = [](const Status&) {}}));
    const StatusOr<shader::ShaderOpHandler*> handler = MakeHandler(GetParam(), *rt_, memory);
    missing_ = handler.status();
    if (!handler.ok()) return;
    handler_ = *handler;
    rt_->UseHandler(*handler_);
  }
  void SetUp() override {
    if (missing_.ok()) return;
    const StatusCode code = missing_.code();
    ASSERT_TRUE(code == StatusCode::kNotFound || code == StatusCode::kFailedPrecondition) << missing_.ToString();
    GTEST_SKIP() << missing_.ToString();
  }

  Tensor OnDevice(std::vector<float> values) {
    const auto size = static_cast<int64_t>(values.size());
    return rt_->FromValues<float>(std::span<const float>(values), {size}).To(*handler_->device());
  }
  static std::vector<float> ValuesOf(const Tensor& tensor) {
    const StatusOr<std::vector<float>> values = tensor.ToVector<float>();
    EXPECT_TRUE(values.ok()) << values.status().ToString();
    return values.ok() ? *values : std::vector<float>();
  }

  std::unique_ptr<eager::Runtime> rt_;
  shader::ShaderOpHandler* handler_ = nullptr;
  Status missing_;
};

TEST_P(DeviceContractTest, DI4_CallsAreExecutedInTheirOrder) {
  const Tensor one = OnDevice({1, 2, 3});
  Tensor sum = one;
  for (int i = 0; i < 500; ++i) sum = i % 2 == 0 ? sum + one : sum * 1.0f + one;
  EXPECT_EQ(ValuesOf(sum), (std::vector<float>{501, 1002, 1503}));
}

TEST_P(DeviceContractTest, DI4_SeveralThreadsMayCall) {
  const Tensor one = OnDevice(std::vector<float>(1000, 1));
  std::vector<std::optional<Tensor>> sums(4);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < sums.size(); ++thread) {
    threads.emplace_back([&, thread] {
      Tensor sum = one;
      for (size_t i = 0; i < 50 * (thread + 1); ++i) sum = sum + one;
      sums[thread] = sum;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t thread = 0; thread < sums.size(); ++thread) {
    const auto expected = static_cast<float>(50 * (thread + 1) + 1);
    EXPECT_EQ(ValuesOf(*sums[thread]), std::vector<float>(1000, expected));
  }
}

TEST_P(DeviceContractTest, TH5_TensorsThatOthersHaveDoNotChange) {
  const Tensor x = OnDevice({1, -2});
  Tensor y = neg(x);
  const Tensor kept = y;
  y = abs(std::move(y));
  EXPECT_EQ(ValuesOf(y), (std::vector<float>{1, 2}));
  EXPECT_EQ(ValuesOf(kept), (std::vector<float>{-1, 2}));
  EXPECT_EQ(ValuesOf(x), (std::vector<float>{1, -2}));
}

TEST_P(DeviceContractTest, TH6_EveryDTypeTravelsThereAndBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!kFixedSizeDTypes.Contains(dtype)) continue;
    std::vector<std::byte> bytes(7 * DTypeSize(dtype));
    for (size_t place = 0; place < bytes.size(); ++place) {
      bytes[place] = static_cast<std::byte>(dtype == DType::kBool ? place % 2 : 37 * place + 11);
    }
    const Tensor back = rt_->FromBytes(dtype, bytes, {7}).To(*handler_->device()).To(rt_->host().device());
    ASSERT_TRUE(back.Await().ok()) << DTypeName(dtype);
    const auto* data = static_cast<const std::byte*>(back.handle().tensor().data());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), data)) << DTypeName(dtype);
  }
}

TEST_P(DeviceContractTest, EX13_TensorsOfTheHostComeAlong) {
  const Tensor on_host = rt_->FromValues<float>({10, 20}, {2});
  EXPECT_EQ(ValuesOf(OnDevice({1, 2}) + on_host), (std::vector<float>{11, 22}));
}

TEST_P(DeviceContractTest, DI4_ShapesThatDependOnDataComeLater) {
  const Tensor places = where(greater(OnDevice({3, -1, 0, 5}), 0.0f));
  const Tensor numbers = cast(places, DType::kF32) * 2.0f;
  EXPECT_EQ(ValuesOf(numbers), (std::vector<float>{0, 6}));
  EXPECT_EQ(numbers.handle().tensor().shape(), (TensorShape{2, 1}));
}

TEST_P(DeviceContractTest, ER5_MemoryThatRunsOutIsAnErrorOfOneTensor) {
  gpu::GpuMemory::Options memory;
  memory.memory_limit = 4 << 20;
  Start(memory);
  ASSERT_TRUE(missing_.ok()) << missing_.ToString();
  const Tensor large = rt_->FromBytes(DType::kU8, std::vector<std::byte>(8 << 20), {8 << 20}).To(*handler_->device());
  EXPECT_EQ(large.Await().code(), StatusCode::kResourceExhausted);
  // What was freed, and kept for later tensors, is given up for others.
  for (const int64_t size : {900'000, 800'000, 700'000}) {
    const Tensor x = eager::ones(*rt_, {size}).To(*handler_->device());
    EXPECT_TRUE(x.Await().ok()) << size;
  }
  EXPECT_EQ(ValuesOf(OnDevice({1}) + OnDevice({2})), std::vector<float>{3});
}

TEST_P(DeviceContractTest, WQ3_TensorsMayOutliveTheirRuntime) {
  std::optional<Tensor> kept = OnDevice({1, 2}) + OnDevice({3, 4});
  ASSERT_TRUE(kept->Await().ok());
  rt_.reset();
  kept.reset();
  Start({});
  ASSERT_TRUE(missing_.ok()) << missing_.ToString();
  EXPECT_EQ(ValuesOf(neg(OnDevice({5}))), std::vector<float>{-5});
}

TEST_P(DeviceContractTest, PR5_AProgramGivesWhatItsCallsGive) {
  std::vector<float> values(300);
  std::iota(values.begin(), values.end(), -150.0f);
  const Tensor x = OnDevice(values);
  const auto network = [](const Tensor& input) {
    const Tensor rows = reshape(tanh(input * 0.01f) + exp(input * 0.001f), {20, 15});
    return matMul(softmax(rows), transpose(rows, {1, 0}));
  };
  const auto recorder = ProgramRecorder::Start(rt_->core());
  ASSERT_TRUE(recorder.ok()) << recorder.status().ToString();
  const StatusOr<OpHandler*> recording = (*recorder)->HandlerOver(*handler_);
  ASSERT_TRUE(recording.ok()) << recording.status().ToString();
  rt_->UseHandler(**recording);
  ASSERT_TRUE((*recorder)->AddInput(x.handle()).ok());
  const Tensor eager = network(x);
  const TensorHandle output = eager.handle().CopyRef();
  const auto program = (*recorder)->Finish({&output, 1});
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  rt_->UseHandler(*handler_);
  const auto runner = ProgramRunner::Create(rt_->core(), *program, ProgramRunner::Options());
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const std::vector<float> expected = ValuesOf(eager);
  for (int run = 0; run < 4; ++run) {
    TensorHandle argument = x.handle().CopyRef();
    TensorHandle result;
    runner->Run("main", ExecutionContext(rt_->host(), Location()), {&argument, 1}, {&result, 1});
    const TensorHandle on_host = result.TransferTo(ExecutionContext(rt_->host(), Location()), rt_->host().device());
    ASSERT_TRUE(rt_->host().Await(on_host).ok());
    const auto* data = static_cast<const float*>(on_host.tensor().data());
    ASSERT_EQ(on_host.tensor().num_elements(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(data[i], expected[i], 1e-6) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContractTest,
                         testing::Values(DeviceKind::kVulkan, DeviceKind::kCuda, DeviceKind::kCudaGraphs),
                         [](const auto& info) {
                           return info.param == DeviceKind::kVulkan ? "Vulkan"
                                  : info.param == DeviceKind::kCuda ? "Cuda"
                                                                    : "CudaGraphs";
                         });

}  // namespace
}  // namespace tandem
