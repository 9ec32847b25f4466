// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory that is kept with a constant, or for one call.

#include "gemm/packed_memory.h"

#include <utility>

namespace tandem::cpu {

PackedMemory::PackedMemory(ConstantForms* forms, const ConstantForms::Key& key, uint64_t bytes)
    : forms_(forms), key_(key) {
  HostAllocator* const allocator = KernelRun::Allocator();
  if (forms == nullptr || allocator == nullptr || bytes > PTRDIFF_MAX / 2) {
    forms_ = nullptr;
    memory_.Allocate(bytes);
    return;
  }
  form_ = forms->Find(key);
  is_packed_ = static_cast<bool>(form_);
  if (is_packed_) return;
  if (StatusOr<RcRef<HostBuffer>> made = allocator->Allocate(static_cast<size_t>(bytes)); made.ok()) {
    form_ = *std::move(made);
  }
}

void PackedMemory::SetPacked() {
  if (forms_ != nullptr && !KernelRun::IsStopped()) forms_->Keep(key_, form_);
}

}  // namespace tandem::cpu
