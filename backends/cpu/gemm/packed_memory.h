// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PackedMemory: where a kernel puts an argument in the order in which it reads it.

#ifndef TANDEM_BACKENDS_CPU_GEMM_PACKED_MEMORY_H_
#define TANDEM_BACKENDS_CPU_GEMM_PACKED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "kernels/task_memory.h"
#include "tandem/constant_buffer.h"
#include "tandem/kernel_parameter.h"

namespace tandem::cpu {

// Of an argument that is a constant it is kept with the constant, so that only the first call packs; else it is for one
// call, as TaskMemory is.
class PackedMemory {
 public:
  // `forms` are those of the constant, null for other arguments. Whatever the content depends on is in `key`.
  PackedMemory(ConstantForms* forms, const ConstantForms::Key& key, uint64_t bytes);

  // Null if there was no memory.
  std::byte* data() const { return form_ ? static_cast<std::byte*>(form_->data()) : memory_.data(); }
  // Whether an earlier call has packed it.
  bool is_packed() const { return is_packed_; }
  // After the caller has packed it: later calls find it, unless the kernel is to end, and may have left something out.
  void SetPacked();

 private:
  ConstantForms* forms_;
  const ConstantForms::Key key_;
  RcRef<HostBuffer> form_;
  TaskMemory memory_;
  bool is_packed_ = false;
};

// Null unless the argument is a constant.
inline ConstantForms* FormsOf(const DenseArg& arg) {
  return arg.tensor().storage() ? arg.tensor().storage()->constant_forms() : nullptr;
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_PACKED_MEMORY_H_
