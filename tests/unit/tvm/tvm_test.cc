// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions compiled for TVM's ABIs, run as ops (DL-2) and refused with a reason and a place (DL-4): of libraries whose
// C sources follow what the ABIs publish.

#include "tandem/tvm.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "c_api_test_fixture.h"
#include "failing_heap.h"
#include "tandem/ops.h"

namespace tandem {
namespace {

std::string PathOf(std::string_view name) { return TANDEM_TVM_LIBRARIES + std::string(name) + ".so"; }

bool IsLoaded(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

class TvmTest : public testing::Test {
 protected:
  TvmTest() {
    rt_ =
        std::move(*eager::Runtime::Create({.num_threads = 2, .on_diagnostic = [this](const Status&) { ++num_told_; }}));
    ExpectOk(tvm::RegisterOps(rt_->core(), cpu()));
  }
  ~TvmTest() override {
    rt_ = nullptr;
    for (const char* name : {"classic", "ffi", "ffi_linked"}) EXPECT_FALSE(IsLoaded(PathOf(name))) << name;
  }

  static void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }
  KernelOpHandler& cpu() { return static_cast<KernelOpHandler&>(*rt_->core().FindHandler("cpu")); }
  tvm::Function Classic(std::string_view name) { return tvm::LoadModule(PathOf("classic"))[name]; }
  tvm::Function Ffi(std::string_view name) { return tvm::LoadModule(PathOf("ffi"))[name]; }

  eager::Tensor Iota(int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return rt_->FromValues(std::span<const float>(values), {size});
  }
  static void ExpectOneMore(const eager::Tensor& y, int64_t size) {
    const StatusOr<std::vector<float>> values = y.ToVector<float>();
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    ASSERT_EQ(static_cast<int64_t>(values->size()), size);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ((*values)[static_cast<size_t>(i)], static_cast<float>(i + 1));
  }
  // The message of a call's error, which is located.
  std::string ErrorOf(const eager::Tensor& y) {
    const Status status = y.Await();
    EXPECT_NE(status.ToString().find("tvm_test.cc:"), std::string::npos) << "DL-4: " << status.ToString();
    return std::string(status.detail());
  }
  // The op's call with attributes that are given by name.
  eager::Tensor CallOp(std::string_view path, std::string_view function, DType dtype, const eager::Tensor& x) {
    OpAttrs attrs;
    attrs.Set("lib_path", path);
    attrs.Set("func_name", function);
    attrs.SetArray("output_dtype", std::span<const DType>(&dtype, 1));
    eager::Operand operand = x;
    return rt_->Execute("tandem.TvmDso", {&operand}, attrs);
  }

  std::atomic<int> num_told_ = 0;  // by whatever thread
  std::unique_ptr<eager::Runtime> rt_;
};

TEST_F(TvmTest, DL2_AFunctionOfEitherAbiAddsOne) {
  for (const int64_t size : {1, 3, 16, 17, 1000, 300000}) {
    const eager::Tensor x = Iota(size);
    ExpectOneMore(Classic("addone")(x), size);
    ExpectOneMore(Ffi("addone")(x), size);
    ExpectOneMore(tvm::LoadModule(PathOf("ffi_linked"))["addone"](x), size);
    ExpectOneMore(CallOp(PathOf("classic"), "addone", DType::kF32, x), size);
  }
  EXPECT_EQ(num_told_, 0);
}

TEST_F(TvmTest, DL2_TheSymbolTellsTheAbi) {
  EXPECT_EQ(Classic("addone").packed().abi(), tvm::Abi::kClassic);
  EXPECT_EQ(Ffi("addone").packed().abi(), tvm::Abi::kFfi);
  EXPECT_EQ(Ffi("both").packed().abi(), tvm::Abi::kFfi);
  ExpectOneMore(Ffi("both")(Iota(20)), 20);
  EXPECT_EQ(Classic("addone").packed().name(), "addone of " + std::string(PathOf("classic")));
}

TEST_F(TvmTest, DL2_FunctionsSeeTheTensorsOwnMemory) {
  const eager::Tensor x = rt_->FromValues<int64_t>(std::vector<int64_t>(100, 7), {100});
  for (const tvm::Function& places : {Classic("places"), Ffi("places")}) {
    const eager::Tensor y = places(x);
    const auto told = *y.Values<int64_t>();
    EXPECT_EQ(told[0], static_cast<int64_t>(reinterpret_cast<uintptr_t>(x.Values<int64_t>()->data())));
    EXPECT_EQ(told[1], static_cast<int64_t>(reinterpret_cast<uintptr_t>(told.data())));
    EXPECT_EQ(told[2], 0);
  }
}

TEST_F(TvmTest, DL2_MisalignedAndSmallTensorsAreCopiedRight) {
  alignas(64) float data[128];
  for (size_t i = 0; i < 128; ++i) data[i] = static_cast<float>(i) - 1;
  int num_released = 0;
  {
    const eager::Tensor x =
        rt_->Wrap(DType::kF32, std::as_bytes(std::span(data + 1, 100)), {100}, [&] { ++num_released; });
    ExpectOneMore(Classic("addone")(x), 100);
    ExpectOneMore(Ffi("addone")(x), 100);
    EXPECT_EQ(data[1], 0);
  }
  EXPECT_EQ(num_released, 1);
  // Within the tensors themselves.
  const eager::Tensor small = rt_->FromValues<int64_t>({1, 2, 3, 4}, {4});
  for (const tvm::Function& places : {Classic("places"), Ffi("places")}) {
    EXPECT_EQ((*places(small).Values<int64_t>())[2], 0) << "aligned";
  }
}

TEST_F(TvmTest, DL2_TensorsAreDescribedAsTheAbiHasThem) {
  const auto describe = [&](const tvm::Function& function, DType dtype) {
    const std::vector<std::byte> bytes(6 * DTypeSize(dtype), std::byte{1});
    return *function(rt_->FromBytes(dtype, bytes, {1, 2, 3}), {.dtype = DType::kI64, .shape = TensorShape{11}})
                .ToVector<int64_t>();
  };
  const std::vector<int64_t> f16 = {2, 16, 1, 1, 3, 1, 2, 3, 6, 3, 1};
  EXPECT_EQ(describe(Classic("describe"), DType::kF16), f16);
  EXPECT_EQ(describe(Ffi("describe"), DType::kF16), f16);
  EXPECT_EQ(describe(Ffi("describe"), DType::kBF16)[0], 4);
  EXPECT_EQ(describe(Ffi("describe"), DType::kC64)[0], 5);
  EXPECT_EQ(describe(Ffi("describe"), DType::kC64)[1], 64);
  EXPECT_EQ(describe(Ffi("describe"), DType::kU8)[0], 1);
  EXPECT_EQ(describe(Ffi("describe"), DType::kI32)[0], 0);
  // A bool is an unsigned integer of one bit in the classic ABI, and a type of its own in the other.
  const std::vector<int64_t> classic_bool = describe(Classic("describe"), DType::kBool);
  EXPECT_EQ(std::vector<int64_t>(classic_bool.begin(), classic_bool.begin() + 3), (std::vector<int64_t>{1, 1, 1}));
  const std::vector<int64_t> ffi_bool = describe(Ffi("describe"), DType::kBool);
  EXPECT_EQ(std::vector<int64_t>(ffi_bool.begin(), ffi_bool.begin() + 3), (std::vector<int64_t>{6, 8, 1}));
}

TEST_F(TvmTest, DL2_AnyNumberOfInputsAndOutputs) {
  const eager::Tensor x = Iota(40);
  const tvm::Function sum = Classic("sum");
  EXPECT_EQ((*sum(x, x).ToVector<float>())[39], 78);
  EXPECT_EQ((*sum(x, x, x).ToVector<float>())[39], 117);
  eager::Operand seven[] = {x, x, x, x, x, x, x};
  std::vector<eager::Operand*> inputs;
  for (eager::Operand& input : seven) inputs.push_back(&input);
  const tvm::Output like_x[] = {{}};
  EXPECT_EQ((*sum.Call(inputs, like_x)[0].ToVector<float>())[39], 273);
  const eager::Tensor mixed = rt_->FromValues<float>({1.5f, -2.25f, 3}, {3});
  eager::Operand input = mixed;
  eager::Operand* const one[] = {&input};
  const tvm::Output outputs[] = {{.dtype = DType::kI32}, {.dtype = DType::kF64}};
  const std::vector<eager::Tensor> parts = Classic("parts").Call(one, outputs);
  EXPECT_EQ(*parts[0].ToVector<int>(), (std::vector<int>{1, -2, 3}));
  EXPECT_EQ(*parts[1].ToVector<double>(), (std::vector<double>{0.5, -0.25, 0}));
}

TEST_F(TvmTest, DL2_AShapeTensorGivesTheShape) {
  const std::string path = PathOf("classic");
  OpAttrs attrs;
  attrs.Set("lib_path", std::string_view(path));
  attrs.Set("func_name", "addone");
  const DType dtypes[] = {DType::kF32};
  attrs.SetArray("output_dtype", std::span<const DType>(dtypes));
  const auto call = [&](const eager::Tensor& shape) {
    eager::Operand operands[] = {shape, Iota(24)};
    return rt_->Execute("tandem.TvmDsoDynamic", {&operands[0], &operands[1]}, attrs);
  };
  const eager::Tensor y = call(rt_->FromValues<int32_t>({2, 3, 4}, {3}));
  ExpectOneMore(y, 24);
  EXPECT_EQ(y.Metadata()->shape, TensorShape({2, 3, 4}));
  EXPECT_EQ(call(rt_->FromValues<int64_t>({4, 6}, {1, 2})).Metadata()->shape, TensorShape({4, 6}));
  EXPECT_EQ(ErrorOf(call(rt_->FromValues<int64_t>({4, 6}, {2, 1}))),
            "output_shape must have one dimension, or two with a row for each of 1 results, got i64[2,1]");
  EXPECT_NE(ErrorOf(call(rt_->FromValues<int64_t>({-4, 6}, {2}))).find("-4"), std::string::npos);
  EXPECT_FALSE(call(rt_->FromValues<int64_t>(std::vector<int64_t>(9, 1), {9})).Await().ok());
}

TEST_F(TvmTest, DL2_MemoryToWorkInIsGivenAndTakenBack) {
  const size_t before = rt_->host().allocator().stats().bytes_in_use;
  ExpectOneMore(Classic("workspace")(Iota(5000)), 5000);
  ExpectOneMore(Ffi("workspace")(Iota(20)), 20);
  EXPECT_EQ(rt_->host().allocator().stats().bytes_in_use, before);
  EXPECT_NE(ErrorOf(Classic("huge_workspace")(Iota(1))).find("MemoryError: out of memory"), std::string::npos);
  EXPECT_NE(ErrorOf(Classic("gpu_workspace")(Iota(1))).find("memory of the CPU"), std::string::npos);
}

TEST_F(TvmTest, DL2_ParallelLoopsRunOnTheRuntimesThreads) {
  ExpectOneMore(Classic("parallel")(Iota(100000)), 100000);
  ExpectOneMore(Classic("parallel_seven")(Iota(1001)), 1001);
  EXPECT_NE(ErrorOf(Classic("parallel_failing")(Iota(1))).find("Check failed: task 3"), std::string::npos);
}

TEST_F(TvmTest, DL2_CallsFromSeveralThreadsKeepTheirErrorsApart) {
  const tvm::Function addone = Classic("addone");
  const tvm::Function fail = Classic("fail");
  const eager::Tensor x = Iota(100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, mine = x] {
      for (int i = 0; i < 200; ++i) {
        ExpectOneMore(addone(mine), 100);
        EXPECT_FALSE(fail(mine).Await().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TvmTest, DL2_AnOpOfOneFunctionIsCalledByItsName) {
  OpLibrary library(rt_->core());
  const tvm::PackedFunction addone = (*(*tvm::Library::Load(PathOf("ffi")))->Find("addone"));
  ExpectOk(tvm::DefineOp(library, cpu(), "my.AddOne", 1, addone));
  const tvm::PackedFunction parts = (*(*tvm::Library::Load(PathOf("classic")))->Find("parts"));
  ExpectOk(tvm::DefineOp(library, cpu(), "my.Parts", 1, parts, {.dtypes = {DType::kI32, DType::kF64}}));
  eager::Operand x = Iota(30);
  ExpectOneMore(rt_->Execute("my.AddOne", {&x}, {}), 30);
  eager::Operand again = Iota(30);
  eager::Operand* const operands[] = {&again};
  eager::Tensor results[2];
  rt_->Execute("my.Parts", operands, {}, results, nullptr);
  EXPECT_EQ((*results[0].ToVector<int>())[29], 29);
  EXPECT_EQ(tvm::DefineOp(library, cpu(), "my.Null", 1, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tvm::DefineOp(library, cpu(), "my.Many", 17, addone).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tvm::DefineOp(library, cpu(), "my.None", 0, addone).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tvm::DefineOp(library, cpu(), "my.AddOne", 1, addone).code(), StatusCode::kAlreadyExists);
}

TEST_F(TvmTest, DL2_LibrariesAreLoadedOnceInAProcess) {
  const auto first = *tvm::Library::Load(PathOf("classic"));
  EXPECT_EQ(first, *tvm::Library::Load(PathOf("classic")));
  const std::string path = PathOf("classic");
  const size_t slash = path.rfind('/');
  EXPECT_EQ(first, *tvm::Library::Load(path.substr(0, slash) + "/." + path.substr(slash)));
}

TEST_F(TvmTest, DL2_ManyCallsLeakNothing) {
  const eager::Tensor x = Iota(40);
  alignas(64) float data[41] = {};
  const eager::Tensor misaligned = rt_->Wrap(DType::kF32, std::as_bytes(std::span(data + 1, 40)), {40}, nullptr);
  const tvm::Function functions[] = {Classic("addone"), Ffi("addone"), Classic("workspace"), Classic("fail")};
  int num_failures = 0;
  const auto call_all = [&] {
    for (const tvm::Function& function : functions) {
      num_failures += !function(x).Await().ok();
      num_failures += !function(misaligned).Await().ok();
    }
  };
  for (int i = 0; i < 100; ++i) call_all();
  const size_t bytes = rt_->host().allocator().stats().bytes_in_use;
  const int64_t blocks = num_live_blocks;
  for (int i = 0; i < 12500; ++i) call_all();
  EXPECT_EQ(rt_->host().allocator().stats().bytes_in_use, bytes);
  EXPECT_EQ(num_live_blocks, blocks);
  EXPECT_EQ(num_failures, 2 * 12600);
}

TEST_F(TvmTest, DL4_WhatCannotBeLoadedIsALocatedErrorAndNotLoaded) {
  const eager::Tensor x = Iota(3);
  EXPECT_NE(ErrorOf(tvm::LoadModule("/nowhere/libaddone.so")["addone"](x)).find("No such file"), std::string::npos);
  EXPECT_EQ(ErrorOf(CallOp("", "addone", DType::kF32, x)),
            "expected the path of the library of compiled functions, got an empty text");
  EXPECT_EQ(CallOp("/nowhere/libaddone.so", "addone", DType::kF32, x).Await().code(), StatusCode::kNotFound);
  const std::string text = testing::TempDir() + "tvm_test_text.so";
  std::ofstream(text) << "this is no library, but a text that is long enough to have a header";
  EXPECT_NE(ErrorOf(CallOp(text, "addone", DType::kF32, x)).find("invalid ELF header"), std::string::npos);
  std::remove(text.c_str());
  EXPECT_EQ(CallOp("/tmp", "addone", DType::kF32, x).Await().code(), StatusCode::kInvalidArgument);
  const std::string next = PathOf("ffi_next");
  EXPECT_EQ(ErrorOf(CallOp(next, "addone", DType::kF32, x)),
            "expected " + next + " to be compiled for tvm-ffi 0.x, got 1.1.14");
  EXPECT_FALSE(IsLoaded(next));
  const std::string classic = PathOf("classic");
  EXPECT_EQ(ErrorOf(CallOp(classic, "subtractone", DType::kF32, x)),
            "expected " + classic + " to have the function 'subtractone' (__tvm_ffi_subtractone or subtractone)");
  EXPECT_FALSE(IsLoaded(classic));
  EXPECT_EQ(CallOp(classic, "", DType::kF32, x).Await().code(), StatusCode::kNotFound);
  EXPECT_EQ(Classic("subtractone").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(tvm::LoadModule(classic).status().ok());
}

TEST_F(TvmTest, DL4_WhatAFunctionSaysOfItsFailureIsTheError) {
  const eager::Tensor x = Iota(3);
  const std::string classic = " of " + PathOf("classic") + " to return 0, got ";
  const std::string ffi = " of " + PathOf("ffi") + " to return 0, got ";
  EXPECT_EQ(ErrorOf(Classic("fail")(x)), "expected fail" + classic + "-1: Check failed: it never works");
  EXPECT_EQ(ErrorOf(Classic("fail_silently")(x)), "expected fail_silently" + classic + "42");
  EXPECT_EQ(ErrorOf(Ffi("fail_silently")(x)), "expected fail_silently" + ffi + "-1");
  EXPECT_EQ(ErrorOf(Classic("addone")(x, x)),
            "expected addone" + classic + "-1: Assert fail: num_args == 2, addone: num_args should be 2");
  EXPECT_EQ(ErrorOf(Ffi("addone")(x, x)), "expected addone" + ffi + "-1: TypeError: addone expects two tensors");
  // A wrong dtype, then a wrong shape.
  const std::string mismatch = "-1: TypeError: Mismatched type on argument #0 of `addone(x, y)`, expected float32";
  EXPECT_EQ(ErrorOf(Ffi("addone")(cast(x, DType::kF64))), "expected addone" + ffi + mismatch);
  EXPECT_EQ(ErrorOf(Ffi("addone")(x, {.shape = TensorShape{4}})), "expected addone" + ffi + mismatch);
  EXPECT_EQ(Ffi("addone")(x, {.dtype = DType::kI32}).Await().code(), StatusCode::kUnknown);
}

TEST_F(TvmTest, DL4_ALinkedRuntimesErrorIsReadAndReleased) {
  const std::string path = PathOf("ffi_linked");
  const tvm::Module module = tvm::LoadModule(path);
  EXPECT_EQ(ErrorOf(module["addone"](rt_->FromValues<double>({1}, {1}))),
            "expected addone of " + path + " to return 0, got -1: ValueError: Expects a Tensor of float32");
  EXPECT_EQ(*module["live_errors"](rt_->Scalar<int64_t>(7)).Item<int64_t>(), 0);
}

TEST_F(TvmTest, DL4_WhatNoRuntimeOfTvmIsThereForIsAnError) {
  const eager::Tensor x = Iota(3);
  EXPECT_NE(ErrorOf(Classic("call_global")(x)).find("got tvm.contrib.cblas.matmul"), std::string::npos);
  EXPECT_NE(ErrorOf(Ffi("call_import")(x)).find("got cuda_kernel"), std::string::npos);
  EXPECT_NE(ErrorOf(Classic("barrier")(x)).find("barriers between parallel tasks"), std::string::npos);
  EXPECT_EQ(Classic("give_object")(x).Await().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Ffi("give_object")(x).Await().code(), StatusCode::kUnimplemented);
  EXPECT_NE(ErrorOf(Classic("wrong_bools")(x, {.dtype = DType::kBool})).find("bytes of 0 or 1"), std::string::npos);
  const tvm::Function lookups = Ffi("lookups");
  const eager::Tensor count = rt_->Scalar<int64_t>(0);
  EXPECT_EQ(*lookups(count).Item<int64_t>(), 1);
  EXPECT_EQ(*lookups(count).Item<int64_t>(), 1) << "what is looked up is kept";
}

TEST_F(TvmTest, DL4_WrongAttributesAndArgumentsAreNamed) {
  const eager::Tensor x = Iota(3);
  eager::Operand operand = x;
  EXPECT_EQ(ErrorOf(rt_->Execute("tandem.TvmDso", {&operand}, {})),
            "attribute lib_path is required, expected lib_path: string");
  EXPECT_EQ(ErrorOf(CallOp(PathOf("classic"), "addone", DType::kString, x)).find("output_dtype must be of {bool,"), 0u);
  EXPECT_NE(ErrorOf(Classic("addone")(x, {.shape = TensorShape{-1}})).find("-1"), std::string::npos);
  const std::string_view texts[] = {"a"};
  EXPECT_NE(ErrorOf(Classic("addone")(rt_->FromStrings(texts, {1}), {.dtype = DType::kF32})).find("must be a dense"),
            std::string::npos);
  const tvm::Output two[] = {{}, {.shape = TensorShape{3}}};
  eager::Operand input = x;
  eager::Operand* const inputs[] = {&input};
  EXPECT_EQ(ErrorOf(Classic("parts").Call(inputs, two)[1]), "expected a shape for each of 2 results, or none, got 1");
  const eager::Tensor failed = Classic("fail")(x);
  EXPECT_FALSE(Classic("addone")(failed).Await().ok());
}

// A table as a user has it: the compiled function runs in place of an op, for one shape, in eager code as it is.
TEST_F(TvmTest, OH4a_AFunctionRunsInPlaceOfAnOp) {
  const std::string text = R"({"substitutions": [{"op": "tf.AddV2", "inputs": ["f32[?]", "f32[?]"],
      "use": {"library": ")" +
                           PathOf("classic") + R"(", "function": "sum"}}, {"op": "tf.Neg", "inputs": ["f32[3]"],
      "use": {"library": ")" +
                           PathOf("ffi") + R"(", "function": "addone"}}]})";
  const SubstituteLoader load = [this](std::string_view library, std::string_view function) {
    return tvm::LoadSubstitute(cpu(), library, function);
  };
  CoreRuntime& core = rt_->core();
  const RcRef<Substitutions> table = MakeRef<Substitutions>(core);
  StatusOr<std::vector<Substitution>> rules = ParseSubstitutions(core, text, "table.json", load);
  ASSERT_TRUE(rules.ok()) << rules.status().ToString();
  ASSERT_TRUE(table->Add(std::move(*rules)).ok());
  OpHandler* const layer = core.AddHandler(CreateSubstitutionOpHandler("layer", core, cpu(), table));
  const auto call = [&](std::string_view op, std::initializer_list<const eager::Tensor*> inputs) {
    std::vector<TensorHandle> args;
    for (const eager::Tensor* input : inputs) args.push_back(input->handle().CopyRef());
    TensorHandle result;
    core.Execute(op, layer, Location::Current(), args, {}, {&result, 1});
    return eager::Tensor(rt_.get(), std::move(result));
  };
  const eager::Tensor x = Iota(3);
  const eager::Tensor y = Iota(4);
  EXPECT_EQ(*call("tf.Neg", {&x}).ToVector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(*call("tf.Neg", {&y}).ToVector<float>(), (std::vector<float>{0, -1, -2, -3}));
  EXPECT_EQ(*call("tf.AddV2", {&x, &x}).ToVector<float>(), (std::vector<float>{0, 2, 4}));
  EXPECT_NE(ErrorOf(call("tf.AddV2", {&x, &y})).find("broadcast"), std::string::npos) << "told by the op itself";

  for (const auto& [path, function, error] :
       {std::tuple(PathOf("none"), "addone", "library of compiled functions"), {PathOf("ffi"), "none", "'none'"}}) {
    const Status status = ParseSubstitutions(core,
                                             R"({"substitutions": [{"op": "tf.Neg", "use": {"library": ")" + path +
                                                 R"(", "function": ")" + function + R"("}}]})",
                                             "table.json", load)
                              .status();
    EXPECT_EQ(status.message().find("table.json:1:44: "), 0u) << status.message();
    EXPECT_NE(status.message().find(error), std::string_view::npos) << status.message();
  }
}

TEST_F(TvmTest, OH4a_ALibrarySaysItselfWhatItReplaces) {
  CoreRuntime& core = rt_->core();
  const auto load = [&](std::string_view name) { return tvm::LoadSubstitutions(core, cpu(), PathOf(name)); };
  const RcRef<Substitutions> table = MakeRef<Substitutions>(core);
  StatusOr<std::vector<Substitution>> rules = load("classic");
  ASSERT_TRUE(rules.ok()) << rules.status().ToString();
  ASSERT_TRUE(table->Add(std::move(*rules)).ok());
  rt_->UseHandler(*core.AddHandler(CreateSubstitutionOpHandler("layer", core, cpu(), table)));
  EXPECT_EQ(*neg(Iota(3)).ToVector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(*neg(Iota(2)).ToVector<float>(), (std::vector<float>{0, -1}));
  EXPECT_EQ(*add(Iota(4), Iota(4)).ToVector<float>(), (std::vector<float>{0, 2, 4, 6}));

  EXPECT_EQ(load("ffi").status().message(),
            PathOf("ffi") + ":2:27: expected " + PathOf("ffi") +
                " to have the function 'subtractone' (__tvm_ffi_subtractone or subtractone)");
  EXPECT_FALSE(IsLoaded(PathOf("ffi")));
  EXPECT_EQ(load("ffi_linked").status().message(),
            "expected " + PathOf("ffi_linked") + " to have a table of substitutions (tandem_substitutions)");
  EXPECT_EQ(load("none").status().code(), StatusCode::kNotFound);
}

class CTvmTest : public CApiTest {};

TEST_F(CTvmTest, OH4a_TablesFromJsonAndFromLibraries) {
  const std::string classic = PathOf("classic");
  const std::string text =
      R"({"substitutions": [{"op": "tf.Neg", "use": {"library": ")" + PathOf("ffi") + R"(", "function": "addone"}}]})";
  EXPECT_OK(tandem_substitutions_add(rt_, "json", text.data(), text.size()));
  EXPECT_OK(tandem_substitutions_load(rt_, "library", classic.c_str()));
  const auto negated = [&](const char* device) {
    EXPECT_OK(tandem_layers_add(rt_, device));
    call_.device = device;
    tandem_tensor* y = nullptr;
    EXPECT_OK(Call1("tf.Neg", {F32({3}, {1, 2, 3})}, &y));
    return Values(y);
  };
  EXPECT_EQ(negated("substitute:json|cpu"), "f32[3] = [2, 3, 4]");
  EXPECT_EQ(negated("profile:substitute:library|cpu"), "f32[3] = [2, 3, 4]");
  EXPECT_EQ(negated("cpu"), "f32[3] = [-1, -2, -3]");

  EXPECT_EQ(Code(tandem_substitutions_add(rt_, "json", text.data(), text.size())), TANDEM_ALREADY_EXISTS);
  EXPECT_EQ(Code(tandem_substitutions_load(rt_, "x", PathOf("ffi_linked").c_str())), TANDEM_NOT_FOUND);
  EXPECT_EQ(Code(tandem_substitutions_load(rt_, "x", "none.so")), TANDEM_NOT_FOUND);
  EXPECT_EQ(Code(tandem_layers_add(rt_, "substitute:x|cpu")), TANDEM_NOT_FOUND);
  EXPECT_EQ(Text(tandem_substitutions_add(rt_, "x", "{", 1)).find("InvalidArgument: x:1:2: "), 0u);
  EXPECT_WRONG(tandem_substitutions_add(rt_, "x|y", text.data(), text.size()));
  EXPECT_WRONG(tandem_substitutions_add(rt_, "", text.data(), text.size()));
  EXPECT_WRONG(tandem_substitutions_add(rt_, nullptr, text.data(), text.size()));
  EXPECT_WRONG(tandem_substitutions_add(rt_, "x", nullptr, 0));
  EXPECT_WRONG(tandem_substitutions_add(nullptr, "x", text.data(), text.size()));
  EXPECT_WRONG(tandem_substitutions_load(rt_, "x", nullptr));
  EXPECT_WRONG(tandem_substitutions_load(nullptr, "x", classic.c_str()));
}

TEST_F(CTvmTest, DL4_ALibraryIsLookedAtBeforeItIsCalled) {
  const std::string path = PathOf("classic");
  tandem_tvm_library* library = nullptr;
  EXPECT_OK(tandem_tvm_library_load(path.c_str(), &library));
  EXPECT_EQ(tandem_tvm_library_path(library), path);
  EXPECT_OK(tandem_tvm_library_check(library, "addone"));
  EXPECT_EQ(Code(tandem_tvm_library_check(library, "none")), TANDEM_NOT_FOUND);
  EXPECT_EQ(Code(tandem_tvm_library_check(library, nullptr)), TANDEM_NOT_FOUND);
  EXPECT_TRUE(IsLoaded(path));
  tandem_tvm_library_release(library);
  EXPECT_FALSE(IsLoaded(path));
  EXPECT_EQ(Code(tandem_tvm_library_load("none.so", &library)), TANDEM_NOT_FOUND);
  EXPECT_EQ(library, nullptr);
  EXPECT_WRONG(tandem_tvm_library_load(nullptr, &library));
  EXPECT_WRONG(tandem_tvm_library_load(path.c_str(), nullptr));
  EXPECT_WRONG(tandem_tvm_library_check(nullptr, "addone"));
  EXPECT_STREQ(tandem_tvm_library_path(nullptr), "");
  tandem_tvm_library_release(nullptr);
}

TEST_F(CTvmTest, DL2_AProgramCallsAFunctionOnceTheOpsAreThere) {
  const std::string text =
      "func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {\n"
      "  %cpu = corert.get_op_handler(\"cpu\")\n"
      "  %y = corert.executeop(%cpu) \"tandem.TvmDso\"(%x) {lib_path = \"" +
      PathOf("ffi") +
      "\", func_name = \"addone\", output_dtype = [f32] : dtype}\n"
      "  tfrt.return %y : !corert.tensorhandle\n"
      "}\n";
  tandem_program* program = nullptr;
  EXPECT_EQ(Code(tandem_program_load(rt_, text.data(), text.size(), nullptr, nullptr, &program)), TANDEM_NOT_FOUND)
      << "a program alone has no right to run any library";
  EXPECT_OK(tandem_runtime_add_tvm_ops(rt_));
  EXPECT_OK(tandem_runtime_add_tvm_ops(rt_));
  EXPECT_WRONG(tandem_runtime_add_tvm_ops(nullptr));
  EXPECT_OK(tandem_program_load(rt_, text.data(), text.size(), nullptr, nullptr, &program));
  tandem_tensor* const x = F32({2}, {1, 2});
  tandem_tensor* y = nullptr;
  EXPECT_OK(tandem_program_run(program, "main", &x, 1, nullptr, &y, 1));
  EXPECT_EQ(Values(Keep(y)), "f32[2] = [2, 3]");
  tandem_program_release(program);
}

}  // namespace
}  // namespace tandem
