// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "tandem/shader/shader_device.h"

#include <algorithm>
#include <new>
#include <utility>

#include "tandem/gpu/heap_room.h"

namespace tandem::shader {

namespace {

// Of the heap, for the strings of which a shader is put together: the longest texts have some 30 KB.
constexpr size_t kComposeBytes = size_t{1} << 20;

}  // namespace

constinit const KernelContext ShaderDevice::kKernelContext = {"a device that runs shaders"};
constinit const TensorType kStandInGpu("stand_in_gpu");
constinit const TensorType kTakenOverStandInGpu("taken_over_stand_in_gpu");

ShaderDevice::ShaderDevice(std::string_view name, std::unique_ptr<ShaderQueue> queue, RcRef<gpu::GpuMemory> memory)
    : ShaderDevice(name, *queue, std::move(queue), std::move(memory)) {}

ShaderDevice::ShaderDevice(std::string_view name, ShaderQueue& queue, std::unique_ptr<ShaderQueue>&& owned,
                           RcRef<gpu::GpuMemory> memory)
    : GpuDevice(name, std::move(owned), std::move(memory), gpu::BoolLayout::kWords),
      queue_(queue),
      limits_(queue.limits()) {}

ShaderDevice::~ShaderDevice() {
  // For the calls whose pipelines the queue gives up now.
  Lose(MakeError(StatusCode::kCancelled, "the device was destroyed"));
  for (std::unique_ptr<KnownVariant>& bucket : variants_) bucket.reset();
  Close();
}

Tensor ShaderDevice::StandIn(const TensorMetadata& metadata, bool is_taken_over) const {
  const TensorType& type = is_taken_over ? kTakenOverStandInGpu : kStandInGpu;
  return Tensor(metadata, this, type, nullptr, GpuBuffer::MakeStandIn(ByteSize(metadata)));
}

ShaderDevice::VariantPipeline* ShaderDevice::FindVariant(const ShaderVariant& variant) {
  std::unique_ptr<KnownVariant>* place = &variants_[ShaderVariant::Hash()(variant) % kVariantBuckets];
  while (*place != nullptr && (*place)->variant != variant) place = &(*place)->next;
  if (*place == nullptr) place->reset(new (std::nothrow) KnownVariant{variant, {}, nullptr});
  return *place == nullptr ? nullptr : &(*place)->pipeline;
}

ShaderDevice::VariantPipeline ShaderDevice::FindPipeline(const ShaderVariant& variant) {
  const std::lock_guard lock(pipelines_mutex_);
  VariantPipeline* const pipeline = FindVariant(variant);
  const bool is_made = pipeline != nullptr && pipeline->value.IsValid() && !pipeline->value.IsError();
  if (!is_made) {
    if (pipeline == nullptr || !gpu::HeapHasRoom(kComposeBytes)) {
      return {AsyncValueRef<RcRef<Pipeline>>::MakeError(Status::OutOfMemory())};
    }
    ShaderText text = variant.Compose();
    pipeline->num_written = static_cast<size_t>(std::ranges::count(text.buffers, BufferAccess::kReadWrite));
    pipeline->value = queue_.CreatePipeline(std::move(text));
  }
  return {pipeline->value.CopyRef(), pipeline->num_written};
}

}  // namespace tandem::shader
