// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the kernels of sparse and ragged tensors share, and the parts of the family.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_KERNELS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/task_memory.h"
#include "tandem/host_context.h"
#include "tandem/kernel.h"
#include "tandem/kernel_op_handler.h"

namespace tandem::cpu {

// Element `i` of a tensor of i32 or i64.
inline int64_t IndexAt(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kI32 ? static_cast<const int32_t*>(tensor.data())[i]
                                       : static_cast<const int64_t*>(tensor.data())[i];
}
inline void StoreIndex(Tensor& tensor, int64_t i, int64_t value) {
  if (tensor.dtype() == DType::kI32) {
    static_cast<int32_t*>(tensor.mutable_data())[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t*>(tensor.mutable_data())[i] = value;
  }
}

// A dense result whose shape the kernel has found.
inline StatusOr<Tensor> NewDense(const KernelFrame& frame, DType dtype, const TensorShape& shape) {
  return AllocateDense({dtype, shape}, frame.host().device(), frame.host().allocator());
}

// Elements of a result of any dtype whose shape the kernel has found: those of strings are std::string_views.
class NewElements {
 public:
  Status Init(const KernelFrame& frame, DType dtype, const TensorShape& shape);
  std::byte* data() const { return data_; }
  size_t element_size() const { return element_size_; }
  // The tensor, once all elements are written.
  StatusOr<Tensor> Finish(const KernelFrame& frame);

 private:
  TensorMetadata metadata_;
  std::byte* data_ = nullptr;
  size_t element_size_ = 0;
  std::optional<Tensor> dense_;
  TaskArray<std::string_view> strings_;
};

Status RegisterRaggedKernels(KernelOpHandler& handler);  // RaggedRange, RaggedGather, RaggedTensorToTensor

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SPARSE_SPARSE_KERNELS_H_
