// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CA-4 of the CPU's kernels: each family asks whether it is to end, and ends there; what it had done by then is
// discarded, and no memory is touched that it had not yet computed where to find.

#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel_case.h"
#include "tandem/kernel_run.h"

namespace tandem {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

// Calls that take long enough to ask at least twice.
const std::vector<KernelCase>& Cases() {
  static const std::vector<KernelCase> kCases = {
      // Products.
      {"MatMul", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({400, 600}), w.F32({600, 500}));
       }},
      {"MatMulOfF64", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<double>({300, 400}), w.Counting<double>({400, 300}));
       }},
      {"MatMulOfBF16", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({300, 500}), w.Counting<BFloat16>({500, 300}));
       }},
      {"MatMulOfI64", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<int64_t>({200, 300}), w.Counting<int64_t>({300, 250}));
       }},
      {"MatMulOfAVector", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 2000}), w.F32({2000, 2000}));
       }},
      {"MatMulWithAVector", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({2000, 2000}), w.F32({2000, 1}));
       }},
      {"MatMulOfALongStrip", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({8, 300'000}), w.F32({300'000, 16}));
       }},
      {"MatMulWithoutDepth", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({3000, 0}), w.F32({0, 2000}));
       }},
      {"FusedMatMul", "tf._FusedMatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({400, 600}), w.F32({600, 500}), w.F32({500}));
       },
       [] {
         return Attrs("num_args", int64_t{1}, "fused_ops", std::vector<std::string_view>{"BiasAdd", "Relu"});
       }},
      {"BatchMatMulOfMany", "tf.BatchMatMulV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({1500, 32, 64}), w.F32({1500, 64, 32}));
       }},
      {"BatchMatMulOfFew", "tf.BatchMatMulV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 300, 400}), w.F32({2, 400, 300}));
       }},
      {"Einsum", "tf.Einsum", 1,
       [](KernelWorld& w) {
         return List(w.F32({300, 400}), w.F32({300, 400}));
       },
       [] { return Attrs("equation", "ij,kj->ki", "N", int64_t{2}); }},
      {"EinsumOfElements", "tf.Einsum", 1, [](KernelWorld& w) { return List(w.F32({2000}), w.F32({2000})); },
       [] { return Attrs("equation", "i,j->ij", "N", int64_t{2}); }},
      {"EinsumOfADiagonal", "tf.Einsum", 1, [](KernelWorld& w) { return List(w.F32({2000})); },
       [] { return Attrs("equation", "i->ii", "N", int64_t{1}); }},
      {"MatrixBandPart", "tf.MatrixBandPart", 1,
       [](KernelWorld& w) {
         return List(w.F32({3000, 1000}), w.Int(2), w.Int(2));
       },
       [] { return Attrs("Tindex", DType::kI32); }},
      {"MatrixDiag", "tf.MatrixDiag", 1, [](KernelWorld& w) { return List(w.F32({2000})); }},

      // Convolutions.
      {"Conv2D", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 40, 40, 32}), w.F32({3, 3, 32, 64}));
       },
       &Same},
      {"Conv2DOfF64", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.Counting<double>({2, 30, 30, 32}), w.Counting<double>({3, 3, 32, 64}));
       },
       &Same},
      {"Conv2DOfI32", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.Counting<int32_t>({2, 30, 30, 32}), w.Counting<int32_t>({3, 3, 32, 64}));
       },
       &Same},
      {"Conv2DOfAHugeFilter", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 150, 150, 1}), w.F32({100, 100, 1, 1}));
       },
       &Valid},
      {"Conv2DOfPixels", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 60, 60, 64}), w.F32({1, 1, 64, 128}));
       },
       &Same},
      {"FusedConv2D", "tf._FusedConv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 40, 40, 32}), w.F32({3, 3, 32, 64}), w.F32({64}));
       },
       [] {
         return Attrs("strides", Numbers{1, 1, 1, 1}, "padding", "SAME", "num_args", int64_t{1}, "fused_ops",
                      std::vector<std::string_view>{"BiasAdd", "Relu"});
       }},
      {"FusedDepthwise", "tf._FusedDepthwiseConv2dNative", 1,
       [](KernelWorld& w) {
         return List(w.F32({4, 80, 80, 64}), w.F32({5, 5, 64, 1}), w.F32({64}));
       },
       [] {
         return Attrs("strides", Numbers{1, 1, 1, 1}, "padding", "SAME", "num_args", int64_t{1}, "fused_ops",
                      std::vector<std::string_view>{"BiasAdd", "Relu6"});
       }},
      {"Conv2DBackpropInput", "tf.Conv2DBackpropInput", 1,
       [](KernelWorld& w) {
         return List(w.Ints({2, 40, 40, 32}), w.F32({3, 3, 32, 64}), w.F32({2, 40, 40, 64}));
       },
       &Same},
      {"Conv2DBackpropFilter", "tf.Conv2DBackpropFilter", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 40, 40, 32}), w.Ints({3, 3, 32, 64}), w.F32({2, 40, 40, 64}));
       },
       &Same},
      {"Conv2DBackpropAHugeFilter", "tf.Conv2DBackpropFilter", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 150, 150, 1}), w.Ints({100, 100, 1, 1}), w.F32({1, 51, 51, 1}));
       },
       &Valid},
      {"DepthwiseConv2d", "tf.DepthwiseConv2dNative", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 100, 100, 64}), w.F32({5, 5, 64, 1}));
       },
       &Same},
      {"DepthwiseConv2dOfAHugeFilter", "tf.DepthwiseConv2dNative", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 150, 150, 2}), w.F32({60, 60, 2, 1}));
       },
       &Valid},
      {"DepthwiseBackpropInput", "tf.DepthwiseConv2dNativeBackpropInput", 1,
       [](KernelWorld& w) {
         return List(w.Ints({2, 100, 100, 64}), w.F32({5, 5, 64, 1}), w.F32({2, 100, 100, 64}));
       },
       &Same},
      {"DepthwiseBackpropFilter", "tf.DepthwiseConv2dNativeBackpropFilter", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 100, 100, 64}), w.Ints({5, 5, 64, 1}), w.F32({2, 100, 100, 64}));
       },
       &Same},

      // Pools.
      {"MaxPoolOfAHugeWindow", "tf.MaxPool", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 600, 600, 1}));
       },
       [] { return Pool(300, "SAME"); }},
      {"MaxPoolOfChannels", "tf.MaxPool", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 150, 150, 64}));
       },
       [] { return Pool(9, "SAME"); }},
      {"AvgPoolOfAll", "tf.AvgPool", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 2000, 2000, 1}));
       },
       [] { return Pool(2000, "VALID"); }},
      {"AvgPoolOfBF16", "tf.AvgPool", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({1, 500, 500, 4}));
       },
       [] { return Pool(40, "SAME"); }},
      {"MaxPoolGrad", "tf.MaxPoolGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 100, 100, 64}), w.F32({1, 100, 100, 64}), w.F32({1, 100, 100, 64}));
       },
       [] { return Pool(9, "SAME"); }},
      {"MaxPoolGradOfAHugeWindow", "tf.MaxPoolGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 300, 300, 1}), w.Spread({1, 300, 300, 1}, 200), w.F32({1, 300, 300, 1}));
       },
       [] { return Pool(100, "SAME"); }},
      {"AvgPoolGrad", "tf.AvgPoolGrad", 1,
       [](KernelWorld& w) {
         return List(w.Ints({1, 100, 100, 64}), w.F32({1, 100, 100, 64}));
       },
       [] { return Pool(15, "SAME"); }},

      // Element by element.
      {"Add", "tf.AddV2", 1, [](KernelWorld& w) { return List(w.F32({8 * kMega}), w.F32({8 * kMega})); }},
      {"AddOfARow", "tf.AddV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({4096, 1024}), w.F32({1024}));
       }},
      {"Exp", "tf.Exp", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega})); }},
      {"CastToF64", "tf.Cast", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega})); },
       [] { return Attrs("DstT", DType::kF64); }},
      {"EqualStrings", "tf.Equal", 1, [](KernelWorld& w) { return List(w.Strings(300'000), w.Strings(300'000)); }},
      {"SelectStrings", "tf.SelectV2", 1,
       [](KernelWorld& w) { return List(w.Counting<bool>({300'000}), w.Strings(300'000), w.Strings(300'000)); }},

      // Rows, of which one alone is long.
      {"Softmax", "tf.Softmax", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega})); }},
      {"SoftmaxOfRows", "tf.Softmax", 1,
       [](KernelWorld& w) {
         return List(w.F32({4096, 1024}));
       }},
      {"LogSoftmaxOfF64", "tf.LogSoftmax", 1, [](KernelWorld& w) { return List(w.Counting<double>({4 * kMega})); }},
      {"CrossEntropy", "tf.SparseSoftmaxCrossEntropyWithLogits", 2,
       [](KernelWorld& w) {
         return List(w.F32({2048, 1024}), w.Counting<int32_t>({2048}));
       }},
      {"LayerNorm", "tandem.LayerNorm", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 4 * kMega}), w.F32({4 * kMega}), w.F32({4 * kMega}));
       }},
      {"LayerNormGrad", "tandem.LayerNormGrad", 3,
       [](KernelWorld& w) {
         return List(w.F32({4096, 512}), w.F32({4096, 512}), w.F32({512}));
       }},
      {"BatchNorm", "tf.FusedBatchNormV3", 6,
       [](KernelWorld& w) {
         return List(w.F32({8, 100, 100, 32}), w.F32({32}), w.F32({32}), w.F32({0}), w.F32({0}));
       }},
      {"BatchNormOfPlanes", "tf.FusedBatchNormV3", 6,
       [](KernelWorld& w) {
         return List(w.F32({1, 1, 2000, 2000}), w.F32({1}), w.F32({1}), w.F32({0}), w.F32({0}));
       },
       [] { return Attrs("data_format", "NCHW"); }},
      {"BatchNormGrad", "tf.FusedBatchNormGradV3", 5,
       [](KernelWorld& w) {
         return List(w.F32({8, 100, 100, 32}), w.F32({8, 100, 100, 32}), w.F32({32}), w.F32({32}), w.F32({32}),
                     w.F32({32}));
       }},
      {"BatchNormGradOfPlanes", "tf.FusedBatchNormGradV3", 5,
       [](KernelWorld& w) {
         return List(w.F32({1, 1, 2000, 2000}), w.F32({1, 1, 2000, 2000}), w.F32({1}), w.F32({1}), w.F32({1}),
                     w.F32({1}));
       },
       [] { return Attrs("data_format", "NCHW"); }},

      // Reductions and scans.
      {"SumOfAll", "tf.Sum", 1,
       [](KernelWorld& w) {
         return List(w.F32({2048, 4096}), w.Ints({0, 1}));
       }},
      {"SumOfColumns", "tf.Sum", 1,
       [](KernelWorld& w) {
         return List(w.F32({2048, 4096}), w.Ints({0}));
       }},
      {"MeanOfBF16", "tf.Mean", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({2048, 4096}), w.Ints({1}));
       }},
      {"ArgMax", "tf.ArgMax", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.Int(0)); }},
      {"ArgMinOfColumns", "tf.ArgMin", 1,
       [](KernelWorld& w) {
         return List(w.F32({4 * kMega / 8, 8}), w.Int(0));
       }},
      {"Cumsum", "tf.Cumsum", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.Int(0)); }},
      {"CumsumOfColumns", "tf.Cumsum", 1,
       [](KernelWorld& w) {
         return List(w.F32({kMega, 4}), w.Int(0));
       }},
      {"CumprodOfBF16Columns", "tf.Cumprod", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({kMega, 4}), w.Int(0));
       }},
      {"BiasAddGrad", "tf.BiasAddGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({32768, 512}));
       }},

      // Indices.
      {"Gather", "tf.GatherV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 64}), w.Counting<int32_t>({200'000}), w.Int(0));
       }},
      {"GatherOfLongSlices", "tf.GatherV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({2, 4 * kMega}), w.Ints({1, 0}), w.Int(0));
       }},
      {"GatherOfManyIndices", "tf.GatherV2", 1,
       [](KernelWorld& w) { return List(w.F32({101}), w.Counting<int32_t>({4 * kMega}), w.Int(0)); }},
      {"GatherNd", "tf.GatherNd", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 101}), w.Counting<int32_t>({kMega, 2}));
       }},
      {"ScatterNd", "tf.ScatterNd", 1,
       [](KernelWorld& w) {
         return List(w.Counting<int32_t>({kMega, 1}), w.F32({kMega}), w.Ints({101}));
       }},
      {"TensorScatterAdd", "tf.TensorScatterAdd", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 64}), w.Counting<int64_t>({100'000, 1}), w.F32({100'000, 64}));
       }},
      {"TensorScatterUpdate", "tf.TensorScatterUpdate", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 7}), w.Counting<int32_t>({300'000, 1}), w.F32({300'000, 7}));
       }},
      {"ScatterOfStrings", "tf.ScatterNd", 1,
       [](KernelWorld& w) {
         return List(w.Counting<int32_t>({300'000, 1}), w.Strings(300'000), w.Ints({101}));
       }},
      {"SegmentSum", "tf.UnsortedSegmentSum", 1,
       [](KernelWorld& w) { return List(w.F32({2 * kMega}), w.Counting<int32_t>({2 * kMega}), w.Int(101)); }},
      {"Where", "tf.Where", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega})); }},
      {"TopK", "tf.TopKV2", 2, [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.Int(5)); }},
      {"TopKOfMany", "tf.TopKV2", 2,
       [](KernelWorld& w) { return List(w.Counting<float>({kMega}, 900'001), w.Int(100'000)); }},
      {"TopKOfAll", "tf.TopKV2", 2,
       [](KernelWorld& w) { return List(w.Counting<double>({kMega / 2}, 1'001), w.Int(kMega / 2)); }},
      {"Unique", "tf.Unique", 2, [](KernelWorld& w) { return List(w.Counting<int32_t>({kMega}, 700'000)); }},
      {"UniqueRows", "tf.UniqueV2", 2,
       [](KernelWorld& w) {
         return List(w.F32({50'000, 16}), w.Ints({0}));
       }},
      {"UniqueColumns", "tf.UniqueV2", 2,
       [](KernelWorld& w) {
         return List(w.F32({50'000, 16}), w.Ints({1}));
       }},

      // Volumes, images, signals, counts.
      {"Conv3D", "tf.Conv3D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 20, 30, 30, 8}), w.F32({3, 3, 3, 8, 16}));
       },
       [] { return Attrs("strides", Numbers{1, 1, 1, 1, 1}, "padding", "SAME"); }},
      {"Conv3DBackpropFilter", "tf.Conv3DBackpropFilterV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 20, 30, 30, 8}), w.Ints({3, 3, 3, 8, 16}), w.F32({1, 20, 30, 30, 16}));
       },
       [] { return Attrs("strides", Numbers{1, 1, 1, 1, 1}, "padding", "SAME"); }},
      {"MaxPool3D", "tf.MaxPool3D", 1, [](KernelWorld& w) { return List(w.F32({1, 40, 60, 60, 8})); },
       [] {
         return Attrs("ksize", Numbers{1, 3, 3, 3, 1}, "strides", Numbers{1, 1, 1, 1, 1}, "padding", "SAME");
       }},
      {"MaxPool3DGrad", "tf.MaxPool3DGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 20, 40, 40, 8}), w.F32({1, 20, 40, 40, 8}), w.F32({1, 20, 40, 40, 8}));
       },
       [] {
         return Attrs("ksize", Numbers{1, 3, 3, 3, 1}, "strides", Numbers{1, 1, 1, 1, 1}, "padding", "SAME");
       }},
      {"Dilation2D", "tf.Dilation2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 200, 200, 8}), w.F32({3, 3, 8}));
       },
       [] {
         return Attrs("strides", Numbers{1, 1, 1, 1}, "rates", Numbers{1, 1, 1, 1}, "padding", "SAME");
       }},
      {"Lrn", "tf.LRN", 1, [](KernelWorld& w) { return List(w.F32({1, 100, 100, 64})); }},
      {"SpaceToBatch", "tf.SpaceToBatchND", 1,
       [](KernelWorld& w) {
         return List(w.F32({4, 512, 512, 4}), w.Ints({2, 2}), w.Dense<int32_t>({2, 2}, {0, 0, 0, 0}));
       }},
      {"ResizeBilinearGrad", "tf.ResizeBilinearGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 1000, 1000, 3}), w.F32({1, 300, 300, 3}));
       }},
      {"CropAndResize", "tf.CropAndResize", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 100, 100, 3}), w.Dense<float>({1, 4}, {0, 0, 1, 1}), w.Ints({0}), w.Ints({1500, 1500}));
       }},
      {"Fft", "tf.FFT", 1, [](KernelWorld& w) { return List(w.Counting<std::complex<float>>({1 << 18})); }},
      {"FftOfAPrime", "tf.FFT", 1, [](KernelWorld& w) { return List(w.Counting<std::complex<float>>({65'537})); }},
      {"Bincount", "tf.Bincount", 1,
       [](KernelWorld& w) { return List(w.Counting<int32_t>({4 * kMega}), w.Int(101), w.F32({0})); }},
      {"Multinomial", "tf.Multinomial", 1, [](KernelWorld& w) { return List(w.F32({20, 10'000}), w.Int(10'000)); }},
      {"SparseSegmentSum", "tf.SparseSegmentSum", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 64}), w.Counting<int32_t>({100'000}), w.Counting<int32_t>({100'000}, 1));
       }},
      {"StringNGrams", "tf.StringNGrams", 2,
       [](KernelWorld& w) { return List(w.Strings(200'000), w.Dense<int64_t>({2}, {0, 200'000})); },
       [] {
         return Attrs("separator", " ", "ngram_widths", Numbers{2, 3}, "left_pad", "", "right_pad", "", "pad_width",
                      int64_t{0}, "preserve_short_sequences", false);
       }},

      // Movement and creation.
      {"Transpose", "tf.Transpose", 1,
       [](KernelWorld& w) {
         return List(w.F32({2048, 2048}), w.Ints({1, 0}));
       }},
      {"Tile", "tf.Tile", 1,
       [](KernelWorld& w) {
         return List(w.F32({1024, 1024}), w.Ints({2, 3}));
       }},
      {"Concat", "tf.ConcatV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({2048, 1024}), w.F32({2048, 1024}), w.Int(1));
       },
       [] { return Attrs("N", int64_t{2}); }},
      {"StridedCopy", "tf.ReverseV2", 1, [](KernelWorld& w) { return List(w.F32({1024, 4096}), w.Ints({1})); }},
      {"PadOfOneRow", "tf.Pad", 1,
       [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.Dense<int32_t>({1, 2}, {1, 3'000'000})); }},
      {"MirrorPad", "tf.MirrorPad", 1,
       [](KernelWorld& w) {
         return List(w.F32({2000, 1000}), w.Dense<int32_t>({2, 2}, {1, 1, 2, 2}));
       },
       [] { return Attrs("mode", "REFLECT"); }},
      {"Range", "tf.Range", 1, [](KernelWorld& w) { return List(w.Int(0), w.Int(4 * kMega), w.Int(1)); }},
      {"OnesLike", "tf.OnesLike", 1, [](KernelWorld& w) { return List(w.F32({8 * kMega})); }},
      {"OneHotOfOneBlock", "tf.OneHot", 1,
       [](KernelWorld& w) { return List(w.Counting<int32_t>({200'000}), w.Int(20), w.Spread({}, 1), w.Spread({}, 0)); },
       [] { return Attrs("axis", int64_t{0}); }},
      {"RandomUniform", "tf.StatelessRandomUniform", 1,
       [](KernelWorld& w) { return List(w.Ints({4 * kMega}), w.Ints({1, 2})); }},
      {"RandomNormal", "tf.StatelessRandomNormal", 1,
       [](KernelWorld& w) { return List(w.Ints({4 * kMega}), w.Ints({1, 2})); }},
      {"ResizeBilinear", "tf.ResizeBilinear", 1,
       [](KernelWorld& w) { return List(w.F32({1, 300, 300, 3}), w.Ints({1000, 1000})); }},
      {"ResizeNearestNeighbor", "tf.ResizeNearestNeighbor", 1,
       [](KernelWorld& w) { return List(w.F32({1, 300, 300, 3}), w.Ints({1000, 1000})); }},
      {"ToDense", "tandem.ToDense", 1, [](KernelWorld& w) { return List(w.Spread({8 * kMega}, 1)); }},
      {"ToScalar", "tandem.ToScalar", 1, [](KernelWorld& w) { return List(w.Counting<float>({kMega}, 1)); }},
      {"ToSparseCoo", "tandem.ToSparseCoo", 1, [](KernelWorld& w) { return List(w.F32({kMega})); }},
      {"ToSparseCooOfAScalar", "tandem.ToSparseCoo", 1, [](KernelWorld& w) { return List(w.Spread({kMega}, 1)); }},
      {"TestAdd", "test.add", 1, [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.F32({4 * kMega})); }},
      {"TestAddDenseOnly", "test.add.denseonly", 1,
       [](KernelWorld& w) { return List(w.F32({4 * kMega}), w.F32({4 * kMega})); }},
      {"TestOddCollector", "test.odd_collector", 1,
       [](KernelWorld& w) { return List(w.Counting<int32_t>({4 * kMega})); }},
  };
  return kCases;
}

// Which case, and how many workers: 0 for a queue without threads.
class KernelCancellationTest : public testing::TestWithParam<std::tuple<size_t, int>> {};
INSTANTIATE_TEST_SUITE_P(Kernels, KernelCancellationTest,
                         testing::Combine(testing::Range<size_t>(0, Cases().size()), testing::Values(0, 2)),
                         [](const auto& info) {
                           return std::string(Cases()[std::get<0>(info.param)].name) + "With" +
                                  std::to_string(std::get<1>(info.param)) + "Workers";
                         });

// Runs a case with `args` or, if these are null, with tensors that no call has read before.
void TestThatItEndsWhereverItAsks(const KernelCase& the_case, int num_workers, KernelWorld& world,
                                  const std::vector<TensorHandle>* args) {
  const OpAttrsRef attrs = the_case.attrs();
  const auto run = [&](int64_t stop_at) {
    const std::vector<TensorHandle> own_args = args == nullptr ? the_case.args(world) : std::vector<TensorHandle>();
    world.StopAt(stop_at);
    return world.Call(the_case.op, args == nullptr ? own_args : *args, the_case.num_results, attrs);
  };
  for (const TensorHandle& result : run(0)) {
    const Status status = world.host().Await(result);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  const int64_t num_polls = world.num_polls();
  ASSERT_GE(num_polls, 2) << "a kernel of some milliseconds does not ask whether it is to end";
  const int num_told = world.num_told();
  // Runs the kernel until it is asked so often. With the calling thread alone it is so each time; how often threads
  // that share the work ask depends on how they do, since tasks are smaller while one is ready to help.
  const auto run_until_asked = [&](int64_t stop_at) {
    for (int attempt = 1;; ++attempt) {
      std::vector<TensorHandle> results = run(stop_at);
      bool are_ok = true;
      for (const TensorHandle& result : results) are_ok &= world.host().Await(result).ok();
      const bool may_be_asked_less = num_workers > 0 && attempt < 1000;
      if (!are_ok || world.num_polls() >= stop_at || !may_be_asked_less) return results;
    }
  };
  for (const int64_t stop_at : {int64_t{1}, int64_t{2}, num_polls / 4, num_polls / 2}) {
    if (stop_at == 0 || (stop_at == 2 && num_polls < 4)) continue;
    for (const TensorHandle& result : run_until_asked(stop_at)) {
      const Status status = world.host().Await(result);
      ASSERT_EQ(status.code(), StatusCode::kCancelled) << status.ToString() << ", asked " << stop_at << " times";
      EXPECT_EQ(status.op(), the_case.op);
      EXPECT_FALSE(status.location().file.empty());
    }
    ASSERT_GE(world.num_polls(), stop_at);
  }
  EXPECT_EQ(world.num_told(), num_told) << "who stops a kernel has been told of it";
}

// CA-4
TEST_P(KernelCancellationTest, CA4_EndsWhereverItAsks) {
  const auto& [index, num_workers] = GetParam();
  KernelWorld world(num_workers);
  TestThatItEndsWhereverItAsks(Cases()[index], num_workers, world, nullptr);
}

// CA-4: those that keep a matrix or a filter packed ask less often once they have it (TH-10).
TEST_P(KernelCancellationTest, CA4_EndsWhereverItAsksWithWhatIsKept) {
  const auto& [index, num_workers] = GetParam();
  const KernelCase& the_case = Cases()[index];
  const std::string_view op = the_case.op;
  if (op != "tf.MatMul" && op != "tf._FusedMatMul" && op != "tf.Conv2D" && op != "tf._FusedConv2D") return;
  KernelWorld world(num_workers);
  const std::vector<TensorHandle> args = the_case.args(world);
  world.StopAt(0);
  for (int use = 0; use < 2; ++use) {
    for (const TensorHandle& result : world.Call(op, args, the_case.num_results, the_case.attrs())) {
      ASSERT_TRUE(world.host().Await(result).ok());
    }
  }
  TestThatItEndsWhereverItAsks(the_case, num_workers, world, &args);
}

// CA-4: loops around the one that asked must hear of it, too.
TEST(StopPollTest, CA4_SaysSoEachTimeOnceItIsToEnd) {
  KernelWorld world(0);
  const ExecutionContext exec(world.host(), Location());
  const KernelRun run(exec);
  world.StopAt(2);
  StopPoll poll(10);
  EXPECT_FALSE(poll.Stops(9));
  EXPECT_EQ(world.num_polls(), 0);
  EXPECT_FALSE(poll.Stops());
  EXPECT_EQ(world.num_polls(), 1);
  EXPECT_FALSE(poll.Stops(9));
  EXPECT_TRUE(poll.Stops());
  EXPECT_TRUE(poll.Stops());
  EXPECT_TRUE(poll.Stops(5));
}

// The ways of ending a kernel. It would run for minutes, and has begun when it is ended.
class LongKernelTest : public testing::TestWithParam<int> {
 protected:
  // A convolution of some 10^12 products.
  TensorHandle Start(RcRef<RequestContext> request = nullptr) {
    std::vector<TensorHandle> args = List(world_.F32({1, 2000, 2000, 1}), world_.F32({1000, 1000, 1, 1}));
    world_.StopAt(0);
    TensorHandle result = std::move(world_.Call("tf.Conv2D", args, 1, Valid(), std::move(request))[0]);
    world_.AwaitFirstPoll();
    return result;
  }
  KernelWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Workers, LongKernelTest, testing::Values(1, 2));

// CA-1, CA-4
TEST_P(LongKernelTest, CA4_EndsWithTheHost) {
  const TensorHandle result = Start();
  world_.host().CancelExecution("enough");
  const Status status = world_.host().Await(result);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "[tf.Conv2D] enough");
  EXPECT_EQ(world_.num_told(), 1);
}

// CA-2, CA-4
TEST_P(LongKernelTest, CA4_EndsThoughTheHostIsRestartedAtOnce) {
  const TensorHandle result = Start();
  world_.host().CancelExecution("enough");
  world_.host().Restart();
  EXPECT_EQ(world_.host().Await(result).code(), StatusCode::kCancelled);
  const std::vector<TensorHandle> args = List(world_.F32({2}), world_.F32({2}));
  EXPECT_TRUE(world_.host().Await(world_.Call("tf.AddV2", args, 1, {})[0]).ok());
}

// CA-3, CA-4
TEST_P(LongKernelTest, CA4_EndsWithTheRequest) {
  const StatusOr<RcRef<RequestContext>> request = RequestContext::Create(world_.host(), {});
  ASSERT_TRUE(request.ok());
  const TensorHandle result = Start(*request);
  (*request)->Cancel("over");
  EXPECT_EQ(world_.host().Await(result).message(), "[tf.Conv2D] over");
  EXPECT_EQ(world_.num_told(), 1);
}

// CA-3, CA-4
TEST_P(LongKernelTest, CA4_EndsAtTheDeadline) {
  const auto deadline = RequestContext::Clock::now() + std::chrono::milliseconds(20);
  const StatusOr<RcRef<RequestContext>> request = RequestContext::Create(world_.host(), {deadline, nullptr});
  ASSERT_TRUE(request.ok());
  // Whether or not it has begun by then.
  const std::vector<TensorHandle> args = List(world_.F32({1, 2000, 2000, 1}), world_.F32({1000, 1000, 1, 1}));
  const TensorHandle result = std::move(world_.Call("tf.Conv2D", args, 1, Valid(), *request)[0]);
  EXPECT_EQ(world_.host().Await(result).code(), StatusCode::kDeadlineExceeded);
}

// CA-4
TEST_P(LongKernelTest, CA4_EndsWithTheRuntime) {
  const TensorHandle result = Start();
  world_.Destroy();
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
}

// CA-4: where the caller computes, too.
TEST(LongInlineKernelTest, CA4_EndsAtTheDeadlineInline) {
  KernelWorld world(0);
  world.host().set_inline_cost_limit(INT64_MAX);
  const std::vector<TensorHandle> args = List(world.F32({1, 2000, 2000, 1}), world.F32({1000, 1000, 1, 1}));
  const auto deadline = RequestContext::Clock::now() + std::chrono::milliseconds(20);
  const StatusOr<RcRef<RequestContext>> request = RequestContext::Create(world.host(), {deadline, nullptr});
  ASSERT_TRUE(request.ok());
  const TensorHandle result = std::move(world.Call("tf.Conv2D", args, 1, Valid(), *request)[0]);
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace tandem
