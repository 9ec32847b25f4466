// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Heap calls of the CPU's kernels: none for what they work in (EX-10).

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "kernel_case.h"

namespace tandem {
namespace {

// Small calls with results of more than 64 bytes, which so have data of their own.
const std::vector<KernelCase>& Cases() {
  static const std::vector<KernelCase> kCases = {
      {"Add", "tf.AddV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.F32({10, 10}));
       }},
      {"AddOfARow", "tf.AddV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.F32({10}));
       }},
      {"AddOfASpreadValue", "tf.AddV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.Spread({10, 10}, 1));
       }},
      {"Exp", "tf.Exp", 1, [](KernelWorld& w) { return List(w.Counting<BFloat16>({100})); }},
      {"Cast", "tf.Cast", 1, [](KernelWorld& w) { return List(w.F32({100})); },
       [] { return Attrs("DstT", DType::kF64); }},
      {"Select", "tf.SelectV2", 1,
       [](KernelWorld& w) { return List(w.Counting<bool>({100}), w.F32({100}), w.F32({100})); }},
      {"Clip", "tf.ClipByValue", 1, [](KernelWorld& w) { return List(w.F32({100}), w.F32({}), w.F32({})); }},
      {"AddN", "tf.AddN", 1, [](KernelWorld& w) { return List(w.F32({100}), w.F32({100}), w.F32({100})); },
       [] { return Attrs("N", int64_t{3}); }},
      {"MatMul", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 20}), w.F32({20, 10}));
       }},
      {"MatMulOfOddSizes", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({31, 100}), w.F32({100, 31}));
       }},
      {"MatMulTransposed", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({40, 70}), w.F32({50, 70}));
       },
       [] { return Attrs("transpose_b", true); }},
      {"MatMulOfF64", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<double>({40, 50}), w.Counting<double>({50, 40}));
       }},
      {"MatMulOfBF16", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({40, 50}), w.Counting<BFloat16>({50, 40}));
       }},
      {"MatMulOfI64", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.Counting<int64_t>({40, 50}), w.Counting<int64_t>({50, 40}));
       }},
      {"MatMulOfASpreadValue", "tf.MatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({20, 20}), w.Spread({20, 20}, 1));
       }},
      {"FusedMatMul", "tf._FusedMatMul", 1,
       [](KernelWorld& w) {
         return List(w.F32({40, 50}), w.F32({50, 40}), w.F32({40}));
       },
       [] {
         return Attrs("num_args", int64_t{1}, "fused_ops", std::vector<std::string_view>{"BiasAdd", "Relu"});
       }},
      {"BatchMatMul", "tf.BatchMatMulV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({3, 10, 20}), w.F32({3, 20, 10}));
       }},
      {"Conv2D", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.F32({3, 3, 4, 8}));
       },
       &Same},
      {"Conv2DOfF64", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.Counting<double>({1, 8, 8, 4}), w.Counting<double>({3, 3, 4, 8}));
       },
       &Same},
      {"Conv2DOfPixels", "tf.Conv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.F32({1, 1, 4, 8}));
       },
       &Same},
      {"FusedConv2D", "tf._FusedConv2D", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.F32({3, 3, 4, 8}), w.F32({8}));
       },
       [] {
         return Attrs("strides", Numbers{1, 1, 1, 1}, "padding", "SAME", "num_args", int64_t{1}, "fused_ops",
                      std::vector<std::string_view>{"BiasAdd", "Relu"});
       }},
      {"FusedDepthwise", "tf._FusedDepthwiseConv2dNative", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.F32({3, 3, 4, 2}), w.F32({8}));
       },
       [] {
         return Attrs("strides", Numbers{1, 1, 1, 1}, "padding", "SAME", "num_args", int64_t{1}, "fused_ops",
                      std::vector<std::string_view>{"BiasAdd", "Relu6"});
       }},
      {"Conv2DBackpropInput", "tf.Conv2DBackpropInput", 1,
       [](KernelWorld& w) {
         return List(w.Ints({1, 12, 12, 4}), w.F32({3, 3, 4, 8}), w.F32({1, 12, 12, 8}));
       },
       &Same},
      {"Conv2DBackpropFilter", "tf.Conv2DBackpropFilter", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.Ints({3, 3, 4, 8}), w.F32({1, 12, 12, 8}));
       },
       &Same},
      {"DepthwiseConv2d", "tf.DepthwiseConv2dNative", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.F32({3, 3, 4, 1}));
       },
       &Same},
      {"DepthwiseBackpropInput", "tf.DepthwiseConv2dNativeBackpropInput", 1,
       [](KernelWorld& w) {
         return List(w.Ints({1, 12, 12, 4}), w.F32({3, 3, 4, 1}), w.F32({1, 12, 12, 4}));
       },
       &Same},
      {"DepthwiseBackpropFilter", "tf.DepthwiseConv2dNativeBackpropFilter", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 4}), w.Ints({3, 3, 4, 1}), w.F32({1, 12, 12, 4}));
       },
       &Same},
      {"MaxPool", "tf.MaxPool", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 3}));
       },
       [] { return Pool(3, "SAME"); }},
      {"AvgPoolOfBF16", "tf.AvgPool", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({1, 12, 12, 3}));
       },
       [] { return Pool(3, "SAME"); }},
      {"MaxPoolGrad", "tf.MaxPoolGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 12, 12, 3}), w.F32({1, 12, 12, 3}), w.F32({1, 12, 12, 3}));
       },
       [] { return Pool(3, "SAME"); }},
      {"Softmax", "tf.Softmax", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}));
       }},
      {"SoftmaxOfBF16", "tf.Softmax", 1,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({20, 20}));
       }},
      {"CrossEntropyOfBF16", "tf.SparseSoftmaxCrossEntropyWithLogits", 2,
       [](KernelWorld& w) {
         return List(w.Counting<BFloat16>({40, 40}), w.Counting<int32_t>({40}, 40));
       }},
      {"LayerNorm", "tandem.LayerNorm", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.F32({10}), w.F32({10}));
       }},
      {"BiasAdd", "tf.BiasAdd", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.F32({10}));
       }},
      {"BiasAddGrad", "tf.BiasAddGrad", 1,
       [](KernelWorld& w) {
         return List(w.F32({100, 30}));
       }},
      {"Sum", "tf.Sum", 1,
       [](KernelWorld& w) {
         return List(w.F32({30, 40}), w.Ints({0}));
       }},
      {"SumOfPasses", "tf.Sum", 1,
       [](KernelWorld& w) {
         return List(w.F32({5, 30, 20, 4}), w.Ints({0, 2}));
       }},
      {"ArgMax", "tf.ArgMax", 1,
       [](KernelWorld& w) {
         return List(w.F32({30, 40}), w.Int(0));
       }},
      {"Cumsum", "tf.Cumsum", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.Int(0));
       }},
      {"Gather", "tf.GatherV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 4}), w.Counting<int32_t>({30}), w.Int(0));
       }},
      {"GatherNd", "tf.GatherNd", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 101}), w.Counting<int32_t>({30, 2}));
       }},
      {"TensorScatterAdd", "tf.TensorScatterAdd", 1,
       [](KernelWorld& w) {
         return List(w.F32({101, 4}), w.Counting<int32_t>({30, 1}), w.F32({30, 4}));
       }},
      {"SegmentSum", "tf.UnsortedSegmentSum", 1,
       [](KernelWorld& w) {
         return List(w.F32({100, 4}), w.Counting<int32_t>({100}, 30), w.Int(30));
       }},
      {"TopK", "tf.TopKV2", 2,
       [](KernelWorld& w) {
         return List(w.F32({30, 40}), w.Int(8));
       }},
      {"TopKOfMany", "tf.TopKV2", 2,
       [](KernelWorld& w) {
         return List(w.F32({3, 400}), w.Int(100));
       }},
      {"Transpose", "tf.Transpose", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 20}), w.Ints({1, 0}));
       }},
      {"Concat", "tf.ConcatV2", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.F32({10, 10}), w.Int(1));
       },
       [] { return Attrs("N", int64_t{2}); }},
      {"Pad", "tf.Pad", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 10}), w.Dense<int32_t>({2, 2}, {1, 1, 2, 2}));
       }},
      {"OneHot", "tf.OneHot", 1,
       [](KernelWorld& w) { return List(w.Counting<int32_t>({30}), w.Int(20), w.Spread({}, 1), w.Spread({}, 0)); }},
      {"RandomNormal", "tf.StatelessRandomNormal", 1,
       [](KernelWorld& w) {
         return List(w.Ints({100}), w.Ints({1, 2}));
       }},
      {"ResizeBilinear", "tf.ResizeBilinear", 1,
       [](KernelWorld& w) {
         return List(w.F32({1, 10, 10, 3}), w.Ints({20, 20}));
       }},
      {"Einsum", "tf.Einsum", 1,
       [](KernelWorld& w) {
         return List(w.F32({10, 20}), w.F32({20, 10}));
       },
       [] { return Attrs("equation", "ij,jk->ik", "N", int64_t{2}); }},
  };
  return kCases;
}

class KernelAllocationTest : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Kernels, KernelAllocationTest, testing::Range<size_t>(0, Cases().size()),
                         [](const auto& info) { return std::string(Cases()[info.param].name); });

// EX-10: for each result its async value and its data.
TEST_P(KernelAllocationTest, EX10_TwoForEachResult) {
  const KernelCase& the_case = Cases()[GetParam()];
  KernelWorld world(0);
  world.host().set_inline_cost_limit(INT64_MAX);  // the budget is that of calls that run at once
  const std::vector<TensorHandle> args = the_case.args(world);
  const OpAttrsRef attrs = the_case.attrs();
  std::vector<TensorHandle> results(static_cast<size_t>(the_case.num_results));
  const auto call = [&] {
    std::vector<TensorHandle> copies;
    for (const TensorHandle& arg : args) copies.push_back(arg.CopyRef());
    return CountAllocations([&] { world.Execute(the_case.op, copies, attrs, results); });
  };
  call();  // what is made once, and what the allocator then keeps
  for (TensorHandle& result : results) result.reset();
  EXPECT_LE(call(), 2 * the_case.num_results);
  for (const TensorHandle& result : results) {
    const Status status = world.host().Await(result);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

}  // namespace
}  // namespace tandem
