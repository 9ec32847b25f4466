// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tensors of the C++ face.

#ifndef TANDEM_EAGER_TENSOR_H_
#define TANDEM_EAGER_TENSOR_H_

#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/dlpack.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem::eager {

class Runtime;

// A tensor of a runtime: available, pending or an error. Copies share it. One object is used by one thread at a time;
// copies may be used by different threads. Outlives its runtime only for being destroyed.
//
// What fails for the way it is asked, such as another dtype, has the location `where`, which is the caller's; the error
// that a tensor has become has that of the call which caused it.
class TANDEM_EXPORT Tensor {
 public:
  // Null; may be destroyed, assigned and asked IsValid().
  Tensor() = default;
  // `runtime` may be null for an error.
  Tensor(Runtime* runtime, TensorHandle handle) : runtime_(runtime), handle_(std::move(handle)) {}
  Tensor(const Tensor& other) : runtime_(other.runtime_), handle_(other.handle_.CopyRef()) {}
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
  Tensor& operator=(Tensor&&) noexcept = default;

  bool IsValid() const { return handle_.IsValid(); }
  // Waits until the tensor is available: ok, or the error it has become.
  Status Await(std::source_location where = std::source_location::current()) const;
  // Dtype and shape; waits if they depend on data that is still pending.
  StatusOr<TensorMetadata> Metadata(std::source_location where = std::source_location::current()) const;

  // Waits, then shows the elements in row-major order without copying. T must be the dtype's C++ type. The view is
  // valid while this object or a copy of it lives. InvalidArgument for another dtype, and for tensors that are not
  // dense on the host: use ToVector for these.
  template <typename T>
  StatusOr<std::span<const T>> Values(std::source_location where = std::source_location::current()) const;
  // Waits, then copies the elements as T, whatever the dtype, from wherever the tensor is. Each must fit: T that is an
  // integer or bool takes integers in its range, T that is floating-point takes the nearest value, but no finite one
  // beyond its largest; complex numbers must be real to become anything else. The error says which does not. Strings
  // are no numbers.
  template <typename T>
  StatusOr<std::vector<T>> ToVector(std::source_location where = std::source_location::current()) const;
  // The only element of a tensor that has one, as ToVector converts it.
  template <typename T>
  StatusOr<T> Item(std::source_location where = std::source_location::current()) const;
  // This tensor on `device`, such as host().device() of its runtime or that of an op handler: itself if it is there,
  // otherwise a copy that may become available later. A tensor that many calls take is best where they run.
  Tensor To(const Device& device, std::source_location where = std::source_location::current()) const;
  // Waits, then gives the elements to another library, by DLPack: of a tensor on another device, those of a copy on the
  // host. See tandem/dlpack.h.
  StatusOr<DLManagedTensorVersioned*> ToDlpack(std::source_location where = std::source_location::current()) const;
  StatusOr<DLManagedTensor*> ToUnversionedDlpack(std::source_location where = std::source_location::current()) const;
  // The same for the elements where they are, without copying, also on a device whose memory other libraries can use;
  // there they are ready for what is issued to `stream` from now on. See tandem/dlpack.h.
  StatusOr<DLManagedTensorVersioned*> ShareByDlpack(int64_t stream = kDlpackDefaultStream,
                                                    std::source_location where = std::source_location::current()) const;
  // "f32[2,2] = [1, 2, 3, 4]" after waiting, from wherever the tensor is, or the error; at most `max_elements`
  // elements.
  std::string ToString(int max_elements = 16) const;

  const TensorHandle& handle() const { return handle_; }
  TensorHandle TakeHandle() && { return std::move(handle_); }
  Runtime* runtime() const { return runtime_; }

 private:
  StatusOr<const tandem::Tensor*> AwaitDense(DType dtype, std::source_location where) const;
  // As it is, from wherever it is: dense on the host, or strings.
  StatusOr<tandem::Tensor> AwaitOnHost() const;
  template <typename Managed>
  StatusOr<Managed*> Export(StatusOr<Managed*> (*to_dlpack)(const tandem::Tensor&, HostAllocator&),
                            std::source_location where) const;
  StatusOr<tandem::Tensor> AwaitElements(DType dtype, bool only_one, std::source_location where) const;

  Runtime* runtime_ = nullptr;
  TensorHandle handle_;
};

template <typename T>
StatusOr<std::span<const T>> Tensor::Values(std::source_location where) const {
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor* tensor, AwaitDense(kDTypeOf<T>, where));
  return DenseData<T>(*tensor);
}

template <typename T>
StatusOr<std::vector<T>> Tensor::ToVector(std::source_location where) const {
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor tensor, AwaitElements(kDTypeOf<T>, false, where));
  const std::span<const T> values = DenseData<T>(tensor);
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
StatusOr<T> Tensor::Item(std::source_location where) const {
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor tensor, AwaitElements(kDTypeOf<T>, true, where));
  return DenseData<T>(tensor)[0];
}

}  // namespace tandem::eager

#endif  // TANDEM_EAGER_TENSOR_H_
