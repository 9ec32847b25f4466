// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory that is kept with an argument's content, or for one call.

#include "gemm/packed_memory.h"

#include <utility>

namespace tandem::cpu {

PackedMemory::PackedMemory(ConstantForms* forms, const ConstantForms::Key& key, uint64_t bytes)
    : forms_(IfWanted(forms, key, bytes)), key_(key) {
  if (forms_ == nullptr) {
    memory_.Allocate(bytes);
    return;
  }
  form_ = forms_->Find(key);
  is_packed_ = static_cast<bool>(form_);
  if (is_packed_) return;
  if (StatusOr<RcRef<HostBuffer>> made = KernelRun::Allocator()->Allocate(static_cast<size_t>(bytes)); made.ok()) {
    form_ = *std::move(made);
  }
}

void PackedMemory::SetPacked() {
  if (forms_ != nullptr && !KernelRun::IsStopped()) forms_->Keep(key_, form_);
}

}  // namespace tandem::cpu
