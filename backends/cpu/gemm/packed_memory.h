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

// The first number of a key: panels of a matrix by slices of its depth, whole panels of columns, panels by taps of a
// filter.
enum class PackedOrder : int64_t { kSlicedPanels, kColumnPanels, kTapPanels };
// The second one.
inline int64_t AddressOf(const void* data) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)); }

// It is kept with the argument's content, so that later calls need not pack; or it is for one call, as TaskMemory is.
class PackedMemory {
 public:
  // `forms` are those of the argument; null for one call. Whatever the content depends on is in `key`.
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

// Up to so many rows to multiply with it, a packed matrix of a tensor that is no constant is kept: beside the products
// of more rows packing takes little time.
inline constexpr int64_t kMaxRowsOfKept = 256;

// Null if nothing is to be kept of the argument, a matrix that `rows` rows are to be multiplied with.
inline ConstantForms* FormsOf(const DenseArg& arg, int64_t rows) {
  ConstantForms* const forms = arg.tensor().storage() ? arg.tensor().storage()->constant_forms() : nullptr;
  return forms != nullptr && (rows <= kMaxRowsOfKept || forms->is_of_constant()) ? forms : nullptr;
}

// The same forms if the caller is to find, or make and keep, this one; else null.
inline ConstantForms* IfWanted(ConstantForms* forms, const ConstantForms::Key& key, uint64_t bytes) {
  const bool is_wanted = forms != nullptr && bytes <= PTRDIFF_MAX / 2 && KernelRun::Allocator() != nullptr;
  return is_wanted && forms->IsWanted(key, static_cast<size_t>(bytes)) ? forms : nullptr;
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_PACKED_MEMORY_H_
