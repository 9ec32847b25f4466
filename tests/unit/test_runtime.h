// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TestRuntime: a runtime with a handful of tiny ops of its own, for the tests of how ops are executed.

#ifndef TANDEM_TESTS_UNIT_TEST_RUNTIME_H_
#define TANDEM_TESTS_UNIT_TEST_RUNTIME_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"

namespace tandem {

template <typename... Parts>
std::string TextOf(const Parts&... parts) {
  MessageBuilder text;
  text.Append(parts...);
  return std::string(text.view());
}

// The arguments of a call: a temporary is moved in, a named handle copied by reference.
class Args {
 public:
  template <typename... Handles>
  Args(Handles&&... handles) {  // NOLINT(google-explicit-constructor)
    (Add(std::forward<Handles>(handles)), ...);
  }
  std::span<TensorHandle> span() { return handles_; }
  void Add(TensorHandle&& handle) { handles_.push_back(std::move(handle)); }
  void Add(const TensorHandle& handle) { handles_.push_back(handle.CopyRef()); }
  void Add(TensorHandle& handle) { handles_.push_back(handle.CopyRef()); }

 private:
  std::vector<TensorHandle> handles_;
};

// What a test resolves itself: the producer's side of a handle.
struct Promise {
  RcRef<ConcreteAsyncValue<TensorMetadata>> metadata;  // null if it was known from the start
  RcRef<TensorValue> value;
  const Device* device = nullptr;

  TensorHandle Handle() const {
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), device);
  }
  // Resolves metadata that is still pending; `tensor` has it.
  void SetMetadata(const TensorMetadata& known) {
    value->Construct(known, device);
    std::exchange(metadata, nullptr)->Emplace(known);
  }
  // Gives up the producer's reference, so that a consumer may take over the tensor.
  void Resolve(Tensor tensor) {
    if (metadata) SetMetadata(tensor.metadata());
    value->value() = std::move(tensor);
    value.release()->SetConcreteAndDropRef();
  }
  void Fail(Status error) {
    if (metadata) metadata->SetError(error);
    value->SetError(std::move(error));
  }
};

namespace test_ops {

inline StatusOr<TensorMetadata> SameShape(const TensorMetadata& x, const TensorMetadata& y) {
  if (x.shape == y.shape) return x;
  return InvalidArgument("shapes must agree, got x: ", x, ", y: ", y);
}
inline TensorMetadata Same(const TensorMetadata& x) { return x; }

template <typename T>
Status Add(DenseArg x, DenseArg y, KernelFrame& frame) {
  T* sum = frame.ForwardOrAllocateResult<T>(0, {0, 1});
  if (sum == nullptr) return Status();
  for (int64_t i = 0; i < x.size(); ++i) sum[i] = x.data<T>()[i] + y.data<T>()[i];
  return Status();
}

// The arguments that are not zero, or an error.
inline StatusOr<Tensor> NonZero(DenseArg x, KernelFrame& frame) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.size(); ++i) count += x.data<float>()[i] != 0;
  TANDEM_ASSIGN_OR_RETURN(Tensor result,
                          AllocateDense({DType::kF32, {count}}, *x.tensor().device(), frame.host().allocator()));
  float* out = MutableDenseData<float>(result).data();
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.data<float>()[i] != 0) *out++ = x.data<float>()[i];
  }
  return result;
}

inline Status Refuse(KernelFrame&) { return InvalidArgument("refused"); }

}  // namespace test_ops

// Its ops on the handler "cpu":
//   t.Add(x: T, y: T)     T: {float, int32}; the shapes must agree; the kernel forwards
//   t.LongAdd             the same, for the work queue
//   t.NonZero(x: float)   no metadata function
//   t.Fail(x: float)      the kernel fails
//   t.Note(x: float)      a side effect: appends the first element to `notes`
class TestRuntime {
 public:
  explicit TestRuntime(HostContext::Options options = WithWorkers(2)) : runtime_(Complete(std::move(options))) {
    auto cpu = std::make_unique<KernelOpHandler>("cpu", runtime_, nullptr, host().device(), KernelOpHandler::Policy());
    cpu_ = cpu.get();
    runtime_.AddHandler(std::move(cpu));
    const auto add = [](std::string_view name) {
      return std::move(OpDefBuilder(name)
                           .Input("x: T")
                           .Input("y: T")
                           .Output("z: T")
                           .Attr("T: {float, int32}")
                           .Metadata<&test_ops::SameShape>());
    };
    Define(add("t.Add"));
    AddKernel("t.Add", {DType::kF32}, MakeKernel<&test_ops::Add<float>>());
    AddKernel("t.Add", {DType::kI32}, MakeKernel<&test_ops::Add<int32_t>>());
    Define(add("t.LongAdd"));
    AddKernel("t.LongAdd", {DType::kF32}, MakeKernel<&test_ops::Add<float>>().WithCost(1e9f));
    Define(OpDefBuilder("t.NonZero").Input("x: float").Output("y: float"), MakeKernel<&test_ops::NonZero>());
    Define(OpDefBuilder("t.Fail").Input("x: float").Output("y: float").Metadata<&test_ops::Same>(),
           MakeKernel<&test_ops::Refuse>());
    Define(OpDefBuilder("t.Note").Input("x: float").SideEffects(), MakeKernel([this](DenseArg x) {
             const std::lock_guard lock(mutex_);
             notes_.push_back(x.data<float>()[0]);
             return Status();
           }));
  }

  static HostContext::Options WithWorkers(int num_workers) {
    HostContext::Options options;
    options.work_queue = num_workers == 0 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(num_workers);
    return options;
  }

  CoreRuntime& runtime() { return runtime_; }
  HostContext& host() { return runtime_.host(); }
  KernelOpHandler& cpu() { return *cpu_; }

  void Define(const OpDefBuilder& builder) {
    const Status status = runtime_.registry().Register(builder);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  void Define(const OpDefBuilder& builder, Kernel kernel) {
    Define(builder);
    AddKernel(builder.name(), {DType::kInvalid}, std::move(kernel));
  }
  void AddKernel(std::string_view op, DTypeSet dtypes, Kernel kernel) {
    const Status status = cpu_->AddKernel(op, dtypes, std::move(kernel));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  template <typename T>
  Tensor MakeTensor(const TensorShape& shape, const std::vector<T>& values) {
    StatusOr<Tensor> tensor =
        MakeDense({kDTypeOf<T>, shape}, std::as_bytes(std::span(values)), host().device(), host().allocator());
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return std::move(*tensor);
  }
  template <typename T>
  TensorHandle Dense(const TensorShape& shape, const std::vector<T>& values) {
    return TensorHandle::MakeAvailable(MakeTensor<T>(shape, values));
  }
  TensorHandle F32(const std::vector<float>& values) { return Dense<float>({std::ssize(values)}, values); }
  TensorHandle I32(const std::vector<int32_t>& values) { return Dense<int32_t>({std::ssize(values)}, values); }
  // An f32 tensor of that many elements, all `value`.
  Tensor Filled(int64_t size, float value) {
    return MakeTensor<float>({size}, std::vector<float>(static_cast<size_t>(size), value));
  }
  // One value for the whole shape.
  TensorHandle Spread(const TensorShape& shape, float value) {
    return TensorHandle::MakeAvailable(std::move(*MakeScalar({DType::kF32, shape}, &value, host().device())));
  }

  Promise MakePromise(const TensorMetadata& metadata) {
    return {nullptr, MakeRef<TensorValue>(TensorValue::Constructed{}, metadata, &host().device()), &host().device()};
  }
  // Whose metadata is pending, too.
  Promise MakePromise() { return {MakeUnconstructed<TensorMetadata>(), MakeUnconstructed<Tensor>(), &host().device()}; }

  // Calls an op on "cpu" with `num_results` results; the call's location is that of the caller.
  std::vector<TensorHandle> CallN(std::string_view op, Args args, int num_results, const OpAttrsRef& attrs = {},
                                  AsyncValueRef<Chain>* chain = nullptr,
                                  std::source_location site = std::source_location::current()) {
    return Execute(ExecutionContext(host(), site), op, std::move(args), num_results, attrs, chain);
  }
  TensorHandle Call(std::string_view op, Args args, const OpAttrsRef& attrs = {}, AsyncValueRef<Chain>* chain = nullptr,
                    std::source_location site = std::source_location::current()) {
    return std::move(CallN(op, std::move(args), 1, attrs, chain, site)[0]);
  }
  std::vector<TensorHandle> Execute(const ExecutionContext& exec, std::string_view op, Args args, int num_results,
                                    const OpAttrsRef& attrs = {}, AsyncValueRef<Chain>* chain = nullptr) {
    std::vector<TensorHandle> results(static_cast<size_t>(num_results));
    runtime_.Execute(exec, op, cpu_, args.span(), attrs, results, chain);
    for (const TensorHandle& arg : args.span()) EXPECT_FALSE(arg.IsValid()) << "EX-2";
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsValid()) << "EX-3";
    return results;
  }

  // The elements of a dense tensor, once it is available.
  template <typename T = float>
  std::vector<T> Values(const TensorHandle& handle) {
    const Status status = host().Await(handle);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return {};
    EXPECT_TRUE(handle.tensor().IsA(kDenseHost));
    EXPECT_EQ(handle.tensor().dtype(), kDTypeOf<T>);
    const std::span<const T> data = DenseData<T>(handle.tensor());
    return std::vector<T>(data.begin(), data.end());
  }
  // The text of a handle's error once it is one; empty if it is none.
  std::string ErrorOf(const TensorHandle& handle) { return std::string(host().Await(handle).message()); }
  StatusCode CodeOf(const TensorHandle& handle) { return host().Await(handle).code(); }
  Status AwaitChain(const AsyncValueRef<Chain>& chain) {
    const AsyncValue* value = chain.value();
    const Status status = host().Await({&value, 1});
    return status.ok() && chain.IsError() ? chain.GetError() : status;
  }

  // What the diagnostic handler has heard, in text.
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> texts;
    for (const Status& status : told_) texts.emplace_back(status.message());
    return texts;
  }
  std::vector<Status> told_errors() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  std::vector<float> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  HostContext::Options Complete(HostContext::Options options) {
    if (options.diagnostic_handler) return options;
    options.diagnostic_handler = [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      told_.push_back(status);
    };
    return options;
  }

  std::mutex mutex_;
  std::vector<Status> told_;
  std::vector<float> notes_;
  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_TEST_RUNTIME_H_
