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

ShaderDevice::ShaderDevice(std::string_view name, std::unique_ptr<ShaderQueue> queue, RcRef<gpu::GpuMemory> memory,
                           std::function<void()> want_call_fusion)
    : GpuDevice(name, std::move(queue), std::move(memory), gpu::BoolLayout::kWords),
      limits_(ShaderDevice::queue().limits()),
      want_call_fusion_(std::move(want_call_fusion)) {}

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
    pipeline->value = queue().CreatePipeline(std::move(text));
  }
  return {pipeline->value.CopyRef(), pipeline->num_written};
}

void ShaderDevice::WantCallFusion(std::span<GpuBuffer* const> arguments, const GpuBuffer* result) {
  const GpuBuffer* const last = last_result_.exchange(result, std::memory_order_relaxed);
  for (const GpuBuffer* const argument : arguments) {
    if (argument == last && !was_wanted_.exchange(true)) want_call_fusion_();
  }
}

}  // namespace tandem::shader
