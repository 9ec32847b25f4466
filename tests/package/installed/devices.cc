// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One class derived from each that Tandem offers for it, compiled with run-time type information, as is the default.

#include "devices.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/logging_op_handler.h"

namespace {

void Expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("unexpected: " + what);
}

// Gives each argument back as the result.
class EchoHandler final : public tandem::OpHandler {
 public:
  explicit EchoHandler(tandem::CoreRuntime& runtime) : OpHandler("echo", runtime, &runtime.null_handler()) {}

  tandem::StatusOr<tandem::Op> MakeOp(std::string_view op_name) override {
    const tandem::OpDef* def = runtime().registry().Find(op_name);
    if (def == nullptr) return fallback()->MakeOp(op_name);
    return tandem::Op(tandem::MakeRef<const EchoOp>(def->name));
  }

 private:
  class EchoOp final : public tandem::OpImpl {
   public:
    using OpImpl::OpImpl;
    void Invoke(const tandem::OpInvocation& invocation) const override {
      for (tandem::TensorHandle& result : invocation.results) result = invocation.args[0].CopyRef();
      for (tandem::TensorHandle& arg : invocation.args) arg.reset();
    }
  };
};

// A device with a kernel and a context of its own.
class CountingHandler final : public tandem::KernelOpHandler {
 public:
  explicit CountingHandler(tandem::CoreRuntime& runtime)
      : KernelOpHandler("counting", runtime, nullptr, runtime.host().device(), Policy()) {}
  int calls = 0;
};

tandem::Status CountingRelu(tandem::DenseArg x, tandem::KernelFrame& frame) {
  ++dynamic_cast<CountingHandler&>(frame.handler()).calls;
  auto* y = frame.ForwardOrAllocateResult<float>(0, {0});
  for (int64_t i = 0; y != nullptr && i < x.size(); ++i) y[i] = x.data<float>()[i] > 0 ? x.data<float>()[i] : 0;
  return tandem::Status();
}

// Memory of the program's own.
class OwnBuffer final : public tandem::HostBuffer {
 public:
  explicit OwnBuffer(std::vector<float> values)
      : HostBuffer(values.data(), values.size() * sizeof(float), /*external=*/true), values_(std::move(values)) {}

 private:
  std::vector<float> values_;
};

class OwnStorage final : public tandem::TensorStorage {
 public:
  explicit OwnStorage(bool* freed) : freed_(freed) {}
  ~OwnStorage() override { *freed_ = true; }

 private:
  bool* freed_;
};

class OwnTask final : public tandem::Task {
 public:
  void Run() override { ran = true; }
  bool ran = false;
};

// Runs everything at once, and counts what it knows.
class InlineQueue final : public tandem::WorkQueue {
 public:
  using WorkQueue::AddTask;
  void AddTask(tandem::Task& task) override {
    if (dynamic_cast<OwnTask*>(&task) != nullptr) ++own_tasks;
    task.Run();
  }
  bool AddBlockingTask(std::function<void()> fn) override { return fn(), true; }
  tandem::Status Await(std::span<const tandem::AsyncValue* const> values, Deadline) override {
    for (const tandem::AsyncValue* value : values) {
      if (!value->IsAvailable()) return tandem::FailedPrecondition("nothing is left to run");
    }
    return tandem::Status();
  }
  void Quiesce() override {}
  bool RunOneTask() override { return false; }
  int ParallelismLevel() const override { return 1; }
  bool IsWorkerThread() const override { return false; }
  bool MayBlock() const override { return false; }
  int own_tasks = 0;
};

class OwnWaiter final : public tandem::Waiter {
 public:
  void Run() override { ran = true; }
  void Drop() override {}
  bool ran = false;
};

class LineDecoder final : public tandem::LocationDecoder {
 public:
  tandem::DecodedLocation Decode(uintptr_t data) const override {
    return {"series.txt", static_cast<uint32_t>(data), 1};
  }
};

// What only a value with a destructor of its own shows.
class Counted : public tandem::ConcreteAsyncValue<std::string> {
 public:
  explicit Counted(int* live) : live_(live) { ++*live_; }

 private:
  ~Counted() override { --*live_; }
  int* live_;
};

std::string Execute(tandem::CoreRuntime& runtime, std::string_view op, tandem::OpHandler* handler,
                    std::vector<float> values, tandem::Location location = {}) {
  auto buffer = tandem::RcRef<OwnBuffer>::Take(new OwnBuffer(std::move(values)));
  const auto size = static_cast<int64_t>(buffer->size() / sizeof(float));
  const tandem::TensorMetadata metadata(tandem::DType::kF32, {size});
  void* data = buffer->data();
  tandem::TensorHandle arg = tandem::TensorHandle::MakeAvailable(
      tandem::Tensor(metadata, &runtime.host().device(), tandem::kDenseHost, data, std::move(buffer)));
  tandem::TensorHandle result;
  runtime.Execute(op, handler, location, {&arg, 1}, tandem::OpAttrs(), {&result, 1});
  const tandem::Status status = runtime.host().Await(result);
  if (!status.ok()) return status.ToString();
  tandem::MessageBuilder text;
  tandem::AppendTensor(text, result.tensor(), 8);
  return std::string(text.view());
}

void RunHandlers(tandem::CoreRuntime& runtime) {
  tandem::OpHandler* echo = runtime.AddHandler(std::make_unique<EchoHandler>(runtime));
  Expect(Execute(runtime, "tf.Neg", echo, {1, 2}) == "f32[2] = [1, 2]", "the echo handler");

  auto owned = std::make_unique<CountingHandler>(runtime);
  CountingHandler& counting = *owned;
  Expect(counting.AddKernel("tf.Relu", {tandem::DType::kF32}, tandem::MakeKernel<&CountingRelu>()).ok(), "AddKernel");
  runtime.AddHandler(std::move(owned));
  Expect(Execute(runtime, "tf.Relu", &counting, {-1, 2}) == "f32[2] = [0, 2]", "the counting handler");
  Expect(counting.calls == 1 && dynamic_cast<CountingHandler*>(runtime.FindHandler("counting")) == &counting,
         "its context");

  const LineDecoder decoder;
  const std::string error = Execute(runtime, "tf.Unheard", &counting, {1}, tandem::Location(&decoder, 7));
  Expect(error.find("(series.txt:7:1)") != std::string::npos, error);
}

void RunValues() {
  int live = 0;
  auto value = tandem::RcRef<Counted>::Take(new Counted(&live));
  tandem::AsyncValueRef<std::string> ref{tandem::RcRef<tandem::AsyncValue>(value)};
  auto indirect = tandem::MakeRef<tandem::IndirectAsyncValue>();
  indirect->ForwardTo(value);
  OwnWaiter waiter;
  indirect->AndThen(waiter);
  bool called = false;
  Expect(ref.AndThen([&called] { called = true; }), "AndThen");
  value->Emplace("text");
  Expect(waiter.ran && called && *ref == "text", "an async value");
  Expect(dynamic_cast<Counted*>(ref.value()) == value.get(), "its type");
  value.reset();
  ref.reset();
  indirect.reset();
  Expect(live == 0, "values left");

  const auto failed = tandem::AsyncValueRef<std::string>::MakeError(tandem::Internal("broken"));
  Expect(dynamic_cast<tandem::ErrorAsyncValue*>(failed.value()) != nullptr, "an error's type");
}

void RunQueue() {
  tandem::HostContext::Options options;
  options.work_queue = std::make_unique<InlineQueue>();
  tandem::CoreRuntime runtime(std::move(options));
  OwnTask task;
  runtime.host().work_queue().AddTask(task);
  bool called = false;
  runtime.host().work_queue().AddTask([&called] { called = true; });
  Expect(task.ran && called, "tasks");
  Expect(dynamic_cast<InlineQueue&>(runtime.host().work_queue()).own_tasks == 1, "types of tasks");

  bool freed = false;
  {
    static constexpr tandem::TensorType kOwn{"own"};
    const tandem::Tensor tensor(tandem::TensorMetadata(tandem::DType::kF32, {4}), &runtime.host().device(), kOwn,
                                nullptr, tandem::RcRef<tandem::TensorStorage>::Take(new OwnStorage(&freed)));
    Expect(tensor.IsA(kOwn) && !tandem::IsHostType(tensor.type()), "a type of its own");
  }
  Expect(freed, "storage left");
}

}  // namespace

void RunOnDevices(tandem::CoreRuntime& runtime) {
  RunHandlers(runtime);
  RunValues();
  RunQueue();
}
