// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/shader/shader_op_handler.h"

#include <new>
#include <utility>

#include "kernels/kernels.h"
#include "tandem/shader_op.h"
#include "user_shaders.h"

namespace tandem::shader {

namespace {

// A small module has the code for that when it is wanted.
#ifdef TANDEM_SMALL
constexpr bool kFusesCallsAtOnce = false;
#else
constexpr bool kFusesCallsAtOnce = true;
#endif

}  // namespace

ShaderOpHandler::ShaderOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback,
                                 std::unique_ptr<ShaderDevice> device)
    : GpuOpHandler(name, runtime, fallback, std::move(device)) {
  Provide(gpu());
}

ShaderOpHandler::~ShaderOpHandler() {
  if (user_shaders_ != nullptr) RemoveShaderOpHandler(*this);
}

Status ShaderOpHandler::TakeUserShaders() {
  if (user_shaders_ != nullptr) return Status();
  user_shaders_ = std::make_unique<UserShaders>(gpu().limits());
  return AddShaderOpHandler(*this, *user_shaders_) ? Status() : Status::OutOfMemory();
}

StatusOr<ShaderOpHandler*> CreateShaderOpHandler(CoreRuntime& runtime, std::unique_ptr<ShaderQueue> queue,
                                                 const ShaderOpHandlerOptions& options) {
  auto memory = MakeRef<gpu::GpuMemory>(*queue, options.memory);
  if (!memory) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(gpu::GpuDevice::RegisterConversions(runtime.host().conversions()));
  auto device =
      std::make_unique<ShaderDevice>(options.name, std::move(queue), std::move(memory), options.want_call_fusion);
  auto handler = std::make_unique<ShaderOpHandler>(options.name, runtime, options.fallback, std::move(device));
  if (options.asks_ahead) handler->AskAhead();
  TANDEM_RETURN_IF_ERROR(RegisterKernels(*handler));
  if constexpr (kFusesCallsAtOnce) {
    if (!handler->gpu().fuses_calls_later()) EnableCallFusion(*handler);
  }
  return static_cast<ShaderOpHandler*>(runtime.AddHandler(std::move(handler)));
}

}  // namespace tandem::shader
