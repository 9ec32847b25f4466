// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of kernels that move elements, pool and resize: what is launched for which metadata.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kernels/counting/bincount.h"
#include "kernels/image/projective.h"
#include "kernels/image/resize.h"
#include "kernels/indexing/compact.h"
#include "kernels/indexing/gather.h"
#include "kernels/indexing/scatter.h"
#include "kernels/indexing/top_k.h"
#include "kernels/pooling/pool_programs.h"
#include "kernels/shape/concat.h"
#include "kernels/shape/movement.h"
#include "kernels/shape/pad.h"
#include "kernels/shape/strided_copy.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem::shader {
namespace {

uint64_t Workgroups(const Launch& launch) {
  return uint64_t{launch.workgroups[0]} * launch.workgroups[1] * launch.workgroups[2];
}

// Invocations that a movement's workgroup stands for.
constexpr int64_t kPerWorkgroup = 1024;

TEST(StridedCopyTest, NeighboursThatAreLikeOneDimensionBecomeOne) {
  StridedCopy copy;
  copy.AddDim(2, 12);
  copy.AddDim(1, 99);
  copy.AddDim(3, 4);
  copy.AddDim(4, 1);
  EXPECT_EQ(copy.rank(), 1);
  EXPECT_EQ(copy.dim(0).size, 24);
  EXPECT_TRUE(copy.IsStretch());
  copy.AddDim(5, 0);
  EXPECT_EQ(copy.rank(), 2);
  EXPECT_FALSE(copy.IsStretch());
  StridedCopy backwards(23);
  backwards.AddDim(4, -6);
  backwards.AddDim(6, -1);
  EXPECT_EQ(backwards.rank(), 1);
  EXPECT_FALSE(backwards.IsStretch());
}

TEST(StridedCopyTest, MovesSixteenBytesAtATimeWhereItCan) {
  StridedCopy rows(8);
  rows.AddDim(1000, 64);
  rows.AddDim(16, 1);
  const Launch wide = StridedCopyProgram(rows, 4, {});
  EXPECT_EQ(wide.variant.values[0], 16);
  EXPECT_EQ(Workgroups(wide), 4u);  // of 4000 invocations
  // What the numbers are is no matter of the pipeline.
  StridedCopy others(4);
  others.AddDim(77, 400);
  others.AddDim(8, 1);
  EXPECT_EQ(StridedCopyProgram(others, 4, {}).variant, wide.variant);
  // An offset that is odd leaves single elements.
  StridedCopy odd(1);
  odd.AddDim(1000, 64);
  odd.AddDim(16, 1);
  EXPECT_EQ(StridedCopyProgram(odd, 4, {}).variant.values[0], 4);
  EXPECT_EQ(StridedCopyProgram(odd, 2, {}).variant.values[0], 2);
  // Rows of two bytes each.
  StridedCopy pairs;
  pairs.AddDim(100, 6);
  pairs.AddDim(2, 1);
  EXPECT_EQ(StridedCopyProgram(pairs, 1, {}).variant.values[0], 2);
}

TEST(StridedCopyTest, TransposesInBlocks) {
  const auto transpose = [](int64_t rows, int64_t cols, uint32_t bytes) {
    StridedCopy copy;
    copy.AddDim(rows, 1);
    copy.AddDim(cols, rows);
    return StridedCopyProgram(copy, bytes, {});
  };
  EXPECT_EQ(transpose(64, 96, 4).variant.source->name, "transpose");
  EXPECT_EQ(Workgroups(transpose(64, 96, 4)), 6u);  // of 32 x 32 elements
  EXPECT_EQ(Workgroups(transpose(65, 96, 4)), 9u);
  EXPECT_NE(transpose(64, 96, 4).variant, transpose(65, 96, 4).variant);  // four elements at once, or not
  EXPECT_EQ(transpose(64, 92, 4).variant, transpose(128, 8, 4).variant);
  EXPECT_EQ(transpose(3, 1000, 4).variant.source->name, "strided_copy");
  EXPECT_EQ(transpose(64, 96, 2).variant.source->name, "strided_copy");
}

TEST(StridedCopyTest, WorkgroupsBeyondOneDimensionGoOnInTheNext) {
  StridedCopy copy;
  copy.AddDim(int64_t{1} << 28, 2);
  const Launch launch = StridedCopyProgram(copy, 4, {});
  EXPECT_GT(launch.workgroups[1], 1u);
  EXPECT_LE(launch.workgroups[0], GpuLimits().max_workgroups);
  EXPECT_GE(Workgroups(launch) * kPerWorkgroup, uint64_t{1} << 28);
}

TEST(StridedCopyTest, NothingIsAnEmptyLaunch) {
  StridedCopy copy;
  copy.AddDim(3, 0);
  copy.AddDim(0, 1);
  EXPECT_TRUE(StridedCopyProgram(copy, 4, {}).IsEmpty());
}

TEST(ConcatProgramTest, TakesAsManyBytesAsAllWidthsAllow) {
  const int64_t widths[] = {8, 4, 12};
  const Launch wide = ConcatProgram({.rows = 10, .row_size = 24, .first = 0, .widths = widths}, 4, {});
  EXPECT_EQ(wide.variant.values[0], 16);
  const int64_t odd[] = {8, 3};
  const Launch narrow = ConcatProgram({.rows = 1000, .row_size = 22, .first = 11, .widths = odd}, 4, {});
  EXPECT_EQ(narrow.variant.values[0], 4);
  EXPECT_EQ(Workgroups(narrow), 11u);  // of its own columns
  // Bytes: all words of the result.
  EXPECT_EQ(Workgroups(ConcatProgram({.rows = 1000, .row_size = 23, .first = 11, .widths = odd}, 1, {})), 6u);
}

TEST(PadProgramTest, DimensionsWithoutPaddingAreNoneOfTheirOwn) {
  HostContext host({});
  const int32_t numbers[] = {0, 0, 1, 2, 3, 0, 0, 0};
  const auto tensor =
      MakeDense({DType::kI32, {4, 2}}, std::as_bytes(std::span(numbers)), host.device(), host.allocator());
  ASSERT_TRUE(tensor.ok());
  const HostInput paddings(tensor->metadata(), &*tensor);
  const Launch zero = PadProgram(PadMode::kZero, {2, 9, 7, 8}, {2, 12, 10, 8}, paddings, 4, {});
  EXPECT_EQ(zero.variant.values[0], 16);
  EXPECT_EQ(zero.variant.values[1], 3);  // [2], [9 -> 12], [7 -> 10 pixels]
  EXPECT_EQ(zero.variant, PadProgram(PadMode::kZero, {5, 3, 4, 4}, {5, 6, 7, 4}, paddings, 4, {}).variant);
  EXPECT_NE(zero.variant, PadProgram(PadMode::kValue, {2, 9, 7, 8}, {2, 12, 10, 8}, paddings, 4, {}).variant);
  const Launch mirror = PadProgram(PadMode::kReflect, {2, 9, 7, 8}, {2, 12, 10, 8}, paddings, 4, {});
  EXPECT_EQ(mirror.variant.values[0], 16);
  EXPECT_EQ(mirror.variant.values[1], 4);  // pixels stay together
  EXPECT_EQ(mirror.variant, PadProgram(PadMode::kSymmetric, {2, 9, 7, 8}, {2, 12, 10, 8}, paddings, 4, {}).variant);
}

TEST(GatherProgramTest, HasAnInvocationForEachElement) {
  const TensorMetadata params(DType::kF16, {50, 6});
  const Launch launch = GatherProgram(params, {DType::kI64, {1000}}, 0, 0, {});
  EXPECT_EQ(launch.variant.values[0], 4);  // two elements at once
  EXPECT_EQ(Workgroups(launch), 3u);
  EXPECT_EQ(launch.variant, GatherProgram({DType::kF32, {9, 5}}, {DType::kI64, {2, 2}}, 0, 0, {}).variant);
  EXPECT_NE(launch.variant, GatherProgram(params, {DType::kI32, {1000}}, 0, 0, {}).variant);
  EXPECT_TRUE(GatherProgram(params, {DType::kI64, {0}}, 0, 0, {}).IsEmpty());
}

TEST(ScatterProgramTest, ManyUpdatesComeInBlocks) {
  const SliceNumbers few({DType::kI32, {100, 1}}, {1000, 4});
  EXPECT_TRUE(IsDirectScatter(few));
  const SliceNumbers many({DType::kI32, {100'000, 1}}, {1000, 4});
  EXPECT_FALSE(IsDirectScatter(many));
  EXPECT_EQ(many.count, 100'000);
  EXPECT_EQ(many.num_slices, 1000);
  EXPECT_EQ(many.slice_size, 4);
  const int64_t block = UpdateBlockSize(many, DType::kF32);
  EXPECT_GT(block, 0);
  EXPECT_LT(block, many.count);
  EXPECT_EQ(UpdateBlockSize(many, DType::kF16), many.count);
  // Few slices: their lists are kept short.
  EXPECT_LT(UpdateBlockSize(SliceNumbers({DType::kI32, {100'000, 1}}, {3, 4}), DType::kF32), block);
  EXPECT_EQ(Workgroups(ScatterLinkProgram(many, {0, 1000}, {})), 4u);
  EXPECT_EQ(Workgroups(ScatterAddProgram(many, DType::kF32, {0, 1000}, {})), 16u);
  EXPECT_EQ(
      std::ranges::count(ScatterLinkProgram(many, {0, 1000}, {}).variant.Compose().buffers, BufferAccess::kReadWrite),
      2);
  // Numbers of steps that overflow are many.
  EXPECT_FALSE(IsDirectScatter(SliceNumbers({DType::kI32, {int64_t{1} << 40, 1}}, {int64_t{1} << 40})));
}

TEST(ScatterProgramTest, OnlyWholeWordsArePutInPlace) {
  EXPECT_TRUE(IsPutInPlace(SliceNumbers({DType::kI32, {5, 1}}, {10, 1}), DType::kF32));
  EXPECT_TRUE(IsPutInPlace(SliceNumbers({DType::kI32, {5, 1}}, {10, 2}), DType::kF16));
  EXPECT_FALSE(IsPutInPlace(SliceNumbers({DType::kI32, {5, 1}}, {10, 3}), DType::kF16));
}

OpAttrsRef PoolAttrs(std::vector<int64_t> ksize, std::vector<int64_t> strides, std::string_view padding) {
  OpAttrs attrs;
  EXPECT_TRUE(attrs.SetArray("ksize", std::span<const int64_t>(ksize)));
  EXPECT_TRUE(attrs.SetArray("strides", std::span<const int64_t>(strides)));
  EXPECT_TRUE(attrs.Set("padding", padding));
  return attrs.Freeze();
}

TEST(PoolProgramTest, FourChannelsAtATime) {
  const auto plan = MakePoolPlan(PoolAttrs({1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"), {2, 8, 8, 12});
  ASSERT_TRUE(plan.ok());
  const Launch launch = MaxPoolProgram(*plan, DType::kF32, {});
  EXPECT_EQ(launch.variant.values[1], 4);
  EXPECT_EQ(Workgroups(launch), 1u);  // 96 invocations
  EXPECT_EQ(Workgroups(MaxPoolGradProgram(*plan, DType::kF32, {})), 2u);
  const auto other = MakePoolPlan(PoolAttrs({1, 3, 3, 1}, {1, 1, 1, 1}, "SAME"), {1, 5, 5, 4});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(MaxPoolProgram(*other, DType::kF32, {}).variant, launch.variant);
  const auto odd = MakePoolPlan(PoolAttrs({1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"), {2, 8, 8, 3});
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(MaxPoolProgram(*odd, DType::kF32, {}).variant.values[1], 1);
}

TEST(PoolProgramTest, NumbersWithoutEffectAreMadeSmall) {
  const int64_t huge = int64_t{1} << 40;
  const auto plan = MakePoolPlan(PoolAttrs({1, huge, 2, 1}, {1, 3, huge, 1}, "SAME"), {1, 8, 8, 1});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->rows.output, 3);
  EXPECT_LE(plan->rows.window, 16);
  // Each window still has all rows.
  for (int64_t o = 0; o < plan->rows.output; ++o) {
    const int64_t begin = o * plan->rows.stride - plan->rows.pad_before;
    EXPECT_LE(begin, 0);
    EXPECT_GE(begin + plan->rows.window, 8);
  }
  EXPECT_EQ(plan->cols.stride, 1);
}

TEST(ResizeProgramTest, KindsShareAPipeline) {
  const TensorMetadata images(DType::kF32, {1, 4, 4, 3});
  const Launch plain = ResizeBilinearProgram(images, {1, 8, 9, 3}, {}, {});
  EXPECT_EQ(plain.variant, ResizeBilinearProgram(images, {1, 2, 2, 3}, {.align_corners = true}, {}).variant);
  EXPECT_NE(plain.variant, ResizeBilinearProgram({DType::kU8, {1, 4, 4, 3}}, {1, 8, 9, 3}, {}, {}).variant);
  // A pixel of four bytes is a word.
  EXPECT_EQ(ResizeNearestProgram({DType::kU8, {1, 4, 4, 4}}, {1, 8, 8, 4}, {}, {}).variant.values[0], 4);
}

// What pipelines are made of is complete: as many parameters as the program gives, and an entry point.
TEST(MovementProgramsTest, VariantsAreDistinctShaders) {
  std::set<std::string> texts;
  size_t count = 0;
  for (const auto& variants :
       {StridedCopyVariants(), ConcatVariants(), PadVariants(), GatherVariants(), ScatterVariants(), PoolVariants(),
        ResizeVariants(), TopKVariants(), CompactVariants(), BincountVariants(), ProjectiveVariants()}) {
    for (const ShaderVariant& variant : variants) {
      const ShaderText text = variant.Compose();
      EXPECT_EQ(text.name, variant.source->name);
      EXPECT_NE(text.wgsl.find("fn main("), std::string::npos) << text.name;
      EXPECT_LE(text.buffers.size(), GpuLimits().max_storage_buffers) << text.name;
      EXPECT_LE(text.workgroup[0], GpuLimits().max_invocations) << text.name;
      texts.insert(text.wgsl);
      ++count;
    }
  }
  EXPECT_EQ(texts.size(), count);
}

TEST(MovementProgramsTest, LaunchesHaveTheParametersOfTheirShaders) {
  StridedCopy copy;
  copy.AddDim(9, 1);
  copy.AddDim(5, 2);
  copy.AddDim(40, 100);
  const int64_t widths[] = {8, 3};
  const SliceNumbers numbers({DType::kI32, {100, 2}}, {10, 20, 4});
  const auto plan = MakePoolPlan(PoolAttrs({1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"), {2, 8, 8, 12});
  ASSERT_TRUE(plan.ok());
  const TensorMetadata images(DType::kU8, {1, 4, 4, 3});
  const Launch launches[] = {
      StridedCopyProgram(copy, 4, {}),
      StridedCopyProgram(copy, 2, {}),
      ConcatProgram({.rows = 10, .row_size = 22, .first = 11, .widths = widths}, 4, {}),
      GatherProgram({DType::kF32, {9, 5}}, {DType::kI64, {2, 2}}, 1, 0, {}),
      GatherNdProgram({DType::kF32, {9, 5}}, {DType::kI64, {2, 2}}, {}),
      ScatterDirectProgram(numbers, DType::kF32, ScatterStart::kTensor, {}),
      ScatterLinkProgram(numbers, {0, 10}, {}),
      ScatterOrderProgram(numbers, {0, 10}, {}),
      ScatterAddProgram(numbers, DType::kI32, {0, 10}, {}),
      ScatterClaimProgram(numbers, {}),
      ScatterPutProgram(numbers, DType::kF32, {}),
      ScatterMergeProgram(numbers, DType::kF16, {}),
      ZeroProgram(7, {}),
      MaxPoolProgram(*plan, DType::kF32, {}),
      AvgPoolProgram(*plan, DType::kF32, {}),
      MaxPoolPlacesProgram(*plan, DType::kF32, {}),
      MaxPoolGradProgram(*plan, DType::kF32, {}),
      AvgPoolGradProgram(*plan, DType::kF32, {}),
      ResizeBilinearProgram(images, {1, 8, 9, 3}, {}, {}),
      ResizeNearestProgram(images, {1, 8, 9, 3}, {}, {}),
      ProjectiveProgram(images, {1, 8}, {1, 8, 9, 3}, {}, {}),
      ResizeBilinearGradProgram({1, 8, 9, 3}, {DType::kF32, {1, 4, 4, 3}}, {}, {}),
      ResizeNearestGradProgram({1, 8, 9, 3}, {DType::kI32, {1, 4, 4, 3}}, {}, {}),
      TopKTakeProgram({DType::kF32, {2, 9}}, 3, DType::kI32, {}),
  };
  for (const Launch& launch : launches) {
    const ShaderText text = launch.variant.Compose();
    EXPECT_EQ(launch.parameters.words().size(), text.num_parameters) << text.name;
    EXPECT_TRUE(std::ranges::is_sorted(text.buffers)) << text.name << " must write its last buffers";
  }
}

}  // namespace
}  // namespace tandem::shader
