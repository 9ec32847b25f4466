// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Max pooling of all numbers of channels, which choose its loops, where elements are NaN or infinite.

#include <algorithm>
#include <cmath>
#include <limits>

#include "instruction_sets.h"
#include "op_test_fixture.h"

namespace tandem {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Images {
  int64_t rows, cols, channels;
  std::vector<float> values;
  float at(int64_t row, int64_t col, int64_t channel) const {
    return values[static_cast<size_t>((row * cols + col) * channels + channel)];
  }
};

// Some 1 in `one_in` elements are NaN, as many infinite, and as many minus infinite; none if it is 0.
Images MakeImages(int64_t rows, int64_t cols, int64_t channels, uint32_t one_in) {
  Images images = {rows, cols, channels, {}};
  uint32_t state = static_cast<uint32_t>(rows * 31 + cols * 7 + channels + 1);
  for (int64_t i = 0; i < rows * cols * channels; ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t chosen = one_in == 0 ? 3 : (state >> 8) % one_in;
    const float number = static_cast<float>(static_cast<int32_t>(state) >> 12);
    images.values.push_back(chosen == 0 ? kNaN : chosen == 1 ? kInf : chosen == 2 ? -kInf : number);
  }
  return images;
}

// TensorFlow's padding "SAME": as many windows as there are strides, what is missing shared out, more of it behind.
struct Windows {
  Windows(int64_t size, int64_t window, int64_t stride, bool same)
      : count(same ? (size + stride - 1) / stride : std::max<int64_t>(0, size - window + stride) / stride),
        before(same ? std::max<int64_t>(0, (count - 1) * stride + window - size) / 2 : 0) {}
  int64_t count;
  int64_t before;
};

std::vector<float> MaxPoolPlainly(const Images& x, int64_t window, int64_t stride, bool same) {
  std::vector<float> result;
  const Windows rows(x.rows, window, stride, same), cols(x.cols, window, stride, same);
  for (int64_t y = 0; y < rows.count; ++y) {
    for (int64_t i = 0; i < cols.count; ++i) {
      for (int64_t channel = 0; channel < x.channels; ++channel) {
        float largest = -kInf;
        for (int64_t j = 0; j < window * window && !std::isnan(largest); ++j) {
          const int64_t row = y * stride - rows.before + j / window, col = i * stride - cols.before + j % window;
          if (row < 0 || row >= x.rows || col < 0 || col >= x.cols) continue;
          const float value = x.at(row, col, channel);
          if (value > largest || std::isnan(value)) largest = value;
        }
        result.push_back(largest);
      }
    }
  }
  return result;
}

class MaxPoolTest : public OpTest {
 protected:
  void ExpectMaxPool(const Images& x, int64_t window, int64_t stride, bool same) {
    const TensorHandle pooled =
        Run("tf.MaxPool", {Dense<float>({1, x.rows, x.cols, x.channels}, x.values)},
            Attrs("ksize", std::vector<int64_t>{1, window, window, 1}, "strides",
                  std::vector<int64_t>{1, stride, stride, 1}, "padding", same ? "SAME" : "VALID"));
    const std::vector<float> values = Values<float>(pooled);
    const std::vector<float> expected = MaxPoolPlainly(x, window, stride, same);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i])))
          << "at " << i << ": expected " << expected[i] << ", got " << values[i];
    }
  }
};

void ExpectMaxPools(uint32_t one_in) {
  cpu::ForEachInstructionSet([one_in](const char*) {
    class Pools : public MaxPoolTest {
     public:
      void TestBody() override {}
      using MaxPoolTest::ExpectMaxPool;
    } test;
    for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 67, 130}) {
      SCOPED_TRACE(channels);
      for (const int64_t cols : {9, 70, 71}) {
        const Images images = MakeImages(7, cols, channels, one_in);
        for (const int64_t window : {1, 2, 3, 5}) {
          for (const int64_t stride : {1, 2, 3}) {
            for (const bool same : {false, true}) test.ExpectMaxPool(images, window, stride, same);
          }
        }
      }
    }
  });
}

TEST(MaxPool, OfNumbers) { ExpectMaxPools(0); }
TEST(MaxPool, WhereSomeAreNaNOrInfinite) { ExpectMaxPools(50); }
TEST(MaxPool, WhereManyAreNaNOrInfinite) { ExpectMaxPools(6); }

}  // namespace
}  // namespace tandem
