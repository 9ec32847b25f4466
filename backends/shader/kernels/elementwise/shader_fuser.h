// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops on GPUs: one shader for as many of the ops as the device's limits allow.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SHADER_FUSER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SHADER_FUSER_H_

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/elementwise/fused_composer.h"
#include "tandem/elementwise_group.h"
#include "tandem/ref_counted.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

// How a group is computed for inputs of some metadata.
struct FusedPlan : RefCounted<FusedPlan> {
  // One shader. Its buffers are numbers of tensors: those of the group's inputs, of its outputs, of temporaries.
  struct Part {
    Launch launch;
    std::vector<uint32_t> reads;
    std::vector<uint32_t> writes;
  };
  RcRef<const ElementwiseGroup::Typing> typing;
  std::vector<Part> parts;  // each reads what inputs or parts before it gave
  std::vector<uint64_t> temporary_bytes;
};

// Gives what the ops one by one give, bit by bit. Thread-safe. Outlives the device that runs its kernels.
class ShaderFuser final : public ElementwiseFuser {
 public:
  // No shader has more steps, so that its text, and the time that compilers take for it, are bounded.
  static constexpr size_t kMaxSteps = 32;
  // Structures of shaders that are remembered, each of which may have pipelines. Behind that, ops of a group are run
  // one by one: these structures are few.
  static constexpr size_t kMaxSources = 1024;

  explicit ShaderFuser(const GpuLimits& limits);

  bool CanFuse(const OpDef& def, const OpAttrsRef& attrs) const override;
  bool CanFuse(const OpDef& def, DType dtype) const override;
  bool CanCompute(std::span<const TensorMetadata> inputs, std::span<const TensorMetadata> results) const override;
  StatusOr<Kernel> MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const override;

  // Null if memory is exhausted.
  RcRef<const FusedPlan> MakePlan(const ElementwiseGroup& group, RcRef<const ElementwiseGroup::Typing> typing) const;

  // The remembered source of that structure, which lives as long as the fuser; null if there is none.
  const FusedSource* Find(const FusedSource& source) const;
  // The same, remembered from now on.
  const FusedSource& Remember(const FusedSource& source) const;
  size_t num_sources() const;

 private:
  friend class FusedPlanBuilder;
  const FusedSource* FindLocked(const FusedSource& source) const;
  bool IsFull() const { return num_sources() >= kMaxSources; }

  const GpuLimits limits_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const FusedSource>> sources_;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_SHADER_FUSER_H_
