// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tutorial, part 5: the same calls on a GPU, by Vulkan. Says so where there is none.

#include <cstdio>
#include <span>
#include <vector>

#include "tandem/ops.h"
#include "tandem/vulkan.h"

using tandem::eager::Runtime;
using tandem::eager::Tensor;

static tandem::Status Run() {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create());
  Runtime& rt = *runtime;
  tandem::OpHandler& cpu = rt.handler();

  // What the device has no kernel for goes to the fallback, arguments and results by transfers.
  const auto vulkan = tandem::LoadVulkanOpHandler(rt.core(), {.fallback = &cpu});
  if (!vulkan.ok()) {
    std::printf("no GPU: %s\n", vulkan.status().ToString().c_str());
    return tandem::Status();
  }
  rt.UseHandler(**vulkan);

  // Tensors are made on the host. One that many calls take is moved once; the rest moves when it is used.
  const std::vector<float> values(64 * 64, 0.5f);
  const Tensor weights = rt.FromValues<float>(std::span(values), {64, 64}).To(*(*vulkan)->device());

  // No call waits for the one before: each is in the device's queue when it returns.
  Tensor x = rt.FromValues<float>(std::span(values), {64, 64});
  for (int layer = 0; layer < 8; ++layer) x = tanh(matMul(x, weights));

  // Only reading brings a result back, and waits for it.
  TANDEM_ASSIGN_OR_RETURN(const float total, sum(x, {0, 1}).Item<float>());
  std::printf("sum: %g\n", total);
  return tandem::Status();
}

int main() {
  const tandem::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
