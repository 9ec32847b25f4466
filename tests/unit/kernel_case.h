// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelWorld and KernelCase: calls of the CPU's kernels, in tables, for tests that put all of them to the same proof.

#ifndef TANDEM_TESTS_UNIT_KERNEL_CASE_H_
#define TANDEM_TESTS_UNIT_KERNEL_CASE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"
#include "tandem/request_context.h"

namespace tandem {

// A runtime on the CPU that lets kernels go on until they have asked so many times.
class KernelWorld {
 public:
  explicit KernelWorld(int num_workers) : runtime_(std::make_unique<CoreRuntime>(MakeOptions(num_workers))) {
    EXPECT_TRUE(RegisterAllOps(runtime_->registry()).ok());
    StatusOr<KernelOpHandler*> handler = CreateCpuOpHandler(*runtime_);
    EXPECT_TRUE(handler.ok());
    cpu_ = *handler;
  }

  HostContext& host() { return runtime_->host(); }
  void Destroy() { runtime_.reset(); }

  // Makes the next kernel end when it asks for the `n`th time; 0: never.
  void StopAt(int64_t n) {
    num_polls_ = 0;
    stop_at_ = n;
  }
  int64_t num_polls() const { return num_polls_; }
  void AwaitFirstPoll() const {
    while (num_polls_ == 0) std::this_thread::yield();
  }
  int num_told() const { return num_told_; }

  template <typename T>
  TensorHandle Dense(const TensorShape& shape, const std::vector<T>& values) {
    return Available(
        MakeDense({kDTypeOf<T>, shape}, std::as_bytes(std::span(values)), host().device(), host().allocator()));
  }
  // Elements 0, 1, 2 and so on, each modulo `modulus`.
  template <typename T>
  TensorHandle Counting(const TensorShape& shape, int64_t modulus = 101) {
    StatusOr<Tensor> tensor = AllocateDense({kDTypeOf<T>, shape}, host().device(), host().allocator());
    EXPECT_TRUE(tensor.ok());
    T* data = MutableDenseData<T>(*tensor).data();
    for (int64_t i = 0, value = 0; i < shape.num_elements(); ++i, value = value + 1 < modulus ? value + 1 : 0) {
      data[i] = static_cast<T>(static_cast<float>(value));
    }
    return TensorHandle::MakeAvailable(std::move(*tensor));
  }
  TensorHandle F32(const TensorShape& shape) { return Counting<float>(shape); }
  TensorHandle Ints(const std::vector<int32_t>& values) { return Dense<int32_t>({std::ssize(values)}, values); }
  TensorHandle Int(int32_t value) { return Dense<int32_t>({}, {value}); }
  TensorHandle Spread(const TensorShape& shape, float value) {
    return Available(MakeScalar({DType::kF32, shape}, &value, host().device()));
  }
  // Strings of one letter.
  TensorHandle Strings(int64_t n) {
    std::vector<std::string_view> letters;
    for (int64_t i = 0; i < n; ++i)
      letters.push_back(std::string_view("abcdefgh").substr(static_cast<size_t>(i % 8), 1));
    return Available(MakeString({n}, letters, host().device(), host().allocator()));
  }

  std::vector<TensorHandle> Call(std::string_view op, const std::vector<TensorHandle>& args, int num_results,
                                 const OpAttrsRef& attrs, RcRef<RequestContext> request = nullptr) {
    std::vector<TensorHandle> copies;
    for (const TensorHandle& arg : args) copies.push_back(arg.CopyRef());
    std::vector<TensorHandle> results(static_cast<size_t>(num_results));
    Execute(op, copies, attrs, results, std::move(request));
    return results;
  }
  void Execute(std::string_view op, std::span<TensorHandle> args, const OpAttrsRef& attrs,
               std::span<TensorHandle> results, RcRef<RequestContext> request = nullptr) {
    runtime_->Execute(ExecutionContext(host(), Location::Current(), std::move(request)), op, cpu_, args, attrs, results,
                      nullptr);
  }

 private:
  static TensorHandle Available(StatusOr<Tensor> tensor) {
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return TensorHandle::MakeAvailable(std::move(*tensor));
  }
  HostContext::Options MakeOptions(int num_workers) {
    HostContext::Options options;
    options.work_queue = num_workers == 0 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(num_workers);
    options.diagnostic_handler = [this](const Status&) { ++num_told_; };
    options.may_go_on = [this] {
      const int64_t number = ++num_polls_;
      return stop_at_ == 0 || number < stop_at_;
    };
    return options;
  }

  std::atomic<int64_t> num_polls_{0};
  std::atomic<int64_t> stop_at_{0};
  std::atomic<int> num_told_{0};
  std::unique_ptr<CoreRuntime> runtime_;
  KernelOpHandler* cpu_ = nullptr;
};

namespace internal {
template <typename T>
void SetAttr(OpAttrs& attrs, std::string_view name, const T& value) {
  if constexpr (requires { std::span<const typename T::value_type>(value); } &&
                !std::convertible_to<T, std::string_view>) {
    EXPECT_TRUE(attrs.SetArray(name, std::span<const typename T::value_type>(value)));
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    EXPECT_TRUE(attrs.Set(name, std::string_view(value)));
  } else {
    EXPECT_TRUE(attrs.Set(name, value));
  }
}
}  // namespace internal

// The attributes of a case, from names and values.
template <typename... Rest>
OpAttrsRef Attrs(const Rest&... rest) {
  OpAttrs attrs;
  const auto set = [&attrs](auto&& self, std::string_view name, const auto& value, const auto&... more) {
    internal::SetAttr(attrs, name, value);
    if constexpr (sizeof...(more) > 0) self(self, more...);
  };
  set(set, rest...);
  return attrs.Freeze();
}
using Numbers = std::vector<int64_t>;

// A call of an op.
struct KernelCase {
  const char* name;
  const char* op;
  int num_results;
  std::function<std::vector<TensorHandle>(KernelWorld&)> args;
  std::function<OpAttrsRef()> attrs = [] { return OpAttrsRef(); };
};

template <typename... Handles>
std::vector<TensorHandle> List(Handles&&... handles) {
  std::vector<TensorHandle> list;
  (list.push_back(std::move(handles)), ...);
  return list;
}
inline OpAttrsRef Window(const char* padding) { return Attrs("strides", Numbers{1, 1, 1, 1}, "padding", padding); }
inline OpAttrsRef Pool(int64_t size, const char* padding) {
  return Attrs("ksize", Numbers{1, size, size, 1}, "strides", Numbers{1, 1, 1, 1}, "padding", padding);
}
inline OpAttrsRef Same() { return Window("SAME"); }
inline OpAttrsRef Valid() { return Window("VALID"); }

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_KERNEL_CASE_H_
