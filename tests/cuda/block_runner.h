// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// BlockRunner: runs kernels that were compiled for the host, block by block, each thread of a block as a fiber.

#ifndef TANDEM_TESTS_CUDA_BLOCK_RUNNER_H_
#define TANDEM_TESTS_CUDA_BLOCK_RUNNER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "emulation.h"
#include "tandem/status.h"

namespace tandem::cuda {

// For one thread. What a kernel must not do (barriers that not all threads of a block, or not all of a warp, come to,
// wrong indices) is an error, and the kernel is given up.
class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();

  Emulation& emulation() { return emulation_; }

  using Kernel = void (*)(void* const* arguments);
  // `waits`: whether the kernel has barriers or functions of warps, without which threads need no fibers. Threads of a
  // block take turns in ascending order in one block and in descending order in the next, so that what depends on the
  // order shows.
  Status Run(Kernel kernel, void* const* arguments, const std::array<uint32_t, 3>& grid,
             const std::array<uint32_t, 3>& block, bool waits);

 private:
  struct Fibers;

  Status RunBlock(Kernel kernel, void* const* arguments, uint32_t num_threads, bool descends);

  Emulation emulation_ = {};
  std::unique_ptr<Fibers> fibers_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_TESTS_CUDA_BLOCK_RUNNER_H_
