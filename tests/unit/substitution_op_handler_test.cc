// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The substitution op handler: which calls become others, with which attributes, when that is known, what becomes of
// wrong results, and how tables change while calls run (OH-4a, OR-3).

#include "tandem/substitution_op_handler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "op_layer_test_fixture.h"
#include "tandem/op_library.h"
#include "tandem/profile_op_handler.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"

namespace tandem {
namespace {

// y = x * by, or x * by * by.
Status TimesKernel(DenseArg x, const OpAttrsRef& attrs, KernelFrame& frame) {
  const float by = attrs.GetOr("by", 0.0f);
  auto* y = frame.AllocateResult<float>(0);
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) {
    y[i] = x.data<float>()[i] * by * (attrs.GetOr("twice", false) ? by : 1);
  }
  return Status();
}
Status HundredKernel(DenseArg x, KernelFrame& frame) {
  auto* y = frame.AllocateResult<float>(0);
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = 100;
  return Status();
}
// One dimension less, and an f64.
StatusOr<TensorMetadata> FlatMetadata(const TensorMetadata& x) {
  return TensorMetadata(x.dtype, TensorShape{x.num_elements()});
}
Status LateKernel(DenseArg x, KernelFrame& frame) {
  StatusOr<Tensor> y = MakeDense(FlatMetadata(x.metadata()).value(),
                                 {static_cast<const std::byte*>(x.tensor().data()), x.metadata().byte_size()},
                                 frame.host().device(), frame.host().allocator());
  if (!y.ok()) return y.status();
  frame.SetResult(0, std::move(*y));
  return Status();
}

class SubstitutionOpHandlerTest : public OpLayerTest {
 protected:
  SubstitutionOpHandlerTest() {
    const auto scaling = [](const char* name) {
      return OpDefBuilder(name).Input("x: float").Output("y: float").Metadata<&UnchangedMetadata>();
    };
    const Status defined = runtime().registry().RegisterAll(
        {scaling("sub.Scale").Attr("factor: float = 2").Attr("mode: {'a', 'b'} = 'a'").Attr("times: int = 1"),
         scaling("sub.Times").Attr("by: float").Attr("twice: bool = false"), scaling("sub.Same").Attr("times: int = 1"),
         OpDefBuilder("sub.Flat").Input("x: float").Output("y: float").Metadata<&FlatMetadata>(),
         OpDefBuilder("sub.Late").Input("x: float").Output("y: float"),
         OpDefBuilder("sub.Double").Input("x: float").Output("y: double"), OpDefBuilder("sub.Effect").SideEffects()});
    EXPECT_TRUE(defined.ok()) << defined.ToString();
    AddKernel(*cpu(), "sub.Scale", MakeKernel<&HundredKernel>());
    AddKernel(*cpu(), "sub.Times", MakeKernel<&TimesKernel>());
    AddKernel(*cpu(), "sub.Flat", MakeKernel<&LateKernel>());
    AddKernel(*cpu(), "sub.Late", MakeKernel<&LateKernel>());
    AddKernel(*cpu(), "sub.Effect", MakeKernel([this](KernelFrame&) {
      ++num_effects_;
      return Status();
    }));
    layer_ = runtime().AddHandler(CreateSubstitutionOpHandler("sub", runtime(), *cpu(), rules_));
  }

  static std::vector<TensorPattern> Patterns(std::initializer_list<std::string_view> texts) {
    std::vector<TensorPattern> patterns;
    for (const std::string_view text : texts) patterns.push_back(TensorPattern::Parse(text).value());
    return patterns;
  }
  uint64_t AddAll(std::vector<Substitution> rules) {
    const StatusOr<uint64_t> id = rules_->Add(std::move(rules));
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return id.ok() ? *id : 0;
  }
  uint64_t Add(Substitution rule) {
    std::vector<Substitution> rules;
    rules.push_back(std::move(rule));
    return AddAll(std::move(rules));
  }
  // From JSON.
  void AddText(std::string_view text) {
    StatusOr<std::vector<Substitution>> rules = ParseSubstitutions(runtime(), text, "t.json");
    ASSERT_TRUE(rules.ok()) << rules.status().ToString();
    AddAll(std::move(*rules));
  }
  std::vector<float> On(std::string_view op, const TensorHandle& x, const OpAttrsRef& attrs = {}) {
    return Values<float>(RunOn(layer_, op, {x}, attrs));
  }

  std::atomic<int> num_effects_{0};
  const RcRef<Substitutions> rules_ = MakeRef<Substitutions>(runtime());
  OpHandler* layer_ = nullptr;
};

TEST_F(SubstitutionOpHandlerTest, OH4a_PassesEverythingThroughWithoutRules) { ExpectPassesThrough(layer_); }

TEST_F(SubstitutionOpHandlerTest, OH4a_PassesThroughCallsThatNoRuleFits) {
  Add({.op = "tf.Identity", .inputs = Patterns({"u8[17]"}), .replacement = "tf.Neg"});
  Add({.op = "tf.Neg", .inputs = Patterns({"f64[17]"}), .replacement = "tf.Abs"});
  Add({.op = "layer.Fail", .inputs = Patterns({"f32[17]"}), .replacement = "layer.Increment"});
  Add({.op = "layer.Undone", .inputs = Patterns({"f32[17]"}), .replacement = "layer.Increment"});
  Add({.op = "layer.Foreign", .inputs = Patterns({"f32[17]"}), .replacement = "layer.Increment"});
  ExpectPassesThrough(layer_);
}

TEST_F(SubstitutionOpHandlerTest, OH4a_DTypeAndShapeDecide) {
  Add({.op = "tf.Neg", .inputs = Patterns({"f32[2,?]"}), .replacement = "tf.Square"});
  EXPECT_EQ(On("tf.Neg", Dense<float>({2, 1}, {3, 4})), (std::vector<float>{9, 16}));
  EXPECT_EQ(On("tf.Neg", Dense<float>({1, 2}, {3, 4})), (std::vector<float>{-3, -4}));
  EXPECT_EQ(On("tf.Neg", Dense<float>({2}, {3, 4})), (std::vector<float>{-3, -4}));
  EXPECT_EQ(Values<double>(RunOn(layer_, "tf.Neg", {Dense<double>({2, 1}, {3, 4})})), (std::vector<double>{-3, -4}));
  // The handler below is as it was.
  EXPECT_EQ(Values<float>(Run("tf.Neg", {Dense<float>({2, 1}, {3, 4})})), (std::vector<float>{-3, -4}));
}

TEST_F(SubstitutionOpHandlerTest, OH4a_TheFirstRuleThatFitsCounts) {
  Add({.op = "tf.Neg", .inputs = Patterns({"f32[]"}), .replacement = "tf.Square"});
  Add({.op = "tf.Neg", .inputs = Patterns({"*"}), .replacement = "tf.Abs"});
  EXPECT_EQ(On("tf.Neg", Scalar<float>(-3)), std::vector<float>{9});
  EXPECT_EQ(On("tf.Neg", Dense<float>({1}, {-3})), std::vector<float>{3});
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AttributesAreMapped) {
  AddText(R"({"substitutions": [{"op": "sub.Scale", "attrs": {"mode": "b"},
      "use": {"op": "sub.Times", "attrs": {"by": {"from": "factor"}, "twice": true}}}]})");
  const TensorHandle x = Dense<float>({2}, {1, 3});
  EXPECT_EQ(On("sub.Scale", x, Attrs("mode", "b", "factor", 5.0f)), (std::vector<float>{25, 75}));
  EXPECT_EQ(On("sub.Scale", x, Attrs("mode", "b")), (std::vector<float>{4, 12})) << "the default";
  // A number of another type, as any call may give it.
  OpAttrs i32;
  i32.Set("factor", int32_t{3});
  i32.Set("mode", "b");
  EXPECT_EQ(On("sub.Scale", x, i32), (std::vector<float>{9, 27}));
  EXPECT_EQ(On("sub.Scale", x, Attrs("mode", "a", "factor", 5.0f)), (std::vector<float>{100, 100}));
}

TEST_F(SubstitutionOpHandlerTest, OH4a_WhatTheReplacementDoesNotGetMustBeTheDefault) {
  AddText(R"({"substitutions": [{"op": "sub.Scale", "use": {"op": "sub.Times", "attrs": {"by": 7}}}]})");
  const TensorHandle x = Dense<float>({1}, {1});
  EXPECT_EQ(On("sub.Scale", x), std::vector<float>{7});
  EXPECT_EQ(On("sub.Scale", x, Attrs("times", 1)), std::vector<float>{7});
  EXPECT_EQ(On("sub.Scale", x, Attrs("times", 2)), std::vector<float>{100});
  EXPECT_EQ(On("sub.Scale", x, Attrs("factor", 3.0f)), std::vector<float>{100});
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AKernelOfTheProgram) {
  Add({.op = "tf.Neg",
       .inputs = Patterns({"f32"}),
       .kernel = MakeKernel<&HundredKernel>(),
       .kernel_handler = cpu(),
       .kernel_name = "hundred"});
  EXPECT_EQ(On("tf.Neg", Dense<float>({2}, {1, 2})), (std::vector<float>{100, 100}));
  EXPECT_EQ(Values<int32_t>(RunOn(layer_, "tf.Neg", {Scalar<int32_t>(1)})), std::vector<int32_t>{-1});
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AReplacementMayBeReplaced) {
  Add({.op = "tf.Neg", .replacement = "tf.Abs"});
  Add({.op = "tf.Abs", .inputs = Patterns({"f32[]"}), .replacement = "tf.Square"});
  EXPECT_EQ(On("tf.Neg", Scalar<float>(-3)), std::vector<float>{9});
  EXPECT_EQ(On("tf.Neg", Dense<float>({1}, {-3})), std::vector<float>{3});
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AnOpWithoutAKernelRunsByItsReplacement) {
  Add({.op = "layer.Undone", .inputs = Patterns({"f32[1]"}), .replacement = "layer.Increment"});
  EXPECT_EQ(On("layer.Undone", Dense<float>({1}, {1})), std::vector<float>{2});
  EXPECT_EQ(ErrorOf(RunOn(layer_, "layer.Undone", {Scalar<float>(1)})),
            "[layer.Undone] op handler cpu has no kernel for this op");
}

TEST_F(SubstitutionOpHandlerTest, OH4a_EffectsKeepTheirChain) {
  Add({.op = "layer.Effect", .replacement = "sub.Effect"});
  AsyncValueRef<Chain> chain = MakeReadyChain();
  RunNOn(layer_, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_TRUE(chain.IsConcrete());
  EXPECT_EQ(num_effects_, 1);
  chain = AsyncValueRef<Chain>::MakeError(Internal("before"));
  RunNOn(layer_, "layer.Effect", {}, 0, {}, &chain);
  EXPECT_EQ(num_effects_, 1) << "CH-4";
  EXPECT_TRUE(chain.IsError());
}

TEST_F(SubstitutionOpHandlerTest, OH4a_DecidesWithoutWaitingForContent) {
  Add({.op = "tf.Neg", .inputs = Patterns({"f32[2]"}), .replacement = "tf.Square"});
  LateArgument x = Late({DType::kF32, {2}});
  const TensorHandle y = RunOn(layer_, "tf.Neg", {x.handle});
  EXPECT_TRUE(y.IsMetadataAvailable());
  EXPECT_FALSE(y.IsAvailable());
  x.handle.reset();
  x.Resolve(Dense<float>({2}, {3, 4}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{9, 16}));
}

class LateSubstitutionTest : public SubstitutionOpHandlerTest {
 protected:
  LateSubstitutionTest() { Add({.op = "tf.Neg", .inputs = Patterns({"f32[2]"}), .replacement = "tf.Square"}); }
  // An argument of which nothing is known.
  LateArgument Unknown() {
    LateArgument late = {Producer<Tensor>::Make(), {}};
    metadata_.push_back(Producer<TensorMetadata>::Make());
    late.handle = TensorHandle(metadata_.back().ref(), late.producer.ref(), &host().device());
    return late;
  }
  void Resolve(LateArgument& late, const TensorHandle& value) {
    late.handle.reset();
    metadata_.back().Emplace(value.metadata());
    late.Resolve(value);
  }
  std::vector<Producer<TensorMetadata>> metadata_;
};

TEST_F(LateSubstitutionTest, OH4a_DecidesWhenMetadataComes) {
  for (const bool fits : {true, false}) {
    LateArgument x = Unknown();
    const TensorHandle y = RunOn(layer_, "tf.Neg", {x.handle});
    EXPECT_FALSE(y.IsMetadataAvailable());
    Resolve(x, fits ? Dense<float>({2}, {3, 4}) : Dense<float>({1}, {3}));
    EXPECT_EQ(Values<float>(y), fits ? (std::vector<float>{9, 16}) : std::vector<float>{-3});
    EXPECT_EQ(MetadataOf(y), fits ? "f32[2]" : "f32[1]");
  }
}

TEST_F(LateSubstitutionTest, OH4a_ErrorsOfArgumentsThatComeLaterPassThrough) {
  LateArgument x = Unknown();
  const TensorHandle y = RunOn(layer_, "tf.Neg", {x.handle});
  x.handle.reset();
  const Status error = Internal("broken before");
  metadata_.back().SetError(error);
  x.producer.SetError(error);
  EXPECT_EQ(host().Await(y).detail(), "broken before");
}

TEST_F(LateSubstitutionTest, OH4a_WaitingCallsAreCancelled) {
  LateArgument x = Unknown();
  const TensorHandle y = RunOn(layer_, "tf.Neg", {x.handle});
  EXPECT_EQ(host().num_pending_ops(), 1);
  host().CancelExecution("enough");
  EXPECT_TRUE(y.IsError()) << "CA-1";
  EXPECT_EQ(host().num_pending_ops(), 0);
  host().Restart();
  Resolve(x, Dense<float>({2}, {3, 4}));
  EXPECT_TRUE(y.IsError()) << "CA-2";
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AWrongResultIsAnErrorThatNamesBothOps) {
  Add({.op = "layer.Increment", .replacement = "sub.Flat", .origin = "t.json:1:2"});
  EXPECT_EQ(ErrorOf(RunOn(layer_, "layer.Increment", {Dense<float>({1, 2}, {1, 2})})),
            "[layer.Increment] result 0 must be f32[1,2], as layer.Increment gives it, got f32[2] of sub.Flat "
            "(t.json:1:2)");
  ASSERT_EQ(diagnostics().size(), 1u);
  EXPECT_EQ(diagnostics()[0].location().file.substr(diagnostics()[0].location().file.rfind('/') + 1),
            "op_layer_test_fixture.h");
  EXPECT_EQ(On("layer.Increment", Dense<float>({2}, {1, 2})), (std::vector<float>{1, 2}));
}

TEST_F(SubstitutionOpHandlerTest, OH4a_AResultWhoseMetadataComesLaterIsCheckedToo) {
  Add({.op = "layer.Increment", .replacement = "sub.Late"});
  EXPECT_EQ(ErrorOf(RunOn(layer_, "layer.Increment", {Dense<float>({1, 2}, {1, 2})})),
            "[layer.Increment] result 0 must be f32[1,2], as layer.Increment gives it, got f32[2] of sub.Late");
  LateArgument x = Late({DType::kF32, {1, 2}});
  const TensorHandle y = RunOn(layer_, "layer.Increment", {x.handle});
  LateArgument right = Late({DType::kF32, {2}});
  const TensorHandle z = RunOn(layer_, "layer.Increment", {right.handle});
  x.handle.reset();
  right.handle.reset();
  x.Resolve(Dense<float>({1, 2}, {1, 2}));
  right.Resolve(Dense<float>({2}, {1, 2}));
  EXPECT_EQ(ErrorCodeOf(y), StatusCode::kInternal);
  EXPECT_EQ(Values<float>(z), (std::vector<float>{1, 2}));
}

TEST_F(SubstitutionOpHandlerTest, OH4a_WrongCallsAreToldByTheOpThatWasCalled) {
  Add({.op = "tf.MatMul", .replacement = "tf.AddV2"});
  const TensorHandle x = Dense<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorOf(RunOn(layer_, "tf.MatMul", {x, x})), ErrorOf(Run("tf.MatMul", {x, x})));
  EXPECT_EQ(ErrorOf(RunOn(layer_, "tf.MatMul", {x})), ErrorOf(Run("tf.MatMul", {x})));
  EXPECT_EQ(ErrorOf(RunOn(layer_, "tf.MatMul", {x, x}, Attrs("nothing", 1))),
            ErrorOf(Run("tf.MatMul", {x, x}, Attrs("nothing", 1))));
}

TEST_F(SubstitutionOpHandlerTest, OR3_TablesChangeWhileTheyAreUsed) {
  const TensorHandle x = Scalar<float>(-3);
  OpHandler* const above =
      runtime().AddHandler(CreateProfileOpHandler("above", runtime(), *layer_, MakeRef<Profile>()));
  EXPECT_EQ(Values<float>(RunOn(above, "tf.Neg", {x})), std::vector<float>{3});
  const uint64_t id = Add({.op = "tf.Neg", .replacement = "tf.Square"});
  EXPECT_EQ(Values<float>(RunOn(above, "tf.Neg", {x})), std::vector<float>{9});
  const Op before = layer_->MakeOp("tf.Neg").value();
  rules_->Remove(id);
  rules_->Remove(id);
  EXPECT_EQ(Values<float>(RunOn(above, "tf.Neg", {x})), std::vector<float>{3});
  TensorHandle args[] = {x.CopyRef()};
  TensorHandle y;
  before(ExecutionContext(host(), Location()), args, {}, {&y, 1});
  EXPECT_EQ(Values<float>(y), std::vector<float>{9});
}

TEST_F(SubstitutionOpHandlerTest, OR3_AReplacementThatIsRemovedIsAnError) {
  OpHandler* const above =
      runtime().AddHandler(CreateProfileOpHandler("above", runtime(), *layer_, MakeRef<Profile>()));
  auto library = std::make_unique<OpLibrary>(runtime(), std::make_shared<int>(0));
  ASSERT_TRUE(library->Define(OpDefBuilder("mine.Neg").Input("x: float").Output("y: float")).ok());
  ASSERT_TRUE(library->AddKernel(*cpu(), "mine.Neg", MakeKernel<&LateKernel>()).ok());
  Add({.op = "layer.Increment", .replacement = "mine.Neg", .origin = "t.json:1:2"});
  const TensorHandle x = Dense<float>({1}, {1});
  EXPECT_EQ(Values<float>(RunOn(above, "layer.Increment", {x})), std::vector<float>{1});
  const AsyncValueRef<Chain> removed = library->Remove();
  const AsyncValue* const values[] = {removed.value()};
  EXPECT_TRUE(host().Await(values).ok()) << "nothing keeps the library";
  EXPECT_EQ(ErrorOf(RunOn(above, "layer.Increment", {x})),
            "[layer.Increment] t.json:1:2: op mine.Neg is not defined, did you mean tf.Neg");
}

TEST_F(SubstitutionOpHandlerTest, OR3_TablesChangeWhileThreadsCall) {
  std::vector<std::thread> threads;
  std::atomic<bool> is_done{false};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!is_done) {
        const std::vector<float> y = On("tf.Neg", Scalar<float>(-3));
        EXPECT_TRUE(y == std::vector<float>{3} || y == std::vector<float>{9});
      }
    });
  }
  for (int i = 0; i < 50; ++i) rules_->Remove(Add({.op = "tf.Neg", .replacement = "tf.Square"}));
  is_done = true;
  for (std::thread& thread : threads) thread.join();
}

constexpr std::string_view kProgram = R"(func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %h = corert.get_op_handler("sub")
  %a = corert.executeop(%h) "tf.AddV2"(%x, %x)
  %b = corert.executeop(%h) "tf.Neg"(%a)
  %c = corert.executeop(%h) "tf.AddV2"(%b, %x)
  %d = corert.executeop(%h) "tf.AddV2"(%c, %x)
  tfrt.return %d : !corert.tensorhandle
})";

TEST_F(SubstitutionOpHandlerTest, PR5_PreparedProgramsHonourRules) {
  if (cpu()->fuser() == nullptr) GTEST_SKIP() << "this build is for small modules, which run no programs";
  Add({.op = "tf.Neg", .inputs = Patterns({"f32[2]"}), .replacement = "tf.Square"});
  const ProgramRunner runner =
      std::move(ProgramRunner::Create(runtime(), Program::FromText(kProgram, "t.mlir").value(), {})).value();
  for (const int64_t size : {2, 1}) {
    TensorHandle args[] = {Spread<float>({size}, 3)};
    TensorHandle results[1];
    host().tracer().Clear();
    host().StartTracing();
    runner.Run("main", ExecutionContext(host(), Location()), args, results);
    EXPECT_EQ(Values<float>(results[0])[0], size == 2 ? 36 + 6 : 0);
    host().StopTracing();
    EXPECT_EQ(host().tracer().num_events(), 3) << "the two ops behind it are one";
  }
}

TEST_F(SubstitutionOpHandlerTest, PR4_RecordsWhatIsCalled) {
  if (cpu()->fuser() == nullptr) GTEST_SKIP() << "this build is for small modules, which run no programs";
  Add({.op = "tf.Neg", .replacement = "tf.Square"});
  const RcRef<ProgramRecorder> recorder = ProgramRecorder::Start(runtime(), {}).value();
  OpHandler* const handler = recorder->HandlerOver(*layer_).value();
  const TensorHandle x = Scalar<float>(3);
  ASSERT_TRUE(recorder->AddInput(x).ok());
  std::vector<TensorHandle> results;
  results.push_back(RunOn(handler, "tf.Neg", {x}));
  EXPECT_EQ(Values<float>(results[0]), std::vector<float>{9});
  const StatusOr<RcRef<const Program>> program = recorder->Finish(results);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const std::string text = (*program)->ToText();
  EXPECT_NE(text.find("\"tf.Neg\""), text.npos) << text;
  EXPECT_EQ(text.find("tf.Square"), text.npos) << text;
}

}  // namespace
}  // namespace tandem
