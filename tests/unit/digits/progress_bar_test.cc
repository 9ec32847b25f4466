// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The text of a progress bar at various widths, and what it prints where there is no terminal.

#include "digits/progress_bar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace digits {
namespace {

TEST(ProgressBarTest, ShowsBarPercentRateTextAndTimeLeft) {
  const Progress progress = {"epoch 1", 25, 100, 2, "loss 0.5"};
  EXPECT_EQ(FormatProgressBar(progress, 59, false), "epoch 1 [####............]   25 %  12/s  loss 0.5  eta 0:06");
  EXPECT_EQ(FormatProgressBar(progress, 59, true), "epoch 1 ▕████            ▏   25 %  12/s  loss 0.5  eta 0:06");
}

TEST(ProgressBarTest, DropsTheBarAndThenTheEndWhenThereIsNoRoom) {
  const Progress progress = {"epoch 1", 25, 100, 2, "loss 0.5"};
  EXPECT_EQ(FormatProgressBar(progress, 45, false), "epoch 1   25 %  12/s  loss 0.5  eta 0:06");
  EXPECT_EQ(FormatProgressBar(progress, 10, true), "epoch 1   ");
  EXPECT_EQ(FormatProgressBar(progress, 0, true), "");
  EXPECT_EQ(FormatProgressBar(progress, -1, true), "");
}

TEST(ProgressBarTest, NeverExceedsTheWidth) {
  for (int width = 0; width < 200; ++width) {
    for (uint64_t done : {0, 1, 50, 99, 100}) {
      const std::string line = FormatProgressBar({"epoch 1", done, 100, 2, "loss 0.5"}, width, false);
      EXPECT_LE(line.size(), static_cast<size_t>(width));
    }
  }
}

TEST(ProgressBarTest, ScalesRatesAndTimes) {
  EXPECT_EQ(FormatProgressLine({"a", 999, 999, 1, ""}), "a  100 %  999/s  in 0:01");
  EXPECT_EQ(FormatProgressLine({"a", 12'345, 12'345, 1, ""}), "a  100 %  12.3k/s  in 0:01");
  EXPECT_EQ(FormatProgressLine({"a", 2'500'000, 5'000'000, 1, ""}), "a   50 %  2.5M/s  eta 0:01");
  EXPECT_EQ(FormatProgressLine({"a", 1, 8192, 1, ""}), "a    0 %  1/s  eta 2:16:31");
}

TEST(ProgressBarTest, KnowsNoRateOrTimeBeforeTheStart) {
  EXPECT_EQ(FormatProgressLine({"a", 0, 10, 0, ""}), "a    0 %  0/s");
}

TEST(ProgressBarTest, PrintsALineForEachTenthWhereThereIsNoTerminal) {
  std::FILE* out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  {
    ProgressBar bar(out, "epoch 1", 1000);
    for (uint64_t i = 0; i <= 1000; ++i) bar.Update(i, "");
  }
  std::rewind(out);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  std::fclose(out);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find("epoch 1   10 %"), 0u) << text;
  EXPECT_NE(text.find("\nepoch 1  100 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace digits
