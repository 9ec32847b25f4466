// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rows made of functions of single elements, once per instruction set: included between Highway's target changes.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LOOPS_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LOOPS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_LOOPS_INL_H_
#endif

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/compact.h"
#include "kernels/elementwise/elementwise_rows.h"

// The iterations of the loop that follows do not depend on each other: an element that is written is at most the one
// that was just read.
#undef TANDEM_INDEPENDENT
#if defined(__OPTIMIZE_SIZE__)
#define TANDEM_INDEPENDENT
#elif defined(__clang__)
#define TANDEM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TANDEM_INDEPENDENT _Pragma("GCC ivdep")
#endif

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {
namespace {

// By memcpy, since the memory may hold elements of another type by now (forwarding) and need not be aligned.
template <typename T>
HWY_INLINE T LoadElement(const void* elements, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(elements) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
HWY_INLINE void StoreElement(T value, void* elements, int64_t i) {
  std::memcpy(static_cast<char*>(elements) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Whether a function of elements is so short, and so common, that several vectors at a time are worth their code.
template <class Fn>
inline constexpr bool kIsStream = requires {
  Fn::kIsStream;
};

// Calls fn(i), whose calls do not depend on each other, for i < n. Elements are of type T, and of a function for which
// kIsStream<Of>. The index is as wide as a pointer: a wider one would be converted for each access.
template <class Of, typename T, class Fn>
HWY_INLINE void ForEachElement(int64_t size, Fn fn) {
  const auto n = static_cast<ptrdiff_t>(size);
#ifdef TANDEM_SMALL
  // i32 and what stands for it, and bool, are used beside f32.
  if constexpr (kIsCompact<T> && !(std::is_integral_v<T> && (sizeof(T) == 4 || std::is_same_v<T, uint8_t>))) {
#pragma clang loop vectorize(disable) interleave(disable) unroll(disable)
    for (ptrdiff_t i = 0; i < n; ++i) fn(i);
    return;
  }
#ifndef __OPTIMIZE_SIZE__
  if constexpr (kIsStream<Of> && std::is_same_v<T, float>) {
#pragma clang loop vectorize(assume_safety) interleave_count(4)
    for (ptrdiff_t i = 0; i < n; ++i) fn(i);
    return;
  }
#endif
#endif
  TANDEM_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i) fn(i);
}

// Fn has a static Apply(T), which gives an element of the result.
template <typename Fn, typename T>
void UnaryRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  ForEachElement<Fn, T>(n, [=](ptrdiff_t i) HWY_ATTR { StoreElement(Fn::Apply(LoadElement<T>(x, i)), out, i); });
}

template <typename Fn, typename T>
void BinaryRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const void* y = operands[1];
  ForEachElement<Fn, T>(
      n, [=](ptrdiff_t i) HWY_ATTR { StoreElement(Fn::Apply(LoadElement<T>(x, i), LoadElement<T>(y, i)), out, i); });
}

template <typename Fn, typename T>
void FirstSingleRow(const void* const* operands, void* out, int64_t n) {
  const T x = LoadElement<T>(operands[0], 0);
  const void* y = operands[1];
  ForEachElement<Fn, T>(n, [=](ptrdiff_t i) HWY_ATTR { StoreElement(Fn::Apply(x, LoadElement<T>(y, i)), out, i); });
}

template <typename Fn, typename T>
void SecondSingleRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const T y = LoadElement<T>(operands[1], 0);
  ForEachElement<Fn, T>(n, [=](ptrdiff_t i) HWY_ATTR { StoreElement(Fn::Apply(LoadElement<T>(x, i), y), out, i); });
}

template <typename Fn, typename T>
void TernaryRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const void* y = operands[1];
  const void* z = operands[2];
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    StoreElement(Fn::Apply(LoadElement<T>(x, i), LoadElement<T>(y, i), LoadElement<T>(z, i)), out, i);
  }
}

// The parameter, an f32, is the last argument.
template <typename Fn, typename T>
void UnaryParameterRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const T parameter = LoadElement<float>(operands[1], 0);
  TANDEM_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i) StoreElement(Fn::Apply(LoadElement<T>(x, i), parameter), out, i);
}

template <typename Fn, typename T>
void BinaryParameterRow(const void* const* operands, void* out, int64_t n) {
  const void* x = operands[0];
  const void* y = operands[1];
  const T parameter = LoadElement<float>(operands[2], 0);
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    StoreElement(Fn::Apply(LoadElement<T>(x, i), LoadElement<T>(y, i), parameter), out, i);
  }
}

// A row of reals applied to the real and imaginary parts of complex numbers.
template <Row row>
void PairsRow(const void* const* operands, void* out, int64_t n) {
  row(operands, out, 2 * n);
}

}  // namespace
}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
