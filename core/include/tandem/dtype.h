// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// DType: the element types of tensors, their names, sizes and C++ types.

#ifndef TANDEM_DTYPE_H_
#define TANDEM_DTYPE_H_

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "tandem/export.h"
#include "tandem/float16.h"
#include "tandem/message.h"

namespace tandem {

// The values are part of the binary formats: append only.
enum class DType : uint8_t {
  kInvalid = 0,
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,  // complex of two f32
  kString,
};
inline constexpr int kNumDTypes = 16;

// Every dtype with its C++ element type; X(enumerator, C++ type). String elements have no fixed-size C++ type.
#define TANDEM_FOR_EACH_FIXED_DTYPE(X) \
  X(kBool, bool)                       \
  X(kU8, uint8_t)                      \
  X(kI8, int8_t)                       \
  X(kU16, uint16_t)                    \
  X(kI16, int16_t)                     \
  X(kI32, int32_t)                     \
  X(kU32, uint32_t)                    \
  X(kI64, int64_t)                     \
  X(kU64, uint64_t)                    \
  X(kF16, ::tandem::Float16)           \
  X(kBF16, ::tandem::BFloat16)         \
  X(kF32, float)                       \
  X(kF64, double)                      \
  X(kC64, std::complex<float>)

// "f32", "bool", ...; "invalid" for kInvalid.
TANDEM_EXPORT std::string_view DTypeName(DType dtype);
// Accepts Tandem's names ("f32") and TensorFlow's ("float", "half", "int32", "complex64"). Empty if unknown.
TANDEM_EXPORT std::optional<DType> ParseDType(std::string_view name);

// Bytes an element takes in a dense tensor; 0 for kInvalid and kString.
constexpr size_t DTypeSize(DType dtype) {
  constexpr uint8_t kSizes[kNumDTypes] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 0};
  return kSizes[static_cast<int>(dtype)];
}

template <typename T>
struct DTypeOfImpl;
#define TANDEM_DEFINE_DTYPE_OF(name, type)      \
  template <>                                   \
  struct DTypeOfImpl<type> {                    \
    static constexpr DType value = DType::name; \
  };
TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_DEFINE_DTYPE_OF)
#undef TANDEM_DEFINE_DTYPE_OF

// The dtype of a C++ element type: kDTypeOf<float> is DType::kF32.
template <typename T>
inline constexpr DType kDTypeOf = DTypeOfImpl<T>::value;

// A set of dtypes in one word.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= Bit(dtype);
  }
  // Every dtype but kInvalid.
  static constexpr DTypeSet All() { return FromBits(static_cast<uint16_t>(0xFFFE)); }

  constexpr bool Contains(DType dtype) const { return (bits_ & Bit(dtype)) != 0; }
  constexpr bool IsEmpty() const { return bits_ == 0; }
  constexpr int Size() const { return std::popcount(bits_); }
  constexpr void Insert(DType dtype) { bits_ |= Bit(dtype); }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    return FromBits(static_cast<uint16_t>(a.bits_ | b.bits_));
  }
  friend constexpr DTypeSet operator&(DTypeSet a, DTypeSet b) {
    return FromBits(static_cast<uint16_t>(a.bits_ & b.bits_));
  }
  friend constexpr bool operator==(DTypeSet a, DTypeSet b) = default;

 private:
  static constexpr uint16_t Bit(DType dtype) { return static_cast<uint16_t>(1u << static_cast<int>(dtype)); }
  static constexpr DTypeSet FromBits(uint16_t bits) {
    DTypeSet set;
    set.bits_ = bits;
    return set;
  }
  uint16_t bits_ = 0;
};

inline constexpr DTypeSet kFloatDTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
inline constexpr DTypeSet kSignedIntDTypes = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
inline constexpr DTypeSet kUnsignedIntDTypes = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
inline constexpr DTypeSet kIntDTypes = kSignedIntDTypes | kUnsignedIntDTypes;
inline constexpr DTypeSet kRealDTypes = kFloatDTypes | kIntDTypes;
inline constexpr DTypeSet kNumericDTypes = kRealDTypes | DTypeSet{DType::kC64};
inline constexpr DTypeSet kFixedSizeDTypes = kNumericDTypes | DTypeSet{DType::kBool};  // all but strings

TANDEM_EXPORT void AppendTo(MessageBuilder& out, DType dtype);
// "{f32, f64}"
TANDEM_EXPORT void AppendTo(MessageBuilder& out, DTypeSet dtypes);

}  // namespace tandem

#endif  // TANDEM_DTYPE_H_
