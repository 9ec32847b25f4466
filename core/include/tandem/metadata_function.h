// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Metadata functions: typed functions, or closures, from argument metadata and attributes to result metadata, shared by
// every handler on every target (MD-1), and the adapter that erases their signatures.

#ifndef TANDEM_METADATA_FUNCTION_H_
#define TANDEM_METADATA_FUNCTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/tensor.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What an erased metadata function gets. Arguments are in order of the definition, variadic ones spread out.
struct MetadataFrame {
  std::span<const TensorMetadata* const> args;
  // Content of the arguments that the definition calls host inputs (axes, shapes, ...): available host tensors. Null
  // at every other position.
  std::span<const Tensor* const> values;
  const OpAttrsRef& attrs;
  // One per result; the function fills all of them.
  std::span<TensorMetadata> results;
  // The object of a function that is a closure (OpDef::metadata_closure).
  const void* closure = nullptr;
};

using MetadataFunction = Status (*)(const MetadataFrame&);

// What a typed metadata function relies on; OpDefBuilder checks the definition against it, so that the erased function
// need not check its frame.
struct MetadataSignature {
  int num_args = 0;        // parameters that stand for one argument each: the first ones
  uint32_t host_args = 0;  // bit i is set if parameter i is a HostInput
  bool takes_all = false;  // whether it sees the further arguments
  int num_results = -1;    // -1: it fills however many the frame has
};

// Parameter of a metadata function that stands for all remaining arguments.
class VariadicMetadata {
 public:
  explicit VariadicMetadata(std::span<const TensorMetadata* const> args) : args_(args) {}
  size_t size() const { return args_.size(); }
  const TensorMetadata& operator[](size_t i) const { return *args_[i]; }

 private:
  std::span<const TensorMetadata* const> args_;
};

// Parameter of a metadata function for a host input: metadata and content of a small host tensor of i32 or i64 (or
// whatever the definition allows).
class TANDEM_EXPORT HostInput {
 public:
  HostInput(const TensorMetadata& metadata, const Tensor* value) : metadata_(&metadata), value_(value) {}
  const TensorMetadata& metadata() const { return *metadata_; }
  const Tensor& tensor() const { return *value_; }
  int64_t size() const { return metadata_->num_elements(); }
  // Element `i` in row-major order of a tensor of one of kIntDTypes; u64 values above 2^63-1 saturate.
  int64_t Int(int64_t i) const;
  // The only element of a tensor of one of kIntDTypes that has one; else InvalidArgument, which calls the argument
  // `name`.
  StatusOr<int64_t> Scalar(std::string_view name) const;

 private:
  const TensorMetadata* metadata_;
  const Tensor* value_;
};

namespace internal {

template <typename T>
inline constexpr bool kIsMetadataParameter =
    std::is_same_v<T, TensorMetadata> || std::is_same_v<T, OpAttrsRef> || std::is_same_v<T, VariadicMetadata> ||
    std::is_same_v<T, HostInput> || std::is_same_v<T, std::span<TensorMetadata>> || std::is_same_v<T, MetadataFrame>;

template <typename T>
struct MetadataResult {
  static constexpr bool kValid = false;
  static constexpr int kCount = 0;
};
template <>
struct MetadataResult<Status> {
  static constexpr bool kValid = true;
  static constexpr int kCount = 0;
  static Status Store(Status status, const MetadataFrame&) { return status; }
};
template <>
struct MetadataResult<StatusOr<TensorMetadata>> {
  static constexpr bool kValid = true;
  static constexpr int kCount = 1;
  static Status Store(const StatusOr<TensorMetadata>& result, const MetadataFrame& frame) {
    if (!result.ok()) return result.status();
    frame.results[0] = *result;
    return Status();
  }
};
template <>
struct MetadataResult<TensorMetadata> {
  static constexpr bool kValid = true;
  static constexpr int kCount = 1;
  static Status Store(const TensorMetadata& result, const MetadataFrame& frame) {
    frame.results[0] = result;
    return Status();
  }
};
template <size_t N>
struct MetadataResult<StatusOr<std::array<TensorMetadata, N>>> {
  static constexpr bool kValid = true;
  static constexpr int kCount = N;
  static Status Store(const StatusOr<std::array<TensorMetadata, N>>& results, const MetadataFrame& frame) {
    if (!results.ok()) return results.status();
    for (size_t i = 0; i < N; ++i) frame.results[i] = (*results)[i];
    return Status();
  }
};

// Hands out one argument of the call per parameter, in order; attributes and results take none.
template <typename Parameter>
decltype(auto) MetadataArgument(const MetadataFrame& frame, size_t& next) {
  if constexpr (std::is_same_v<Parameter, TensorMetadata>) {
    return *frame.args[next++];
  } else if constexpr (std::is_same_v<Parameter, HostInput>) {
    const size_t i = next++;
    return HostInput(*frame.args[i], frame.values[i]);
  } else if constexpr (std::is_same_v<Parameter, VariadicMetadata>) {
    const size_t first = std::exchange(next, frame.args.size());
    return VariadicMetadata(frame.args.subspan(first));
  } else if constexpr (std::is_same_v<Parameter, OpAttrsRef>) {
    return frame.attrs;
  } else if constexpr (std::is_same_v<Parameter, MetadataFrame>) {
    return (frame);
  } else {
    return std::span<TensorMetadata>(frame.results);
  }
}

// Whether every parameter that takes an argument comes before the one that takes all that are left.
template <typename... Parameters>
constexpr bool RemainingArgumentsAreLast() {
  bool all_taken = false;
  bool in_order = true;
  [[maybe_unused]] const auto visit = [&]<typename Parameter>(std::type_identity<Parameter>) {
    constexpr bool kTakesRest = std::is_same_v<Parameter, VariadicMetadata>;
    constexpr bool kTakesOne = std::is_same_v<Parameter, TensorMetadata> || std::is_same_v<Parameter, HostInput>;
    if (all_taken && (kTakesRest || kTakesOne)) in_order = false;
    all_taken = all_taken || kTakesRest;
  };
  (visit(std::type_identity<Parameters>()), ...);
  return in_order;
}

template <typename Result, typename... Parameters>
constexpr MetadataSignature SignatureOf() {
  static_assert(sizeof...(Parameters) <= 32, "a metadata function has at most 32 parameters");
  MetadataSignature signature;
  signature.num_results = MetadataResult<Result>::kCount;
  [[maybe_unused]] const auto visit = [&]<typename Parameter>(std::type_identity<Parameter>) {
    constexpr bool kHost = std::is_same_v<Parameter, HostInput>;
    constexpr bool kFrame = std::is_same_v<Parameter, MetadataFrame>;
    if constexpr (kHost) signature.host_args |= uint32_t{1} << signature.num_args;
    if constexpr (kHost || std::is_same_v<Parameter, TensorMetadata>) ++signature.num_args;
    if constexpr (kFrame || std::is_same_v<Parameter, VariadicMetadata>) signature.takes_all = true;
    if constexpr (std::is_same_v<Result, Status> && (kFrame || std::is_same_v<Parameter, std::span<TensorMetadata>>)) {
      signature.num_results = -1;
    }
  };
  (visit(std::type_identity<std::remove_cvref_t<Parameters>>()), ...);
  return signature;
}

// Whether a function can take this, by value or by reference to what it must not change.
template <typename Parameter>
inline constexpr bool kTakesMetadata = kIsMetadataParameter<std::remove_cvref_t<Parameter>>&&
    std::is_convertible_v<const std::remove_cvref_t<Parameter>&, Parameter>;

template <typename Result, typename... Parameters>
struct MetadataAdapter {
  static constexpr bool kHasValidParameters = (kTakesMetadata<Parameters> && ...);
  static constexpr bool kHasValidResult = MetadataResult<Result>::kValid;
  static_assert(kHasValidParameters,
                "a metadata function takes const TensorMetadata&, HostInput, VariadicMetadata, const OpAttrsRef&, "
                "std::span<TensorMetadata> (the results) or const MetadataFrame&");
  static_assert(RemainingArgumentsAreLast<std::remove_cvref_t<Parameters>...>(),
                "in a metadata function no TensorMetadata, HostInput or second VariadicMetadata may follow a "
                "VariadicMetadata, which takes all remaining arguments");
  static_assert(kHasValidResult,
                "a metadata function returns TensorMetadata, StatusOr<TensorMetadata>, "
                "StatusOr<std::array<TensorMetadata, N>>, or Status with a std::span<TensorMetadata> parameter");

  static constexpr MetadataSignature Signature() { return SignatureOf<Result, Parameters...>(); }

  template <typename Fn>
  static Status Call(const Fn& fn, const MetadataFrame& frame) {
    if constexpr (kHasValidParameters && kHasValidResult) {
      // Braced initialisation evaluates left to right, so each parameter gets its own argument. The definition has
      // already fixed their number.
      size_t next = 0;
      std::tuple<decltype(MetadataArgument<std::remove_cvref_t<Parameters>>(frame, next))...> arguments{
          MetadataArgument<std::remove_cvref_t<Parameters>>(frame, next)...};
      return MetadataResult<Result>::Store(std::apply(fn, arguments), frame);
    }
    return Status();
  }
};

template <typename Function>
struct MetadataCallable {
  using Adapter = MetadataAdapter<Status>;
  static constexpr bool kValid = false;
};
template <typename Result, typename... Parameters, bool is_noexcept>
struct MetadataCallable<Result (*)(Parameters...) noexcept(is_noexcept)> {
  using Adapter = MetadataAdapter<Result, Parameters...>;
  static constexpr bool kValid = true;
};
template <typename Class, typename Result, typename... Parameters, bool is_noexcept>
struct MetadataCallable<Result (Class::*)(Parameters...) const noexcept(is_noexcept)> {
  using Adapter = MetadataAdapter<Result, Parameters...>;
  static constexpr bool kValid = true;
};

template <typename Closure>
struct MetadataClosure : MetadataCallable<void> {};
template <typename Closure>
requires requires { &Closure::operator(); }
struct MetadataClosure<Closure> : MetadataCallable<decltype(&Closure::operator())> {};

}  // namespace internal

// The erased form of a metadata function: `EraseMetadataFunction<&MatMulMetadata>()`.
template <auto fn>
constexpr MetadataFunction EraseMetadataFunction() {
  using Callable = internal::MetadataCallable<decltype(fn)>;
  static_assert(Callable::kValid, "a metadata function is a plain function");
  return [](const MetadataFrame& frame) -> Status {
    if constexpr (Callable::kValid) return Callable::Adapter::Call(fn, frame);
    return Status();
  };
}

// The same for a closure, which the frame then has.
template <typename Closure>
constexpr MetadataFunction EraseMetadataClosure() {
  using Callable = internal::MetadataClosure<Closure>;
  static_assert(Callable::kValid, "Metadata(closure) takes an object with one operator(), which is const");
  return [](const MetadataFrame& frame) -> Status {
    if constexpr (Callable::kValid) return Callable::Adapter::Call(*static_cast<const Closure*>(frame.closure), frame);
    return Status();
  };
}

// What the function relies on: `MetadataSignatureOf<&MatMulMetadata>()`.
template <auto fn>
constexpr MetadataSignature MetadataSignatureOf() {
  return internal::MetadataCallable<decltype(fn)>::Adapter::Signature();
}

}  // namespace tandem

#endif  // TANDEM_METADATA_FUNCTION_H_
