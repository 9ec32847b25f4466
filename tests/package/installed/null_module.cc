// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A device of a stranger's, in a module: a stream over memory of the host, and one kernel. Its setting "factor", an
// i64, is what the kernel, of tf.Neg, multiplies by in place of -1.

#include <memory>
#include <utility>

#include "null_stream.h"
#include "tandem/gpu/gpu_op_handler.h"
#include "tandem/op_handler_module.h"

namespace {

using tandem::gpu::GpuDevice;
using tandem::gpu::NullStream;

// What the kernel multiplies by.
struct Factor {
  static constexpr tandem::KernelContext kKernelContext = {"a factor"};
  float value;
};

class FactorHandler final : public tandem::gpu::GpuOpHandler {
 public:
  FactorHandler(tandem::CoreRuntime& runtime, tandem::OpHandler* fallback, std::unique_ptr<GpuDevice> device,
                NullStream& stream, float factor)
      : GpuOpHandler("null", runtime, fallback, std::move(device)), factor_{factor} {
    Provide(stream);
    Provide(factor_);
  }

 private:
  Factor factor_;
};

tandem::Status Multiply(tandem::DeviceArg x, NullStream& stream, Factor& factor, tandem::KernelFrame& frame) {
  TANDEM_ASSIGN_OR_RETURN(tandem::Tensor y, frame.NewResult(0));
  const tandem::gpu::BufferRange from = GpuDevice::BufferOf(x.tensor()).range();
  const tandem::gpu::BufferRange to = GpuDevice::BufferOf(y).range();
  stream.Issue([&stream, from, to, by = factor.value, count = x.size()] {
    for (int64_t i = 0; i < count; ++i) stream.At<float>(to)[i] = by * stream.At<float>(from)[i];
  });
  frame.SetResult(0, std::move(y));
  return tandem::Status();
}

tandem::StatusOr<tandem::OpHandler*> Create(tandem::CoreRuntime& runtime, tandem::OpHandler* fallback,
                                            const tandem::OpAttrsRef& settings) {
  int64_t factor = -1;
  TANDEM_RETURN_IF_ERROR(tandem::HandlerSettings(settings).Read("factor", factor).Finish());
  TANDEM_RETURN_IF_ERROR(GpuDevice::RegisterConversions(runtime.host().conversions()));
  auto stream = std::make_unique<NullStream>(std::make_shared<NullStream::Controls>());
  NullStream& commands = *stream;
  auto memory = tandem::MakeRef<tandem::gpu::GpuMemory>(*stream, tandem::gpu::GpuMemory::Options());
  auto device =
      std::make_unique<GpuDevice>("null", std::move(stream), std::move(memory), tandem::gpu::BoolLayout::kBytes);
  auto handler =
      std::make_unique<FactorHandler>(runtime, fallback, std::move(device), commands, static_cast<float>(factor));
  TANDEM_RETURN_IF_ERROR(handler->AddKernel("tf.Neg", {tandem::DType::kF32}, tandem::MakeKernel<&Multiply>()));
  return runtime.AddHandler(std::move(handler));
}

}  // namespace

TANDEM_OP_HANDLER_MODULE(&Create);
