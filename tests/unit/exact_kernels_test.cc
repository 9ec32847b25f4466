// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Exact mode: the inner loops of the CPU kernels give the same bits with every instruction set that this processor has,
// and sums are added up in the order that is documented. What whole ops give on other machines is compared by the
// conformance runner.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gemm/gemm.h"
#include "instruction_sets.h"
#include "kernels/normalization/normalization_rows.h"
#include "simd/portable_math.h"
#include "simd/simd_math.h"
#include "tandem/host_context.h"
#include "tandem/kernel_run.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

HostContext::Options Exact(bool is_exact) {
  HostContext::Options options;
  options.work_queue = CreateMultiThreadedWorkQueue(2);
  options.exact = is_exact;
  return options;
}

// A kernel's run, on this thread.
class ExactMode : public testing::Test {
 protected:
  HostContext host_{Exact(true)};
  ExecutionContext exec_{host_, Location()};
  KernelRun run_{exec_};
};

// The bits, with one kind of NaN.
template <typename T>
void Append(const T* values, size_t count, std::string& bits) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (size_t i = 0; i < count; ++i) {
    const T value = values[i];
    const Word word = std::isnan(value) ? Word{0} - 1 : std::bit_cast<Word>(value);
    bits.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
}

// Calls make(bits) with every instruction set, and expects the same bits of all.
template <typename F>
void ExpectSameBits(const std::string& what, F make) {
  std::string first;
  ForEachInstructionSet([&](const char*) {
    std::string bits;
    make(bits);
    if (first.empty()) first = bits;
    size_t differing = 0;
    while (differing < bits.size() && bits[differing] == first[differing]) ++differing;
    EXPECT_EQ(differing, bits.size()) << what << ": byte " << differing << " differs";
  });
}

template <typename T>
std::vector<T> Values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>((random() - 0x1p31) * 0x1.234567p-31);
  return values;
}

// Of every magnitude and sign, special values, and numbers near 1 and multiples of pi.
template <typename T>
std::vector<T> Arguments() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {0,
                      -T(0),
                      1,
                      -1,
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::min(),
                      Limits::denorm_min(),
                      Limits::max(),
                      Limits::lowest()};
  std::mt19937_64 random(5);
  for (int i = 0; i < 1500; ++i) {
    using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    x.push_back(std::bit_cast<T>(static_cast<Word>(random())));
    x.push_back(static_cast<T>(static_cast<double>(random()) * 0x1p-60 - 8));
    x.push_back(static_cast<T>(static_cast<double>(random()) * 0x1p-56 - 128));
    x.push_back(static_cast<T>(3.141592653589793 / 4 * (i - 700)));
  }
  return x;
}

struct Function {
  const char* name;
  void (*f32)(const float*, int64_t, float*);
  void (*f64)(const double*, int64_t, double*);
};
constexpr Function kFunctions[] = {
#define TANDEM_FUNCTION(name) \
  { #name, simd::name, simd::name }
    TANDEM_FUNCTION(Exp),      TANDEM_FUNCTION(Expm1), TANDEM_FUNCTION(Log),   TANDEM_FUNCTION(Log1p),
    TANDEM_FUNCTION(Sin),      TANDEM_FUNCTION(Cos),   TANDEM_FUNCTION(Tanh),  TANDEM_FUNCTION(Sigmoid),
    TANDEM_FUNCTION(Erf),      TANDEM_FUNCTION(Sqrt),  TANDEM_FUNCTION(Rsqrt), TANDEM_FUNCTION(Tan),
    TANDEM_FUNCTION(Sinh),     TANDEM_FUNCTION(Cosh),  TANDEM_FUNCTION(Asin),  TANDEM_FUNCTION(Acos),
    TANDEM_FUNCTION(Atan),     TANDEM_FUNCTION(Asinh), TANDEM_FUNCTION(Acosh), TANDEM_FUNCTION(Atanh),
    TANDEM_FUNCTION(Softplus), TANDEM_FUNCTION(Elu),   TANDEM_FUNCTION(Selu),  TANDEM_FUNCTION(Gelu),
    TANDEM_FUNCTION(GeluTanh),
#undef TANDEM_FUNCTION
};

template <typename T>
void AppendMapped(void (*function)(const T*, int64_t, T*), const std::vector<T>& x, std::string& bits) {
  std::vector<T> y(x.size());
  function(x.data(), static_cast<int64_t>(x.size()), y.data());
  Append(y.data(), y.size(), bits);
}

TEST_F(ExactMode, NU3_FunctionsGiveTheSameBits) {
  const std::vector<float> floats = Arguments<float>();
  const std::vector<double> doubles = Arguments<double>();
  for (const Function& function : kFunctions) {
    ExpectSameBits(std::string(function.name) + " of f32",
                   [&](std::string& bits) { AppendMapped(function.f32, floats, bits); });
    ExpectSameBits(std::string(function.name) + " of f64",
                   [&](std::string& bits) { AppendMapped(function.f64, doubles, bits); });
  }
  const std::vector<float> others(floats.rbegin(), floats.rend());
  ExpectSameBits("Atan2", [&](std::string& bits) {
    std::vector<float> y(floats.size());
    simd::Atan2(floats.data(), others.data(), static_cast<int64_t>(floats.size()), y.data());
    Append(y.data(), y.size(), bits);
  });
}

// Those that have no other definition than the C library's.
TEST_F(ExactMode, NU3_FunctionsOfF64AreThePortableOnes) {
  const double x[] = {0.3, 0.7};
  double y[2];
  simd::Exp(x, 2, y);
  EXPECT_EQ(y[1], portable::Exp(0.7));
  simd::Erf(x, 2, y);
  EXPECT_EQ(y[1], portable::Erf(0.7));
  simd::Asin(x, 2, y);
  EXPECT_EQ(y[0], portable::Asin(0.3));
  simd::Atan2(x, x + 1, 1, y);
  EXPECT_EQ(y[0], portable::Atan2(0.3, 0.7));
}

// ---- Orders of summation.

template <typename T>
T AddLanes(std::vector<T> lanes) {
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// As simd_math.h says.
template <typename T>
T DocumentedSum(const T* x, size_t count) {
  constexpr size_t kLanes = 256 / sizeof(T);
  constexpr size_t kBlock = 32 * kLanes;
  if (count <= kBlock) {
    std::vector<T> lanes(kLanes);
    for (size_t i = 0; i < count; ++i) lanes[i % kLanes] += x[i];
    return AddLanes(lanes);
  }
  const size_t half = (count / 2 + kBlock - 1) / kBlock * kBlock;
  return DocumentedSum(x, half) + DocumentedSum(x + half, count - half);
}

template <typename T>
void ExpectDocumentedSums() {
  const std::vector<T> x = Values<T>(20000, 3);
  ForEachInstructionSet([&](const char*) {
    for (const size_t count : {0,  1,   2,   3,   5,   8,    9,    15,   16,   17,   31,   32,   33,   63,   64,
                               65, 100, 127, 129, 200, 1000, 1024, 2047, 2048, 2049, 3000, 4096, 5000, 20000}) {
      EXPECT_EQ(simd::Sum(x.data(), static_cast<int64_t>(count)), DocumentedSum(x.data(), count)) << count;
    }
  });
}

// With or without exact mode.
TEST(Sums, NU1_AreAddedInAnOrderThatDependsOnTheirNumberAlone) {
  ExpectDocumentedSums<float>();
  ExpectDocumentedSums<double>();
}

template <typename T>
void ExpectSameMoments() {
  const std::vector<T> x = Values<T>(9000, 4);
  const std::vector<T> dy = Values<T>(9000, 5);
  for (const int64_t count : {1, 7, 8, 20, 33, 64, 100, 150, 700, 3000, 9000}) {
    ExpectSameBits("moments and products of " + std::to_string(count), [&](std::string& bits) {
      T values[4];
      const NormalizationRows<T>& rows = FindNormalizationRows<T>();
      rows.moments(x.data(), count, &values[0], &values[1]);
      rows.products(x.data(), dy.data(), count, values[0], &values[2], &values[3]);
      Append(values, 4, bits);
    });
    ExpectSameBits("softmax of " + std::to_string(count), [&](std::string& bits) {
      std::vector<T> y(static_cast<size_t>(count));
      simd::Softmax(x.data(), 1, count, y.data());
      Append(y.data(), y.size(), bits);
      simd::LogSoftmax(x.data(), 1, count, y.data());
      Append(y.data(), y.size(), bits);
    });
  }
}

TEST_F(ExactMode, NU3_SumsOfTermsGiveTheSameBits) {
  ExpectSameMoments<float>();
  ExpectSameMoments<double>();
}

// ---- Products of matrices.

template <typename T>
void ExpectSameProducts() {
  using Real = std::conditional_t<std::is_same_v<T, std::complex<float>>, float, T>;
  constexpr size_t kParts = sizeof(T) / sizeof(Real);
  struct Shape {
    int64_t m, n, k;
  };
  for (const Shape& s : {Shape{1, 1, 300},
                         {1, 130, 37},
                         {1, 70, 700},
                         {2, 70, 300},
                         {3, 40, 100},
                         {77, 1, 70},
                         {13, 33, 17},
                         {47, 65, 257},
                         {6, 8, 600},
                         {130, 70, 20},
                         {121, 97, 270},
                         {30, 2, 500}}) {
    const std::vector<Real> a_parts = Values<Real>(static_cast<size_t>(s.m * s.k) * kParts, 6);
    const std::vector<Real> b_parts = Values<Real>(static_cast<size_t>(s.k * s.n) * kParts, 7);
    const auto* a = reinterpret_cast<const T*>(a_parts.data());
    const auto* b = reinterpret_cast<const T*>(b_parts.data());
    for (const bool transposes : {false, true}) {
      const std::string what = std::to_string(s.m) + "x" + std::to_string(s.k) + " times " + std::to_string(s.k) + "x" +
                               std::to_string(s.n) + (transposes ? " transposed" : "");
      ExpectSameBits(what, [&](std::string& bits) {
        std::vector<T> c(static_cast<size_t>(s.m * s.n));
        const MatrixView<T> second = transposes ? MatrixView<T>{b, 1, s.k} : MatrixView<T>{b, s.n, 1};
        ASSERT_TRUE(Gemm<T>(nullptr, s.m, s.n, s.k, {a, s.k, 1}, second, c.data()).ok());
        Append(reinterpret_cast<const Real*>(c.data()), c.size() * kParts, bits);
      });
    }
  }
}

TEST_F(ExactMode, NU3_MatrixProductsGiveTheSameBits) {
  ExpectSameProducts<float>();
  ExpectSameProducts<double>();
  ExpectSameProducts<std::complex<float>>();
}

// Not a test of a rule: fused products, where there are some, must show, or the tests above tell nothing.
TEST(ExactModeOff, FusesWhereTheProcessorCan) {
  std::vector<std::string> results;
  ForEachInstructionSet([&](const char*) {
    const std::vector<float> a = Values<float>(64 * 64, 6);
    std::vector<float> c(64 * 64);
    ASSERT_TRUE(Gemm<float>(nullptr, 64, 64, 64, {a.data(), 64, 1}, {a.data(), 64, 1}, c.data()).ok());
    std::string bits;
    Append(c.data(), c.size(), bits);
    results.push_back(bits);
  });
  if (results.size() == 1) GTEST_SKIP() << "this build has one instruction set";
  // The first one has none. Where a processor has more than the kernels are compiled for, the last one is the first.
  EXPECT_TRUE(std::ranges::any_of(results, [&](const std::string& bits) { return bits != results.front(); }));
}

// ---- Who is exact.

TEST(KernelRunTest, NU3_IsExactOnTheThreadsOfAnExactHost) {
  HostContext exact(Exact(true));
  HostContext other(Exact(false));
  EXPECT_FALSE(KernelRun::IsExact());
  const ExecutionContext exec(exact, Location());
  {
    const KernelRun run(exec);
    EXPECT_TRUE(KernelRun::IsExact());
    std::atomic<int> num_wrong = 0;
    ParallelFor(exact.work_queue(), 1000, 1, [&](int64_t, int64_t) { num_wrong += KernelRun::IsExact() ? 0 : 1; });
    EXPECT_EQ(num_wrong, 0);
    const ExecutionContext inner_exec(other, Location());
    const KernelRun inner(inner_exec);
    EXPECT_FALSE(KernelRun::IsExact());
  }
  EXPECT_FALSE(KernelRun::IsExact());
}

}  // namespace
}  // namespace tandem::cpu
