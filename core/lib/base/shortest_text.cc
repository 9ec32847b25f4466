// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Decimal digits by the free-format algorithm of Steele and White as Dragon4 has it: exact, on large integers. Slow
// beside table-driven ones, which does not matter for the numbers that people read.

#include "base/shortest_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tandem::internal {
namespace {

// An integer of up to 1,184 bits: what numerators and denominators of doubles need, times ten.
class LargeInteger {
 public:
  explicit LargeInteger(uint64_t value) {
    words_[0] = static_cast<uint32_t>(value);
    words_[1] = static_cast<uint32_t>(value >> 32);
  }

  void Multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& word : words_) {
      carry += static_cast<uint64_t>(word) * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  // Multiplies by `base` to the `power`.
  void MultiplyPower(uint32_t base, int power) {
    for (int i = 0; i < power; ++i) Multiply(base);
  }
  void ShiftLeft(int bits) {
    MultiplyPower(uint32_t{1} << 31, bits / 31);
    Multiply(uint32_t{1} << bits % 31);
  }
  void Add(const LargeInteger& other) {
    uint64_t carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += static_cast<uint64_t>(words_[i]) + other.words_[i];
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void Subtract(const LargeInteger& other) {
    int64_t carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += static_cast<int64_t>(words_[i]) - other.words_[i];
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  // Divides by `divisor`, which goes into this at most ten times; what remains stays.
  int Divide(const LargeInteger& divisor) {
    int times = 0;
    for (; *this >= divisor; ++times) Subtract(divisor);
    return times;
  }

  friend std::strong_ordering operator<=>(const LargeInteger& a, const LargeInteger& b) {
    for (int i = kWords - 1; i > 0; --i) {
      if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
    }
    return a.words_[0] <=> b.words_[0];
  }

 private:
  static constexpr int kWords = 37;
  uint32_t words_[kWords] = {};
};

struct Decimal {
  char digits[20];
  int size = 0;
  int exponent = 0;  // of the first digit
};

// The number mantissa * 2^exponent as the fewest digits that tell it from its neighbours. `narrow` if the one below it
// is nearer than the one above.
Decimal ShortestDigits(uint64_t mantissa, int exponent, bool narrow) {
  // The number is number/unit, and half the distances to its neighbours are below/unit and above/unit.
  LargeInteger number(mantissa);
  LargeInteger unit(1);
  LargeInteger below(1);
  number.ShiftLeft(std::max(exponent, 0) + 1 + narrow);
  unit.ShiftLeft(std::max(-exponent, 0) + 1 + narrow);
  below.ShiftLeft(std::max(exponent, 0));
  LargeInteger above = below;
  above.ShiftLeft(narrow);

  Decimal result;
  // At most one too small.
  const int log2 = static_cast<int>(std::bit_width(mantissa)) - 1 + exponent;
  result.exponent = static_cast<int>(std::floor(log2 * 0.30102999566398120));
  unit.MultiplyPower(10, std::max(result.exponent, 0));
  for (LargeInteger* part : {&number, &below, &above}) part->MultiplyPower(10, std::max(-result.exponent, 0));
  // A tie between neighbours is read as the even one.
  const bool even = mantissa % 2 == 0;
  const auto reaches_up = [&](const LargeInteger& limit) {
    LargeInteger high = number;
    high.Add(above);
    return even ? high >= limit : high > limit;
  };
  LargeInteger ten_units = unit;
  ten_units.Multiply(10);
  if (reaches_up(ten_units)) {
    unit = ten_units;
    ++result.exponent;
  }
  for (;;) {
    int digit = number.Divide(unit);
    const bool low = even ? number <= below : number < below;
    const bool high = reaches_up(unit);
    if (low || high) {
      LargeInteger twice = number;
      twice.Multiply(2);
      const auto half = twice <=> unit;
      if (high && (!low || half > 0 || (half == 0 && digit % 2 == 1))) ++digit;
      result.digits[result.size++] = static_cast<char>('0' + digit);
      return result;
    }
    result.digits[result.size++] = static_cast<char>('0' + digit);
    for (LargeInteger* part : {&number, &below, &above}) part->Multiply(10);
  }
}

// The integer mantissa * 2^exponent, which has `size` digits, all of them.
char* WriteInteger(uint64_t mantissa, int exponent, int size, char* to) {
  LargeInteger rest(mantissa);
  LargeInteger unit(1);
  rest.ShiftLeft(std::max(exponent, 0));
  unit.ShiftLeft(std::max(-exponent, 0));
  unit.MultiplyPower(10, size - 1);
  for (int i = 0; i < size; ++i) {
    *to++ = static_cast<char>('0' + rest.Divide(unit));
    rest.Multiply(10);
  }
  return to;
}

char* WriteScientific(const Decimal& decimal, char* to) {
  *to++ = decimal.digits[0];
  if (decimal.size > 1) *to++ = '.';
  to = std::copy(decimal.digits + 1, decimal.digits + decimal.size, to);
  *to++ = 'e';
  *to++ = decimal.exponent < 0 ? '-' : '+';
  const int power = std::abs(decimal.exponent);
  if (power >= 100) *to++ = static_cast<char>('0' + power / 100);
  *to++ = static_cast<char>('0' + power / 10 % 10);
  *to++ = static_cast<char>('0' + power % 10);
  return to;
}

char* WriteFraction(const Decimal& decimal, char* to) {
  const int before_point = std::max(decimal.exponent + 1, 0);
  if (before_point == 0) *to++ = '0';
  to = std::copy(decimal.digits, decimal.digits + before_point, to);
  *to++ = '.';
  to = std::fill_n(to, std::max(-1 - decimal.exponent, 0), '0');
  return std::copy(decimal.digits + before_point, decimal.digits + decimal.size, to);
}

template <typename Bits, typename Float>
char* Write(Float value, char* to) {
  constexpr int kMantissaBits = std::numeric_limits<Float>::digits - 1;
  constexpr int kExponentBits = static_cast<int>(sizeof(Bits)) * 8 - 1 - kMantissaBits;
  constexpr int kMinExponent = std::numeric_limits<Float>::min_exponent - std::numeric_limits<Float>::digits;
  if (std::signbit(value)) *to++ = '-';
  if (value == 0) {
    *to++ = '0';
    return to;
  }
  const auto bits = std::bit_cast<Bits>(value);
  uint64_t mantissa = bits & ((Bits{1} << kMantissaBits) - 1);
  const int biased = static_cast<int>(bits >> kMantissaBits & ((Bits{1} << kExponentBits) - 1));
  const int exponent = kMinExponent + std::max(biased - 1, 0);
  const bool narrow = mantissa == 0 && biased > 1;
  if (biased > 0) mantissa |= uint64_t{1} << kMantissaBits;

  const Decimal decimal = ShortestDigits(mantissa, exponent, narrow);
  const int size = decimal.size;
  const int scientific = size + (size > 1) + (std::abs(decimal.exponent) < 100 ? 4 : 5);
  const int fixed = decimal.exponent < 0 ? size + 1 - decimal.exponent : std::max(size + 1, decimal.exponent + 1);
  const bool integer = decimal.exponent >= size - 1;
  if ((integer ? decimal.exponent + 1 : fixed) > scientific) return WriteScientific(decimal, to);
  return integer ? WriteInteger(mantissa, exponent, decimal.exponent + 1, to) : WriteFraction(decimal, to);
}

}  // namespace

char* ShortestText(double value, char* to) { return Write<uint64_t>(value, to); }
char* ShortestText(float value, char* to) { return Write<uint32_t>(value, to); }

}  // namespace tandem::internal
