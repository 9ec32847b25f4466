// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What stands behind a tandem_plugin_call: the calls of metadata functions, of kernels, and those deferred by kernels.

#ifndef TANDEM_BINDINGS_PLUGIN_PLUGIN_CALL_H_
#define TANDEM_BINDINGS_PLUGIN_PLUGIN_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "tandem/core_runtime.h"
#include "tandem/kernel.h"
#include "tandem/metadata_function.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem_plugin.h"

namespace tandem::plugin {

// What a function of a plug-in is called with, and how that ends.
class User {
 public:
  User(void* user, tandem_plugin_destroy destroy) : user_(user), destroy_(destroy) {}
  ~User() {
    if (destroy_ != nullptr) destroy_(user_);
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;
  void* get() const { return user_; }

 private:
  void* const user_;
  const tandem_plugin_destroy destroy_;
};

// The closures of a metadata function and of a kernel.
struct MetadataClosure {
  tandem_plugin_metadata function;
  std::shared_ptr<const User> user;
  CoreRuntime* runtime;
};
struct KernelClosure {
  tandem_plugin_kernel function;
  std::shared_ptr<const void> in_use;  // for deferred calls; ends last
  std::shared_ptr<const User> user;
};
// What calls them; MetadataFunction and Kernel::Function.
Status CallMetadata(const MetadataFrame& frame);
Status CallKernel(const void* closure, KernelFrame& frame);

// The table of all plug-ins.
const tandem_plugin_api& Api();

// Takes the error over; ok for null.
Status FromC(tandem_status* error);

// Dense tensors for inputs that are not.
class ExpandedInputs {
 public:
  // The tensor itself if it is dense or of strings, else one of the same elements, which lives as long as this.
  StatusOr<const Tensor*> Get(const Tensor& tensor, size_t index, size_t num_inputs, HostAllocator& allocator) {
    if (tensor.IsA(kDenseHost) || tensor.IsA(kStringHost)) [[likely]]
      return &tensor;
    return Expand(tensor, index, num_inputs, allocator);
  }

 private:
  StatusOr<const Tensor*> Expand(const Tensor& tensor, size_t index, size_t num_inputs, HostAllocator& allocator);
  std::unique_ptr<std::optional<Tensor>[]> expanded_;
};

}  // namespace tandem::plugin

// Indexes are right. What only kernels may do fails here.
struct tandem_plugin_call {
 public:
  tandem_plugin_call(size_t inputs, size_t results) : num_inputs(inputs), num_results(results) {}
  tandem_plugin_call(const tandem_plugin_call&) = delete;
  tandem_plugin_call& operator=(const tandem_plugin_call&) = delete;

  virtual const tandem::OpAttrsRef& attrs() const = 0;
  virtual const tandem::TensorMetadata& InputMetadata(size_t index) const = 0;
  // Null if its elements are not to be seen.
  virtual tandem::StatusOr<const tandem::Tensor*> Input(size_t index) = 0;
  // With an invalid dtype or shape where these are not known.
  virtual tandem::TensorMetadata ResultMetadata(size_t index) const = 0;
  virtual tandem::Status Describe(size_t index, const tandem::TensorMetadata& metadata) = 0;

  // In the memory of `input`, if given and possible.
  virtual tandem::Status Allocate(size_t index, std::optional<size_t> input, void** data);
  virtual tandem::Status SetStrings(size_t index, std::span<const std::string_view> strings);
  // A tensor of the host that is what the result is described as, or says what it is.
  virtual tandem::Status Set(size_t index, const tandem::Tensor& tensor);
  virtual tandem::Status Fail(size_t index, tandem::Status error);
  virtual tandem::Status Defer(tandem_plugin_call** later);
  virtual bool IsCancelled() { return false; }
  virtual bool IsExact() const { return false; }
  virtual bool ParallelFor(int64_t count, double cost, tandem::FunctionRef<void(int64_t, int64_t)> range);
  // Of a deferred call, which is gone then.
  virtual void Finish(tandem::Status) {}

  const size_t num_inputs;
  const size_t num_results;

 protected:
  ~tandem_plugin_call() = default;
};

#endif  // TANDEM_BINDINGS_PLUGIN_PLUGIN_CALL_H_
