// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program that adds on a GPU by CUDA, where there is one, and says why else.

#include "tandem/cuda.h"

#include <iostream>
#include <span>
#include <vector>

#include "tandem/eager.h"

int main() {
  auto created = tandem::eager::Runtime::Create();
  if (!created.ok()) return 1;
  tandem::eager::Runtime& runtime = **created;
  const auto cuda = tandem::LoadCudaOpHandler(runtime.core(), {.fallback = runtime.core().FindHandler("cpu")});
  if (cuda.status().code() == tandem::StatusCode::kNotFound ||
      cuda.status().code() == tandem::StatusCode::kFailedPrecondition) {
    std::cout << "cuda: not run: " << cuda.status().message() << std::endl;
    return 0;
  }
  if (!cuda.ok()) {
    std::cerr << "cuda: " << cuda.status().ToString() << std::endl;
    return 1;
  }
  runtime.UseHandler(**cuda);
  const auto x = runtime.FromValues<float>({1, 2, 3}, {3});
  const auto sum = (x + x).ToVector<float>();
  if (!sum.ok() || *sum != std::vector<float>{2, 4, 6}) return 1;
  std::cout << "cuda: ok" << std::endl;
  return 0;
}
