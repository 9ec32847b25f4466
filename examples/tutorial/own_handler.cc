// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tutorial, part 2: op handlers of one's own: a layer that sees every call on its way to a device, and a device with
// kernels and a context of its own that leaves the rest to the CPU.

#include <atomic>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "tandem/kernel_op_handler.h"
#include "tandem/ops.h"

using tandem::eager::Runtime;
using tandem::eager::Tensor;

// A layer: it has no device, resolves an op by the handler below, its fallback, and puts itself around it. Ops are
// resolved once and called often, from any thread.
class CountingHandler final : public tandem::OpHandler {
 public:
  CountingHandler(tandem::CoreRuntime& runtime, tandem::OpHandler& below) : OpHandler("counting", runtime, &below) {}

  tandem::StatusOr<tandem::Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(tandem::Op op, fallback()->MakeOp(op_name));
    auto counted = tandem::MakeRef<const CountedOp>(std::move(op), calls_);
    if (!counted) return tandem::Status::OutOfMemory();
    return tandem::Op(std::move(counted));
  }

  int64_t calls() const { return calls_.load(); }

 private:
  class CountedOp final : public tandem::OpImpl {
   public:
    CountedOp(tandem::Op op, std::atomic<int64_t>& calls) : OpImpl(op.name()), op_(std::move(op)), calls_(calls) {}
    void Invoke(const tandem::OpInvocation& invocation) const override {
      calls_.fetch_add(1, std::memory_order_relaxed);
      op_(invocation);
    }

   private:
    tandem::Op op_;
    std::atomic<int64_t>& calls_;
  };

  std::atomic<int64_t> calls_{0};
};

// A device: kernels by op and dtype, and whatever these share as members of the handler. This one computes in main
// memory and so takes the host's device; what it has no kernel for goes to the CPU handler.
class TableHandler final : public tandem::KernelOpHandler {
 public:
  TableHandler(tandem::CoreRuntime& runtime, tandem::OpHandler& cpu)
      : KernelOpHandler("table", runtime, &cpu, runtime.host().device(), Policy()) {
    for (int i = 0; i < 256; ++i) squares_[i] = static_cast<uint8_t>(i * i);
  }
  uint8_t square(uint8_t value) const { return squares_[value]; }

 private:
  uint8_t squares_[256];
};

static tandem::Status SquareByTable(tandem::DenseArg x, tandem::KernelFrame& frame) {
  const auto& table = static_cast<const TableHandler&>(frame.handler());  // the handler that the kernel was added to
  auto* y = frame.ForwardOrAllocateResult<uint8_t>(0, {0});               // in the argument's memory, if it is the last
  if (y == nullptr) return tandem::Status();
  for (int64_t i = 0; i < x.size(); ++i) y[i] = table.square(x.data<uint8_t>()[i]);
  return tandem::Status();
}

static tandem::Status Run() {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create());
  Runtime& rt = *runtime;
  tandem::CoreRuntime& core = rt.core();
  tandem::OpHandler& cpu = rt.handler();

  // The runtime owns its handlers.
  auto table = std::make_unique<TableHandler>(core, cpu);
  TANDEM_RETURN_IF_ERROR(table->AddKernel("tf.Square", {tandem::DType::kU8}, tandem::MakeKernel<&SquareByTable>()));
  tandem::OpHandler* device = core.AddHandler(std::move(table));
  auto counting = std::make_unique<CountingHandler>(core, *device);
  CountingHandler& counter = *counting;
  rt.UseHandler(*core.AddHandler(std::move(counting)));

  const Tensor x = rt.FromValues<uint8_t>({3, 5, 16}, {3});
  const Tensor y = square(x);                     // by the table
  const Tensor z = cast(y, tandem::DType::kF32);  // by the CPU
  std::printf("%s, then %s, in %lld calls\n", y.ToString().c_str(), z.ToString().c_str(),
              static_cast<long long>(counter.calls()));
  return z.Await();
}

int main() {
  const tandem::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
