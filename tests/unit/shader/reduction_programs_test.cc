// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of reductions, scans, softmax and normalizations: what they launch, without a GPU.

#include "kernels/reduction/reduction_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/nn/softmax_programs.h"
#include "kernels/normalization/normalization_programs.h"
#include "kernels/scan/scan_programs.h"

namespace tandem::shader {
namespace {

GpuLimits SoftwareLimits() {
  GpuLimits limits;
  limits.is_software = true;
  return limits;
}

GpuLimits SubgroupLimits() {
  GpuLimits limits;
  limits.has_f16 = true;
  limits.has_subgroups = true;
  limits.min_subgroup_size = limits.max_subgroup_size = 32;
  return limits;
}

ReducedDims Reduced(std::initializer_list<size_t> axes) {
  ReducedDims reduced = {};
  for (size_t axis : axes) reduced[axis] = true;
  return reduced;
}

uint64_t Product(const std::array<uint32_t, 3>& counts) { return uint64_t{counts[0]} * counts[1] * counts[2]; }

// Each stage reads what the one before wrote, and the last one leaves `results` elements.
void ExpectPlan(const TensorShape& shape, const ReducedDims& reduced, uint64_t results, const GpuLimits& limits) {
  const ReductionPlan stages = PlanReduction(shape, reduced, limits);
  auto size = static_cast<uint64_t>(shape.num_elements());
  for (size_t i = 0; i < stages.size(); ++i) {
    const ReductionStage& stage = stages[i];
    EXPECT_EQ(stage.outer * stage.rows * stage.cols, size) << "stage " << i;
    EXPECT_LE(stage.chunks, stage.rows) << "stage " << i;
    EXPECT_EQ(stage.is_first, i == 0);
    EXPECT_EQ(stage.is_last, i + 1 == stages.size());
    size = stage.Size();
  }
  EXPECT_EQ(size, results);
}

TEST(ReductionProgramsTest, StagesLeadFromTheElementsToTheResults) {
  for (const GpuLimits& limits : {GpuLimits(), SoftwareLimits(), SubgroupLimits()}) {
    ExpectPlan({7}, Reduced({0}), 1, limits);
    ExpectPlan({100'000'000}, Reduced({0}), 1, limits);
    ExpectPlan({3, 1'000'003}, Reduced({1}), 3, limits);
    ExpectPlan({1'000'003, 3}, Reduced({0}), 3, limits);
    ExpectPlan({4, 500, 1, 12}, Reduced({1, 2}), 48, limits);
    ExpectPlan({4, 500, 6, 12}, Reduced({0, 2}), 6000, limits);
    ExpectPlan({8, 64, 56, 56}, Reduced({0, 2, 3}), 64, limits);
    ExpectPlan({2, 2, 2, 2, 2, 2, 2, 2}, Reduced({1, 3, 5, 7}), 16, limits);
    ExpectPlan({1, 1}, Reduced({0, 1}), 1, limits);
    ExpectPlan({5, 1}, Reduced({1}), 5, limits);
  }
}

TEST(ReductionProgramsTest, AdjacentDimensionsAreReducedTogether) {
  EXPECT_EQ(PlanReduction({2, 3, 4, 5}, Reduced({1, 2}), {}).size(), 1u);
  EXPECT_EQ(PlanReduction({2, 3, 1, 5}, Reduced({1, 3}), {}).size(), 1u);
  EXPECT_EQ(PlanReduction({2, 3, 4, 5}, Reduced({1, 3}), {}).size(), 2u);
}

TEST(ReductionProgramsTest, WithoutElementsResultsAreStillMade) {
  const ReductionPlan stages = PlanReduction({0, 3, 4}, Reduced({0, 1}), {});
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0].rows, 0u);
  const Launch launch = ReductionProgram({ReductionOp::kSum, DType::kF32}, stages[0], 0, 1, {});
  EXPECT_EQ(Product(launch.workgroups), 1u);
  EXPECT_TRUE(ReductionProgram({ReductionOp::kSum, DType::kF32}, {1, 0, 0, 1, true, true}, 0, 1, {}).IsEmpty());
}

// Rounding errors grow with what one invocation adds up one after the other.
TEST(ReductionProgramsTest, NoInvocationReducesMuchInSeries) {
  for (const GpuLimits& limits : {GpuLimits(), SoftwareLimits(), SubgroupLimits()}) {
    for (const TensorShape& shape : {TensorShape{100'000'000}, TensorShape{100'000'001}}) {
      for (const ReductionStage& stage : PlanReduction(shape, Reduced({0}), limits)) {
        EXPECT_LE(stage.rows / stage.chunks, 4 * 16384u);
      }
    }
    for (const ReductionStage& stage : PlanReduction({10'000'000, 3}, Reduced({0}), limits)) {
      EXPECT_LE(stage.rows / stage.chunks, 256u);
    }
  }
}

TEST(ReductionProgramsTest, ManyRowsTakeSeveralRowsOfWorkgroups) {
  const GpuLimits limits;
  const Launch launch =
      ReductionProgram({ReductionOp::kMax, DType::kF32}, {20'000'000, 4, 1, 1, true, true}, 4, 1, limits);
  EXPECT_LE(launch.workgroups[0], limits.max_workgroups);
  EXPECT_GT(launch.workgroups[1], 1u);
  EXPECT_GE(Product(launch.workgroups) * 64, 20'000'000u);
}

TEST(ReductionProgramsTest, SizesAreParametersAndNotPartOfTheVariant) {
  const ReductionKind kind = {ReductionOp::kSum, DType::kF32};
  const Launch a = ReductionProgram(kind, {10, 2000, 1, 1, true, true}, 2000, 1, {});
  const Launch b = ReductionProgram(kind, {11, 3000, 1, 1, true, true}, 3000, 1, {});
  EXPECT_EQ(a.variant, b.variant);
  const Launch odd = ReductionProgram(kind, {11, 3001, 1, 1, true, true}, 3001, 1, {});
  EXPECT_NE(a.variant, odd.variant) << "rows of an odd length cannot be read as vectors";
  const ReductionKind largest = {ReductionOp::kMax, DType::kF32};
  EXPECT_NE(a.variant, ReductionProgram(largest, {10, 2000, 1, 1, true, true}, 2000, 1, {}).variant);
  EXPECT_EQ(SoftmaxProgram(SoftmaxKind::kSoftmax, DType::kF32, 10, 400, {}).variant,
            SoftmaxProgram(SoftmaxKind::kSoftmax, DType::kF32, 77, 404, {}).variant);
}

TEST(ReductionProgramsTest, AccumulatorsOfHalvesAreWide) {
  const ReductionStage stage = {4, 1000, 1, 8, true, false};
  EXPECT_EQ(AccumulatorBytes({ReductionOp::kSum, DType::kF16}, stage), 4u * 8 * 4);
  EXPECT_EQ(AccumulatorBytes({ReductionOp::kArgMax, DType::kF16, DType::kI32}, stage), 4u * 8 * 8);
}

TEST(ReductionProgramsTest, HalvesArePackedByTwos) {
  EXPECT_EQ(Product(PackHalvesProgram(129, {}).workgroups), 2u);
  EXPECT_TRUE(PackHalvesProgram(0, {}).IsEmpty());
}

TEST(SoftmaxProgramsTest, EveryRowHasItsLanes) {
  for (const GpuLimits& limits : {GpuLimits(), SoftwareLimits(), SubgroupLimits()}) {
    for (const uint64_t cols : {3u, 10u, 128u, 1000u, 5000u, 50257u}) {
      for (const uint64_t rows : {1u, 7u, 1000u, 300'000u}) {
        const Launch launch = SoftmaxProgram(SoftmaxKind::kSoftmax, DType::kF32, rows, cols, limits);
        const std::array<uint32_t, 3> size = launch.variant.Compose().workgroup;
        EXPECT_LE(size[0], limits.max_invocations);
        EXPECT_LE(launch.workgroups[0], limits.max_workgroups);
        // No row needs more than a workgroup, none of which may have more rows than invocations.
        EXPECT_GE(Product(launch.workgroups) * size[0], rows);
        EXPECT_LE(Product(launch.workgroups), rows + launch.workgroups[1]);
      }
    }
  }
}

TEST(SoftmaxProgramsTest, SharedMemoryFitsWhatWebGpuGuarantees) {
  for (const ShaderVariant& variant : SoftmaxVariants({})) {
    const ShaderText text = variant.Compose();
    // Two numbers for each invocation.
    EXPECT_LE(text.workgroup[0] * 2 * sizeof(float), GpuLimits().max_workgroup_bytes);
    EXPECT_LE(text.buffers.size(), GpuLimits().max_storage_buffers);
  }
}

TEST(SoftmaxProgramsTest, SubgroupsNeedNoBarrier) {
  const Launch launch = SoftmaxProgram(SoftmaxKind::kSoftmax, DType::kF32, 100, 512, SubgroupLimits());
  const std::string text = launch.variant.Compose().wgsl;
  EXPECT_NE(text.find("enable subgroups;"), std::string::npos);
  EXPECT_EQ(text.find("workgroupBarrier"), std::string::npos);
}

TEST(SoftmaxProgramsTest, NothingIsLaunchedForNothing) {
  EXPECT_TRUE(SoftmaxProgram(SoftmaxKind::kSoftmax, DType::kF32, 0, 3, {}).IsEmpty());
  EXPECT_TRUE(SoftmaxProgram(SoftmaxKind::kLogSoftmax, DType::kF32, 0, 0, {}).IsEmpty());
}

TEST(ScanProgramsTest, ChunksCoverTheRowsAndNoneIsEmpty) {
  for (const GpuLimits& limits : {GpuLimits(), SoftwareLimits()}) {
    for (const uint64_t rows : {1u, 64u, 65u, 1000u, 1025u, 1'000'001u}) {
      for (const uint64_t inner : {1u, 100u, 100'000u}) {
        const uint64_t chunks = ScanChunks({1, rows, inner}, limits);
        const uint64_t chunk = (rows + chunks - 1) / chunks;
        EXPECT_LT((chunks - 1) * chunk, rows) << rows << " rows";
        EXPECT_LE(chunk, 256u) << rows << " rows";
      }
    }
  }
}

TEST(ScanProgramsTest, OffsetsAreReadOnlyIfThereAreSeveralChunks) {
  const ScanKind kind = {ScanOp::kSum, DType::kF32};
  EXPECT_EQ(ScanProgram(kind, {1, 64, 1}, 1, {}).variant.Compose().buffers.size(), 2u);
  EXPECT_EQ(ScanProgram(kind, {1, 640, 1}, 10, {}).variant.Compose().buffers.size(), 3u);
}

TEST(NormalizationProgramsTest, LayoutsOfChannels) {
  const ChannelLayout last({2, 3, 4, 5}, "NHWC");
  EXPECT_TRUE(last.is_channels_last);
  EXPECT_EQ(last.channels, 5u);
  EXPECT_EQ(last.PerChannel(), 24u);
  const ChannelLayout first({2, 5, 3, 4, 6}, "NCDHW");
  EXPECT_FALSE(first.is_channels_last);
  EXPECT_EQ(first.outer, 10u);
  EXPECT_EQ(first.rows, 72u);
  EXPECT_EQ(ChannelLayout({0, 3, 4, 5}, "NHWC").PerChannel(), 0u);
  EXPECT_EQ(ChannelLayout({2, 0, 4, 5}, "NCHW").channels, 0u);
}

// Its result that is a placeholder is written in any case.
TEST(NormalizationProgramsTest, BatchNormIsLaunchedForNoElements) {
  const ChannelLayout layout({0, 3, 4, 5}, "NHWC");
  EXPECT_EQ(Product(BatchNormProgram(DType::kF32, layout, 1e-4f, {}).workgroups), 1u);
  EXPECT_TRUE(BatchNormGradProgram(DType::kF32, layout, 1e-4f, true, {}).IsEmpty());
}

TEST(NormalizationProgramsTest, BuffersAreNoMoreThanWebGpuGuarantees) {
  for (const ShaderVariant& variant : NormalizationVariants({})) {
    EXPECT_LE(variant.Compose().buffers.size(), GpuLimits().max_storage_buffers);
  }
}

// Parameters that a shader declares are those that its program gives.
TEST(ReductionProgramsTest, ParametersAreComplete) {
  const auto check = [](const Launch& launch) {
    const ShaderText text = launch.variant.Compose();
    EXPECT_EQ(launch.parameters.words().size(), text.num_parameters) << text.name;
    EXPECT_TRUE(std::ranges::is_sorted(text.buffers)) << text.name << " must write its last buffers";
  };
  const ChannelLayout layout({2, 3, 4, 8}, "NHWC");
  check(ReductionProgram({ReductionOp::kMean, DType::kF32}, {3, 100, 1, 1, true, true}, 100, 1, {}));
  check(ReductionProgram({ReductionOp::kMean, DType::kF32}, {3, 100, 5, 1, true, true}, 100, 1, {}));
  check(PackHalvesProgram(3, {}));
  check(SoftmaxProgram(SoftmaxKind::kLogSoftmax, DType::kF32, 3, 5, {}));
  check(SoftmaxProgram(SoftmaxKind::kSparseCrossEntropy, DType::kF32, 3, 5, {}, DType::kI64));
  check(ScanTotalsProgram({ScanOp::kSum, DType::kF32}, {1, 100, 1}, 4, {}));
  check(ScanProgram({ScanOp::kSum, DType::kF32}, {1, 100, 1}, 4, {}));
  check(LayerNormProgram(DType::kF32, 3, 5, 1e-5f, {}));
  check(LayerNormGradProgram(DType::kF32, 3, 5, 1e-5f, {}));
  check(BatchNormProgram(DType::kF32, layout, 1e-4f, {}));
  check(BatchNormStatisticsProgram(8, 24, 0.5f, {}));
  check(BatchNormScaleGradProgram(8, 1e-4f, {}));
  check(BatchNormGradProgram(DType::kF32, layout, 1e-4f, true, {}));
}

}  // namespace
}  // namespace tandem::shader
