// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Metadata of handles, and their text.

#include "tandem/tensor_handle.h"

namespace tandem {

const TensorMetadata* TensorHandle::FindMetadata() const {
  if (metadata_.IsValid()) {
    if (metadata_.IsConcrete()) return &metadata_.get();
    return value_.IsConcrete() ? &value_.get().metadata() : nullptr;
  }
  const Tensor* tensor = value_.FindContent();
  return tensor == nullptr ? nullptr : &tensor->metadata();
}

void AppendTo(MessageBuilder& out, const TensorHandle& handle) {
  if (!handle.IsValid()) {
    out.Append("null");
    return;
  }
  if (handle.IsError()) {
    out.Append("error: ", handle.GetError().message());
    return;
  }
  // Each asked once, since a pending tensor may become available meanwhile.
  const bool is_concrete = handle.IsConcrete();
  const bool is_metadata_known = is_concrete || handle.IsMetadataAvailable();
  if (!is_concrete) out.Append(is_metadata_known ? "pending " : "pending, metadata pending");
  if (is_metadata_known) out.Append(handle.metadata());
  if (handle.device() != nullptr) out.Append(" on ", handle.device()->name());
}

}  // namespace tandem
