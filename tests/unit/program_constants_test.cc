// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Constants and weights of programs, which kernels pack once (PR-5): compared with calls whose arguments are no
// constants.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_runner.h"

namespace tandem {
namespace {

class ProgramConstantsTest : public OpTest {
 protected:
  template <typename T = float>
  TensorHandle Numbers(const TensorShape& shape, uint32_t seed) {
    std::vector<T> values;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      values.push_back(static_cast<T>(static_cast<float>(static_cast<int32_t>(seed >> 20)) / 64.0f - 32.0f));
    }
    return Dense<T>(shape, values);
  }

  // A runner of a program whose only weight is `weight`, called %w, and which gives %r of %x.
  ProgramRunner Make(const TensorHandle& weight, std::string_view body) {
    std::string type = "tensor<";
    for (const int64_t dim : weight.metadata().shape.dims()) type += std::to_string(dim) + "x";
    type += TextOf(weight.metadata().dtype) + ">";
    const std::string text =
        "func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {\n  %cpu = corert.get_op_handler(\"cpu\")\n"
        "  %w = corert.const_dense_tensor \"w\" : " +
        type + "\n  %w2 = corert.const_dense_tensor \"w\" : " + type + "\n" + std::string(body) +
        "\n  tfrt.return %r : !corert.tensorhandle\n}\n";
    StatusOr<RcRef<const Program>> program = Program::FromText(text, "test.mlir");
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    ProgramRunner::Options options;
    options.find_weight = [&](std::string_view) -> StatusOr<TensorHandle> { return weight.CopyRef(); };
    StatusOr<ProgramRunner> runner = ProgramRunner::Create(runtime(), *std::move(program), options);
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    return *std::move(runner);
  }
  TensorHandle RunMain(const ProgramRunner& runner, const TensorHandle& input) {
    TensorHandle argument = input.CopyRef();
    TensorHandle result;
    runner.Run("main", ExecutionContext(host(), Location()), {&argument, 1}, {&result, 1});
    EXPECT_TRUE(host().Await(result).ok()) << host().Await(result).ToString();
    return result;
  }
  void ExpectSameBits(const TensorHandle& given, const TensorHandle& expected) {
    ASSERT_TRUE(host().Await(expected).ok());
    ASSERT_EQ(TextOf(given.metadata()), TextOf(expected.metadata()));
    EXPECT_EQ(std::memcmp(given.tensor().data(), expected.tensor().data(), given.metadata().byte_size()), 0);
  }

  // The product by a runner, in several runs, is that of a call.
  template <typename T>
  void ExpectProduct(const TensorShape& x_shape, const TensorShape& w_shape, bool transpose_a, bool transpose_b) {
    SCOPED_TRACE(TextOf(x_shape, " ", w_shape, " ", kDTypeOf<T>));
    const TensorHandle x = Numbers<T>(x_shape, 1);
    const TensorHandle w = Numbers<T>(w_shape, 2);
    const std::string attrs = std::string("{transpose_a = ") + (transpose_a ? "true" : "false") +
                              ", transpose_b = " + (transpose_b ? "true" : "false") + "}";
    const ProgramRunner runner = Make(w, "  %r = corert.executeop(%cpu) \"tf.MatMul\"(%x, %w) " + attrs);
    const TensorHandle expected =
        Run("tf.MatMul", {x, w}, Attrs("transpose_a", transpose_a, "transpose_b", transpose_b));
    for (int i = 0; i < 2; ++i) ExpectSameBits(RunMain(runner, x), expected);
  }

  size_t BytesInUse() { return host().allocator().stats().bytes_in_use; }
};

TEST_F(ProgramConstantsTest, PR5_ProductsWithConstantsAreTheSame) {
  struct Size {
    int64_t m, n, k;
  };
  // One for each way in which Gemm multiplies, and sizes that fill neither tiles nor blocks.
  for (const Size size : {Size{1, 40, 70},
                          {3, 40, 70},
                          {2, 33, 65},
                          {12, 64, 30},
                          {49, 37, 300},
                          {128, 128, 128},
                          {130, 100, 520},
                          {7, 2100, 40},
                          {1600, 17, 20},
                          {700, 300, 90},
                          {5, 1, 9},
                          {40, 3, 513}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const TensorShape x = transpose_a ? TensorShape{size.k, size.m} : TensorShape{size.m, size.k};
        const TensorShape w = transpose_b ? TensorShape{size.n, size.k} : TensorShape{size.k, size.n};
        ExpectProduct<float>(x, w, transpose_a, transpose_b);
        if (size.m > 200) continue;
        ExpectProduct<double>(x, w, transpose_a, transpose_b);
        ExpectProduct<Float16>(x, w, transpose_a, transpose_b);
        ExpectProduct<int32_t>(x, w, transpose_a, transpose_b);
      }
    }
  }
}

TEST_F(ProgramConstantsTest, PR5_ConvolutionsWithConstantsAreTheSame) {
  struct Case {
    TensorShape filter;
    std::string_view attrs;
    int64_t channels;
  };
  const Case cases[] = {
      {{1, 1, 16, 40}, "strides = [1, 1, 1, 1], padding = \"SAME\"", 16},
      {{3, 3, 5, 33}, "strides = [1, 2, 2, 1], padding = \"SAME\"", 5},
      {{3, 3, 5, 8}, "strides = [1, 1, 1, 1], padding = \"SAME\", dilations = [1, 2, 2, 1]", 5},
      {{3, 3, 4, 12}, "strides = [1, 1, 1, 1], padding = \"SAME\"", 8},
      {{9, 9, 3, 4}, "strides = [1, 1, 1, 1], padding = \"SAME\"", 3},
      {{1, 1, 300, 6}, "strides = [1, 1, 1, 1], padding = \"VALID\"", 300},
  };
  for (const Case& c : cases) {
    const TensorHandle w = Numbers(c.filter, 3);
    const std::string body = " = corert.executeop(%cpu) \"tf.Conv2D\"(%x, ";
    const ProgramRunner runner = Make(w, "  %r" + body + "%w) {" + std::string(c.attrs) + "}");
    // One way to pack is for images of all sizes; some of the filter sees nothing of small ones.
    for (const int64_t size : {30, 9, 3, 30, 4}) {
      const TensorHandle x = Numbers({2, size, size + 1, c.channels}, 4);
      const bool is_dilated = c.attrs.find("dilations") != std::string_view::npos;
      const int64_t stride = c.attrs.find("2, 2, 1], p") != std::string_view::npos ? 2 : 1;
      const int64_t dilation = is_dilated ? 2 : 1;
      const TensorHandle expected = Run("tf.Conv2D", {x, w},
                                        Attrs("strides", std::vector<int64_t>{1, stride, stride, 1}, "padding",
                                              c.attrs.find("VALID") == std::string_view::npos ? "SAME" : "VALID",
                                              "dilations", std::vector<int64_t>{1, dilation, dilation, 1}));
      SCOPED_TRACE(TextOf(c.filter, " ", size));
      ExpectSameBits(RunMain(runner, x), expected);
    }
  }
}

TEST_F(ProgramConstantsTest, PR5_AConstantIsPackedOnceAndGoesWithTheRunner) {
  const TensorHandle x = Numbers({128, 256}, 1);
  const TensorHandle w = Numbers({256, 256}, 2);
  const size_t before = BytesInUse();
  {
    // Twice the same, which share it.
    const ProgramRunner runner = Make(w, R"(  %y = corert.executeop(%cpu) "tf.MatMul"(%x, %w)
  %r = corert.executeop(%cpu) "tf.MatMul"(%y, %w2))");
    EXPECT_EQ(BytesInUse(), before) << "nothing before the first call";
    RunMain(runner, x);
    const size_t packed = BytesInUse() - before;
    EXPECT_GE(packed, 256u * 256 * sizeof(float));
    EXPECT_LT(packed, 2u * 256 * 256 * sizeof(float));
    RunMain(runner, x);
    const ProgramRunner copy = runner;
    RunMain(copy, x);
    EXPECT_EQ(BytesInUse() - before, packed);
  }
  EXPECT_EQ(BytesInUse(), before) << "though the weight is still there";
}

TEST_F(ProgramConstantsTest, PR5_WhatIsReadAsItLiesIsNotPacked) {
  const TensorHandle x = Numbers({1, 256}, 1);
  const TensorHandle w = Numbers({256, 256}, 2);
  const size_t before = BytesInUse();
  const ProgramRunner runner = Make(w, R"(  %r = corert.executeop(%cpu) "tf.MatMul"(%x, %w))");
  RunMain(runner, x);
  EXPECT_EQ(BytesInUse(), before);
}

TEST_F(ProgramConstantsTest, PR5_WaysToReadAConstantAreApart) {
  const TensorHandle x = Numbers({100, 64}, 1);
  const TensorHandle w = Numbers({64, 64}, 2);
  const ProgramRunner runner = Make(w, R"(  %y = corert.executeop(%cpu) "tf.MatMul"(%x, %w)
  %z = corert.executeop(%cpu) "tf.MatMul"(%y, %w2) {transpose_b = true}
  %i = corert.const_dense_tensor dense<[100, 1, 1, 64]> : tensor<4xi32>
  %f = corert.const_dense_tensor dense<[1, 1, 64, 64]> : tensor<4xi32>
  %image = corert.executeop(%cpu) "tf.Reshape"(%z, %i)
  %filter = corert.executeop(%cpu) "tf.Reshape"(%w, %f)
  %r = corert.executeop(%cpu) "tf.Conv2D"(%image, %filter) {strides = [1, 1, 1, 1], padding = "SAME"})");
  TensorHandle expected = Run("tf.MatMul", {x, w});
  expected = Run("tf.MatMul", {expected, w}, Attrs("transpose_b", true));
  expected = Run("tf.MatMul", {expected, w});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Values<float>(RunMain(runner, x)), Values<float>(expected));
}

TEST_F(ProgramConstantsTest, PR5_ThreadsShareWhatIsPacked) {
  const TensorHandle x = Numbers({128, 128}, 1);
  const TensorHandle w = Numbers({128, 128}, 2);
  const TensorHandle expected = Run("tf.MatMul", {x, w});
  for (int round = 0; round < 10; ++round) {
    const ProgramRunner runner = Make(w, R"(  %r = corert.executeop(%cpu) "tf.MatMul"(%x, %w))");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) ExpectSameBits(RunMain(runner, x), expected);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace tandem
