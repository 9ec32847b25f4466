// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler of devices that run shaders, whatever their interface.

#ifndef TANDEM_SHADER_SHADER_OP_HANDLER_H_
#define TANDEM_SHADER_SHADER_OP_HANDLER_H_

#include <functional>
#include <memory>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/gpu/gpu_op_handler.h"
#include "tandem/shader/shader_device.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"

namespace tandem {
class ShaderKernelMaker;
}

namespace tandem::shader {

class TANDEM_EXPORT ShaderOpHandler final : public gpu::GpuOpHandler {
 public:
  ShaderOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler* fallback,
                  std::unique_ptr<ShaderDevice> device);
  ~ShaderOpHandler() override;
  ShaderDevice& gpu() const { return static_cast<ShaderDevice&>(GpuOpHandler::gpu()); }
  // As ShaderOpHandlerOptions::asks_ahead. Before ops are made.
  void AskAhead() { Provide<KernelRehearsal>(gpu()); }
  // Has the handler take kernels of shaders that come as text (tandem/shader_op.h), which is code that not every
  // program needs. For one thread at a time.
  Status TakeUserShaders();

 private:
  std::unique_ptr<ShaderKernelMaker> user_shaders_;  // null: it takes none
};

struct ShaderOpHandlerOptions {
  // Of handler and device: "vulkan", "webgpu".
  std::string_view name;
  gpu::GpuMemory::Options memory;
  // Runs what has no shader, moving arguments and results (OH-2); null: such calls are errors.
  OpHandler* fallback = nullptr;
  // Whether calls that wait for their arguments ask for their pipelines at once (KernelRehearsal). Kernels that are
  // added must then either use ShaderCall for what they do with arguments, or refuse types of tensors that they do not
  // know, as DeviceArg does.
  bool asks_ahead = false;
  // If given, calls are fused from EnableCallFusion on; told once, on the thread of a call, when that would first be of
  // use. For a module that has the code for it apart.
  std::function<void()> want_call_fusion = nullptr;
};

// Makes the handler with all shader kernels and adds it to `runtime`.
TANDEM_EXPORT StatusOr<ShaderOpHandler*> CreateShaderOpHandler(CoreRuntime& runtime, std::unique_ptr<ShaderQueue> queue,
                                                               const ShaderOpHandlerOptions& options);

// As tandem::EnableProgramFusion, for a handler of CreateShaderOpHandler.
TANDEM_EXPORT void EnableProgramFusion(ShaderOpHandler& handler);
// The same for calls, whose commands are then put off (PR-6): of such a handler that has options.want_call_fusion, at
// any time, on one thread. Others do from the start.
TANDEM_EXPORT void EnableCallFusion(ShaderOpHandler& handler);

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_SHADER_OP_HANDLER_H_
