// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RowWalk: how a tile of a convolution goes along the rows that it multiplies; compiled once per instruction set.

// NOLINT(build/header_guard): per-target guard as in Highway's own headers.
#if defined(TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_ROWS_INL_H_
#undef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_ROWS_INL_H_
#else
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_ROWS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE {

// How the rows of a tile lie. The registers are too few for an address of each of 14 rows, so that such a tile wants
// rows that are evenly spaced, some at a time.
enum class Spacing {
  kAny,
  kPairs,     // the same distance from the first to the second row, from the third to the fourth, and so on
  kSevens,    // the same distance from row to row among the first seven, among the next seven, and so on
  kAdjacent,  // each row begins an element after the one before
};

// How many rows an address is enough for.
constexpr int RowsAnAddress(Spacing spacing) {
  constexpr int kRows[] = {1, 2, 7, 8};
  return kRows[static_cast<int>(spacing)];
}

// Whether the first kRows rows lie so.
template <Spacing kSpacing, int kRows, typename T>
HWY_INLINE bool LieSo(const T* const* rows) {
  const int64_t stride = kSpacing == Spacing::kAdjacent ? 1 : rows[1] - rows[0];
  bool is_so = true;
  HWY_UNROLL(32)
  for (int i = 1; i < kRows; ++i) {
    if (i % RowsAnAddress(kSpacing) != 0) is_so = is_so && rows[i] - rows[i - 1] == stride;
  }
  return is_so;
}

// Goes along kRows rows.
template <typename T, int kRows, Spacing kSpacing>
class RowWalk {
 public:
  HWY_INLINE explicit RowWalk(const T* const* rows) {
    HWY_UNROLL(32)
    for (int i = 0; i < kAddresses; ++i) first_[i] = rows[kRowsAnAddress * i];
    if constexpr (kHasStride) {
      stride_ = (rows[1] - rows[0]) * static_cast<ptrdiff_t>(sizeof(T));
      stride3_ = 3 * stride_;
      stride5_ = 5 * stride_;
    }
  }
  HWY_INLINE void Begin(int64_t offset) {
    at_ = offset;
    HWY_UNROLL(32)
    for (int i = 0; i < kAddresses; ++i) current_[i] = first_[i] + (kSpacing == Spacing::kAny ? 0 : offset);
  }
  HWY_INLINE void Advance(int64_t step) {
    at_ += step;
    if (kSpacing == Spacing::kAny) return;
    HWY_UNROLL(32)
    for (int i = 0; i < kAddresses; ++i) current_[i] += step;
  }
  // To be called before each use of Element: the compiler would otherwise compute multiples of the strides before the
  // loop, and keep them in registers, where an instruction's address has a multiple at no cost.
  HWY_INLINE void HideStrides() {
#if defined(__GNUC__) && defined(__x86_64__)
    if constexpr (kSpacing == Spacing::kPairs) asm("" : "+r"(stride_));
    if constexpr (kSpacing == Spacing::kSevens) asm("" : "+r"(stride_), "+r"(stride3_), "+r"(stride5_));
#endif
  }
  // Of a row, `ahead` elements from here.
  HWY_INLINE T Element(int row, int ahead = 0) const {
    if constexpr (kSpacing == Spacing::kAny) return current_[row][at_ + ahead];
    const T* const address = current_[row / kRowsAnAddress];
    const int nth = row % kRowsAnAddress;
    if constexpr (kSpacing == Spacing::kAdjacent) return address[nth + ahead];
    // The nth multiple of the stride as 1, 2 or 4 times a register.
    const ptrdiff_t distance = nth == 5 ? stride5_ : nth % 3 == 0 ? nth / 3 * stride3_ : nth * stride_;
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(address) + distance)[ahead];
  }

 private:
  static constexpr bool kHasStride = kSpacing == Spacing::kPairs || kSpacing == Spacing::kSevens;
  static constexpr int kRowsAnAddress = RowsAnAddress(kSpacing);
  static constexpr int kAddresses = (kRows + kRowsAnAddress - 1) / kRowsAnAddress;

  const T* first_[kAddresses];
  const T* current_[kAddresses];
  int64_t at_ = 0;
  // In bytes; 3 and 5 times as much.
  ptrdiff_t stride_ = 0;
  ptrdiff_t stride3_ = 0;
  ptrdiff_t stride5_ = 0;
};

}  // namespace TANDEM_CPU_NAMESPACE::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
