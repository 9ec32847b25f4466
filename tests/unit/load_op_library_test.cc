// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Op libraries from shared libraries, whose sources are in plugins/: what they bring, that it goes with them, and each
// thing that may be wrong with one (DL-1, DL-4, OR-3).

#include "tandem/load_op_library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if !defined(__EMSCRIPTEN__) || defined(TANDEM_WASM_OP_LIBRARIES)
#include <dlfcn.h>
#endif

#include "tandem/program.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"
#include "test_runtime.h"

namespace tandem {
namespace {

#if defined(__EMSCRIPTEN__) && !defined(TANDEM_WASM_OP_LIBRARIES)

TEST(LoadOpLibraryTest, DL4_WebAssemblyLoadsNone) {
  TestRuntime rt;
  EXPECT_EQ(LoadOpLibrary(rt.runtime(), "plugin.so").status().code(), StatusCode::kUnimplemented);
}

#else

std::string PathOf(std::string_view name) { return std::string(TANDEM_TEST_PLUGINS "/") + std::string(name) + ".so"; }

bool IsLoaded(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}
// Side modules of WebAssembly stay.
bool IsGone([[maybe_unused]] const std::string& path) {
#ifdef __EMSCRIPTEN__
  return true;
#else
  return !IsLoaded(path);
#endif
}

class LoadOpLibraryTest : public testing::Test {
 protected:
  LoadOpLibraryTest() : LoadOpLibraryTest(2) {}
  explicit LoadOpLibraryTest(int num_workers) : rt_(Unheard(num_workers)) {}

  static HostContext::Options Unheard(int num_workers) {
    HostContext::Options options = TestRuntime::WithWorkers(num_workers);
    options.diagnostic_handler = [](const Status&) {};
    return options;
  }
  LoadedOpLibrary Load(const std::string& path = PathOf("good")) {
    StatusOr<LoadedOpLibrary> library = LoadOpLibrary(rt_.runtime(), path);
    EXPECT_TRUE(library.ok()) << library.status().ToString();
    return library.ok() ? std::move(*library) : LoadedOpLibrary();
  }
  std::vector<std::string> OpNames() {
    std::vector<std::string> names;
    for (const OpDef* def : rt_.runtime().registry().List()) names.emplace_back(def->name);
    return names;
  }
  std::string StringOf(const TensorHandle& handle, int64_t index = 0) {
    const Status status = rt_.host().Await(handle);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? std::string(StringHostView(handle.tensor())[index]) : std::string();
  }
  // The error of a file that is no op library, which leaves nothing behind.
  Status ErrorOf(const std::string& path) {
    const std::vector<std::string> before = OpNames();
    const uint32_t line = std::source_location::current().line() + 1;
    const Status error = LoadOpLibrary(rt_.runtime(), path).status();
    EXPECT_EQ(error.location().line, line);
    EXPECT_TRUE(error.location().file.ends_with("load_op_library_test.cc")) << error.location().file;
    EXPECT_EQ(OpNames(), before);
    EXPECT_TRUE(path.empty() || IsGone(path));
    return error;
  }
  void ExpectGone(const AsyncValueRef<Chain>& unloaded) {
    EXPECT_TRUE(rt_.AwaitChain(unloaded).ok());
    EXPECT_TRUE(IsGone(PathOf("good")));
    EXPECT_TRUE(std::ranges::none_of(OpNames(), [](const std::string& name) { return name.starts_with("plug."); }));
  }

  TestRuntime rt_;
};

TEST_F(LoadOpLibraryTest, DL1_ALibraryBringsOpsAndTakesThemAway) {
  const std::vector<std::string> before = OpNames();
  LoadedOpLibrary library = Load();
  EXPECT_TRUE(IsLoaded(PathOf("good")));
  EXPECT_EQ(rt_.Values(rt_.Call("plug.Repeat", {rt_.F32({3}), rt_.I32({4})})), std::vector<float>(4, 3));
  ExpectGone(library.Unload());
  EXPECT_EQ(OpNames(), before);
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("plug.Repeat", {rt_.F32({3}), rt_.I32({4})})),
            "[plug.Repeat] op plug.Repeat is not defined");
  EXPECT_TRUE(library.Unload().IsConcrete());
  // And once more.
  library = Load();
  EXPECT_EQ(rt_.Values(rt_.Call("plug.Repeat", {rt_.F32({2}), rt_.I32({1})})), std::vector<float>{2});
  library = LoadedOpLibrary();
  EXPECT_TRUE(IsGone(PathOf("good")));
}

TEST_F(LoadOpLibraryTest, DL1_APathIsLoadedOnce) {
  LoadedOpLibrary first = Load();
  LoadedOpLibrary second = Load(TANDEM_TEST_PLUGINS "/../plugins/./good.so");
  EXPECT_TRUE(first.Unload().IsConcrete());
  EXPECT_EQ(rt_.Values(rt_.Call("plug.Repeat", {rt_.F32({3}), rt_.I32({1})})), std::vector<float>{3});
  ExpectGone(second.Unload());
}

TEST_F(LoadOpLibraryTest, DL1_RuntimesHaveLibrariesOfTheirOwn) {
  const LoadedOpLibrary library = Load();
  {
    TestRuntime other;
    EXPECT_TRUE(LoadOpLibrary(other.runtime(), PathOf("good")).ok());
  }
  EXPECT_EQ(rt_.Values(rt_.Call("plug.Repeat", {rt_.F32({3}), rt_.I32({1})})), std::vector<float>{3});
}

TEST_F(LoadOpLibraryTest, DL1_SequencesOfArguments) {
  const LoadedOpLibrary library = Load();
  EXPECT_EQ(rt_.Values(rt_.Call("plug.AddN", {rt_.F32({1, 2}), rt_.F32({10, 20}), rt_.F32({100, 200})})),
            (std::vector<float>{111, 222}));
  const auto i64 = [&](const std::vector<int64_t>& values) { return rt_.Dense<int64_t>({std::ssize(values)}, values); };
  EXPECT_EQ(rt_.Values<int64_t>(rt_.Call("plug.AddN", {i64({int64_t{1} << 40}), i64({1})})),
            std::vector<int64_t>{(int64_t{1} << 40) + 1});
  // One value for a whole shape.
  EXPECT_EQ(rt_.Values(rt_.Call("plug.AddN", {rt_.F32({1, 2}), rt_.Spread({2}, 5)})), (std::vector<float>{6, 7}));
  // Long enough to be shared out among threads.
  constexpr int64_t kMany = 1 << 20;
  const TensorHandle sum = rt_.Call("plug.AddN", {TensorHandle::MakeAvailable(rt_.Filled(kMany, 1)),
                                                  TensorHandle::MakeAvailable(rt_.Filled(kMany, 2))});
  EXPECT_EQ(rt_.Values(sum), std::vector<float>(kMany, 3));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("plug.AddN", {rt_.F32({1, 2}), rt_.F32({1})})),
            "[plug.AddN] shapes must agree, input 1 has 1 elements");
  // No kernel for i32, which the definition allows; none defined for f64.
  EXPECT_EQ(rt_.CodeOf(rt_.Call("plug.AddN", {rt_.I32({1})})), StatusCode::kUnimplemented);
  EXPECT_EQ(rt_.CodeOf(rt_.Call("plug.AddN", {rt_.Dense<double>({1}, {1})})), StatusCode::kInvalidArgument);
}

TEST_F(LoadOpLibraryTest, DL1_ForwardingTakesOverMemory) {
  const LoadedOpLibrary library = Load();
  TensorHandle x = TensorHandle::MakeAvailable(rt_.Filled(100, 1));
  const void* const memory = x.tensor().data();
  const TensorHandle sum = rt_.Call("plug.AddN", {std::move(x)});
  EXPECT_EQ(rt_.Values(sum), std::vector<float>(100, 1));
  EXPECT_EQ(sum.tensor().data(), memory);
  const TensorHandle kept = TensorHandle::MakeAvailable(rt_.Filled(100, 1));
  const TensorHandle next = rt_.Call("plug.AddN", {kept, kept});
  EXPECT_EQ(rt_.Values(next), std::vector<float>(100, 2));
  EXPECT_EQ(rt_.Values(kept), std::vector<float>(100, 1));
}

TEST_F(LoadOpLibraryTest, DL1_AttributesOfEveryType) {
  const LoadedOpLibrary library = Load();
  const float values[] = {2.5f, 1};
  OpAttrs few;
  ASSERT_TRUE(few.Set("a_tensor", TensorAttr{{DType::kF32, {2}}, values, {}}) && few.Set("a_value", int32_t{7}));
  EXPECT_EQ(StringOf(rt_.Call("plug.Describe", {}, few)),
            "a_bool=true; a_int=-3; a_float=0.5; a_dtype=dtype 10; a_string=none; a_shape=2x3; a_tensor=tensor of "
            "dtype 12, 2 elements, first 2.5; a_func=main; a_value=7; bools=[]; ints=1,2[]; floats=[]; dtypes=[]; "
            "strings=[]; shapes=[]; ");
  OpAttrs inner;
  inner.Set("inner", std::string_view("nested"));
  OpAttrs attrs;
  const bool bools[] = {true, false};
  const int64_t ints[] = {5};
  const float floats[] = {0.25f, -2};
  const DType dtypes[] = {DType::kI64, DType::kString};
  const std::string_view strings[] = {"x", "yz"};
  const TensorShape shapes[] = {{1}, {4, 5}};
  ASSERT_TRUE(attrs.Set("a_tensor", TensorAttr{{DType::kF32, {2}}, values, {}}) && attrs.Set("a_bool", false) &&
              attrs.Set("a_int", int64_t{9}) && attrs.Set("a_float", 1.5f) && attrs.Set("a_dtype", DType::kBool) &&
              attrs.Set("a_string", std::string_view("s")) && attrs.Set("a_shape", TensorShape({7})) &&
              attrs.Set("a_func", FunctionAttr{"fn"}) && attrs.Set("a_value", OpAttrsRef(inner)) &&
              attrs.SetArray("bools", std::span<const bool>(bools)) &&
              attrs.SetArray("ints", std::span<const int64_t>(ints)) &&
              attrs.SetArray("floats", std::span<const float>(floats)) &&
              attrs.SetArray("dtypes", std::span<const DType>(dtypes)) &&
              attrs.SetArray("strings", std::span<const std::string_view>(strings)) &&
              attrs.SetArray("shapes", std::span<const TensorShape>(shapes)));
  EXPECT_EQ(StringOf(rt_.Call("plug.Describe", {}, attrs)),
            "a_bool=false; a_int=9; a_float=1.5; a_dtype=dtype 1; a_string=s; a_shape=7; a_tensor=tensor of dtype 12, "
            "2 elements, first 2.5; a_func=fn; a_value={nested}; bools=true,false[]; ints=5[]; floats=0.25,-2[]; "
            "dtypes=dtype 8,dtype 15[]; strings=x,yz[]; shapes=1,4x5[]; ");
}

TEST_F(LoadOpLibraryTest, DL1_SeveralResultsOfAnyDType) {
  const LoadedOpLibrary library = Load();
  const auto half = [](float x) { return Float16(x); };
  const std::vector<TensorHandle> halves =
      rt_.CallN("plug.Split", {rt_.Dense<Float16>({3}, {half(1), half(2), half(3)})}, 2);
  EXPECT_EQ(static_cast<float>(rt_.Values<Float16>(halves[0])[0]), 1);
  EXPECT_EQ(static_cast<float>(rt_.Values<Float16>(halves[1])[1]), 3);
  const std::vector<TensorHandle> longs = rt_.CallN("plug.Split", {rt_.Dense<int64_t>({4}, {1, 2, 3, 4})}, 2);
  EXPECT_EQ(rt_.Values<int64_t>(longs[0]), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(rt_.Values<int64_t>(longs[1]), (std::vector<int64_t>{3, 4}));
  const std::vector<uint8_t> bytes = {1, 0};
  const std::vector<TensorHandle> bools =
      rt_.CallN("plug.Split",
                {TensorHandle::MakeAvailable(*MakeDense({DType::kBool, {2}}, std::as_bytes(std::span(bytes)),
                                                        rt_.host().device(), rt_.host().allocator()))},
                2);
  EXPECT_TRUE(DenseData<bool>(bools[0].tensor())[0]);
  EXPECT_FALSE(DenseData<bool>(bools[1].tensor())[0]);
  const std::vector<TensorHandle> none = rt_.CallN("plug.Split", {rt_.F32({})}, 2);
  EXPECT_EQ(rt_.Values(none[0]), std::vector<float>());
  EXPECT_EQ(rt_.ErrorOf(rt_.CallN("plug.Split", {rt_.Dense<float>({1, 1}, {1})}, 2)[0]),
            "[plug.Split] expected a list");
}

TEST_F(LoadOpLibraryTest, DL1_Strings) {
  const LoadedOpLibrary library = Load();
  const std::string_view words[] = {"one", std::string_view("t\0o", 3), ""};
  const auto strings = MakeString({3}, words, rt_.host().device(), rt_.host().allocator());
  ASSERT_TRUE(strings.ok());
  const TensorHandle result = rt_.Call("plug.Upper", {TensorHandle::MakeAvailable(*strings)});
  EXPECT_EQ(StringOf(result, 0), "ONE");
  EXPECT_EQ(StringOf(result, 1), std::string("T\0O", 3));
  EXPECT_EQ(StringOf(result, 2), "");
}

TEST_F(LoadOpLibraryTest, DL1_ShapesThatDependOnData) {
  const LoadedOpLibrary library = Load();
  EXPECT_EQ(rt_.Values(rt_.Call("plug.NonZero", {rt_.F32({0, 3, 0, 4})})), (std::vector<float>{3, 4}));
  const std::vector<float> many(1000, 2);
  EXPECT_EQ(rt_.Values(rt_.Call("plug.NonZero", {rt_.F32(many)})), many);
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("plug.Repeat", {rt_.F32({3}), rt_.I32({4, 5})})), "[plug.Repeat] expected one number");
}

TEST_F(LoadOpLibraryTest, DL1_EffectsInOrder) {
  const LoadedOpLibrary library = Load();
  AsyncValueRef<Chain> chain = MakeReadyChain();
  EXPECT_EQ(rt_.Values<int64_t>(rt_.Call("plug.Count", {}, {}, &chain)), std::vector<int64_t>{1});
  EXPECT_EQ(rt_.Values<int64_t>(rt_.Call("plug.Count", {}, {}, &chain)), std::vector<int64_t>{2});
  EXPECT_TRUE(rt_.AwaitChain(chain).ok());
  EXPECT_EQ(rt_.CodeOf(rt_.Call("plug.Count", {})), StatusCode::kInvalidArgument) << "CH-2";
}

TEST_F(LoadOpLibraryTest, DL1_ResultsThatComeLater) {
  const LoadedOpLibrary library = Load();
  const TensorHandle late = rt_.Call("plug.Later", {rt_.F32({1, 2})});
  const TensorHandle sum = rt_.Call("t.Add", {late, rt_.F32({10, 10})});
  EXPECT_EQ(rt_.Values(sum), (std::vector<float>{12, 13}));
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("fails", std::string_view("yes")));
  EXPECT_EQ(rt_.ErrorOf(rt_.Call("plug.Later", {rt_.F32({1, 2})}, attrs)), "[plug.Later] refused, later");
}

// CA-1, and what DI-5 says of kernels that are asynchronous in their own way.
TEST_F(LoadOpLibraryTest, DL1_DeferredCallsHearOfCancellation) {
  LoadedOpLibrary library = Load();
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("until_cancelled", true));
  const TensorHandle late = rt_.Call("plug.Later", {rt_.F32({1, 2})}, attrs);
  EXPECT_FALSE(late.IsAvailable());
  rt_.host().CancelExecution("enough");
  EXPECT_EQ(rt_.ErrorOf(late), "[plug.Later] enough");
  rt_.host().Restart();
  ExpectGone(library.Unload());
}

// A call that stops as soon as it may has the reason of the cancellation, too: this diagnostic handler hears of that
// after calls can see it and before pending results are told, and returns only when the call has finished.
TEST(DeferredCallTest, CA1_TheReasonIsTheCancellations) {
  TensorHandle late;
  HostContext::Options options = TestRuntime::WithWorkers(2);
  options.diagnostic_handler = [&late](const Status& error) {
    if (error.message() != "enough") return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!late.IsAvailable() && !late.IsError() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(late.IsError());
  };
  TestRuntime rt(std::move(options));
  const StatusOr<LoadedOpLibrary> library = LoadOpLibrary(rt.runtime(), PathOf("good"));
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  OpAttrs attrs;
  ASSERT_TRUE(attrs.Set("until_cancelled", true));
  late = rt.Call("plug.Later", {rt.F32({1, 2})}, attrs);
  rt.host().CancelExecution("enough");
  EXPECT_EQ(rt.ErrorOf(late), "[plug.Later] enough");
}

// The thread that ends the last call is the library's: others unload it.
TEST_F(LoadOpLibraryTest, OR3_DeferredCallsKeepTheCode) {
  for (int i = 0; i < 20; ++i) {
    LoadedOpLibrary library = Load();
    const TensorHandle late = rt_.Call("plug.Later", {rt_.F32({1})});
    const AsyncValueRef<Chain> unloaded = library.Unload();
    EXPECT_EQ(rt_.Values(late), std::vector<float>{2});
    ExpectGone(unloaded);
  }
}

TEST_F(LoadOpLibraryTest, OR3_DestroyingTheRuntimeEndsDeferredCalls) {
  TensorHandle late;
  {
    TestRuntime rt;
    LoadedOpLibrary library = std::move(*LoadOpLibrary(rt.runtime(), PathOf("good")));
    OpAttrs attrs;
    ASSERT_TRUE(attrs.Set("until_cancelled", true));
    late = rt.Call("plug.Later", {rt.F32({1})}, attrs);
  }
  EXPECT_TRUE(late.IsError());
  late.reset();
  EXPECT_TRUE(IsGone(PathOf("good")));
}

TEST_F(LoadOpLibraryTest, OR3_PendingCallsAndMadeOpsKeepTheCode) {
  LoadedOpLibrary library = Load();
  Promise promise = rt_.MakePromise({DType::kF32, {1}});
  const TensorHandle late = rt_.Call("plug.NonZero", {promise.Handle()});
  StatusOr<Op> op = rt_.runtime().MakeOp("plug.NonZero", &rt_.cpu());
  ASSERT_TRUE(op.ok());
  const AsyncValueRef<Chain> unloaded = library.Unload();
  EXPECT_FALSE(unloaded.IsAvailable());
  promise.Resolve(rt_.Filled(1, 5));
  EXPECT_EQ(rt_.Values(late), std::vector<float>{5});
  EXPECT_FALSE(unloaded.IsAvailable());
  EXPECT_TRUE(IsLoaded(PathOf("good")));
  *op = Op();
  ExpectGone(unloaded);
}

TEST_F(LoadOpLibraryTest, DL1_OneResultMayBeAnError) {
  const LoadedOpLibrary library = Load();
  const std::vector<TensorHandle> halves = rt_.CallN("plug.Halves", {rt_.F32({4})}, 2);
  EXPECT_EQ(rt_.Values(halves[0]), std::vector<float>{2});
  EXPECT_EQ(rt_.ErrorOf(halves[1]), "[plug.Halves] there is no second half");
  EXPECT_EQ(halves[1].GetError().code(), StatusCode::kOutOfRange);
}

TEST_F(LoadOpLibraryTest, DL4_WrongResultsAreErrorsOfTheCall) {
  const LoadedOpLibrary library = Load();
  const auto error = [&](std::string_view op) { return rt_.ErrorOf(rt_.Call(op, {rt_.F32({4})})); };
  EXPECT_EQ(error("plug.WrongMetadata"),
            "[plug.WrongMetadata] metadata function must give result 0 as f32, gave i32[]");
  EXPECT_EQ(error("plug.WrongDType"), "[plug.WrongDType] kernel must give result 0 as f32, gave i32[]");
  EXPECT_EQ(error("plug.WrongShape"), "[plug.WrongShape] kernel must give result 0 as f32[1], gave f32[77]");
  EXPECT_EQ(error("plug.NoResult"), "[plug.NoResult] kernel gave no value for result 0");
  EXPECT_EQ(error("plug.WrongAttr"), "[plug.WrongAttr] expected attribute text as int, got string");
}

// OH-2: what the library has no kernel for, the handler's fallback runs. It stays, empty, when the library goes.
TEST_F(LoadOpLibraryTest, DL1_AnOpHandlerOfTheLibrary) {
  LoadedOpLibrary library = Load();
  OpHandler* const handler = rt_.runtime().FindHandler("plug");
  ASSERT_NE(handler, nullptr);
  EXPECT_EQ(handler->fallback(), &rt_.cpu());
  const auto call = [&](std::string_view op, Args args) {
    TensorHandle result;
    rt_.runtime().Execute(op, handler, Location::Current(), args.span(), OpAttrsRef(), {&result, 1});
    return rt_.Values(result);
  };
  EXPECT_EQ(call("plug.Repeat", {rt_.F32({3}), rt_.I32({2})}), (std::vector<float>{3, 3}));
  EXPECT_EQ(call("t.Add", {rt_.F32({3}), rt_.F32({4})}), std::vector<float>{7});
  ExpectGone(library.Unload());
  EXPECT_EQ(call("t.Add", {rt_.F32({3}), rt_.F32({4})}), std::vector<float>{7});
  library = Load();
  EXPECT_EQ(rt_.runtime().FindHandler("plug"), handler);
  EXPECT_EQ(call("plug.Repeat", {rt_.F32({3}), rt_.I32({1})}), std::vector<float>{3});
}

TEST_F(LoadOpLibraryTest, PR3_OpsOfLibrariesInPrograms) {
  LoadedOpLibrary library = Load();
  const StatusOr<RcRef<const Program>> program = Program::FromText(R"(
      func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
        %cpu = corert.get_op_handler("cpu")
        %y = corert.executeop(%cpu) "plug.Later"(%x)
        %z = corert.executeop(%cpu) "plug.NonZero"(%y)
        tfrt.return %z : !corert.tensorhandle
      })",
                                                                   "program");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  AsyncValueRef<Chain> unloaded;
  {
    const StatusOr<ProgramRunner> runner = ProgramRunner::Create(rt_.runtime(), *program, {});
    ASSERT_TRUE(runner.ok()) << runner.status().ToString();
    unloaded = library.Unload();
    TensorHandle args[] = {rt_.F32({-1, 4})};
    TensorHandle result;
    runner->Run("main", ExecutionContext(rt_.host(), Location()), args, {&result, 1}, nullptr);
    EXPECT_EQ(rt_.Values(result), std::vector<float>{5});
    EXPECT_TRUE(IsLoaded(PathOf("good"))) << "the program has its ops";
  }
  ExpectGone(unloaded);
}

TEST_F(LoadOpLibraryTest, DL4_EachBadFileIsAnErrorAndLeavesNothing) {
  EXPECT_EQ(ErrorOf("/nowhere/none.so").code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrorOf("").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(TANDEM_TEST_PLUGINS).message(),
            "expected the op library " TANDEM_TEST_PLUGINS ": it is no regular file");
  const std::string text = testing::TempDir() + "load_op_library_test.so";
  std::ofstream(text) << "no library";
  EXPECT_EQ(ErrorOf(text).code(), StatusCode::kFailedPrecondition);
  std::filesystem::remove(text);
  const Status version = ErrorOf(PathOf("bad_version"));
  EXPECT_EQ(version.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(version.message(),
            "expected " + PathOf("bad_version") + " for version 1 of tandem_plugin.h, got one for version 99");
  EXPECT_EQ(ErrorOf(PathOf("bad_no_version")).message(),
            "expected " + PathOf("bad_no_version") + " to have tandem_plugin_abi_version");
  EXPECT_EQ(ErrorOf(PathOf("bad_no_init")).message(),
            "expected " + PathOf("bad_no_init") + " to have tandem_plugin_init");
}

TEST_F(LoadOpLibraryTest, DL4_ALibraryThatFailsHalfWayLeavesNothing) {
  const Status error = ErrorOf(PathOf("bad_fails"));
  EXPECT_EQ(error.code(), StatusCode::kUnavailable);
  EXPECT_EQ(error.message(), "op library " + PathOf("bad_fails") + ": expected a licence, got none");
  EXPECT_EQ(rt_.runtime().FindHandler("half"), nullptr);
  EXPECT_FALSE(rt_.cpu().HasKernel("plug.Half", DType::kInvalid));
  // The first name that is taken ends it, too, and what was there stays.
  const OpDefBuilder split = std::move(OpDefBuilder("plug.Split").Input("x: float").Output("y: float"));
  ASSERT_TRUE(rt_.runtime().registry().Register(split).ok());
  EXPECT_EQ(ErrorOf(PathOf("good")).code(), StatusCode::kAlreadyExists);
  EXPECT_NE(rt_.runtime().registry().Find("plug.Split"), nullptr);
}

// Each call has the ops or not; whoever has loaded the library has them.
TEST_F(LoadOpLibraryTest, DL1_ManyThreadsLoadCallAndUnload) {
  constexpr int kRounds = 20;
  std::atomic<int> wrong = 0;
  std::vector<AsyncValueRef<Chain>> unloaded(4 * kRounds);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        StatusOr<LoadedOpLibrary> library = LoadOpLibrary(rt_.runtime(), PathOf("good"));
        if (!library.ok()) {
          ++wrong;
          continue;
        }
        const float value = static_cast<float>(i * 100 + round + 1);
        const TensorHandle late = rt_.Call("plug.Later", {rt_.F32({value})});
        const TensorHandle same = rt_.Call("plug.NonZero", {late});
        AsyncValueRef<Chain>& ended = unloaded[static_cast<size_t>(i * kRounds + round)];
        if (round % 2 == 0) ended = library->Unload();
        if (!rt_.host().Await(same).ok() || DenseData<float>(same.tensor())[0] != value + 1) ++wrong;
        if (round % 2 != 0) ended = library->Unload();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (const AsyncValueRef<Chain>& ended : unloaded) EXPECT_TRUE(rt_.AwaitChain(ended).ok());
  EXPECT_TRUE(IsGone(PathOf("good")));
}

#endif

}  // namespace
}  // namespace tandem
