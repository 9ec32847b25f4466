// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Checked casts, in pieces that pass through the widest type of their kind, so that there is code for each dtype and
// not for each pair of them.

#include "tandem/checked_cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

namespace tandem {

namespace {

constexpr int64_t kPiece = 128;  // elements

enum class Wide : uint8_t { kSigned, kUnsigned, kFloat };

union Piece {
  int64_t signed_values[kPiece];
  uint64_t unsigned_values[kPiece];
  double float_values[kPiece];
};

// Elements of a piece that were converted, all if it is as many as it has.
using Count = int64_t;

template <typename T>
struct WideTraits {
  static constexpr Wide kWide = std::is_same_v<T, uint64_t> ? Wide::kUnsigned
                                : std::is_integral_v<T>     ? Wide::kSigned
                                                            : Wide::kFloat;
};

template <typename T>
Count Load(const T* from, Count count, Piece& to) {
  for (Count i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      if (from[i].imag() != 0) return i;
      to.float_values[i] = from[i].real();
    } else if constexpr (WideTraits<T>::kWide == Wide::kUnsigned) {
      to.unsigned_values[i] = from[i];
    } else if constexpr (WideTraits<T>::kWide == Wide::kSigned) {
      to.signed_values[i] = from[i];
    } else {
      to.float_values[i] = from[i];
    }
  }
  return count;
}

// To float, to be rounded further: not to the nearest but, if it is not exact, to the neighbour whose last bit is odd.
float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits % 2 == 1) return nearest;
  const bool is_below = std::abs(static_cast<double>(nearest)) < std::abs(value);
  return std::bit_cast<float>(is_below ? bits + 1 : bits - 1);
}

// The value as a T in `to`; false if it does not fit.
template <typename T, typename From>
bool Fit(From value, T* to) {
  if constexpr (std::is_same_v<T, bool>) {
    *to = value == From{1};
    return *to || value == From{0};
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<From>) {
    *to = static_cast<T>(value);
    return std::in_range<T>(value);
  } else if constexpr (std::is_integral_v<T>) {
    // 2^digits is exact in double, unlike the largest 64-bit integers.
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(value >= (std::is_signed_v<T> ? -limit : 0.0) && value < limit && value == std::trunc(value))) return false;
    *to = static_cast<T>(value);
    return true;
  } else if constexpr (std::is_same_v<T, double>) {
    *to = static_cast<double>(value);
    return true;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    float real;
    const bool fits = Fit(value, &real);
    *to = real;
    return fits;
  } else if constexpr (std::is_same_v<T, float>) {
    *to = static_cast<float>(value);
    return std::isfinite(*to) || !std::isfinite(static_cast<double>(value));
  } else {
    // 64-bit integers that double rounds are far beyond what 16 bits tell apart.
    *to = T(RoundToOdd(static_cast<double>(value)));
    return std::isfinite(static_cast<float>(*to)) || !std::isfinite(static_cast<double>(value));
  }
}

template <typename T, typename From>
Count Store(const From* from, Count count, T* to) {
  Count i = 0;
  while (i < count && Fit(from[i], &to[i])) ++i;
  return i;
}

Count LoadPiece(DType dtype, const void* from, int64_t first, Count count, Piece& to, Wide* wide) {
  switch (dtype) {
#define TANDEM_LOAD(name, type)      \
  case DType::name:                  \
    *wide = WideTraits<type>::kWide; \
    return Load(static_cast<const type*>(from) + first, count, to);
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
    case DType::kString:
    case DType::kInvalid:
      break;
  }
  return 0;
}

// Of `from`, the elements of a Piece.
Count StoreWide(DType dtype, const void* from, Wide wide, Count count, void* to) {
  switch (dtype) {
#define TANDEM_STORE(name, type)                                                                                  \
  case DType::name:                                                                                               \
    if (wide == Wide::kSigned) return Store(static_cast<const int64_t*>(from), count, static_cast<type*>(to));    \
    if (wide == Wide::kUnsigned) return Store(static_cast<const uint64_t*>(from), count, static_cast<type*>(to)); \
    return Store(static_cast<const double*>(from), count, static_cast<type*>(to));
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
    case DType::kString:
    case DType::kInvalid:
      break;
  }
  return 0;
}

// "y[1][0]"
void AppendPlace(MessageBuilder& out, std::string_view name, const TensorShape& shape, int64_t index) {
  out.Append(name);
  int64_t rest = index;
  int64_t stride = shape.num_elements();
  for (int i = 0; i < shape.rank(); ++i) {
    stride /= shape.dim(i);
    out.Append("[", rest / stride, "]");
    rest %= stride;
  }
}

template <typename T>
void AppendLimits(MessageBuilder& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out.Append("0 to 1");
  } else if constexpr (std::is_integral_v<T>) {
    out.Append(std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max());
  } else {
    const double largest = std::is_same_v<T, Float16>    ? 65504.0
                           : std::is_same_v<T, BFloat16> ? 0x1.FEp127
                                                         : double{std::numeric_limits<float>::max()};
    out.Append(-largest, " to ", largest);
  }
}

void AppendLimits(MessageBuilder& out, DType dtype) {
  switch (dtype) {
#define TANDEM_APPEND_LIMITS(name, type) \
  case DType::name:                      \
    return AppendLimits<type>(out);
    TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_APPEND_LIMITS)
#undef TANDEM_APPEND_LIMITS
    case DType::kString:
    case DType::kInvalid:
      break;
  }
}

Status DoesNotFit(const Piece& piece, Wide wide, Count at, DType to, std::string_view place) {
  const double value = wide == Wide::kFloat      ? piece.float_values[at]
                       : wide == Wide::kUnsigned ? static_cast<double>(piece.unsigned_values[at])
                                                 : static_cast<double>(piece.signed_values[at]);
  MessageBuilder given;
  if (wide == Wide::kFloat) {
    given.Append(value);
  } else if (wide == Wide::kUnsigned) {
    given.Append(piece.unsigned_values[at]);
  } else {
    given.Append(piece.signed_values[at]);
  }
  if (!kFloatDTypes.Contains(to) && to != DType::kC64 && !(std::isfinite(value) && value == std::trunc(value))) {
    return InvalidArgument(place, ": expected an integer for ", to, ", got ", given.view());
  }
  MessageBuilder limits;
  AppendLimits(limits, to);
  return MakeError(StatusCode::kOutOfRange, place, ": expected ", limits.view(), " for ", to, ", got ", given.view());
}

}  // namespace

bool CheckedCastNumbers(std::span<const int64_t> numbers, DType to, void* elements) {
  const auto count = static_cast<Count>(numbers.size());
  return StoreWide(to, numbers.data(), Wide::kSigned, count, elements) == count;
}

bool CheckedCastNumbers(std::span<const double> numbers, DType to, void* elements) {
  const auto count = static_cast<Count>(numbers.size());
  return StoreWide(to, numbers.data(), Wide::kFloat, count, elements) == count;
}

StatusOr<Tensor> CheckedCast(const Tensor& from, DType to, std::string_view name, HostAllocator& allocator) {
  if (from.dtype() == to) return from;
  if (!from.IsA(kDenseHost) || to == DType::kString) {
    return InvalidArgument(name, ": expected ", to == DType::kString ? "strings" : "numbers", ", got ",
                           from.metadata());
  }
  TANDEM_ASSIGN_OR_RETURN(Tensor cast, AllocateDense({to, from.shape()}, *from.device(), allocator));
  for (int64_t first = 0; first < from.num_elements(); first += kPiece) {
    const Count count = std::min(kPiece, from.num_elements() - first);
    Piece piece;
    Wide wide = Wide::kSigned;
    const Count loaded = LoadPiece(from.dtype(), from.data(), first, count, piece, &wide);
    void* const place = static_cast<std::byte*>(cast.mutable_data()) + static_cast<size_t>(first) * DTypeSize(to);
    const Count stored = StoreWide(to, &piece, wide, loaded, place);
    if (stored == count) continue;
    MessageBuilder where;
    AppendPlace(where, name, from.shape(), first + stored);
    if (stored < loaded) return DoesNotFit(piece, wide, stored, to, where.view());
    const auto& complex = static_cast<const std::complex<float>*>(from.data())[first + stored];
    return InvalidArgument(where.view(), ": expected a real number for ", to, ", got one with imaginary part ",
                           complex.imag());
  }
  return cast;
}

}  // namespace tandem
