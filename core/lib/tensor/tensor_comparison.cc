// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers are compared as doubles, which hold every floating-point dtype exactly; integers that differ first as what
// they are.

#include "tandem/tensor_comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "tandem/kernel_run.h"

namespace tandem {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kStep = 1 << 17;  // numbers that are compared in less than a millisecond

template <typename T>
T Load(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(data) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
double LoadDouble(const void* data, int64_t i) {
  return static_cast<double>(Load<T>(data, i));
}

// `value`, or 0 if it is not finite.
double Magnitude(double value) { return std::isfinite(value) ? std::fabs(value) : 0; }

// The number whose ULP counts for number `i`.
template <typename T>
double UlpBase(DType dtype, const void* expected, const void* actual, int64_t i, const TensorTolerance& tolerance) {
  if (!tolerance.at_larger) return LoadDouble<T>(expected, i);
  const int64_t parts = dtype == DType::kC64 ? 2 : 1;
  double base = 0;
  for (int64_t part = i / parts * parts; part < (i / parts + 1) * parts; ++part) {
    base = std::max({base, Magnitude(LoadDouble<T>(expected, part)), Magnitude(LoadDouble<T>(actual, part))});
  }
  return base;
}

template <typename T>
double LargestMagnitude(const void* data, int64_t n) {
  double largest = 0;
  InSteps(n, kStep, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, Magnitude(LoadDouble<T>(data, i)));
  });
  return largest;
}

// One comparison of floating-point numbers.
template <typename T>
class FloatComparison {
 public:
  FloatComparison(DType dtype, const void* expected, const void* actual, int64_t n, const TensorTolerance& tolerance,
                  FunctionRef<void(const NumberDifference&)> differs)
      : dtype_(dtype), expected_(expected), actual_(actual), n_(n), tolerance_(tolerance), differs_(differs) {
    if (tolerance.of_largest > 0) {
      allowed_ = std::max(allowed_, tolerance.of_largest * LargestMagnitude<T>(expected, n));
    }
  }

  // The largest finite error in ULP.
  double Run() {
    InSteps(n_, kStep, [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) CompareAt(i);
    });
    return worst_ulp_;
  }

 private:
  void CompareAt(int64_t i) {
    const double want = LoadDouble<T>(expected_, i);
    const double got = LoadDouble<T>(actual_, i);
    if (want == got) {
      const bool is_same = !tolerance_.signed_zeros || want != 0 || std::signbit(want) == std::signbit(got);
      if (!is_same) differs_({i, 0, 0});
      return;
    }
    if (std::isnan(want) && std::isnan(got)) return;
    if (!std::isfinite(want) || !std::isfinite(got)) {
      if (tolerance_.ulp < kInfinity) differs_({i, kInfinity, kInfinity});
      return;
    }
    const double error = std::fabs(got - want);
    if (error <= allowed_) return;
    const double ulp = error / UlpOf(UlpBase<T>(dtype_, expected_, actual_, i, tolerance_), dtype_);
    if (ulp > tolerance_.ulp) differs_({i, error, ulp});
    if (std::isfinite(ulp)) worst_ulp_ = std::max(worst_ulp_, ulp);
  }

  const DType dtype_;
  const void* const expected_;
  const void* const actual_;
  const int64_t n_;
  const TensorTolerance& tolerance_;
  const FunctionRef<void(const NumberDifference&)> differs_;
  double allowed_ = tolerance_.abs;
  double worst_ulp_ = 0;
};

template <typename T>
double CompareIntegers(const void* expected, const void* actual, int64_t n, double allowed,
                       FunctionRef<void(const NumberDifference&)> differs) {
  InSteps(n, kStep, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T want = Load<T>(expected, i);
      const T got = Load<T>(actual, i);
      if (want == got) continue;
      const double error = std::fabs(static_cast<double>(got) - static_cast<double>(want));
      // 64-bit integers that differ may be equal as doubles.
      if (allowed < 1 || error > allowed) differs({i, std::max(error, 1.0), 0});
    }
  });
  return 0;
}

}  // namespace

double UlpOf(double value, DType dtype) {
  int precision = 24;       // bits of the significand, with the leading one
  int min_exponent = -126;  // of the smallest normal number
  switch (dtype) {
    case DType::kF16:
      precision = 11;
      min_exponent = -14;
      break;
    case DType::kBF16:
      precision = 8;
      break;
    case DType::kF64:
      precision = 53;
      min_exponent = -1022;
      break;
    case DType::kF32:
    case DType::kC64:
      break;
    default:
      return 1;
  }
  const int exponent = value == 0 ? min_exponent : std::max(std::ilogb(value), min_exponent);
  return std::ldexp(1.0, exponent - (precision - 1));
}

double CompareNumbers(DType dtype, const void* expected, const void* actual, int64_t num_numbers,
                      const TensorTolerance& tolerance, FunctionRef<void(const NumberDifference&)> differs) {
  switch (dtype) {
    case DType::kBool:  // as bytes: a true that is not 1 is a fault
      return CompareIntegers<uint8_t>(expected, actual, num_numbers, 0, differs);
    case DType::kC64:
      return FloatComparison<float>(dtype, expected, actual, num_numbers, tolerance, differs).Run();
#define TANDEM_COMPARE(enumerator, type)                                                                            \
  case DType::enumerator:                                                                                           \
    if constexpr (std::is_integral_v<type>) {                                                                       \
      return CompareIntegers<type>(expected, actual, num_numbers, std::max(tolerance.abs, tolerance.ulp), differs); \
    } else {                                                                                                        \
      return FloatComparison<type>(dtype, expected, actual, num_numbers, tolerance, differs).Run();                 \
    }
      TANDEM_COMPARE(kU8, uint8_t)
      TANDEM_COMPARE(kI8, int8_t)
      TANDEM_COMPARE(kU16, uint16_t)
      TANDEM_COMPARE(kI16, int16_t)
      TANDEM_COMPARE(kI32, int32_t)
      TANDEM_COMPARE(kU32, uint32_t)
      TANDEM_COMPARE(kI64, int64_t)
      TANDEM_COMPARE(kU64, uint64_t)
      TANDEM_COMPARE(kF16, Float16)
      TANDEM_COMPARE(kBF16, BFloat16)
      TANDEM_COMPARE(kF32, float)
      TANDEM_COMPARE(kF64, double)
#undef TANDEM_COMPARE
    case DType::kString:
    case DType::kInvalid:
      break;
  }
  return 0;
}

int StatedUlp(const OpDef& def, DType dtype) {
  if (def.max_ulp < 0) return -1;
  if (dtype == DType::kC64) return 4;
  const bool is_half = dtype == DType::kF16 || dtype == DType::kBF16;
  return is_half ? std::min(def.max_ulp, 1) : def.max_ulp;
}

void AppendNumber(MessageBuilder& out, DType dtype, const void* data, int64_t number) {
  switch (dtype) {
    case DType::kBool:
      out.Append(Load<uint8_t>(data, number));
      return;
    case DType::kC64:
      out.Append(Load<float>(data, number));
      return;
#define TANDEM_APPEND_NUMBER(enumerator, type)                  \
  case DType::enumerator:                                       \
    if constexpr (std::is_integral_v<type>) {                   \
      out.Append(Load<type>(data, number));                     \
    } else if constexpr (std::is_same_v<type, double>) {        \
      out.Append(Load<double>(data, number));                   \
    } else {                                                    \
      out.Append(static_cast<float>(Load<type>(data, number))); \
    }                                                           \
    return;
      TANDEM_APPEND_NUMBER(kU8, uint8_t)
      TANDEM_APPEND_NUMBER(kI8, int8_t)
      TANDEM_APPEND_NUMBER(kU16, uint16_t)
      TANDEM_APPEND_NUMBER(kI16, int16_t)
      TANDEM_APPEND_NUMBER(kI32, int32_t)
      TANDEM_APPEND_NUMBER(kU32, uint32_t)
      TANDEM_APPEND_NUMBER(kI64, int64_t)
      TANDEM_APPEND_NUMBER(kU64, uint64_t)
      TANDEM_APPEND_NUMBER(kF16, Float16)
      TANDEM_APPEND_NUMBER(kBF16, BFloat16)
      TANDEM_APPEND_NUMBER(kF32, float)
      TANDEM_APPEND_NUMBER(kF64, double)
#undef TANDEM_APPEND_NUMBER
    case DType::kString:
    case DType::kInvalid:
      return;
  }
}

void AppendElement(MessageBuilder& out, DType dtype, const void* data, int64_t element) {
  if (dtype != DType::kC64) return AppendNumber(out, dtype, data, element);
  out.Append("(");
  AppendNumber(out, dtype, data, 2 * element);
  out.Append(", ");
  AppendNumber(out, dtype, data, 2 * element + 1);
  out.Append(")");
}

void AppendPosition(MessageBuilder& out, const TensorShape& shape, int64_t element) {
  int64_t position[TensorShape::kMaxRank] = {};
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = element % shape.dim(axis);
    element /= shape.dim(axis);
  }
  out.Append(std::span<const int64_t>(position, static_cast<size_t>(shape.rank())));
}

}  // namespace tandem
