// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls whose results come after the kernel has returned, and what they share with those of kernels.

#ifndef TANDEM_BINDINGS_PLUGIN_DEFERRED_CALL_H_
#define TANDEM_BINDINGS_PLUGIN_DEFERRED_CALL_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "plugin_call.h"

namespace tandem::plugin {

// The call of a kernel as one that goes on when that has returned: its results are the frame's, and it lives until
// Finish. The code of the plug-in stays until Finish has returned, and for as long as the host takes to notice.
StatusOr<tandem_plugin_call*> MakeDeferredCall(KernelFrame& frame, std::shared_ptr<const void> in_use);

// Whether a result may be `given`: what is `known` has a dtype if the definition has one, and if it `is_known` by a
// metadata function, a shape.
Status CheckResult(size_t index, const TensorMetadata& known, const TensorMetadata& given, bool is_known);
// Gives the result, which must have been described, elements.
Status AllocateDescribed(std::optional<Tensor>* described, size_t index, HostAllocator& allocator, void** data);
// The error of allocating a result of strings.
Status StringsAreSet(size_t index);
// A result of these strings.
StatusOr<Tensor> MakeStringResult(const TensorMetadata& metadata, size_t index,
                                  std::span<const std::string_view> strings, HostContext& host);

}  // namespace tandem::plugin

#endif  // TANDEM_BINDINGS_PLUGIN_DEFERRED_CALL_H_
