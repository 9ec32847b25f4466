// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The arguments of the C++ face's op functions: tensors, numbers and lists of numbers.

#ifndef TANDEM_OPERAND_H_
#define TANDEM_OPERAND_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/eager_tensor.h"
#include "tandem/export.h"
#include "tandem/op_attrs.h"

namespace tandem {
class HostContext;
}

namespace tandem::eager {

// The numbers of lists.
template <typename T>
concept ListElement = std::same_as<T, int32_t> || std::same_as<T, int64_t> || std::floating_point<T>;

// An argument of an op function: a tensor, a number, which becomes a scalar, or a list of numbers, which becomes a
// tensor of one dimension. These take the dtype that the op's definition gives them (TY-1): that of the tensors whose
// type is the same attribute; else the attribute's default where it suits; else f32 for floating-point numbers, i32, or
// i64 where that is too narrow, for integers, and bool for bools. If such a tensor's dtype is not known yet, the number
// waits for it with the op (TY-2). A number that does not fit makes the call an error, which says where.
class TANDEM_EXPORT Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}      // NOLINT(google-explicit-constructor)
  Operand(Tensor&& tensor) : owned_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Int>
  Operand(Int number)  // NOLINT(google-explicit-constructor)
      : kind_(KindOf(number)), number_(Bits(number)) {}
  template <std::floating_point Float>
  Operand(Float number)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kFloat), number_(Bits(number)) {}
  Operand(std::initializer_list<int64_t> list) : Operand(std::span(list.begin(), list.size())) {}
  template <std::floating_point Float>  // not of integers and others mixed, which do not compile: {1.0, 0.5}
  Operand(std::initializer_list<Float> list) : Operand(std::span(list.begin(), list.size())) {}
  template <typename T, size_t size>
  requires ListElement<std::remove_const_t<T>> Operand(std::span<T, size> list)  // NOLINT(google-explicit-constructor)
      : kind_(std::integral<T> ? Kind::kIntList : Kind::kFloatList), number_(static_cast<int64_t>(list.size())) {
    if (list.size() > kFew) many_.resize(list.size());
    int64_t* to = list.size() > kFew ? many_.data() : few_;
    for (const T number : list) *to++ = Bits(number);
  }
  template <ListElement T>
  Operand(const std::vector<T>& list) : Operand(std::span(list)) {}  // NOLINT(google-explicit-constructor)

  // The tensor, or null if it has to be made.
  const Tensor* tensor() const { return kind_ != Kind::kTensor ? nullptr : tensor_ != nullptr ? tensor_ : &owned_; }
  // The reference to pass to the op: of a temporary tensor, the temporary's own, so that its memory can be taken over.
  TensorHandle TakeHandle();
  // What numbers become where nothing else says it: bool, i32, i64, u64 or f32.
  DType natural_dtype() const;
  // The numbers as bool, i64, u64 or f64: without loss.
  StatusOr<tandem::Tensor> MakeWidest(HostContext& host) const;
  // The numbers as `dtype`. An error, which calls them `name`, if one does not fit.
  StatusOr<tandem::Tensor> Make(DType dtype, std::string_view name, HostContext& host) const;

 private:
  enum class Kind : uint8_t { kTensor, kBool, kInt, kUnsigned, kFloat, kIntList, kFloatList };
  template <std::integral Int>
  static constexpr Kind KindOf(Int number) {
    if (std::same_as<Int, bool>) return Kind::kBool;
    return std::unsigned_integral<Int> && static_cast<uint64_t>(number) > uint64_t{INT64_MAX} ? Kind::kUnsigned
                                                                                              : Kind::kInt;
  }

  static int64_t Bits(std::integral auto number) { return static_cast<int64_t>(number); }
  static int64_t Bits(std::floating_point auto number) { return std::bit_cast<int64_t>(static_cast<double>(number)); }

  bool IsList() const { return kind_ == Kind::kIntList || kind_ == Kind::kFloatList; }
  // All of them, as Bits gives each.
  std::span<const int64_t> numbers() const {
    if (!IsList()) return {&number_, 1};
    const auto size = static_cast<size_t>(number_);
    return {size > kFew ? many_.data() : few_, size};
  }

  Kind kind_ = Kind::kTensor;
  const Tensor* tensor_ = nullptr;
  Tensor owned_;
  // A number as Bits gives it, or how many the list has; these likewise, of which up to kFew need no heap.
  static constexpr size_t kFew = 6;
  int64_t number_ = 0;
  int64_t few_[kFew];
  std::vector<int64_t> many_;
};

// What the typed op functions do: run the op on the runtime of the first tensor among the operands. Without one the
// results are an error.
TANDEM_EXPORT Tensor Call(std::string_view op, std::initializer_list<Operand*> operands, const OpAttrsRef& attrs,
                          std::source_location where);
TANDEM_EXPORT void CallN(std::string_view op, std::span<Operand* const> operands, const OpAttrsRef& attrs,
                         std::span<Tensor> results, std::source_location where);

}  // namespace tandem::eager

#endif  // TANDEM_OPERAND_H_
