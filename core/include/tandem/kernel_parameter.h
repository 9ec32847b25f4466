// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelParameter: what a kernel may take, an open set (DI-4a).

#ifndef TANDEM_KERNEL_PARAMETER_H_
#define TANDEM_KERNEL_PARAMETER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tandem/device.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_frame.h"
#include "tandem/metadata_function.h"
#include "tandem/small_array.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

// An argument as a dense tensor of the host; scalar host tensors are expanded.
class DenseArg {
 public:
  explicit DenseArg(const Tensor& tensor) : tensor_(&tensor) {}
  const Tensor& tensor() const { return *tensor_; }
  const TensorMetadata& metadata() const { return tensor_->metadata(); }
  const TensorShape& shape() const { return tensor_->shape(); }
  DType dtype() const { return tensor_->dtype(); }
  int64_t size() const { return tensor_->num_elements(); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data());
  }

 private:
  const Tensor* tensor_;
};

// An argument as a dense tensor of the kernel's own device, whatever that is.
class DeviceArg : public DenseArg {
 public:
  using DenseArg::DenseArg;
};

// All remaining arguments, as dense tensors of the host.
class VariadicArgs {
 public:
  explicit VariadicArgs(std::span<const Tensor* const> tensors) : tensors_(tensors) {}
  size_t size() const { return tensors_.size(); }
  DenseArg operator[](size_t i) const { return DenseArg(*tensors_[i]); }

 private:
  std::span<const Tensor* const> tensors_;
};

// Which arguments of a call a parameter stands for.
enum class KernelArguments : uint8_t { kNone, kOne, kRest };

// How a kernel gets a parameter of type P. Who has a type of his own that kernels may take specialises it, deriving
// from KernelParameterBase:
//
//   template <>
//   struct KernelParameter<Rows> : KernelParameterBase<KernelArguments::kOne> {
//     Status Take(KernelFrame& frame, size_t& next, bool&);
//     Rows Get(KernelFrame& frame);
//   };
//
// One is made for each call, and lives until the kernel has returned. Take checks its argument, which is `next`, and
// steps over it; it says by `expands` whether Expand, which alone may need memory, is to be called once all parameters
// have taken theirs (MD-6). Get gives the parameter.
template <typename P>
struct KernelParameter {
  static constexpr bool kValid = false;
  static constexpr KernelArguments kArguments = KernelArguments::kNone;
};
// What parameters have that check nothing and need no memory.
template <KernelArguments arguments>
struct KernelParameterBase {
  static constexpr bool kValid = true;
  static constexpr KernelArguments kArguments = arguments;
  Status Take(KernelFrame&, size_t&, bool&) { return Status(); }
  Status Expand(KernelFrame&) { return Status(); }
};

// A reference to what the handler provides as T, which kContext says that it must.
template <typename T>
requires requires { T::kKernelContext.name; }
struct KernelParameter<T&> : KernelParameterBase<KernelArguments::kNone> {
  static constexpr const KernelContext* kContext = &T::kKernelContext;
  T& Get(KernelFrame& frame) { return frame.context<T>(); }
};
// An argument, whatever its type and place.
template <>
struct KernelParameter<const Tensor&> : KernelParameterBase<KernelArguments::kOne> {
  Status Take(KernelFrame& frame, size_t& next, bool&) {
    tensor = &frame.arg(next++);
    return Status();
  }
  const Tensor& Get(KernelFrame&) { return *tensor; }

  const Tensor* tensor;
};

namespace internal {
// Ok if `frame.arg(i)` is a host tensor that is dense or can be expanded to that.
TANDEM_EXPORT Status CheckDense(const KernelFrame& frame, size_t i);
// `*dense`, which is ok by CheckDense, becomes a dense host tensor; `expanded` keeps the elements of one that was not.
TANDEM_EXPORT Status ExpandToDense(KernelFrame& frame, const Tensor** dense, std::optional<Tensor>& expanded);
// Ok if `frame.arg(i)` is a dense tensor of the kernel's device; or, the second, one whose numbers the host can read.
TANDEM_EXPORT Status CheckOnDevice(const KernelFrame& frame, size_t i);
TANDEM_EXPORT Status CheckReadable(const KernelFrame& frame, size_t i);
}  // namespace internal
// An argument as a dense host tensor.
template <>
struct KernelParameter<DenseArg> : KernelParameterBase<KernelArguments::kOne> {
  Status Take(KernelFrame& frame, size_t& next, bool& expands) {
    const size_t i = next++;
    tensor = &frame.arg(i);
    if (tensor->IsA(kDenseHost)) [[likely]]
      return Status();
    expands = true;
    return internal::CheckDense(frame, i);
  }
  Status Expand(KernelFrame& frame) { return internal::ExpandToDense(frame, &tensor, expanded); }
  DenseArg Get(KernelFrame&) { return DenseArg(*tensor); }

  const Tensor* tensor;
  std::optional<Tensor> expanded;
};
// An argument as a dense tensor on the kernel's device.
template <>
struct KernelParameter<DeviceArg> : KernelParameterBase<KernelArguments::kOne> {
  Status Take(KernelFrame& frame, size_t& next, bool&) {
    const size_t i = next++;
    tensor = &frame.arg(i);
    return internal::CheckOnDevice(frame, i);
  }
  DeviceArg Get(KernelFrame&) { return DeviceArg(*tensor); }

  const Tensor* tensor;
};

// A host input of the definition: axes, shapes and the like, as numbers.
template <>
struct KernelParameter<HostInput> : KernelParameterBase<KernelArguments::kOne> {
  Status Take(KernelFrame& frame, size_t& next, bool&) {
    const size_t i = next++;
    tensor = &frame.arg(i);
    return internal::CheckReadable(frame, i);
  }
  HostInput Get(KernelFrame&) { return HostInput(tensor->metadata(), tensor); }

  const Tensor* tensor;
};
// All arguments that are left, as dense host tensors.
template <>
struct TANDEM_EXPORT KernelParameter<VariadicArgs> : KernelParameterBase<KernelArguments::kRest> {
  Status Take(KernelFrame& frame, size_t& next, bool& expands);
  Status Expand(KernelFrame& frame);
  VariadicArgs Get(KernelFrame&) { return VariadicArgs(tensors.span()); }

  size_t first = 0;
  SmallArray<const Tensor*, 8> tensors;
  std::unique_ptr<std::optional<Tensor>[]> expanded;  // only if one of them is a scalar host tensor
};
// The attributes of the call.
template <>
struct KernelParameter<const OpAttrsRef&> : KernelParameterBase<KernelArguments::kNone> {
  const OpAttrsRef& Get(KernelFrame& frame) { return frame.attrs(); }
};
// The call itself.
template <>
struct KernelParameter<KernelFrame&> : KernelParameterBase<KernelArguments::kNone> {
  KernelFrame& Get(KernelFrame& frame) { return frame; }
};
// What the call runs under.
template <>
struct KernelParameter<const ExecutionContext&> : KernelParameterBase<KernelArguments::kNone> {
  const ExecutionContext& Get(KernelFrame& frame) { return frame.exec(); }
};

}  // namespace tandem

#endif  // TANDEM_KERNEL_PARAMETER_H_
