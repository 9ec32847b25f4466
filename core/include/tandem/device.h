// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Device: where tensors live.

#ifndef TANDEM_DEVICE_H_
#define TANDEM_DEVICE_H_

#include <string>
#include <string_view>

#include "tandem/export.h"

namespace tandem {

class ExecutionContext;
class Tensor;
class TensorType;
struct TensorMetadata;
template <typename T>
class StatusOr;

// Identified by address: two runtimes have different devices even on the same hardware. Lives as long as the runtime.
class TANDEM_EXPORT Device {
 public:
  // `name` is unique within a runtime ("cpu", "vulkan:0"); `dense_type` is the representation of dense tensors there.
  Device(std::string_view name, const TensorType& dense_type) : name_(name), dense_type_(dense_type) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device();

  std::string_view name() const { return name_; }
  const TensorType& dense_type() const { return dense_type_; }

  // A dense tensor there, its content arbitrary: for results of kernels of `op`, whose name lives as long as the op
  // registry. Thread-safe. Default: Unimplemented, for a device whose kernels make their results otherwise.
  virtual StatusOr<Tensor> AllocateDense(const TensorMetadata& metadata, const ExecutionContext& exec,
                                         std::string_view op) const;

 private:
  std::string name_;
  const TensorType& dense_type_;
};

}  // namespace tandem

#endif  // TANDEM_DEVICE_H_
