// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The file of predictions, which programs in other languages write and read, too.

#include "digits/predictions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "temporary_folder.h"

namespace digits {
namespace {

DigitSet MakeSet(std::initializer_list<uint8_t> labels) {
  DigitSet set;
  set.count = labels.size();
  auto bytes = files::ByteBuffer::Allocate(set.count);
  EXPECT_TRUE(bytes.ok());
  set.labels = std::move(bytes).value();
  std::copy(labels.begin(), labels.end(), set.labels.data());
  return set;
}

TEST(WritePredictionsTest, NineDigitsGiveBackEachNumber) {
  const tandem::TemporaryFolder folder;
  // 0.1f is 0.100000001490116...; the smallest f32 above 0 is 2^-149.
  const Predictions predictions = {{7, 0}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0.9f, 0.1f, 0x1p-149f, 0, 0, 0, 0, 0, 0, 0}};
  ASSERT_TRUE(WritePredictions(folder.File("p.csv"), MakeSet({7, 3}), predictions).ok());
  EXPECT_EQ(folder.Read("p.csv"),
            "label,predicted,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9\n"
            "7,7,0,0,0,0,0,0,0,1,0,0\n"
            "3,0,0.899999976,0.100000001,1.40129846e-45,0,0,0,0,0,0,0\n");
}

TEST(WritePredictionsTest, AFolderThatIsNotThere) {
  const tandem::TemporaryFolder folder;
  const tandem::Status status =
      WritePredictions(folder.File("nowhere/p.csv"), MakeSet({7}), {{7}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0}});
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(folder.Count(), 0u);
}

}  // namespace
}  // namespace digits
