// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory of the host on the way of a call to a GPU (ER-5): once the shader is there, nothing is taken from the heap
// that may not fail, and each allocation that fails is an error of the call and of nothing else. The first call of a
// shader, whose text is put together in strings, fails before that where there is no memory for it.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "tandem/op_families.h"
#include "tandem/shader/shader_op_handler.h"
#include "test_runtime.h"

namespace tandem::shader {
namespace {

class SilentPipeline final : public Pipeline {};

// A queue that accepts everything, does nothing and takes nothing from the heap but pipelines.
class SilentQueue final : public ShaderQueue {
 public:
  std::string_view adapter_name() const override { return "silent"; }
  const GpuLimits& limits() const override { return limits_; }
  void SetListener(gpu::StreamListener&) override {}
  StatusOr<BufferId> CreateBuffer(uint64_t, const CommandOrigin&) override { return ++last_id_; }
  void DestroyBuffer(BufferId) override {}
  AsyncValueRef<RcRef<Pipeline>> CreatePipeline(ShaderText) override {
    return AsyncValueRef<RcRef<Pipeline>>::MakeAvailable(RcRef<Pipeline>(MakeRef<SilentPipeline>()));
  }
  StatusOr<uint64_t> Dispatch(const Pipeline&, std::span<const BufferRange>, std::span<const uint32_t>,
                              const std::array<uint32_t, 3>&, const CommandOrigin&) override {
    return uint64_t{1};
  }
  StatusOr<uint64_t> Upload(BufferId, const void*, uint64_t, RcRef<TensorStorage>, const CommandOrigin&) override {
    return uint64_t{1};
  }
  StatusOr<uint64_t> Copy(BufferId, uint64_t, BufferId, uint64_t, uint64_t, const CommandOrigin&) override {
    return uint64_t{1};
  }
  void Download(BufferId, uint64_t, void*, uint64_t, Done done) override { done(Status()); }
  void WhenDone(Done done) override { done(Status()); }
  void Flush() override {}
  Counters counters() const override { return {}; }

 private:
  GpuLimits limits_;
  BufferId last_id_ = 0;
};

// A call: what it is given, and how many results it has.
struct Case {
  const char* op;
  std::function<std::vector<TensorHandle>(class GpuCallMemoryTest&)> args;
  std::function<void(OpAttrs&)> attrs = [](OpAttrs&) {};
  size_t num_results = 1;
};

class GpuCallMemoryTest : public testing::Test {
 public:
  GpuCallMemoryTest() {
    EXPECT_TRUE(RegisterAllOps(rt_.runtime().registry()).ok());
    auto handler =
        CreateShaderOpHandler(rt_.runtime(), std::make_unique<SilentQueue>(), {.name = "silent", .memory = {}});
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    handler_ = *handler;
  }

  TensorHandle Gpu(const TensorShape& shape) {
    const std::vector<float> values(static_cast<size_t>(shape.num_elements()), 1.0f);
    return rt_.Dense<float>(shape, values).TransferTo(exec(), handler_->gpu());
  }
  TensorHandle GpuInts(const TensorShape& shape) {
    const std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()), 0);
    return rt_.Dense<int32_t>(shape, values).TransferTo(exec(), handler_->gpu());
  }
  TensorHandle Host(const std::vector<int32_t>& values) { return rt_.I32(values); }
  TensorHandle HostScalar(int32_t value) { return rt_.Dense<int32_t>({}, {value}); }

  ExecutionContext exec() { return ExecutionContext(rt_.host(), Location::Current()); }

  // Calls once; the error's code, or kOk.
  StatusCode Call(const Case& c, const OpAttrs& attrs, std::vector<TensorHandle>& given) {
    TensorHandle args[16];
    for (size_t i = 0; i < given.size(); ++i) args[i] = given[i].CopyRef();
    TensorHandle results[4];
    rt_.runtime().Execute(exec(), c.op, handler_, {args, given.size()}, OpAttrsRef(attrs), {results, c.num_results});
    StatusCode code = StatusCode::kOk;
    for (size_t i = 0; i < c.num_results; ++i) {
      if (results[i].IsError()) code = results[i].GetError().code();
    }
    return code;
  }

  void TestBody() override {}  // so that a test can make more of them

  // Errors are not collected, which would take memory.
  static HostContext::Options Options() {
    HostContext::Options options = TestRuntime::WithWorkers(0);
    options.diagnostic_handler = [](const Status&) {};
    return options;
  }

  TestRuntime rt_{Options()};
  ShaderOpHandler* handler_;
};

std::vector<TensorHandle> List(auto... handles) {
  std::vector<TensorHandle> list;
  (list.push_back(std::move(handles)), ...);
  return list;
}

std::vector<Case> AllCases() {
  const auto windows = [](OpAttrs& attrs) {
    constexpr int64_t kWindow[] = {1, 2, 2, 1};
    attrs.SetArray<int64_t>("ksize", kWindow);
    attrs.SetArray<int64_t>("strides", kWindow);
    attrs.Set("padding", std::string_view("SAME"));
  };
  const auto convolution = [](OpAttrs& attrs) {
    constexpr int64_t kOnes[] = {1, 1, 1, 1};
    attrs.SetArray<int64_t>("strides", kOnes);
    attrs.Set("padding", std::string_view("SAME"));
  };
  const auto equation = [](std::string_view text) { return [text](OpAttrs& attrs) { attrs.Set("equation", text); }; };
  std::vector<Case> cases;
  cases.push_back({"tf.AddV2", [](GpuCallMemoryTest& t) { return List(t.Gpu({4, 5}), t.Gpu({5})); }});
  cases.push_back({"tf.Relu", [](GpuCallMemoryTest& t) { return List(t.Gpu({7})); }});
  cases.push_back({"tf.MatMul", [](GpuCallMemoryTest& t) { return List(t.Gpu({40, 50}), t.Gpu({50, 60})); }});
  cases.push_back({"tf.BatchMatMulV2", [](GpuCallMemoryTest& t) { return List(t.Gpu({2, 4, 5}), t.Gpu({2, 5, 6})); }});
  cases.push_back({"tf.Einsum",
                   [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({4, 5}), t.Gpu({5, 6}));
                   },
                   equation("ab,bc->ac")});
  cases.push_back({"tf.Einsum", [](GpuCallMemoryTest& t) { return List(t.Gpu({4, 4})); }, equation("aa->a")});
  cases.push_back({"tf.Conv2D",
                   [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({1, 8, 8, 3}), t.Gpu({3, 3, 3, 4}));
                   },
                   convolution});
  cases.push_back({"tf.MaxPool", [](GpuCallMemoryTest& t) { return List(t.Gpu({1, 8, 8, 3})); }, windows});
  cases.push_back({"tf.AvgPool", [](GpuCallMemoryTest& t) { return List(t.Gpu({1, 8, 8, 3})); }, windows});
  cases.push_back({"tf.Softmax", [](GpuCallMemoryTest& t) { return List(t.Gpu({4, 9})); }});
  cases.push_back({"tf.Sum", [](GpuCallMemoryTest& t) { return List(t.Gpu({3, 4, 5, 6}), t.Host({0, 2})); }});
  cases.push_back({"tf.Sum", [](GpuCallMemoryTest& t) { return List(t.Gpu({300'000}), t.Host({0})); }});
  cases.push_back({"tf.ArgMax", [](GpuCallMemoryTest& t) { return List(t.Gpu({30, 40}), t.HostScalar(1)); }});
  cases.push_back({"tf.Cumsum", [](GpuCallMemoryTest& t) { return List(t.Gpu({3, 5000}), t.HostScalar(1)); }});
  cases.push_back({"tf.Transpose", [](GpuCallMemoryTest& t) { return List(t.Gpu({3, 4, 5}), t.Host({2, 0, 1})); }});
  cases.push_back({"tf.Pad", [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({3}), t.rt_.Dense<int32_t>({1, 2}, {1, 2}));
                   }});
  cases.push_back({"tf.Slice", [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({9, 9}), t.Host({1, 1}), t.Host({3, 3}));
                   }});
  cases.push_back({"tf.Tile", [](GpuCallMemoryTest& t) { return List(t.Gpu({3}), t.Host({4})); }});
  cases.push_back({"tf.GatherV2", [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({5, 3}), t.GpuInts({4}), t.HostScalar(0));
                   }});
  cases.push_back({"tf.ConcatV2", [](GpuCallMemoryTest& t) {
                     return List(t.Gpu({5, 3}), t.Gpu({4, 3}), t.Gpu({40, 3}), t.Gpu({1, 3}), t.Gpu({2, 3}),
                                 t.Gpu({3, 3}), t.Gpu({6, 3}), t.Gpu({7, 3}), t.Gpu({8, 3}), t.Gpu({9, 3}),
                                 t.HostScalar(0));
                   }});
  cases.push_back({"tf.Split",
                   [](GpuCallMemoryTest& t) {
                     return List(t.HostScalar(0), t.Gpu({4, 3}));
                   },
                   [](OpAttrs& attrs) { attrs.Set("num_split", int64_t{4}); }, 4});
  cases.push_back({"tf.Fill", [](GpuCallMemoryTest& t) { return List(t.Host({30}), t.Gpu({})); }});
  return cases;
}

TEST_F(GpuCallMemoryTest, ER5_EachAllocationThatFailsIsAnError) {
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(c.op);
    OpAttrs attrs;
    c.attrs(attrs);
    std::vector<TensorHandle> given = c.args(*this);
    // Shaders are made, and freed memory is listed by size.
    for (int i = 0; i < 2; ++i) ASSERT_EQ(Call(c, attrs, given), StatusCode::kOk);
    const int64_t throwing = thread_heap.num_throwing;
    const int64_t live = num_live_blocks;
    ASSERT_EQ(Call(c, attrs, given), StatusCode::kOk);
    EXPECT_EQ(thread_heap.num_throwing, throwing) << "allocations that may not fail";
    EXPECT_EQ(num_live_blocks, live);
    const int failures = FailEachAllocation([&] {
      const StatusCode code = Call(c, attrs, given);
      EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kResourceExhausted) << static_cast<int>(code);
    });
    EXPECT_GT(failures, 0);
    EXPECT_EQ(Call(c, attrs, given), StatusCode::kOk);
  }
}

TEST_F(GpuCallMemoryTest, ER5_AllocationsOfTheFirstCallFailAsWell) {
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(c.op);
    OpAttrs attrs;
    c.attrs(attrs);
    const int failures = FailEachAllocation([&] {
      const int64_t allowed = std::exchange(thread_heap.allowed, -1);
      GpuCallMemoryTest fresh;
      std::vector<TensorHandle> given = c.args(fresh);
      thread_heap.allowed = allowed;
      const StatusCode code = fresh.Call(c, attrs, given);
      thread_heap.allowed = -1;
      EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kResourceExhausted) << static_cast<int>(code);
      EXPECT_EQ(fresh.Call(c, attrs, given), StatusCode::kOk) << "a failure for lack of memory must not be kept";
    });
    EXPECT_GT(failures, 0);
  }
}

TEST_F(GpuCallMemoryTest, ER5_ShadersAreNotPutTogetherWithoutMemoryForThem) {
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(c.op);
    GpuCallMemoryTest fresh;
    OpAttrs attrs;
    c.attrs(attrs);
    std::vector<TensorHandle> given = c.args(fresh);
    thread_heap.largest = 64 * 1024;
    const int64_t throwing = thread_heap.num_throwing;
    EXPECT_EQ(fresh.Call(c, attrs, given), StatusCode::kResourceExhausted);
    EXPECT_EQ(thread_heap.num_throwing, throwing) << "allocations that may not fail";
    thread_heap.largest = SIZE_MAX;
    EXPECT_EQ(fresh.Call(c, attrs, given), StatusCode::kOk);
  }
}

// A download takes nothing that may not fail either.
TEST_F(GpuCallMemoryTest, ER5_DownloadsFailAsWell) {
  const TensorHandle there = Gpu({100});
  const auto download = [&] {
    const TensorHandle here = there.TransferTo(exec(), rt_.host().device());
    if (here.IsError()) {
      EXPECT_EQ(here.GetError().code(), StatusCode::kResourceExhausted);
    }
  };
  download();
  const int64_t throwing = thread_heap.num_throwing;
  download();
  EXPECT_EQ(thread_heap.num_throwing, throwing);
  EXPECT_GT(FailEachAllocation(download), 0);
}

// MD-2: what was uploaded a moment ago to say where or how many is known without waiting for the device.
TEST_F(GpuCallMemoryTest, MD2_ShapesFromListsThatAreTensorsOfTheDeviceAreKnown) {
  const Case c = {
      "tf.Pad", [](GpuCallMemoryTest& t) {
        return List(t.Gpu({3}), t.rt_.Dense<int32_t>({1, 2}, {1, 2}).TransferTo(t.exec(), t.handler_->gpu()));
      }};
  std::vector<TensorHandle> given = c.args(*this);
  TensorHandle result;
  rt_.runtime().Execute(exec(), c.op, handler_, given, OpAttrsRef(), {&result, 1});
  ASSERT_TRUE(result.IsMetadataAvailable());
  EXPECT_EQ(result.metadata(), TensorMetadata(DType::kF32, {6}));
}

}  // namespace
}  // namespace tandem::shader
