// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConvertedArg, ConvertedResult: elements of several dtypes as numbers of one type, for kernels whose code is worth
// having for few types only.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVERTED_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVERTED_H_

#include <cstdint>

#include "kernels/scratch.h"
#include "tandem/kernel.h"
#include "tandem/kernel_run.h"

namespace tandem::cpu {

// Converts `n` elements as tf.Cast does; both dtypes are real.
void ConvertElements(const KernelFrame& frame, DType from, const void* elements, DType to, void* out, int64_t n);

// The elements of an argument of a real dtype as numbers of type T: itself, or a converted copy.
template <typename T>
class ConvertedArg {
 public:
  Status Init(const KernelFrame& frame, const DenseArg& arg) {
    data_ = arg.data<T>();
    if (arg.dtype() == kDTypeOf<T>) return Status();
    TANDEM_RETURN_IF_ERROR(copy_.Init(frame, arg.size()));
    ConvertElements(frame, arg.dtype(), arg.data<void>(), kDTypeOf<T>, copy_.data(), arg.size());
    data_ = copy_.data();
    return KernelRun::CheckWanted();
  }
  const T* data() const { return data_; }

 private:
  Scratch<T> copy_;
  const T* data_ = nullptr;
};

// Where numbers of type T are written that become a result of a real dtype, by Finish.
template <typename T>
class ConvertedResult {
 public:
  // An error, or null data, if there is no memory.
  Status Init(KernelFrame& frame, size_t i) {
    result_ = frame.AllocateResult(i);
    data_ = static_cast<T*>(result_);
    dtype_ = frame.result_metadata(i).dtype;
    size_ = frame.result_metadata(i).num_elements();
    if (result_ == nullptr || dtype_ == kDTypeOf<T>) return Status();
    TANDEM_RETURN_IF_ERROR(numbers_.Init(frame, size_));
    data_ = numbers_.data();
    return Status();
  }
  void Finish(const KernelFrame& frame) const {
    if (dtype_ != kDTypeOf<T>) ConvertElements(frame, kDTypeOf<T>, data_, dtype_, result_, size_);
  }
  T* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  Scratch<T> numbers_;
  T* data_ = nullptr;
  void* result_ = nullptr;
  DType dtype_ = DType::kInvalid;
  int64_t size_ = 0;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVERTED_H_
