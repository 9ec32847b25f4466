// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of the ops that make tensors, and of random ones.

#include <gtest/gtest.h>

#include <vector>

#include "kernels/creation/creation_programs.h"
#include "kernels/creation/fill_words.h"
#include "kernels/random/random_programs.h"

namespace tandem::shader {
namespace {

std::vector<uint32_t> Words(const Launch& launch) {
  return {launch.parameters.words().begin(), launch.parameters.words().end()};
}

TEST(FillProgramTest, CountsWordsWhateverTheDType) {
  const auto words = [](DType dtype, int64_t size) { return WordsOf(TensorMetadata(dtype, TensorShape({size}))); };
  EXPECT_EQ(words(DType::kF32, 5), 5u);
  EXPECT_EQ(words(DType::kBool, 5), 5u);  // a word each on a GPU
  EXPECT_EQ(words(DType::kF16, 5), 3u);
  EXPECT_EQ(words(DType::kU8, 5), 2u);
  EXPECT_EQ(words(DType::kC64, 5), 10u);
  EXPECT_EQ(words(DType::kF64, 0), 0u);
}

TEST(FillProgramTest, OnePipelineForEachElementSize) {
  const auto variant = [](DType dtype) { return FillProgram(TensorMetadata(dtype, TensorShape({8})), {}).variant; };
  EXPECT_EQ(variant(DType::kF32), variant(DType::kBool));
  EXPECT_EQ(variant(DType::kF64), variant(DType::kC64));
  EXPECT_NE(variant(DType::kF32), variant(DType::kF64));
  EXPECT_NE(variant(DType::kU8), variant(DType::kU16));
}

TEST(FillWordsProgramTest, PatternAndSizeAreParameters) {
  const Launch launch = FillWordsProgram(1000, {7, 9}, {});
  EXPECT_EQ(launch.variant, FillWordsProgram(1, {0, 0}, {}).variant);
  EXPECT_EQ(Words(launch), (std::vector<uint32_t>{1000, 7, 9}));
  EXPECT_EQ(launch.workgroups[0], 2u);  // of 64 invocations with 8 words each
  EXPECT_TRUE(FillWordsProgram(0, {7, 9}, {}).IsEmpty());
  GpuLimits limits;
  EXPECT_LE(FillWordsProgram(uint64_t{1} << 30, {0, 0}, limits).workgroups[0], limits.max_workgroups);
}

TEST(RangeProgramTest, BoundsAreParameters) {
  const Launch down = RangeProgram({DType::kI32, {5}}, 10, static_cast<uint64_t>(-2), {});
  EXPECT_EQ(Words(down), (std::vector<uint32_t>{5, 10, 0, 0xFFFFFFFEu, 0xFFFFFFFFu}));
  EXPECT_EQ(down.variant, RangeProgram({DType::kU32, {70000}}, 0, 1, {}).variant);
  EXPECT_NE(down.variant, RangeProgram({DType::kI64, {5}}, 0, 1, {}).variant);
  EXPECT_TRUE(RangeProgram({DType::kI32, {0}}, 1, 1, {}).IsEmpty());
}

TEST(OneHotProgramTest, BlocksRowsAndInnerElements) {
  const TensorMetadata result(DType::kF32, TensorShape({2, 7, 3}));
  EXPECT_EQ(Words(OneHotProgram(DType::kI32, result, 1, {})), (std::vector<uint32_t>{42, 3, 7}));
  EXPECT_EQ(Words(OneHotProgram(DType::kI32, result, 2, {})), (std::vector<uint32_t>{42, 1, 3}));
  EXPECT_EQ(Words(OneHotProgram(DType::kI32, result, 0, {})), (std::vector<uint32_t>{42, 21, 2}));
  EXPECT_NE(OneHotProgram(DType::kI32, result, 0, {}).variant, OneHotProgram(DType::kI64, result, 0, {}).variant);
  EXPECT_TRUE(OneHotProgram(DType::kI32, TensorMetadata(DType::kF32, TensorShape({2, 0})), 1, {}).IsEmpty());
}

TEST(RandomProgramTest, BlocksOfFour) {
  const auto program = [](int64_t size) {
    const TensorMetadata result(DType::kF32, TensorShape({size}));
    return RandomProgram(Distribution::kUniform, result, DType::kI64, {});
  };
  EXPECT_EQ(Words(program(5)), (std::vector<uint32_t>{5}));
  EXPECT_EQ(program(5).variant, program(1023).variant);
  EXPECT_NE(program(5).variant, program(8).variant);  // whole blocks are stored as vectors
  EXPECT_EQ(program(1024).workgroups[0], 1u);
  EXPECT_EQ(program(1025).workgroups[0], 2u);
  EXPECT_TRUE(program(0).IsEmpty());
}

}  // namespace
}  // namespace tandem::shader
