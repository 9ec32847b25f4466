// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads the Vulkan op handler and calls an op on it, then one of the program's own, with a shader, also in a program of
// ops. Says so where there is no device to do that with.

#include "tandem/vulkan.h"

#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_families.h"
#include "tandem/op_library.h"
#include "tandem/program_runner.h"
#include "tandem/shader_op.h"
#include "tandem/shape_rule.h"

namespace {

template <typename T>
T Value(tandem::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return std::move(*value);
}

void Check(const tandem::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// The elements of a tensor that is on its way, wherever it is.
std::vector<float> Values(tandem::HostContext& host, const tandem::TensorHandle& tensor) {
  const tandem::TensorHandle here =
      tensor.TransferTo(tandem::ExecutionContext(host, tandem::Location::Current()), host.device());
  Check(host.Await(here));
  const auto* values = static_cast<const float*>(here.tensor().data());
  return {values, values + here.tensor().num_elements()};
}

// y = factor * x, by a shader: DL-3.
void RunOwnShader(tandem::CoreRuntime& runtime, tandem::OpHandler& vulkan, const tandem::Tensor& x) {
  tandem::OpDefBuilder scale("mine.Scale");
  scale.Input("x: T").Output("y: T").Attr("T: {float}").Attr("factor: float = 2.0");
  Check(tandem::SetShapes(scale, std::vector<std::string>{"x"}));
  tandem::OpLibrary library(runtime);
  Check(library.Define(scale));
  tandem::ShaderKernel kernel;
  kernel.wgsl = "fn element(i: u32) { y[i] = x[i] * T(parameters.factor); }";
  kernel.parameters = {{"factor", "factor"}};
  Check(tandem::AddShaderKernel(library, vulkan, "mine.Scale", kernel));

  tandem::TensorHandle arg = tandem::TensorHandle::MakeAvailable(x);
  tandem::TensorHandle result;
  runtime.Execute("mine.Scale", &vulkan, tandem::Location::Current(), {&arg, 1}, tandem::OpAttrs(), {&result, 1});
  if (Values(runtime.host(), result) != std::vector<float>{2, 4, 6}) throw std::runtime_error("2 * 1 is not 2");

  constexpr std::string_view kProgram = R"(func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("vulkan")
  %y = corert.executeop(%gpu) "mine.Scale"(%x) { factor = 3.0 : f32 }
  %z = corert.executeop(%gpu) "tf.AddV2"(%y, %x)
  tfrt.return %z : !corert.tensorhandle
})";
  const auto runner = Value(tandem::ProgramRunner::Create(
      runtime, Value(tandem::Program::Read(std::as_bytes(std::span(kProgram)), "scale.mlir"))));
  tandem::TensorHandle args[] = {tandem::TensorHandle::MakeAvailable(x)};
  tandem::TensorHandle sum;
  runner.Run("main", tandem::ExecutionContext(runtime.host(), tandem::Location::Current()), args, {&sum, 1});
  if (Values(runtime.host(), sum) != std::vector<float>{4, 8, 12}) throw std::runtime_error("3 * 1 + 1 is not 4");
}

int Run() {
  tandem::CoreRuntime runtime(tandem::HostContext::Options{});
  tandem::HostContext& host = runtime.host();
  Check(tandem::RegisterAllOps(runtime.registry()));
  tandem::VulkanHandlerOptions options;
  options.fallback = Value(tandem::CreateCpuOpHandler(runtime));
  options.cache_folder = "off";
  const auto vulkan = tandem::LoadVulkanOpHandler(runtime, options);
  if (vulkan.status().code() == tandem::StatusCode::kNotFound) {
    std::cout << "vulkan: not run: " << vulkan.status().message() << std::endl;
    return 0;
  }
  // Of its class, which is hidden, nothing is known here but what it derives from.
  tandem::OpHandler* const handler = *vulkan;
  if (dynamic_cast<const tandem::KernelOpHandler*>(handler) == nullptr || handler->name() != "vulkan" ||
      typeid(*handler) == typeid(*options.fallback)) {
    throw std::runtime_error("unexpected type of the handler");
  }
  const float values[] = {1, 2, 3};
  const auto x = Value(
      tandem::MakeDense({tandem::DType::kF32, {3}}, std::as_bytes(std::span(values)), host.device(), host.allocator()));
  tandem::TensorHandle args[] = {tandem::TensorHandle::MakeAvailable(x), tandem::TensorHandle::MakeAvailable(x)};
  tandem::TensorHandle result;
  runtime.Execute("tf.AddV2", Value(vulkan), tandem::Location::Current(), args, tandem::OpAttrs(), {&result, 1});
  if (Values(host, result) != std::vector<float>{2, 4, 6}) throw std::runtime_error("1 + 1 is not 2");
  RunOwnShader(runtime, *handler, x);
  std::cout << "vulkan: ok" << std::endl;
  return 0;
}

}  // namespace

int main() {
  try {
    return Run();
  } catch (const std::exception& error) {
    std::cerr << "vulkan: " << error.what() << std::endl;
    return 1;
  }
}
