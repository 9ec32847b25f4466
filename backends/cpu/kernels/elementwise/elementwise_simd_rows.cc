// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Arithmetic, comparison and selection: plain loops that the compiler turns into vectors, once per instruction set.
//
// Adding an op: its function of one element (or two), and a line in one of the List functions below.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/elementwise_rows.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_simd_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After the above.
#include "kernels/elementwise/elementwise_lists-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

// Wide enough that products of T do not overflow a signed type by promotion.
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

struct Add {
  [[maybe_unused]] static constexpr bool kIsStream = true;
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return static_cast<T>(x + y);
  }
};

struct Sub {
  [[maybe_unused]] static constexpr bool kIsStream = true;
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return static_cast<T>(x - y);
  }
};

struct Mul {
  [[maybe_unused]] static constexpr bool kIsStream = true;
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(x) * static_cast<Unsigned<T>>(y));
    } else {
      return x * y;
    }
  }
  static HWY_INLINE Complex64 Apply(Complex64 x, Complex64 y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
};

struct Div {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return x / y;
  }
};

// A divisor of 0 gives 0, whatever it divides.
struct DivNoNan {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    const T quotient = x / y;
    return y == 0 ? T{0} : quotient;
  }
};

struct SquaredDifference {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    const T difference = static_cast<T>(x - y);
    return Mul::Apply(difference, difference);
  }
  static HWY_INLINE Complex64 Apply(Complex64 x, Complex64 y) {
    const float re = x.re - y.re;
    const float im = x.im - y.im;
    return {re * re + im * im, 0.0f};
  }
};

// The sign bit of `sign` added to `magnitude`, which is not negative.
template <typename T>
HWY_INLINE T WithSign(T magnitude, T sign) {
  using Bits = Unsigned<T>;
  constexpr Bits kSignBit = Bits{1} << (8 * sizeof(T) - 1);
  return std::bit_cast<T>(std::bit_cast<Bits>(magnitude) | (std::bit_cast<Bits>(sign) & kSignBit));
}

// From 1 / epsilon on there are no fractions. Below, adding and subtracting it rounds as the hardware does: to nearest,
// halves to even. (Functions of the C library would not become vectors.)
template <typename T>
inline constexpr T kWhole = T{1} / std::numeric_limits<T>::epsilon();

template <typename T>
HWY_INLINE T RoundSmall(T x) {
  return WithSign((std::fabs(x) + kWhole<T>)-kWhole<T>, x);
}

// `small` where `x` may have a fraction, else x; bit by bit, since the compiler would make a branch of a choice.
template <typename T>
HWY_INLINE T SmallOr(T small, T x) {
  using Bits = Unsigned<T>;
  const Bits is_small = Bits{0} - static_cast<Bits>(std::fabs(x) < kWhole<T>);
  return std::bit_cast<T>((std::bit_cast<Bits>(small) & is_small) | (std::bit_cast<Bits>(x) & ~is_small));
}

struct Round {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return SmallOr(RoundSmall(x), x);
  }
};

struct Ceil {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    const T rounded = RoundSmall(x);
    return SmallOr(WithSign(std::fabs(rounded + (rounded < x ? T{1} : T{0})), x), x);
  }
};

struct Floor {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return -Ceil::Apply(-x);
  }
};

struct FloorDiv {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return Floor::Apply(x / y);
  }
};

// Whether the quotient in f64 is not rounded to a whole number that it is not, and the divisor times it is exact.
HWY_INLINE bool HasExactRemainder(double quotient, double divisor) {
  return (quotient < 0x1p28) & (divisor <= std::numeric_limits<float>::max());
}

// The remainder with the sign of x, or with that of y; in a buffer first, since `out` may be an operand.
template <bool kSignOfY>
void RemainderRow(const void* const* operands, void* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  float rest[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const void* x = static_cast<const float*>(operands[0]) + begin;
    const void* y = static_cast<const float*>(operands[1]) + begin;
    void* to = static_cast<float*>(out) + begin;
    const int64_t size = std::min(kBlock, n - begin);
    int num_exact = 0;
    for (int64_t i = 0; i < size; ++i) {
      const double magnitude = std::fabs(static_cast<double>(LoadElement<float>(x, i)));
      const double divisor = std::fabs(static_cast<double>(LoadElement<float>(y, i)));
      const double quotient = magnitude / divisor;
      const double rounded = (quotient + kWhole<double>)-kWhole<double>;
      const double whole = rounded - (rounded > quotient ? 1.0 : 0.0);
      rest[i] = WithSign(static_cast<float>(magnitude - whole * divisor), LoadElement<float>(x, i));
      num_exact += HasExactRemainder(quotient, divisor) ? 1 : 0;
    }
    for (int64_t i = 0; i < size && num_exact < size; ++i) {
      const float a = LoadElement<float>(x, i);
      const float b = LoadElement<float>(y, i);
      if (!HasExactRemainder(std::fabs(static_cast<double>(a) / static_cast<double>(b)), std::fabs(b))) {
        rest[i] = std::fmod(a, b);
      }
    }
    TANDEM_INDEPENDENT
    for (int64_t i = 0; i < size; ++i) {
      const float b = LoadElement<float>(y, i);
      const float moved = rest[i] + b;
      const bool moves = kSignOfY & (rest[i] != 0) & ((rest[i] < 0) != (b < 0));
      StoreElement(moves ? moved : rest[i], to, i);
    }
  }
}

// A NaN is not equal to itself, and is passed on from either side.
struct Maximum {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return ((x > y) | (x != x)) ? x : y;
  }
};

struct Minimum {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return ((x < y) | (x != x)) ? x : y;
  }
};

struct Equal {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x, T y) {
    return x == y;
  }
  static HWY_INLINE uint8_t Apply(Complex64 x, Complex64 y) { return (x.re == y.re) & (x.im == y.im); }
};

struct NotEqual {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x, T y) {
    return x != y;
  }
  static HWY_INLINE uint8_t Apply(Complex64 x, Complex64 y) { return (x.re != y.re) | (x.im != y.im); }
};

struct Less {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x, T y) {
    return x < y;
  }
};

struct LessEqual {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x, T y) {
    return x <= y;
  }
};

struct LogicalAnd {
  static HWY_INLINE uint8_t Apply(uint8_t x, uint8_t y) { return x & y; }
};

struct LogicalOr {
  static HWY_INLINE uint8_t Apply(uint8_t x, uint8_t y) { return x | y; }
};

struct And {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return x & y;
  }
};

struct Or {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return x | y;
  }
};

struct Xor {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    return x ^ y;
  }
};

struct Invert {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return static_cast<T>(~x);
  }
};

// By as many places as y says, taken as an unsigned number: from the number of bits on, none of them is left.
struct LeftShift {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    constexpr T kBits = 8 * sizeof(T);
    const auto shifted = static_cast<T>(static_cast<Unsigned<T>>(x) << (y & (kBits - 1)));
    return y < kBits ? shifted : T{0};
  }
};

struct RightShift {
  template <typename T>
  static HWY_INLINE T Apply(T x, T y) {
    using Places = std::make_unsigned_t<T>;
    constexpr Places kBits = 8 * sizeof(T);
    const auto places = static_cast<Places>(y);
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(x >> (places < kBits ? places : kBits - 1));
    } else {
      const auto shifted = static_cast<T>(x >> (places & (kBits - 1)));
      return places < kBits ? shifted : T{0};
    }
  }
};

struct LogicalNot {
  static HWY_INLINE uint8_t Apply(uint8_t x) { return x ^ 1; }
};

struct Same {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return x;
  }
};

struct Neg {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0u - x);
    } else {
      return -x;
    }
  }
};

struct Abs {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x)) : x;
    } else {
      return std::fabs(x);
    }
  }
};

struct Sign {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    const T positive = x > 0 ? T{1} : T{0};
    const T negative = x < 0 ? T{1} : T{0};
    return x == x ? static_cast<T>(positive - negative) : x;
  }
};

struct Square {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return Mul::Apply(x, x);
  }
};

struct Reciprocal {
  template <typename T>
  static HWY_INLINE T Apply(T x) {
    return T{1} / x;
  }
};

struct IsNan {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x) {
    return x != x;
  }
};

struct IsInf {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x) {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
};

struct IsFinite {
  template <typename T>
  static HWY_INLINE uint8_t Apply(T x) {
    return std::fabs(x) < std::numeric_limits<T>::infinity();
  }
};

// Operands: the condition (bool), what is taken where it is true, what is taken where it is false.
template <typename T>
void SelectRow(const void* const* operands, void* out, int64_t n) {
  const void* condition = operands[0];
  const void* x = operands[1];
  const void* y = operands[2];
  TANDEM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T a = LoadElement<T>(x, i);
    const T b = LoadElement<T>(y, i);
    StoreElement(LoadElement<uint8_t>(condition, i) != 0 ? a : b, out, i);
  }
}

constexpr void ListArithmetic(const Rows& rows) {
  rows.BinaryWrapping<Add>("tf.AddV2", kIntDTypes);
  rows.Binary<Add, float, double>("tf.AddV2");
  rows.Complex("tf.AddV2", 2, &PairsRow<&BinaryRow<Add, float>>);
  rows.BinaryWrapping<Sub>("tf.Sub", kIntDTypes);
  rows.Binary<Sub, float, double>("tf.Sub");
  rows.Complex("tf.Sub", 2, &PairsRow<&BinaryRow<Sub, float>>);
  rows.BinaryWrapping<Mul>("tf.Mul", kIntDTypes);
  rows.Binary<Mul, float, double, Complex64>("tf.Mul");
  rows.BinaryWrapping<SquaredDifference>("tf.SquaredDifference", kSignedIntDTypes);
  rows.Binary<SquaredDifference, float, double, Complex64>("tf.SquaredDifference");
  rows.Binary<Div, float, double>("tf.RealDiv", 0.2f);
  rows.Binary<DivNoNan, float, double>("tf.DivNoNan", 0.2f);
  rows.Binary<FloorDiv, float, double>("tf.FloorDiv", 0.2f);
  rows.Float("tf.FloorMod", 1.0f, &RemainderRow<true>);
  rows.Float("tf.Mod", 1.0f, &RemainderRow<false>);
  rows.BinaryReal<Maximum>("tf.Maximum");
  rows.BinaryReal<Minimum>("tf.Minimum");
}

constexpr void ListBits(const Rows& rows) {
  rows.BinaryWrapping<And>("tf.BitwiseAnd", kIntDTypes);
  rows.BinaryWrapping<Or>("tf.BitwiseOr", kIntDTypes);
  rows.BinaryWrapping<Xor>("tf.BitwiseXor", kIntDTypes);
  rows.BinaryWrapping<LeftShift>("tf.LeftShift", kIntDTypes);
  rows.Binary<RightShift, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>("tf.RightShift");
  rows.UnaryWrapping<Invert>("tf.Invert", kIntDTypes);
}

constexpr void ListComparisons(const Rows& rows) {
  constexpr DTypeSet kBitsDecide = kIntDTypes | DTypeSet{DType::kBool};
  rows.BinaryWrapping<Equal>("tf.Equal", kBitsDecide);
  rows.Binary<Equal, float, double, Complex64>("tf.Equal");
  rows.BinaryWrapping<NotEqual>("tf.NotEqual", kBitsDecide);
  rows.Binary<NotEqual, float, double, Complex64>("tf.NotEqual");
  rows.Ordering<Less>("tf.Less", "tf.Greater");
  rows.Ordering<LessEqual>("tf.LessEqual", "tf.GreaterEqual");
  rows.Untyped("tf.LogicalAnd", 2, &BinaryRow<LogicalAnd, uint8_t>);
  rows.Untyped("tf.LogicalOr", 2, &BinaryRow<LogicalOr, uint8_t>);
  rows.Untyped("tf.LogicalXor", 2, &BinaryRow<Xor, uint8_t>);
  rows.Untyped("tf.LogicalNot", 1, &UnaryRow<LogicalNot, uint8_t>);
  rows.Unary<IsNan, float, double>("tf.IsNan");
  rows.Unary<IsInf, float, double>("tf.IsInf");
  rows.Unary<IsFinite, float, double>("tf.IsFinite");
  rows.BySize("tf.SelectV2", 3, DTypeSet::All(), &SelectRow<uint8_t>, &SelectRow<uint16_t>, &SelectRow<uint32_t>,
              &SelectRow<uint64_t>);
}

constexpr void ListUnary(const Rows& rows) {
  rows.Unary<Abs, int8_t, int16_t, int32_t, int64_t, float, double>("tf.Abs");
  rows.UnaryWrapping<Neg>("tf.Neg", kSignedIntDTypes);
  rows.Unary<Neg, float, double>("tf.Neg");
  rows.Complex("tf.Neg", 1, &PairsRow<&UnaryRow<Neg, float>>);
  rows.Unary<Sign, int8_t, int16_t, int32_t, int64_t, float, double>("tf.Sign");
  rows.UnaryWrapping<Square>("tf.Square", kIntDTypes);
  rows.Unary<Square, float, double, Complex64>("tf.Square");
  rows.Unary<Reciprocal, float, double>("tf.Reciprocal", 0.2f);
  rows.Unary<Floor, float, double>("tf.Floor");
  rows.Unary<Ceil, float, double>("tf.Ceil");
  rows.UnaryWrapping<Same>("tf.Round", kSignedIntDTypes);
  rows.Unary<Round, float, double>("tf.Round");
  rows.Unary<Round, float, double>("tf.Rint");
  rows.Complex("tf.Round", 1, &PairsRow<&UnaryRow<Round, float>>);
}

constexpr void ListRows(RowList& list) {
  const Rows rows(list);
  ListArithmetic(rows);
  ListBits(rows);
  ListComparisons(rows);
  ListUnary(rows);
}

constexpr auto kTable = MakeRowTable<&ListRows>();

}  // namespace

RowTable SimdRowsOfTarget() { return kTable; }

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {
HWY_EXPORT(SimdRowsOfTarget);
}  // namespace

RowTable SimdRows() { return HWY_DYNAMIC_DISPATCH(SimdRowsOfTarget)(); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
