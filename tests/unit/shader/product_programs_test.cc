// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs of products of matrices and convolutions: what is one pipeline, how a result is divided, what is read at
// once; and the texts that they unroll.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_program.h"
#include "kernels/convolution/depthwise_program.h"
#include "kernels/convolution/filter_gradient_program.h"
#include "kernels/linalg/product.h"
#include "kernels/register_tiles.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {
namespace {

GpuLimits Software() {
  GpuLimits limits;
  limits.is_software = true;
  return limits;
}

MatrixProduct Product(int64_t rows, int64_t inner, int64_t cols) {
  MatrixProduct product;
  product.rows = rows;
  product.inner = inner;
  product.cols = cols;
  product.a_row = inner;
  product.b_inner = cols;
  product.c_row = cols;
  return product;
}

Convolution MakeConvolution(const TensorShape& input, const TensorShape& filter, const TensorShape& output,
                            int64_t stride = 1) {
  WindowGeometry windows;
  windows.rows = {input.dim(1), filter.dim(0), stride};
  windows.cols = {input.dim(2), filter.dim(1), stride};
  EXPECT_TRUE(ComputeWindow(PaddingKind::kSame, "rows", windows.rows).ok());
  EXPECT_TRUE(ComputeWindow(PaddingKind::kSame, "columns", windows.cols).ok());
  return {DType::kF32, windows, ImageLayout(input, false), ImageLayout(output, false), filter, {}};
}

TEST(UnrolledTextTest, LoopsAndConditions) {
  EXPECT_EQ(Unroll("#for i N\nx${i}\n#for j 2\ny${i*2+j}${N}\n#end\n#end\nz\n", {{"N", 2}}),
            "x0\ny02\ny12\nx1\ny22\ny32\nz\n");
  EXPECT_EQ(Unroll("#if A\n1\n#if B\n2\n#else\n3\n#end\n#else\n4\n#end\n", {{"A", 1}, {"B", 0}}), "1\n3\n");
  EXPECT_EQ(Unroll("#if A\n1\n#if B\n2\n#else\n3\n#end\n#else\n4\n#end\n", {{"A", 0}, {"B", 1}}), "4\n");
  EXPECT_EQ(Unroll("#for i 0\nx\n#end\ny", {}), "y\n");
}

TEST(MatrixProductProgramTest, SizesAreParametersNotPipelines) {
  for (const GpuLimits& limits : {GpuLimits(), Software()}) {
    const Launch one = MatrixProductProgram(Product(512, 512, 512), limits);
    const Launch other = MatrixProductProgram(Product(640, 1024, 768), limits);
    EXPECT_EQ(one.variant.source, other.variant.source);
    EXPECT_EQ(MatrixProductProgram(Product(2048, 2048, 2048), limits).variant,
              MatrixProductProgram(Product(2048, 512, 4096), limits).variant);
    EXPECT_EQ(one.parameters.words()[0], 512u);
    EXPECT_EQ(other.parameters.words()[2], 1024u);
  }
}

TEST(MatrixProductProgramTest, SharedMemoryIsForRealDevices) {
  const Launch real = MatrixProductProgram(Product(4096, 4096, 4096), {});
  EXPECT_EQ(real.variant.source->name, "product_tiled");
  EXPECT_EQ(real.workgroups, (std::array<uint32_t, 3>{32, 32, 1}));
  const Launch software = MatrixProductProgram(Product(4096, 4096, 4096), Software());
  EXPECT_EQ(software.variant.source->name, "product_direct");
  // Tiles of 16 x 16, 16 in a workgroup.
  EXPECT_EQ(software.workgroups, (std::array<uint32_t, 3>{4096, 1, 1}));
  GpuLimits little;
  little.max_workgroup_bytes = 8192;
  EXPECT_EQ(MatrixProductProgram(Product(4096, 4096, 4096), little).workgroups, (std::array<uint32_t, 3>{64, 64, 1}));
  EXPECT_EQ(MatrixProductProgram(Product(4, 4096, 4096), {}).variant.source->name, "product_direct");
}

TEST(MatrixProductProgramTest, MoreWorkgroupsThanOneDimensionHas) {
  const Launch launch = MatrixProductProgram(Product(int64_t{1} << 24, 1, 8), Software());
  EXPECT_LE(launch.workgroups[0], GpuLimits().max_workgroups);
  EXPECT_GE(uint64_t{launch.workgroups[0]} * launch.workgroups[1] * kRegisterWorkgroup, launch.parameters.words()[3]);
}

TEST(MatrixProductProgramTest, EmptyResultsAreNotComputedEmptySumsAre) {
  EXPECT_TRUE(MatrixProductProgram(Product(0, 5, 4), {}).IsEmpty());
  EXPECT_TRUE(MatrixProductProgram(Product(4, 5, 0), {}).IsEmpty());
  EXPECT_FALSE(MatrixProductProgram(Product(4, 0, 4), {}).IsEmpty());
  MatrixProduct none = Product(4, 4, 4);
  none.AddBatchDim({0, 16, 16, 16});
  EXPECT_TRUE(MatrixProductProgram(none, {}).IsEmpty());
}

TEST(MatrixProductTest, BatchDimensionsMerge) {
  MatrixProduct product = Product(2, 3, 4);
  product.AddBatchDim({5, 7 * 6, 7 * 12, 7 * 8});
  product.AddBatchDim({7, 6, 12, 8});
  EXPECT_EQ(product.num_batch_dims, 1);
  EXPECT_EQ(product.count(), 35);
  product.AddBatchDim({9, 0, 1, 1});
  EXPECT_EQ(product.num_batch_dims, 2);
}

TEST(RegisterTilesTest, FourAreReadAtOnceWhereTheyAreNeighbours) {
  EXPECT_EQ(FindQuads(1, 8, 8, 5), kAlongInner);
  EXPECT_EQ(FindQuads(1, 7, 7, 5), kScalars);
  EXPECT_EQ(FindQuads(12, 7, 1, 12), kAlongOuter);
  EXPECT_EQ(FindQuads(13, 7, 1, 13), kScalars);
  EXPECT_EQ(FindQuads(1, 8, 9, 1), kAlongInner);
}

TEST(RegisterTilesTest, SingleRowsOnlyWhereThereIsOne) {
  for (const GpuLimits& limits : {GpuLimits(), Software()}) {
    EXPECT_EQ(ChooseRegisterTile(1, 1, 100, limits).rows, 1);
    EXPECT_EQ(ChooseRegisterTile(1, 100, 1, limits).rows % 4, 0);
    EXPECT_EQ(ChooseRegisterTile(1, 2, 2, limits).rows % 4, 0);
  }
}

TEST(ConvolutionProgramTest, WindowsOfOnePixelAreProducts) {
  const Convolution pixel = MakeConvolution({2, 8, 8, 16}, {1, 1, 16, 24}, {2, 8, 8, 24});
  const Launch launch = ConvolutionProgram(pixel, Software());
  EXPECT_EQ(launch.variant.source->name, "product_direct");
  EXPECT_EQ(launch.parameters.words()[0], 128u);
  const Convolution window = MakeConvolution({2, 8, 8, 16}, {3, 3, 16, 24}, {2, 8, 8, 24});
  EXPECT_EQ(ConvolutionProgram(window, Software()).variant.source->name, "convolution");
  const Convolution strided = MakeConvolution({2, 8, 8, 16}, {1, 1, 16, 24}, {2, 4, 4, 24}, 2);
  EXPECT_EQ(ConvolutionProgram(strided, Software()).variant.source->name, "convolution");
}

TEST(DepthwiseProgramTest, OneInvocationForSeveralPixelsOfFourChannels) {
  const Convolution convolution = MakeConvolution({1, 10, 10, 8}, {3, 3, 8, 1}, {1, 10, 10, 8});
  const Launch launch = DepthwiseProgram(convolution, {});
  EXPECT_EQ(launch.parameters.words()[0], 2u * 3u * 5u);  // channels / 4, columns / 4, rows / 2
  const Convolution large = MakeConvolution({1, 20, 20, 80}, {3, 3, 80, 1}, {1, 20, 20, 80});
  EXPECT_EQ(launch.variant, DepthwiseProgram(large, {}).variant);
}

TEST(DepthwiseProgramTest, AnEpilogueIsPartOfTheKernel) {
  for (const int64_t channels : {8, 7}) {
    Convolution convolution = MakeConvolution({1, 10, 10, channels}, {3, 3, channels, 1}, {1, 10, 10, channels});
    const Launch plain = DepthwiseProgram(convolution, {});
    convolution.epilogue.columns = ColumnEpilogue::kBias;
    convolution.epilogue.activation = FusedEpilogue::kRelu;
    const Launch launch = DepthwiseProgram(convolution, {});
    EXPECT_NE(launch.variant, plain.variant);
    EXPECT_EQ(launch.workgroups, plain.workgroups);
    const ShaderText text = launch.variant.Compose();
    EXPECT_EQ(text.buffers.size(), 4u);  // the bias behind input and filter
    EXPECT_EQ(launch.parameters.words().size(), text.num_parameters);
    EXPECT_EQ(plain.parameters.words().size(), plain.variant.Compose().num_parameters);
  }
}

TEST(FilterGradientProgramTest, LongSumsAreInSlices) {
  const Convolution small = MakeConvolution({1, 1, 4, 4}, {1, 3, 4, 4}, {1, 1, 4, 4});
  EXPECT_EQ(FilterGradientProgram(small, {}).slices, 1);
  EXPECT_TRUE(FilterGradientProgram(small, {}).sum.IsEmpty());
  const Convolution large = MakeConvolution({32, 56, 56, 16}, {3, 3, 16, 16}, {32, 56, 56, 16});
  const FilterGradient program = FilterGradientProgram(large, {});
  EXPECT_GT(program.slices, 100);
  EXPECT_EQ(program.sum.parameters.words()[1], static_cast<uint32_t>(program.slices));
  // Slices of a large filter would take too much memory.
  const Convolution wide = MakeConvolution({32, 8, 8, 2048}, {3, 3, 2048, 2048}, {32, 8, 8, 2048});
  EXPECT_EQ(FilterGradientProgram(wide, {}).slices, 1);
}

}  // namespace
}  // namespace tandem::shader
