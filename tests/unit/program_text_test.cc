// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What functions and instructions of text become in a program (PR-1).

#include "program_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/program.h"

namespace tandem {
namespace {

using Numbers = std::vector<uint32_t>;
using Names = std::vector<std::string>;
using Types = std::vector<ProgramType>;

constexpr auto kChain = ProgramType::kChain;
constexpr auto kTensor = ProgramType::kTensor;
constexpr auto kOpHandler = ProgramType::kOpHandler;
constexpr auto kOp = ProgramType::kOp;
constexpr auto kShape = ProgramType::kShape;

constexpr std::string_view kExample = R"(func @example() -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %lhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-1.0 : f32] }
  %rhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-2.0 : f32] }
  %result = corert.executeop(%cpu) "test.add" (%lhs, %rhs)
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%result, %ch0)
  tfrt.return %ch1 : !tfrt.chain
}
)";

void ExpectInstruction(const ProgramInstruction& instruction, ProgramKernel kernel, const Numbers& operands,
                       const Numbers& results, std::string_view name, ProgramPosition position) {
  EXPECT_EQ(instruction.kernel, kernel);
  EXPECT_EQ(instruction.operands, operands);
  EXPECT_EQ(instruction.results, results);
  EXPECT_EQ(instruction.name, name);
  EXPECT_TRUE(instruction.functions.empty());
  EXPECT_EQ(instruction.constant, nullptr);
  EXPECT_EQ(instruction.position.line, position.line);
  EXPECT_EQ(instruction.position.column, position.column);
}

void ExpectCreation(const ProgramInstruction& instruction, float value) {
  const OpAttrsRef attrs(instruction.attrs);
  ASSERT_EQ(attrs.entries().size(), 2u);
  std::span<const int64_t> shape;
  ASSERT_TRUE(attrs.GetArray("shape", &shape));
  EXPECT_EQ(std::vector<int64_t>(shape.begin(), shape.end()), (std::vector<int64_t>{1, 1}));
  std::span<const float> values;
  ASSERT_TRUE(attrs.GetArray("values", &values));
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), std::vector<float>{value});
}

TEST(ProgramTextTest, PR1_TheExampleReadsAsItIsWritten) {
  const RcRef<const Program> program = ReadText(kExample);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->file(), "t.mlir");
  ASSERT_EQ(program->functions().size(), 1u);
  const ProgramFunction& function = program->functions()[0];
  EXPECT_EQ(function.name, "example");
  EXPECT_EQ(function.num_parameters, 0u);
  EXPECT_EQ(function.result_types, Types{kChain});
  EXPECT_EQ(function.value_types, (Types{kOpHandler, kTensor, kTensor, kTensor, kChain, kChain}));
  EXPECT_EQ(function.value_names, (Names{"cpu", "lhs", "rhs", "result", "ch0", "ch1"}));
  EXPECT_EQ(function.position.line, 1u);
  EXPECT_EQ(function.position.column, 6u);
  ASSERT_EQ(function.instructions.size(), 7u);
  const std::vector<ProgramInstruction>& lines = function.instructions;
  ExpectInstruction(lines[0], ProgramKernel::kGetOpHandler, {}, {0}, "cpu", {2, 10});
  ExpectInstruction(lines[1], ProgramKernel::kExecuteOp, {0}, {1}, "test.create_dense_tensor", {3, 10});
  ExpectInstruction(lines[2], ProgramKernel::kExecuteOp, {0}, {2}, "test.create_dense_tensor", {4, 10});
  ExpectInstruction(lines[3], ProgramKernel::kExecuteOp, {0, 1, 2}, {3}, "test.add", {5, 13});
  ExpectInstruction(lines[4], ProgramKernel::kNewChain, {}, {4}, "", {6, 10});
  ExpectInstruction(lines[5], ProgramKernel::kPrintTensor, {3, 4}, {5}, "", {7, 10});
  ExpectInstruction(lines[6], ProgramKernel::kReturn, {5}, {}, "", {8, 3});
  ExpectCreation(lines[1], -1);
  ExpectCreation(lines[2], -2);
  for (const size_t i : {0, 3, 4, 5, 6}) EXPECT_FALSE(lines[i].attrs);
}

TEST(ProgramTextTest, PR1_AnExplicitResultCountIsRead) {
  EXPECT_EQ(ReadInstruction("%a = corert.executeop(%h) \"op\"(%t) : 1").results, Numbers{3});
  EXPECT_EQ(ReadInstruction("%a, %b = corert.executeop(%h) \"op\"(%t) {n = 2} : 2").results, (Numbers{3, 4}));
  EXPECT_EQ(ReadInstruction("corert.executeop(%h) \"op\"(%t) : 2").results, (Numbers{3, 4}));
  EXPECT_EQ(ReadInstruction("corert.executeop(%h) \"op\"(%t) : 0").results, Numbers{});
  EXPECT_EQ(ReadInstruction("%a = tfrt.new.chain : 1").results, Numbers{3});
}

TEST(ProgramTextTest, PR1_AChainForGetOpHandlerIsRead) {
  for (const std::string_view text :
       {"%a = corert.get_op_handler %ch \"cpu\"", "%a = corert.get_op_handler(%ch, \"cpu\")",
        "%a = corert.get_op_handler \"cpu\" %ch"}) {
    const ProgramInstruction instruction = ReadInstruction(text);
    EXPECT_EQ(instruction.operands, Numbers{2}) << text;
    EXPECT_EQ(instruction.name, "cpu") << text;
  }
}

TEST(ProgramTextTest, PR1_BracketsAndCommasBetweenItemsAreFree) {
  for (const std::string_view text :
       {"%a = corert.executeop(%h) \"op\"(%t, %t)", "%a = corert.executeop %h \"op\" %t, %t",
        "%a = corert.executeop(%h, \"op\", (%t), ((%t)))", "%a = corert.executeop %h %t %t \"op\"",
        "%a = corert.executeop ((((((((%h)))))))) \"op\"(%t %t,)"}) {
    EXPECT_EQ(ReadInstruction(text).operands, (Numbers{0, 1, 1})) << text;
  }
}

struct KernelCase {
  std::string_view text;  // after %h, %t and %ch, which are values 0 to 2; %o, the op of @t1, is value 3
  ProgramKernel kernel;
  Numbers operands;
  Types results;
  Numbers functions = {};
  std::string_view name = {};
};

// Before the kernels: functions 0 to 3.
constexpr std::string_view kCallees = R"(
func @t1(%x: !corert.tensorhandle) -> !corert.tensorhandle { tfrt.return %x : !corert.tensorhandle }
func @t2(%x: !corert.tensorhandle) -> !corert.tensorhandle { tfrt.return %x }
func @mix(%c: !tfrt.chain, %x: !corert.tensorhandle) -> (!corert.tensorhandle, !tfrt.chain) { tfrt.return %x, %c }
func @none() { tfrt.return }
func @f(%h: !corert.ophandler, %t: !corert.tensorhandle, %ch: !tfrt.chain) {
  %o = corert.make_composite_op @t1
  )";

const KernelCase kKernelCases[] = {
    {"%r = tfrt.new.chain", ProgramKernel::kNewChain, {}, {kChain}},
    {"%r = \"tfrt.new.chain\"() : () -> !tfrt.chain", ProgramKernel::kNewChain, {}, {kChain}},
    {"%r = tfrt.merge.chains %ch, %ch : !tfrt.chain, !tfrt.chain", ProgramKernel::kMergeChains, {2, 2}, {kChain}},
    {"%r = tfrt.merge.chains", ProgramKernel::kMergeChains, {}, {kChain}},
    {"%r = tfrt.call @t1(%t)", ProgramKernel::kCall, {1}, {kTensor}, {0}},
    {"%r:2 = tfrt.call @mix(%ch, %t) : (!tfrt.chain, !corert.tensorhandle) -> (!corert.tensorhandle, !tfrt.chain)",
     ProgramKernel::kCall,
     {2, 1},
     {kTensor, kChain},
     {2}},
    {"tfrt.call @none()", ProgramKernel::kCall, {}, {}, {3}},
    {"%r, %s = tfrt.cond %t @mix @mix (%ch, %t) : (!tfrt.chain, !corert.tensorhandle) -> (!corert.tensorhandle, "
     "!tfrt.chain)",
     ProgramKernel::kCond,
     {1, 2, 1},
     {kTensor, kChain},
     {2, 2}},
    {"%r = corert.cond %t @t1 @t2 (%t) : 1", ProgramKernel::kTensorCond, {1, 1}, {kTensor}, {0, 1}},
    {"%r = corert.while @t1 @t2 (%t)", ProgramKernel::kWhile, {1}, {kTensor}, {0, 1}},
    {"%r = corert.while @t1 @t2 (%t) parallel_iterations(10) : (!corert.tensorhandle) -> !corert.tensorhandle",
     ProgramKernel::kWhile,
     {1},
     {kTensor},
     {0, 1}},
    {"%r = corert.get_op_handler \"cpu\"", ProgramKernel::kGetOpHandler, {}, {kOpHandler}, {}, "cpu"},
    {"%r = corert.register_op_handler %h, %ch \"x\"", ProgramKernel::kRegisterOpHandler, {0, 2}, {kChain}, {}, "x"},
    {"%r = corert.register_op_handler_chain %h \"x\"", ProgramKernel::kRegisterOpHandler, {0}, {kChain}, {}, "x"},
    {"%r:2 = corert.executeop(%h) \"op\"(%t) {n = 2} : 2",
     ProgramKernel::kExecuteOp,
     {0, 1},
     {kTensor, kTensor},
     {},
     "op"},
    {"%r, %s = corert.executeop.seq(%h, %ch) \"op\"(%t) : 1",
     ProgramKernel::kExecuteOpSeq,
     {0, 2, 1},
     {kChain, kTensor},
     {},
     "op"},
    {"%r = corert.executeop.seq(%h, %ch) \"op\"() : 0", ProgramKernel::kExecuteOpSeq, {0, 2}, {kChain}, {}, "op"},
    {"%r = corert.make_composite_op @t2", ProgramKernel::kMakeCompositeOp, {}, {kOp}, {1}},
    {"%r = corert.execute_crt_op(%o) (%t) : 1", ProgramKernel::kExecuteCompositeOp, {3, 1}, {kTensor}},
    {"corert.execute_crt_op(%o) (%t)", ProgramKernel::kExecuteCompositeOp, {3, 1}, {kTensor}},
    {"%r = corert.const_dense_tensor dense<1> : tensor<i32>", ProgramKernel::kConstDenseTensor, {}, {kTensor}},
    {"%r = corert.const_dense_tensor \"w\" : tensor<2x3xf32>",
     ProgramKernel::kConstDenseTensor,
     {},
     {kTensor},
     {},
     "w"},
    {"%r = corert.create_dense_tensor.i1 {shape = [], value = true}", ProgramKernel::kCreateDenseTensor, {}, {kTensor}},
    {"%r = corert.const_string_tensor {shape = [1], values = [\"a\"]}",
     ProgramKernel::kConstStringTensor,
     {},
     {kTensor}},
    {"%r = corert.print_tensorhandle %t, %ch", ProgramKernel::kPrintTensor, {1, 2}, {kChain}},
    {"%r = corert.print_tensorhandle(%t)", ProgramKernel::kPrintTensor, {1}, {kChain}},
    {"%r = corert.tensorhandle_to_shape %t, %ch", ProgramKernel::kTensorToShape, {1, 2}, {kShape}},
    {"%r = corert.tensorhandle_to_shape %t", ProgramKernel::kTensorToShape, {1}, {kShape}},
    {"%r = corert.transfer %t, %h", ProgramKernel::kTransfer, {1, 0}, {kTensor}},
};

TEST(ProgramTextTest, PR1_EveryKernelIsRead) {
  std::set<ProgramKernel> kernels;
  for (const KernelCase& test : kKernelCases) {
    SCOPED_TRACE(test.text);
    const RcRef<const Program> program =
        ReadText(std::string(kCallees) + std::string(test.text) + "\n  tfrt.return\n}");
    ASSERT_TRUE(program);
    const ProgramFunction& function = *program->Find("f");
    ASSERT_EQ(function.instructions.size(), 3u);
    const ProgramInstruction& instruction = function.instructions[1];
    kernels.insert(instruction.kernel);
    kernels.insert(function.instructions[2].kernel);
    EXPECT_EQ(instruction.kernel, test.kernel);
    EXPECT_EQ(instruction.operands, test.operands);
    EXPECT_EQ(instruction.functions, test.functions);
    EXPECT_EQ(instruction.name, test.name);
    Types types;
    for (const uint32_t value : instruction.results) types.push_back(function.value_types[value]);
    EXPECT_EQ(types, test.results);
  }
  EXPECT_EQ(kernels.size(), static_cast<size_t>(kNumProgramKernels));
}

TEST(ProgramTextTest, PR1_OnlyAWeightHasTheMetadataOfOne) {
  const ProgramInstruction weight =
      ReadInstruction("%a = corert.const_dense_tensor \"layer0.weight\" : tensor<2x3xf16>");
  EXPECT_EQ(weight.name, "layer0.weight");
  EXPECT_EQ(weight.constant, nullptr);
  EXPECT_EQ(weight.weight_metadata, TensorMetadata(DType::kF16, {2, 3}));
  const ProgramInstruction constant = ReadInstruction("%a = corert.const_dense_tensor dense<1> : tensor<i32>");
  EXPECT_EQ(constant.weight_metadata, TensorMetadata());
}

TEST(ProgramTextTest, PR1_AnInstructionEndsWhereItHasNoMoreItems) {
  const RcRef<const Program> program = ReadText(R"(
    func @f(%c: !tfrt.chain, %t: !corert.tensorhandle, %h: !corert.ophandler) -> (!tfrt.chain, !tfrt.chain) {
      %a = tfrt.merge.chains %c, %c %b, %d:2 = tfrt.call @g(%c %c, %c) %e = tfrt.merge.chains %b
      "corert.executeop"(%h) "op" "tfrt.call"() @none %w = corert.get_op_handler "x" "tfrt.return"(%a, %e)
    }
    func @g(%a: !tfrt.chain, %b: !tfrt.chain, %c: !tfrt.chain) -> (!tfrt.chain, !tfrt.chain, !tfrt.chain) {
      tfrt.return %a, %b, %c }
    func @none() { tfrt.return })");
  ASSERT_TRUE(program);
  const ProgramFunction& function = program->functions()[0];
  EXPECT_EQ(function.value_names, (Names{"c", "t", "h", "a", "b", "d#0", "d#1", "e", "w"}));
  ASSERT_EQ(function.instructions.size(), 7u);
  EXPECT_EQ(function.instructions[0].operands, (Numbers{0, 0}));
  EXPECT_EQ(function.instructions[1].operands, (Numbers{0, 0, 0}));
  EXPECT_EQ(function.instructions[2].operands, Numbers{4});
  EXPECT_EQ(function.instructions[3].kernel, ProgramKernel::kExecuteOp);
  EXPECT_EQ(function.instructions[4].kernel, ProgramKernel::kCall);
  EXPECT_EQ(function.instructions[6].operands, (Numbers{3, 7}));
}

TEST(ProgramTextTest, PR1_FunctionsMayBeCalledBeforeTheTextHasThem) {
  const RcRef<const Program> program = ReadText(
      "func @a(%x: !corert.shape) -> (!tfrt.chain, !corert.shape) { %r:2 = tfrt.call @b(%x) tfrt.return %r#0, %r#1 }\n"
      "func @b(%x: !corert.shape) -> (!tfrt.chain, !corert.shape) { %r:2 = tfrt.call @a(%x) tfrt.return %r#0, %r#1 }");
  ASSERT_TRUE(program);
  for (const uint32_t i : {0u, 1u}) {
    const ProgramFunction& function = program->functions()[i];
    EXPECT_EQ(function.value_types, (Types{kShape, kChain, kShape}));
    EXPECT_EQ(function.instructions[0].functions, Numbers{1 - i});
  }
}

TEST(ProgramTextTest, PR1_FunctionsHaveAnyParametersAndResults) {
  const RcRef<const Program> program = ReadText(
      "func @none() { tfrt.return }\n"
      "func @\"any name\\n\"() -> () { tfrt.return }\n"
      "func @\"a.b\"(%0: !tfrt.chain, %x-y.z$: !corert.tensorhandle, %2: !corert.ophandler, %3: !corert.op,\n"
      "  %4: !corert.shape) -> (!corert.shape, !corert.op, !corert.ophandler) { tfrt.return %4, %3, %2 }\n"
      "func @one() -> (!tfrt.chain) { %a = tfrt.new.chain tfrt.return %a }");
  ASSERT_TRUE(program);
  const std::span<const ProgramFunction> functions = program->functions();
  ASSERT_EQ(functions.size(), 4u);
  EXPECT_EQ(functions[1].name, "any name\n");
  EXPECT_EQ(functions[2].name, "a.b");
  EXPECT_EQ(functions[2].num_parameters, 5u);
  EXPECT_EQ(functions[2].value_types, (Types{kChain, kTensor, kOpHandler, kOp, kShape}));
  EXPECT_EQ(functions[2].value_names, (Names{"0", "x-y.z$", "2", "3", "4"}));
  EXPECT_EQ(functions[2].result_types, (Types{kShape, kOp, kOpHandler}));
  EXPECT_EQ(functions[2].position.line, 3u);
  EXPECT_EQ(functions[3].result_types, Types{kChain});
  EXPECT_TRUE(functions[0].value_names.empty());
}

TEST(ProgramTextTest, PR1_AGroupOfResultsHasNumbers) {
  const RcRef<const Program> program =
      ReadText(InFunction("%r:3 = corert.executeop(%h) \"op\"()\n%s:1 = corert.executeop(%h) \"op\"(%r#2, %r#0)\n"
                          "corert.executeop(%h) \"op\"(%s, %s#0, %t#0)"));
  ASSERT_TRUE(program);
  const ProgramFunction& function = program->functions()[0];
  EXPECT_EQ(function.value_names, (Names{"h", "t", "ch", "r#0", "r#1", "r#2", "s"}));
  EXPECT_EQ(function.instructions[1].operands, (Numbers{0, 5, 3}));
  EXPECT_EQ(function.instructions[2].operands, (Numbers{0, 6, 6, 1}));
}

TEST(ProgramTextTest, PR1_ResultsWithoutNamesGetNamesOfTheirOwn) {
  const RcRef<const Program> program = ReadText(
      "func @f() { tfrt.new.chain tfrt.new.chain %0 = tfrt.new.chain %_1 = tfrt.new.chain %1 = tfrt.new.chain "
      "tfrt.return }");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->functions()[0].value_names, (Names{"_0", "__1", "0", "_1", "1"}));
}

TEST(ProgramTextTest, PR1_SpaceAndCommentsMeanNothing) {
  const std::string_view text =
      "\xEF\xBB\xBF// a comment\r\n//\r\nfunc@f(%a:!tfrt.chain)->!tfrt.chain{%b=tfrt.merge.chains%a//%c\r\n"
      "%d\t=tfrt.merge.chains %b// \"\n\r tfrt.return%d:!tfrt.chain}// the end";
  const RcRef<const Program> program = ReadText(text);
  ASSERT_TRUE(program);
  const ProgramFunction& function = program->functions()[0];
  EXPECT_EQ(function.value_names, (Names{"a", "b", "d"}));
  EXPECT_EQ(function.position.line, 3u);
  EXPECT_EQ(function.position.column, 5u);
  ASSERT_EQ(function.instructions.size(), 3u);
  EXPECT_EQ(function.instructions[1].position.line, 4u);
  EXPECT_EQ(function.instructions[1].position.column, 5u);
  EXPECT_EQ(function.instructions[2].position.line, 5u);
  EXPECT_EQ(function.instructions[2].position.column, 3u);
}

TEST(ProgramTextTest, PR1_ColumnsCountCharacters) {
  const RcRef<const Program> program =
      ReadText(InFunction("corert.executeop(%h) \"\u00fcn\u20ac\U0001F600\"() tfrt.new.chain"));
  ASSERT_TRUE(program);
  // The string has 9 more bytes than its 4 characters and 2 quotes.
  EXPECT_EQ(program->functions()[0].instructions[1].position.column, 31u);
}

TEST(ProgramTextTest, PR1_AnEmptyTextIsAProgramWithoutFunctions) {
  for (const std::string_view text : {"", " \n", "// nothing", "\xEF\xBB\xBF"}) {
    const RcRef<const Program> program = ReadText(text);
    ASSERT_TRUE(program);
    EXPECT_TRUE(program->functions().empty());
  }
}

TEST(ProgramTextTest, PR1_ANameMayBeAWordOfTheLanguage) {
  const RcRef<const Program> program = ReadText(
      "func @func(%h: !corert.ophandler) { %func = tfrt.new.chain %dense = tfrt.merge.chains %func\n"
      "corert.executeop %h \"func\" {func = @func, dense = [@dense], \"{\" = \"}\"} tfrt.return }\n"
      "func @dense() { tfrt.return }");
  ASSERT_TRUE(program);
  ASSERT_EQ(program->functions().size(), 2u);
  EXPECT_EQ(program->functions()[0].value_names, (Names{"h", "func", "dense"}));
  EXPECT_EQ(OpAttrsRef(program->functions()[0].instructions[2].attrs).entries().size(), 3u);
}

TEST(ProgramTextTest, PR1_TextsOfAnySizeAreRead) {
  std::string text = "func @f(%a: !tfrt.chain) {\n";
  for (int i = 0; i < 20000; ++i) text += "%b" + std::to_string(i) + " = tfrt.merge.chains %a, %a ";
  const RcRef<const Program> program = ReadText(text + "tfrt.return }");
  ASSERT_TRUE(program);
  const ProgramFunction& function = program->functions()[0];
  ASSERT_EQ(function.instructions.size(), 20001u);
  EXPECT_EQ(function.value_names.back(), "b19999");
  EXPECT_EQ(function.instructions.back().position.column, text.size() - 26);
}

}  // namespace
}  // namespace tandem
