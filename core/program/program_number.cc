// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers from text. Floating-point numbers of every width are rounded once from the decimal digits: with doubles where
// these are exact enough to tell, else on large integers. The C library's strtod would give doubles alone, depends on
// the locale and is 10 KB in a WebAssembly module.

#include "program_number.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <charconv>
#include <compare>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

namespace tandem {

namespace {

// A floating-point format of IEEE 754.
struct FloatFormat {
  int digits;  // of the significand, the hidden one counted
  int exponent_bits;
  constexpr int max_exponent() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int min_exponent() const { return 1 - max_exponent(); }  // of a normal number
  constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << (digits - 1); }
  constexpr uint64_t quiet_nan() const { return infinity() | uint64_t{1} << (digits - 2); }
  constexpr uint64_t sign() const { return uint64_t{1} << (digits - 1 + exponent_bits); }
};

constexpr FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {11, 5};
    case DType::kBF16:
      return {8, 8};
    case DType::kF32:
      return {24, 8};
    default:
      return {53, 11};
  }
}
static_assert(FormatOf(DType::kF32).quiet_nan() == 0x7FC00000 && FormatOf(DType::kF16).sign() == 0x8000);

// What a positive number begins with: it is at least significand * 2^(exponent - 63) and less than
// (significand + 1) * 2^(exponent - 63), and the former exactly if it has no more.
struct Leading {
  uint64_t significand;  // with the highest bit set
  int exponent;
  bool has_more;
};

// Where a number is in a format.
struct Rounded {
  uint64_t bits;         // infinity or more if it is too large
  bool is_equally_near;  // to two numbers, if it has no more
};

Rounded Round(const Leading& number, const FloatFormat& format) {
  if (number.exponent > format.max_exponent()) return {format.infinity(), false};
  const bool is_subnormal = number.exponent < format.min_exponent();
  const int dropped = 64 - format.digits + (is_subnormal ? format.min_exponent() - number.exponent : 0);
  if (dropped > 64) return {0, false};
  uint64_t bits = dropped == 64 ? 0 : number.significand >> dropped;
  const uint64_t rest = dropped == 64 ? number.significand : number.significand & ((uint64_t{1} << dropped) - 1);
  const uint64_t half = uint64_t{1} << (dropped - 1);
  bits += rest > half || (rest == half && (number.has_more || bits % 2 == 1));
  // The hidden digit counts as one of the exponent; so does the carry out of the significand.
  if (!is_subnormal) bits += static_cast<uint64_t>(number.exponent - format.min_exponent()) << (format.digits - 1);
  return {bits, rest == half};
}

// Decimal digits, of which the first is not 0, times ten to the power of the exponent. The exponent of what is too
// large or too small for every format may be another such one.
struct Decimal {
  std::string_view digits;  // with a point among them or none; empty: zero
  int64_t num_digits = 0;
  int64_t exponent = 0;
};

Decimal SplitDecimal(std::string_view text) {
  Decimal decimal;
  const size_t mark = text.find_first_of("eE");
  decimal.digits = text.substr(0, mark);
  if (mark != std::string_view::npos) {
    std::string_view power = text.substr(mark + 1);
    const bool is_negative = power.starts_with('-');
    if (is_negative || power.starts_with('+')) power.remove_prefix(1);
    // More than there can be digits to make up for, and ten times as much is no overflow.
    constexpr int64_t kEnough = int64_t{1} << 56;
    int64_t value = 0;
    for (const char digit : power) value = std::min(value * 10 + (digit - '0'), kEnough);
    decimal.exponent = is_negative ? -value : value;
  }
  const size_t point = decimal.digits.find('.');
  const bool has_point = point != std::string_view::npos;
  if (has_point) decimal.exponent -= static_cast<int64_t>(decimal.digits.size() - point - 1);
  const size_t first = decimal.digits.find_first_not_of("0.");
  decimal.digits.remove_prefix(std::min(first, decimal.digits.size()));
  const bool keeps_point = has_point && first != std::string_view::npos && first < point;
  decimal.num_digits = static_cast<int64_t>(decimal.digits.size()) - keeps_point;
  return decimal;
}

// No two neighbours of a format, nor the middle between them, have more digits than this; so digits behind only matter
// in that there are some.
constexpr int64_t kMaxDigits = 800;
// Ten to these powers is beyond every format.
constexpr int64_t kHuge = 310;
constexpr int64_t kTiny = -345;

// A large integer, with room for kMaxDigits decimal digits, and for five to the power of kMaxDigits - kTiny.
class LargeInteger {
 public:
  explicit LargeInteger(uint32_t value) : size_(1) { words_[0] = value; }

  void MultiplyAdd(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < size_; ++i) {
      carry += static_cast<uint64_t>(words_[i]) * factor;
      words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_[size_++] = static_cast<uint32_t>(carry);
  }
  void MultiplyPowerOfFive(int64_t power) {
    constexpr uint32_t kFiveToThe13th = 1220703125;
    for (; power >= 13; power -= 13) MultiplyAdd(kFiveToThe13th, 0);
    for (; power > 0; --power) MultiplyAdd(5, 0);
  }
  void ShiftLeft(int bits) {
    const int words = bits / 32;
    if (words > 0) {
      std::copy_backward(words_, words_ + size_, words_ + size_ + words);
      std::fill_n(words_, words, 0u);
      size_ += words;
    }
    if (bits % 32 > 0) MultiplyAdd(uint32_t{1} << (bits % 32), 0);
  }
  // `other` is at most as large.
  void Subtract(const LargeInteger& other) {
    uint64_t borrow = 0;
    for (int i = 0; i < size_; ++i) {
      const uint64_t difference = uint64_t{words_[i]} - (i < other.size_ ? other.words_[i] : 0) - borrow;
      words_[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
    while (size_ > 1 && words_[size_ - 1] == 0) --size_;
  }

  bool IsZero() const { return size_ == 1 && words_[0] == 0; }
  int BitLength() const { return 32 * (size_ - 1) + std::bit_width(words_[size_ - 1]); }
  friend std::strong_ordering operator<=>(const LargeInteger& a, const LargeInteger& b) {
    if (a.size_ != b.size_) return a.size_ <=> b.size_;
    for (int i = a.size_ - 1; i > 0; --i) {
      if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
    }
    return a.words_[0] <=> b.words_[0];
  }

 private:
  static constexpr int kWords = 84;
  // log2(10) is below 3.322 and log2(5) below 2.322; one bit is for shifts to the length of another and beyond.
  static_assert(32 * kWords > kMaxDigits * 3.322 + 2 && 32 * kWords > (kMaxDigits - kTiny) * 2.322 + 2);
  int size_;  // words up to the highest that is not 0; at least 1
  uint32_t words_[kWords];
};

// The digits as an integer, the first kMaxDigits of them; `*more` tells whether one of those behind is not 0.
LargeInteger ReadDigits(std::string_view digits, bool* more) {
  LargeInteger integer(0);
  uint32_t part = 0;
  uint32_t scale = 1;
  int64_t count = 0;
  size_t i = 0;
  for (; i < digits.size() && count < kMaxDigits; ++i) {
    if (digits[i] == '.') continue;
    part = part * 10 + static_cast<uint32_t>(digits[i] - '0');
    scale *= 10;
    ++count;
    if (scale < 1'000'000'000) continue;
    integer.MultiplyAdd(scale, part);
    part = 0;
    scale = 1;
  }
  integer.MultiplyAdd(scale, part);
  *more = i < digits.size() && digits.find_first_not_of("0.", i) != std::string_view::npos;
  return integer;
}

// Of a decimal number that is not 0 and between the bounds, by long division.
Leading DivideExactly(const Decimal& decimal, const FloatFormat& format) {
  Leading result{0, 0, false};
  LargeInteger dividend = ReadDigits(decimal.digits, &result.has_more);
  LargeInteger divisor(1);
  // Digits that were left out are moved to the exponent. Powers of two need no arithmetic.
  const int64_t exponent = decimal.exponent + std::max<int64_t>(decimal.num_digits - kMaxDigits, 0);
  (exponent < 0 ? divisor : dividend).MultiplyPowerOfFive(exponent < 0 ? -exponent : exponent);
  int shift = dividend.BitLength() - divisor.BitLength();
  if (shift > 0) divisor.ShiftLeft(shift);
  if (shift < 0) dividend.ShiftLeft(-shift);
  if (dividend < divisor) {
    dividend.ShiftLeft(1);
    --shift;
  }
  result.exponent = shift + static_cast<int>(exponent);
  // One bit more than the format has tells below half from half or above.
  const int num_bits = format.digits + 1;
  for (int i = 0; i < num_bits; ++i) {
    const bool bit = dividend >= divisor;
    if (bit) dividend.Subtract(divisor);
    dividend.ShiftLeft(1);
    result.significand = result.significand << 1 | uint64_t{bit};
  }
  result.significand <<= 64 - num_bits;
  result.has_more |= !dividend.IsZero();
  return result;
}

Leading LeadingOf(double value) {
  constexpr FloatFormat kFormat = FormatOf(DType::kF64);
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto biased = static_cast<int>(bits >> (kFormat.digits - 1));
  return {uint64_t{1} << 63 | bits << (64 - kFormat.digits), biased - kFormat.max_exponent(), false};
}

// Of a number with few digits and a small exponent, as most are, where it can tell.
std::optional<uint64_t> RoundQuickly(const Decimal& decimal, const FloatFormat& format) {
  constexpr int64_t kMaxQuickDigits = 19;  // 10^19 < 2^64
  if (decimal.num_digits > kMaxQuickDigits) return std::nullopt;
  uint64_t integer = 0;
  for (const char digit : decimal.digits) {
    if (digit != '.') integer = integer * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (decimal.exponent == 0) {
    const int zeros = std::countl_zero(integer);
    return Round({integer << zeros, 63 - zeros, false}, format).bits;
  }
  // Powers of ten that doubles have exactly; one division or multiplication then gives the nearest double.
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr auto kMaxPower = static_cast<int64_t>(std::size(kPowers)) - 1;
  constexpr bool kRoundsOnce = FLT_EVAL_METHOD == 0;  // in every operation; the x87 does not
  if (!kRoundsOnce || integer >> 53 != 0 || decimal.exponent > kMaxPower || decimal.exponent < -kMaxPower) {
    return std::nullopt;
  }
  const auto exact = static_cast<double>(integer);
  const double nearest = decimal.exponent < 0 ? exact / kPowers[-decimal.exponent] : exact * kPowers[decimal.exponent];
  // What the double lies between, the number lies between, too; but if it lies in the middle, the number may be beside.
  const Rounded rounded = Round(LeadingOf(nearest), format);
  if (rounded.is_equally_near) return std::nullopt;
  return rounded.bits;
}

// The bits of a number without its sign; infinity or more if it is too large.
uint64_t RoundDecimal(std::string_view text, const FloatFormat& format) {
  const Decimal decimal = SplitDecimal(text);
  if (decimal.num_digits == 0) return 0;
  const int64_t power = decimal.num_digits + decimal.exponent;  // the number is below ten to it
  if (power > kHuge) return format.infinity();
  if (power < kTiny) return 0;
  if (const std::optional<uint64_t> bits = RoundQuickly(decimal, format)) return *bits;
  return Round(DivideExactly(decimal, format), format).bits;
}

bool IsHexadecimal(std::string_view text) { return text.starts_with("0x"); }

// False if it has more than 64 bits.
bool ReadUnsigned(std::string_view text, uint64_t* value) {
  const bool is_hexadecimal = IsHexadecimal(text);
  if (is_hexadecimal) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, *value, is_hexadecimal ? 16 : 10).ec == std::errc();
}

// An element of fewer bytes than a word, from the word's lower ones.
template <typename Bits>
void Store(uint64_t bits, std::byte* element) {
  const Bits value = static_cast<Bits>(bits);
  std::memcpy(element, &value, sizeof(value));
}

void StoreBits(uint64_t bits, size_t size, std::byte* element) {
  switch (size) {
    case 1:
      return Store<uint8_t>(bits, element);
    case 2:
      return Store<uint16_t>(bits, element);
    case 4:
      return Store<uint32_t>(bits, element);
    default:
      return Store<uint64_t>(bits, element);
  }
}

ProgramNumberFit ReadFloat(std::string_view text, DType dtype, uint64_t* bits) {
  const FloatFormat format = FormatOf(dtype);
  if (IsHexadecimal(text)) {
    const bool fits = ReadUnsigned(text, bits) && *bits <= (format.sign() | (format.sign() - 1));
    return fits ? ProgramNumberFit::kFits : ProgramNumberFit::kOutOfRange;
  }
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text == "nan") {
    *bits = format.quiet_nan();
  } else if (text == "inf") {
    *bits = format.infinity();
  } else {
    *bits = RoundDecimal(text, format);
    if (*bits >= format.infinity()) return ProgramNumberFit::kOutOfRange;
  }
  if (is_negative) *bits |= format.sign();
  return ProgramNumberFit::kFits;
}

// The limits of an integer dtype, bool included: from -negative to positive.
struct IntegerRange {
  uint64_t negative;
  uint64_t positive;
};

IntegerRange RangeOf(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int bits = 8 * static_cast<int>(DTypeSize(dtype));
  if (kUnsignedIntDTypes.Contains(dtype)) return {0, std::numeric_limits<uint64_t>::max() >> (64 - bits)};
  const uint64_t half = uint64_t{1} << (bits - 1);
  return {half, half - 1};
}

ProgramNumberFit ReadInteger(std::string_view text, DType dtype, uint64_t* bits) {
  if (IsFractional(text)) return ProgramNumberFit::kNoInteger;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const IntegerRange range = RangeOf(dtype);
  if (!ReadUnsigned(text, bits) || *bits > (is_negative ? range.negative : range.positive)) {
    return ProgramNumberFit::kOutOfRange;
  }
  if (is_negative) *bits = -*bits;
  return ProgramNumberFit::kFits;
}

}  // namespace

ProgramNumberFit ParseProgramNumber(std::string_view text, DType dtype, std::byte* element) {
  uint64_t bits = 0;
  const bool is_float = kFloatDTypes.Contains(dtype);
  const ProgramNumberFit fit = is_float ? ReadFloat(text, dtype, &bits) : ReadInteger(text, dtype, &bits);
  if (fit == ProgramNumberFit::kFits) StoreBits(bits, DTypeSize(dtype), element);
  return fit;
}

bool IsFractional(std::string_view number) {
  return !IsHexadecimal(number) && number.find_first_not_of("-0123456789") != std::string_view::npos;
}

void AppendProgramNumberRange(MessageBuilder& out, DType dtype) {
  if (kFloatDTypes.Contains(dtype)) {
    out.Append("a number that ", dtype, " can hold");
    return;
  }
  const IntegerRange range = RangeOf(dtype);
  out.Append(range.negative == 0 ? "" : "-", range.negative, " to ", range.positive);
}

}  // namespace tandem
