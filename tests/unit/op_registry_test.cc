// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The registry: look-up, listing, watchers, errors for names that are not there, self-description (OR-2, OR-3, OR-5,
// EX-4).

#include "tandem/op_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

TensorMetadata Same(const TensorMetadata& x) { return x; }

OpDefBuilder Unary(std::string_view name) {
  return OpDefBuilder(name).Input("x: T").Output("y: T").Attr("T: type").Metadata<&Same>();
}

void Register(OpRegistry& registry, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) EXPECT_TRUE(registry.Register(Unary(name)).ok()) << name;
}

std::vector<std::string> Names(const std::vector<const OpDef*>& defs) {
  std::vector<std::string> names;
  for (const OpDef* def : defs) names.emplace_back(def->name);
  return names;
}

TEST(OpRegistryTest, OR3_FindGivesTheDefinitionOrNull) {
  OpRegistry registry;
  Register(registry, {"tf.Neg"});
  const OpDef* def = registry.Find("tf.Neg");
  ASSERT_NE(def, nullptr);
  EXPECT_EQ(def->name, "tf.Neg");
  EXPECT_EQ(def->inputs.size(), 1u);
  EXPECT_EQ(registry.Find("tf.Abs"), nullptr);
  EXPECT_EQ(registry.Find(""), nullptr);
}

TEST(OpRegistryTest, OR3_FindNeedsNoTerminatingNul) {
  OpRegistry registry;
  Register(registry, {"tf.Neg"});
  EXPECT_NE(registry.Find(std::string_view("tf.Negative").substr(0, 6)), nullptr);
}

TEST(OpRegistryTest, OR3_DefinitionsStayWhereTheyAre) {
  OpRegistry registry;
  Register(registry, {"tf.M"});
  const OpDef* def = registry.Find("tf.M");
  for (int i = 0; i < 100; ++i) Register(registry, {"test.op" + std::to_string(i)});
  EXPECT_EQ(registry.Find("tf.M"), def);
}

TEST(OpRegistryTest, OR3_ListIsSortedByName) {
  OpRegistry registry;
  Register(registry, {"tf.Sub", "tandem.Gelu", "tf.Abs", "test.add"});
  EXPECT_EQ(Names(registry.List()), (std::vector<std::string>{"tandem.Gelu", "test.add", "tf.Abs", "tf.Sub"}));
}

TEST(OpRegistryTest, OR2_RegistriesAreIndependent) {
  OpRegistry one;
  OpRegistry other;
  Register(one, {"tf.Neg"});
  EXPECT_EQ(other.Find("tf.Neg"), nullptr);
  EXPECT_TRUE(other.List().empty());
}

TEST(OpRegistryTest, OR3_DuplicateNameIsAlreadyExistsAndChangesNothing) {
  OpRegistry registry;
  Register(registry, {"tf.Neg"});
  const OpDef* first = registry.Find("tf.Neg");
  const Status status = registry.Register(OpDefBuilder("tf.Neg").Doc("Another one."));
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), "[tf.Neg] an op of this name is already defined");
  EXPECT_EQ(registry.Find("tf.Neg"), first);
  EXPECT_EQ(first->doc, "");
}

TEST(OpRegistryTest, OR1_FaultyDefinitionIsNotRegistered) {
  OpRegistry registry;
  const Status status = registry.Register(OpDefBuilder("tf.Neg").Input("x: U"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "[tf.Neg] input \"x: U\": U is neither a dtype nor an attribute of the op");
  EXPECT_EQ(registry.Find("tf.Neg"), nullptr);
}

TEST(OpRegistryTest, OR2_RegisterAllGoesOnAfterFailuresAndReportsThemAll) {
  OpRegistry registry;
  Register(registry, {"tf.Neg"});
  const Status status = registry.RegisterAll({Unary("tf.Neg"), Unary("tf.Abs"), Unary("Sign"), Unary("tf.Exp")});
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(),
            "[tf.Neg] an op of this name is already defined; "
            "[Sign] name \"Sign\": expected prefix.Name of letters, digits and underscores");
  EXPECT_EQ(Names(registry.List()), (std::vector<std::string>{"tf.Abs", "tf.Exp", "tf.Neg"}));
}

TEST(OpRegistryTest, OR2_RegisterAllOfSoundDefinitionsIsOk) {
  OpRegistry registry;
  EXPECT_TRUE(registry.RegisterAll({Unary("tf.Abs"), Unary("tf.Neg")}).ok());
  EXPECT_TRUE(registry.RegisterAll({}).ok());
}

TEST(OpRegistryTest, OR2_RegisterAllGivesASingleFailureAsItIs) {
  OpRegistry registry;
  const Status status = registry.RegisterAll({Unary("tf.Abs"), Unary("Neg")});
  EXPECT_EQ(status.op(), "Neg");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

// OR-3

TEST(OpRegistryWatcherTest, OR3_HearsOfLaterRegistrationsOnly) {
  OpRegistry registry;
  Register(registry, {"tf.Abs"});
  std::vector<std::string> heard;
  registry.AddWatcher([&](const OpDef& def) { heard.emplace_back(def.name); });
  Register(registry, {"tf.Neg", "tf.Exp"});
  EXPECT_EQ(heard, (std::vector<std::string>{"tf.Neg", "tf.Exp"}));
}

TEST(OpRegistryWatcherTest, OR3_DoesNotHearOfFailedRegistrations) {
  OpRegistry registry;
  Register(registry, {"tf.Abs"});
  int calls = 0;
  registry.AddWatcher([&](const OpDef&) { ++calls; });
  EXPECT_FALSE(registry.Register(Unary("tf.Abs")).ok());
  EXPECT_FALSE(registry.Register(Unary("Neg")).ok());
  EXPECT_EQ(calls, 0);
}

TEST(OpRegistryWatcherTest, OR3_FindsTheNewDefinitionInTheRegistry) {
  OpRegistry registry;
  const OpDef* found = nullptr;
  size_t listed = 0;
  registry.AddWatcher([&](const OpDef& def) {
    found = registry.Find(def.name);
    listed = registry.List().size();
  });
  Register(registry, {"tf.Neg"});
  EXPECT_EQ(found, registry.Find("tf.Neg"));
  EXPECT_EQ(listed, 1u);
}

TEST(OpRegistryWatcherTest, OR3_IsNotCalledOnceRemoved) {
  OpRegistry registry;
  int first = 0;
  int second = 0;
  const int id = registry.AddWatcher([&](const OpDef&) { ++first; });
  registry.AddWatcher([&](const OpDef&) { ++second; });
  Register(registry, {"tf.Neg"});
  registry.RemoveWatcher(id);
  Register(registry, {"tf.Abs"});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(OpRegistryWatcherTest, RemovingAnUnknownWatcherDoesNothing) {
  OpRegistry registry;
  registry.RemoveWatcher(17);
  Register(registry, {"tf.Neg"});
  EXPECT_NE(registry.Find("tf.Neg"), nullptr);
}

TEST(OpRegistryTest, OR3_ThreadsMayRegisterAndLookUpAtTheSameTime) {
  OpRegistry registry;
  std::atomic<int> heard = 0;
  registry.AddWatcher([&](const OpDef&) { ++heard; });
  std::atomic<int> already_there = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = "test.op" + std::to_string(i);
        const Status status = registry.Register(Unary(name));
        if (status.code() == StatusCode::kAlreadyExists) ++already_there;
        const OpDef* def = registry.Find(name);
        EXPECT_TRUE(def != nullptr && def->name == name);
        EXPECT_FALSE(registry.List().empty());
        EXPECT_EQ(registry.NotFoundError("test.missing").code(), StatusCode::kNotFound);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.List().size(), 50u);
  EXPECT_EQ(heard, 50);
  EXPECT_EQ(already_there, 150);
}

// EX-4

class OpRegistryNotFoundTest : public testing::Test {
 protected:
  OpRegistryNotFoundTest() {
    Register(registry_, {"tf.Abs", "tf.AddN", "tf.AddV2", "tf.BatchMatMulV2", "tf.MatMul", "tf.Relu", "tf.Softmax",
                         "tandem.Gelu", "test.add", "test.create_dense_tensor"});
  }
  // What is suggested for `name`, or "nothing".
  std::string Suggested(std::string_view name) const {
    const Status status = registry_.NotFoundError(name);
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    const std::string text(status.message());
    const std::string bare = "op " + std::string(name) + " is not defined";
    if (text == bare) return "nothing";
    const std::string start = bare + ", did you mean ";
    EXPECT_EQ(text.substr(0, start.size()), start);
    return text.substr(start.size());
  }
  OpRegistry registry_;
};

TEST_F(OpRegistryNotFoundTest, EX4_TextOfTheError) {
  EXPECT_EQ(registry_.NotFoundError("tf.MatMull").message(), "op tf.MatMull is not defined, did you mean tf.MatMul");
  EXPECT_EQ(registry_.NotFoundError("tf.Frobnicate").message(), "op tf.Frobnicate is not defined");
  EXPECT_EQ(registry_.NotFoundError("").message(), "expected the name of an op, got an empty one");
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsForMisspeltNames) {
  EXPECT_EQ(Suggested("tf.MatMl"), "tf.MatMul");
  EXPECT_EQ(Suggested("tf.MatMlu"), "tf.MatMul");
  EXPECT_EQ(Suggested("tf.Sotfmax"), "tf.Softmax");
  EXPECT_EQ(Suggested("test.create_dense_tenzor"), "test.create_dense_tensor");
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsForOtherCase) {
  EXPECT_EQ(Suggested("tf.matmul"), "tf.MatMul");
  EXPECT_EQ(Suggested("TF.MatMul"), "tf.MatMul");
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsForMissingOrWrongPrefix) {
  EXPECT_EQ(Suggested("MatMul"), "tf.MatMul");
  EXPECT_EQ(Suggested("matmul"), "tf.MatMul");
  EXPECT_EQ(Suggested("tf.Gelu"), "tandem.Gelu");
  EXPECT_EQ(Suggested("Add"), "tf.AddV2");
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsForMissingOrWrongVersion) {
  EXPECT_EQ(Suggested("tf.Add"), "tf.AddV2");
  EXPECT_EQ(Suggested("tf.AddV3"), "tf.AddV2");
  EXPECT_EQ(Suggested("tf.MatMulV2"), "tf.MatMul");
  EXPECT_EQ(Suggested("tf.BatchMatMul"), "tf.BatchMatMulV2");
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsNothingFarOff) {
  EXPECT_EQ(Suggested("tf.Conv2D"), "nothing");
  EXPECT_EQ(Suggested("tf.Eq"), "nothing");
  EXPECT_EQ(Suggested("."), "nothing");
  EXPECT_EQ(Suggested(std::string(500, 'a')), "nothing");
}

TEST_F(OpRegistryNotFoundTest, EX4_DoesNotSuggestTheNameItself) { EXPECT_EQ(Suggested("tf.Softmax"), "nothing"); }

TEST_F(OpRegistryNotFoundTest, EX4_LeftOutOfTheBuildIsADistinctError) {
  registry_.MarkLeftOut("tf.Conv2D");
  const Status status = registry_.NotFoundError("tf.Conv2D");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "op tf.Conv2D was left out of this build by selective registration: name it in the list of ops that the "
            "build is given (TANDEM_OPS, tandem-rt trim)");
  EXPECT_EQ(registry_.Find("tf.Conv2D"), nullptr);
}

TEST_F(OpRegistryNotFoundTest, EX4_SuggestsNothingThatWasLeftOut) {
  registry_.MarkLeftOut("tf.Conv2D");
  EXPECT_EQ(Suggested("tf.Conv2d"), "nothing");
}

// OR-5

TEST(OpRegistryJsonTest, OR5_EmptyRegistry) { EXPECT_EQ(OpRegistry().ToJson(), "{\"format\": 1, \"ops\": [\n]}\n"); }

TEST(OpRegistryJsonTest, OR5_DescribesEverythingOfAnOp) {
  OpRegistry registry;
  ASSERT_TRUE(registry
                  .Register(OpDefBuilder("tf.ConcatV2")
                                .Input("values: N * T")
                                .HostInput("axis: Tidx")
                                .Output("output: T")
                                .Attr("N: int >= 2")
                                .Attr("T: type")
                                .Attr("Tidx: {int32, int64} = DT_INT32")
                                .Metadata(EraseMetadataFunction<&Same>())
                                .Doc("Joins tensors."))
                  .ok());
  EXPECT_EQ(
      registry.ToJson(),
      "{\"format\": 1, \"ops\": [\n"
      R"({"name": "tf.ConcatV2", "doc": "Joins tensors.", "side_effects": false, "metadata": true, )"
      R"("host_inputs": true, "kernel_type_attr": "T", "inputs": [)"
      R"({"name": "values", "type_attr": "T", "number_attr": "N", "host_input": false}, )"
      R"({"name": "axis", "type_attr": "Tidx", "host_input": true}], "outputs": [)"
      R"({"name": "output", "type_attr": "T", "host_input": false}], "attrs": [)"
      R"({"name": "N", "kind": "int", "list": false, "inferred": true, "minimum": 2, "spec": "N: int >= 2"}, )"
      R"({"name": "T", "kind": "type", "list": false, "inferred": true, "allowed": ["bool", "u8", "i8", "u16", "i16", )"
      R"("i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "string"], "spec": "T: type"}, )"
      R"({"name": "Tidx", "kind": "type", "list": false, "inferred": true, "allowed": ["i32", "i64"], )"
      R"("default": "i32", "spec": "Tidx: {int32, int64} = DT_INT32"}]})"
      "\n]}\n");
}

TEST(OpRegistryJsonTest, OR5_OtherKindsOfArguments) {
  OpRegistry registry;
  ASSERT_TRUE(registry
                  .Register(OpDefBuilder("test.op")
                                .Input("x: string")
                                .Input("xs: L")
                                .Output("y: any")
                                .Attr("L: list(numbertype)")
                                .SideEffects())
                  .ok());
  const std::string json = registry.ToJson();
  EXPECT_NE(json.find(R"("side_effects": true, "metadata": false, "host_inputs": false, "inputs": [)"
                      R"({"name": "x", "dtype": "string", "host_input": false}, )"
                      R"({"name": "xs", "type_list_attr": "L", "host_input": false}], "outputs": [)"
                      R"({"name": "y", "any_dtype": true, "host_input": false}])"),
            json.npos)
      << json;
}

TEST(OpRegistryJsonTest, OR5_KindsOfOps) {
  OpRegistry registry;
  const auto define = [](const char* name) {
    return std::move(OpDefBuilder(name).Input("x: float").Output("y: float"));
  };
  ASSERT_TRUE(registry
                  .RegisterAll({define("t.A").Elementwise(), define("t.B").Reduction(), define("t.C").Layout(),
                                define("t.D").Aliases(0), define("t.E")})
                  .ok());
  const std::string json = registry.ToJson();
  const auto has = [&](std::string_view op, std::string_view what) {
    const size_t start = json.find("{\"name\": \"" + std::string(op) + "\"");
    return json.substr(start, json.find('\n', start) - start).find(what) != json.npos;
  };
  EXPECT_TRUE(has("t.A", R"("host_inputs": false, "kind": "elementwise", "inputs")")) << json;
  EXPECT_TRUE(has("t.B", R"("kind": "reduction", "inputs")")) << json;
  EXPECT_TRUE(has("t.C", R"("kind": "layout", "inputs")")) << json;
  EXPECT_TRUE(has("t.D", R"("kind": "layout", "aliased_input": 0, "inputs")")) << json;
  EXPECT_FALSE(has("t.E", "kind\": \"o")) << json;
}

TEST(OpRegistryJsonTest, OR5_OneOpALineSortedWhateverTheOrderOfRegistration) {
  OpRegistry one;
  OpRegistry other;
  Register(one, {"tf.Abs", "tf.Neg", "tf.Exp"});
  Register(other, {"tf.Neg", "tf.Exp", "tf.Abs"});
  EXPECT_EQ(one.ToJson(), other.ToJson());
  std::vector<std::string> starts;
  const std::string json = one.ToJson();
  for (size_t i = json.find('\n'); i != json.npos; i = json.find('\n', i + 1)) starts.push_back(json.substr(i + 1, 17));
  EXPECT_EQ(starts, (std::vector<std::string>{R"({"name": "tf.Abs")", R"({"name": "tf.Exp")", R"({"name": "tf.Neg")",
                                              "]}\n", ""}));
}

// The default's JSON, of an op with this one attribute.
std::string DefaultJson(std::string_view spec) {
  OpRegistry registry;
  EXPECT_TRUE(registry.Register(OpDefBuilder("test.op").Attr(spec)).ok()) << spec;
  const std::string json = registry.ToJson();
  const std::string key = "\"default\": ";
  const size_t start = json.find(key) + key.size();
  return json.substr(start, json.find(", \"spec\"", start) - start);
}

TEST(OpRegistryJsonTest, OR5_DefaultsByKind) {
  EXPECT_EQ(DefaultJson("a: bool = true"), "true");
  EXPECT_EQ(DefaultJson("a: int = -7"), "-7");
  EXPECT_EQ(DefaultJson("a: type = DT_HALF"), "\"f16\"");
  EXPECT_EQ(DefaultJson("a: string = ''"), "\"\"");
  EXPECT_EQ(DefaultJson("a: func = 'body'"), "\"body\"");
  EXPECT_EQ(DefaultJson("a: shape = [2, -1]"), "[2, -1]");
  EXPECT_EQ(DefaultJson("a: list(bool) = [true, false]"), "[true, false]");
  EXPECT_EQ(DefaultJson("a: list(shape) = [[1], []]"), "[[1], []]");
  EXPECT_EQ(DefaultJson("a: list(int) = []"), "[]");
}

TEST(OpRegistryJsonTest, OR5_FloatsAreShortAndExact) {
  EXPECT_EQ(DefaultJson("a: float = 0.2"), "0.2");
  EXPECT_EQ(DefaultJson("a: float = -0.0"), "-0.0");
  EXPECT_EQ(DefaultJson("a: list(float) = [inf, -inf, nan]"), R"(["inf", "-inf", "nan"])");
}

TEST(OpRegistryJsonTest, OR5_LargeIntegersAreTexts) {
  EXPECT_EQ(DefaultJson("a: int = 9007199254740992"), "9007199254740992");
  EXPECT_EQ(DefaultJson("a: int = 9007199254740993"), "\"9007199254740993\"");
  EXPECT_EQ(DefaultJson("a: int = -9223372036854775808"), "\"-9223372036854775808\"");
}

// The JSON string for `doc`.
std::string DocJson(std::string_view doc) {
  OpRegistry registry;
  EXPECT_TRUE(registry.Register(OpDefBuilder("test.op").Doc(doc)).ok());
  const std::string json = registry.ToJson();
  const std::string key = "\"doc\": ";
  const size_t start = json.find(key) + key.size();
  return json.substr(start, json.find(", \"side_effects\"", start) - start);
}

TEST(OpRegistryJsonTest, OR5_StringsAreEscaped) {
  EXPECT_EQ(DocJson("say \"hi\"\\\nnext"), R"("say \"hi\"\\\nnext")");
  EXPECT_EQ(DocJson("a\tb\x01\x1f\x7f!"), R"("a\u0009b\u0001\u001f\u007f!")");
  EXPECT_EQ(DocJson(std::string_view("nul\0!", 5)), R"("nul\u0000!")");
}

TEST(OpRegistryJsonTest, OR5_ValidUtf8IsKept) {
  EXPECT_EQ(DocJson("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(OpRegistryJsonTest, OR5_InvalidUtf8IsReplaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(DocJson("a\xFF!"), "\"a" + replacement + "!\"");
  EXPECT_EQ(DocJson("a\xC0\x80!"), "\"a" + replacement + replacement + "!\"");                    // overlong
  EXPECT_EQ(DocJson("a\xED\xA0\x80!"), "\"a" + replacement + replacement + replacement + "!\"");  // a surrogate
  EXPECT_EQ(DocJson("a\xE2\x82"), "\"a" + replacement + replacement + "\"");                      // cut off
}

TEST(OpRegistryJsonTest, OR5_AllowedStrings) {
  OpRegistry registry;
  ASSERT_TRUE(registry.Register(OpDefBuilder("test.op").Attr("p: list({'SAME', \"it's\"}) >= 1")).ok());
  const std::string json = registry.ToJson();
  EXPECT_NE(
      json.find(R"({"name": "p", "kind": "string", "list": true, "inferred": false, "allowed": ["SAME", "it's"], )"
                R"("minimum": 1, "spec": "p: list({'SAME', \"it's\"}) >= 1"})"),
      json.npos)
      << json;
}

}  // namespace
}  // namespace tandem
