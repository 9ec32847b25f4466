// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs whose products and convolutions are computed with what follows them: same results, same errors, fewer ops
// (PR-5).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "program_fusion_test_fixture.h"

namespace tandem {
namespace {

class ProgramEpiloguesTest : public ProgramFusionTest {
 protected:
  using ProgramFusionTest::ProgramFusionTest;

  // A program of instructions over %x, %y and %z that gives %r.
  static std::string Text(std::string_view body) {
    return "func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle, %z: !corert.tensorhandle) -> "
           "!corert.tensorhandle {\n  %cpu = corert.get_op_handler(\"cpu\")\n" +
           std::string(body) + "\n  tfrt.return %r : !corert.tensorhandle\n}\n";
  }
  // The first op of two arguments, a bias, and perhaps an activation.
  static std::string Biased(std::string_view op, std::string_view attrs, std::string_view activation,
                            std::string_view activation_attrs = "") {
    std::string body = "  %p = corert.executeop(%cpu) \"" + std::string(op) + "\"(%x, %y) {" + std::string(attrs) +
                       "}\n  " + (activation.empty() ? "%r" : "%b") +
                       " = corert.executeop(%cpu) \"tf.BiasAdd\"(%p, %z)\n";
    if (!activation.empty()) {
      body += "  %r = corert.executeop(%cpu) \"" + std::string(activation) + "\"(%b) {" +
              std::string(activation_attrs) + "}\n";
    }
    return Text(body);
  }

  // Numbers of both signs, some of them special.
  template <typename T = float>
  TensorHandle Numbers(const TensorShape& shape, int seed) {
    std::vector<T> values;
    uint32_t state = 12345u + static_cast<uint32_t>(seed) * 7919u;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      state = state * 1664525u + 1013904223u;
      values.push_back(static_cast<T>(static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) /
                                      static_cast<float>(1 << 22)));
    }
    return Dense<T>(shape, values);
  }
  template <typename T = float>
  std::vector<TensorHandle> Three(const TensorShape& x, const TensorShape& y, const TensorShape& z) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Numbers<T>(x, 1));
    inputs.push_back(Numbers<T>(y, 2));
    inputs.push_back(Numbers<T>(z, 3));
    return inputs;
  }

  // The fused program executes so many ops and gives the same bits.
  void ExpectBits(std::string_view text, const std::vector<TensorHandle>& inputs, int64_t num_ops) {
    EXPECT_EQ(CountOps(Make(text, true), inputs, 1), num_ops) << text;
    ExpectSame(text, inputs, 1);
  }
  // The same but for roundings: `tolerance` for each unit of the largest element.
  void ExpectNear(std::string_view text, const std::vector<TensorHandle>& inputs, int64_t num_ops,
                  double tolerance = 4e-7) {
    EXPECT_EQ(CountOps(Make(text, true), inputs, 1), num_ops) << text;
    const std::vector<double> fused = Doubles(RunMain(Make(text, true), inputs, 1)[0]);
    const std::vector<double> expected = Doubles(RunMain(Make(text, false), inputs, 1)[0]);
    ASSERT_EQ(fused.size(), expected.size());
    double largest = 1;
    for (const double value : expected) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], expected[i], tolerance * largest) << text;
  }
  void ExpectSameError(std::string_view text, const std::vector<TensorHandle>& inputs, std::string_view op,
                       uint32_t line) {
    const auto fused = RunMain(Make(text, true), inputs, 1);
    const auto expected = RunMain(Make(text, false), inputs, 1);
    ASSERT_TRUE(fused[0].IsError());
    EXPECT_EQ(fused[0].GetError().ToString(), expected[0].GetError().ToString());
    EXPECT_EQ(fused[0].GetError().op(), op);
    EXPECT_EQ(fused[0].GetError().location().line, line);
  }

  static constexpr std::string_view kWindows = R"(strides = [1, 2, 2, 1], padding = "SAME")";
};

class ExactProgramEpiloguesTest : public ProgramEpiloguesTest {
 protected:
  ExactProgramEpiloguesTest() : ProgramEpiloguesTest(/*exact=*/true) {}
};

TEST_F(ProgramEpiloguesTest, PR5_AProductWithBiasIsOneOp) {
  ExpectBits(Biased("tf.MatMul", "", ""), Three({5, 7}, {7, 9}, {9}), 1);
  ExpectBits(Biased("tf.MatMul", "transpose_a = true, transpose_b = true", ""), Three({7, 5}, {9, 7}, {9}), 1);
  ExpectBits(Biased("tf.MatMul", "", ""), Three<double>({5, 7}, {7, 1}, {1}), 1);
}

TEST_F(ProgramEpiloguesTest, PR5_ConvolutionsWithBiasAreOneOp) {
  ExpectBits(Biased("tf.Conv2D", kWindows, "tf.Relu"), Three({2, 7, 9, 3}, {3, 3, 3, 5}, {5}), 1);
  ExpectBits(Biased("tf.DepthwiseConv2dNative", kWindows, "tf.Relu6"), Three({2, 7, 9, 3}, {3, 3, 3, 2}, {6}), 1);
  ExpectBits(Biased("tf.DepthwiseConv2dNative", R"(strides = [1, 1, 1, 1], padding = "SAME")", "tf.Relu"),
             Three({1, 30, 30, 8}, {3, 3, 8, 1}, {8}), 1);
}

TEST_F(ProgramEpiloguesTest, PR5_ActivationsThatCompareGiveTheSameBits) {
  for (const std::string_view op : {"tf.MatMul", "tf.Conv2D", "tf.DepthwiseConv2dNative"}) {
    const bool is_product = op == "tf.MatMul";
    const auto inputs =
        is_product ? Three({11, 7}, {7, 9}, {9}) : Three({1, 5, 5, 3}, {2, 2, 3, 3}, {op == "tf.Conv2D" ? 3 : 9});
    const std::string_view attrs = is_product ? "" : kWindows;
    ExpectBits(Biased(op, attrs, "tf.Relu"), inputs, 1);
    ExpectBits(Biased(op, attrs, "tf.Relu6"), inputs, 1);
    ExpectBits(Biased(op, attrs, "tf.LeakyRelu"), inputs, 1);
    ExpectBits(Biased(op, attrs, "tf.LeakyRelu", "alpha = 0.3"), inputs, 1);
    ExpectBits(Biased(op, attrs, "tf.LeakyRelu", "alpha = 2 : i32"), inputs, 1);
  }
}

TEST_F(ProgramEpiloguesTest, PR5_OtherActivationsAreAsNearAsConformanceAsks) {
  for (const std::string_view activation : {"tf.Elu", "tf.Tanh", "tf.Sigmoid"}) {
    ExpectNear(Biased("tf.MatMul", "", activation), Three({11, 7}, {7, 9}, {9}), 1);
    ExpectNear(Biased("tf.Conv2D", kWindows, activation), Three({1, 5, 5, 3}, {2, 2, 3, 4}, {4}), 1);
    ExpectNear(Biased("tf.DepthwiseConv2dNative", kWindows, activation), Three({1, 5, 5, 3}, {2, 2, 3, 1}, {3}), 1);
  }
  ExpectNear(Biased("tf.MatMul", "", "tandem.Gelu"), Three({11, 7}, {7, 9}, {9}), 1);
  ExpectNear(Biased("tf.MatMul", "", "tandem.Gelu", "approximate = true"), Three({11, 7}, {7, 9}, {9}), 1);
  // That of no convolution.
  ExpectNear(Biased("tf.Conv2D", kWindows, "tandem.Gelu"), Three({1, 5, 5, 3}, {2, 2, 3, 4}, {4}), 2);
  ExpectNear(Biased("tf.MatMul", "", "tf.Softplus"), Three({11, 7}, {7, 9}, {9}), 2);
}

TEST_F(ProgramEpiloguesTest, PR5_HalvesAreRoundedOnce) {
  ExpectNear(Biased("tf.MatMul", "", "tf.Relu"), Three<Float16>({5, 7}, {7, 9}, {9}), 1, 1e-3);
  ExpectNear(Biased("tf.Conv2D", kWindows, "tf.Relu"), Three<BFloat16>({1, 5, 5, 3}, {2, 2, 3, 4}, {4}), 1, 1e-2);
}

TEST_F(ProgramEpiloguesTest, PR5_DTypesWithoutAFusedKernelRunOpByOp) {
  ExpectBits(Biased("tf.MatMul", "", ""), Three<int32_t>({2, 3}, {3, 4}, {4}), 2);
}

TEST_F(ProgramEpiloguesTest, PR5_AConstantVectorIsABias) {
  constexpr std::string_view kBias = "  %c = corert.const_dense_tensor dense<[1.0, -2.0, 3.0]> : tensor<3xf32>\n";
  const auto sum = [&](std::string_view op, std::string_view attrs, std::string_view sum) {
    return Text(std::string(kBias) + "  %p = corert.executeop(%cpu) \"" + std::string(op) + "\"(%x, %y) {" +
                std::string(attrs) + "}\n  %s = corert.executeop(%cpu) \"tf.AddV2\"(" + std::string(sum) +
                ")\n  %r = corert.executeop(%cpu) \"tf.Relu\"(%s)");
  };
  const auto matrices = Three({2, 5}, {5, 3}, {1});
  ExpectBits(sum("tf.MatMul", "", "%p, %c"), matrices, 1);
  ExpectBits(sum("tf.MatMul", "", "%c, %p"), matrices, 1);
  // Not known to be a vector; both places.
  ExpectBits(sum("tf.MatMul", "", "%p, %z"), matrices, 2);
  ExpectBits(sum("tf.MatMul", "", "%p, %p"), matrices, 2);
  // Of another length: the sum has more columns.
  ExpectBits(sum("tf.MatMul", "", "%p, %c"), Three({2, 5}, {5, 1}, {1}), 3);
  // Columns, not channels.
  ExpectBits(sum("tf.Conv2D", R"(strides = [1, 1, 1, 1], padding = "SAME", data_format = "NCHW")", "%p, %c"),
             Three({1, 2, 3, 3}, {1, 1, 2, 3}, {1}), 2);
  ExpectBits(sum("tf.Conv2D", R"(strides = [1, 1, 1, 1], padding = "SAME")", "%c, %p"),
             Three({1, 3, 3, 2}, {1, 1, 2, 3}, {1}), 1);
}

// A residual: the fourth input is added to the sum with the bias, before the activation.
class ResidualTest : public ProgramEpiloguesTest {
 protected:
  static std::string Residual(std::string_view op, std::string_view attrs, std::string_view sum,
                              std::string_view activation = "") {
    std::string text =
        "func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle, %z: !corert.tensorhandle, %w: "
        "!corert.tensorhandle) -> !corert.tensorhandle {\n  %cpu = corert.get_op_handler(\"cpu\")\n  %p = "
        "corert.executeop(%cpu) \"" +
        std::string(op) + "\"(%x, %y) {" + std::string(attrs) +
        "}\n  %b = corert.executeop(%cpu) \"tf.BiasAdd\"(%p, %z)\n  %s = corert.executeop(%cpu) \"tf.AddV2\"(" +
        std::string(sum) + ")\n";
    const bool is_activated = !activation.empty();
    if (is_activated) text += "  %r = corert.executeop(%cpu) \"" + std::string(activation) + "\"(%s)\n";
    return text + "  tfrt.return " + (is_activated ? "%r" : "%s") + " : !corert.tensorhandle\n}\n";
  }
  template <typename T = float>
  std::vector<TensorHandle> Four(const TensorShape& x, const TensorShape& y, const TensorShape& z,
                                 const TensorShape& w) {
    std::vector<TensorHandle> inputs = Three<T>(x, y, z);
    inputs.push_back(Numbers<T>(w, 4));
    return inputs;
  }
};

TEST_F(ResidualTest, PR5_ResidualsOfProductsAreAddedInPlace) {
  const auto inputs = Four({11, 7}, {7, 9}, {9}, {11, 9});
  ExpectBits(Residual("tf.MatMul", "", "%b, %w"), inputs, 1);
  ExpectBits(Residual("tf.MatMul", "", "%w, %b", "tf.Relu"), inputs, 1);
  ExpectBits(Residual("tf.MatMul", "", "%b, %w", "tf.LeakyRelu"), inputs, 1);
  ExpectNear(Residual("tf.MatMul", "", "%b, %w", "tandem.Gelu"), inputs, 1);
  ExpectBits(Residual("tf.MatMul", "transpose_b = true", "%b, %w", "tf.Relu"), Four({2, 300}, {70, 300}, {70}, {2, 70}),
             1);
  ExpectBits(Residual("tf.MatMul", "", "%b, %w"), Four<double>({5, 7}, {7, 1}, {1}, {5, 1}), 1);
  ExpectBits(Residual("tf.MatMul", "", "%b, %w"), Four({200, 300}, {300, 130}, {130}, {200, 130}), 1);
  ExpectNear(Residual("tf.MatMul", "", "%b, %w", "tf.Relu"), Four<BFloat16>({40, 30}, {30, 600}, {600}, {40, 600}), 1,
             1e-2);
}

TEST_F(ResidualTest, PR5_ResidualsOfConvolutionsAreAddedInPlace) {
  constexpr std::string_view kSame = R"(strides = [1, 1, 1, 1], padding = "SAME")";
  // Single pixels of several panels of channels, windows, and few pixels, which are products of matrices.
  const auto pixels = Four({1, 14, 14, 24}, {1, 1, 24, 70}, {70}, {1, 14, 14, 70});
  ExpectBits(Residual("tf.Conv2D", kSame, "%b, %w"), pixels, 1);
  ExpectBits(Residual("tf.Conv2D", kSame, "%w, %b", "tf.Relu6"), pixels, 1);
  ExpectNear(Residual("tf.Conv2D", kSame, "%w, %b", "tf.Tanh"), pixels, 1);
  ExpectBits(Residual("tf.Conv2D", kSame, "%b, %w", "tf.Relu"), Four({2, 9, 7, 5}, {3, 3, 5, 40}, {40}, {2, 9, 7, 40}),
             1);
  ExpectBits(Residual("tf.Conv2D", kSame, "%b, %w"), Four({1, 4, 3, 16}, {1, 1, 16, 33}, {33}, {1, 4, 3, 33}), 1);
  ExpectNear(Residual("tf.Conv2D", kSame, "%b, %w", "tf.Relu"),
             Four<Float16>({2, 9, 7, 5}, {3, 3, 5, 40}, {40}, {2, 9, 7, 40}), 1, 2e-3);
  ExpectBits(Residual("tf.DepthwiseConv2dNative", kSame, "%b, %w", "tf.Relu"),
             Four({1, 6, 6, 8}, {3, 3, 8, 1}, {8}, {1, 6, 6, 8}), 2);
}

TEST_F(ResidualTest, PR5_WhatIsNoResidualRunsOpByOp) {
  ExpectBits(Residual("tf.MatMul", "", "%b, %w", "tf.Relu"), Four({11, 7}, {7, 9}, {9}, {1, 9}), 4);
  ExpectBits(Residual("tf.MatMul", "", "%b, %w"), Four({1, 7}, {7, 9}, {9}, {11, 9}), 3);
  // The sum with itself.
  ExpectBits(Residual("tf.MatMul", "", "%b, %b"), Four({11, 7}, {7, 9}, {9}, {1}), 2);
  ExpectSameError(Residual("tf.MatMul", "", "%b, %w"), Four({11, 7}, {7, 9}, {9}, {2, 9}), "tf.AddV2", 5);
}

TEST_F(ProgramEpiloguesTest, PR5_ChannelsOfBothAreTheSame) {
  const auto biased = [](std::string_view bias_format) {
    return Text(R"(  %p = corert.executeop(%cpu) "tf.Conv2D"(%x, %y) {strides = [1, 1, 1, 1], padding = "SAME", )"
                R"(data_format = "NCHW"}
  %r = corert.executeop(%cpu) "tf.BiasAdd"(%p, %z) {data_format = ")" +
                std::string(bias_format) + "\"}");
  };
  const auto inputs = Three({1, 2, 4, 4}, {3, 3, 2, 4}, {4});
  ExpectBits(biased("NCHW"), inputs, 1);
  ExpectBits(biased("NHWC"), inputs, 2);
}

constexpr std::string_view kNormalized = R"(
  %m = corert.const_dense_tensor dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
  %v = corert.const_dense_tensor dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %p = corert.executeop(%cpu) "OP"(%x, %y) {strides = [1, 1, 1, 1], padding = "SAME"}
  %n:6 = corert.executeop(%cpu) "tf.FusedBatchNormV3"(%p, %z, %m, %m, %v) {is_training = TRAINING, epsilon = 0.01}
  %r = corert.executeop(%cpu) "tf.Relu6"(RESULT))";

std::string Normalized(std::string_view op, std::string_view training, std::string_view result) {
  std::string text(kNormalized);
  text.replace(text.find("OP"), 2, op);
  text.replace(text.find("TRAINING"), 8, training);
  return text.replace(text.find("RESULT"), 6, result);
}

TEST_F(ProgramEpiloguesTest, PR5_NormalizationsOfInferenceAreFolded) {
  ExpectNear(Text(Normalized("tf.Conv2D", "false", "%n#0")), Three({1, 4, 4, 2}, {3, 3, 2, 3}, {3}), 1, 2e-6);
  ExpectNear(Text(Normalized("tf.DepthwiseConv2dNative", "false", "%n#0")), Three({1, 4, 4, 3}, {3, 3, 3, 1}, {3}), 1,
             2e-6);
  ExpectBits(Text(Normalized("tf.Conv2D", "true", "%n#0")), Three({1, 4, 4, 2}, {3, 3, 2, 3}, {3}), 3);
  ExpectBits(Text(Normalized("tf.Conv2D", "false", "%n#3")), Three({1, 4, 4, 2}, {3, 3, 2, 3}, {3}), 3);
}

TEST_F(ProgramEpiloguesTest, PR5_WhatIsUsedElsewhereIsComputed) {
  const std::string product_used = Text(R"(  %p = corert.executeop(%cpu) "tf.MatMul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.BiasAdd"(%p, %z)
  %n = corert.executeop(%cpu) "tf.Softmax"(%b)
  %r = corert.executeop(%cpu) "tf.AddV2"(%n, %p))");
  ExpectBits(product_used, Three({3, 4}, {4, 5}, {5}), 4);
  const std::string sum_used = Text(R"(  %p = corert.executeop(%cpu) "tf.MatMul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.BiasAdd"(%p, %z)
  %n = corert.executeop(%cpu) "tf.Relu"(%b)
  %r = corert.executeop(%cpu) "tf.MatMul"(%n, %b) {transpose_b = true})");
  ExpectBits(sum_used, Three({3, 4}, {4, 5}, {5}), 3);
}

TEST_F(ProgramEpiloguesTest, PR5_ElementwiseOpsBehindAreAGroupOfTheirOwn) {
  const std::string text = Text(R"(  %p = corert.executeop(%cpu) "tf.MatMul"(%x, %x)
  %b = corert.executeop(%cpu) "tf.BiasAdd"(%p, %z)
  %a = corert.executeop(%cpu) "tf.Relu"(%b)
  %c = corert.executeop(%cpu) "tf.Neg"(%a)
  %d = corert.executeop(%cpu) "tf.AddV2"(%c, %x)
  %r = corert.executeop(%cpu) "tf.MatMul"(%d, %y))");
  ExpectBits(text, Three({6, 6}, {6, 2}, {6}), 3);
}

TEST_F(ProgramEpiloguesTest, PR5_ErrorsAreThoseOfTheOpsThatWereWritten) {
  const std::string text = Biased("tf.MatMul", "", "tf.Relu");
  ExpectSameError(text, Three({2, 3}, {4, 5}, {5}), "tf.MatMul", 3);
  ExpectSameError(text, Three({2, 3}, {3, 5}, {4}), "tf.BiasAdd", 4);
  std::vector<TensorHandle> mixed = Three({2, 3}, {3, 5}, {5});
  mixed[2] = Numbers<double>({5}, 1);
  ExpectSameError(text, mixed, "tf.BiasAdd", 4);
  ExpectSameError(Biased("tf.MatMul", "", "tf.Relu", "slope = 1.0"), Three({2, 3}, {3, 5}, {5}), "tf.Relu", 5);
  ExpectSameError(Biased("tf.Conv2D", R"(strides = [1, 0, 1, 1], padding = "SAME")", ""),
                  Three({1, 3, 3, 2}, {1, 1, 2, 4}, {4}), "tf.Conv2D", 3);
  std::vector<TensorHandle> failed = Three({2, 3}, {3, 5}, {5});
  failed[1] = TensorHandle::MakeError(InvalidArgument("bad"));
  EXPECT_EQ(RunMain(Make(text, true), failed, 1)[0].GetError().ToString(),
            RunMain(Make(text, false), failed, 1)[0].GetError().ToString());
}

TEST_F(ProgramEpiloguesTest, PR5_PendingArgumentsAreWaitedFor) {
  auto producer = Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {1, 2}), &host().device());
  std::vector<TensorHandle> inputs;
  inputs.emplace_back(producer.ref(), &host().device());
  inputs.push_back(Dense<float>({2, 2}, {1, 2, 3, 4}));
  inputs.push_back(Dense<float>({2}, {-10, 1}));
  const auto results = RunMain(Make(Biased("tf.MatMul", "", "tf.Relu"), true), inputs, 1);
  EXPECT_FALSE(results[0].IsAvailable());
  producer.value().TakePayload(Dense<float>({1, 2}, {1, 2}).tensor());
  producer.SetConcrete();
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{0, 11}));
}

TEST_F(ProgramEpiloguesTest, PR5_OneProgramIsForManyShapes) {
  const ProgramRunner fused = Make(Biased("tf.MatMul", "", "tf.Relu"), true);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(CountOps(fused, Three({2, 3}, {3, 5}, {5}), 1), 1);
    EXPECT_EQ(CountOps(fused, Three<int32_t>({2, 3}, {3, 5}, {5}), 1), 3);
    EXPECT_EQ(CountOps(fused, Three<double>({4, 3}, {3, 2}, {2}), 1), 1);
  }
}

TEST_F(ProgramEpiloguesTest, PR5_SpecialNumbersAreTheSame) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string_view activation : {"", "tf.Relu", "tf.Relu6", "tf.LeakyRelu"}) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({6, 1}, {-0.0f, 0, kInfinity, -kInfinity, kNan, -1e-40f}));
    inputs.push_back(Dense<float>({1, 3}, {1, -1, 1e30f}));
    inputs.push_back(Dense<float>({3}, {-0.0f, 0, kInfinity}));
    ExpectBits(Biased("tf.MatMul", "", activation), inputs, 1);
  }
}

TEST_F(ExactProgramEpiloguesTest, NU3_OnlyWhatGivesTheSameBitsIsFolded) {
  const auto inputs = Three({11, 300}, {300, 9}, {9});
  ExpectBits(Biased("tf.MatMul", "", ""), inputs, 1);
  ExpectBits(Biased("tf.MatMul", "", "tf.Relu6"), inputs, 1);
  ExpectBits(Biased("tf.MatMul", "", "tf.LeakyRelu", "alpha = 0.3"), inputs, 1);
  ExpectBits(Biased("tf.MatMul", "", "tf.LeakyRelu"), Three<double>({9, 300}, {300, 1}, {1}), 1);
  ExpectBits(Biased("tf.MatMul", "", "tf.Tanh"), inputs, 2);
  ExpectBits(Biased("tf.MatMul", "", "tandem.Gelu"), inputs, 2);
  ExpectBits(Biased("tf.MatMul", "", "tf.Relu"), Three<Float16>({5, 7}, {7, 9}, {9}), 3);
  ExpectBits(Biased("tf.Conv2D", kWindows, "tf.Relu"), Three({1, 5, 5, 3}, {2, 2, 3, 4}, {4}), 1);
  ExpectBits(Biased("tf.DepthwiseConv2dNative", kWindows, "tf.Relu"), Three({1, 5, 5, 3}, {2, 2, 3, 1}, {3}), 1);
  ExpectBits(Text(Normalized("tf.Conv2D", "false", "%n#0")), Three({1, 4, 4, 2}, {3, 3, 2, 3}, {3}), 3);
}

}  // namespace
}  // namespace tandem
