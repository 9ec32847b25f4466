// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lists of rows for many dtypes, once per instruction set: included between Highway's target changes.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LISTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LISTS_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LISTS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LISTS_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/elementwise/elementwise_loops-inl.h"
#include "kernels/elementwise/elementwise_rows.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Dtypes of elements that T represents as far as bits go, for functions that do not care.
template <typename T>
constexpr DTypeSet SameSize() {
  if constexpr (sizeof(T) == 1) return {DType::kBool, DType::kU8, DType::kI8};
  if constexpr (sizeof(T) == 2) return {DType::kU16, DType::kI16, DType::kF16, DType::kBF16};
  if constexpr (sizeof(T) == 4) return {DType::kU32, DType::kI32, DType::kF32};
  if constexpr (sizeof(T) == 8) return {DType::kU64, DType::kI64, DType::kF64, DType::kC64};
}

template <typename T>
constexpr DTypeSet ExactDType() {
  if constexpr (std::is_same_v<T, Complex64>) {
    return {DType::kC64};
  } else {
    return {kDTypeOf<T>};
  }
}

// Adds the rows of one op after the other.
class Rows {
 public:
  constexpr explicit Rows(RowList& list) : list_(list) {}

  template <typename Fn, typename... T>
  constexpr void Unary(const char* op, float cost = 0.02f) const {
    (list_.Add(Of<T>({.op = op,
                      .num_operands = 1,
                      .dtypes = ExactDType<T>(),
                      .row = &UnaryRow<Fn, T>,
                      .cost = cost,
                      .gives_bool = std::is_same_v<decltype(Fn::Apply(T())), uint8_t>})),
     ...);
  }
  template <typename Fn, typename... T>
  constexpr void Binary(const char* op, float cost = 0.02f, bool swaps = false) const {
    (list_.Add(Of<T>({.op = op,
                      .num_operands = 2,
                      .dtypes = ExactDType<T>(),
                      .row = &BinaryRow<Fn, T>,
                      .row_if_first_single = FirstSingle<Fn, T>(),
                      .row_if_rest_single = SecondSingle<Fn, T>(),
                      .cost = cost,
                      .gives_bool = std::is_same_v<decltype(Fn::Apply(T(), T())), uint8_t>,
                      .swaps = swaps})),
     ...);
  }
  template <typename Fn, typename... T>
  constexpr void UnaryWithParameter(const char* op, const char* parameter) const {
    (list_.Add(Of<T>({.op = op,
                      .num_operands = 1,
                      .dtypes = ExactDType<T>(),
                      .row = &UnaryParameterRow<Fn, T>,
                      .parameter = parameter})),
     ...);
  }
  template <typename Fn, typename... T>
  constexpr void BinaryWithParameter(const char* op, const char* parameter) const {
    (list_.Add(Of<T>({.op = op,
                      .num_operands = 2,
                      .dtypes = ExactDType<T>(),
                      .row = &BinaryParameterRow<Fn, T>,
                      .parameter = parameter})),
     ...);
  }
  // Of all real dtypes.
  template <typename Fn>
  constexpr void UnaryReal(const char* op) const {
    Unary<Fn, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double>(op);
  }
  template <typename Fn>
  constexpr void BinaryReal(const char* op) const {
    Binary<Fn, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double>(op);
  }
  // Of `dtypes`, integers of either sign, by the unsigned type of the same size.
  template <typename Fn>
  constexpr void UnaryWrapping(const char* op, DTypeSet dtypes) const {
    BySize(op, 1, dtypes, &UnaryRow<Fn, uint8_t>, &UnaryRow<Fn, uint16_t>, &UnaryRow<Fn, uint32_t>,
           &UnaryRow<Fn, uint64_t>);
  }
  template <typename Fn>
  constexpr void BinaryWrapping(const char* op, DTypeSet dtypes) const {
    BySize(op, 2, dtypes, &BinaryRow<Fn, uint8_t>, &BinaryRow<Fn, uint16_t>, &BinaryRow<Fn, uint32_t>,
           &BinaryRow<Fn, uint64_t>);
  }
  constexpr void BySize(const char* op, int num_operands, DTypeSet dtypes, Row row1, Row row2, Row row4,
                        Row row8) const {
    const auto tell = [&](DTypeSet same_size, Row row) {
      const DTypeSet served = same_size & dtypes;
      if (!served.IsEmpty()) list_.Add({.op = op, .num_operands = num_operands, .dtypes = served, .row = row});
    };
    tell(SameSize<uint8_t>(), row1);
    tell(SameSize<uint16_t>(), row2);
    tell(SameSize<uint32_t>(), row4);
    tell(SameSize<uint64_t>(), row8);
  }
  // Of all real dtypes: Fn(x, y), and Fn(y, x) for the other op.
  template <typename Fn>
  constexpr void Ordering(const char* op, const char* swapped_op) const {
    OrderingOf<Fn, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double>(op,
                                                                                                            swapped_op);
  }
  constexpr void Float(const char* op, float cost, Row row) const {
    list_.Add({.op = op, .num_operands = 2, .dtypes = {DType::kF32}, .row = row, .cost = cost, .is_float = true});
  }
  constexpr void Complex(const char* op, int num_operands, Row row) const {
    list_.Add({.op = op, .num_operands = num_operands, .dtypes = {DType::kC64}, .row = row});
  }
  constexpr void Untyped(const char* op, int num_operands, Row row) const {
    list_.Add({.op = op, .num_operands = num_operands, .dtypes = {}, .row = row});
  }

 private:
  // Of the dtypes for which it is worth the code.
  template <typename Fn, typename T>
  static constexpr Row FirstSingle() {
    if constexpr (std::is_floating_point_v<T> && !kIsCompact<T>) return &FirstSingleRow<Fn, T>;
    return nullptr;
  }
  template <typename Fn, typename T>
  static constexpr Row SecondSingle() {
    if constexpr (std::is_floating_point_v<T> && !kIsCompact<T>) return &SecondSingleRow<Fn, T>;
    return nullptr;
  }
  template <typename T>
  static constexpr RowEntry Of(RowEntry entry) {
    entry.is_float = std::is_same_v<T, float>;
    return entry;
  }
  template <typename Fn, typename... T>
  constexpr void OrderingOf(const char* op, const char* swapped_op) const {
    Binary<Fn, T...>(op);
    Binary<Fn, T...>(swapped_op, 0.02f, /*swaps=*/true);
  }

  RowList& list_;
};

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
