// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads the Vulkan op handler and calls an op on it. Says so where there is no device to do that with.

#include "tandem/vulkan.h"

#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_families.h"

namespace {

template <typename T>
T Value(tandem::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return std::move(*value);
}

void Check(const tandem::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
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
  const tandem::OpHandler* handler = *vulkan;
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
  const tandem::ExecutionContext exec(host, tandem::Location::Current());
  const tandem::TensorHandle sum = result.TransferTo(exec, host.device());
  Check(host.Await(sum));
  const auto* sums = static_cast<const float*>(sum.tensor().data());
  if (sums[0] != 2 || sums[1] != 4 || sums[2] != 6) throw std::runtime_error("1 + 1 is not 2");
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
