// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls against definitions: numbers and dtypes of arguments and results, attributes, and what every error says (EX-5,
// AT-6).

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "test_runtime.h"

namespace tandem {
namespace {

// Gives every result the dtype that the definition fixes, and the shape [number of arguments].
Status CountArguments(const MetadataFrame& frame) {
  for (TensorMetadata& result : frame.results) {
    result.shape = TensorShape({static_cast<int64_t>(frame.args.size())});
  }
  return Status();
}

Status AllocateAll(KernelFrame& frame) {
  for (size_t i = 0; i < frame.num_results(); ++i) {
    if (void* data = frame.AllocateResult(i))
      std::fill_n(static_cast<char*>(data), frame.result_metadata(i).byte_size(), 0);
  }
  return Status();
}

// Runs on definitions of a test's own, whose kernel has the results that the definition asks for.
class OpSignatureTest : public testing::Test {
 protected:
  void Define(const OpDefBuilder& builder) {
    rt_.Define(OpDefBuilder(builder).Metadata<&CountArguments>());
    rt_.AddKernel(builder.name(), DTypeSet::All() | DTypeSet{DType::kInvalid}, MakeKernel<&AllocateAll>());
  }
  // Arguments of these dtypes, each of shape [2].
  Args Of(std::initializer_list<DType> dtypes) {
    Args args;
    for (DType dtype : dtypes) {
      args.Add(TensorHandle::MakeAvailable(
          std::move(*AllocateDense({dtype, {2}}, rt_.host().device(), rt_.host().allocator()))));
    }
    return args;
  }
  // "f32[2], i32[2]" of the results, or the error.
  std::string Run(std::string_view op, std::initializer_list<DType> args, int num_results = 1,
                  const OpAttrsRef& attrs = {}) {
    const std::vector<TensorHandle> results = rt_.CallN(op, Of(args), num_results, attrs);
    MessageBuilder text;
    for (const TensorHandle& result : results) {
      if (result.IsError()) {
        EXPECT_EQ(result.GetError().code(), StatusCode::kInvalidArgument);
        return std::string(result.GetError().message());
      }
      text.Append(text.view().empty() ? "" : ", ", result.metadata());
    }
    return std::string(text.view());
  }
  template <typename T>
  std::string RunWith(std::string_view op, std::initializer_list<DType> args, std::string_view name, const T& value) {
    OpAttrs attrs;
    EXPECT_TRUE(attrs.Set(name, value));
    return Run(op, args, 1, attrs);
  }
  template <typename T>
  std::string RunWithList(std::string_view op, std::initializer_list<DType> args, std::string_view name,
                          const std::vector<T>& values, int num_results = 1) {
    OpAttrs attrs;
    EXPECT_TRUE(attrs.SetArray(name, std::span<const T>(values)));
    return Run(op, args, num_results, attrs);
  }

  TestRuntime rt_;
};

constexpr DType kF32 = DType::kF32;
constexpr DType kF64 = DType::kF64;
constexpr DType kI32 = DType::kI32;
constexpr DType kI64 = DType::kI64;

TEST_F(OpSignatureTest, EX5_NumberOfArguments) {
  Define(OpDefBuilder("t.None").Output("y: float"));
  Define(OpDefBuilder("t.One").Input("x: float").Output("y: float"));
  Define(OpDefBuilder("t.Two").Input("a: float").Input("b: float").Output("y: float"));
  EXPECT_EQ(Run("t.None", {}), "f32[0]");
  EXPECT_EQ(Run("t.None", {kF32}), "[t.None] expected 0 arguments, got 1");
  EXPECT_EQ(Run("t.One", {}), "[t.One] expected 1 argument, got 0");
  EXPECT_EQ(Run("t.One", {kF32, kF32}), "[t.One] expected 1 argument, got 2");
  EXPECT_EQ(Run("t.Two", {kF32}), "[t.Two] expected 2 arguments, got 1");
}

TEST_F(OpSignatureTest, EX5_NumberOfResults) {
  Define(OpDefBuilder("t.One").Input("x: float").Output("y: float"));
  Define(OpDefBuilder("t.Two").Input("x: float").Output("y: float").Output("z: int32"));
  EXPECT_EQ(Run("t.Two", {kF32}, 2), "f32[1], i32[1]");
  EXPECT_EQ(Run("t.Two", {kF32}, 1), "[t.Two] expected 2 results, got 1");
  EXPECT_EQ(Run("t.Two", {kF32}, 3), "[t.Two] expected 2 results, got 3");
  EXPECT_EQ(Run("t.One", {kF32}, 2), "[t.One] expected 1 result, got 2");
}

TEST_F(OpSignatureTest, EX5_ResultsAskedForWithAChainAlone) {
  Define(OpDefBuilder("t.One").Input("x: float").Output("y: float"));
  AsyncValueRef<Chain> chain = MakeReadyChain();
  rt_.CallN("t.One", Of({kF32}), 0, {}, &chain);
  ASSERT_TRUE(chain.IsError());
  EXPECT_EQ(chain.GetError().message(), "[t.One] expected 1 result, got 0");
}

TEST_F(OpSignatureTest, EX5_FixedDTypes) {
  Define(OpDefBuilder("t.Fixed").Input("x: float").Input("i: int32").Output("y: double"));
  EXPECT_EQ(Run("t.Fixed", {kF32, kI32}), "f64[2]");
  EXPECT_EQ(Run("t.Fixed", {kF64, kI32}), "[t.Fixed] argument 0 (x) must be f32, got f64[2]");
  EXPECT_EQ(Run("t.Fixed", {kF32, kI64}), "[t.Fixed] argument 1 (i) must be i32, got i64[2]");
}

TEST_F(OpSignatureTest, EX5_TypesThatFollowFromArguments) {
  Define(
      OpDefBuilder("t.Typed").Input("i: int32").Input("x: T").Input("y: T").Output("z: T").Attr("T: {float, double}"));
  EXPECT_EQ(Run("t.Typed", {kI32, kF64, kF64}), "f64[3]");
  EXPECT_EQ(Run("t.Typed", {kI32, kI64, kI64}), "[t.Typed] argument 1 (x) must be one of {f32, f64}, got i64[2]");
  EXPECT_EQ(Run("t.Typed", {kI32, kF32, kF64}), "[t.Typed] argument 2 (y) must be f32 like argument 1 (x), got f64[2]");
  EXPECT_EQ(Run("t.Typed", {kI32, kF32, kI32}), "[t.Typed] argument 2 (y) must be one of {f32, f64}, got i32[2]");
}

TEST_F(OpSignatureTest, AT6_TypeInTheCallMustAgreeWithTheArguments) {
  Define(OpDefBuilder("t.Typed").Input("x: T").Output("y: T").Attr("T: {float, double} = float"));
  EXPECT_EQ(RunWith("t.Typed", {kF64}, "T", kF64), "f64[1]");
  EXPECT_EQ(RunWith("t.Typed", {kF64}, "T", kF32), "[t.Typed] attribute T must be f64 like the arguments, got f32");
  // The arguments win over a default.
  EXPECT_EQ(Run("t.Typed", {kF64}), "f64[1]");
}

TEST_F(OpSignatureTest, AT6_TypeThatOnlyAnAttributeGives) {
  Define(OpDefBuilder("t.Cast").Input("x: T").Output("y: DstT").Attr("T: type").Attr("DstT: {float, int32}"));
  EXPECT_EQ(RunWith("t.Cast", {kF64}, "DstT", kI32), "i32[1]");
  EXPECT_EQ(Run("t.Cast", {kF64}), "[t.Cast] attribute DstT is required, expected DstT: {float, int32}");
  EXPECT_EQ(RunWith("t.Cast", {kF64}, "DstT", kF64), "[t.Cast] attribute DstT must be one of {i32, f32}, got f64");
  Define(OpDefBuilder("t.Fill").Output("y: dtype").Attr("dtype: {float, int32} = int32"));
  EXPECT_EQ(Run("t.Fill", {}), "i32[0]");
  EXPECT_EQ(RunWith("t.Fill", {}, "dtype", kF32), "f32[0]");
}

TEST_F(OpSignatureTest, AT6_UnknownAttribute) {
  Define(OpDefBuilder("t.Some").Input("x: float").Output("y: float").Attr("a: int = 1").Attr("b: bool = true"));
  Define(OpDefBuilder("t.NoAttrs").Input("x: float").Output("y: float"));
  EXPECT_EQ(RunWith("t.Some", {kF32}, "c", true), "[t.Some] attribute c is not defined, expected one of a, b");
  EXPECT_EQ(RunWith("t.NoAttrs", {kF32}, "c", true), "[t.NoAttrs] attribute c is not defined, expected no attributes");
}

TEST_F(OpSignatureTest, AT6_RequiredAttribute) {
  Define(OpDefBuilder("t.Need").Input("x: float").Output("y: float").Attr("axis: int >= 0"));
  EXPECT_EQ(Run("t.Need", {kF32}), "[t.Need] attribute axis is required, expected axis: int >= 0");
  EXPECT_EQ(RunWith("t.Need", {kF32}, "axis", int64_t{0}), "f32[1]");
}

TEST_F(OpSignatureTest, AT6_AttributesOfEveryKind) {
  Define(OpDefBuilder("t.Kinds")
             .Input("x: float")
             .Output("y: float")
             .Attr("i: int = 0")
             .Attr("f: float = 0.0")
             .Attr("b: bool = false")
             .Attr("s: string = 'x'")
             .Attr("t: type = float")
             .Attr("shape: shape = []")
             .Attr("ints: list(int) = []")
             .Attr("fn: func = 'f'"));
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "i", int64_t{1}), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "f", 1.0f), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "b", true), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "s", std::string_view("y")), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "t", kI32), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "shape", TensorShape({1})), "f32[1]");
  EXPECT_EQ(RunWithList<int64_t>("t.Kinds", {kF32}, "ints", {1, 2}), "f32[1]");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "fn", FunctionAttr{"g"}), "f32[1]");

  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "i", 1.0f), "[t.Kinds] attribute i must be i64, got f32");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "i", 1.0), "[t.Kinds] attribute i must be i64, got f64");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "b", int64_t{1}), "[t.Kinds] attribute b must be bool, got i64");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "s", true), "[t.Kinds] attribute s must be string, got bool");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "t", std::string_view("f32")),
            "[t.Kinds] attribute t must be dtype, got string");
  EXPECT_EQ(RunWithList<int64_t>("t.Kinds", {kF32}, "shape", {1}),
            "[t.Kinds] attribute shape must be shape, got list(i64)");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "ints", int64_t{1}), "[t.Kinds] attribute ints must be list(i64), got i64");
  EXPECT_EQ(RunWithList<int64_t>("t.Kinds", {kF32}, "i", {1}), "[t.Kinds] attribute i must be i64, got list(i64)");
  EXPECT_EQ(RunWithList<float>("t.Kinds", {kF32}, "ints", {1}),
            "[t.Kinds] attribute ints must be list(i64), got list(f32)");
  EXPECT_EQ(RunWith("t.Kinds", {kF32}, "fn", std::string_view("g")),
            "[t.Kinds] attribute fn must be function, got string");
}

// The numbers of attributes i, f, ints and floats, as metadata function and kernel see them, in the result's shape.
Status ShapeOfNumbers(const MetadataFrame& frame) {
  int64_t i = -1;
  float f = -1;
  std::span<const int64_t> ints;
  std::span<const float> floats;
  if (!frame.attrs.Get("i", &i) || !frame.attrs.Get("f", &f) || !frame.attrs.GetArray("ints", &ints) ||
      !frame.attrs.GetArray("floats", &floats)) {
    return InvalidArgument("expected the types of the definition");
  }
  TensorMetadata& result = frame.results[0];
  result.shape = TensorShape({i, static_cast<int64_t>(f * 4), static_cast<int64_t>(ints.size()),
                              floats.empty() ? 0 : static_cast<int64_t>(floats[0] * 4)});
  return Status();
}

TEST_F(OpSignatureTest, EX5_NumbersOfAttributesConvertWhereNothingIsLost) {
  rt_.Define(OpDefBuilder("t.Numbers")
                 .Input("x: float")
                 .Output("y: float")
                 .Attr("i: int >= 1")
                 .Attr("f: float = 0.0")
                 .Attr("ints: list(int) = []")
                 .Attr("floats: list(float) = []")
                 .Metadata<&ShapeOfNumbers>());
  rt_.AddKernel("t.Numbers", {DType::kInvalid}, MakeKernel<&AllocateAll>());
  OpAttrs attrs;
  attrs.Set("i", 3);
  attrs.Set("f", 0.25);
  const int32_t ints[] = {4, 5};
  attrs.SetArray("ints", std::span<const int32_t>(ints));
  const int64_t floats[] = {2};
  attrs.SetArray("floats", std::span<const int64_t>(floats));
  EXPECT_EQ(Run("t.Numbers", {kF32}, 1, attrs), "f32[3,1,2,8]");
  // The same where the call waits for its argument.
  const auto later = MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(kF32, {2}), &rt_.host().device());
  Args args;
  args.Add(TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(later)), &rt_.host().device()));
  const std::vector<TensorHandle> results = rt_.CallN("t.Numbers", std::move(args), 1, attrs);
  ASSERT_TRUE(results[0].IsMetadataAvailable());
  EXPECT_EQ(results[0].metadata().shape, TensorShape({3, 1, 2, 8}));
  later->value() = std::move(*AllocateDense({kF32, {2}}, rt_.host().device(), rt_.host().allocator()));
  later->SetConcrete();
  EXPECT_TRUE(rt_.host().Await(results[0]).ok());

  EXPECT_EQ(RunWith("t.Numbers", {kF32}, "i", int32_t{0}), "[t.Numbers] attribute i must be at least 1, got 0");
  OpAttrs inexact;
  inexact.Set("i", 1);
  inexact.Set("f", int64_t{16777217});
  EXPECT_EQ(Run("t.Numbers", {kF32}, 1, inexact),
            "[t.Numbers] attribute f must be f32, got i64 16777217, which f32 cannot hold");
  OpAttrs large;
  large.Set("i", 1);
  large.Set("f", 1e300);
  EXPECT_EQ(Run("t.Numbers", {kF32}, 1, large),
            "[t.Numbers] attribute f must be f32, got f64 1e+300, which f32 cannot hold");
}

TEST_F(OpSignatureTest, AT6_AttributeOfAnyKindTakesAnything) {
  Define(OpDefBuilder("t.Any").Input("x: float").Output("y: float").Attr("a: any"));
  EXPECT_EQ(RunWith("t.Any", {kF32}, "a", true), "f32[1]");
  EXPECT_EQ(RunWithList<double>("t.Any", {kF32}, "a", {1, 2}), "f32[1]");
  EXPECT_EQ(Run("t.Any", {kF32}), "[t.Any] attribute a is required, expected a: any");
}

TEST_F(OpSignatureTest, AT6_Minima) {
  Define(OpDefBuilder("t.Min")
             .Input("x: float")
             .Output("y: float")
             .Attr("n: int >= 2 = 2")
             .Attr("l: list(int) >= 2 = [1, 2]"));
  EXPECT_EQ(RunWith("t.Min", {kF32}, "n", int64_t{2}), "f32[1]");
  EXPECT_EQ(RunWith("t.Min", {kF32}, "n", int64_t{1}), "[t.Min] attribute n must be at least 2, got 1");
  EXPECT_EQ(RunWith("t.Min", {kF32}, "n", INT64_MIN),
            "[t.Min] attribute n must be at least 2, got -9223372036854775808");
  EXPECT_EQ(RunWithList<int64_t>("t.Min", {kF32}, "l", {1}), "[t.Min] length of attribute l must be at least 2, got 1");
  EXPECT_EQ(RunWithList<int64_t>("t.Min", {kF32}, "l", {}), "[t.Min] length of attribute l must be at least 2, got 0");
}

TEST_F(OpSignatureTest, AT6_AllowedStrings) {
  Define(OpDefBuilder("t.Pad").Input("x: float").Output("y: float").Attr("padding: {'SAME', 'VALID'}"));
  Define(OpDefBuilder("t.Pads").Input("x: float").Output("y: float").Attr("p: list({'SAME', 'VALID'})"));
  EXPECT_EQ(RunWith("t.Pad", {kF32}, "padding", std::string_view("VALID")), "f32[1]");
  EXPECT_EQ(RunWith("t.Pad", {kF32}, "padding", std::string_view("valid")),
            "[t.Pad] attribute padding must be one of 'SAME', 'VALID', got 'valid'");
  EXPECT_EQ(RunWithList<std::string_view>("t.Pads", {kF32}, "p", {"SAME", ""}),
            "[t.Pads] attribute p must be one of 'SAME', 'VALID', got ''");
}

TEST_F(OpSignatureTest, AT6_AllowedTypesOfAList) {
  Define(OpDefBuilder("t.Types").Input("x: float").Output("y: float").Attr("l: list({float, int32})"));
  EXPECT_EQ(RunWithList<DType>("t.Types", {kF32}, "l", {kF32, kI32}), "f32[1]");
  EXPECT_EQ(RunWithList<DType>("t.Types", {kF32}, "l", {kF32, kI64}),
            "[t.Types] attribute l must be one of {i32, f32}, got i64");
}

int64_t seen_by_metadata = 0;

TensorMetadata NoteAttributeA(const TensorMetadata& x, const OpAttrsRef& attrs) {
  seen_by_metadata = attrs.GetOr<int64_t>("a", 0);
  return x;
}

TEST_F(OpSignatureTest, AT6_DefaultsAreSeenByMetadataFunctionAndKernel) {
  int64_t seen_by_kernel = 0;
  rt_.Define(OpDefBuilder("t.Default")
                 .Input("x: float")
                 .Output("y: float")
                 .Attr("a: int = 42")
                 .Attr("b: int = 1")
                 .Metadata<&NoteAttributeA>(),
             MakeKernel([&seen_by_kernel](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
               seen_by_kernel = attrs.GetOr<int64_t>("a", 0);
               return x;
             }));
  EXPECT_EQ(Run("t.Default", {kF32}), "f32[2]");
  EXPECT_EQ(seen_by_metadata, 42);
  EXPECT_EQ(seen_by_kernel, 42);
  seen_by_metadata = seen_by_kernel = 0;
  EXPECT_EQ(RunWith("t.Default", {kF32}, "b", int64_t{5}), "f32[2]");
  EXPECT_EQ(seen_by_metadata, 42);
  EXPECT_EQ(seen_by_kernel, 42);
}

TEST_F(OpSignatureTest, AT6_DefaultsAreSeenByOpsThatWaited) {
  int64_t seen = 0;
  rt_.Define(OpDefBuilder("t.Default").Input("x: float").Output("y: float").Attr("a: int = 42"),
             MakeKernel([&seen](const Tensor& x, const OpAttrsRef& attrs) -> StatusOr<Tensor> {
               seen = attrs.GetOr<int64_t>("a", 0);
               return x;
             }));
  Promise promise = rt_.MakePromise();
  const TensorHandle result = rt_.Call("t.Default", {promise.Handle()});
  promise.Resolve(rt_.Filled(1, 1));
  EXPECT_TRUE(result.IsConcrete());
  EXPECT_EQ(seen, 42);
}

// Variadic inputs.

TEST_F(OpSignatureTest, EX5_RepeatedInput) {
  Define(OpDefBuilder("t.Concat")
             .Input("values: N * T")
             .Input("axis: int32")
             .Output("y: T")
             .Attr("N: int >= 2")
             .Attr("T: {float, double}"));
  EXPECT_EQ(Run("t.Concat", {kF32, kF32, kF32, kI32}), "f32[4]");
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", int64_t{2}), "f32[3]");
  EXPECT_EQ(Run("t.Concat", {}), "[t.Concat] expected at least 1 argument, got 0");
  EXPECT_EQ(Run("t.Concat", {kF32, kI32}), "[t.Concat] expected at least 2 arguments for values, got 1");
  EXPECT_EQ(Run("t.Concat", {kI32}), "[t.Concat] expected at least 2 arguments for values, got 0");
  EXPECT_EQ(Run("t.Concat", {kF32, kF64, kI32}),
            "[t.Concat] argument 1 (values) must be f32 like argument 0 (values), got f64[2]");
  EXPECT_EQ(Run("t.Concat", {kF32, kF32, kF32}), "[t.Concat] argument 2 (axis) must be i32, got f32[2]");
  EXPECT_EQ(Run("t.Concat", {kI64, kI64, kI32}),
            "[t.Concat] argument 0 (values) must be one of {f32, f64}, got i64[2]");
}

// The number must not lead past the end of the arguments.
TEST_F(OpSignatureTest, EX5_NumberInTheCallMustAgreeWithTheArguments) {
  Define(OpDefBuilder("t.Concat")
             .Input("values: N * T")
             .Input("axis: int32")
             .Output("y: T")
             .Attr("N: int >= 1")
             .Attr("T: {float, int32}"));
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", int64_t{3}),
            "[t.Concat] expected 3 arguments for values as attribute N says, got 2");
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", int64_t{1}),
            "[t.Concat] expected 1 arguments for values as attribute N says, got 2");
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", INT64_MAX),
            "[t.Concat] expected 9223372036854775807 arguments for values as attribute N says, got 2");
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", int64_t{0}),
            "[t.Concat] attribute N must be at least 1, got 0");
  EXPECT_EQ(RunWith("t.Concat", {kF32, kF32, kI32}, "N", true), "[t.Concat] attribute N must be i64, got bool");
}

TEST_F(OpSignatureTest, EX5_NumberFollowsFromTheArgumentsEvenIfItHasADefault) {
  Define(OpDefBuilder("t.Pack").Input("values: N * float").Output("y: float").Attr("N: int >= 1 = 2"));
  EXPECT_EQ(Run("t.Pack", {kF32, kF32, kF32}), "f32[3]");
}

TEST_F(OpSignatureTest, EX5_OptionalInput) {
  Define(OpDefBuilder("t.Maybe").Input("x: float").Input("bias: N * float").Output("y: float").Attr("N: int >= 0"));
  EXPECT_EQ(Run("t.Maybe", {kF32}), "f32[1]");
  EXPECT_EQ(Run("t.Maybe", {kF32, kF32}), "f32[2]");
  EXPECT_EQ(Run("t.Maybe", {}), "[t.Maybe] expected at least 1 argument, got 0");
}

TEST_F(OpSignatureTest, EX5_SeveralSequencesOfTheSameLength) {
  Define(OpDefBuilder("t.Zip")
             .Input("a: N * float")
             .Input("s: int32")
             .Input("b: N * T")
             .Output("y: T")
             .Attr("N: int >= 1")
             .Attr("T: {double, int64}"));
  EXPECT_EQ(Run("t.Zip", {kF32, kF32, kI32, kF64, kF64}), "f64[5]");
  EXPECT_EQ(Run("t.Zip", {kF32, kI32, kF64, kF64}),
            "[t.Zip] expected 2 sequences of equal length, got 3 arguments for them");
  EXPECT_EQ(RunWith("t.Zip", {kF32, kI32, kF64}, "N", int64_t{2}),
            "[t.Zip] expected 2 arguments for a as attribute N says, got 2 for all sequences");
  EXPECT_EQ(Run("t.Zip", {kF32, kF32, kI32, kF64, kI64}),
            "[t.Zip] argument 4 (b) must be f64 like argument 3 (b), got i64[2]");
  EXPECT_EQ(Run("t.Zip", {kF32, kF64, kI32, kF64, kF64}), "[t.Zip] argument 1 (a) must be f32, got f64[2]");
}

TEST_F(OpSignatureTest, EX5_ListOfTypes) {
  Define(OpDefBuilder("t.IdentityN").Input("x: T").Output("y: T").Attr("T: list({float, int32}) >= 1"));
  // Numbers and dtypes of the results follow from the arguments.
  EXPECT_EQ(Run("t.IdentityN", {kF32, kI32}, 2), "f32[2], i32[2]");
  EXPECT_EQ(RunWithList<DType>("t.IdentityN", {kI32, kF32}, "T", {kI32, kF32}, 2), "i32[2], f32[2]");
  EXPECT_EQ(Run("t.IdentityN", {kF32, kI32}, 1), "[t.IdentityN] expected 2 results, got 1");
  EXPECT_EQ(Run("t.IdentityN", {}), "[t.IdentityN] expected at least 1 argument for x, got 0");
  EXPECT_EQ(Run("t.IdentityN", {kF32, kF64}, 2), "[t.IdentityN] argument 1 (x) must be one of {i32, f32}, got f64[2]");
  EXPECT_EQ(RunWithList<DType>("t.IdentityN", {kI32, kF32}, "T", {kI32, kI32}, 2),
            "[t.IdentityN] argument 1 (x) must be i32, got f32[2]");
  EXPECT_EQ(RunWithList<DType>("t.IdentityN", {kI32, kF32}, "T", {kI32}, 2),
            "[t.IdentityN] expected 1 arguments for x as attribute T says, got 2");
}

TEST_F(OpSignatureTest, EX5_TwoInputsWithOneListOfTypes) {
  Define(OpDefBuilder("t.Pairs").Input("a: T").Input("b: T").Output("y: float").Attr("T: list(type) >= 1"));
  EXPECT_EQ(Run("t.Pairs", {kF32, kI32, kF32, kI32}), "f32[4]");
  EXPECT_EQ(Run("t.Pairs", {kF32, kI32, kF32, kI64}),
            "[t.Pairs] argument 3 (b) must be i32 like argument 1, got i64[2]");
}

TEST_F(OpSignatureTest, EX5_ListOfTypesOfResultsAlone) {
  Define(OpDefBuilder("t.Make").Output("y: T").Attr("T: list(type)"));
  EXPECT_EQ(RunWithList<DType>("t.Make", {}, "T", {kF32, kI64}, 2), "f32[0], i64[0]");
  EXPECT_EQ(RunWithList<DType>("t.Make", {}, "T", {kF32, kI64}, 3), "[t.Make] expected 2 results, got 3");
  EXPECT_EQ(Run("t.Make", {}), "[t.Make] attribute T is required, expected T: list(type)");
}

TEST_F(OpSignatureTest, EX5_RepeatedResult) {
  Define(OpDefBuilder("t.Split").Input("x: T").Output("y: num * T").Attr("num: int >= 1").Attr("T: type"));
  OpAttrs attrs;
  attrs.Set("num", int64_t{3});
  EXPECT_EQ(Run("t.Split", {kF32}, 3, attrs), "f32[1], f32[1], f32[1]");
  EXPECT_EQ(Run("t.Split", {kF32}, 2, attrs), "[t.Split] expected 3 results, got 2");
  OpAttrs many;
  many.Set("num", INT64_MAX);
  EXPECT_EQ(Run("t.Split", {kF32}, 2, many), "[t.Split] expected 9223372036854775807 results, got 2");
}

TEST_F(OpSignatureTest, EX5_TypeOfAnEmptySequenceMustBeGiven) {
  Define(OpDefBuilder("t.AddN").Input("x: N * T").Output("y: T").Attr("N: int >= 0").Attr("T: {float, double}"));
  EXPECT_EQ(Run("t.AddN", {}), "[t.AddN] attribute T is required, expected T: {float, double}");
  EXPECT_EQ(RunWith("t.AddN", {}, "T", kF64), "f64[0]");
}

TEST_F(OpSignatureTest, EX5_ManyArgumentsAndResults) {
  Define(OpDefBuilder("t.Many").Input("x: N * float").Output("y: N * float").Attr("N: int >= 0"));
  Args args;
  for (int i = 0; i < 300; ++i) args.Add(rt_.F32({1}));
  const std::vector<TensorHandle> results = rt_.CallN("t.Many", std::move(args), 300);
  for (const TensorHandle& result : results) ASSERT_EQ(TextOf(result.metadata()), "f32[300]");
}

// A wrong call with pending arguments of known metadata is wrong at once.
TEST_F(OpSignatureTest, EX5_PendingArgumentsAreCheckedAtOnce) {
  const Promise promise = rt_.MakePromise({kI64, {2}});
  Define(OpDefBuilder("t.One").Input("x: float").Output("y: float"));
  const TensorHandle result = rt_.Call("t.One", {promise.Handle()});
  ASSERT_TRUE(result.IsError());
  EXPECT_EQ(result.GetError().message(), "[t.One] argument 0 (x) must be f32, got i64[2]");
}

// Without metadata the check is late, but it comes.
TEST_F(OpSignatureTest, EX5_PendingMetadataIsCheckedLate) {
  Define(OpDefBuilder("t.Two").Input("x: float").Output("y: float").Output("z: float"));
  Promise promise = rt_.MakePromise();
  const std::vector<TensorHandle> results = rt_.CallN("t.Two", {promise.Handle()}, 2);
  EXPECT_FALSE(results[0].IsAvailable());
  promise.SetMetadata({kI64, {2}});
  for (const TensorHandle& result : results) {
    ASSERT_TRUE(result.IsError());
    EXPECT_EQ(result.GetError().message(), "[t.Two] argument 0 (x) must be f32, got i64[2]");
  }
  EXPECT_EQ(rt_.told().size(), 1u);
  promise.Fail(Internal("late"));
}

// MD-6: of several mistakes, the first in this order is told: number of arguments, dtypes, attributes in the order of
// the definition, number of results; whatever order the call gives its attributes in, and be they frozen or not.
TEST_F(OpSignatureTest, MD6_SeveralMistakesAreToldInOneOrder) {
  Define(OpDefBuilder("t.Order")
             .Input("x: T")
             .Output("y: T")
             .Attr("zeta: int >= 2")
             .Attr("T: {float, int32}")
             .Attr("mid: {'a', 'b'} = 'a'")
             .Attr("alpha: bool"));
  const auto run = [&](std::initializer_list<DType> args, int num_results, const OpAttrs& attrs) {
    const std::string now = Run("t.Order", args, num_results, attrs);
    EXPECT_EQ(Run("t.Order", args, num_results, OpAttrsRef(attrs).Freeze()), now);
    if (args.size() == 1) {
      Promise promise = rt_.MakePromise();
      const std::vector<TensorHandle> late = rt_.CallN("t.Order", {promise.Handle()}, num_results, attrs);
      promise.Resolve(Of(args).span()[0].tensor());
      EXPECT_EQ(rt_.ErrorOf(late[0]), now);
    }
    return now;
  };
  OpAttrs all_wrong;
  all_wrong.Set("alpha", int64_t{1});
  all_wrong.Set("mid", "c");
  EXPECT_EQ(run({kF32, kF32}, 2, all_wrong), "[t.Order] expected 1 argument, got 2");
  EXPECT_EQ(run({kF64}, 2, all_wrong), "[t.Order] argument 0 (x) must be one of {i32, f32}, got f64[2]");
  EXPECT_EQ(run({kF32}, 2, all_wrong), "[t.Order] attribute zeta is required, expected zeta: int >= 2");
  all_wrong.Set("zeta", int64_t{1});
  EXPECT_EQ(run({kF32}, 2, all_wrong), "[t.Order] attribute zeta must be at least 2, got 1");
  OpAttrs two_wrong;
  two_wrong.Set("alpha", int64_t{1});
  two_wrong.Set("mid", "c");
  two_wrong.Set("zeta", int64_t{2});
  EXPECT_EQ(run({kF32}, 2, two_wrong), "[t.Order] attribute mid must be one of 'a', 'b', got 'c'");
  OpAttrs wrong;
  wrong.Set("alpha", int64_t{1});
  wrong.Set("zeta", int64_t{2});
  EXPECT_EQ(run({kF32}, 2, wrong), "[t.Order] attribute alpha must be bool, got i64");
  wrong.Set("yes", true);
  wrong.Set("no", true);
  EXPECT_EQ(run({kF32}, 2, wrong), "[t.Order] attribute no is not defined, expected one of zeta, T, mid, alpha");
  OpAttrs right;
  right.Set("alpha", true);
  right.Set("zeta", int64_t{2});
  EXPECT_EQ(run({kF32}, 2, right), "[t.Order] expected 1 result, got 2");
}

// What was found right of a frozen set is not looked at again: the rest of a call is, and other sets are.
TEST_F(OpSignatureTest, AT3_FrozenAttributesAreCheckedWithEachCallsArguments) {
  Define(OpDefBuilder("t.Frozen")
             .Input("xs: Ts")
             .Output("ys: Us")
             .Attr("Ts: list({float, int32})")
             .Attr("Us: list(type) >= 1")
             .Attr("mode: {'a', 'b'} = 'a'"));
  Define(
      OpDefBuilder("t.Numbers").Input("x: T").Output("ys: N * U").Attr("T: type").Attr("N: int >= 1").Attr("U: type"));
  const auto freeze = [](std::string_view mode, std::vector<DType> dtypes) {
    OpAttrs attrs;
    EXPECT_TRUE(attrs.Set("mode", mode));
    EXPECT_TRUE(attrs.SetArray("Us", std::span<const DType>(dtypes)));
    return attrs.Freeze();
  };
  const OpAttrsRef right = freeze("b", {kF32, kI32});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Run("t.Frozen", {kF32}, 2, right), "f32[1], i32[1]");
    EXPECT_EQ(Run("t.Frozen", {kI32, kF32}, 2, right), "f32[2], i32[2]");
    EXPECT_EQ(Run("t.Frozen", {kF64}, 2, right), "[t.Frozen] argument 0 (xs) must be one of {i32, f32}, got f64[2]");
    EXPECT_EQ(Run("t.Frozen", {kF32}, 1, right), "[t.Frozen] expected 2 results, got 1");
    EXPECT_EQ(Run("t.Frozen", {kF32}, 1, freeze("c", {kF32})),
              "[t.Frozen] attribute mode must be one of 'a', 'b', got 'c'");
    EXPECT_EQ(Run("t.Frozen", {kF32}, 1, freeze("a", {})),
              "[t.Frozen] length of attribute Us must be at least 1, got 0");
    OpAttrs numbers;
    EXPECT_TRUE(numbers.Set("N", int64_t{i + 1}) && numbers.Set("U", kI32));
    const OpAttrsRef frozen = numbers.Freeze();
    EXPECT_EQ(Run("t.Numbers", {kF64}, i + 1, frozen).substr(0, 6), "i32[1]");
    EXPECT_EQ(Run("t.Numbers", {kF32}, i + 1, frozen).substr(0, 6), "i32[1]");
  }
  // More sets than are kept, wrong ones between them, each as soon as another may have its memory.
  for (int i = 0; i < 200; ++i) {
    const bool is_right = i % 3 != 0;
    EXPECT_EQ(Run("t.Frozen", {kF32}, 1, freeze(is_right ? "a" : "x", {i % 2 == 0 ? kF32 : kF64})),
              !is_right ? "[t.Frozen] attribute mode must be one of 'a', 'b', got 'x'"
                        : std::string(i % 2 == 0 ? "f32[1]" : "f64[1]"));
  }
}

}  // namespace
}  // namespace tandem
