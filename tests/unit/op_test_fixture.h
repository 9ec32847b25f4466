// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpTest: the fixture of tests that run ops on the CPU handler, with short ways to make tensors and to read results.

#ifndef TANDEM_TESTS_UNIT_OP_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_OP_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/host_tensors.h"
#include "tandem/op_families.h"

namespace tandem {

// "f32[2,3]" for metadata, and the like: anything that errors can quote.
template <typename... Parts>
std::string TextOf(const Parts&... parts) {
  MessageBuilder text;
  text.Append(parts...);
  return std::string(text.view());
}

// The arguments of a call: `{Dense<float>(...), x}`. A temporary is moved in, a named handle copied by reference.
class OpArgs {
 public:
  template <typename... Handles>
  requires(std::same_as<std::remove_cvref_t<Handles>, TensorHandle>&&...)
      OpArgs(Handles&&... handles) {  // NOLINT(google-explicit-constructor)
    (Add(std::forward<Handles>(handles)), ...);
  }
  OpArgs(std::vector<TensorHandle> handles) : handles_(std::move(handles)) {}  // NOLINT(google-explicit-constructor)
  std::span<TensorHandle> span() { return handles_; }

 private:
  void Add(TensorHandle&& handle) { handles_.push_back(std::move(handle)); }
  void Add(const TensorHandle& handle) { handles_.push_back(handle.CopyRef()); }

  std::vector<TensorHandle> handles_;
};

namespace internal {
inline void SetAttrs(OpAttrs&) {}
template <typename T, typename... Rest>
void SetAttrs(OpAttrs& attrs, std::string_view name, const T& value, const Rest&... rest) {
  if constexpr (requires { std::span<const typename T::value_type>(value); } &&
                !std::convertible_to<T, std::string_view>) {
    EXPECT_TRUE(attrs.SetArray(name, std::span<const typename T::value_type>(value))) << name;
  } else if constexpr (std::same_as<T, int>) {
    EXPECT_TRUE(attrs.Set(name, int64_t{value})) << name;
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    EXPECT_TRUE(attrs.Set(name, std::string_view(value))) << name;
  } else {
    EXPECT_TRUE(attrs.Set(name, value)) << name;
  }
  SetAttrs(attrs, rest...);
}
}  // namespace internal

// Attributes from names and values: `Attrs("axis", 1, "keep_dims", true, "dims", std::vector<int64_t>{0, 1})`. An int
// becomes i64, as attributes of kind int are; vectors become lists.
template <typename... Parts>
OpAttrsRef Attrs(const Parts&... parts) {
  OpAttrs attrs;
  internal::SetAttrs(attrs, parts...);
  return attrs.Freeze();
}

class OpTest : public testing::Test {
 protected:
  // `exact`: the host is for exact mode.
  explicit OpTest(bool exact = false) : runtime_(MakeOptions(exact)) {
    const Status registered = RegisterAllOps(runtime_.registry());
    EXPECT_TRUE(registered.ok()) << registered.ToString();
    StatusOr<KernelOpHandler*> handler = CreateCpuOpHandler(runtime_);
    EXPECT_TRUE(handler.ok()) << handler.status().ToString();
    if (handler.ok()) cpu_ = *handler;
  }

  CoreRuntime& runtime() { return runtime_; }
  HostContext& host() { return runtime_.host(); }
  KernelOpHandler* cpu() { return cpu_; }

  // A dense tensor; `values` in row-major order.
  template <typename T>
  TensorHandle Dense(const TensorShape& shape, std::type_identity_t<std::span<const T>> values) {
    return Available(MakeDense({kDTypeOf<T>, shape}, std::as_bytes(values), host().device(), host().allocator()));
  }
  template <typename T>
  TensorHandle Dense(const TensorShape& shape, std::initializer_list<T> values) {
    return Dense<T>(shape, std::span(values.begin(), values.size()));
  }
  // A dense tensor of rank 0.
  template <typename T>
  TensorHandle Scalar(std::type_identity_t<T> value) {
    return Dense<T>({}, {value});
  }
  // A scalar host tensor: one value for the whole shape.
  template <typename T>
  TensorHandle Spread(const TensorShape& shape, std::type_identity_t<T> value) {
    return Available(MakeScalar({kDTypeOf<T>, shape}, &value, host().device()));
  }
  TensorHandle Strings(const TensorShape& shape, std::initializer_list<std::string_view> values) {
    return Available(MakeString(shape, std::span(values.begin(), values.size()), host().device(), host().allocator()));
  }
  TensorHandle Available(StatusOr<Tensor> tensor) {
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return tensor.ok() ? TensorHandle::MakeAvailable(std::move(*tensor)) : TensorHandle::MakeError(tensor.status());
  }

  // Calls an op with `num_results` results, available or not.
  std::vector<TensorHandle> RunN(std::string_view op, OpArgs args, int num_results, const OpAttrsRef& attrs = {},
                                 AsyncValueRef<Chain>* chain = nullptr) {
    std::vector<TensorHandle> results(static_cast<size_t>(num_results));
    runtime_.Execute(op, cpu_, Location(), args.span(), attrs, results, chain);
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsValid()) << "EX-3";
    return results;
  }
  TensorHandle Run(std::string_view op, OpArgs args = {}, const OpAttrsRef& attrs = {},
                   AsyncValueRef<Chain>* chain = nullptr) {
    return std::move(RunN(op, std::move(args), 1, attrs, chain)[0]);
  }

  // The elements of a dense or scalar host tensor, once it is available.
  template <typename T>
  std::vector<T> Values(const TensorHandle& handle) {
    const StatusOr<Tensor> tensor = Dense(handle);
    if (!tensor.ok()) return {};
    EXPECT_EQ(tensor->dtype(), kDTypeOf<T>) << TextOf(tensor->metadata());
    if (tensor->dtype() != kDTypeOf<T>) return {};
    const std::span<const T> data = DenseData<T>(*tensor);
    return std::vector<T>(data.begin(), data.end());
  }
  // The same for any dtype but string, as doubles; of a complex number two.
  std::vector<double> Doubles(const TensorHandle& handle) {
    const StatusOr<Tensor> tensor = Dense(handle);
    std::vector<double> values;
    if (!tensor.ok()) return values;
    switch (tensor->dtype()) {
#define TANDEM_READ_AS_DOUBLES(name, type)             \
  case DType::name:                                    \
    AppendAsDoubles(DenseData<type>(*tensor), values); \
    break;
      TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_READ_AS_DOUBLES)
#undef TANDEM_READ_AS_DOUBLES
      default:
        ADD_FAILURE() << "not numbers: " << TextOf(tensor->metadata());
    }
    return values;
  }
  std::vector<std::string> StringValues(const TensorHandle& handle) {
    std::vector<std::string> values;
    const Status status = host().Await(handle);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok() || handle.metadata().dtype != DType::kString) return values;
    const StringHostView view(handle.tensor());
    for (int64_t i = 0; i < view.size(); ++i) values.emplace_back(view[i]);
    return values;
  }
  // "f32[2,3]" once the tensor is available.
  std::string MetadataOf(const TensorHandle& handle) {
    const Status status = host().Await(handle);
    return status.ok() ? TextOf(handle.metadata()) : status.ToString();
  }
  // The text of a handle's error, with the op in brackets; empty if there is none.
  std::string ErrorOf(const TensorHandle& handle) { return std::string(host().Await(handle).message()); }
  StatusCode ErrorCodeOf(const TensorHandle& handle) { return host().Await(handle).code(); }

  // What the diagnostic handler has heard so far, and what was printed.
  std::vector<Status> diagnostics() {
    const std::lock_guard lock(mutex_);
    return diagnostics_;
  }
  std::string printed() {
    const std::lock_guard lock(mutex_);
    return printed_;
  }

 private:
  HostContext::Options MakeOptions(bool exact) {
    HostContext::Options options;
    options.exact = exact;
    options.work_queue = CreateMultiThreadedWorkQueue(2);
    options.diagnostic_handler = [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      diagnostics_.push_back(status);
    };
    options.print = [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      printed_ += text;
    };
    return options;
  }
  template <typename T>
  static void AppendAsDoubles(std::span<const T> from, std::vector<double>& to) {
    for (const T value : from) {
      if constexpr (std::convertible_to<T, double>) {
        to.push_back(static_cast<double>(value));
      } else {
        to.insert(to.end(), {value.real(), value.imag()});
      }
    }
  }
  StatusOr<Tensor> Dense(const TensorHandle& handle) {
    const Status status = host().Await(handle);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return status;
    StatusOr<Tensor> tensor = ToDense(handle.tensor(), host().allocator());
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return tensor;
  }

  std::mutex mutex_;
  std::vector<Status> diagnostics_;
  std::string printed_;
  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_OP_TEST_FIXTURE_H_
