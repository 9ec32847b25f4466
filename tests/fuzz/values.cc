// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Drawing of values.

#include "values.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

namespace tandem::fuzz {
namespace {

constexpr int64_t kLimits[] = {INT64_MIN,
                               INT64_MAX,
                               INT32_MIN,
                               INT32_MAX,
                               int64_t{INT32_MAX} + 1,
                               UINT32_MAX,
                               int64_t{1} << 40,
                               (int64_t{1} << 62) - 1,
                               -(int64_t{1} << 40),
                               127,
                               128,
                               255,
                               256,
                               1000,
                               65535,
                               65536};

constexpr double kReals[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.5,
                             2.0,
                             -3.25,
                             1e-7,
                             1e10,
                             -1e30,
                             65504.0,
                             3.4028234663852886e38,
                             1.1754943508222875e-38,
                             1e-45,
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};

template <typename T>
void Store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(value));
}

void StoreInteger(DType dtype, int64_t value, std::byte* to) {
  switch (dtype) {
    case DType::kBool:
      return Store<uint8_t>((value & 1) != 0, to);
    case DType::kF16:
      return Store(Float16(static_cast<float>(value)), to);
    case DType::kBF16:
      return Store(BFloat16(static_cast<float>(value)), to);
    case DType::kF32:
      return Store(static_cast<float>(value), to);
    case DType::kF64:
      return Store(static_cast<double>(value), to);
    case DType::kC64:
      return Store(std::complex<float>(static_cast<float>(value), 1), to);
    default:  // integers: the low bytes, since all targets are little-endian
      std::memcpy(to, &value, DTypeSize(dtype));
  }
}

void StoreReal(DType dtype, double value, std::byte* to) {
  switch (dtype) {
    case DType::kF16:
      return Store(Float16(static_cast<float>(value)), to);
    case DType::kBF16:
      return Store(BFloat16(static_cast<float>(value)), to);
    case DType::kF32:
      return Store(static_cast<float>(value), to);
    case DType::kF64:
      return Store(value, to);
    case DType::kC64:
      return Store(std::complex<float>(static_cast<float>(value), static_cast<float>(-value)), to);
    default:
      return StoreInteger(dtype, value >= -1e9 && value <= 1e9 ? static_cast<int64_t>(value) : INT64_MAX, to);
  }
}

}  // namespace

int64_t DrawInteger(Random& random) {
  if (!random.OneIn(12)) return random.Between(-3, 6);
  const int64_t limit = random.Pick(kLimits);
  return random.OneIn(4) && limit > INT64_MIN ? limit - 1 : limit;
}

double DrawReal(Random& random) {
  return random.OneIn(3) ? static_cast<double>(random.Between(-1000, 1000)) / 128 : random.Pick(kReals);
}

std::string DrawText(Random& random) {
  static const char* const kTexts[] = {"",     "SAME",  "VALID",  "EXPLICIT", "NHWC",      "NCHW", "same",         "T",
                                       "a->b", "ij,jk", "ij->ji", "...i,i",   "ab,bc->ac", "%s%n", "\xff\xfe\x80", "x"};
  std::string text = random.Pick(kTexts);
  if (random.OneIn(20)) text.append(random.Below(3000), random.OneIn(2) ? 'a' : ',');
  return text;
}

DType DrawDType(Random& random) { return static_cast<DType>(random.Between(1, kNumDTypes - 1)); }

TensorShape DrawShape(Random& random) {
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8};
  static constexpr int64_t kDims[] = {1, 1, 2, 2, 2, 3, 3, 4, 5, 7};
  const int rank = random.Pick(kRanks);
  TensorShape shape;
  for (int i = 0; i < rank; ++i) {
    const int64_t dim = random.OneIn(40) ? random.Between(8, 300) : random.Pick(kDims);
    shape.Append(shape.num_elements() * dim <= kMaxElements ? dim : 1);
  }
  if (rank == 0 || !random.OneIn(14)) return shape;
  const int empty = static_cast<int>(random.Below(static_cast<size_t>(rank)));
  shape.SetDim(empty, 0);
  for (int i = 0; i < rank; ++i) {
    if (i == empty || !random.OneIn(4)) continue;
    const int64_t dim = shape.dim(i);
    shape.SetDim(i, random.Pick(kLimits) & INT64_MAX);
    if (!shape.IsValid()) shape.SetDim(i, dim);
  }
  return shape;
}

TensorShape DrawSmallerShape(const TensorShape& shape, Random& random) {
  TensorShape smaller;
  const int first = random.OneIn(3) ? static_cast<int>(random.Below(static_cast<size_t>(shape.rank()) + 1)) : 0;
  for (int i = first; i < shape.rank(); ++i) smaller.Append(random.OneIn(3) ? 1 : shape.dim(i));
  return smaller.IsValid() && smaller.num_elements() <= kMaxElements ? smaller : shape;
}

TensorShape DrawHugeShape(Random& random) {
  const int rank = static_cast<int>(random.Between(1, 4));
  TensorShape shape;
  for (int i = 0; i < rank; ++i)
    shape.Append(random.OneIn(3) ? random.Between(1, 3) : int64_t{1} << random.Between(4, 42));
  TensorShape huge = shape;
  const auto can_be = [&] { return TensorMetadata(DType::kF64, huge).IsValid(); };
  for (int i = 0; i < rank && !can_be(); ++i) huge.SetDim(i, 2);
  return huge;
}

std::vector<std::byte> DrawElements(DType dtype, size_t count, Random& random) {
  const size_t size = DTypeSize(dtype);
  std::vector<std::byte> bytes(count * size);
  const size_t style = random.Below(8);
  for (size_t i = 0; i < count; ++i) {
    std::byte* const to = bytes.data() + i * size;
    if (style == 0 && dtype != DType::kBool) {
      const uint64_t bits = random.Next();
      std::memcpy(to, &bits, size);
    } else if (style == 1) {
      StoreReal(dtype, random.Pick(kReals), to);
    } else if (style == 2) {
      StoreInteger(dtype, random.Pick(kLimits), to);
    } else if (style == 3 && i > 0) {
      std::memcpy(to, bytes.data(), size);
    } else if (style < 6) {
      StoreReal(dtype, static_cast<double>(random.Between(-640, 640)) / 128, to);
    } else {
      StoreInteger(dtype, random.Between(0, 4), to);
    }
  }
  return bytes;
}

std::vector<std::byte> DrawSmallElements(DType dtype, size_t count, Random& random) {
  const size_t size = DTypeSize(dtype);
  std::vector<std::byte> bytes(count * size);
  const bool is_mild = !random.OneIn(4);
  for (size_t i = 0; i < count; ++i) {
    StoreInteger(dtype, is_mild ? random.Between(-1, 4) : DrawInteger(random), bytes.data() + i * size);
  }
  return bytes;
}

TensorSpec DrawTensor(DType dtype, const TensorShape& shape, Random& random) {
  TensorSpec tensor{.metadata = {dtype, shape}, .bytes = {}, .strings = {}};
  const auto count = static_cast<size_t>(shape.num_elements());
  if (dtype == DType::kString) {
    for (size_t i = 0; i < count; ++i) tensor.strings.push_back(count < 100 ? DrawText(random) : std::string());
  } else {
    tensor.bytes = DrawElements(dtype, count, random);
  }
  return tensor;
}

}  // namespace tandem::fuzz
