// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The random ops: the generator against its published vectors, the bits of each dtype, and the distributions.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/philox.h"

namespace tandem {
namespace {

class RandomOpsTest : public OpTest {
 protected:
  TensorHandle Random(std::string_view op, int64_t size, int64_t seed0, int64_t seed1, DType dtype = DType::kF32) {
    return Run(op, {Dense<int64_t>({1}, {size}), Dense<int64_t>({2}, {seed0, seed1})}, Attrs("dtype", dtype));
  }
  TensorHandle Uniform(int64_t size, DType dtype = DType::kF32) {
    return Random("tf.StatelessRandomUniform", size, 7, -5, dtype);
  }
  TensorHandle Normal(int64_t size, DType dtype = DType::kF32) {
    return Random("tf.StatelessRandomNormal", size, 7, -5, dtype);
  }
};

constexpr PhiloxStream kStream = MakePhiloxStream(7, static_cast<uint64_t>(int64_t{-5}));

// Sizes that end within a block, within a batch of blocks, and that are drawn in parallel.
constexpr int64_t kSizes[] = {0, 1, 3, 64, 65, 1000, 100003};

// The known-answer vectors that the authors of the generator publish with it (Random123, kat_vectors).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(Philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (PhiloxBlock{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(PhiloxTest, BlocksBeyond32Bits) {
  const PhiloxBlock expected = Philox4x32({5, 1, kStream.high[0], kStream.high[1]}, kStream.key);
  EXPECT_EQ(kStream.Block((uint64_t{1} << 32) + 5), expected);
}

TEST_F(RandomOpsTest, UniformHasTheBitsOfItsBlocks) {
  for (const int64_t size : kSizes) {
    const std::vector<float> values = Values<float>(Uniform(size));
    ASSERT_EQ(values.size(), static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t mantissa = kStream.Block(i / 4)[i % 4] & 0x7FFFFF;
      ASSERT_EQ(values[i], std::ldexp(static_cast<float>(mantissa), -23)) << i;
    }
  }
}

TEST_F(RandomOpsTest, UniformOfDoublesHasTheBitsOfItsBlocks) {
  for (const int64_t size : kSizes) {
    const std::vector<double> values = Values<double>(Uniform(size, DType::kF64));
    ASSERT_EQ(values.size(), static_cast<size_t>(size));
    for (size_t i = 0; i < values.size(); ++i) {
      const PhiloxBlock block = kStream.Block(i / 2);
      const uint64_t high = block[i % 2 * 2] & 0xFFFFF;
      ASSERT_EQ(values[i], std::ldexp(static_cast<double>(high << 32 | block[i % 2 * 2 + 1]), -52)) << i;
    }
  }
}

TEST_F(RandomOpsTest, UniformOfHalvesHasTheBitsOfItsBlocks) {
  for (const int64_t size : kSizes) {
    const std::vector<double> halves = Doubles(Uniform(size, DType::kF16));
    const std::vector<double> bfloats = Doubles(Uniform(size, DType::kBF16));
    ASSERT_EQ(halves.size(), static_cast<size_t>(size));
    ASSERT_EQ(bfloats.size(), static_cast<size_t>(size));
    for (size_t i = 0; i < halves.size(); ++i) {
      const uint32_t word = kStream.Block(i / 4)[i % 4];
      ASSERT_EQ(halves[i], (word & 0x3FF) / 1024.0) << i;
      ASSERT_EQ(bfloats[i], (word & 0x7F) / 128.0) << i;
    }
  }
}

// The transformation written out in f64 with the library's functions.
std::vector<double> BoxMuller(const std::vector<double>& uniform) {
  std::vector<double> normal(uniform.size());
  for (size_t i = 0; i + 1 < uniform.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(std::max(uniform[i], 1e-7)));
    normal[i] = radius * std::sin(2 * 3.141592653589793238 * uniform[i + 1]);
    normal[i + 1] = radius * std::cos(2 * 3.141592653589793238 * uniform[i + 1]);
  }
  return normal;
}

TEST_F(RandomOpsTest, NormalIsTheTransformedUniform) {
  const std::vector<double> values = Doubles(Normal(100000));
  const std::vector<double> expected = BoxMuller(Doubles(Uniform(100000)));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-6) << i;
  const std::vector<double> doubles = Doubles(Normal(100000, DType::kF64));
  const std::vector<double> expected_doubles = BoxMuller(Doubles(Uniform(100000, DType::kF64)));
  for (size_t i = 0; i < doubles.size(); ++i) ASSERT_NEAR(doubles[i], expected_doubles[i], 4e-15) << i;
}

TEST_F(RandomOpsTest, NormalOfHalvesIsTheRoundedOneOfFloats) {
  const std::vector<float> floats = Values<float>(Normal(1001));
  const std::vector<double> halves = Doubles(Normal(1001, DType::kF16));
  const std::vector<double> bfloats = Doubles(Normal(1001, DType::kBF16));
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i], static_cast<double>(Float16(floats[i]))) << i;
    ASSERT_EQ(bfloats[i], static_cast<double>(BFloat16(floats[i]))) << i;
  }
}

// The exact bits, which must not depend on compiler, instruction set, word size or number of threads.
TEST_F(RandomOpsTest, NormalHasTheSameBitsOnEveryTarget) {
  uint64_t hash32 = 0;
  for (const float value : Values<float>(Normal(100000))) hash32 = hash32 * 31 + std::bit_cast<uint32_t>(value);
  uint64_t hash64 = 0;
  for (const double value : Values<double>(Normal(100000, DType::kF64))) {
    hash64 = hash64 * 31 + std::bit_cast<uint64_t>(value);
  }
  EXPECT_EQ(hash32, 4782005505986273646u);
  EXPECT_EQ(hash64, 4045660530865353969u);
}

TEST_F(RandomOpsTest, ALongerTensorBeginsWithTheShorterOne) {
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    const std::vector<double> longer = Doubles(Normal(301, dtype));
    const std::vector<double> shorter = Doubles(Normal(77, dtype));
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin())) << TextOf(dtype);
  }
}

TEST_F(RandomOpsTest, SeedsOf32BitsAreSignExtended) {
  const TensorHandle shape = Dense<int32_t>({2}, {3, 5});
  const TensorHandle narrow = Run("tf.StatelessRandomUniform", {shape, Dense<int32_t>({2}, {7, -5})});
  EXPECT_EQ(MetadataOf(narrow), "f32[3,5]");
  EXPECT_EQ(Values<float>(narrow), Values<float>(Uniform(15)));
}

TEST_F(RandomOpsTest, EverySeedGivesOtherNumbers) {
  const std::vector<float> base = Values<float>(Uniform(16));
  for (const auto& [seed0, seed1] : std::vector<std::pair<int64_t, int64_t>>{{8, -5}, {7, -4}, {-5, 7}, {0, 0}}) {
    EXPECT_NE(Values<float>(Random("tf.StatelessRandomUniform", 16, seed0, seed1)), base) << seed0 << ", " << seed1;
  }
}

TEST_F(RandomOpsTest, ScalarsAndEmptyTensors) {
  const TensorHandle seed = Dense<int64_t>({2}, {7, -5});
  EXPECT_EQ(Values<float>(Run("tf.StatelessRandomUniform", {Dense<int32_t>({0}, {}), seed})),
            Values<float>(Uniform(1)));
  EXPECT_EQ(MetadataOf(Run("tf.StatelessRandomNormal", {Dense<int32_t>({2}, {0, 3}), seed})), "f32[0,3]");
}

TEST_F(RandomOpsTest, WrongShapesAndSeedsAreErrors) {
  EXPECT_EQ(ErrorOf(Run("tf.StatelessRandomUniform", {Dense<int32_t>({1}, {2}), Dense<int64_t>({1}, {1})})),
            "[tf.StatelessRandomUniform] seed must have shape [2], got seed: i64[1]");
  EXPECT_EQ(ErrorOf(Run("tf.StatelessRandomNormal", {Dense<int32_t>({1}, {-2}), Dense<int64_t>({2}, {1, 2})})),
            "[tf.StatelessRandomNormal] sizes must be at least 0, got shape: [-2]");
  EXPECT_EQ(ErrorOf(Run("tf.StatelessRandomNormal", {Dense<int32_t>({1}, {2}), Dense<int64_t>({2}, {1, 2})},
                        Attrs("dtype", DType::kI32))),
            "[tf.StatelessRandomNormal] attribute dtype must be one of {f16, bf16, f32, f64}, got i32");
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Mean of (value - center)^power.
double Moment(const std::vector<double>& values, double center, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - center, power);
  return sum / static_cast<double>(values.size());
}

// Largest distance of the sample's distribution function from `cdf` (Kolmogorov and Smirnov), times sqrt(n). It is
// above 2 with a probability of 0.0007.
template <typename Cdf>
double KolmogorovSmirnov(std::vector<double> values, const Cdf& cdf) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return distance * std::sqrt(n);
}

constexpr int64_t kSample = 200000;

TEST_F(RandomOpsTest, UniformIsUniform) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const std::vector<double> values = Doubles(Uniform(kSample, dtype));
    EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
    EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
    // Four standard errors.
    EXPECT_NEAR(Mean(values), 0.5, 4 * std::sqrt(1.0 / 12 / kSample));
    EXPECT_NEAR(Moment(values, 0.5, 2), 1.0 / 12, 4 * std::sqrt(1.0 / 180 / kSample));
    EXPECT_LT(KolmogorovSmirnov(values, [](double x) { return x; }), 2);
  }
}

TEST_F(RandomOpsTest, NormalIsNormal) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const std::vector<double> values = Doubles(Normal(kSample, dtype));
    EXPECT_NEAR(Mean(values), 0, 4 * std::sqrt(1.0 / kSample));
    EXPECT_NEAR(Moment(values, 0, 2), 1, 4 * std::sqrt(2.0 / kSample));
    EXPECT_NEAR(Moment(values, 0, 3), 0, 4 * std::sqrt(15.0 / kSample));
    EXPECT_NEAR(Moment(values, 0, 4), 3, 4 * std::sqrt(96.0 / kSample));
    EXPECT_LT(KolmogorovSmirnov(values, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); }), 2);
  }
}

TEST_F(RandomOpsTest, NeighboursAreNotCorrelated) {
  const std::vector<double> values = Doubles(Normal(kSample));
  for (const size_t lag : {1u, 2u, 3u, 4u, 64u}) {
    double sum = 0;
    for (size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
    EXPECT_NEAR(sum / kSample, 0, 4 * std::sqrt(1.0 / kSample)) << lag;
  }
}

}  // namespace
}  // namespace tandem
