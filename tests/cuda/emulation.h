// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What goes between kernels that were compiled for the host and the program that runs them.

#ifndef TANDEM_TESTS_CUDA_EMULATION_H_
#define TANDEM_TESTS_CUDA_EMULATION_H_

namespace tandem::cuda {

struct EmulatedIndex {
  unsigned x, y, z;
};

// What a thread of a kernel sees. One kernel runs at a time.
struct Emulation {
  EmulatedIndex thread_index, block_index, block_size, grid_size;
  // Waits for all threads of the block. `place` tells one call from another in the text: all must be at the same.
  void (*barrier)(const char* file, int line);
  // Waits for all threads of the warp, and gives the words that they have passed, by lane; those of lanes that are not
  // there are arbitrary. They hold until the call after the next.
  const unsigned* (*exchange)(unsigned word);
  // An index that an array or vector of the kernel's does not have. Does not return.
  void (*wrong_index)(unsigned index, unsigned size);
};

// In a library of such kernels, by C linkage: `void w_set_emulation(Emulation*)`, called once, and for each kernel NAME
// `void run_NAME(void* const* arguments)`, which runs it for one thread; arguments are as for cuLaunchKernel; and
// `unsigned sizes_NAME(unsigned* sizes)`, which gives how many these are, and their sizes in bytes, if they are asked
// for.

}  // namespace tandem::cuda

#endif  // TANDEM_TESTS_CUDA_EMULATION_H_
