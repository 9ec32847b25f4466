// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaStaging: pinned memory of the host, which copies to and from a device go through.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_STAGING_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_STAGING_H_

#include <cstddef>
#include <memory>

#include "cuda_driver.h"
#include "tandem/gpu/linked_queue.h"

namespace tandem::cuda {

// A call of the driver that failed; ok by default.
struct DriverFailure {
  DriverResult result = kDriverSuccess;
  const char* call = "";
  bool ok() const { return result == kDriverSuccess; }
};

// Pinned memory, and an event for when the device is done with it.
struct StagingChunk {
  std::byte* memory = nullptr;
  size_t size = 0;
  size_t used = 0;
  EventHandle event = nullptr;
  std::unique_ptr<StagingChunk> next;
};

// Not thread-safe; the device's context is the thread's in every call.
class CudaStaging {
 public:
  // What is larger is copied in pieces.
  static constexpr size_t kChunkBytes = size_t{4} << 20;
  // Beyond this, who wants a chunk waits for the device.
  static constexpr size_t kMostBytes = size_t{128} << 20;

  CudaStaging(const DriverFunctions& driver, StreamHandle stream) : driver_(driver), stream_(stream) {}
  // The stream's work is done.
  ~CudaStaging();

  // A chunk of kChunkBytes that nobody uses.
  DriverFailure Take(std::unique_ptr<StagingChunk>& chunk);
  // The device reads it until the work that has been issued is done.
  DriverFailure Issue(std::unique_ptr<StagingChunk> chunk);
  // Nobody reads it any more.
  void Give(std::unique_ptr<StagingChunk> chunk);

 private:
  DriverFailure Make(std::unique_ptr<StagingChunk>& chunk);
  void Destroy(StagingChunk& chunk) const;

  const DriverFunctions& driver_;
  const StreamHandle stream_;
  size_t bytes_ = 0;  // of all chunks
  gpu::LinkedQueue<StagingChunk> free_;
  gpu::LinkedQueue<StagingChunk> in_flight_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_STAGING_H_
