// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels of the random ops: batches of Philox blocks in plain loops that the compiler turns into vectors, once per
// instruction set, with the same bits for each.

#include "kernels/random/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"
#include "simd/simd_targets.h"
#include "tandem/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random/random.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef TANDEM_BACKENDS_CPU_KERNELS_RANDOM_ONCE_
#define TANDEM_BACKENDS_CPU_KERNELS_RANDOM_ONCE_
namespace tandem::cpu {

// Blocks that are computed side by side.
inline constexpr int kBatchBlocks = 16;
// Elements that a batch gives: two of f64 or i64 from each block, four of the other dtypes.
constexpr int64_t BatchSize(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kI64 ? 2 * kBatchBlocks : 4 * kBatchBlocks;
}

// What to draw.
struct RandomSpec {
  PhiloxStream stream;
  DType dtype;
  bool is_normal = false;
  // Of integers: the smallest one and how many there are, modulo 2^64.
  uint64_t low = 0;
  uint64_t range = 0;
};

}  // namespace tandem::cpu
#endif  // TANDEM_BACKENDS_CPU_KERNELS_RANDOM_ONCE_

HWY_BEFORE_NAMESPACE();
// A fused multiply-add rounds once where two operations round twice: results would depend on the instruction set.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Word i of each block of a batch.
struct Words {
  HWY_ALIGN uint32_t word[4][kBatchBlocks];
};

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void MakeWords(const PhiloxStream& stream, uint64_t first_block, Words& words) {
  for (int b = 0; b < kBatchBlocks; ++b) {
    const PhiloxBlock block = stream.Block(first_block + static_cast<uint64_t>(b));
    for (int i = 0; i < 4; ++i) words.word[i][b] = block[static_cast<size_t>(i)];
  }
}

#else

// One block in each lane, whose words are in the lower halves of 64 bits; what is in the upper halves does not matter.
template <class D64>
struct Blocks {
  hn::Vec<D64> c[4];
};

template <class D64>
HWY_INLINE hn::Vec<D64> MultiplyLowerHalves(D64, hn::Vec<D64> a, hn::Vec<D64> b) {
  const hn::Repartition<uint32_t, D64> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

template <class D64>
HWY_INLINE Blocks<D64> MakeBlocks(D64 d, const PhiloxStream& stream, hn::Vec<D64> numbers) {
  auto c0 = numbers;
  auto c1 = hn::ShiftRight<32>(numbers);
  auto c2 = hn::Set(d, stream.high[0]);
  auto c3 = hn::Set(d, stream.high[1]);
  PhiloxKey key = stream.key;
  for (int round = 0; round < philox::kRounds; ++round) {
    const auto x = MultiplyLowerHalves(d, c0, hn::Set(d, philox::kMultipliers[0]));
    const auto y = MultiplyLowerHalves(d, c2, hn::Set(d, philox::kMultipliers[1]));
    c0 = hn::Xor(hn::ShiftRight<32>(y), hn::Xor(c1, hn::Set(d, key[0])));
    c1 = y;
    c2 = hn::Xor(hn::ShiftRight<32>(x), hn::Xor(c3, hn::Set(d, key[1])));
    c3 = x;
    key[0] += philox::kKeySteps[0];
    key[1] += philox::kKeySteps[1];
  }
  return {{c0, c1, c2, c3}};
}

HWY_INLINE void MakeWords(const PhiloxStream& stream, uint64_t first_block, Words& words) {
  const hn::CappedTag<uint64_t, kBatchBlocks / 2> d;
  const hn::Repartition<uint32_t, decltype(d)> d32;
  const size_t lanes = hn::Lanes(d);
  for (size_t b = 0; b < kBatchBlocks; b += 2 * lanes) {
    // Blocks of even and of odd number, so that the halves of two words make one vector of words in order.
    const auto numbers = hn::Add(hn::Set(d, first_block + b), hn::ShiftLeft<1>(hn::Iota(d, 0)));
    const auto even = MakeBlocks(d, stream, numbers);
    const auto odd = MakeBlocks(d, stream, hn::Add(numbers, hn::Set(d, 1)));
    for (int i = 0; i < 4; ++i) {
      const auto word = hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(odd.c[i])), hn::BitCast(d32, even.c[i]));
      hn::Store(word, d32, words.word[i] + b);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

// Bits of a number in [1, 2) with a random mantissa, less 1.
HWY_INLINE float UniformFromBits(uint32_t bits) { return std::bit_cast<float>((bits & 0x7FFFFFu) | 0x3F800000u) - 1; }
HWY_INLINE double UniformFromBits(uint64_t bits) {
  return std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u) - 1;
}

// Number i of each block.
template <typename T, int count>
struct Numbers {
  HWY_ALIGN T number[count][kBatchBlocks];
};

HWY_INLINE void MakeUniform(const Words& words, Numbers<float, 4>& out) {
  for (int i = 0; i < 4; ++i) {
    for (int b = 0; b < kBatchBlocks; ++b) out.number[i][b] = UniformFromBits(words.word[i][b]);
  }
}
HWY_INLINE void MakeUniform(const Words& words, Numbers<double, 2>& out) {
  for (int i = 0; i < 2; ++i) {
    for (int b = 0; b < kBatchBlocks; ++b) {
      out.number[i][b] = UniformFromBits(uint64_t{words.word[2 * i][b]} << 32 | words.word[2 * i + 1][b]);
    }
  }
}

// Stores the numbers in order of their blocks.
HWY_INLINE void StoreInOrder(const Numbers<float, 4>& numbers, float* out) {
  const hn::CappedTag<float, kBatchBlocks> d;
  const auto& n = numbers.number;
  for (size_t b = 0; b < kBatchBlocks; b += hn::Lanes(d)) {
    hn::StoreInterleaved4(hn::Load(d, n[0] + b), hn::Load(d, n[1] + b), hn::Load(d, n[2] + b), hn::Load(d, n[3] + b), d,
                          out + 4 * b);
  }
}
HWY_INLINE void StoreInOrder(const Numbers<double, 2>& numbers, double* out) {
  const hn::CappedTag<double, kBatchBlocks> d;
  const auto& n = numbers.number;
  for (size_t b = 0; b < kBatchBlocks; b += hn::Lanes(d)) {
    hn::StoreInterleaved2(hn::Load(d, n[0] + b), hn::Load(d, n[1] + b), d, out + 2 * b);
  }
}

// What the series below need for either type: enough terms to be right to about the last bit.
template <typename T>
struct Precision;
template <>
struct Precision<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Bits kSqrtHalf = 0x3F3504F3;  // bits of sqrt(1/2)
  static constexpr int kLogTerms = 5;
  static constexpr int kSinTerms = 5;
  static constexpr int kCosTerms = 6;
};
template <>
struct Precision<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Bits kSqrtHalf = 0x3FE6A09E667F3BCD;
  static constexpr int kLogTerms = 12;
  static constexpr int kSinTerms = 9;
  static constexpr int kCosTerms = 10;
};

// Coefficients of atanh(s) / s, sin(x) / x and cos(x) in powers of the square.
template <typename T, int terms>
struct Series {
  T coefficient[terms];
  constexpr T operator()(T z) const {
    T sum = coefficient[terms - 1];
    for (int i = terms - 1; i-- > 0;) sum = sum * z + coefficient[i];
    return sum;
  }
};
template <typename T, int terms>
constexpr Series<T, terms> AtanhSeries() {
  Series<T, terms> series = {};
  for (int i = 0; i < terms; ++i) series.coefficient[i] = static_cast<T>(1.0 / (2 * i + 1));
  return series;
}
// (-1)^i / (2 i + first)!
template <typename T, int terms, int first>
constexpr Series<T, terms> CircularSeries() {
  Series<T, terms> series = {};
  double factor = 1;
  for (int i = 0; i < terms; ++i) {
    series.coefficient[i] = static_cast<T>(factor);
    factor /= -((2.0 * i + first + 1) * (2.0 * i + first + 2));
  }
  return series;
}

// log(u) for a positive normal u: u = m * 2^e with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 atanh((m - 1) / (m + 1)).
template <typename T>
HWY_INLINE T Log(T u) {
  using P = Precision<T>;
  using Bits = typename P::Bits;
  constexpr T kLog2 = static_cast<T>(0.69314718055994530942);
  constexpr auto kSeries = AtanhSeries<T, P::kLogTerms>();
  const Bits offset = std::bit_cast<Bits>(u) - P::kSqrtHalf;
  const auto exponent = static_cast<int32_t>(static_cast<std::make_signed_t<Bits>>(offset) >> P::kMantissaBits);
  const Bits mantissa = offset & ((Bits{1} << P::kMantissaBits) - 1);
  const T m = std::bit_cast<T>(mantissa + P::kSqrtHalf);
  const T s = (m - 1) / (m + 1);
  return static_cast<T>(exponent) * kLog2 + 2 * s * kSeries(s * s);
}

// sqrt(-2 log(max(x, smallest))) of a batch.
template <typename T>
HWY_INLINE void NormalRadii(const T* HWY_RESTRICT x, T smallest, T* HWY_RESTRICT radius) {
  if constexpr (sizeof(T) == 4 || HWY_HAVE_FLOAT64) {
    const hn::CappedTag<T, kBatchBlocks> d;
    for (size_t b = 0; b < kBatchBlocks; b += hn::Lanes(d)) {
      hn::Store(hn::Max(hn::LoadU(d, x + b), hn::Set(d, smallest)), d, radius + b);
    }
    for (int b = 0; b < kBatchBlocks; ++b) radius[b] = -2 * Log(radius[b]);
    for (size_t b = 0; b < kBatchBlocks; b += hn::Lanes(d)) hn::Store(hn::Sqrt(hn::Load(d, radius + b)), d, radius + b);
  } else {
    for (int b = 0; b < kBatchBlocks; ++b) radius[b] = std::sqrt(-2 * Log(x[b] > smallest ? x[b] : smallest));
  }
}

// Pairs of uniform numbers in [0, 1) become pairs of normal ones.
template <typename T>
HWY_INLINE void BoxMuller(T* HWY_RESTRICT first, T* HWY_RESTRICT second) {
  using P = Precision<T>;
  using Bits = typename P::Bits;
  constexpr T kSmallest = static_cast<T>(1e-7);
  constexpr T kHalfPi = static_cast<T>(1.57079632679489661923);
  constexpr auto kSin = CircularSeries<T, P::kSinTerms, 1>();
  constexpr auto kCos = CircularSeries<T, P::kCosTerms, 0>();
  constexpr int kSecondBitToSign = sizeof(T) * 8 - 2;
  HWY_ALIGN T radius[kBatchBlocks];
  NormalRadii(first, kSmallest, radius);
  for (int b = 0; b < kBatchBlocks; ++b) {
    // The angle is a number of quarter turns and a rest of at most an eighth of a turn.
    const T quarters = 4 * second[b];
    const auto turn = static_cast<int32_t>(quarters + static_cast<T>(0.5));
    const T x = (quarters - static_cast<T>(turn)) * kHalfPi;
    const T z = x * x;
    const auto sin = std::bit_cast<Bits>(x * kSin(z));
    const auto cos = std::bit_cast<Bits>(kCos(z));
    const auto turns = static_cast<Bits>(turn);
    const Bits swap = (sin ^ cos) & (Bits{0} - (turns & 1));
    const Bits sin_sign = (turns & 2) << kSecondBitToSign;
    const Bits cos_sign = ((turns + 1) & 2) << kSecondBitToSign;
    first[b] = radius[b] * std::bit_cast<T>(sin ^ swap ^ sin_sign);
    second[b] = radius[b] * std::bit_cast<T>(cos ^ swap ^ cos_sign);
  }
}

// Elements of one batch, in order.
template <typename T, bool is_normal>
HWY_INLINE void MakeBatch(const PhiloxStream& stream, int64_t batch, T* out) {
  constexpr int kCount = std::is_same_v<T, double> ? 2 : 4;
  using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Words words;
  MakeWords(stream, static_cast<uint64_t>(batch) * kBatchBlocks, words);
  if constexpr (sizeof(T) == 2 && !is_normal) {
    // The dtype has only the lowest bits of the mantissa of f32.
    constexpr int kMissingBits = std::is_same_v<T, Float16> ? 13 : 16;
    for (auto& word : words.word) {
      for (uint32_t& bits : word) bits <<= kMissingBits;
    }
  }
  Numbers<Computed, kCount> numbers;
  MakeUniform(words, numbers);
  if constexpr (is_normal) {
    for (int i = 0; i < kCount; i += 2) BoxMuller(numbers.number[i], numbers.number[i + 1]);
  }
  if constexpr (std::is_same_v<T, Computed>) {
    StoreInOrder(numbers, out);
  } else {
    float ordered[kCount * kBatchBlocks];
    StoreInOrder(numbers, ordered);
    for (int i = 0; i < kCount * kBatchBlocks; ++i) out[i] = T(ordered[i]);
  }
}

template <typename T>
void FillAs(const RandomSpec& spec, int64_t begin, int64_t end, void* out) {
  T* to = static_cast<T*>(out);
  for (int64_t batch = begin; batch < end; ++batch, to += BatchSize(kDTypeOf<T>)) {
    if (spec.is_normal) {
      MakeBatch<T, true>(spec.stream, batch, to);
    } else {
      MakeBatch<T, false>(spec.stream, batch, to);
    }
  }
}

// Batches of integers: each word, or pair of words, modulo the range.
void FillInt32(const RandomSpec& spec, int64_t begin, int64_t end, uint32_t* out) {
  const auto low = static_cast<uint32_t>(spec.low);
  const auto range = static_cast<uint32_t>(spec.range);
  for (int64_t batch = begin; batch < end; ++batch) {
    Words words;
    MakeWords(spec.stream, static_cast<uint64_t>(batch) * kBatchBlocks, words);
    for (int b = 0; b < kBatchBlocks; ++b) {
      for (int i = 0; i < 4; ++i) *out++ = low + words.word[i][b] % range;
    }
  }
}
void FillInt64(const RandomSpec& spec, int64_t begin, int64_t end, uint64_t* out) {
  for (int64_t batch = begin; batch < end; ++batch) {
    Words words;
    MakeWords(spec.stream, static_cast<uint64_t>(batch) * kBatchBlocks, words);
    for (int b = 0; b < kBatchBlocks; ++b) {
      for (int i = 0; i < 4; i += 2) {
        *out++ = spec.low + (words.word[i][b] | uint64_t{words.word[i + 1][b]} << 32) % spec.range;
      }
    }
  }
}

// Batches [begin, end), whole ones, to `out`.
void FillRandom(const RandomSpec& spec, int64_t begin, int64_t end, void* out) {
  switch (spec.dtype) {
    case DType::kI32:
      return FillInt32(spec, begin, end, static_cast<uint32_t*>(out));
    case DType::kI64:
      return FillInt64(spec, begin, end, static_cast<uint64_t*>(out));
    case DType::kF16:
      return FillAs<Float16>(spec, begin, end, out);
    case DType::kBF16:
      return FillAs<BFloat16>(spec, begin, end, out);
    case DType::kF64:
      return FillAs<double>(spec, begin, end, out);
    default:
      return FillAs<float>(spec, begin, end, out);
  }
}

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {
namespace {

HWY_EXPORT(FillRandom);

uint64_t ReadSeed(const DenseArg& seed, int i) {
  const int64_t value = seed.dtype() == DType::kI32 ? seed.data<int32_t>()[i] : seed.data<int64_t>()[i];
  return static_cast<uint64_t>(value);
}

PhiloxStream StreamOf(const DenseArg& seed) { return MakePhiloxStream(ReadSeed(seed, 0), ReadSeed(seed, 1)); }

Status Draw(KernelFrame& frame, const RandomSpec& spec, double cost_per_element) {
  auto* out = static_cast<std::byte*>(frame.AllocateResult(0));
  if (out == nullptr) return Status();
  const int64_t count = frame.result_metadata(0).num_elements();
  const int64_t batch_size = BatchSize(spec.dtype);
  const size_t element_size = DTypeSize(spec.dtype);
  const size_t batch_bytes = static_cast<size_t>(batch_size) * element_size;
  const int64_t whole = count / batch_size;
  const auto fill = HWY_DYNAMIC_DISPATCH(FillRandom);
  frame.ParallelFor(whole, cost_per_element * static_cast<double>(batch_size), [&](int64_t begin, int64_t end) {
    fill(spec, begin, end, out + static_cast<size_t>(begin) * batch_bytes);
  });
  if (const int64_t rest = count % batch_size; rest > 0) {
    alignas(8) std::byte batch[4 * kBatchBlocks * sizeof(float)];
    fill(spec, whole, whole + 1, batch);
    std::memcpy(out + static_cast<size_t>(whole) * batch_bytes, batch, static_cast<size_t>(rest) * element_size);
  }
  return Status();
}

template <bool is_normal>
Status StatelessRandomKernel(const Tensor&, DenseArg seed, KernelFrame& frame) {
  constexpr double kNanosecondsPerElement = is_normal ? 1.5 : 0.7;
  const RandomSpec spec = {StreamOf(seed), frame.result_metadata(0).dtype, is_normal};
  return Draw(frame, spec, kNanosecondsPerElement);
}

Status StatelessRandomIntKernel(const Tensor&, DenseArg seed, DenseArg minval, DenseArg maxval, KernelFrame& frame) {
  constexpr double kNanosecondsPerElement = 3;
  const auto read = [](const DenseArg& value) {
    return value.dtype() == DType::kI32 ? *value.data<int32_t>() : *value.data<int64_t>();
  };
  const int64_t low = read(minval);
  const int64_t high = read(maxval);
  if (low >= high) return InvalidArgument("minval must be less than maxval, got minval: ", low, ", maxval: ", high);
  const auto range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const RandomSpec spec = {StreamOf(seed), minval.dtype(), false, static_cast<uint64_t>(low), range};
  return Draw(frame, spec, kNanosecondsPerElement);
}

double RandomCost(std::span<const TensorMetadata* const>, std::span<const TensorMetadata> results) {
  return static_cast<double>(results[0].num_elements());
}

}  // namespace

Status RegisterRandomKernels(KernelOpHandler& handler) {
  // By the dtype of the shape, which is the definition's T; the result's dtype is looked at in the kernel.
  static constexpr DTypeSet kShapes = {DType::kI32, DType::kI64};
  static constexpr CostModel kCost = {0, &RandomCost};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&StatelessRandomKernel<false>>("tf.StatelessRandomUniform", kShapes, kCost),
      KernelEntryOf<&StatelessRandomIntKernel>("tf.StatelessRandomUniformInt", kShapes, kCost),
      KernelEntryOf<&StatelessRandomKernel<true>>("tf.StatelessRandomNormal", kShapes, kCost),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  return RegisterMultinomialKernels(handler);
}

}  // namespace tandem::cpu
#endif  // HWY_ONCE
