// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Code that is made for chains of element-wise ops: what it is made of everywhere, and where it can be run the same
// bits as the ops one by one (PR-5).

#include "kernels/elementwise/elementwise_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "code_runner.h"
#include "elementwise_group_test_fixture.h"
#include "kernels/elementwise/elementwise_code_ops.h"

namespace tandem {
namespace {

using cpu::ElementLoop;
using cpu::FindElementCode;

std::vector<uint8_t> CodeOf(std::string_view op, DType dtype) {
  const cpu::ElementCode code = FindElementCode(op, dtype);
  return {code.begin(), code.end()};
}

TEST(ElementCodeTest, PR5_ExpressionsBecomeInstructions) {
  EXPECT_EQ(CodeOf("tf.AddV2", DType::kF32), (std::vector<uint8_t>{0, 1, 0xe4}));
  EXPECT_EQ(CodeOf("tf.Sub", DType::kU32), (std::vector<uint8_t>{0, 1, 0xb1}));
  const std::vector<uint8_t> negated = CodeOf("tf.Neg", DType::kF32);
  ASSERT_EQ(negated.size(), 3u);
  EXPECT_EQ(cpu::ElementConstant(negated[1]), 0x80000000u);
  EXPECT_EQ(negated[2], 0x51) << "bits of one or the other";
  EXPECT_EQ(CodeOf("tf.SquaredDifference", DType::kF32), (std::vector<uint8_t>{0, 1, 0xe5, 0, 1, 0xe5, 0xe6}));
  EXPECT_EQ(CodeOf("tf.Less", DType::kU32), (std::vector<uint8_t>{0, 1, 0x3a, 0xa1}));
  EXPECT_EQ(CodeOf("tf.LogicalAnd", DType::kInvalid), (std::vector<uint8_t>{0, 1, 0x4e}));
  EXPECT_EQ(CodeOf("tandem.Prelu", DType::kF32).back(), 0x52) << "a choice";
  const std::vector<uint8_t> leaky = CodeOf("tf.LeakyRelu", DType::kF32);
  ASSERT_EQ(leaky.size(), 8u);
  EXPECT_EQ(leaky[2], cpu::element_code::kParameter);
  EXPECT_EQ(cpu::ElementConstant(leaky[5]), 0u);
  const std::vector<uint8_t> relu6 = CodeOf("tf.Relu6", DType::kF32);
  ASSERT_FALSE(relu6.empty());
  EXPECT_EQ(std::bit_cast<float>(cpu::ElementConstant(relu6[0])), 6.0f);
}

TEST(ElementCodeTest, PR5_WhatVectorsHaveInstructionsForHasCode) {
  for (const char* op : {"tf.Abs",     "tf.Neg",        "tf.Sign",         "tf.Square",      "tf.Sqrt",
                         "tf.Rsqrt",   "tf.Reciprocal", "tf.Floor",        "tf.Ceil",        "tf.Round",
                         "tf.Rint",    "tf.IsNan",      "tf.IsInf",        "tf.IsFinite",    "tf.Relu",
                         "tf.Relu6",   "tf.LeakyRelu",  "tf.Softsign",     "tandem.Prelu",   "tf.AddV2",
                         "tf.Sub",     "tf.Mul",        "tf.RealDiv",      "tf.DivNoNan",    "tf.Maximum",
                         "tf.Minimum", "tf.Equal",      "tf.NotEqual",     "tf.Less",        "tf.LessEqual",
                         "tf.Greater", "tf.SelectV2",   "tf.GreaterEqual", "tf.ClipByValue", "tf.SquaredDifference"}) {
    EXPECT_FALSE(CodeOf(op, DType::kF32).empty()) << op;
  }
  for (const char* op : {"tf.Exp", "tf.Pow", "tf.FloorDiv", "tf.Mod", "tandem.Gelu", "tf.ReluGrad", "tf.MatMul"}) {
    EXPECT_TRUE(CodeOf(op, DType::kF32).empty()) << op;
  }
  EXPECT_TRUE(CodeOf("tf.LeftShift", DType::kI32).empty());
  EXPECT_TRUE(CodeOf("tf.AddV2", DType::kF64).empty());
  EXPECT_TRUE(CodeOf("tf.AddV2", DType::kF16).empty());
}

TEST(ElementCodeTest, PR5_AModuleByItsBytes) {
  const std::array<ElementLoop::Input, 1> inputs = {};
  std::array<ElementLoop::Step, 1> steps;
  steps[0] = {.code = FindElementCode("tf.Sqrt", DType::kF32), .operands = {0}, .is_stored = true};
  GrowingArray<uint8_t> code;
  ASSERT_TRUE(cpu::EncodeElementLoop({inputs, steps}, false, code));
  // Up to the loop, by the text form of WebAssembly.
  // clang-format off
  const std::vector<uint8_t> expected = {
      0, 'a', 's', 'm', 1, 0, 0, 0,             // (module
      1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0,          // (type (func (param i32 i32)))
      2, 8, 1, 1, 'm', 1, 'm', 2, 0, 0,         // (import "m" "m" (memory 0))
      3, 2, 1, 0,                               // (func (type 0))
      7, 5, 1, 1, 'f', 0, 0,                    // (export "f" (func 0))
      10, 0xdb, 1, 1, 0xd8, 1,                  // its code
      2, 2, 0x7f, 8, 0x7b,                      // (local i32 i32 v128 v128 v128 v128 v128 v128 v128 v128)
      0x20, 0, 0x28, 0, 0, 0x21, 2,             // local.get 0, i32.load, local.set 2
      0x20, 0, 0x28, 0, 4, 0x21, 3,             // local.get 0, i32.load offset=4, local.set 3
      0x02, 0x40,                               // block
      0x20, 1, 0x41, 16, 0x49, 0x0d, 0,         // local.get 1, i32.const 16, i32.lt_u, br_if 0
      0x03, 0x40,                               // loop
      0x20, 2, 0xfd, 0, 0, 0, 0x21, 4,          // local.get 2, v128.load, local.set 4
      0x20, 2, 0xfd, 0, 0, 16, 0x21, 5,         // the other vectors
      0x20, 2, 0xfd, 0, 0, 32, 0x21, 6,
      0x20, 2, 0xfd, 0, 0, 48, 0x21, 7,
      0x20, 4, 0xfd, 0xe3, 1, 0x21, 8,          // local.get 4, f32x4.sqrt, local.set 8
      0x20, 5, 0xfd, 0xe3, 1, 0x21, 9,
      0x20, 6, 0xfd, 0xe3, 1, 0x21, 10,
      0x20, 7, 0xfd, 0xe3, 1, 0x21, 11,
      0x20, 3, 0x20, 8, 0xfd, 0x0b, 0, 0,       // local.get 3, local.get 8, v128.store
      0x20, 3, 0x20, 9, 0xfd, 0x0b, 0, 16,
  };
  // clang-format on
  ASSERT_GT(code.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(code[i], expected[i]) << "byte " << i;
  EXPECT_EQ(code.back(), 0x0b);
  ASSERT_TRUE(cpu::EncodeElementLoop({inputs, steps}, true, code));
  const std::vector<uint8_t> shared = {2, 11, 1, 1, 'm', 1, 'm', 2, 3, 0, 0x80, 0x80, 4};  // (memory 0 65536 shared)
  EXPECT_EQ((std::vector<uint8_t>{code.begin() + 16, code.begin() + 16 + shared.size()}), shared);
}

TEST(ElementCodeTest, PR5_LongLoopsTakeFewerVectorsATurn) {
  std::array<ElementLoop::Input, 3> inputs = {};
  std::array<ElementLoop::Step, cpu::kMaxLoopSteps> steps;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    steps[i] = {.code = FindElementCode("tf.ClipByValue", DType::kF32),
                .operands = {i == 0 ? 0 : 2 + i, 1, 2},
                .is_stored = true};
  }
  GrowingArray<uint8_t> code;
  ASSERT_TRUE(cpu::EncodeElementLoop({inputs, steps}, false, code));
  EXPECT_LE(code.size(), 4096u);
}

// Whether the code of f32 steps on two inputs has the SIMD instruction.
bool LoopHas(std::span<const ElementLoop::Step> steps, std::initializer_list<uint8_t> instruction) {
  const std::array<ElementLoop::Input, 2> inputs = {};
  GrowingArray<uint8_t> code;
  EXPECT_TRUE(cpu::EncodeElementLoop({inputs, steps}, false, code));
  return !std::ranges::search(code.span(), instruction).empty();
}

TEST(ElementCodeTest, PR5_ASumWithWhatIsNegatedIsADifference) {
  const auto step = [](std::string_view op, std::array<uint32_t, 3> operands, bool is_stored = false) {
    return ElementLoop::Step{
        .code = FindElementCode(op, DType::kF32), .operands = operands, .parameter = 0, .is_stored = is_stored};
  };
  const std::initializer_list<uint8_t> kAdd = {0xfd, 0xe4, 1};
  const std::initializer_list<uint8_t> kSub = {0xfd, 0xe5, 1};
  const std::initializer_list<uint8_t> kXor = {0xfd, 0x51};
  for (const std::array<uint32_t, 3>& operands : {std::array<uint32_t, 3>{2, 1}, std::array<uint32_t, 3>{1, 2}}) {
    const ElementLoop::Step folded[] = {step("tf.Neg", {0}), step("tf.AddV2", operands, true)};
    EXPECT_TRUE(LoopHas(folded, kSub));
    EXPECT_FALSE(LoopHas(folded, kAdd));
    EXPECT_FALSE(LoopHas(folded, kXor));
    const ElementLoop::Step stored[] = {step("tf.Neg", {0}, true), step("tf.AddV2", operands, true)};
    EXPECT_FALSE(LoopHas(stored, kSub));
    const ElementLoop::Step wanted_twice[] = {step("tf.Neg", {0}), step("tf.AddV2", operands),
                                              step("tf.Mul", {2, 3}, true)};
    EXPECT_FALSE(LoopHas(wanted_twice, kSub));
  }
  const ElementLoop::Step doubled[] = {step("tf.Neg", {0}), step("tf.AddV2", {2, 2}, true)};
  EXPECT_FALSE(LoopHas(doubled, kSub));
}

// Natively there is nobody who runs it.
#ifdef __EMSCRIPTEN__

class ElementwiseCodeTest : public ElementwiseGroups {
 protected:
  ElementwiseCodeTest() { EnableProgramFusion(*cpu(), TestCodeRunner()); }
  // The same bits, and by code.
  void ExpectCode(const std::vector<Step>& steps, const std::vector<uint32_t>& outputs,
                  std::vector<TensorHandle> inputs, const std::string& what) {
    const int before = NumCodeRuns();
    ExpectSame(steps, outputs, std::move(inputs), what);
    EXPECT_GT(NumCodeRuns(), before) << what;
  }
};

std::vector<float> SpecialNumbers() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  return {0.0f,
          -0.0f,
          1.0f,
          -1.0f,
          0.5f,
          -0.5f,
          1.5f,
          -1.5f,
          2.5f,
          6.0f,
          6.5f,
          8388607.5f,
          -8388608.5f,
          3e9f,
          kInf,
          -kInf,
          std::numeric_limits<float>::denorm_min(),
          -std::numeric_limits<float>::denorm_min(),
          7e-39f,
          std::numeric_limits<float>::max(),
          std::numeric_limits<float>::lowest(),
          0.1f,
          std::numeric_limits<float>::quiet_NaN(),
          -std::numeric_limits<float>::quiet_NaN()};
}

// Each op that has code, between others, on all pairs of special numbers, or all integers of such pairs.
TEST_F(ElementwiseCodeTest, PR5_EveryOpGivesTheBitsOfItsKernel) {
  const std::vector<float> numbers = SpecialNumbers();
  std::vector<float> floats[3];
  std::vector<int32_t> integers[3];
  for (size_t i = 0; i < numbers.size() * numbers.size() * 3; ++i) {
    for (size_t k = 0, rest = i; k < 3; ++k, rest /= numbers.size()) {
      floats[k].push_back(numbers[(k == 2 ? i * 7 : rest) % numbers.size()]);
      integers[k].push_back(std::bit_cast<int32_t>(floats[k].back()) * (i % 2 == 0 ? 1 : static_cast<int>(i)));
    }
  }
  const auto count = static_cast<int64_t>(floats[0].size());
  int num_ops = 0;
  for (const OpDef* def : runtime().registry().List()) {
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kBool, DType::kInvalid}) {
      if (FindElementCode(def->name, dtype).empty() || !cpu()->fuser()->CanFuse(*def, dtype)) continue;
      std::vector<TensorHandle> inputs;
      std::vector<uint32_t> operands;
      for (size_t k = 0; k < def->inputs.size(); ++k) {
        const bool is_bool = def->inputs[k].dtype == DType::kBool || dtype == DType::kBool || dtype == DType::kInvalid;
        TensorHandle input =
            dtype == DType::kF32 && !is_bool ? Dense<float>({count}, floats[k]) : Dense<int32_t>({count}, integers[k]);
        if (is_bool || dtype == DType::kU32) {
          input = Run("tf.Cast", {input}, Attrs("DstT", is_bool ? DType::kBool : DType::kU32));
        }
        inputs.push_back(std::move(input));
        operands.push_back(static_cast<uint32_t>(k));
      }
      const auto result = static_cast<uint32_t>(operands.size());
      // Once more for what it gave, then its difference from what it was given.
      const std::vector<Step> steps = {
          {std::string(def->name), operands}, {"tf.Equal", {result, result}}, {"tf.NotEqual", {result, result}}};
      ExpectCode(steps, {0, 1, 2}, std::move(inputs), TextOf(def->name, " of ", dtype));
      ++num_ops;
    }
  }
  EXPECT_GT(num_ops, 80);
}

TEST_F(ElementwiseCodeTest, PR5_CastsAndParameters) {
  for (const DType from : {DType::kF32, DType::kI32, DType::kU32, DType::kBool}) {
    for (const DType to : {DType::kF32, DType::kI32, DType::kU32, DType::kBool}) {
      std::vector<TensorHandle> inputs;
      inputs.push_back(Run("tf.Cast", {Random<int32_t>({1501}, 3)}, Attrs("DstT", from)));
      const std::vector<Step> steps = {
          {"tf.Equal", {0, 0}}, {"tf.NotEqual", {0, 0}}, {"tf.Cast", {0}, Attrs("DstT", to)}, {"tf.Equal", {3, 3}}};
      ExpectCode(steps, {0, 1, 2, 3}, std::move(inputs), TextOf(from, " to ", to));
    }
  }
  std::vector<TensorHandle> inputs;
  inputs.push_back(Random<float>({2003}, 9));
  ExpectCode({{"tf.LeakyRelu", {0}, Attrs("alpha", 0.3f)}, {"tf.Neg", {1}}, {"tf.LeakyRelu", {2}}}, {0, 2},
             std::move(inputs), "two slopes");
}

// The same sums whichever comes first, of zeros of both signs and of NaNs.
TEST_F(ElementwiseCodeTest, PR5_SumsWithWhatIsNegated) {
  const std::vector<float> numbers = SpecialNumbers();
  std::vector<float> floats[2];
  while (floats[0].size() < 2 * numbers.size() * numbers.size()) {
    const size_t i = floats[0].size();
    floats[0].push_back(numbers[i % numbers.size()]);
    floats[1].push_back(numbers[i / numbers.size() % numbers.size()]);
  }
  const auto count = static_cast<int64_t>(floats[0].size());
  std::vector<TensorHandle> inputs;
  for (const std::vector<float>& values : floats) inputs.push_back(Dense<float>({count}, values));
  ExpectCode({{"tf.Neg", {0}}, {"tf.AddV2", {2, 1}}, {"tf.Neg", {0}}, {"tf.AddV2", {1, 4}}}, {1, 3}, std::move(inputs),
             "negated");
}

TEST_F(ElementwiseCodeTest, PR5_SizesAndStretchedInputs) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}},     {"tf.AddV2", {4, 2}},       {"tf.Greater", {5, 0}},
                                   {"tf.LogicalNot", {6}}, {"tf.SelectV2", {7, 5, 3}}, {"tf.Relu", {8}}};
  for (const int64_t columns : {0, 1, 3, 1024, 1025, 1031, 1039, 2053, 40009}) {
    for (const TensorShape& other : {TensorShape{}, TensorShape{columns}, TensorShape{3, 1}, TensorShape{3, columns}}) {
      std::vector<TensorHandle> inputs;
      inputs.push_back(Random<float>({3, columns}, 1));
      inputs.push_back(Random<float>({1}, 2));
      inputs.push_back(Random<float>(other, 3));
      inputs.push_back(Spread<float>({3, columns}, 0.75f));
      const std::string what = TextOf(columns, " and ", other);
      ExpectSame(steps, {5}, Copies(inputs), what);
      ExpectSame(steps, {1, 3, 5}, std::move(inputs), what + ", several results");
    }
  }
}

TEST_F(ElementwiseCodeTest, PR5_OpsWithoutCodeBetweenOthers) {
  const std::vector<Step> steps = {{"tf.Mul", {0, 1}},  {"tf.AddV2", {2, 0}},       {"tf.Tanh", {3}},
                                   {"tf.Less", {4, 0}}, {"tf.Sub", {4, 1}},         {"tf.Square", {6}},
                                   {"tf.Sigmoid", {7}}, {"tf.SelectV2", {5, 8, 3}}, {"tf.Maximum", {9, 2}}};
  for (const int64_t n : {1024, 1031, 50021}) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Random<float>({n}, 1));
    inputs.push_back(Random<float>({n}, 2));
    ExpectCode(steps, {8}, Copies(inputs), std::to_string(n));
    ExpectCode(steps, {0, 3, 5, 8}, std::move(inputs), std::to_string(n) + ", several results");
  }
}

TEST_F(ElementwiseCodeTest, PR5_RandomGraphs) { ExpectSameOfRandomGraphs(60); }

// More than the fuser and threads keep, so that some are made again.
TEST_F(ElementwiseCodeTest, PR5_ManyDifferentLoops) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 150; ++i) {
      std::vector<TensorHandle> inputs;
      inputs.push_back(Random<float>({1500}, i));
      const float alpha = static_cast<float>(i) / 8;
      ExpectCode({{"tf.LeakyRelu", {0}, Attrs("alpha", alpha)}, {"tf.Neg", {1}}}, {1}, std::move(inputs),
                 std::to_string(i));
    }
  }
}

// Addresses that are no multiple of anything, and results where an input is.
TEST_F(ElementwiseCodeTest, PR5_UnalignedAndInPlace) {
  const std::array<ElementLoop::Input, 2> inputs = {ElementLoop::Input{}, {.is_bool = true}};
  std::array<ElementLoop::Step, 2> steps;
  steps[0] = {.code = FindElementCode("tf.Neg", DType::kF32), .operands = {0}};
  steps[1] = {.code = FindElementCode("tf.SelectV2", DType::kF32), .operands = {1, 2, 0}, .is_stored = true};
  cpu::LoopCodes codes(TestCodeRunner());
  const auto code = codes.Find({inputs, steps});
  ASSERT_TRUE(code);
  EXPECT_EQ(codes.Find({inputs, steps}).get(), code.get()) << "it is made once";
  for (const size_t n : {1u, 3u, 4u, 15u, 16u, 17u, 101u}) {
    for (const size_t offset : {0u, 1u, 2u, 7u}) {
      std::vector<std::byte> floats(n * 4 + 32);
      std::vector<std::byte> bools(n + 32);
      for (size_t i = 0; i < n; ++i) {
        const float value = static_cast<float>(i) + 0.5f;
        std::memcpy(&floats[offset + 4 * i], &value, 4);
        bools[offset + i] = std::byte(i % 3 == 0);
      }
      const std::array<const void*, 3> operands = {&floats[offset], &bools[offset], &floats[offset]};
      ASSERT_TRUE(codes.Run(*code, operands, static_cast<int64_t>(n)));
      for (size_t i = 0; i < n; ++i) {
        float value;
        std::memcpy(&value, &floats[offset + 4 * i], 4);
        const float expected = (static_cast<float>(i) + 0.5f) * (i % 3 == 0 ? -1.0f : 1.0f);
        ASSERT_EQ(value, expected) << n << " at " << offset << ", element " << i;
      }
      for (size_t i = offset + 4 * n; i < floats.size(); ++i) ASSERT_EQ(floats[i], std::byte(0)) << "behind the last";
    }
  }
}

#endif  // __EMSCRIPTEN__

}  // namespace
}  // namespace tandem
