// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What one op call costs: by name, made once, in chains, from several threads, while its input is pending.

#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "heap_count.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/eager.h"
#include "tandem/op_families.h"
#include "tandem/ops.h"
#ifdef TANDEM_TVM_LIBRARY
#include "tandem/tvm.h"
#endif

namespace tandem {
namespace {

// One runtime for all benchmarks, since several of them call it from several threads. Ends with the program.
struct Fixture {
  explicit Fixture(bool fuse = true)
      : runtime(std::move(eager::Runtime::Create({.num_threads = 1, .fuse = fuse}).value())) {
    op = runtime->core().MakeOp("tf.AddV2", &runtime->handler()).value();
  }
  static Fixture& Get() {
    static Fixture fixture;
    return fixture;
  }
  // Whose calls that wait are never computed as one.
  static Fixture& GetUnfused() {
    static Fixture fixture(/*fuse=*/false);
    return fixture;
  }

  eager::Tensor Input(int64_t elements) {
    const std::vector<float> ones(static_cast<size_t>(elements), 1.0f);
    return runtime->FromValues<float>(std::span(ones), elements == 1 ? TensorShape() : TensorShape({elements}));
  }
  ExecutionContext Context(std::source_location where = std::source_location::current()) {
    return ExecutionContext(runtime->host(), where);
  }

  std::unique_ptr<eager::Runtime> runtime;
  Op op;
};

void CountHeap(benchmark::State& state, uint64_t before, int64_t ops) {
  state.counters["heap_per_op"] = benchmark::Counter(
      static_cast<double>(bench::heap_calls - before) / static_cast<double>(ops), benchmark::Counter::kAvgThreads);
}

void AddByName(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  CoreRuntime& core = fixture.runtime->core();
  OpHandler* handler = &fixture.runtime->handler();
  const eager::Tensor x = fixture.Input(state.range(0));
  const eager::Tensor y = fixture.Input(state.range(0));
  const uint64_t heap_before = bench::heap_calls;
  for (auto _ : state) {
    TensorHandle args[] = {x.handle().CopyRef(), y.handle().CopyRef()};
    TensorHandle result;
    core.Execute("tf.AddV2", handler, Location::Current(), args, OpAttrsRef(), {&result, 1});
    benchmark::DoNotOptimize(result);
  }
  CountHeap(state, heap_before, state.iterations());
}
BENCHMARK(AddByName)->Arg(1)->Arg(16)->Arg(1024);

void AddMade(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  const eager::Tensor x = fixture.Input(state.range(0));
  const eager::Tensor y = fixture.Input(state.range(0));
  const uint64_t heap_before = bench::heap_calls;
  for (auto _ : state) {
    TensorHandle args[] = {x.handle().CopyRef(), y.handle().CopyRef()};
    TensorHandle result;
    fixture.op(fixture.Context(), args, OpAttrsRef(), {&result, 1});
    benchmark::DoNotOptimize(result);
  }
  CountHeap(state, heap_before, state.iterations());
}
BENCHMARK(AddMade)->Arg(1)->Arg(16)->Arg(1024)->ThreadRange(1, 4);

// Each op takes the result of the one before, and is given the last reference to it.
void AddChain100(benchmark::State& state) {
  static constexpr int kLength = 100;
  Fixture& fixture = Fixture::Get();
  const eager::Tensor x = fixture.Input(state.range(0));
  const uint64_t heap_before = bench::heap_calls;
  for (auto _ : state) {
    TensorHandle sum = x.handle().CopyRef();
    for (int i = 0; i < kLength; ++i) {
      TensorHandle args[] = {std::move(sum), x.handle().CopyRef()};
      fixture.op(fixture.Context(), args, OpAttrsRef(), {&sum, 1});
    }
    benchmark::DoNotOptimize(sum);
  }
  CountHeap(state, heap_before, state.iterations() * kLength);
  state.counters["ns_per_op"] = benchmark::Counter(static_cast<double>(state.iterations()) * kLength * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(AddChain100)->Arg(1)->Arg(16)->Arg(1024);

// Through the typed functions.
void EagerAdd(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  const eager::Tensor x = fixture.Input(state.range(0));
  const eager::Tensor y = fixture.Input(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(EagerAdd)->Arg(1)->Arg(16)->Arg(1024);

// Calls with an attribute, with numbers, and with small tensors that say what to do, as people write them.
template <typename Fn>
void EagerCall(benchmark::State& state, Fn call) {
  Fixture& fixture = Fixture::Get();
  const eager::Tensor x = fixture.runtime->FromValues<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  if (!call(x).Await().ok()) return state.SkipWithError("the call failed");
  const uint64_t heap_before = bench::heap_calls;
  for (auto _ : state) benchmark::DoNotOptimize(call(x));
  CountHeap(state, heap_before, state.iterations());
}
BENCHMARK_CAPTURE(EagerCall, add_number, [](const eager::Tensor& x) { return add(x, 1); });
BENCHMARK_CAPTURE(EagerCall, sum_axis, [](const eager::Tensor& x) { return sum(x, {0}); });
BENCHMARK_CAPTURE(EagerCall, matmul_transposed,
                  [](const eager::Tensor& x) { return matMul(x, x, {.transpose_b = true}); });
BENCHMARK_CAPTURE(EagerCall, reshape, [](const eager::Tensor& x) { return reshape(x, {3, 2}); });
BENCHMARK_CAPTURE(EagerCall, transpose, [](const eager::Tensor& x) { return transpose(x, {1, 0}); });
BENCHMARK_CAPTURE(EagerCall, concat, [](const eager::Tensor& x) { return eager::concat({x, x}, 0); });
BENCHMARK_CAPTURE(EagerCall, slice, [](const eager::Tensor& x) { return slice(x, {0, 1}, {2, 2}); });
BENCHMARK_CAPTURE(EagerCall, cast, [](const eager::Tensor& x) { return cast(x, DType::kI32); });

// An op with attributes, which stay on the stack.
void MatMulWithAttrs(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  const Op op = fixture.runtime->core().MakeOp("tf.MatMul", &fixture.runtime->handler()).value();
  const eager::Tensor x = fixture.runtime->FromValues<float>({1, 2, 3, 4}, {2, 2});
  const uint64_t heap_before = bench::heap_calls;
  for (auto _ : state) {
    TensorHandle args[] = {x.handle().CopyRef(), x.handle().CopyRef()};
    TensorHandle result;
    OpAttrs attrs;
    attrs.Set("transpose_a", true);
    op(fixture.Context(), args, attrs, {&result, 1});
    benchmark::DoNotOptimize(result);
  }
  CountHeap(state, heap_before, state.iterations());
}
BENCHMARK(MatMulWithAttrs);

// A chain that waits for its first input. The last argument says whether its calls may be computed as one (PR-6);
// otherwise each is a continuation of the one before, or a task.
void PendingChain(benchmark::State& state) {
  Fixture& fixture = state.range(2) != 0 ? Fixture::Get() : Fixture::GetUnfused();
  const eager::Tensor x = fixture.Input(state.range(1));
  const auto length = static_cast<int>(state.range(0));
  for (auto _ : state) {
    auto first = MakeRef<TensorValue>(TensorValue::Constructed{}, x.handle().tensor());
    TensorHandle sum(AsyncValueRef<Tensor>(RcRef<AsyncValue>(first)), x.handle().device());
    for (int i = 0; i < length; ++i) {
      TensorHandle args[] = {std::move(sum), x.handle().CopyRef()};
      fixture.op(fixture.Context(), args, OpAttrsRef(), {&sum, 1});
    }
    first->SetConcrete();
    if (!fixture.runtime->host().Await(sum).ok()) state.SkipWithError("add failed");
  }
  state.counters["ns_per_op"] = benchmark::Counter(static_cast<double>(state.iterations()) * length * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(PendingChain)
    ->ArgsProduct({{2, 10, 100, 10000}, {1}, {0, 1}})
    ->ArgsProduct({{10}, {1 << 10, 1 << 12, 1 << 14, 1 << 20}, {0, 1}})
    ->UseRealTime();

// Work that goes to the queue and is waited for.
void QueuedAdd(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  const eager::Tensor x = fixture.Input(state.range(0));
  for (auto _ : state) {
    const eager::Tensor sum = add(x, x);
    if (!sum.Await().ok()) state.SkipWithError("add failed");
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 12);
}
BENCHMARK(QueuedAdd)->Arg(1 << 16)->Arg(1 << 24)->UseRealTime();

#ifdef TANDEM_TVM_LIBRARY
// A function compiled for TVM's classic ABI: as an op of its own, and by attributes; against ops of the CPU that
// compute as much.
void CallOne(benchmark::State& state, std::string_view op, OpHandler* handler, const OpAttrsRef& attrs) {
  Fixture& fixture = Fixture::Get();
  CoreRuntime& core = fixture.runtime->core();
  const eager::Tensor x = fixture.Input(state.range(0));
  for (auto _ : state) {
    TensorHandle args[] = {x.handle().CopyRef()};
    TensorHandle result;
    core.Execute(op, handler, Location::Current(), args, attrs, {&result, 1});
    if (result.IsError()) state.SkipWithError("the call failed");
  }
}
void NegByName(benchmark::State& state) { CallOne(state, "tf.Neg", &Fixture::Get().runtime->handler(), {}); }
BENCHMARK(NegByName)->Arg(1)->Arg(1024);

void TvmOp(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  auto& cpu = static_cast<KernelOpHandler&>(fixture.runtime->handler());
  OpLibrary ops(fixture.runtime->core());
  const auto library = tvm::Library::Load(TANDEM_TVM_LIBRARY).value();
  if (!tvm::DefineOp(ops, cpu, "bench.AddOne", 1, library->Find("addone").value()).ok()) {
    return state.SkipWithError("the op cannot be defined");
  }
  CallOne(state, "bench.AddOne", &cpu, {});
}
BENCHMARK(TvmOp)->Arg(1)->Arg(1024);

void TvmDso(benchmark::State& state) {
  Fixture& fixture = Fixture::Get();
  auto& cpu = static_cast<KernelOpHandler&>(fixture.runtime->handler());
  if (!tvm::RegisterOps(fixture.runtime->core(), cpu).ok()) return state.SkipWithError("the ops cannot be defined");
  OpAttrs attrs;
  attrs.Set("lib_path", TANDEM_TVM_LIBRARY);
  attrs.Set("func_name", "addone");
  const DType dtypes[] = {DType::kF32};
  attrs.SetArray("output_dtype", std::span<const DType>(dtypes));
  CallOne(state, "tandem.TvmDso", &cpu, attrs.Freeze());
}
BENCHMARK(TvmDso)->Arg(1)->Arg(1024);
#endif

void SetAttrs(benchmark::State& state) {
  static constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f"};
  for (auto _ : state) {
    OpAttrs attrs;
    for (int64_t i = 0; i < state.range(0); ++i) attrs.Set(kNames[i], i);
    benchmark::DoNotOptimize(attrs);
  }
}
BENCHMARK(SetAttrs)->Arg(1)->Arg(6);

void FreezeAttrs(benchmark::State& state) {
  for (auto _ : state) {
    OpAttrs attrs;
    attrs.Set("transpose_a", true);
    benchmark::DoNotOptimize(attrs.Freeze());
  }
}
BENCHMARK(FreezeAttrs);

void AsyncValueResolve(benchmark::State& state) {
  for (auto _ : state) {
    auto value = MakeUnconstructed<int>();
    int seen = 0;
    benchmark::DoNotOptimize(value->AndThen([&] { ++seen; }));
    value->Emplace(1);
    benchmark::DoNotOptimize(seen);
  }
}
BENCHMARK(AsyncValueResolve);

void AsyncValueCopyRef(benchmark::State& state) {
  const auto value = AsyncValueRef<int>::MakeAvailable(1);
  for (auto _ : state) benchmark::DoNotOptimize(value.CopyRef());
}
BENCHMARK(AsyncValueCopyRef);

void AsyncValueIndirect(benchmark::State& state) {
  const auto target = AsyncValueRef<int>::MakeAvailable(1);
  for (auto _ : state) {
    auto value = MakeRef<IndirectAsyncValue>();
    value->ForwardTo(RcRef<AsyncValue>::Share(target.value()));
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(AsyncValueIndirect);

}  // namespace
}  // namespace tandem
