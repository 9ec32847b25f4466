// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GroupWorld: a runtime with the CPU's ops, for the tests of waiting calls that are computed as one (PR-6).

#ifndef TANDEM_TESTS_UNIT_PENDING_GROUP_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_PENDING_GROUP_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"

namespace tandem {

// Elements of which the results of two calls are enough for a group.
inline constexpr int64_t kGroupSize = 1 << 14;

class GroupWorld {
 public:
  struct Options {
    bool fuse = true;
    int num_workers = 2;  // 0: tasks run when somebody waits
    int64_t inline_cost_limit = int64_t{1} << 40;
    int64_t max_pending_ops = 1 << 20;
    size_t memory_limit = SIZE_MAX;
    std::function<bool()> may_go_on{};
    std::function<bool(int64_t)> may_begin{};
    std::unique_ptr<WorkQueue> work_queue{};  // instead of one with so many workers
  };
  explicit GroupWorld(Options options) : runtime_(MakeOptions(std::move(options))) {
    const Status registered = RegisterAllOps(runtime_.registry());
    EXPECT_TRUE(registered.ok()) << registered.ToString();
    StatusOr<KernelOpHandler*> handler = CreateCpuOpHandler(runtime_);
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    cpu_ = *handler;
  }
  GroupWorld() : GroupWorld(Options()) {}

  CoreRuntime& runtime() { return runtime_; }
  HostContext& host() { return runtime_.host(); }
  KernelOpHandler& cpu() { return *cpu_; }
  bool has_fuser() const { return cpu_->fuser() != nullptr; }

  template <typename T>
  Tensor Make(const TensorShape& shape, const std::vector<T>& values) {
    StatusOr<Tensor> tensor =
        MakeDense({kDTypeOf<T>, shape}, std::as_bytes(std::span(values)), host().device(), host().allocator());
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return std::move(*tensor);
  }
  template <typename T = float>
  TensorHandle Dense(const TensorShape& shape, const std::vector<T>& values) {
    return TensorHandle::MakeAvailable(Make<T>(shape, values));
  }
  // 1/8, 2/8, ... in f32.
  std::vector<float> Ramp(int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000 + 1) / 8;
    return values;
  }
  TensorHandle RampHandle(int64_t size = kGroupSize) { return Dense({size}, Ramp(size)); }

  // A tensor that is still to come, and what ends it.
  struct Pending {
    Producer<Tensor> producer;
    TensorHandle handle;
    // Drops `handle`, too, so that a consumer may take the memory over.
    void Resolve(Tensor tensor) {
      producer.value().TakePayload(std::move(tensor));
      handle.reset();
      producer.SetConcrete();
    }
    void Fail(Status error) { producer.SetError(std::move(error)); }
  };
  Pending MakePending(const TensorMetadata& metadata) {
    auto producer = Producer<Tensor>::MakeConstructed(metadata, &host().device());
    TensorHandle handle(producer.ref(), &host().device());
    return {std::move(producer), std::move(handle)};
  }
  Pending MakePending(int64_t size = kGroupSize) { return MakePending({DType::kF32, {size}}); }

  // Consumes its arguments; copy those that are needed again.
  template <typename... Handles>
  TensorHandle Call(std::string_view op, Handles... handles) {
    return CallWith(ExecutionContext(host(), Location()), op, OpAttrsRef(), std::move(handles)...);
  }
  template <typename... Handles>
  TensorHandle CallWith(const ExecutionContext& exec, std::string_view op, const OpAttrsRef& attrs,
                        Handles... handles) {
    TensorHandle args[] = {std::move(handles)...};
    TensorHandle result;
    OpHandler& handler = layer_ == nullptr ? static_cast<OpHandler&>(*cpu_) : *layer_;
    runtime_.Execute(exec, op, &handler, args, attrs, {&result, 1});
    EXPECT_TRUE(result.IsValid()) << "EX-3";
    return result;
  }
  // What calls are for, instead of the CPU.
  void UseLayer(OpHandler* layer) { layer_ = layer; }

  // The bytes of a dense or scalar host tensor, or its error.
  std::string BitsOf(const TensorHandle& handle) {
    const Status status = host().Await(handle);
    if (!status.ok()) return status.ToString();
    const StatusOr<Tensor> tensor = ToDense(handle.tensor(), host().allocator());
    if (!tensor.ok()) return tensor.status().ToString();
    return std::string(static_cast<const char*>(tensor->data()), tensor->metadata().byte_size());
  }
  std::string TextOfError(const TensorHandle& handle) { return host().Await(handle).ToString(); }

  // What the diagnostic handler has heard so far.
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  // The number of kernels that ran while the host was tracing.
  int64_t num_kernels() { return host().tracer().num_events(); }
  bool Traced(std::string_view text) { return host().tracer().ToJson().find(text) != std::string::npos; }

 private:
  HostContext::Options MakeOptions(Options from) {
    HostContext::Options options;
    options.work_queue = std::move(from.work_queue);
    if (options.work_queue == nullptr) {
      options.work_queue =
          from.num_workers == 0 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(from.num_workers);
    }
    options.diagnostic_handler = [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      told_.push_back(status.ToString());
    };
    options.fuse = from.fuse;
    options.inline_cost_limit = from.inline_cost_limit;
    options.max_pending_ops = from.max_pending_ops;
    options.allocator.memory_limit = from.memory_limit;
    options.may_go_on = std::move(from.may_go_on);
    options.may_begin = std::move(from.may_begin);
    return options;
  }

  std::mutex mutex_;
  std::vector<std::string> told_;
  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
  OpHandler* layer_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PENDING_GROUP_TEST_FIXTURE_H_
