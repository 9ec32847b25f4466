// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Asks everything with virtual functions that Tandem gives away for its type: with dynamic_cast and typeid, to classes
// that it is and to classes that it is not.

#include "casts.h"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/logging_op_handler.h"
#include "tandem/work_queue.h"

namespace {

// What nothing of Tandem's is.
struct Stranger {
  virtual ~Stranger() = default;
};

template <typename Target, typename Source>
void Expect(bool expected, const Source& object, const std::string& what) {
  if ((dynamic_cast<const Target*>(&object) != nullptr) != expected) {
    throw std::runtime_error("unexpected: " + what + (expected ? " is no " : " is a ") + typeid(Target).name());
  }
}

// An object whose class is a hidden one: what it is at least, and that it is not what it cannot be.
template <typename Source>
void ExpectKnown(const Source& object, const std::string& what) {
  Expect<Stranger>(false, object, what);
  Expect<Source>(true, object, what);
  if (std::string(typeid(object).name()).empty()) throw std::runtime_error("unexpected: " + what + " has no type");
}

void CheckHandlers(tandem::CoreRuntime& runtime) {
  const tandem::OpHandler& cpu = *runtime.FindHandler("cpu");
  ExpectKnown(cpu, "cpu");
  Expect<tandem::KernelOpHandler>(true, cpu, "cpu");
  const tandem::OpHandler& null = runtime.null_handler();
  ExpectKnown(null, "null");
  Expect<tandem::KernelOpHandler>(false, null, "null");
  const auto owner = tandem::CreateLoggingOpHandler("casts", runtime, *runtime.FindHandler("cpu"), {});
  const tandem::OpHandler& logging = *owner;
  ExpectKnown(logging, "logging");
  Expect<tandem::KernelOpHandler>(false, logging, "logging");
  if (typeid(logging) == typeid(null)) throw std::runtime_error("unexpected: logging and null are of one type");
  for (tandem::OpHandler* handler : {runtime.FindHandler("cpu"), owner.get()}) {
    const auto op = runtime.MakeOp("tf.AddV2", handler);
    if (!op.ok()) throw std::runtime_error(op.status().ToString());
    ExpectKnown(*op->impl(), "op of " + handler->name());
  }
}

void CheckValues(tandem::CoreRuntime& runtime) {
  tandem::HostContext& host = runtime.host();
  const std::vector<float> values(64, 1.0f);
  auto made =
      tandem::MakeDense({tandem::DType::kF32, {64}}, std::as_bytes(std::span(values)), host.device(), host.allocator());
  if (!made.ok()) throw std::runtime_error(made.status().ToString());
  ExpectKnown(*made->storage(), "storage");
  Expect<tandem::HostBuffer>(true, *made->storage(), "storage");

  // Results: computed, and not.
  const tandem::TensorHandle x = tandem::TensorHandle::MakeAvailable(*made);
  for (const char* op : {"tf.Neg", "tf.NoSuchOp"}) {
    std::array args = {x.CopyRef()};
    std::array<tandem::TensorHandle, 1> results;
    runtime.Execute(op, runtime.FindHandler("cpu"), tandem::Location::Current(), args, tandem::OpAttrs(), results);
    const tandem::AsyncValue& result = *results[0].value().value();
    ExpectKnown(result, op);
    Expect<tandem::ErrorAsyncValue>(result.IsError(), result, op);
    Expect<tandem::TensorValue>(!result.IsError(), result, op);
  }
  Expect<tandem::TensorValue>(true, *x.value().value(), "tensor made here");
  ExpectKnown(*tandem::MakeReadyChain().value(), "chain");
  ExpectKnown(*tandem::OutOfMemoryAsyncValue(), "out of memory");
}

void CheckQueues(tandem::CoreRuntime& runtime) {
  const auto owner = tandem::CreateSingleThreadedWorkQueue();
  const tandem::WorkQueue& single = *owner;
  const tandem::WorkQueue& multi = runtime.host().work_queue();
  ExpectKnown(single, "single-threaded queue");
  ExpectKnown(multi, "multi-threaded queue");
  if (typeid(single) == typeid(multi)) throw std::runtime_error("unexpected: queues of one type");
  const tandem::LocationDecoder& decoder = tandem::internal::kSourceLocationDecoder;
  ExpectKnown(decoder, "location decoder");
}

}  // namespace

void CheckCasts(tandem::CoreRuntime& runtime) {
  CheckHandlers(runtime);
  CheckValues(runtime);
  CheckQueues(runtime);
}
