// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of compiled functions with the memory of a device. What they launch is to be in the order of the device's own
// commands: in its stream, if the function's runtime library can be told of one, else in the default stream, which is
// made to wait, and waited for.

#include <memory>
#include <optional>
#include <utility>

#include "tandem/core_runtime.h"
#include "tandem/dlpack.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/small_array.h"
#include "target.h"

namespace tandem::tvm {

namespace {

constexpr size_t kUsualTensors = 4;

// While it lives, the function's runtime library launches kernels in the device's stream.
class StreamScope {
 public:
  StreamScope(const PackedFunction::Target& target, const DlpackDevice& device) : target_(target), device_(device) {
    void* const stream = reinterpret_cast<void*>(static_cast<intptr_t>(device.stream()));
    if (target.abi == Abi::kFfi && target.env_set_stream != nullptr) {
      is_set_ = target.env_set_stream(device.type(), device.number(), stream, &before_) == 0;
    } else if (target.abi == Abi::kClassic && target.set_stream != nullptr) {
      is_set_ = target.set_stream(device.type(), device.number(), stream) == 0;
    }
  }
  ~StreamScope() {
    if (!is_set_) return;
    if (target_.abi == Abi::kFfi) {
      target_.env_set_stream(device_.type(), device_.number(), before_, nullptr);
    } else {
      target_.set_stream(device_.type(), device_.number(), nullptr);
    }
  }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  // That the function's kernels are in.
  int64_t stream() const { return is_set_ ? kDlpackNoStream : kDlpackDefaultStream; }

 private:
  const PackedFunction::Target& target_;
  const DlpackDevice& device_;
  void* before_ = nullptr;
  bool is_set_ = false;
};

}  // namespace

Status RunOnDevice(const PackedFunction::Target& target, size_t first_input, KernelFrame& frame) {
  const Device& place = *frame.handler().device();
  const std::shared_ptr<DlpackDevice> device = FindDlpackDevice(frame.handler().runtime(), place);
  if (device == nullptr) {
    return MakeError(StatusCode::kUnimplemented, "expected a device whose memory compiled functions can use, got ",
                     place.name());
  }
  const size_t num_inputs = frame.num_args() - first_input;
  const size_t num_tensors = num_inputs + frame.num_results();
  SmallArray<DLTensor, kUsualTensors> tensors;
  SmallArray<Strides, kUsualTensors> strides;
  SmallArray<std::optional<Tensor>, kUsualTensors> results;
  if (!tensors.Init(num_tensors) || !strides.Init(num_tensors) || !results.Init(frame.num_results())) {
    return Status::OutOfMemory();
  }
  const StreamScope scope(target, *device);
  const auto describe = [&](const Tensor& tensor, size_t i) -> Status {
    uint64_t address = 0;
    if (tensor.num_elements() > 0) {
      TANDEM_ASSIGN_OR_RETURN(address, device->Share(tensor, scope.stream()));
    }
    Describe(tensor.metadata(), target.abi, {device->type(), device->number()},
             reinterpret_cast<void*>(static_cast<uintptr_t>(address)), strides[i], &tensors[i]);
    return Status();
  };
  for (size_t i = 0; i < num_inputs; ++i) TANDEM_RETURN_IF_ERROR(describe(frame.arg(first_input + i), i));
  for (size_t i = 0; i < frame.num_results(); ++i) {
    TANDEM_ASSIGN_OR_RETURN(results[i], frame.NewResult(i));
    TANDEM_RETURN_IF_ERROR(describe(*results[i], num_inputs + i));
  }
  const Status status = Call(target, tensors.span(), frame.exec());
  // Also of a function that fails half-way.
  device->TakeBack(scope.stream());
  TANDEM_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < frame.num_results(); ++i) frame.SetResult(i, *std::move(results[i]));
  return Status();
}

}  // namespace tandem::tvm
