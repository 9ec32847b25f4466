// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Arithmetic with pairs of numbers is after Dekker, "A floating-point technique for extending the available precision"
// (1971), and Knuth, The Art of Computer Programming, volume 2. Large angles are reduced after Payne and Hanek, "Radian
// reduction for trigonometric functions" (1983). The compiler must not contract products and sums
// (-ffp-contract=off).

#include "simd/portable_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tandem::cpu::portable {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Pairs.

// hi + lo, where lo is at most half a unit in the last place of hi. About 105 bits.
struct Pair {
  double hi = 0;
  double lo = 0;
};

// a + b exactly; |a| >= |b|, or a is 0.
inline Pair OrderedSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// What follows is called in many places: where code is to be small, it is not written there each time. Numbers are
// passed one by one, since WebAssembly passes a Pair by memory.
#ifdef TANDEM_SMALL
#define TANDEM_PAIR_OPERATION [[gnu::noinline]]
#else
#define TANDEM_PAIR_OPERATION inline
#endif

// a + b exactly.
TANDEM_PAIR_OPERATION Pair Sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// a * b exactly; both below 2^996, the product's lower half not subnormal.
TANDEM_PAIR_OPERATION Pair Product(double a, double b) {
  constexpr double kSplitter = 134217729;  // 2^27 + 1
  const double a_scaled = kSplitter * a;
  const double a_hi = a_scaled - (a_scaled - a);
  const double a_lo = a - a_hi;
  const double b_scaled = kSplitter * b;
  const double b_hi = b_scaled - (b_scaled - b);
  const double b_lo = b - b_hi;
  const double product = a * b;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

TANDEM_PAIR_OPERATION Pair SumOfPairs(double a_hi, double a_lo, double b_hi, double b_lo) {
  const Pair hi = Sum(a_hi, b_hi);
  const Pair lo = Sum(a_lo, b_lo);
  const Pair sum = OrderedSum(hi.hi, hi.lo + lo.hi);
  return OrderedSum(sum.hi, sum.lo + lo.lo);
}
TANDEM_PAIR_OPERATION Pair SumWith(double a_hi, double a_lo, double b) {
  const Pair hi = Sum(a_hi, b);
  return OrderedSum(hi.hi, hi.lo + a_lo);
}
TANDEM_PAIR_OPERATION Pair ProductOfPairs(double a_hi, double a_lo, double b_hi, double b_lo) {
  const Pair hi = Product(a_hi, b_hi);
  return OrderedSum(hi.hi, hi.lo + (a_hi * b_lo + a_lo * b_hi));
}
TANDEM_PAIR_OPERATION Pair ProductWith(double a_hi, double a_lo, double b) {
  const Pair hi = Product(a_hi, b);
  return OrderedSum(hi.hi, hi.lo + a_lo * b);
}

inline Pair operator-(Pair a) { return {-a.hi, -a.lo}; }
inline Pair operator+(Pair a, Pair b) { return SumOfPairs(a.hi, a.lo, b.hi, b.lo); }
inline Pair operator+(Pair a, double b) { return SumWith(a.hi, a.lo, b); }
inline Pair operator-(Pair a, Pair b) { return a + -b; }
inline Pair operator*(Pair a, Pair b) { return ProductOfPairs(a.hi, a.lo, b.hi, b.lo); }
inline Pair operator*(Pair a, double b) { return ProductWith(a.hi, a.lo, b); }

TANDEM_PAIR_OPERATION Pair QuotientOfPairs(double a_hi, double a_lo, double b_hi, double b_lo) {
  const Pair a = {a_hi, a_lo};
  const Pair b = {b_hi, b_lo};
  const double first = a.hi / b.hi;
  const Pair rest = a - b * first;
  const double second = rest.hi / b.hi;
  const double third = (rest - b * second).hi / b.hi;
  return OrderedSum(first, second) + third;
}
#undef TANDEM_PAIR_OPERATION

inline Pair operator/(Pair a, Pair b) { return QuotientOfPairs(a.hi, a.lo, b.hi, b.lo); }
inline Pair operator/(Pair a, double b) { return a / Pair{b, 0}; }

Pair SquareRoot(Pair x) {
  if (x.hi <= 0) return {};
  const double root = std::sqrt(x.hi);
  return OrderedSum(root, (x - Product(root, root)).hi / (2 * root));
}

// power is a power of two; the result is a normal number or 0 in both parts.
inline Pair Scale(Pair x, double power) { return {x.hi * power, x.lo * power}; }

// 2^exponent of a normal number.
double PowerOfTwo(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

// The exponent of a normal number in [2^exponent, 2^(exponent + 1)).
int ExponentOf(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7FF) - 1023; }

// x * 2^exponent, rounded once; |x| is in [2^-60, 2^60].
double Round(Pair x, int exponent) {
  const int result_exponent = ExponentOf(x.hi) + exponent;
  if (result_exponent > 1024) return x.hi < 0 ? -kInfinity : kInfinity;
  if (result_exponent < -1080) return x.hi < 0 ? -0.0 : 0.0;
  if (result_exponent < -1022) {
    // Adding the number whose last place is that of subnormal results rounds there.
    const double aligned = std::copysign(PowerOfTwo(-1074 - exponent + 52), x.hi);
    const Pair sum = Sum(aligned, x.hi);
    const double rounded = sum.hi + (sum.lo + x.lo);
    const double result = rounded - aligned;  // a multiple of 2^(-1074 - exponent)
    // In two steps, neither of which rounds.
    const int half = exponent / 2;
    return std::copysign(result * PowerOfTwo(half) * PowerOfTwo(exponent - half), x.hi);
  }
  const double sum = x.hi + x.lo;
  const int half = exponent / 2;
  return sum * PowerOfTwo(half) * PowerOfTwo(exponent - half);
}

// ---- Series.

constexpr size_t kNumOddInverses = 80;

// The factors of the terms. They are computed when first needed: as constants they would be a tenth of this library's
// data on the web.
struct Factors {
  std::array<Pair, 28> inverse_factorials;         // 1, 1/1!, 1/2!, ...
  std::array<Pair, kNumOddInverses> odd_inverses;  // 1, 1/3, 1/5, ...

  Factors() {
    const Pair one = {1, 0};
    inverse_factorials[0] = one;
    for (size_t n = 1; n < inverse_factorials.size(); ++n) {
      inverse_factorials[n] = inverse_factorials[n - 1] / static_cast<double>(n);
    }
    for (size_t n = 0; n < odd_inverses.size(); ++n) odd_inverses[n] = one / static_cast<double>(2 * n + 1);
  }
};

const Factors& KnownFactors() {
  static const Factors factors;
  return factors;
}

// factors[0] + factors[stride] x + factors[2 stride] x^2 + ..., as many terms as `size`.
Pair Series(const Pair* factors, size_t stride, size_t size, Pair x) {
  Pair series = factors[(size - 1) * stride];
  for (size_t n = size - 1; n-- > 0;) series = series * x + factors[n * stride];
  return series;
}

// 1 + x / 3 + x^2 / 5 + ..., as many terms as `size`, which suffice for |x| up to 2^(-105 / size).
Pair OddInverseSeries(Pair x, size_t size) { return Series(KnownFactors().odd_inverses.data(), 1, size, x); }

// 1 / first! + x / (first + stride)! + x^2 / (first + 2 stride)! + ..., as many terms as `size`.
Pair InverseFactorialSeries(size_t first, size_t stride, size_t size, Pair x) {
  return Series(&KnownFactors().inverse_factorials[first], stride, size, x);
}

// ---- Exponentials and logarithms.

constexpr Pair kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

// A power of e: 2^exponent * (1 + rest).
struct Power {
  Pair rest;
  int exponent = 0;

  Pair Mantissa() const { return rest + 1.0; }
};

// |x| below 1100.
Power PowerOfE(Pair x) {
  // The first three parts of ln 2 have 32 bits, so that their products are exact.
  constexpr double kParts[] = {0x1.62e42fee00000p-1, 0x1.a39ef35600000p-33, 0x1.93c7673000000p-65,
                               0x1.f97b57a079a19p-103};
  constexpr double kInverse = 0x1.71547652b82fep+0;
  const double count = std::nearbyint(x.hi * kInverse);
  Pair rest = x;
  for (const double part : kParts) rest = rest + -(count * part);
  // e^rest - 1 from that of a 64th.
  constexpr int kHalvings = 6;
  rest = Scale(rest, PowerOfTwo(-kHalvings));
  Pair growth = rest * InverseFactorialSeries(1, 1, 11, rest);
  for (int i = 0; i < kHalvings; ++i) growth = growth * (growth + 2.0);
  return {growth, static_cast<int>(count)};
}

// e^x - 1 as a pair; |x| at most 80.
Pair Growth(Pair x) {
  const Power power = PowerOfE(x);
  if (power.exponent == 0) return power.rest;
  return Scale(power.Mantissa(), PowerOfTwo(power.exponent)) + -1.0;
}

// Of a positive normal number.
Pair Logarithm(Pair x) {
  int exponent = ExponentOf(x.hi);
  Pair mantissa = Scale(x, PowerOfTwo(-exponent / 2));
  mantissa = Scale(mantissa, PowerOfTwo(-exponent - -exponent / 2));
  if (mantissa.hi > 1.4142135623730951) {
    mantissa = Scale(mantissa, 0.5);
    ++exponent;
  }
  const Pair difference = mantissa + -1.0;
  const Pair ratio = difference / (mantissa + 1.0);
  return Scale(ratio * OddInverseSeries(ratio * ratio, 21), 2.0) + kLn2 * exponent;
}

// log(1 + x) of 0 <= x <= 0.3, where 1 + x would lose bits of x.
Pair LogarithmOf1And(Pair x) {
  const Pair ratio = x / (x + 2.0);
  return Scale(ratio * OddInverseSeries(ratio * ratio, 21), 2.0);
}

// Of a positive number that may be subnormal.
Pair Logarithm(double x) {
  if (x >= std::numeric_limits<double>::min()) return Logarithm(Pair{x, 0});
  return Logarithm(Pair{x * PowerOfTwo(64), 0}) + kLn2 * -64;
}

// ---- Angles.

constexpr Pair kPi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr Pair kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// An angle: quadrant * pi / 2 + rest, where |rest| is at most about pi / 4.
struct Angle {
  unsigned quadrant = 0;
  Pair rest;
};

// Of an |x| of 2^20 or more.
Angle ReduceLarge(double x) {
  // 2 / pi, 32 bits a number.
  constexpr std::array<uint32_t, 40> kTwoOverPi = {
      0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
      0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
      0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
      0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
      0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB, 0xF0CFBC20, 0x9AF4361D};
  constexpr size_t kWords = 8;
  const uint64_t bits = std::bit_cast<uint64_t>(std::fabs(x));
  const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // |x| is mantissa * 2^exponent
  // Words before the first one give multiples of four quadrants.
  const size_t first = exponent >= 2 ? static_cast<size_t>(exponent - 2) / 32 : 0;
  const int shift = exponent - 32 * static_cast<int>(first);  // -32 to 33
  // The product of the mantissa and the words, lowest word first; its unit is 2^(shift - 32 * kWords).
  std::array<uint32_t, kWords + 2> product{};
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t word = kTwoOverPi[first + kWords - 1 - i];
    uint64_t carry = 0;
    for (size_t j = 0; j < 2; ++j) {
      const uint64_t part = j == 0 ? mantissa & 0xFFFFFFFF : mantissa >> 32;
      const uint64_t sum = word * part + product[i + j] + carry;
      product[i + j] = static_cast<uint32_t>(sum);
      carry = sum >> 32;
    }
    product[i + 2] = static_cast<uint32_t>(carry);
  }
  // Where the point is, in bits from the lowest.
  const int point = 32 * static_cast<int>(kWords) - shift;
  const auto bit = [&](int place) -> unsigned {
    if (place < 0 || place >= static_cast<int>(32 * product.size())) return 0;
    return product[static_cast<size_t>(place) / 32] >> (static_cast<unsigned>(place) % 32) & 1;
  };
  unsigned quadrant = bit(point) | bit(point + 1) << 1;
  const bool is_above_half = bit(point - 1) != 0;
  // The fraction, or what it lacks to 1, from its highest bit that is set: 53 bits, then 53 more.
  int top = point - 1;
  while (top >= 0 && bit(top) == static_cast<unsigned>(is_above_half)) --top;
  const auto take = [&](int from) {
    double value = 0;
    for (int place = from; place > from - 53; --place) {
      value = 2 * value + static_cast<double>(place < 0 ? 0 : bit(place) ^ static_cast<unsigned>(is_above_half));
    }
    return value;
  };
  const Pair fraction =
      OrderedSum(take(top) * PowerOfTwo(top - 52 - point), take(top - 53) * PowerOfTwo(top - 105 - point));
  Pair rest = fraction * kHalfPi;
  if (is_above_half) {
    rest = -rest;
    ++quadrant;
  }
  if (x < 0) {
    rest = -rest;
    quadrant = 0 - quadrant;
  }
  return {quadrant & 3, rest};
}

// x is finite.
Angle Reduce(double x) {
  if (std::fabs(x) >= 0x1p20) return ReduceLarge(x);
  // The first three parts have 33 bits, so that their products are exact.
  constexpr double kParts[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e000000p-69,
                               0x1.b839a252049c1p-104};
  constexpr double kInverse = 0x1.45f306dc9c883p-1;
  const double count = std::nearbyint(x * kInverse);
  Pair rest = {x, 0};
  for (const double part : kParts) rest = rest + -(count * part);
  return {static_cast<unsigned>(static_cast<int>(count)) & 3, rest};
}

// Of an angle of at most about pi / 4.
Pair SineOf(Pair x) { return x * InverseFactorialSeries(1, 2, 14, -(x * x)); }
Pair CosineOf(Pair x) { return InverseFactorialSeries(0, 2, 14, -(x * x)); }

Pair Sine(const Angle& angle) {
  const Pair value = (angle.quadrant & 1) == 0 ? SineOf(angle.rest) : CosineOf(angle.rest);
  return (angle.quadrant & 2) == 0 ? value : -value;
}
Pair Cosine(const Angle& angle) { return Sine({(angle.quadrant + 1) & 3, angle.rest}); }

// The angle of the point (x, y), neither coordinate negative, not both 0.
Pair AngleOf(Pair y, Pair x) {
  const bool is_steep = y.hi > x.hi;
  const Pair opposite = is_steep ? x : y;
  const Pair adjacent = is_steep ? y : x;
  // Arctangents of 0, 1/16, ..., 1.
  constexpr Pair kArctangents[] = {
      {0, 0},
      {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60},
      {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
      {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
      {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
      {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
      {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
      {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
      {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
      {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
      {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
      {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
      {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
      {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
      {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
      {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
      {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
  };
  const double place = std::nearbyint(16 * (opposite.hi / adjacent.hi));
  const double known = place / 16;
  const Pair tangent = (opposite - adjacent * known) / (adjacent + opposite * known);
  const Pair angle = tangent * OddInverseSeries(-(tangent * tangent), 11) + kArctangents[static_cast<size_t>(place)];
  return is_steep ? kHalfPi - angle : angle;
}

double WithSignOf(double value, double sign) { return std::copysign(value, sign); }

// ---- The error function.

constexpr Pair kTwoOverRootPi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

// Of 0 <= x < 3, by the series of positive terms 2 / sqrt(pi) e^-x^2 sum of 2^n x^(2n + 1) / (1 * 3 * ... * (2n + 1)).
Pair ErfOf(double x) {
  const Pair square = Product(x, x);
  Pair sum = {x, 0};
  Pair term = sum;
  for (size_t n = 1; n < kNumOddInverses && term.hi > sum.hi * 0x1p-110; ++n) {
    term = term * Scale(square, 2) * KnownFactors().odd_inverses[n];
    sum = sum + term;
  }
  const Power power = PowerOfE(-square);
  return Scale(sum * power.Mantissa(), PowerOfTwo(power.exponent)) * kTwoOverRootPi;
}

// Of 3 <= x < 28, by a continued fraction, as a mantissa and the exponent of a power of two.
Pair ErfcOf(double x, int* exponent) {
  Pair fraction = {x, 0};
  for (int n = 80; n >= 1; --n) fraction = Pair{0.5 * n, 0} / fraction + x;
  const Power power = PowerOfE(-Product(x, x));
  *exponent = power.exponent;
  return power.Mantissa() * Scale(kTwoOverRootPi, 0.5) / fraction;
}

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  const Power power = PowerOfE({x, 0});
  return Round(power.Mantissa(), power.exponent);
}

double Expm1(double x) {
  if (std::isnan(x) || std::fabs(x) < 0x1p-54) return x;
  if (x > 710) return kInfinity;
  if (x < -40) return -1;
  if (x > 80) return Exp(x);  // 1 is less than what the pair leaves out there
  const Pair growth = Growth({x, 0});
  return growth.hi + growth.lo;
}

double Log(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x <= 0) return x == 0 ? -kInfinity : kNan;
  const Pair result = Logarithm(x);
  return result.hi + result.lo;
}

double Log1p(double x) {
  if (std::isnan(x) || x == kInfinity || std::fabs(x) < 0x1p-54) return x;
  if (x <= -1) return x == -1 ? -kInfinity : kNan;
  const Pair result = Logarithm(Sum(1.0, x));
  return result.hi + result.lo;
}

double Sin(double x) {
  if (!std::isfinite(x)) return kNan;
  if (std::fabs(x) < 0x1p-27) return x;
  const Pair result = Sine(Reduce(x));
  return result.hi + result.lo;
}

double Cos(double x) {
  if (!std::isfinite(x)) return kNan;
  const Pair result = Cosine(Reduce(x));
  return result.hi + result.lo;
}

double Tan(double x) {
  if (!std::isfinite(x)) return kNan;
  if (std::fabs(x) < 0x1p-27) return x;
  const Angle angle = Reduce(x);
  const Pair result = Sine(angle) / Cosine(angle);
  return result.hi + result.lo;
}

double Asin(double x) {
  const double size = std::fabs(x);
  if (!(size <= 1)) return kNan;
  if (size < 0x1p-27) return x;
  const Pair angle = AngleOf({size, 0}, SquareRoot(Sum(1.0, -size) * Sum(1.0, size)));
  return WithSignOf(angle.hi + angle.lo, x);
}

double Acos(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (x == 1) return 0;
  const Pair angle = Scale(AngleOf(SquareRoot(Sum(1.0, -x)), SquareRoot(Sum(1.0, x))), 2);
  return angle.hi + angle.lo;
}

double Atan(double x) { return Atan2(x, 1); }

double Atan2(double y, double x) {
  if (std::isnan(x) || std::isnan(y)) return kNan;
  double opposite = std::fabs(y);
  double adjacent = std::fabs(x);
  Pair angle;
  if (opposite == 0 || adjacent == kInfinity || opposite == kInfinity) {
    if (opposite == kInfinity) {
      angle = adjacent == kInfinity ? Scale(kHalfPi, 0.5) : kHalfPi;
    }
  } else if (adjacent == 0) {
    angle = kHalfPi;
  } else {
    // Between 2^-500 and 2^500, the larger one of them near 1.
    const int exponent = ExponentOf(opposite > adjacent ? opposite : adjacent);
    const int half = -exponent / 2;
    opposite = opposite * PowerOfTwo(half) * PowerOfTwo(-exponent - half);
    adjacent = adjacent * PowerOfTwo(half) * PowerOfTwo(-exponent - half);
    const bool is_right = !std::signbit(x);
    if (is_right && opposite < 0x1p-200) {
      // The angle is the quotient, which may be subnormal.
      return y / x;
    }
    angle = adjacent < 0x1p-200 ? kHalfPi : opposite < 0x1p-200 ? Pair() : AngleOf({opposite, 0}, {adjacent, 0});
  }
  if (std::signbit(x)) angle = kPi - angle;
  return WithSignOf(angle.hi + angle.lo, y);
}

double Sinh(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x) || size < 0x1p-27) return x;
  if (size > 711) return WithSignOf(kInfinity, x);
  if (size > 36) {
    const Power power = PowerOfE({size, 0});
    return WithSignOf(Round(power.Mantissa(), power.exponent - 1), x);
  }
  const Pair growth = Growth({size, 0});
  const Pair result = Scale(growth + growth / (growth + 1.0), 0.5);
  return WithSignOf(result.hi + result.lo, x);
}

double Cosh(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (size > 711) return kInfinity;
  const Power power = PowerOfE({size, 0});
  if (size > 36) return Round(power.Mantissa(), power.exponent - 1);
  const Pair value = Scale(power.Mantissa(), PowerOfTwo(power.exponent));
  const Pair result = Scale(value + Pair{1.0, 0.0} / value, 0.5);
  return result.hi + result.lo;
}

double Tanh(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x) || size < 0x1p-27) return x;
  if (size > 20) return WithSignOf(1, x);
  const Pair growth = Growth({2 * size, 0});
  const Pair result = growth / (growth + 2.0);
  return WithSignOf(result.hi + result.lo, x);
}

double Asinh(double x) {
  const double size = std::fabs(x);
  if (!std::isfinite(x) || size < 0x1p-27) return x;
  Pair result;
  if (size > 0x1p60) {
    result = Logarithm(size) + kLn2;
  } else {
    // log1p(x + x^2 / (1 + sqrt(1 + x^2)))
    const Pair square = Product(size, size);
    const Pair rest = square / (SquareRoot(square + 1.0) + 1.0) + size;
    result = Logarithm(rest + 1.0);
    if (size < 0.25) {
      result = LogarithmOf1And(rest);
    }
  }
  return WithSignOf(result.hi + result.lo, x);
}

double Acosh(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x < 1) return kNan;
  if (x > 0x1p60) {
    const Pair result = Logarithm(x) + kLn2;
    return result.hi + result.lo;
  }
  // x + sqrt((x - 1) (x + 1)), of which near 1 what exceeds 1 matters.
  const Pair above = Sum(x, -1.0);
  const Pair rest = above + SquareRoot(above * Sum(x, 1.0));
  const Pair result = rest.hi < 0.25 ? LogarithmOf1And(rest) : Logarithm(rest + 1.0);
  return result.hi + result.lo;
}

double Atanh(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x) || size < 0x1p-27) return x;
  if (size >= 1) return size == 1 ? WithSignOf(kInfinity, x) : kNan;
  Pair result;
  if (size < 0.125) {
    result = OddInverseSeries(Product(size, size), 18) * size;
  } else {
    result = Scale(Logarithm(Sum(1.0, size) / Sum(1.0, -size)), 0.5);
  }
  return WithSignOf(result.hi + result.lo, x);
}

double Erf(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (size > 6) return WithSignOf(1, x);
  if (size < 0x1p-60) {
    // Of subnormal numbers the product is rounded once, being exact before.
    const Pair result = Product(x * PowerOfTwo(600), 1) * kTwoOverRootPi;
    return size == 0 ? x : Round(Scale(result, PowerOfTwo(-ExponentOf(result.hi))), ExponentOf(result.hi) - 600);
  }
  Pair result;
  if (size < 3) {
    result = ErfOf(size);
  } else {
    int exponent;
    const Pair rest = ErfcOf(size, &exponent);
    result = -Scale(rest, PowerOfTwo(exponent)) + 1.0;
  }
  return WithSignOf(result.hi + result.lo, x);
}

double Erfc(double x) {
  if (std::isnan(x)) return x;
  if (x < -6) return 2;
  if (x > 28) return 0;
  const double size = std::fabs(x);
  if (size < 3) {
    const Pair erf = ErfOf(size);
    const Pair result = (x < 0 ? erf : -erf) + 1.0;
    return result.hi + result.lo;
  }
  int exponent;
  const Pair rest = ErfcOf(size, &exponent);
  if (x > 0) return Round(rest, exponent);
  const Pair result = -Scale(rest, PowerOfTwo(exponent)) + 2.0;
  return result.hi + result.lo;
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNan;
  const double size = std::fabs(x);
  // Every number from 2^53 on is even.
  const bool is_whole = std::fabs(y) >= 0x1p53 || std::trunc(y) == y;
  const bool is_odd = is_whole && std::fabs(y) < 0x1p53 && std::trunc(y / 2) * 2 != y;
  const bool is_negative = std::signbit(x) && is_odd;
  const double sign = is_negative ? -1 : 1;
  if (std::isinf(y)) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0;
  }
  if (size == 0 || size == kInfinity) return (size == 0) == (y < 0) ? sign * kInfinity : sign * 0.0;
  if (x < 0 && !is_whole) return kNan;
  const Pair logarithm = Logarithm(size);
  if (logarithm.hi == 0) return sign;
  const double estimate = logarithm.hi * y;
  if (estimate > 710) return sign * kInfinity;
  if (estimate < -746) return sign * 0.0;
  if (std::fabs(estimate) < 0x1p-60) return sign;
  // Whole powers of a number with few bits may be exact, or between two numbers: the pair is near enough to tell.
  const Power power = PowerOfE(logarithm * y);
  return sign * Round(power.Mantissa(), power.exponent);
}

}  // namespace tandem::cpu::portable
