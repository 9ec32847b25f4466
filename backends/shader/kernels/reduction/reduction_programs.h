// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reductions of any dimensions as a series of launches, each over [outer, rows, cols], of which it reduces the rows.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_REDUCTION_REDUCTION_PROGRAMS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_REDUCTION_REDUCTION_PROGRAMS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/tensor_shape.h"

namespace tandem::shader {

enum class ReductionOp : int32_t { kSum, kMean, kProd, kMax, kMin, kAny, kAll, kArgMax, kArgMin };

// What is reduced.
enum class ReductionSource : int32_t {
  kElements,     // x
  kSquares,      // (x - mean)^2, with a mean for each channel; buffers x, mean
  kProducts,     // dy * (x - mean); buffers dy, x, mean
  kNormalized,   // dy * (x - mean) * factor, with both for each row; buffers dy, x, stats
  kAccumulators  // what an earlier launch left
};

struct ReductionKind {
  ReductionOp op;
  DType dtype;                     // of the elements
  DType result = DType::kInvalid;  // if another: f32 for the moments of f16; i32 or i64 for ArgMax and ArgMin
  ReductionSource source = ReductionSource::kElements;
};

using ReducedDims = std::array<bool, TensorShape::kMaxRank>;

// One launch: rows of [outer, rows, cols] are reduced to `chunks` rows.
struct ReductionStage {
  uint64_t outer;
  uint64_t rows;
  uint64_t cols;
  uint64_t chunks;
  bool is_first;
  bool is_last;

  // Of its result, in elements.
  uint64_t Size() const { return outer * chunks * cols; }
};

// The stages of a reduction, at least one; in place, since every call makes one.
class ReductionPlan {
 public:
  // As many as it takes: eight dimensions of 2^32 elements in all are reduced in half of that.
  static constexpr size_t kMaxStages = 32;

  // Stages that reduce `rows` rows of [outer, rows, cols] to one.
  void Add(uint64_t outer, uint64_t rows, uint64_t cols, const GpuLimits& limits);
  void Add(const ReductionStage& stage) { stages_[size_++] = stage; }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  ReductionStage& back() { return stages_[size_ - 1]; }
  const ReductionStage& operator[](size_t i) const { return stages_[i]; }
  const ReductionStage* begin() const { return stages_.data(); }
  const ReductionStage* end() const { return stages_.data() + size_; }

 private:
  std::array<ReductionStage, kMaxStages> stages_;
  size_t size_ = 0;
};

// A shape without elements gives a stage that makes results of no elements.
ReductionPlan PlanReduction(const TensorShape& shape, const ReducedDims& reduced, const GpuLimits& limits);

// `count`: elements for each result; `channels`: of the means, if there are some.
Launch ReductionProgram(const ReductionKind& kind, const ReductionStage& stage, uint64_t count, uint64_t channels,
                        const GpuLimits& limits);

// Bytes of the result of a stage that is not the last.
uint64_t AccumulatorBytes(const ReductionKind& kind, const ReductionStage& stage);

// Adds the launches of a reduction of `inputs` (one buffer, or as the source has them) to `out`. `channels` as above.
void Reduce(ShaderCall& call, const ReductionKind& kind, const TensorShape& shape, const ReducedDims& reduced,
            std::initializer_list<GpuBuffer*> inputs, GpuBuffer* out, uint64_t channels = 1);

// The even elements of a buffer of u32, below 2^16, as the low halves of words, the odd ones as the high halves.
Launch PackHalvesProgram(uint64_t size, const GpuLimits& limits);

// One variant of each kind of shader, for tests that compile them.
std::vector<ShaderVariant> ReductionVariants(const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_REDUCTION_REDUCTION_PROGRAMS_H_
