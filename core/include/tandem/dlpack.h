// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors from and for other libraries, by DLPack 1.x, without copying (DL-3a). Its structs are those of any dlpack.h.

#ifndef TANDEM_DLPACK_H_
#define TANDEM_DLPACK_H_

#include "tandem/device.h"
#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tandem {

// A dense tensor of the host over the memory of `managed`, which nobody may write to before it is released: by its
// deleter, exactly once, when nobody uses the tensor any more, on whatever thread that is; at once if the function
// fails, or if it had to copy. It copies what is not row-major without gaps, not aligned to the size of an element, and
// bools of other bytes than 0 and 1, which become 1.
//
// InvalidArgument for what is not in the CPU's memory (pinned memory is), another major version, elements that are no
// DType (several lanes among them), and sizes that are negative or beyond what can be addressed.
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(DLManagedTensorVersioned* managed, const Device& host,
                                          HostAllocator& allocator);
// The same of the form that DLPack had before 1.0.
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(DLManagedTensor* managed, const Device& host, HostAllocator& allocator);

// The tensor for whoever calls the deleter, on any thread, once. It shares the memory, which is marked as read-only,
// and keeps it; elements that the tensor has within itself (Tensor::kInlineBytes), or that are to be made dense first,
// are copied. The result may outlive the runtime. InvalidArgument for tensors of strings and of other devices.
TANDEM_EXPORT StatusOr<DLManagedTensorVersioned*> ToDlpack(const Tensor& tensor, HostAllocator& allocator);
// The same in the form before 1.0, which cannot say that nobody may write to the memory.
TANDEM_EXPORT StatusOr<DLManagedTensor*> ToUnversionedDlpack(const Tensor& tensor, HostAllocator& allocator);

}  // namespace tandem

#endif  // TANDEM_DLPACK_H_
