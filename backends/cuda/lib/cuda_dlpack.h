// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaDlpack: memory of a CUDA device that other libraries see (DL-3a).

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_DLPACK_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_DLPACK_H_

#include <functional>
#include <memory>
#include <string_view>

#include "cuda_queue.h"
#include "tandem/dlpack.h"
#include "tandem/shader/shader_device.h"

namespace tandem::cuda {

class CudaDlpack final : public DlpackDevice {
 public:
  // `queue` is the device's, maybe behind others.
  CudaDlpack(shader::ShaderDevice& device, CudaQueue& queue)
      : device_(device), queue_(queue), life_(queue.life()), number_(queue.device().ordinal()) {}

  const Device& device() const override { return device_; }
  int32_t type() const override;
  int32_t number() const override { return number_; }
  bool Takes(int32_t type) const override;
  int64_t stream() const override;
  StatusOr<Tensor> Wrap(const TensorMetadata& metadata, uint64_t address, int64_t stream,
                        std::function<void()> release) override;
  StatusOr<uint64_t> Share(const Tensor& tensor, int64_t stream) override;
  void TakeBack(int64_t stream) override;

 private:
  // Foreign memory, and the two who must be done with it: whoever drops the tensor, and the device.
  struct Foreign;

  // Ok if the pointer is into memory of this device, or of all.
  Status CheckPointer(uint64_t address) const;
  // Ok if the elements lie on the device as DLPack has them; else `advice` ends the error.
  Status CheckElements(const TensorMetadata& metadata, std::string_view advice) const;
  // Ok if that may be a tensor of the device.
  Status CheckForeign(const TensorMetadata& metadata, uint64_t address, int64_t stream) const;
  // Calls `release` when the device is done with all that has been issued.
  static void LetGo(Foreign* foreign);

  shader::ShaderDevice& device_;
  CudaQueue& queue_;
  const std::shared_ptr<CudaQueueLife> life_;
  const int number_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_DLPACK_H_
