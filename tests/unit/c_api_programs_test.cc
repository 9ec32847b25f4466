// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface to programs: loading, describing, calling and writing them, and what is wrong with each.

#include <cstring>
#include <string>
#include <vector>

#include "c_api_test_fixture.h"

namespace tandem {
namespace {

// That of the contract.
constexpr char kExample[] = R"(func @example() -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %lhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-1.0 : f32] }
  %rhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-2.0 : f32] }
  %result = corert.executeop(%cpu) "test.add" (%lhs, %rhs)
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%result, %ch0)
  tfrt.return %ch1 : !tfrt.chain
}
)";

constexpr char kArithmetic[] = R"(func @scaled_sum(%a: !corert.tensorhandle, %b: !corert.tensorhandle)
    -> (!corert.tensorhandle, !corert.tensorhandle) {
  %cpu = corert.get_op_handler("cpu")
  %sum = corert.executeop(%cpu) "tf.AddV2"(%a, %b)
  %scaled = corert.executeop(%cpu) "tf.Mul"(%sum, %b)
  tfrt.return %sum, %scaled : !corert.tensorhandle, !corert.tensorhandle
}
func @product(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %product = corert.executeop(%cpu) "tf.MatMul"(%a, %a)
  tfrt.return %product : !corert.tensorhandle
}
func @negative(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %b = corert.executeop(%cpu) "tf.Neg"(%a)
  tfrt.return %b : !corert.tensorhandle
}
)";

constexpr char kWeighted[] = R"(func @weighted(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %w = corert.const_dense_tensor "layer0.weight" : tensor<2xf32>
  %b = corert.const_dense_tensor "layer0.bias" : tensor<f32>
  %y = corert.executeop(%cpu) "tf.Mul"(%x, %w)
  %z = corert.executeop(%cpu) "tf.AddV2"(%y, %b)
  tfrt.return %z : !corert.tensorhandle
}
)";

constexpr char kElsewhere[] = R"(func @f(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %gpu = corert.get_op_handler("a device that nobody has")
  %y = corert.executeop(%gpu) "tf.Neg"(%x)
  tfrt.return %y : !corert.tensorhandle
}
)";

// Those of kWeighted.
struct Weights {
  static const tandem_tensor* Give(void* user, const char* name) {
    auto* its = static_cast<Weights*>(user);
    its->asked.push_back(name);
    return std::strcmp(name, "layer0.weight") == 0 ? its->weight : its->bias;
  }

  tandem_runtime* runtime;
  tandem_tensor* weight;
  tandem_tensor* bias;
  std::vector<std::string> asked;
};

class CApiProgramsTest : public CApiTest {
 protected:
  ~CApiProgramsTest() override {
    for (tandem_program* program : programs_) tandem_program_release(program);
    tandem_chain_release(call_.chain);
  }

  tandem_status* TryLoad(const std::string& content, tandem_program** program,
                         const tandem_program_options* options = nullptr) {
    tandem_status* status = tandem_program_load(rt_, content.data(), content.size(), "f.mlir", options, program);
    EXPECT_EQ(*program == nullptr, status != nullptr);
    if (*program != nullptr) programs_.push_back(*program);
    return status;
  }
  // The fixture releases it.
  tandem_program* Load(const std::string& content, const tandem_program_options* options = nullptr) {
    tandem_program* program = nullptr;
    EXPECT_OK(TryLoad(content, &program, options));
    return program;
  }
  std::string LoadError(const std::string& content, const tandem_program_options* options = nullptr) {
    tandem_program* program = nullptr;
    return Text(TryLoad(content, &program, options));
  }
  tandem_program_options WithWeights(tandem_weight_callback weight, void* user) {
    tandem_program_options options = {};
    options.struct_size = sizeof(options);
    options.weight = weight;
    options.weight_user = user;
    return options;
  }
  tandem_status* Run(const tandem_program* program, const char* function, const std::vector<tandem_tensor*>& args,
                     std::vector<tandem_tensor*>* results) {
    tandem_status* status =
        tandem_program_run(program, function, args.data(), args.size(), &call_, results->data(), results->size());
    for (tandem_tensor* result : *results) {
      EXPECT_EQ(result == nullptr, status != nullptr);
      if (result != nullptr) Keep(result);
    }
    return status;
  }
  std::string RunError(const tandem_program* program, const char* function, const std::vector<tandem_tensor*>& args,
                       size_t num_results) {
    std::vector<tandem_tensor*> results(num_results);
    return Text(Run(program, function, args, &results));
  }
  void ChainCalls() { EXPECT_OK(tandem_chain_create(rt_, &call_.chain)); }
  std::string TextOf(const tandem_program* program) {
    char* text = nullptr;
    size_t size = 0;
    EXPECT_OK(tandem_program_text(program, &text, &size));
    std::string result(text, size);
    EXPECT_EQ(text[size], '\0');
    tandem_free(text);
    return result;
  }
  std::string BytesOf(const tandem_program* program) {
    void* bytes = nullptr;
    size_t size = 0;
    EXPECT_OK(tandem_program_bytes(program, &bytes, &size));
    std::string result(static_cast<const char*>(bytes), size);
    tandem_free(bytes);
    return result;
  }

  std::vector<tandem_program*> programs_;
};

TEST_F(CApiProgramsTest, PR1_TheExamplePrintsItsResult) {
  const tandem_program* program = Load(kExample);
  ChainCalls();
  EXPECT_OK(tandem_program_run(program, "example", nullptr, 0, &call_, nullptr, 0));
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  EXPECT_EQ(printed_, "f32[1,1] = [-3]\n");
}

TEST_F(CApiProgramsTest, PR1_WrongTextIsAnErrorWithItsPlaceAndItsLine) {
  const std::string error = LoadError("func @f() {\n  %ch = tfrt.new.chian\n  tfrt.return\n}\n");
  EXPECT_TRUE(error.starts_with("InvalidArgument: f.mlir:2:9: ")) << error;
  EXPECT_NE(error.find("\n  %ch = tfrt.new.chian\n        ^"), std::string::npos) << error;
  tandem_program* program = nullptr;
  const std::string unnamed = Text(tandem_program_load(rt_, "no", 2, nullptr, nullptr, &program));
  EXPECT_TRUE(unnamed.starts_with("InvalidArgument: program:1:1: ")) << unnamed;
}

TEST_F(CApiProgramsTest, PR2_BothFormsReadBackAsTheSameProgram) {
  const tandem_program* program = Load(kArithmetic);
  const std::string text = TextOf(program);
  const std::string bytes = BytesOf(program);
  const tandem_program* from_text = Load(text);
  const tandem_program* from_bytes = Load(bytes);
  EXPECT_EQ(TextOf(from_text), text);
  EXPECT_EQ(BytesOf(from_bytes), bytes);
  for (const tandem_program* copy : {from_text, from_bytes}) {
    std::vector<tandem_tensor*> results(2);
    EXPECT_OK(Run(copy, "scaled_sum", {F32({2}, {1, 2}), F32({2}, {3, 5})}, &results));
    EXPECT_EQ(Values(results[1]), "f32[2] = [12, 35]");
  }
}

TEST_F(CApiProgramsTest, PR2_DamagedBytesAreDataLoss) {
  const std::string bytes = BytesOf(Load(kArithmetic));
  tandem_program* program = nullptr;
  EXPECT_EQ(Code(TryLoad(bytes.substr(0, bytes.size() - 1), &program)), TANDEM_DATA_LOSS);
  EXPECT_EQ(Code(TryLoad(bytes + "x", &program)), TANDEM_DATA_LOSS);
  std::string later = bytes;
  later[8] = 2;
  EXPECT_TRUE(LoadError(later).starts_with("Unimplemented: f.mlir: byte 8: expected version 1 of the format")) << later;
  // So many strings as there are no bytes for.
  const std::string hostile = bytes.substr(0, 9) + "\xFF\xFF\xFF\xFF\x07" + bytes.substr(bytes.size() - 4);
  EXPECT_TRUE(LoadError(hostile).starts_with("DataLoss: f.mlir: byte ")) << LoadError(hostile);
}

TEST_F(CApiProgramsTest, PR3_FunctionsComputeAndMayBeCalledAgain) {
  const tandem_program* program = Load(kArithmetic);
  std::vector<tandem_tensor*> results(2);
  EXPECT_OK(Run(program, "scaled_sum", {F32({2}, {1, 2}), F32({2}, {3, 5})}, &results));
  EXPECT_EQ(Values(results[0]), "f32[2] = [4, 7]");
  EXPECT_EQ(Values(results[1]), "f32[2] = [12, 35]");
  EXPECT_OK(Run(program, "scaled_sum", {results[0], results[1]}, &results));
  EXPECT_EQ(Values(results[0]), "f32[2] = [16, 42]");
  EXPECT_EQ(Values(results[1]), "f32[2] = [192, 1470]");
}

TEST_F(CApiProgramsTest, PR3_ResultsOfWhatIsPendingArePending) {
  const tandem_program* program = Load(kArithmetic);
  Block();
  std::vector<tandem_tensor*> results(1);
  EXPECT_OK(Run(program, "product", {Long()}, &results));
  EXPECT_EQ(Code(tandem_tensor_await(results[0], 0)), TANDEM_DEADLINE_EXCEEDED);
  Unblock();
  EXPECT_OK(tandem_tensor_await(results[0], TANDEM_FOREVER));
}

TEST_F(CApiProgramsTest, PR3_ConsumedArgumentsGiveTheirMemory) {
  const tandem_program* program = Load(kArithmetic);
  tandem_tensor* x = NewF32({64}, std::vector<float>(64, 1));
  const void* before = nullptr;
  EXPECT_OK(tandem_tensor_data(x, &before, nullptr));
  call_.flags = TANDEM_CONSUME_ARGUMENTS;
  std::vector<tandem_tensor*> results(1);
  EXPECT_OK(Run(program, "negative", {x}, &results));
  const void* after = nullptr;
  EXPECT_OK(tandem_tensor_data(results[0], &after, nullptr));
  EXPECT_EQ(after, before);
}

TEST_F(CApiProgramsTest, FunctionsAreDescribed) {
  const tandem_program* program = Load(std::string(kExample) + kArithmetic);
  EXPECT_STREQ(tandem_program_function(program, 0), "example");
  EXPECT_STREQ(tandem_program_function(program, 1), "scaled_sum");
  EXPECT_STREQ(tandem_program_function(program, 3), "negative");
  EXPECT_EQ(tandem_program_function(program, 4), nullptr);
  EXPECT_EQ(tandem_program_function(program, SIZE_MAX), nullptr);
  EXPECT_EQ(tandem_program_function(nullptr, 0), nullptr);
  size_t num_args = 9, num_results = 9;
  EXPECT_OK(tandem_program_signature(program, "scaled_sum", &num_args, &num_results));
  EXPECT_EQ(num_args, 2u);
  EXPECT_EQ(num_results, 2u);
  EXPECT_OK(tandem_program_signature(program, "example", &num_args, &num_results));
  EXPECT_EQ(num_args, 0u);
  EXPECT_EQ(num_results, 0u) << "chains are not counted";
  EXPECT_EQ(Code(tandem_program_signature(program, "other", &num_args, &num_results)), TANDEM_NOT_FOUND);
  EXPECT_EQ(tandem_program_function(Load(""), 0), nullptr);
}

TEST_F(CApiProgramsTest, ErrorsInsideOfAFunctionNameTheirPlaceInTheProgram) {
  tandem_tensor* result = nullptr;
  tandem_tensor* x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  tandem_status* status = tandem_program_run(Load(kArithmetic), "product", &x, 1, &call_, &result, 1);
  EXPECT_EQ(tandem_status_code(status), TANDEM_INVALID_ARGUMENT);
  EXPECT_STREQ(tandem_status_op(status), "tf.MatMul");
  EXPECT_STREQ(tandem_status_location(status), "f.mlir:10:14");
  tandem_status_release(status);
  EXPECT_EQ(result, nullptr);
}

TEST_F(CApiProgramsTest, WrongCallsOfFunctionsAreErrors) {
  const tandem_program* program = Load(kArithmetic);
  tandem_tensor* x = F32({}, {1});
  EXPECT_TRUE(RunError(program, "other", {x}, 1).starts_with("NotFound: [other] expected a function of f.mlir"));
  EXPECT_EQ(RunError(program, "negative", {x, x}, 1), "InvalidArgument: [negative] expected 1 arguments, got 2");
  EXPECT_EQ(RunError(program, "negative", {}, 1), "InvalidArgument: [negative] expected 1 arguments, got 0");
  EXPECT_EQ(RunError(program, "negative", {x}, 2), "InvalidArgument: [negative] expected 1 results, got 2");
  EXPECT_EQ(RunError(program, "negative", {nullptr}, 1),
            "InvalidArgument: [negative] argument 0 must be a tensor, got null");
  EXPECT_EQ(RunError(program, nullptr, {x}, 1), "InvalidArgument: expected the name of a function, got null");
  EXPECT_EQ(RunError(nullptr, "negative", {x}, 1), "InvalidArgument: expected a program, got null");
  EXPECT_EQ(RunError(Load(kExample), "example", {}, 0),
            "InvalidArgument: [example] a call without results must be given a chain, got none");
  tandem_tensor* result = nullptr;
  EXPECT_WRONG(tandem_program_run(program, "negative", nullptr, 1, nullptr, &result, 1));
  EXPECT_WRONG(tandem_program_run(program, "negative", &x, 1, nullptr, nullptr, 1));
  EXPECT_WRONG(tandem_program_run(program, "negative", &x, SIZE_MAX, nullptr, &result, 1));
  call_.device = "cpu";
  EXPECT_EQ(RunError(program, "negative", {x}, 1),
            "InvalidArgument: [negative] a program has its devices already, got cpu");
  call_.device = nullptr;
  tandem_attrs* attrs = nullptr;
  EXPECT_OK(tandem_attrs_create(&attrs));
  call_.attrs = attrs;
  EXPECT_EQ(RunError(program, "negative", {x}, 1), "InvalidArgument: [negative] expected no attributes for a function");
  tandem_attrs_release(attrs);
  call_.attrs = nullptr;
}

TEST_F(CApiProgramsTest, NullsAreErrors) {
  tandem_program* program = Load(kExample);
  tandem_program* loaded = program;
  EXPECT_WRONG(tandem_program_load(nullptr, kExample, 1, nullptr, nullptr, &loaded));
  EXPECT_EQ(loaded, nullptr);
  EXPECT_WRONG(tandem_program_load(rt_, nullptr, 1, nullptr, nullptr, &loaded));
  EXPECT_WRONG(tandem_program_load(rt_, kExample, 1, nullptr, nullptr, nullptr));
  tandem_program_options small = {};
  small.struct_size = 1;
  EXPECT_WRONG(tandem_program_load(rt_, kExample, sizeof(kExample) - 1, nullptr, &small, &loaded));
  size_t count = 0;
  EXPECT_WRONG(tandem_program_signature(nullptr, "example", &count, &count));
  EXPECT_WRONG(tandem_program_signature(program, nullptr, &count, &count));
  EXPECT_WRONG(tandem_program_signature(program, "example", nullptr, &count));
  EXPECT_WRONG(tandem_program_signature(program, "example", &count, nullptr));
  char* text = nullptr;
  void* bytes = nullptr;
  EXPECT_WRONG(tandem_program_text(nullptr, &text, &count));
  EXPECT_WRONG(tandem_program_text(program, nullptr, &count));
  EXPECT_WRONG(tandem_program_bytes(nullptr, &bytes, &count));
  EXPECT_WRONG(tandem_program_bytes(program, nullptr, &count));
  EXPECT_WRONG(tandem_program_bytes(program, &bytes, nullptr));
  tandem_program_release(nullptr);
  EXPECT_OK(tandem_program_text(program, &text, nullptr));
  tandem_free(text);
}

TEST_F(CApiProgramsTest, WeightsComeFromTheCaller) {
  Weights weights = {rt_, NewF32({2}, {2, 3}), NewF32({}, {10}), {}};
  const tandem_program_options options = WithWeights(&Weights::Give, &weights);
  const tandem_program* program = Load(kWeighted, &options);
  EXPECT_EQ(weights.asked, (std::vector<std::string>{"layer0.weight", "layer0.bias"}));
  tandem_tensor_release(weights.weight);
  tandem_tensor_release(weights.bias);
  std::vector<tandem_tensor*> results(1);
  EXPECT_OK(Run(program, "weighted", {F32({2}, {5, 7})}, &results));
  EXPECT_EQ(Values(results[0]), "f32[2] = [20, 31]");
}

TEST_F(CApiProgramsTest, AWeightsCallbackMayNotDestroyTheRuntime) {
  Weights weights = {rt_, F32({2}, {2, 3}), F32({}, {10}), {}};
  const auto give = [](void* user, const char* name) {
    EXPECT_EQ(Code(tandem_runtime_destroy(static_cast<Weights*>(user)->runtime)), TANDEM_FAILED_PRECONDITION);
    return Weights::Give(user, name);
  };
  const tandem_program_options options = WithWeights(give, &weights);
  Load(kWeighted, &options);
}

TEST_F(CApiProgramsTest, WeightsThatAreNotThereOrOfAnotherKindAreErrors) {
  const std::string none = LoadError(kWeighted);
  EXPECT_TRUE(none.starts_with("NotFound: ")) << none;
  EXPECT_NE(none.find("layer0.weight"), std::string::npos) << none;
  EXPECT_NE(none.find("(f.mlir:3:8)"), std::string::npos) << none;
  tandem_program_options options =
      WithWeights([](void*, const char*) -> const tandem_tensor* { return nullptr; }, nullptr);
  EXPECT_EQ(LoadError(kWeighted, &options),
            "NotFound: [corert.const_dense_tensor] expected a tensor as the weight layer0.weight, got none "
            "(f.mlir:3:8)\n"
            "  %w = corert.const_dense_tensor \"layer0.weight\" : tensor<2xf32>\n"
            "       ^");
  const auto give = [](void* user, const char*) { return static_cast<const tandem_tensor*>(user); };
  options = WithWeights(give, F32({3}, {1, 2, 3}));
  tandem_program* program = nullptr;
  EXPECT_EQ(Code(TryLoad(kWeighted, &program, &options)), TANDEM_INVALID_ARGUMENT);
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  options = WithWeights(give, F32({2}, {1, 2}));
  EXPECT_WRONG(tandem_program_load(other, kWeighted, std::strlen(kWeighted), nullptr, &options, &program));
  EXPECT_OK(tandem_runtime_destroy(other));
}

TEST_F(CApiProgramsTest, ADeviceRunsWhatNamesAnother) {
  const std::string error = LoadError(kElsewhere);
  EXPECT_TRUE(error.starts_with("NotFound: ")) << error;
  EXPECT_NE(error.find("a device that nobody has"), std::string::npos) << error;
  tandem_program_options options = WithWeights(nullptr, nullptr);
  options.device = "cpu";
  std::vector<tandem_tensor*> results(1);
  EXPECT_OK(Run(Load(kElsewhere, &options), "f", {F32({}, {2})}, &results));
  EXPECT_EQ(Values(results[0]), "f32[] = [-2]");
  options.device = "another device";
  EXPECT_TRUE(LoadError(kElsewhere, &options).starts_with("NotFound: expected a device of this runtime"));
}

TEST_F(CApiProgramsTest, UnknownOpsAreFoundWhenAProgramIsLoaded) {
  const std::string error = LoadError(
      "func @f(%x: !corert.tensorhandle) {\n  %cpu = corert.get_op_handler(\"cpu\")\n"
      "  %y = corert.executeop(%cpu) \"tf.MatMull\"(%x)\n  tfrt.return\n}\n");
  EXPECT_TRUE(error.starts_with("NotFound: [tf.MatMull] ")) << error;
  EXPECT_NE(error.find("(f.mlir:3:8)\n  %y = corert.executeop(%cpu) \"tf.MatMull\"(%x)\n       ^"), std::string::npos)
      << error;
}

TEST_F(CApiProgramsTest, PR1_EveryKindOfBadTextIsAnErrorWithItsPlaceAndItsLine) {
  constexpr std::string_view kBegin = "func @f(%x: !corert.tensorhandle) {\n  %cpu = corert.get_op_handler(\"cpu\")\n";
  struct {
    const char* line;
    const char* error;
    int column;
  } const kCases[] = {
      {"  %y = tfrt.nothing", "expected a kernel, got 'tfrt.nothing'", 8},
      {"  %y = tfrt.merge.chains %y", "expected a value that was defined before, got '%y'", 26},
      {"  %y = tfrt.merge.chains %x", "expected a value of type !tfrt.chain", 26},
      {"  tfrt.call @f()", "expected 1 argument for @f, got 0", 13},
      {"  %y = corert.const_dense_tensor dense<1> : tensor<4611686018427387904x4xi8>",
       "must have at most 2^63-1 elements", 52},
      {"  %y = corert.executeop(%cpu) \"tf.Neg\"(%x, %x)", "[tf.Neg] expected 1 argument, got 2", 8},
      {"  %y = corert.executeop(%cpu) \"tf.Nothing\"(%x)", "[tf.Nothing] op tf.Nothing is not defined", 8},
      {"  %w = corert.const_dense_tensor \"w\" : tensor<f32>", "expected weights, among them w, got none", 8},
  };
  for (const auto& test : kCases) {
    const std::string error = LoadError(std::string(kBegin) + test.line + "\n  tfrt.return\n}\n");
    EXPECT_NE(error.find(test.error), std::string::npos) << error;
    EXPECT_NE(error.find("f.mlir:3:" + std::to_string(test.column)), std::string::npos) << error;
    const std::string shown = std::string("\n") + test.line + "\n" + std::string(test.column - 1, ' ') + "^";
    EXPECT_TRUE(error.ends_with(shown)) << error;
  }
  const std::string truncated = LoadError(std::string(kBegin));
  EXPECT_NE(truncated.find("got the end of the text\n  %cpu = corert.get_op_handler(\"cpu\")\n"), std::string::npos)
      << truncated;
  const std::string deep =
      LoadError(std::string(kBegin) + "corert.executeop(%cpu) \"tf.Neg\"" + std::string(1'000'000, '('));
  EXPECT_TRUE(deep.starts_with("InvalidArgument: f.mlir:3:40: expected at most 8 brackets in one another")) << deep;
}

TEST_F(CApiProgramsTest, EffectsAreOrderedByTheChainsOfTheFunction) {
  const tandem_program* program = Load(R"(
func @print(%x: !corert.tensorhandle, %in: !tfrt.chain) -> !tfrt.chain {
  %out = corert.print_tensorhandle(%x, %in)
  tfrt.return %out : !tfrt.chain
}
)");
  ChainCalls();
  Block();
  tandem_tensor* pending = nullptr;
  EXPECT_OK(Call1("tf.Shape", {Long()}, &pending));
  std::vector<tandem_tensor*> none;
  EXPECT_OK(Run(program, "print", {Long()}, &none));
  EXPECT_OK(Run(program, "print", {F32({}, {1})}, &none));
  EXPECT_EQ(printed_, "");
  Unblock();
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  EXPECT_TRUE(printed_.ends_with("f32[] = [1]\n")) << printed_;
  EXPECT_TRUE(printed_.starts_with("f32[256,256] = [")) << printed_;
}

// @example begins a chain of its own.
TEST_F(CApiProgramsTest, AChainStillStandsForTheEffectsBeforeACall) {
  const tandem_program* program = Load(kExample);
  ChainCalls();
  Block();
  tandem_tensor* x = Long();
  EXPECT_OK(tandem_execute(rt_, "test.print", &x, 1, &call_, nullptr, 0));
  EXPECT_OK(tandem_program_run(program, "example", nullptr, 0, &call_, nullptr, 0));
  EXPECT_EQ(printed_, "f32[1,1] = [-3]\n");
  EXPECT_EQ(Code(tandem_chain_await(call_.chain, 0)), TANDEM_DEADLINE_EXCEEDED);
  Unblock();
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
  EXPECT_GT(printed_.size(), std::strlen("f32[1,1] = [-3]\n"));
}

TEST_F(CApiProgramsTest, AChainKeepsTheErrorOfAnEffectBeforeACall) {
  const tandem_program* program = Load(kExample);
  ChainCalls();
  const uint8_t no = 0;
  tandem_tensor* condition = nullptr;
  EXPECT_OK(tandem_tensor_create(rt_, TANDEM_BOOL, nullptr, 0, &no, 1, &condition));
  tandem_tensor* args[] = {Keep(condition), F32({}, {1})};
  EXPECT_WRONG(tandem_execute(rt_, "tf.Assert", args, 2, &call_, nullptr, 0));
  EXPECT_WRONG(tandem_program_run(program, "example", nullptr, 0, &call_, nullptr, 0));
  EXPECT_WRONG(tandem_chain_await(call_.chain, TANDEM_FOREVER));
}

TEST_F(CApiProgramsTest, AFunctionWithoutEffectsLeavesTheChainAlone) {
  const tandem_program* program = Load(kArithmetic);
  ChainCalls();
  EXPECT_NE(RunError(program, "product", {F32({2, 3}, {1, 2, 3, 4, 5, 6})}, 1), "");
  EXPECT_OK(tandem_chain_await(call_.chain, TANDEM_FOREVER));
}

TEST_F(CApiProgramsTest, CallsBelongToTheirRequest) {
  const tandem_program* program = Load(kArithmetic);
  EXPECT_OK(tandem_request_create(rt_, TANDEM_FOREVER, &call_.request));
  EXPECT_OK(tandem_request_cancel(call_.request, "not needed"));
  EXPECT_TRUE(RunError(program, "negative", {F32({}, {1})}, 1).starts_with("Cancelled: "));
  tandem_request_release(call_.request);
  call_.request = nullptr;
}

TEST_F(CApiProgramsTest, ProgramsOutliveTheirRuntimeForBeingReleased) {
  tandem_runtime* other = nullptr;
  ASSERT_EQ(Text(tandem_runtime_create(TANDEM_ABI_VERSION, nullptr, &other)), "");
  tandem_program* program = nullptr;
  tandem_tensor* x = nullptr;
  const float value = 1;
  EXPECT_OK(tandem_tensor_create(other, TANDEM_F32, nullptr, 0, &value, sizeof(value), &x));
  EXPECT_OK(tandem_program_load(other, kArithmetic, std::strlen(kArithmetic), nullptr, nullptr, &program));
  EXPECT_OK(tandem_runtime_destroy(other));
  size_t count = 0;
  char* text = nullptr;
  void* bytes = nullptr;
  tandem_tensor* y = nullptr;
  EXPECT_EQ(Code(tandem_program_run(program, "negative", &x, 1, nullptr, &y, 1)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_program_signature(program, "negative", &count, &count)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_program_text(program, &text, &count)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(Code(tandem_program_bytes(program, &bytes, &count)), TANDEM_FAILED_PRECONDITION);
  EXPECT_EQ(tandem_program_function(program, 0), nullptr);
  tandem_program_release(program);
  tandem_tensor_release(x);
}

TEST_F(CApiProgramsTest, AProgramMayBeReleasedWhileItsCallsArePending) {
  Block();
  tandem_program* program = nullptr;
  EXPECT_OK(tandem_program_load(rt_, kArithmetic, std::strlen(kArithmetic), nullptr, nullptr, &program));
  tandem_tensor* x = Long();
  tandem_tensor* y = nullptr;
  EXPECT_OK(tandem_program_run(program, "product", &x, 1, nullptr, &y, 1));
  tandem_program_release(program);
  Unblock();
  EXPECT_OK(tandem_tensor_await(Keep(y), TANDEM_FOREVER));
}

}  // namespace
}  // namespace tandem
