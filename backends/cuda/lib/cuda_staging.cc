// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_staging.h"

#include <new>
#include <utility>

namespace tandem::cuda {

CudaStaging::~CudaStaging() {
  for (gpu::LinkedQueue<StagingChunk>* queue : {&free_, &in_flight_}) {
    while (const std::unique_ptr<StagingChunk> chunk = queue->PopFront()) Destroy(*chunk);
  }
}

void CudaStaging::Destroy(StagingChunk& chunk) const {
  if (chunk.event != nullptr) driver_.EventDestroy(chunk.event);
  if (chunk.memory != nullptr) driver_.MemFreeHost(chunk.memory);
}

DriverFailure CudaStaging::Make(std::unique_ptr<StagingChunk>& chunk) {
  chunk.reset(new (std::nothrow) StagingChunk);
  if (chunk == nullptr) return {kDriverOutOfMemory, "new"};
  void* memory = nullptr;
  DriverFailure failure = {driver_.MemHostAlloc(&memory, kChunkBytes, 0), "cuMemHostAlloc"};
  if (failure.ok()) {
    chunk->memory = static_cast<std::byte*>(memory);
    failure = {driver_.EventCreate(&chunk->event, kEventDisableTiming | kEventBlockingSync), "cuEventCreate"};
  }
  if (!failure.ok()) {
    Destroy(*chunk);
    chunk.reset();
    return failure;
  }
  chunk->size = kChunkBytes;
  bytes_ += kChunkBytes;
  return {};
}

DriverFailure CudaStaging::Take(std::unique_ptr<StagingChunk>& chunk) {
  chunk = free_.PopFront();
  if (chunk == nullptr && !in_flight_.empty()) {
    DriverResult result = driver_.EventQuery(in_flight_.first()->event);
    if (result == kDriverNotReady && bytes_ >= kMostBytes) {
      result = driver_.EventSynchronize(in_flight_.first()->event);
    }
    if (result == kDriverSuccess) {
      chunk = in_flight_.PopFront();
    } else if (result != kDriverNotReady) {
      return {result, "cuEventQuery"};
    }
  }
  if (chunk != nullptr) {
    chunk->used = 0;
    return {};
  }
  DriverFailure failure = Make(chunk);
  // Without more pinned memory, those that there are must do.
  if (failure.result == kDriverOutOfMemory && !in_flight_.empty()) {
    failure = {driver_.EventSynchronize(in_flight_.first()->event), "cuEventSynchronize"};
    if (failure.ok()) {
      chunk = in_flight_.PopFront();
      chunk->used = 0;
    }
  }
  return failure;
}

DriverFailure CudaStaging::Issue(std::unique_ptr<StagingChunk> chunk) {
  const DriverFailure failure = {driver_.EventRecord(chunk->event, stream_), "cuEventRecord"};
  in_flight_.PushBack(std::move(chunk));
  return failure;
}

void CudaStaging::Give(std::unique_ptr<StagingChunk> chunk) { free_.PushFront(std::move(chunk)); }

}  // namespace tandem::cuda
