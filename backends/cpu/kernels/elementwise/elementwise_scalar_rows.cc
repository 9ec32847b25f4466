// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Rows that are computed one element after the other: division with a remainder, powers, and complex functions (in f64,
// rounded once).

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernels/elementwise/elementwise_rows.h"
#include "simd/complex_math.h"
#include "simd/scalar_math.h"
#include "simd/simd_targets.h"
#include "tandem/kernel_run.h"
// After the above.
#include "kernels/elementwise/elementwise_loops-inl.h"

namespace tandem::cpu {

namespace {

using HWY_NAMESPACE::BinaryRow;
using HWY_NAMESPACE::UnaryRow;

// The error for the element at `position` of the argument y, whose place is told by the indices along its dimensions.
Status WrongY(std::string_view expected, const TensorShape& shape, int64_t position, int64_t value) {
  std::array<int64_t, TensorShape::kMaxRank> index;
  for (int axis = shape.rank(); axis-- > 0;) {
    index[axis] = position % shape.dim(axis);
    position /= shape.dim(axis);
  }
  if (shape.rank() == 0) return InvalidArgument("y must not be ", expected, ", got y = ", value);
  const std::span<const int64_t> place(index.data(), static_cast<size_t>(shape.rank()));
  return InvalidArgument("y must not be ", expected, ", got y", place, " = ", value);
}

// The first element that fails is also the first in the order of the result, where y may be repeated.
template <typename T>
Status CheckDivisors(const void* elements, int64_t n, const TensorShape& shape) {
  const T* divisors = static_cast<const T*>(elements);
  bool has_zero = false;
  for (int64_t i = 0; i < n; ++i) has_zero |= divisors[i] == 0;
  if (!has_zero) return Status();
  return WrongY("zero", shape, std::find(divisors, divisors + n, T{0}) - divisors, 0);
}

// The smallest integer over -1 wraps around.
struct FloorDiv {
  template <typename T>
  static Status Check(const void* elements, int64_t n, const TensorShape& shape) {
    return CheckDivisors<T>(elements, n, shape);
  }
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_unsigned_v<T>) {
      return x / y;
    } else {
      if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
      const T quotient = static_cast<T>(x / y);
      return quotient - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
    }
  }
};

// The remainder has the sign of x; the smallest integer over -1 leaves 0.
struct Mod {
  template <typename T>
  static Status Check(const void* elements, int64_t n, const TensorShape& shape) {
    return CheckDivisors<T>(elements, n, shape);
  }
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return 0;
    }
    return static_cast<T>(x % y);
  }
  static double Apply(double x, double y) { return std::fmod(x, y); }
};

// The remainder has the sign of y.
struct FloorMod {
  template <typename T>
  static Status Check(const void* elements, int64_t n, const TensorShape& shape) {
    return CheckDivisors<T>(elements, n, shape);
  }
  template <typename T>
  static T Apply(T x, T y) {
    const T remainder = Mod::Apply(x, y);
    if constexpr (std::is_unsigned_v<T>) {
      return remainder;
    } else {
      return remainder != 0 && (remainder < 0) != (y < 0) ? static_cast<T>(remainder + y) : remainder;
    }
  }
};

struct NextAfter {
  template <typename T>
  static T Apply(T x, T y) {
    return std::nextafter(x, y);
  }
};

// Of integers by squaring.
struct Pow {
  template <typename T>
  static Status Check(const void* elements, int64_t n, const TensorShape& shape) {
    const T* exponents = static_cast<const T*>(elements);
    for (int64_t i = 0; i < n; ++i) {
      if (exponents[i] < 0) return WrongY("negative", shape, i, exponents[i]);
    }
    return Status();
  }
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      using Bits = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
      Bits result = 1;
      auto base = static_cast<Bits>(x);
      for (auto exponent = static_cast<Bits>(y); exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result *= base;
        base *= base;
      }
      return static_cast<T>(result);
    } else {
      return KernelRun::IsExact() ? static_cast<T>(portable::Pow(x, y)) : std::pow(x, y);
    }
  }
};

Complex128 DivideNoNan(Complex128 x, Complex128 y) { return y == 0.0 ? Complex128(0) : Divide(x, y); }

Complex128 ComplexSign(Complex128 x) {
  const double magnitude = std::sqrt(x.real() * x.real() + x.imag() * x.imag());
  return magnitude == 0 ? Complex128(0) : Complex128(x.real() / magnitude, x.imag() / magnitude);
}

Complex128 ComplexReciprocal(Complex128 x) { return Divide(1, x); }

// Calls `fn` in f64, with the real functions to make it of if it takes them.
template <auto fn>
struct ComplexFunction {
  template <typename... Complexes>
  static Complex128 Call(const Complexes&... x) {
    if constexpr (std::is_invocable_v<decltype(fn), Complexes...>) {
      return fn(x...);
    } else {
      return fn(MathOfRun(), x...);
    }
  }
  static Complex64 Rounded(Complex128 x) { return {static_cast<float>(x.real()), static_cast<float>(x.imag())}; }
  static Complex64 Apply(Complex64 x) { return Rounded(Call(Complex128(x.re, x.im))); }
  static Complex64 Apply(Complex64 x, Complex64 y) {
    return Rounded(Call(Complex128(x.re, x.im), Complex128(y.re, y.im)));
  }
};

template <typename Fn, typename... T>
constexpr void Binary(RowList& list, const char* op, float cost) {
  (list.Add({.op = op,
             .num_operands = 2,
             .dtypes = {kDTypeOf<T>},
             .row = &BinaryRow<Fn, T>,
             .cost = cost,
             .is_float = std::is_same_v<T, float>}),
   ...);
}

template <typename Fn, typename... T>
constexpr void CheckedIntegers(RowList& list, const char* op, float cost) {
  (list.Add({.op = op,
             .num_operands = 2,
             .dtypes = {kDTypeOf<T>},
             .row = &BinaryRow<Fn, T>,
             .cost = cost,
             .check = &Fn::template Check<T>}),
   ...);
}

template <auto fn>
constexpr void ComplexUnary(RowList& list, const char* op, float cost) {
  list.Add({.op = op,
            .num_operands = 1,
            .dtypes = {DType::kC64},
            .row = &UnaryRow<ComplexFunction<fn>, Complex64>,
            .cost = cost});
}

template <auto fn>
constexpr void ComplexBinary(RowList& list, const char* op, float cost) {
  list.Add({.op = op,
            .num_operands = 2,
            .dtypes = {DType::kC64},
            .row = &BinaryRow<ComplexFunction<fn>, Complex64>,
            .cost = cost});
}

constexpr void ListComplexRows(RowList& list) {
  ComplexBinary<&Divide>(list, "tf.RealDiv", 5);
  ComplexBinary<&DivideNoNan>(list, "tf.DivNoNan", 5);
  ComplexBinary<&complex_math::Pow>(list, "tf.Pow", 100);
  ComplexUnary<&ComplexSign>(list, "tf.Sign", 5);
  ComplexUnary<&complex_math::Sqrt>(list, "tf.Sqrt", 20);
  ComplexUnary<&complex_math::Rsqrt>(list, "tf.Rsqrt", 25);
  ComplexUnary<&ComplexReciprocal>(list, "tf.Reciprocal", 5);
  ComplexUnary<&complex_math::Exp>(list, "tf.Exp", 30);
  ComplexUnary<&complex_math::Expm1>(list, "tf.Expm1", 60);
  ComplexUnary<&complex_math::Log>(list, "tf.Log", 40);
  ComplexUnary<&complex_math::Log1p>(list, "tf.Log1p", 40);
  ComplexUnary<&complex_math::Sin>(list, "tf.Sin", 50);
  ComplexUnary<&complex_math::Cos>(list, "tf.Cos", 50);
  ComplexUnary<&complex_math::Tan>(list, "tf.Tan", 60);
  ComplexUnary<&complex_math::Sinh>(list, "tf.Sinh", 50);
  ComplexUnary<&complex_math::Cosh>(list, "tf.Cosh", 50);
  ComplexUnary<&complex_math::Tanh>(list, "tf.Tanh", 50);
  ComplexUnary<&complex_math::Asin>(list, "tf.Asin", 80);
  ComplexUnary<&complex_math::Acos>(list, "tf.Acos", 80);
  ComplexUnary<&complex_math::Atan>(list, "tf.Atan", 60);
  ComplexUnary<&complex_math::Asinh>(list, "tf.Asinh", 80);
  ComplexUnary<&complex_math::Acosh>(list, "tf.Acosh", 80);
  ComplexUnary<&complex_math::Atanh>(list, "tf.Atanh", 60);
  ComplexUnary<&complex_math::Sigmoid>(list, "tf.Sigmoid", 40);
}

// Between complex numbers and their parts.
struct MakeComplex {
  static Complex64 Apply(float re, float im) { return {re, im}; }
};
struct RealPart {
  static float Apply(Complex64 x) { return x.re; }
};
struct ImaginaryPart {
  static float Apply(Complex64 x) { return x.im; }
};
struct Conjugate {
  static Complex64 Apply(Complex64 x) { return {x.re, -x.im}; }
};
// In f64, where squares of f32 neither overflow nor vanish.
struct ComplexAbs {
  static float Apply(Complex64 x) {
    if (std::isinf(x.re) || std::isinf(x.im)) return std::numeric_limits<float>::infinity();
    const double re = x.re;
    const double im = x.im;
    return static_cast<float>(std::sqrt(re * re + im * im));
  }
};

constexpr void ListParts(RowList& list) {
  constexpr DTypeSet kComplex = {DType::kC64};
  list.Add({.op = "tf.Complex", .num_operands = 2, .dtypes = {DType::kF32}, .row = &BinaryRow<MakeComplex, float>});
  list.Add({.op = "tf.Real", .num_operands = 1, .dtypes = kComplex, .row = &UnaryRow<RealPart, Complex64>});
  list.Add({.op = "tf.Imag", .num_operands = 1, .dtypes = kComplex, .row = &UnaryRow<ImaginaryPart, Complex64>});
  list.Add({.op = "tf.Conj", .num_operands = 1, .dtypes = kComplex, .row = &UnaryRow<Conjugate, Complex64>});
  list.Add({.op = "tf.ComplexAbs",
            .num_operands = 1,
            .dtypes = kComplex,
            .row = &UnaryRow<ComplexAbs, Complex64>,
            .cost = 3});
}

constexpr void ListRows(RowList& list) {
  CheckedIntegers<FloorDiv, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(list,
                                                                                                      "tf.FloorDiv", 2);
  CheckedIntegers<FloorMod, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(list,
                                                                                                      "tf.FloorMod", 2);
  Binary<FloorMod, double>(list, "tf.FloorMod", 20);
  CheckedIntegers<Mod, int32_t, int64_t>(list, "tf.Mod", 2);
  Binary<Mod, double>(list, "tf.Mod", 20);
  CheckedIntegers<Pow, int8_t, int16_t, int32_t, int64_t>(list, "tf.Pow", 4);
  Binary<Pow, float, double>(list, "tf.Pow", 15);
  Binary<NextAfter, float, double>(list, "tf.NextAfter", 4);
  ListComplexRows(list);
  ListParts(list);
}

constexpr auto kTable = MakeRowTable<&ListRows>();

}  // namespace

RowTable ScalarRows() { return kTable; }

}  // namespace tandem::cpu
