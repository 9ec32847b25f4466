// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRunner: kernels of programs, values that are pending, effects, op handlers, and errors, which are found before
// anything runs (PR-1, PR-3).

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_runner_test_fixture.h"

namespace tandem {
namespace {

TEST_F(ProgramRunnerTest, PR1_TheExampleOfTheContractPrintsItsSum) {
  const StatusOr<ProgramRunner> runner = Make(R"(func @example() -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %lhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-1.0 : f32] }
  %rhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-2.0 : f32] }
  %result = corert.executeop(%cpu) "test.add" (%lhs, %rhs)
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%result, %ch0)
  tfrt.return %ch1 : !tfrt.chain
}
)");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  AsyncValueRef<Chain> chain;
  RunMany(*runner, {}, 0, &chain, "example");
  const AsyncValue* const done = chain.value();
  ASSERT_TRUE(host().Await({&done, 1}).ok());
  EXPECT_EQ(printed(), "f32[1,1] = [-3]\n");
}

TEST_F(ProgramRunnerTest, PR3_ArgumentsAndResultsInOrder) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%a: !corert.tensorhandle, %b: !corert.tensorhandle) -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %d = corert.executeop(%cpu) "tf.Sub"(%a, %b)
  %s = corert.executeop(%cpu) "tf.AddV2"(%a, %d)
  tfrt.return %d, %s : !corert.tensorhandle, !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const StatusOr<ProgramRunner::Signature> signature = runner->SignatureOf("main");
  ASSERT_TRUE(signature.ok());
  EXPECT_EQ(signature->num_arguments, 2u);
  EXPECT_EQ(signature->num_results, 2u);
  for (int i = 0; i < 3; ++i) {  // a runner runs any number of times
    const auto results = RunMany(*runner, {Dense<float>({2}, {5, 7}), Dense<float>({2}, {1, 10})}, 2);
    EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{4, -3}));
    EXPECT_EQ(Values<float>(results[1]), (std::vector<float>{9, 4}));
  }
}

TEST_F(ProgramRunnerTest, PR3_AValueIsUsedAnyNumberOfTimes) {
  const TensorHandle result = RunText(R"(
func @main(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %a)
  %c = corert.executeop(%cpu) "tf.Mul"(%b, %b)
  %d = corert.executeop(%cpu) "tf.Sub"(%c, %b)
  tfrt.return %d : !corert.tensorhandle
})",
                                      {Dense<float>({3}, {1, 2, 3})});
  EXPECT_EQ(Values<float>(result), (std::vector<float>{2, 12, 30}));
}

TEST_F(ProgramRunnerTest, PR3_TheLastUseMovesTheTensorSoThatKernelsTakeOverItsMemory) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %b = corert.executeop(%cpu) "tf.Neg"(%a)
  %c = corert.executeop(%cpu) "tf.Abs"(%b)
  tfrt.return %c : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  TensorHandle input = Dense<float>({64}, std::vector<float>(64, 2.f));
  const void* const memory = input.tensor().data();
  std::vector<TensorHandle> args;
  args.push_back(std::move(input));
  const auto results = RunMany(*runner, std::move(args), 1);
  ASSERT_TRUE(host().Await(results[0]).ok());
  EXPECT_EQ(results[0].tensor().data(), memory);
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>(64, 2.f));
}

TEST_F(ProgramRunnerTest, PR3_ConstantsOfEveryKind) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main() -> (!corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle) {
  %a = corert.const_dense_tensor dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = corert.create_dense_tensor.f32 {shape = [2, 3], values = [0.5]}
  %c = corert.const_string_tensor {shape = [2], values = ["a", "bc"]}
  %d = corert.const_dense_tensor dense<0.25> : tensor<100x100xf64>
  tfrt.return %a, %b, %c, %d : !corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle, !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const auto results = RunMany(*runner, {}, 4);
  EXPECT_EQ(MetadataOf(results[0]), "i32[2,2]");
  EXPECT_EQ(Values<int32_t>(results[0]), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(Values<float>(results[1]), std::vector<float>(6, 0.5f));
  EXPECT_EQ(StringValues(results[2]), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(Values<double>(results[3]), std::vector<double>(10000, 0.25));
}

TEST_F(ProgramRunnerTest, PR3_ALongConstantIsTheProgramsOwnMemoryAndOutlivesTheRunner) {
  std::string values;
  for (int i = 0; i < 100; ++i) values += (i == 0 ? "" : ", ") + std::to_string(i);
  const TensorHandle result =
      RunText("func @main() -> !corert.tensorhandle {\n  %a = corert.const_dense_tensor dense<[" + values +
              "]> : tensor<100xi64>\n  tfrt.return %a : !corert.tensorhandle\n}");
  std::vector<int64_t> expected(100);
  for (int i = 0; i < 100; ++i) expected[static_cast<size_t>(i)] = i;
  EXPECT_EQ(Values<int64_t>(result), expected);
  EXPECT_TRUE(result.tensor().storage()->is_external()) << "no kernel may write to it";
}

TEST_F(ProgramRunnerTest, PR3_WeightsComeFromOutside) {
  constexpr std::string_view kText = R"(func @main() -> !corert.tensorhandle {
  %w = corert.const_dense_tensor "layer0.weight" : tensor<2xf32>
  tfrt.return %w : !corert.tensorhandle
})";
  EXPECT_EQ(MakeError(kText),
            "NotFound: [corert.const_dense_tensor] expected weights, among them layer0.weight, got none "
            "(test.mlir:2:8)");
  ProgramRunner::Options options;
  options.find_weight = [&](std::string_view name) -> StatusOr<TensorHandle> {
    EXPECT_EQ(name, "layer0.weight");
    return Dense<float>({2}, {1, 2});
  };
  const StatusOr<ProgramRunner> runner = Make(kText, options);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(Values<float>(RunMany(*runner, {}, 1)[0]), (std::vector<float>{1, 2}));
  options.find_weight = [&](std::string_view) -> StatusOr<TensorHandle> { return Dense<float>({3}, {1, 2, 3}); };
  EXPECT_EQ(MakeError(kText, options),
            "InvalidArgument: [corert.const_dense_tensor] expected the weight layer0.weight to be f32[2], got f32[3] "
            "(test.mlir:2:8)");
}

TEST_F(ProgramRunnerTest, PR3_NothingRunsOfAProgramWithAnUnknownOp) {
  EXPECT_EQ(MakeError(R"(func @main() {
  %cpu = corert.get_op_handler("cpu")
  %ch0 = tfrt.new.chain
  %t = corert.const_string_tensor {shape = [], values = ["printed"]}
  %ch1 = corert.print_tensorhandle(%t, %ch0)
  %x = corert.executeop(%cpu) "tf.Reluu"(%t)
  tfrt.return
})"),
            "NotFound: [tf.Reluu] op tf.Reluu is not defined, did you mean tf.Relu (test.mlir:6:8)");
  EXPECT_EQ(printed(), "");
}

TEST_F(ProgramRunnerTest, PR3_NothingRunsOfAProgramWithAWrongNumberOfArguments) {
  EXPECT_EQ(MakeError(R"(func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%x, %ch0)
  %y = corert.executeop(%cpu) "tf.MatMul"(%x)
  tfrt.return %y : !corert.tensorhandle
})"),
            "InvalidArgument: [tf.MatMul] expected 2 arguments, got 1 (test.mlir:5:8)");
  EXPECT_EQ(MakeError(R"(func @main(%x: !corert.tensorhandle, %c: !tfrt.chain) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %c1, %y = corert.executeop.seq(%cpu, %c) "tf.Neg"(%x, %x)
  tfrt.return %y : !corert.tensorhandle
})"),
            "InvalidArgument: [tf.Neg] expected 1 argument, got 2 (test.mlir:3:13)");
}

TEST_F(ProgramRunnerTest, PR3_AnUnknownOpHandlerListsTheNames) {
  EXPECT_EQ(MakeError("func @main() {\n  %h = corert.get_op_handler(\"gpu\")\n  tfrt.return\n}"),
            "NotFound: [corert.get_op_handler] expected the name of an op handler, one of cpu, null, got gpu "
            "(test.mlir:2:8)");
}

TEST_F(ProgramRunnerTest, PR3_ErrorsShowTheLineOfASourceThatIsText) {
  const std::string begin =
      "func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {\n"
      "  %cpu = corert.get_op_handler(\"cpu\")\n";
  const std::string end = "\n  tfrt.return %y : !corert.tensorhandle\n}";
  struct {
    std::string line;
    std::string error;
    size_t column;
  } const kCases[] = {
      {"  %y = corert.executeop(%cpu) \"tf.Reluu\"(%x)",
       "NotFound: [tf.Reluu] op tf.Reluu is not defined, did you mean tf.Relu", 8},
      {"  %y = corert.executeop(%cpu) \"tf.MatMul\"(%x)", "InvalidArgument: [tf.MatMul] expected 2 arguments, got 1",
       8},
      {"\t%gpu = corert.get_op_handler(\"gpu\") %y = corert.executeop(%gpu) \"tf.Neg\"(%x)",
       "NotFound: [corert.get_op_handler] expected the name of an op handler, one of cpu, null, got gpu", 9},
      {"  %y = corert.const_dense_tensor \"w\" : tensor<2xf32>",
       "NotFound: [corert.const_dense_tensor] expected weights, among them w, got none", 8},
  };
  for (const auto& test : kCases) {
    const std::string text = begin + test.line + end;
    const std::string indent = (test.line[0] == '\t' ? "\t" : " ") + std::string(test.column - 2, ' ');
    const std::string first = test.error + " (test.mlir:3:" + std::to_string(test.column) + ")";
    EXPECT_EQ(MakeError(text, {.source = text}), first + "\n" + test.line + "\n" + indent + "^");
    EXPECT_EQ(MakeError(text), first);
    // A binary program has positions of the text that it was made of, but no lines.
    const std::vector<std::byte> bytes = Program::FromText(text, "test.mlir").value()->ToBytes();
    EXPECT_EQ(MakeError(text, {.source = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}}), first);
  }
}

TEST_F(ProgramRunnerTest, PR3_AWeightsOwnErrorIsLeftAlone) {
  constexpr std::string_view kText =
      "func @main() -> !corert.tensorhandle {\n  %w = corert.const_dense_tensor \"w\" : tensor<2xf32>\n"
      "  tfrt.return %w : !corert.tensorhandle\n}";
  const Location elsewhere = host().locations().Intern("weights.cc:5:7");
  ProgramRunner::Options options = {.source = kText};
  options.find_weight = [&](std::string_view) -> StatusOr<TensorHandle> {
    return Status::Error(StatusCode::kDataLoss, "expected all of it", "tf.Cast", elsewhere);
  };
  EXPECT_EQ(MakeError(kText, options), "DataLoss: [tf.Cast] expected all of it (weights.cc:5:7)");
}

TEST_F(ProgramRunnerTest, PR3_AnUnknownFunctionListsTheNames) {
  const StatusOr<ProgramRunner> runner = Make("func @a() { tfrt.return }\nfunc @b() { tfrt.return }");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const auto results = RunMany(*runner, {Scalar<float>(1)}, 1, nullptr, "c");
  EXPECT_EQ(ErrorOf(results[0]), "[c] expected a function of test.mlir, one of @a, @b, got @c");
}

TEST_F(ProgramRunnerTest, PR3_WrongCountsOfArgumentsAndResultsAreErrors) {
  const StatusOr<ProgramRunner> runner =
      Make("func @main(%a: !corert.tensorhandle) -> !corert.tensorhandle { tfrt.return %a : !corert.tensorhandle }");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(ErrorOf(RunMany(*runner, {}, 1)[0]), "[main] expected 1 arguments, got 0");
  EXPECT_EQ(ErrorOf(RunMany(*runner, {Scalar<float>(1)}, 2)[1]), "[main] expected 1 results, got 2");
  EXPECT_EQ(ErrorOf(RunMany(*runner, {TensorHandle()}, 1)[0]),
            "[main] expected argument 0 to be a tensor, got a null handle");
}

TEST_F(ProgramRunnerTest, PR3_ErrorsOfOpsCarryTheirPlaceAndGoOn) {
  const TensorHandle result = RunText(R"(
func @main(%a: !corert.tensorhandle, %b: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %c = corert.executeop(%cpu) "tf.AddV2"(%a, %b)
  %d = corert.executeop(%cpu) "tf.Neg"(%c)
  tfrt.return %d : !corert.tensorhandle
})",
                                      {Dense<float>({2}, {1, 2}), Dense<float>({3}, {1, 2, 3})});
  ASSERT_TRUE(result.IsError());
  const DecodedLocation location = result.GetError().location();
  EXPECT_EQ(result.GetError().op(), "tf.AddV2");
  EXPECT_EQ(location.file, "test.mlir");
  EXPECT_EQ(location.line, 4u);
  EXPECT_EQ(location.column, 8u);
  ASSERT_EQ(result.GetError().num_steps(), 1u);
  EXPECT_EQ(result.GetError().step(0).op, "tf.Neg");
  EXPECT_EQ(result.GetError().step(0).location.line, 5u);
}

TEST_F(ProgramRunnerTest, PR3_PendingArgumentsMakePendingResults) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %a)
  tfrt.return %b : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kF32, {2}});
  const auto results = RunMany(*runner, {promise.handle}, 1);
  EXPECT_FALSE(results[0].IsAvailable());
  EXPECT_EQ(TextOf(results[0].metadata()), "f32[2]");
  Keep(promise, Dense<float>({2}, {3, 4}));
  EXPECT_EQ(Values<float>(results[0]), (std::vector<float>{6, 8}));
}

TEST_F(ProgramRunnerTest, PR3_EffectsHappenInTheOrderOfTheirChains) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%ch: !tfrt.chain, %late: !corert.tensorhandle) -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %two = corert.const_string_tensor {shape = [], values = ["two"]}
  %ch1 = corert.print_tensorhandle(%late, %ch)
  %ch2 = corert.executeop.seq(%cpu, %ch1) "tf.PrintV2"(%two)
  %ch3 = corert.print_tensorhandle %two
  %all = tfrt.merge.chains %ch2, %ch3
  tfrt.return %all : !tfrt.chain
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  PendingTensor promise = Pending({DType::kF32, {1}});
  AsyncValueRef<Chain> chain;
  RunMany(*runner, {promise.handle}, 0, &chain);
  EXPECT_FALSE(chain.IsAvailable());
  EXPECT_EQ(printed(), "string[] = [\"two\"]\n") << "what waits for no chain is printed at once";
  Keep(promise, Dense<float>({1}, {1}));
  const AsyncValue* const done = chain.value();
  ASSERT_TRUE(host().Await({&done, 1}).ok());
  EXPECT_EQ(printed(), "string[] = [\"two\"]\nf32[1] = [1]\ntwo\n");
}

TEST_F(ProgramRunnerTest, PR3_AnErrorInAChainSkipsWhatComesAfter) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%bad: !corert.tensorhandle) -> !tfrt.chain {
  %ch1 = corert.print_tensorhandle %bad
  %t = corert.const_string_tensor {shape = [], values = ["after"]}
  %ch2 = corert.print_tensorhandle %t, %ch1
  %ok = tfrt.new.chain
  %all = tfrt.merge.chains %ok, %ch2
  tfrt.return %all : !tfrt.chain
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  AsyncValueRef<Chain> chain;
  RunMany(*runner, {TensorHandle::MakeError(InvalidArgument("broken"))}, 0, &chain);
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().detail(), "broken");
  EXPECT_EQ(printed(), "");
}

TEST_F(ProgramRunnerTest, PR3_EffectsBeforeACallAreNotForgotten) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main() -> !tfrt.chain {
  %t = corert.const_string_tensor {shape = [], values = ["now"]}
  %ch = corert.print_tensorhandle %t
  tfrt.return %ch : !tfrt.chain
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  auto earlier = Producer<Chain>::Make();
  AsyncValueRef<Chain> chain = earlier.ref();
  RunMany(*runner, {}, 0, &chain);
  EXPECT_EQ(printed(), "string[] = [\"now\"]\n") << "the function takes no chain to wait for";
  EXPECT_FALSE(chain.IsAvailable());
  earlier.SetError(InvalidArgument("it failed"));
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().detail(), "it failed");
}

TEST_F(ProgramRunnerTest, PR3_ShapesAreKnownBeforeTheTensor) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @main(%a: !corert.tensorhandle) -> !corert.shape {
  %s = corert.tensorhandle_to_shape %a
  tfrt.return %s : !corert.shape
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  const PendingTensor promise = Pending({DType::kF32, {2, 0, 5}});
  EXPECT_EQ(Values<int64_t>(RunMany(*runner, {promise.handle}, 1)[0]), (std::vector<int64_t>{2, 0, 5}));
  EXPECT_EQ(MetadataOf(RunMany(*runner, {Scalar<float>(1)}, 1)[0]), "i64[0]");
}

TEST_F(ProgramRunnerTest, PR3_TheCallersOpHandlerRunsAllOps) {
  constexpr std::string_view kText = R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("of another machine")
  %y = corert.executeop(%gpu) "tf.Neg"(%x)
  tfrt.return %y : !corert.tensorhandle
})";
  ProgramRunner::Options options;
  options.op_handler = cpu();
  const StatusOr<ProgramRunner> runner = Make(kText, options);
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  EXPECT_EQ(Values<float>(RunMany(*runner, {Scalar<float>(2)}, 1)[0]), std::vector<float>{-2});
}

TEST_F(ProgramRunnerTest, PR3_OpHandlersAsParametersAndByNewNames) {
  const StatusOr<ProgramRunner> runner = Make(R"(
func @negate(%h: !corert.ophandler, %x: !corert.tensorhandle) -> !corert.tensorhandle {
  %y = corert.executeop(%h) "tf.Neg"(%x)
  tfrt.return %y : !corert.tensorhandle
}
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %ch0 = tfrt.new.chain
  %ch1 = corert.register_op_handler %cpu, %ch0 "again"
  %again = corert.get_op_handler %ch1 "again"
  %y = tfrt.call @negate(%again, %x)
  %z = corert.executeop(%again) "tf.AddV2"(%y, %y)
  %t = corert.transfer %z, %again
  tfrt.return %t : !corert.tensorhandle
})");
  ASSERT_TRUE(runner.ok()) << runner.status().ToString();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Values<float>(RunMany(*runner, {Scalar<float>(2)}, 1)[0]), std::vector<float>{-4});
  }
  EXPECT_EQ(runtime().FindHandler("again"), cpu());
  // From outside, the function gets the runtime's CPU.
  const auto results = RunMany(*runner, {Scalar<float>(2)}, 1, nullptr, "negate");
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{-2});
}

TEST_F(ProgramRunnerTest, PR3_AnOpHandlerThatIsNotRegisteredInTimeMakesErrors) {
  const TensorHandle result = RunText(R"(
func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %late = corert.get_op_handler "late"
  %y = corert.executeop(%late) "tf.Neg"(%x)
  %cpu = corert.get_op_handler("cpu")
  %ch = corert.register_op_handler %cpu "late"
  tfrt.return %y : !corert.tensorhandle
})",
                                      {Scalar<float>(2)});
  EXPECT_EQ(ErrorOf(result), "[corert.get_op_handler] expected the name of an op handler, one of cpu, null, got late");
}

}  // namespace
}  // namespace tandem
