// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions of arrays made of functions of one vector; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_SIMD_SIMD_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_SIMD_SIMD_FUNCTIONS_INL_H_
#undef TANDEM_BACKENDS_CPU_SIMD_SIMD_FUNCTIONS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_FUNCTIONS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "simd/scalar_math.h"
#include "simd/simd_partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, typename F>
HWY_INLINE void MapVectors(const T* x, int64_t size, T* y, F function) {
  const hn::ScalableTag<T> d;
  constexpr ptrdiff_t kLanes = HWY_LANES(T);
  const auto count = static_cast<ptrdiff_t>(size);
  ptrdiff_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(function(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    StoreFirst(function(d, LoadFirst(d, rest, x + i)), d, rest, y + i);
  }
}

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// nameF32 and nameF64, from an expression of the vector x with tag d.
#undef TANDEM_DEFINE_FLOAT
#undef TANDEM_DEFINE_DOUBLE
#define TANDEM_DEFINE_FLOAT(name, vector, scalar)                                                 \
  void name##F32(const float* from, int64_t count, float* to) {                                   \
    MapVectors(from, count, to, []([[maybe_unused]] auto d, auto x) HWY_ATTR { return vector; }); \
  }
#if HWY_HAVE_FLOAT64 && !defined(TANDEM_SIMD_EXACT)
#define TANDEM_DEFINE_DOUBLE(name, vector, scalar)                                                \
  void name##F64(const double* from, int64_t count, double* to) {                                 \
    MapVectors(from, count, to, []([[maybe_unused]] auto d, auto x) HWY_ATTR { return vector; }); \
  }
#else
#define TANDEM_DEFINE_DOUBLE(name, vector, scalar)
#endif

// What calls them for the instruction set at hand, from the expression of a double x with functions of `math`, a
// ScalarMath. The first two are for namespace tandem::cpu, the others for tandem::cpu::simd.
#undef TANDEM_EXPORT_FLOAT
#undef TANDEM_EXPORT_DOUBLE
#undef TANDEM_DISPATCH_FLOAT
#undef TANDEM_DISPATCH_DOUBLE
#undef TANDEM_SCALAR_DOUBLE
#ifdef TANDEM_SIMD_EXACT
#define TANDEM_EXPORT_FLOAT(name, vector, scalar) HWY_EXPORT(name##F32);
#else
#define TANDEM_EXPORT_FLOAT(name, vector, scalar)     \
  HWY_EXPORT(name##F32);                              \
  namespace exact::simd {                             \
  void name(const float* x, int64_t count, float* y); \
  }                                                   \
  static double name##Of([[maybe_unused]] const ScalarMath& math, double x) { return scalar; }
#endif
#define TANDEM_DISPATCH_FLOAT(name, vector, scalar)    \
  void name(const float* x, int64_t count, float* y) { \
    TANDEM_IF_EXACT(simd::name(x, count, y));          \
    HWY_DYNAMIC_DISPATCH(name##F32)(x, count, y);      \
  }
#if defined(TANDEM_SIMD_EXACT)
#define TANDEM_EXPORT_DOUBLE(name, vector, scalar)
#define TANDEM_DISPATCH_DOUBLE(name, vector, scalar)
#define TANDEM_SCALAR_DOUBLE(name, vector, scalar)
#else
#if HWY_HAVE_FLOAT64
#define TANDEM_EXPORT_DOUBLE(name, vector, scalar) HWY_EXPORT(name##F64);
#define TANDEM_DISPATCH_DOUBLE(name, vector, scalar)                     \
  void name(const double* x, int64_t count, double* y) {                 \
    if (KernelRun::IsExact()) return MapNumbers(&name##Of, x, count, y); \
    HWY_DYNAMIC_DISPATCH(name##F64)(x, count, y);                        \
  }
#else
#define TANDEM_EXPORT_DOUBLE(name, vector, scalar)
#define TANDEM_DISPATCH_DOUBLE TANDEM_SCALAR_DOUBLE
#endif
// One element after the other.
#define TANDEM_SCALAR_DOUBLE(name, vector, scalar) \
  void name(const double* x, int64_t count, double* y) { MapNumbers(&name##Of, x, count, y); }
#endif

#endif  // per-target guard
