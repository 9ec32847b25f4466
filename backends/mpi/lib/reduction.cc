// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reductions a block of elements at a time, so that sums of f16 stay in f32 without memory of their own.

#include "reduction.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "tandem/float16.h"

namespace tandem::mpi {

namespace {

constexpr size_t kBlock = 512;

constexpr const char* kReductions[] = {"none", "sum", "mean", "min", "max", "prod"};

struct DTypeInfo {
  const char* name;
  size_t size;
};
constexpr DTypeInfo kDTypes[] = {{"invalid", 0}, {"bool", 1}, {"u8", 1},  {"i8", 1},    {"u16", 2}, {"i16", 2},
                                 {"i32", 4},     {"u32", 4},  {"i64", 8}, {"u64", 8},   {"f16", 2}, {"bf16", 2},
                                 {"f32", 4},     {"f64", 8},  {"c64", 8}, {"string", 0}};
const DTypeInfo& InfoOf(tandem_dtype dtype) {
  const bool is_known = dtype >= 0 && static_cast<size_t>(dtype) < std::size(kDTypes);
  return kDTypes[is_known ? dtype : 0];
}

// The first that is not a number, else the smaller or larger one, else the first of the two.
template <typename T>
T Least(T a, T b) {
  return a != a || !(b < a || b != b) ? a : b;
}
template <typename T>
T Most(T a, T b) {
  return a != a || !(a < b || b != b) ? a : b;
}

template <typename T, typename Sum, typename Combine>
void ReduceBlocks(const T* parts, size_t num_parts, size_t count, T* result, Combine combine, Sum divisor) {
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    Sum sums[kBlock];
    for (size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(parts[begin + i]);
    for (size_t part = 1; part < num_parts; ++part) {
      const T* const other = parts + part * count + begin;
      for (size_t i = 0; i < size; ++i) sums[i] = combine(sums[i], static_cast<Sum>(other[i]));
    }
    if (divisor != Sum{1}) {
      for (size_t i = 0; i < size; ++i) sums[i] /= divisor;
    }
    for (size_t i = 0; i < size; ++i) result[begin + i] = static_cast<T>(sums[i]);
  }
}

// `Sum` is what sums and products are computed in, `Order` what is compared.
template <typename T, typename Sum, typename Order>
void ReduceAs(Reduction reduction, const void* parts, size_t num_parts, size_t count, void* result) {
  const auto run = [&](auto combine, auto divisor) {
    ReduceBlocks(static_cast<const T*>(parts), num_parts, count, static_cast<T*>(result), combine, divisor);
  };
  switch (reduction) {
    case Reduction::kSum:
      return run([](Sum a, Sum b) { return static_cast<Sum>(a + b); }, Sum{1});
    case Reduction::kMean:
      return run([](Sum a, Sum b) { return static_cast<Sum>(a + b); }, static_cast<Sum>(num_parts));
    case Reduction::kProd:
      return run([](Sum a, Sum b) { return static_cast<Sum>(a * b); }, Sum{1});
    case Reduction::kMin:
      return run(Least<Order>, Order{1});
    case Reduction::kMax:
      return run(Most<Order>, Order{1});
    case Reduction::kNone:
      return;
  }
}

}  // namespace

Reduction ReductionOf(std::string_view word) {
  for (uint32_t i = 1; i < std::size(kReductions); ++i) {
    if (word == kReductions[i]) return static_cast<Reduction>(i);
  }
  return Reduction::kNone;
}
const char* NameOf(Reduction reduction) {
  const auto index = static_cast<size_t>(reduction);
  return kReductions[index < std::size(kReductions) ? index : 0];
}

size_t SizeOf(tandem_dtype dtype) { return InfoOf(dtype).size; }
const char* NameOf(tandem_dtype dtype) { return InfoOf(dtype).name; }

bool CanReduce(tandem_dtype dtype, Reduction reduction) {
  const bool has_fraction = dtype >= TANDEM_F16 && dtype <= TANDEM_F64;
  return has_fraction || (dtype >= TANDEM_U8 && dtype <= TANDEM_U64 && reduction != Reduction::kMean);
}

void Reduce(tandem_dtype dtype, Reduction reduction, const void* parts, size_t num_parts, size_t count, void* result) {
  const auto as = [&]<typename T, typename Sum>(T, Sum) {
    using Order = std::conditional_t<std::is_integral_v<T>, T, Sum>;
    ReduceAs<T, Sum, Order>(reduction, parts, num_parts, count, result);
  };
  switch (dtype) {
    case TANDEM_U8:
      return as(uint8_t{}, uint64_t{});
    case TANDEM_I8:
      return as(int8_t{}, uint64_t{});
    case TANDEM_U16:
      return as(uint16_t{}, uint64_t{});
    case TANDEM_I16:
      return as(int16_t{}, uint64_t{});
    case TANDEM_I32:
      return as(int32_t{}, uint64_t{});
    case TANDEM_U32:
      return as(uint32_t{}, uint64_t{});
    case TANDEM_I64:
      return as(int64_t{}, uint64_t{});
    case TANDEM_U64:
      return as(uint64_t{}, uint64_t{});
    case TANDEM_F16:
      return as(Float16{}, float{});
    case TANDEM_BF16:
      return as(BFloat16{}, float{});
    case TANDEM_F32:
      return as(float{}, float{});
    case TANDEM_F64:
      return as(double{}, double{});
    default:
      return;
  }
}

}  // namespace tandem::mpi
