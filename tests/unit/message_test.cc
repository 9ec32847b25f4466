// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Error text on the stack: what each type looks like, and the cut at capacity (ER-2, ER-5).

#include "tandem/message.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "failing_heap.h"

namespace elsewhere {
struct Point {
  int x, y;
};
void AppendTo(tandem::MessageBuilder& out, const Point& point) { out.Append("(", point.x, "; ", point.y, ")"); }
}  // namespace elsewhere

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kCapacity = MessageBuilder::kCapacity;

template <typename... Parts>
std::string Text(const Parts&... parts) {
  MessageBuilder out;
  out.Append(parts...);
  return std::string(out.view());
}

TEST(MessageTest, IsEmptyAtFirst) { EXPECT_EQ(MessageBuilder().view(), ""); }

TEST(MessageTest, AppendsTextAndCharacters) {
  EXPECT_EQ(Text("a", 'b', "c"sv, std::string("d"), ""), "abcd");
  EXPECT_EQ(Text("a\0b"sv), "a\0b"sv);
}

TEST(MessageTest, AppendsIntegersOfEveryWidth) {
  EXPECT_EQ(Text(int8_t{-128}, " ", uint8_t{255}), "-128 255");
  EXPECT_EQ(Text(int16_t{-32768}, " ", uint16_t{65535}), "-32768 65535");
  EXPECT_EQ(Text(INT32_MIN, " ", UINT32_MAX), "-2147483648 4294967295");
  EXPECT_EQ(Text(INT64_MIN, " ", UINT64_MAX), "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(Text(0, " ", 0u, " ", size_t{7}, " ", 1L, " ", 2LL, " ", 3UL), "0 0 7 1 2 3");
}

TEST(MessageTest, AppendsTruthValues) { EXPECT_EQ(Text(true, " ", false), "true false"); }

TEST(MessageTest, AppendsTheShortestFloat) {
  EXPECT_EQ(Text(0.1f, " ", 0.1), "0.1 0.1");
  EXPECT_EQ(Text(1.0f, " ", -2.5, " ", 0.0, " ", -0.0), "1 -2.5 0 -0");
  EXPECT_EQ(Text(1.0f / 3.0f), "0.33333334");
  EXPECT_EQ(Text(1.0 / 3.0), "0.3333333333333333");
}

TEST(MessageTest, AppendsFloatsThatAreNoNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  EXPECT_EQ(Text(kInf, " ", -kInf, " ", nan, " ", -nan), "inf -inf nan nan");
  EXPECT_EQ(Text(HUGE_VAL, " ", -HUGE_VAL, " ", std::nan("")), "inf -inf nan");
}

TEST(MessageTest, FloatTextReadsBackAsTheSameValue) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) {
      ASSERT_EQ(std::strtod(Text(value).c_str(), nullptr), value);
    }
    const auto small = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(small)) {
      ASSERT_EQ(std::strtof(Text(small).c_str(), nullptr), small);
    }
  }
  for (const double value : {5e-324, 2.2250738585072014e-308, 1.7976931348623157e308}) {
    EXPECT_EQ(std::strtod(Text(value, " end").c_str(), nullptr), value);
  }
}

TEST(MessageTest, AppendsListsOfNumbers) {
  const std::array<int64_t, 3> values = {1, -2, INT64_MAX};
  EXPECT_EQ(Text(std::span<const int64_t>(values)), "[1,-2,9223372036854775807]");
  EXPECT_EQ(Text(std::span<const int64_t>()), "[]");
}

TEST(MessageTest, TypesOfOtherNamespacesTakePart) { EXPECT_EQ(Text("at ", elsewhere::Point{1, 2}), "at (1; 2)"); }

// ER-5
TEST(MessageTest, NeedsNoMemory) {
  EXPECT_EQ(CountAllocations([] {
              MessageBuilder out;
              out.Append("x", 1, 2.5, true);
              for (int i = 0; i < 1000; ++i) out.Append("more than fits");
            }),
            0);
}

TEST(MessageTest, HoldsExactlyItsCapacity) {
  const std::string text(kCapacity, 'x');
  EXPECT_EQ(Text(text), text);
  EXPECT_EQ(Text(text, ""), text);
}

TEST(MessageTest, CutTextEndsInDots) {
  const std::string cut = std::string(kCapacity - 3, 'x') + "...";
  EXPECT_EQ(Text(std::string(kCapacity + 1, 'x')), cut);
  EXPECT_EQ(Text(std::string(kCapacity, 'x'), "x"), cut);
  EXPECT_EQ(Text(std::string(1 << 20, 'x')), cut);
  EXPECT_EQ(Text(std::string(kCapacity - 1, 'x'), 12), cut);
}

TEST(MessageTest, NothingFollowsTheCut) {
  EXPECT_EQ(Text(std::string(kCapacity + 1, 'x'), "y", 1, 2.5, std::string(kCapacity, 'z')),
            std::string(kCapacity - 3, 'x') + "...");
}

// Whether `text` is a sequence of whole characters of UTF-8 (that are those below).
bool IsWhole(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0x80 && lead < 0xC0) return false;
    for (size_t j = 1; j < size; ++j) {
      if (i + j >= text.size() || (static_cast<unsigned char>(text[i + j]) & 0xC0) != 0x80) return false;
    }
    i += size;
  }
  return true;
}

TEST(MessageTest, CutsBetweenCharacters) {
  for (const std::string_view character : {"\u00e9", "\u20ac", "\U0001F600"}) {
    for (size_t offset = 0; offset < 5; ++offset) {
      MessageBuilder out;
      out.Append(std::string(offset, 'x'));
      while (out.view().size() < kCapacity) out.Append(character);
      out.Append(character);
      EXPECT_TRUE(IsWhole(out.view())) << character << " at " << offset;
      EXPECT_TRUE(out.view().ends_with("..."));
      EXPECT_LE(out.view().size(), kCapacity);
    }
  }
}

TEST(MessageTest, CutsTextThatIsNotUtf8) {
  const std::string text = Text(std::string(kCapacity + 1, '\x80'));
  EXPECT_EQ(text.size(), kCapacity);
  EXPECT_TRUE(text.ends_with("..."));
}

std::string Quoted(std::string_view text) {
  MessageBuilder out;
  AppendQuoted(out, text);
  return std::string(out.view());
}

TEST(MessageTest, QuotedTextIsEscapedAndOnOneLine) {
  EXPECT_EQ(Quoted(""), R"("")");
  EXPECT_EQ(Quoted("it's"), R"("it's")");
  EXPECT_EQ(Quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted("\n\t\r"), R"("\n\t\r")");
  EXPECT_EQ(Quoted("\x01\x1f\x7f\0"sv), R"("\x01\x1f\x7f\x00")");
  EXPECT_EQ(Quoted("\u20ac"), "\"\u20ac\"");
}

TEST(MessageTest, QuotedTextIsCut) {
  const std::string text = Quoted(std::string(1 << 24, 'q'));
  EXPECT_EQ(text, "\"" + std::string(kCapacity - 4, 'q') + "...");
}

}  // namespace
}  // namespace tandem
