// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Locations: of C++ calls, of decoders of other kinds, and unknown ones (ER-3).

#include "tandem/location.h"

#include <gtest/gtest.h>

#include <source_location>
#include <string_view>

namespace tandem {
namespace {

Location LocationOfCall(Location location = std::source_location::current()) { return location; }

TEST(LocationTest, IsTwoWords) { EXPECT_EQ(sizeof(Location), 2 * sizeof(void*)); }

TEST(LocationTest, DefaultIsUnknown) {
  const Location unknown;
  EXPECT_FALSE(unknown.IsKnown());
  EXPECT_FALSE(unknown.Decode().IsKnown());
  EXPECT_EQ(unknown.Decode().line, 0u);
  EXPECT_EQ(unknown.Decode().column, 0u);
}

// ER-3
TEST(LocationTest, CurrentIsThePlaceOfTheCall) {
  const Location here = Location::Current();
  constexpr uint32_t kLine = __LINE__ - 1;
  EXPECT_TRUE(here.IsKnown());
  EXPECT_TRUE(here.Decode().file.ends_with("location_test.cc"));
  EXPECT_EQ(here.Decode().line, kLine);
}

// ER-3
TEST(LocationTest, ADefaultArgumentIsThePlaceOfTheUsersCall) {
  const Location first = LocationOfCall();
  const Location second = LocationOfCall();
  constexpr uint32_t kLine = __LINE__ - 1;
  EXPECT_EQ(first.Decode().line, kLine - 1);
  EXPECT_EQ(second.Decode().line, kLine);
  EXPECT_GT(second.Decode().column, 0u);
}

// ER-3
TEST(LocationTest, TellsTwoCallsOnOneLineApart) {
  const Location places[] = {LocationOfCall(), LocationOfCall()};
  EXPECT_EQ(places[0].Decode().line, places[1].Decode().line);
  EXPECT_LT(places[0].Decode().column, places[1].Decode().column);
}

// ER-3
TEST(LocationTest, OutlivesTheCall) {
  Location kept;
  {
    const Location inner = LocationOfCall();
    kept = inner;
  }
  EXPECT_TRUE(kept.Decode().file.ends_with("location_test.cc"));
}

// Keeps line and column in one word.
class PackedDecoder final : public LocationDecoder {
 public:
  DecodedLocation Decode(uintptr_t data) const override {
    return {"program.mlir", static_cast<uint32_t>(data >> 8), static_cast<uint32_t>(data & 0xFF)};
  }
};

// ER-3
TEST(LocationTest, OtherDecodersReadTheirOwnWord) {
  const PackedDecoder decoder;
  const Location location(&decoder, 17 << 8 | 5);
  EXPECT_TRUE(location.IsKnown());
  EXPECT_EQ(location.Decode().file, "program.mlir");
  EXPECT_EQ(location.Decode().line, 17u);
  EXPECT_EQ(location.Decode().column, 5u);
  const Location zero(&decoder, 0);
  EXPECT_TRUE(zero.IsKnown());
  EXPECT_EQ(zero.Decode().line, 0u);
}

}  // namespace
}  // namespace tandem
