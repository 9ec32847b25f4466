// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C++ face: a runtime, tensors that may be copied and passed around, and typed op functions (tandem/ops.h).
//
//   TANDEM_ASSIGN_OR_RETURN(auto runtime, tandem::eager::Runtime::Create());
//   auto x = runtime->FromValues<float>({1, 2, 3, 4}, {2, 2});
//   auto y = add(matMul(x, x, {.transpose_b = true}), 1);
//   TANDEM_ASSIGN_OR_RETURN(std::span<const float> values, y.Values<float>());
//
// Nothing throws. An op that cannot run gives an error tensor, which makes every op that depends on it an error; the
// first error is what `Await` or `Values` returns, with the location of the call that caused it.

#ifndef TANDEM_EAGER_H_
#define TANDEM_EAGER_H_

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"

namespace tandem::eager {

class Runtime;

// A tensor of a runtime: available, pending or an error. Copies share it. One object is used by one thread at a time;
// copies may be used by different threads. Outlives its runtime only for being destroyed.
class TANDEM_EXPORT Tensor {
 public:
  // Null; may be destroyed, assigned and asked IsValid().
  Tensor() = default;
  // `runtime` may be null for an error.
  Tensor(Runtime* runtime, TensorHandle handle) : runtime_(runtime), handle_(std::move(handle)) {}
  Tensor(const Tensor& other) : runtime_(other.runtime_), handle_(other.handle_.CopyRef()) {}
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
  Tensor& operator=(Tensor&&) noexcept = default;

  bool IsValid() const { return handle_.IsValid(); }
  // Waits until the tensor is available: ok, or the error it has become.
  Status Await() const;
  // Dtype and shape; waits if they depend on data that is still pending.
  StatusOr<TensorMetadata> Metadata() const;

  // Waits, then shows the elements in row-major order without copying. T must be the dtype's C++ type. The view is
  // valid while this object or a copy of it lives. InvalidArgument for another dtype, and for tensors that are not
  // dense: use ToVector for these.
  template <typename T>
  StatusOr<std::span<const T>> Values() const;
  // Waits, then copies the elements; tensors of devices are transferred, scalar and sparse host tensors expanded.
  template <typename T>
  StatusOr<std::vector<T>> ToVector() const;
  // The only element of a tensor that has one.
  template <typename T>
  StatusOr<T> Item() const;
  // This tensor on `device`, such as host().device() of its runtime or that of an op handler: itself if it is there,
  // otherwise a copy that may become available later. A tensor that many calls take is best where they run.
  Tensor To(const Device& device, std::source_location where = std::source_location::current()) const;
  // "f32[2,2] = [1, 2, 3, 4]" after waiting, or the error; at most `max_elements` elements.
  std::string ToString(int max_elements = 16) const;

  const TensorHandle& handle() const { return handle_; }
  TensorHandle TakeHandle() && { return std::move(handle_); }
  Runtime* runtime() const { return runtime_; }

 private:
  StatusOr<const tandem::Tensor*> AwaitDense(DType dtype, bool expand, tandem::Tensor* expanded) const;

  Runtime* runtime_ = nullptr;
  TensorHandle handle_;
};

// An argument of an op function: a tensor, a number (a scalar of the other arguments' dtype, or f32 or i32 where there
// is none), or a list of integers (i32, for axes and shapes).
class TANDEM_EXPORT Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}      // NOLINT(google-explicit-constructor)
  Operand(Tensor&& tensor) : owned_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Int>
  Operand(Int number) : kind_(Kind::kInt), int_(number) {}  // NOLINT(google-explicit-constructor)
  template <std::floating_point Float>
  Operand(Float number) : kind_(Kind::kFloat), float_(number) {}  // NOLINT(google-explicit-constructor)
  Operand(std::initializer_list<int64_t> list) : Operand(std::span(list.begin(), list.size())) {}
  Operand(std::span<const int64_t> list)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kList), list_(list.begin(), list.end()) {}

  // Whether numbers are i32 (or f32) here whatever the dtype of the other arguments.
  bool is_index() const { return is_index_; }
  // The tensor, or null if it has to be made.
  const Tensor* tensor() const { return kind_ != Kind::kTensor ? nullptr : tensor_ != nullptr ? tensor_ : &owned_; }
  // The reference to pass to the op: of a temporary tensor, the temporary's own, so that its memory can be taken over.
  TensorHandle TakeHandle();
  // A number or list as a tensor; numbers take the dtype `like` if it is valid, and must fit it.
  StatusOr<tandem::Tensor> Make(HostContext& host, DType like) const;

 private:
  enum class Kind : uint8_t { kTensor, kInt, kFloat, kList };
  friend class IndexOperand;
  Kind kind_ = Kind::kTensor;
  bool is_index_ = false;
  const Tensor* tensor_ = nullptr;
  Tensor owned_;
  int64_t int_ = 0;
  double float_ = 0;
  std::vector<int64_t> list_;
};

// An argument that says where or how many (axes, shapes): its numbers do not take the dtype of the other arguments.
class TANDEM_EXPORT IndexOperand : public Operand {
 public:
  template <typename T>
  requires std::constructible_from<Operand, T> &&
      (!std::derived_from<std::remove_cvref_t<T>, Operand>)IndexOperand(T&& value)
      : Operand(std::forward<T>(value)) {  // NOLINT(google-explicit-constructor)
    is_index_ = true;
  }
  IndexOperand(std::initializer_list<int64_t> list) : Operand(list) { is_index_ = true; }
};

// A CoreRuntime with its CPU handler, and with every op defined. Thread-safe.
class TANDEM_EXPORT Runtime {
 public:
  // Every member has a default.
  struct Options {
    // Threads for long ops; 0: one per core. 1 still is a thread of its own.
    int num_threads = 0;
    // Where long ops run, instead of on so many threads.
    std::unique_ptr<WorkQueue> work_queue = nullptr;
    size_t memory_limit = SIZE_MAX;  // bytes of tensor data
    std::function<void(const Status&)> on_diagnostic = nullptr;
    std::function<void(std::string_view)> print = nullptr;  // default: standard output
  };
  static StatusOr<std::unique_ptr<Runtime>> Create(Options options);
  static StatusOr<std::unique_ptr<Runtime>> Create() { return Create(Options()); }

  CoreRuntime& core() { return *core_; }
  HostContext& host() { return core_->host(); }
  // What calls run on: the CPU's handler at first.
  OpHandler& handler() { return *handler_; }
  // Must not run beside calls. `handler` is of this runtime: `core().FindHandler("cpu")`, or one that was added to it.
  void UseHandler(OpHandler& handler) { handler_ = &handler; }

  // A tensor with a copy of `values`, row-major. An error tensor if their number is not the shape's.
  template <typename T>
  Tensor FromValues(std::span<const T> values, const TensorShape& shape,
                    std::source_location where = std::source_location::current()) {
    return FromBytes(kDTypeOf<T>, std::as_bytes(values), shape, where);
  }
  template <typename T>
  Tensor FromValues(std::initializer_list<T> values, const TensorShape& shape,
                    std::source_location where = std::source_location::current()) {
    return FromValues(std::span(values.begin(), values.size()), shape, where);
  }
  template <typename T>
  Tensor Scalar(T value, std::source_location where = std::source_location::current()) {
    return FromValues(std::span<const T>(&value, 1), {}, where);
  }
  Tensor FromStrings(std::span<const std::string_view> strings, const TensorShape& shape,
                     std::source_location where = std::source_location::current());
  Tensor FromBytes(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape,
                   std::source_location where = std::source_location::current());
  // A tensor over the caller's memory, without copying; `release` is called once nobody uses it any more. The memory
  // must not change before. Of bool, bytes other than 0 and 1 are an error here, and copied as 1 by FromBytes.
  Tensor Wrap(DType dtype, std::span<const std::byte> bytes, const TensorShape& shape, std::function<void()> release,
              std::source_location where = std::source_location::current());

  // Runs an op by name.
  Tensor Execute(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                 std::source_location where = std::source_location::current());
  void Execute(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
               std::span<Tensor> results, AsyncValueRef<Chain>* chain,
               std::source_location where = std::source_location::current());

 private:
  Runtime() = default;
  Tensor FromCore(StatusOr<tandem::Tensor> tensor, std::source_location where);
  std::unique_ptr<CoreRuntime> core_;
  OpHandler* handler_ = nullptr;
};

// What the typed op functions do: run the op on the runtime of the first tensor among the operands. Without one the
// results are an error.
TANDEM_EXPORT Tensor Call(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                          std::source_location where);
TANDEM_EXPORT void CallN(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
                         std::span<Tensor> results, std::source_location where);

template <typename T>
StatusOr<std::span<const T>> Tensor::Values() const {
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor* tensor, AwaitDense(kDTypeOf<T>, false, nullptr));
  return DenseData<T>(*tensor);
}

template <typename T>
StatusOr<std::vector<T>> Tensor::ToVector() const {
  tandem::Tensor expanded(TensorMetadata(), nullptr);
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor* tensor, AwaitDense(kDTypeOf<T>, true, &expanded));
  const std::span<const T> values = DenseData<T>(*tensor);
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
StatusOr<T> Tensor::Item() const {
  tandem::Tensor expanded(TensorMetadata(), nullptr);
  TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor* tensor, AwaitDense(kDTypeOf<T>, true, &expanded));
  if (tensor->num_elements() != 1) {
    return InvalidArgument("expected a tensor with one element, got ", tensor->metadata());
  }
  return DenseData<T>(*tensor)[0];
}

}  // namespace tandem::eager

#endif  // TANDEM_EAGER_H_
