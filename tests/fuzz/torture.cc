// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The concurrency torture, for ThreadSanitizer: threads that call ops in several runtimes, cancel, restart, resolve
// each other's promises and drop tensors, in generations of runtimes that are destroyed with work pending. What each
// thread does follows from the seed; how they meet does not.

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "effort.h"
#include "random.h"
#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "watchdog.h"

namespace tandem::fuzz {
namespace {

constexpr int kHangSeconds = 120;
constexpr int kMostThreads = 16;
constexpr size_t kNumRuntimes = 3;
constexpr int kSteps = 300;  // of a thread in a generation

// What a thread is doing, for the watchdog.
struct Progress {
  std::atomic<const char*> action{"nothing yet"};
  std::atomic<uint64_t> generation{0};
  std::atomic<int> step{0};
};
std::array<Progress, kMostThreads> progress;
std::atomic<uint64_t> the_seed{0};
std::atomic<int> num_threads{0};

void SayProgress() {
  WriteError("torture: --seed ");
  WriteError(the_seed);
  WriteError("\n");
  for (int i = 0; i < num_threads; ++i) {
    WriteError("  thread ");
    WriteError(static_cast<uint64_t>(i));
    WriteError(": generation ");
    WriteError(progress[static_cast<size_t>(i)].generation);
    WriteError(", step ");
    WriteError(static_cast<uint64_t>(progress[static_cast<size_t>(i)].step));
    WriteError(": ");
    WriteError(progress[static_cast<size_t>(i)].action);
    WriteError("\n");
  }
}

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return std::move(*value);
}

// The producer's side of a pending tensor.
struct Promise {
  RcRef<ConcreteAsyncValue<TensorMetadata>> metadata;  // null if it is known
  RcRef<TensorValue> value;
  const Device* device = nullptr;

  TensorHandle Handle() const {
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), device);
  }
  void Resolve(Tensor tensor) {
    if (metadata) {
      value->Construct(tensor.metadata(), device);
      metadata->Emplace(tensor.metadata());
    }
    // What is known already may be read by others.
    value->value().TakePayload(std::move(tensor));
    value.release()->SetConcreteAndDropRef();
  }
  void Fail() {
    const Status error =
        Status::Error(StatusCode::kInvalidArgument, "a producer failed", "torture", Location::Current());
    if (metadata) metadata->SetError(error);
    value->SetError(error);
  }
};

struct World {
  explicit World(size_t index) : runtime(Options(index)) {
    if (const Status status = RegisterAllOps(runtime.registry()); !status.ok())
      throw std::runtime_error(status.ToString());
    cpu = ValueOrThrow(CreateCpuOpHandler(runtime));
    add = ValueOrThrow(runtime.MakeOp("tf.AddV2", cpu));
  }
  static HostContext::Options Options(size_t index) {
    HostContext::Options options;
    options.work_queue = CreateMultiThreadedWorkQueue(static_cast<int>(index) + 1);
    options.inline_cost_limit = index == 0 ? 50'000 : 100;
    options.max_pending_ops = index == 1 ? 64 : 1 << 20;
    options.diagnostic_handler = [](const Status&) {};
    return options;
  }
  Tensor Filled(float value) {
    return ValueOrThrow(MakeScalar({DType::kF32, {kSize}}, &value, runtime.host().device()));
  }

  static constexpr int64_t kSize = 40;
  CoreRuntime runtime;
  OpHandler* cpu = nullptr;
  Op add;
};

// What the threads of a generation share.
struct Generation {
  Generation() {
    for (size_t i = 0; i < kNumRuntimes; ++i) {
      worlds[i] = std::make_unique<World>(i);
      requests.push_back(ValueOrThrow(RequestContext::Create(worlds[i]->runtime.host(), {})));
    }
  }
  // Somebody's promise, or none. The world says whose tensor it takes.
  std::pair<size_t, Promise> TakePromise(Random& random) {
    const std::lock_guard lock(mutex);
    if (promises.empty()) return {};
    std::swap(random.Pick(promises), promises.back());
    std::pair<size_t, Promise> taken = std::move(promises.back());
    promises.pop_back();
    return taken;
  }
  void Share(size_t world, Promise promise) {
    const std::lock_guard lock(mutex);
    promises.emplace_back(world, std::move(promise));
  }
  RcRef<RequestContext> Request(size_t world) {
    const std::lock_guard lock(mutex);
    return requests[world];
  }
  void RenewRequest(size_t world, RequestContext::Options options) {
    RcRef<RequestContext> fresh = ValueOrThrow(RequestContext::Create(worlds[world]->runtime.host(), options));
    const std::lock_guard lock(mutex);
    std::swap(requests[world], fresh);
  }

  std::array<std::unique_ptr<World>, kNumRuntimes> worlds;
  std::mutex mutex;
  std::vector<std::pair<size_t, Promise>> promises;
  std::vector<RcRef<RequestContext>> requests;
};

// The steps of one thread in one generation.
class Worker {
 public:
  Worker(Generation& generation, Progress& progress, uint64_t seed, uint64_t stream)
      : generation_(generation), progress_(progress), random_(seed, stream) {
    for (auto& list : handles_) list.reserve(kMostHandles);
    for (AsyncValueRef<Chain>& chain : chains_) chain = MakeReadyChain();
  }

  // Returns what is wrong, or nothing.
  const char* Step() {
    const size_t w = random_.Below(kNumRuntimes);
    World& world = *generation_.worlds[w];
    switch (random_.Below(20)) {
      case 0:
        Say("making a promise");
        MakePromise(w, world);
        break;
      case 1:
      case 2:
        Say("resolving a promise");
        ResolvePromise();
        break;
      case 3:
        Say("dropping tensors");
        handles_[w].clear();
        break;
      case 4:
        Say("cancelling a request");
        generation_.Request(w)->Cancel("no longer wanted");
        generation_.RenewRequest(w, {});
        break;
      case 5:
        Say("giving a deadline");
        generation_.RenewRequest(
            w, {RequestContext::Clock::now() + std::chrono::microseconds(random_.Between(0, 2000)), nullptr});
        break;
      case 6:
        if (!random_.OneIn(8)) break;
        Say("cancelling a host");
        world.runtime.host().CancelExecution("stop");
        Say("restarting a host");
        world.runtime.host().Restart();
        break;
      case 7:
        Say("awaiting with a deadline");
        Await(w, world);
        break;
      case 8:
        Say("an effect");
        return Assert(w, world);
      case 9:
        if (!random_.OneIn(20)) break;
        Say("tracing");
        world.runtime.host().StartTracing();
        world.runtime.host().StopTracing();
        break;
      case 10:
        Say("a reduction");
        return CallByName(w, world, "tf.Mean", true);
      case 11:
        Say("an op that copies");
        return CallByName(w, world, "test.async.noop", false);
      case 12:
        Say("a wrong call");
        return CallByName(w, world, "tf.MatMul", true);
      default:
        Say("an addition");
        return Add(w, world);
    }
    return nullptr;
  }

 private:
  static constexpr size_t kMostHandles = 12;

  void Say(const char* action) { progress_.action = action; }

  TensorHandle Operand(size_t w, World& world) {
    if (handles_[w].empty() || random_.OneIn(4)) return TensorHandle::MakeAvailable(world.Filled(1));
    return random_.Pick(handles_[w]).CopyRef();
  }
  void Keep(size_t w, TensorHandle handle) {
    if (handles_[w].size() < kMostHandles) return handles_[w].push_back(std::move(handle));
    random_.Pick(handles_[w]) = std::move(handle);
  }
  ExecutionContext Exec(size_t w, World& world) {
    if (random_.OneIn(2)) return ExecutionContext(world.runtime.host(), Location::Current());
    return ExecutionContext(world.runtime.host(), Location::Current(), generation_.Request(w));
  }

  void MakePromise(size_t w, World& world) {
    const Device* device = &world.runtime.host().device();
    Promise promise{nullptr, nullptr, device};
    if (random_.OneIn(2)) {
      promise.metadata = MakeUnconstructed<TensorMetadata>();
      promise.value = MakeUnconstructed<Tensor>();
    } else {
      promise.value =
          MakeRef<TensorValue>(TensorValue::Constructed{}, TensorMetadata(DType::kF32, {World::kSize}), device);
    }
    Keep(w, promise.Handle());
    generation_.Share(w, std::move(promise));
  }
  void ResolvePromise() {
    auto [w, promise] = generation_.TakePromise(random_);
    if (!promise.value) return;
    if (random_.OneIn(8)) return promise.Fail();
    promise.Resolve(generation_.worlds[w]->Filled(2));
  }

  const char* Add(size_t w, World& world) {
    TensorHandle args[2] = {Operand(w, world), Operand(w, world)};
    TensorHandle result;
    AsyncValueRef<Chain>* const chain = random_.OneIn(10) ? &chains_[w] : nullptr;
    if (random_.OneIn(2)) {
      world.add(Exec(w, world), args, OpAttrsRef(), {&result, 1}, chain);
    } else {
      world.runtime.Execute(Exec(w, world), "tf.AddV2", world.cpu, args, OpAttrsRef(), {&result, 1}, chain);
    }
    return Take(w, args, std::move(result));
  }
  // Of one or two arguments; the result is dropped, since it may be of another shape.
  const char* CallByName(size_t w, World& world, const char* op, bool has_two) {
    TensorHandle args[2];
    args[0] = Operand(w, world);
    if (has_two) {
      const int32_t axis = 0;
      args[1] = TensorHandle::MakeAvailable(
          ValueOrThrow(MakeDense({DType::kI32, {1}}, std::as_bytes(std::span(&axis, 1)), world.runtime.host().device(),
                                 world.runtime.host().allocator())));
    }
    TensorHandle result;
    world.runtime.Execute(Exec(w, world), op, world.cpu, {args, has_two ? 2u : 1u}, OpAttrsRef(), {&result, 1});
    const bool is_complete = result.IsValid() && !args[0].IsValid() && !args[1].IsValid();
    return is_complete ? nullptr : "a call left an argument, or a null result";
  }
  const char* Assert(size_t w, World& world) {
    const bool condition = true;
    TensorHandle args[2] = {TensorHandle::MakeAvailable(ValueOrThrow(
                                MakeScalar({DType::kBool, {}}, &condition, world.runtime.host().device()))),
                            Operand(w, world)};
    world.runtime.Execute(Exec(w, world), "tf.Assert", world.cpu, args, OpAttrsRef(), {}, &chains_[w]);
    if (!chains_[w].IsValid()) return "a call left a null chain";
    if (chains_[w].IsAvailable() && chains_[w].IsError()) chains_[w] = MakeReadyChain();
    return nullptr;
  }
  void Await(size_t w, World& world) {
    if (handles_[w].empty()) return;
    const TensorHandle& handle = random_.Pick(handles_[w]);
    const AsyncValue* const value = handle.value().value();
    // What was resolved by now is all it may wait for.
    const auto deadline = WorkQueue::Deadline::clock::now() + std::chrono::microseconds(random_.Between(0, 500));
    static_cast<void>(world.runtime.host().Await({&value, 1}, deadline));
  }
  const char* Take(size_t w, std::span<TensorHandle> args, TensorHandle result) {
    for (const TensorHandle& arg : args) {
      if (arg.IsValid()) return "EX-2: a call left an argument";
    }
    if (!result.IsValid()) return "EX-3: a call left a null result";
    Keep(w, std::move(result));
    return nullptr;
  }

  Generation& generation_;
  Progress& progress_;
  Random random_;
  std::array<std::vector<TensorHandle>, kNumRuntimes> handles_;
  std::array<AsyncValueRef<Chain>, kNumRuntimes> chains_;
};

// One generation: threads work in runtimes that then are destroyed, with whatever is pending. Tensors outlive them.
const char* RunGeneration(uint64_t seed, uint64_t number, int threads, Watchdog& watchdog) {
  std::atomic<const char*> failure{nullptr};
  auto generation = std::make_unique<Generation>();
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<Worker>(*generation, progress[static_cast<size_t>(i)], seed,
                                               number * kMostThreads + static_cast<uint64_t>(i)));
  }
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      Progress& mine = progress[static_cast<size_t>(i)];
      mine.generation = number;
      for (int step = 0; step < kSteps && failure == nullptr; ++step) {
        mine.step = step;
        watchdog.Note();
        if (const char* wrong = workers[static_cast<size_t>(i)]->Step()) failure = wrong;
      }
      mine.action = "waiting for the end of the generation";
    });
  }
  for (std::thread& thread : running) thread.join();
  // One runtime after the other goes while promises of it are being resolved by another thread.
  auto promises = std::move(generation->promises);
  generation->requests.clear();
  std::vector<Tensor> tensors;
  for (auto& [w, promise] : promises) tensors.push_back(generation->worlds[w]->Filled(3));
  std::thread resolver([&] {
    for (size_t i = 0; i < promises.size(); ++i) {
      if (i % 3 != 0) promises[i].second.Resolve(std::move(tensors[i]));
    }
  });
  Random random(seed, ~number);
  for (size_t i = 0; i < kNumRuntimes; ++i) generation->worlds[(i + random.Below(3)) % kNumRuntimes].reset();
  resolver.join();
  for (std::unique_ptr<World>& world : generation->worlds) world.reset();
  // Those that were left go unresolved (AV-8), after the runtimes or before their dependents.
  if (random.OneIn(2)) workers.clear();
  promises.clear();
  workers.clear();
  tensors.clear();
  return failure;
}

int Main(int argc, char** argv) {
  uint64_t seed = 1;
  int seconds = 10;
  int threads = 6;
  uint64_t first = 0;
  uint64_t generations = 0;
  CLI::App app("Calls ops from many threads in several runtimes that come and go.");
  app.add_option("--seed", seed, "What the threads' steps are drawn from")->capture_default_str();
  app.add_option("--seconds", seconds, "Begin no generation after so many seconds")->capture_default_str();
  AddFullOption(app, seconds, "--seconds");
  app.add_option("--threads", threads, "Threads")->capture_default_str()->check(CLI::Range(1, kMostThreads));
  app.add_option("--first", first, "The number of the first generation")->capture_default_str();
  app.add_option("--generations", generations, "How many generations, 0: as many as fit")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  the_seed = seed;
  num_threads = threads;
  Watchdog watchdog(&SayProgress, kHangSeconds);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t number = first;
  for (; generations == 0 || number < first + generations; ++number) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(seconds)) break;
    const char* failure = nullptr;
    try {
      failure = RunGeneration(seed, number, threads, watchdog);
    } catch (const std::exception& error) {
      std::printf("FAILED generation %llu: %s\n", static_cast<unsigned long long>(number), error.what());
      return 1;
    }
    if (failure == nullptr && AsyncValue::CountsLive() && AsyncValue::NumLive() != 0) {
      failure = "AV-6: async values are left";
    }
    if (failure != nullptr) {
      std::printf("FAILED --seed %llu --first %llu --threads %d: %s\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(number), threads, failure);
      return 1;
    }
  }
  std::printf("torture: seed %llu, %llu generations of %d threads, %llu steps\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(number - first), threads,
              static_cast<unsigned long long>((number - first) * static_cast<uint64_t>(threads) * kSteps));
  return 0;
}

}  // namespace
}  // namespace tandem::fuzz

int main(int argc, char** argv) { return tandem::fuzz::Main(argc, argv); }
