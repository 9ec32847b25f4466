// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The confusion table and the pictures of misread digits, as text.

#include "digits/report.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace digits {
namespace {

// One image per string of '#' and ' ', each with label 5.
DigitSet MakeSet(size_t rows, size_t cols, std::initializer_list<const char*> images) {
  DigitSet set;
  set.count = images.size();
  set.rows = rows;
  set.cols = cols;
  auto labels = files::ByteBuffer::Allocate(set.count);
  auto pixels = files::ByteBuffer::Allocate(set.count * rows * cols);
  EXPECT_TRUE(labels.ok() && pixels.ok());
  set.labels = std::move(labels).value();
  set.images = std::move(pixels).value();
  std::memset(set.labels.data(), 5, set.count);
  uint8_t* out = set.images.data();
  for (const char* image : images) {
    for (size_t i = 0; i < rows * cols; ++i) *out++ = image[i] == '#' ? 255 : 0;
  }
  return set;
}

TEST(ConfusionTableTest, CountsAndLaysOut) {
  ConfusionTable table;
  for (int i = 0; i < 3; ++i) table.Add(0, 0);
  table.Add(0, 9);
  table.Add(9, 9);
  EXPECT_EQ(table.total(), 5u);
  EXPECT_EQ(table.correct(), 4u);
  EXPECT_DOUBLE_EQ(table.Accuracy(), 0.8);
  EXPECT_EQ(table.ToString(),
            "           read as\n"
            "           0    1    2    3    4    5    6    7    8    9   accuracy\n"
            "digit 0    3    .    .    .    .    .    .    .    .    1     75.0 %\n"
            "digit 1    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 2    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 3    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 4    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 5    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 6    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 7    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 8    .    .    .    .    .    .    .    .    .    .          -\n"
            "digit 9    .    .    .    .    .    .    .    .    .    1    100.0 %\n"
            "all                                                           80.0 %\n");
}

TEST(ConfusionTableTest, IsEmptyAtFirst) { EXPECT_EQ(ConfusionTable().Accuracy(), 0); }

TEST(DrawMisreadsTest, DrawsBrailleDots) {
  const DigitSet set = MakeSet(4, 4,
                               {"#   "
                                "#   "
                                "#   "
                                "#  #"});
  const Misread misread = {0, 3};
  EXPECT_EQ(DrawMisreads(set, {&misread, 1}, 80, true), "⡇⢀\n5 read as 3\n");
}

TEST(DrawMisreadsTest, DrawsAsciiShades) {
  const DigitSet set = MakeSet(2, 3,
                               {"## "
                                "#  "});
  const Misread misread = {0, 3};
  EXPECT_EQ(DrawMisreads(set, {&misread, 1}, 80, false), "@=\n5 read as 3\n");
}

TEST(DrawMisreadsTest, WrapsIntoTheWidth) {
  const DigitSet set = MakeSet(2, 1, {"##", "##", "##"});
  const Misread misreads[] = {{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(DrawMisreads(set, misreads, 26, false), "@            @\n5 read as 1  5 read as 2\n\n@\n5 read as 3\n");
  EXPECT_EQ(DrawMisreads(set, misreads, 0, false), "@\n5 read as 1\n\n@\n5 read as 2\n\n@\n5 read as 3\n");
}

TEST(DrawMisreadsTest, ShrinksLargeImages) {
  const DigitSet set = MakeSet(56, 56, {std::string(56 * 56, '#').c_str()});
  const Misread misread = {0, 3};
  std::string expected;
  for (int i = 0; i < 14; ++i) expected += std::string(28, '@') + "\n";
  EXPECT_EQ(DrawMisreads(set, {&misread, 1}, 80, false), expected + "        5 read as 3\n");
}

TEST(DrawMisreadsTest, DrawsNothingForNoMisreads) { EXPECT_EQ(DrawMisreads(DigitSet(), {}, 80, true), ""); }

}  // namespace
}  // namespace digits
