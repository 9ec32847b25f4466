// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What programs are written as, text by hand; and that everything comes back from text and from bytes.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "program/program_binary.h"
#include "program_comparison.h"
#include "program_samples.h"

namespace tandem {
namespace {

RcRef<const Program> FromText(std::string_view text) {
  StatusOr<RcRef<const Program>> program = Program::FromText(text, "text");
  EXPECT_TRUE(program.ok()) << program.status().ToString() << "\n" << text;
  return program.ok() ? *program : nullptr;
}
RcRef<const Program> FromBytes(std::span<const std::byte> bytes) {
  StatusOr<RcRef<const Program>> program = Program::FromBytes(bytes, "bytes");
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  return program.ok() ? *program : nullptr;
}

// Without positions.
std::string FirstDifference(const Program& a, const Program& b, bool value_names = true) {
  return ProgramComparison{.positions = false, .value_names = value_names}.FirstDifference(a, b);
}

// That the program is written as the text, which reads back as the program.
void ExpectText(const Program& program, std::string_view text) {
  EXPECT_EQ(program.ToText(), text);
  const auto copy = FromText(text);
  if (copy) {
    EXPECT_EQ(FirstDifference(program, *copy), "") << text;
  }
}

// What the attributes of an op are written as: "{a = 1}".
std::string AttrsText(const OpAttrs& attrs) {
  FunctionBuilder function("f", {ProgramType::kOpHandler}, {});
  ProgramInstruction& op = function.Add(ProgramKernel::kExecuteOp, {0});
  op.name = "a";
  op.attrs = Frozen(attrs);
  const auto program = CreateProgram({function.Return({})});
  const std::string text = program->ToText();
  const std::string before = "func @f(%0: !corert.ophandler) {\n  corert.executeop(%0) \"a\"() ";
  const std::string after = "\n  tfrt.return\n}\n";
  EXPECT_TRUE(text.starts_with(before) && text.ends_with(after)) << text;
  ExpectText(*program, text);
  return text.substr(before.size(), text.size() - before.size() - after.size());
}
template <typename T>
std::string AttrText(const T& value) {
  OpAttrs attrs;
  EXPECT_TRUE(attrs.Set("a", value));
  return AttrsText(attrs);
}
template <typename T>
std::string ArrayText(const std::vector<T>& values) {
  OpAttrs attrs;
  EXPECT_TRUE(attrs.SetArray("a", std::span<const T>(values)));
  return AttrsText(attrs);
}
std::string F32Text(const std::vector<uint32_t>& bits) {
  OpAttrs attrs;
  EXPECT_TRUE(attrs.SetArray("a", std::span(reinterpret_cast<const float*>(bits.data()), bits.size())));
  return AttrsText(attrs);
}

// What a constant is written as behind its kernel.
std::string ConstantText(ProgramKernel kernel, std::shared_ptr<const ProgramConstant> constant) {
  FunctionBuilder function("f", {}, {});
  function.Add(kernel, {}, {ProgramType::kTensor}).constant = std::move(constant);
  const auto program = CreateProgram({function.Return({})});
  const std::string text = program->ToText();
  const std::string before = "func @f() {\n  %0 = " + std::string(ProgramKernelName(kernel));
  const std::string after = "\n  tfrt.return\n}\n";
  EXPECT_TRUE(text.starts_with(before) && text.ends_with(after)) << text;
  ExpectText(*program, text);
  return text.substr(before.size(), text.size() - before.size() - after.size());
}
std::string DenseText(std::shared_ptr<const ProgramConstant> constant) {
  return ConstantText(ProgramKernel::kConstDenseTensor, std::move(constant));
}
std::string CreationText(std::shared_ptr<const ProgramConstant> constant) {
  return ConstantText(ProgramKernel::kCreateDenseTensor, std::move(constant));
}
std::string StringsText(std::shared_ptr<const ProgramConstant> constant) {
  return ConstantText(ProgramKernel::kConstStringTensor, std::move(constant));
}

TEST(ProgramRoundTripTest, PR2_EverythingSurvivesTextAndBytes) {
  const auto program = CreateProgram(EverythingInPrograms());
  const std::string text = program->ToText();
  const auto from_text = FromText(text);
  ASSERT_TRUE(from_text);
  EXPECT_EQ(FirstDifference(*program, *from_text), "");
  EXPECT_EQ(from_text->ToText(), text);
  const auto from_bytes = FromBytes(from_text->ToBytes());
  ASSERT_TRUE(from_bytes);
  EXPECT_EQ(FirstDifference(*program, *from_bytes), "");
  // With the positions of the text.
  EXPECT_EQ((ProgramComparison{.positions = true, .value_names = false}.FirstDifference(*from_text, *from_bytes)), "");
  EXPECT_EQ(from_bytes->ToText(), text);
  EXPECT_EQ(from_bytes->ToBytes(), from_text->ToBytes());
}

TEST(ProgramRoundTripTest, PR1_EveryKernelIsWrittenAsReadmeSays) {
  const std::string text =
      R"(func @first(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  tfrt.return %x : !corert.tensorhandle
}

func @second(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  tfrt.return %y : !corert.tensorhandle
}

func @swap(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  tfrt.return %y, %x : !corert.tensorhandle, !corert.tensorhandle
}

func @"odd name\n"() {
  tfrt.return
}

func @main(%ch: !tfrt.chain, %h0: !corert.ophandler, %o0: !corert.op, %s0: !corert.shape) -> (!tfrt.chain, !corert.shape) {
  %h1 = corert.get_op_handler "cpu"
  %h2 = corert.get_op_handler %ch "gpu \"0\""
  %ch1 = corert.register_op_handler %h1, %ch "mine"
  %ch2 = corert.register_op_handler %h2 "yours"
  %a = corert.const_dense_tensor dense<[1.0, -2.5]> : tensor<2xf32>
  %b = corert.const_dense_tensor "layer0.weight" : tensor<2x3xbf16>
  %c = corert.create_dense_tensor.i32 {shape = [2, 2], values = [1, 2, 3, -4]}
  %d = corert.const_string_tensor {shape = [2], values = ["a", ""]}
  corert.executeop(%h1) "tf.NoOp"()
  %e = corert.executeop(%h1) "tf.AddV2"(%a, %b) {axis = 1, keep_dims = true}
  %r:2, %s = corert.executeop(%h1) "tf.Unpack"(%c)
  %ch3 = corert.executeop.seq(%h1, %ch1) "tf.PrintV2"(%d)
  %q:3 = corert.executeop.seq(%h1, %ch3) "tf.Each"(%r#0, %r#1, %s)
  %op = corert.make_composite_op @swap
  %t:2 = corert.execute_crt_op(%op) (%q#1, %q#2)
  tfrt.call @"odd name\n"()
  %u:2 = tfrt.call @swap(%t#0, %t#1)
  %v = tfrt.cond %a @first @second (%u#0, %u#1)
  %w = corert.cond %a @first @second (%u#0, %v)
  %x:2 = corert.while @first @swap (%v, %w)
  %ch4 = tfrt.new.chain
  %ch5 = tfrt.merge.chains %q#0, %ch4, %ch2
  %ch6 = corert.print_tensorhandle %x#0, %ch5
  %ch7 = corert.print_tensorhandle %x#1
  %s1 = corert.tensorhandle_to_shape %x#0, %ch6
  %s2 = corert.tensorhandle_to_shape %x#1
  %y = corert.transfer %x#0, %h2
  tfrt.return %ch7, %s2 : !tfrt.chain, !corert.shape
}
)";
  const auto program = FromText(text);
  ASSERT_TRUE(program);
  ExpectText(*program, text);
  const auto from_bytes = FromBytes(program->ToBytes());
  ASSERT_TRUE(from_bytes);
  EXPECT_EQ(FirstDifference(*program, *from_bytes, /*value_names=*/false), "");
}

TEST(ProgramRoundTripTest, PR1_EmptyProgramIsEmptyText) { ExpectText(*CreateProgram({}), ""); }

TEST(ProgramRoundTripTest, PR1_ValuesWithoutNamesHaveNumbers) {
  FunctionBuilder function("f", {ProgramType::kOp}, {ProgramType::kTensor});
  function.Add(ProgramKernel::kExecuteCompositeOp, {0}, {ProgramType::kTensor, ProgramType::kTensor});
  ExpectText(*CreateProgram({function.Return({2})}), R"(func @f(%0: !corert.op) -> !corert.tensorhandle {
  %1, %2 = corert.execute_crt_op(%0) ()
  tfrt.return %2 : !corert.tensorhandle
}
)");
}

// The text of a function of two parameters and an instruction of three results with these names.
std::string TextWithNames(std::vector<std::string> names) {
  FunctionBuilder function("f", {ProgramType::kOp, ProgramType::kTensor}, {});
  function.Add(ProgramKernel::kExecuteCompositeOp, {0, 1},
               {ProgramType::kTensor, ProgramType::kTensor, ProgramType::kTensor});
  ProgramFunction done = function.Return({});
  done.value_names = std::move(names);
  const auto program = CreateProgram({done});
  const auto copy = FromText(program->ToText());
  if (copy) {
    EXPECT_EQ(FirstDifference(*program, *copy, /*value_names=*/false), "");
    EXPECT_EQ(copy->ToText(), program->ToText());
  }
  return program->ToText();
}
std::string TextWith(std::string_view parameters, std::string_view results) {
  const std::string first(parameters.substr(0, parameters.find(' ')));
  const std::string second(parameters.substr(parameters.find(' ') + 1));
  return "func @f(" + first + ": !corert.op, " + second + ": !corert.tensorhandle) {\n  " + std::string(results) +
         " = corert.execute_crt_op(" + first + ") (" + second + ")\n  tfrt.return\n}\n";
}

TEST(ProgramRoundTripTest, PR1_NamesOfValuesAreKept) {
  EXPECT_EQ(TextWithNames({"op", "_x.y-z$1", "a", "b", "c"}), TextWith("%op %_x.y-z$1", "%a, %b, %c"));
  EXPECT_EQ(TextWithNames({"1", "007", "7", "0", "a"}), TextWith("%1 %007", "%7, %0, %a"));
  EXPECT_EQ(TextWithNames({"a", "b", "r#0", "r#1", "r#2"}), TextWith("%a %b", "%r:3"));
  EXPECT_EQ(TextWithNames({"a", "b", "c", "r#0", "r#1"}), TextWith("%a %b", "%c, %r:2"));
}

TEST(ProgramRoundTripTest, PR1_NamesThatTextCannotHaveBecomeNumbers) {
  const std::string numbers = TextWith("%0 %1", "%2, %3, %4");
  for (const std::string name : {"", "a b", "9a", "-", "\xc3\xa9", "a#b", "a#0", "a#1", "%a", "#0"}) {
    EXPECT_EQ(TextWithNames({"x", "y", name, "b", "c"}), numbers) << name;
    EXPECT_EQ(TextWithNames({name, "y", "x", "b", "c"}), numbers) << name;
  }
  // Twice, by themselves or together with others.
  EXPECT_EQ(TextWithNames({"x", "y", "a", "a", "c"}), numbers);
  EXPECT_EQ(TextWithNames({"x", "y", "a#0", "a#1", "a"}), numbers);
  EXPECT_EQ(TextWithNames({"x", "a", "a#0", "a#1", "b"}), numbers);
  EXPECT_EQ(TextWithNames({"x", "y", "a#0", "a#2", "b"}), numbers);
  EXPECT_EQ(TextWithNames({"x", "y", "a#1", "a#0", "b"}), numbers);
  EXPECT_EQ(TextWithNames({"x", "y", "a#0", "a#01", "b"}), numbers);
}

TEST(ProgramRoundTripTest, PR1_StringsKeepAllBytes) {
  EXPECT_EQ(AttrText<std::string_view>("SAME"), R"({a = "SAME"})");
  EXPECT_EQ(AttrText<std::string_view>(std::string_view("\0\x01\x1f\x7f", 4)), R"({a = "\x00\x01\x1f\x7f"})");
  EXPECT_EQ(AttrText<std::string_view>("\"\\\n\t\r/'"), R"({a = "\"\\\n\t\x0d/'"})");
  EXPECT_EQ(AttrText<std::string_view>("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "{a = \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}");
  // Cut off, too long, a surrogate, beyond the last character.
  EXPECT_EQ(AttrText<std::string_view>("\xc3z\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xff"),
            R"({a = "\xc3z\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xff"})");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_NE(AttrText<std::string_view>(all), "");
}

TEST(ProgramRoundTripTest, PR1_AttributesAreWrittenWithTheirTypes) {
  EXPECT_EQ(AttrText(true), "{a = true}");
  EXPECT_EQ(AttrText(int32_t{-7}), "{a = -7 : i32}");
  EXPECT_EQ(AttrText(INT64_MIN), "{a = -9223372036854775808}");
  EXPECT_EQ(AttrText(0.1f), "{a = 0.1}");
  EXPECT_EQ(AttrText(-3.0f), "{a = -3.0}");
  EXPECT_EQ(AttrText(1e30f), "{a = 1e+30}");
  EXPECT_EQ(AttrText(0.1), "{a = 0.1 : f64}");
  EXPECT_EQ(AttrText(16777217.0), "{a = 16777217.0 : f64}");
  EXPECT_EQ(AttrText(DType::kBF16), "{a = bf16}");
  EXPECT_EQ(AttrText(TensorShape{2, -1, 3}), "{a = shape<2x-1x3>}");
  EXPECT_EQ(AttrText(TensorShape{}), "{a = shape<>}");
  EXPECT_EQ(AttrText(FunctionAttr{"main"}), "{a = @main}");
  EXPECT_EQ(AttrText(FunctionAttr{"2 x"}), R"({a = @"2 x"})");
  const int8_t numbers[] = {1, -2};
  EXPECT_EQ(AttrText(TensorAttr{{DType::kI8, {2, 1}}, numbers, {}}), "{a = dense<[[1], [-2]]> : tensor<2x1xi8>}");
  OpAttrs inner;
  EXPECT_TRUE(inner.Set("b", int64_t{1}) && inner.Set("c d", OpAttrsRef()));
  EXPECT_EQ(AttrText(OpAttrsRef(inner)), R"({a = {b = 1, "c d" = {}}})");
}

TEST(ProgramRoundTripTest, PR1_ArraysAreWrittenWithTheirTypes) {
  EXPECT_EQ(ArrayText<int64_t>({1, -2}), "{a = [1, -2]}");
  EXPECT_EQ(ArrayText<int32_t>({1, -2}), "{a = [1, -2] : i32}");
  EXPECT_EQ(ArrayText<float>({1, -2.5f}), "{a = [1.0, -2.5]}");
  EXPECT_EQ(ArrayText<double>({1, -2.5}), "{a = [1.0, -2.5] : f64}");
  EXPECT_EQ(ArrayText<DType>({DType::kF32, DType::kString}), "{a = [f32, string]}");
  EXPECT_EQ(ArrayText<std::string_view>({"a", "f32"}), R"({a = ["a", "f32"]})");
  EXPECT_EQ(ArrayText<TensorShape>({{2, 3}, {}}), "{a = [shape<2x3>, shape<>]}");
  EXPECT_EQ(ArrayText<FunctionAttr>({{"a"}, {"b"}}), "{a = [@a, @b]}");
  EXPECT_EQ(ArrayText<OpAttrsRef>({OpAttrsRef(), OpAttrsRef()}), "{a = [{}, {}]}");
  const bool bools[] = {true, false};
  OpAttrs attrs;
  EXPECT_TRUE(attrs.SetArray("a", std::span<const bool>(bools)));
  EXPECT_EQ(AttrsText(attrs), "{a = [true, false]}");
}

TEST(ProgramRoundTripTest, PR1_EmptyArraysSayTheirType) {
  OpAttrs attrs;
  EXPECT_TRUE(attrs.SetArray("a", std::span<const bool>()));
  EXPECT_EQ(AttrsText(attrs), "{a = [] : bool}");
  EXPECT_EQ(ArrayText<int32_t>({}), "{a = [] : i32}");
  EXPECT_EQ(ArrayText<int64_t>({}), "{a = [] : i64}");
  EXPECT_EQ(ArrayText<float>({}), "{a = [] : f32}");
  EXPECT_EQ(ArrayText<double>({}), "{a = [] : f64}");
  EXPECT_EQ(ArrayText<DType>({}), "{a = [] : dtype}");
  EXPECT_EQ(ArrayText<std::string_view>({}), "{a = [] : string}");
  EXPECT_EQ(ArrayText<TensorShape>({}), "{a = [] : shape}");
  EXPECT_EQ(ArrayText<TensorAttr>({}), "{a = [] : tensor}");
  EXPECT_EQ(ArrayText<FunctionAttr>({}), "{a = [] : function}");
  EXPECT_EQ(ArrayText<OpAttrsRef>({}), "{a = [] : attrs}");
}

TEST(ProgramRoundTripTest, PR1_FloatsThatAreNoNumbersAreExact) {
  EXPECT_EQ(F32Text({0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1}), "{a = [nan, inf, -inf, -0.0, 1e-45]}");
  EXPECT_EQ(F32Text({0x3f800000, 0xffc00000, 0x7f800001}), "{a = [1.0, 0xffc00000, 0x7f800001]}");
  // Nothing but the type tells these from integers, although one has an 'e'.
  EXPECT_EQ(F32Text({0x7fc0000e}), "{a = [0x7fc0000e] : f32}");
  OpAttrs attrs;
  const uint32_t bits = 0x7fc00001;
  EXPECT_TRUE(attrs.Set("a", reinterpret_cast<const float&>(bits)));
  EXPECT_EQ(AttrsText(attrs), "{a = 0x7fc00001 : f32}");
  EXPECT_EQ(AttrText(std::nan("")), "{a = nan : f64}");
}

TEST(ProgramRoundTripTest, PR1_AttributesNestAsDeepAsTheyMay) {
  RcRef<const FrozenOpAttrs> attrs = EveryAttribute();
  while (attrs->depth() < kMaxAttrDepth) {
    OpAttrs outer;
    EXPECT_TRUE(outer.Set("a", OpAttrsRef(attrs)));
    attrs = Frozen(outer);
  }
  FunctionBuilder function("f", {ProgramType::kOpHandler}, {});
  ProgramInstruction& op = function.Add(ProgramKernel::kExecuteOp, {0});
  op.name = "a";
  op.attrs = attrs;
  const auto program = CreateProgram({function.Return({})});
  const auto from_text = FromText(program->ToText());
  const auto from_bytes = FromBytes(program->ToBytes());
  ASSERT_TRUE(from_text && from_bytes);
  EXPECT_EQ(FirstDifference(*program, *from_text), "");
  EXPECT_EQ(FirstDifference(*program, *from_bytes), "");
}

TEST(ProgramRoundTripTest, PR1_ConstantsAreWrittenAsTheyAre) {
  EXPECT_EQ(DenseText(Constant<float>(DType::kF32, {2, 2}, {1, 2, 3, 4.5f})),
            " dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32>");
  EXPECT_EQ(DenseText(Constant<float>(DType::kF32, {}, {1})), " dense<1.0> : tensor<f32>");
  EXPECT_EQ(DenseText(Constant<uint8_t>(DType::kBool, {2}, {1, 0})), " dense<[true, false]> : tensor<2xbool>");
  EXPECT_EQ(DenseText(Constant<uint64_t>(DType::kU64, {1}, {~uint64_t{0}})),
            " dense<[18446744073709551615]> : tensor<1xu64>");
  EXPECT_EQ(DenseText(Constant<float>(DType::kC64, {2}, {1, 2, -0.0f, 0})),
            " dense<[(1.0, 2.0), (-0.0, 0.0)]> : tensor<2xc64>");
  EXPECT_EQ(DenseText(Constant<uint16_t>(DType::kF16, {4}, {0x3e00, 0x7e00, 0x7e01, 0x0001})),
            " dense<[1.5, nan, 0x7e01, 5.9604645e-08]> : tensor<4xf16>");
  EXPECT_EQ(DenseText(Constant<uint16_t>(DType::kBF16, {4}, {0x3fc0, 0x7fc0, 0xffc0, 0xff80})),
            " dense<[1.5, nan, 0xffc0, -inf]> : tensor<4xbf16>");
  EXPECT_EQ(DenseText(Constant<uint8_t>(DType::kU8, {3, 0, 2}, {})), " dense<> : tensor<3x0x2xu8>");
  EXPECT_EQ(CreationText(Constant<int16_t>(DType::kI16, {2, 1}, {1, -2})), ".i16 {shape = [2, 1], values = [1, -2]}");
  EXPECT_EQ(CreationText(Constant<uint8_t>(DType::kBool, {}, {1})), ".bool {shape = [], values = [true]}");
  EXPECT_EQ(StringsText(Strings({1, 2}, {"a\"", "0x00"})), R"( {shape = [1, 2], values = ["a\"", "0x00"]})");
  EXPECT_EQ(StringsText(Strings({0}, {})), " {shape = [0], values = []}");
}

TEST(ProgramRoundTripTest, PR1_SplatsStaySplats) {
  constexpr int64_t kMany = 1 << 13;
  EXPECT_EQ(DenseText(Splat<float>(DType::kF32, {kMany, kMany}, 0.5f)), " dense<0.5> : tensor<8192x8192xf32>");
  EXPECT_EQ(DenseText(Splat<uint8_t>(DType::kU8, {1}, 3)), " dense<3> : tensor<1xu8>");
  EXPECT_EQ(DenseText(Splat<uint8_t>(DType::kU8, {0}, 3)), " dense<3> : tensor<0xu8>");
  EXPECT_EQ(CreationText(Splat<double>(DType::kF64, {kMany}, 0.5)), ".f64 {shape = [8192], values = [0.5]}");
  auto strings = Strings({kMany}, {"x"});
  strings->is_splat = true;
  EXPECT_EQ(StringsText(strings), R"( {shape = [8192], values = ["x"]})");
}

TEST(ProgramRoundTripTest, PR1_LongConstantsAreHexadecimal) {
  std::string digits;
  std::vector<uint16_t> numbers;
  for (uint16_t i = 0; i < 65; ++i) {
    numbers.push_back(static_cast<uint16_t>(0xab00 + i));
    digits += {"0123456789abcdef"[i >> 4], "0123456789abcdef"[i & 15], 'a', 'b'};
  }
  EXPECT_EQ(DenseText(Constant(DType::kU16, {5, 13}, numbers)), " dense<\"0x" + digits + "\"> : tensor<5x13xu16>");
  numbers.pop_back();
  EXPECT_TRUE(DenseText(Constant(DType::kU16, {64}, numbers)).starts_with(" dense<[43776, 43777, "));
}

TEST(ProgramRoundTripTest, PR1_EveryHalfIsExact) {
  // A program of 64 constants of 64 elements at a time.
  constexpr uint32_t kAtATime = 64 * 64;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint32_t bits = 0; bits < 0x10000; bits += kAtATime) {
      FunctionBuilder function("f", {}, {});
      for (uint32_t first = bits; first < bits + kAtATime; first += 64) {
        std::vector<uint16_t> elements(64);
        for (uint32_t i = 0; i < 64; ++i) elements[i] = static_cast<uint16_t>(first + i);
        function.Add(ProgramKernel::kConstDenseTensor, {}, {ProgramType::kTensor}).constant =
            Constant(dtype, {64}, elements);
      }
      const auto program = CreateProgram({function.Return({})});
      const auto copy = FromText(program->ToText());
      ASSERT_TRUE(copy);
      ASSERT_EQ(FirstDifference(*program, *copy), "") << bits;
    }
  }
}

TEST(ProgramRoundTripTest, PR1_FloatsOfAnyBitsAreExact) {
  // SplitMix64, so that all bits differ.
  uint64_t state = 1;
  const auto next = [&state] {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  FunctionBuilder function("f", {}, {});
  for (int k = 0; k < 40; ++k) {
    std::vector<uint64_t> elements(64);
    for (uint64_t& element : elements) element = next();
    for (const DType dtype : {DType::kF64, DType::kC64}) {
      function.Add(ProgramKernel::kConstDenseTensor, {}, {ProgramType::kTensor}).constant =
          Constant(dtype, {64}, elements);
    }
  }
  const auto program = CreateProgram({function.Return({})});
  const auto copy = FromText(program->ToText());
  ASSERT_TRUE(copy);
  EXPECT_EQ(FirstDifference(*program, *copy), "");
}

TEST(ProgramRoundTripTest, PR2_WhatDamagedBytesGiveIsTextToo) {
  const std::vector<std::byte> bytes = CreateProgram(EverythingInPrograms())->ToBytes();
  size_t num_programs = 0;
  for (size_t i = 0; i < bytes.size() - kProgramChecksumSize; ++i) {
    std::vector<std::byte> changed = bytes;
    changed[i] ^= static_cast<std::byte>(1u << i % 8);
    SetProgramChecksum(changed);
    const StatusOr<RcRef<const Program>> program = Program::FromBytes(changed, "bytes");
    // Some of what can be read takes long, so only a part is.
    if (!program.ok() || ++num_programs % 8 != 0) continue;
    const auto copy = FromText((*program)->ToText());
    ASSERT_TRUE(copy) << i;
    ASSERT_EQ(FirstDifference(**program, *copy), "") << i;
  }
  EXPECT_GT(num_programs, 8u);
}

}  // namespace
}  // namespace tandem
