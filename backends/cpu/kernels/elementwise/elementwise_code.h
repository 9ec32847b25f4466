// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loops over chains of element-wise ops as WebAssembly modules that are made at run time: an element is loaded once,
// goes through all ops in registers, and is stored once, without an interpreter between them.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "kernels/elementwise/elementwise_code_ops.h"
#include "tandem/cpu/code_runner.h"
#include "tandem/growing_array.h"
#include "tandem/ref_counted.h"

namespace tandem::cpu {

// Places are those of the inputs, then those of the steps' results.
struct ElementLoop {
  struct Input {
    bool is_bool = false;    // bytes that are 0 or 1; else elements of four bytes
    bool is_single = false;  // one element stands for all
  };
  struct Step {
    ElementCode code;
    std::array<uint32_t, 3> operands = {};  // places
    float parameter = 0;
    bool gives_bool = false;
    bool is_stored = false;
  };
  std::span<const Input> inputs;
  std::span<const Step> steps;
};

// More steps and inputs than that are not for one loop.
inline constexpr size_t kMaxLoopSteps = 24;
inline constexpr size_t kMaxLoopInputs = 24;

// Adds the module to `code`. It imports its memory as "m" "m", shared if `is_shared`, and exports "f", which takes the
// address of addresses (of the elements of each input, then of each result that is stored) and the number of elements,
// at most 2^31 - 1. What is stored may lie where an input is read, element by element. False if memory is exhausted.
[[nodiscard]] bool EncodeElementLoop(const ElementLoop& loop, bool is_shared, GrowingArray<uint8_t>& code);

// A module, and the number by which threads know their instances of it.
struct LoopCode final : public RefCounted<LoopCode> {
  uint32_t id = 0;
  GrowingArray<uint8_t> bytes;
};

// The modules of a handler, each once as long as it is used now and then. Thread-safe.
class LoopCodes {
 public:
  explicit LoopCodes(CodeRunner runner) : runner_(runner) {}

  // Whether there is somebody who runs them.
  bool IsEnabled() const { return runner_ != nullptr; }
  // Null if memory is exhausted, or too many were made.
  RcRef<const LoopCode> Find(const ElementLoop& loop);
  // Computes `n` elements. False if the code cannot be run here, and nothing was computed.
  bool Run(const LoopCode& code, std::span<const void* const> operands, int64_t n) const;

 private:
  static constexpr size_t kNumKept = 64;

  const CodeRunner runner_;
  std::mutex mutex_;
  std::array<RcRef<const LoopCode>, kNumKept> kept_;
  size_t next_victim_ = 0;
  uint32_t last_id_ = 0;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_CODE_H_
