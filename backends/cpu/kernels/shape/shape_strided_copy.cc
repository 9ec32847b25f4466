// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ways to copy: rows of bytes, tiles that are transposed in registers, and single elements.

#include "kernels/shape/shape_strided_copy.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "kernels/shape/shape_movement.h"

namespace tandem::cpu {
namespace {

using Dim = StridedCopy::Dim;

int64_t NumRows(std::span<const Dim> outer) {
  int64_t rows = 1;
  for (const Dim& dim : outer) rows *= dim.size;
  return rows;
}

// The items are numbered through rows of `row_size` items; `outer` are the dimensions of the rows. Calls
// fn(dst, src, begin, end) for each stretch of [begin, end) that lies within one row, with the addresses at which
// the row begins.
template <typename Fn>
void ForEachStretch(std::span<const Dim> outer, int64_t row_size, std::byte* dst, const std::byte* src, int64_t begin,
                    int64_t end, const Fn& fn) {
  int64_t rest = begin / row_size;  // the number of the row
  int64_t column = begin - rest * row_size;
  int64_t index[StridedCopy::kMaxRank];
  ptrdiff_t dst_offset = 0;
  ptrdiff_t src_offset = 0;
  for (size_t i = outer.size(); i-- > 0;) {
    index[i] = rest % outer[i].size;
    rest /= outer[i].size;
    dst_offset += static_cast<ptrdiff_t>(index[i]) * outer[i].dst_stride;
    src_offset += static_cast<ptrdiff_t>(index[i]) * outer[i].src_stride;
  }
  while (begin < end) {
    const int64_t stop = std::min(row_size, column + (end - begin));
    fn(dst + dst_offset, src + src_offset, column, stop);
    begin += stop - column;
    column = 0;
    for (size_t i = outer.size(); i-- > 0;) {
      dst_offset += outer[i].dst_stride;
      src_offset += outer[i].src_stride;
      if (++index[i] < outer[i].size) break;
      dst_offset -= static_cast<ptrdiff_t>(index[i]) * outer[i].dst_stride;
      src_offset -= static_cast<ptrdiff_t>(index[i]) * outer[i].src_stride;
      index[i] = 0;
    }
  }
}

// Copies more than kMaxShortBytes bytes.
void CopyRow(std::byte* to, const std::byte* from, size_t bytes) {
#ifdef __wasm__
  // By vectors, which memcpy does not use here.
  typedef uint8_t Vector __attribute__((vector_size(16)));
  constexpr size_t kStep = 4 * sizeof(Vector);
  const auto copy = [&](size_t at) {
    Vector vectors[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&vectors[i], from + at + i * sizeof(Vector), sizeof(Vector));
    for (int i = 0; i < 4; ++i) std::memcpy(to + at + i * sizeof(Vector), &vectors[i], sizeof(Vector));
  };
  for (size_t at = 0; at + kStep <= bytes; at += kStep) copy(at);
  if (bytes % kStep != 0) copy(bytes - kStep);  // the rest, and some bytes again
#else
  std::memcpy(to, from, bytes);
#endif
}

void CopyRows(const KernelFrame& frame, std::span<const Dim> outer, int64_t row_bytes, std::byte* dst,
              const std::byte* src) {
  constexpr double kNanosecondsPerRow = 4;
  const double cost = 1 / kCopyBytesPerNanosecond + kNanosecondsPerRow / static_cast<double>(row_bytes);
  frame.ParallelFor(NumRows(outer) * row_bytes, cost, [&](int64_t begin, int64_t end) {
    ForEachStretch(outer, row_bytes, dst, src, begin, end,
                   [](std::byte* to, const std::byte* from, int64_t first, int64_t last) {
                     const auto size = static_cast<size_t>(last - first);
                     size > kMaxShortBytes ? CopyRow(to + first, from + first, size)
                                           : static_cast<void>(std::memcpy(to + first, from + first, size));
                   });
  });
}

// The same for rows of 2 to kMaxShortBytes bytes; `rows` has at least one dimension.
template <size_t kHalf>
void CopyShortRows(const KernelFrame& frame, std::span<const Dim> rows, size_t row_bytes, std::byte* dst,
                   const std::byte* src) {
  constexpr double kNanosecondsPerRow = 2;
  const std::span<const Dim> outer = rows.first(rows.size() - 1);
  const Dim& inner = rows.back();
  frame.ParallelFor(NumRows(rows), kNanosecondsPerRow, [&](int64_t begin, int64_t end) {
    ForEachStretch(outer, inner.size, dst, src, begin, end,
                   [&inner, row_bytes](std::byte* to, const std::byte* from, int64_t first, int64_t last) {
                     to += static_cast<ptrdiff_t>(first) * inner.dst_stride;
                     from += static_cast<ptrdiff_t>(first) * inner.src_stride;
                     for (; first < last; ++first, to += inner.dst_stride, from += inner.src_stride) {
                       CopyHalves<kHalf>(to, from, row_bytes);
                     }
                   });
  });
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Elements [first, last) of a row of single elements; each of the loops vectorises in its own way.
template <typename T>
void CopyElements(const Dim& dim, std::byte* dst, const std::byte* src, int64_t first, int64_t last) {
  constexpr ptrdiff_t kSize = sizeof(T);
  const auto count = static_cast<ptrdiff_t>(last - first);
  dst += static_cast<ptrdiff_t>(first) * dim.dst_stride;
  src += static_cast<ptrdiff_t>(first) * dim.src_stride;
  if (dim.dst_stride != kSize) {
    for (ptrdiff_t i = 0; i < count; ++i) Store(dst + i * dim.dst_stride, Load<T>(src + i * dim.src_stride));
  } else if (dim.src_stride == 0) {
    FillElements(dst, last - first, src, sizeof(T));
  } else if (dim.src_stride == 2 * kSize) {
    for (ptrdiff_t i = 0; i < count; ++i) Store(dst + i * kSize, Load<T>(src + i * (2 * kSize)));
  } else if (dim.src_stride == -kSize) {
    for (ptrdiff_t i = 0; i < count; ++i) Store(dst + i * kSize, Load<T>(src - i * kSize));
  } else {
    ptrdiff_t i = 0;
    for (; i + 4 <= count; i += 4, src += 4 * dim.src_stride) {
      const T loaded[] = {Load<T>(src), Load<T>(src + dim.src_stride), Load<T>(src + 2 * dim.src_stride),
                          Load<T>(src + 3 * dim.src_stride)};
      std::memcpy(dst + i * kSize, loaded, sizeof(loaded));
    }
    for (; i < count; ++i, src += dim.src_stride) Store(dst + i * kSize, Load<T>(src));
  }
}

template <typename T>
void CopyStrided(const KernelFrame& frame, std::span<const Dim> dims, std::byte* dst, const std::byte* src) {
  constexpr double kNanosecondsPerElement = 0.7;
  const std::span<const Dim> outer = dims.first(dims.size() - 1);
  const Dim& inner = dims.back();
  frame.ParallelFor(NumRows(outer) * inner.size, kNanosecondsPerElement, [&](int64_t begin, int64_t end) {
    ForEachStretch(outer, inner.size, dst, src, begin, end,
                   [&inner](std::byte* to, const std::byte* from, int64_t first, int64_t last) {
                     CopyElements<T>(inner, to, from, first, last);
                   });
  });
}

// Squares of elements that are transposed in 16-byte registers, a register a row.
template <typename T>
struct Block {
  static constexpr size_t kSize = 16 / sizeof(T);
  typedef T Row __attribute__((vector_size(16)));

  // a0 b0 a1 b1 ... of the lower or upper halves.
  template <bool upper, size_t... I>
  static Row Interleave(Row a, Row b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, ((I % 2) * kSize + I / 2 + (upper ? kSize / 2 : 0))...);
  }

  // Each round takes one bit of the column number into the row number.
  static void Transpose(Row (&rows)[kSize]) {
    constexpr std::make_index_sequence<kSize> kLanes;
    for (size_t round = 1; round < kSize; round *= 2) {
      Row next[kSize];
      for (size_t i = 0; i < kSize / 2; ++i) {
        next[2 * i] = Interleave<false>(rows[i], rows[i + kSize / 2], kLanes);
        next[2 * i + 1] = Interleave<true>(rows[i], rows[i + kSize / 2], kLanes);
      }
      std::memcpy(rows, next, sizeof(rows));
    }
  }
};

// The plane of two dimensions that is transposed: `down` is contiguous in the source, `along` in the result.
struct Plane {
  Dim down;
  Dim along;
};

// Elements of a tile in each direction: a cache line of them.
template <typename T>
inline constexpr int64_t kTile = 64 / sizeof(T);

// A whole tile. It is put together in a buffer, because lines of the result that are written piece by piece would
// push each other out of the cache where its rows are a power of two apart.
template <typename T>
void TransposeTile(const Plane& plane, std::byte* dst, const std::byte* src) {
  using Row = typename Block<T>::Row;
  constexpr size_t kSide = kTile<T>;
  constexpr size_t kSize = Block<T>::kSize;
  alignas(64) T buffer[kSide * kSide];
  for (size_t y = 0; y < kSide; y += kSize) {
    for (size_t x = 0; x < kSide; x += kSize) {
      Row rows[kSize];
      const std::byte* from = src + static_cast<ptrdiff_t>(y) * plane.along.src_stride + x * sizeof(T);
      for (size_t i = 0; i < kSize; ++i) {
        rows[i] = Load<Row>(from + static_cast<ptrdiff_t>(i) * plane.along.src_stride);
      }
      Block<T>::Transpose(rows);
      for (size_t i = 0; i < kSize; ++i) std::memcpy(buffer + (x + i) * kSide + y, &rows[i], sizeof(Row));
    }
  }
  for (size_t x = 0; x < kSide; ++x) {
    std::memcpy(dst + static_cast<ptrdiff_t>(x) * plane.down.dst_stride, buffer + x * kSide, sizeof(T) * kSide);
  }
}

// Rows of the source that become the elements of `count` neighbours in the result.
template <typename T, int kRows>
void Interleave(const std::byte* const (&rows)[kRows], int64_t count, std::byte* to) {
  const auto size = static_cast<size_t>(count);
  for (size_t x = 0; x < size; ++x) {
    for (size_t y = 0; y < kRows; ++y) Store(to + (x * kRows + y) * sizeof(T), Load<T>(rows[y] + x * sizeof(T)));
  }
}

// Whether the plane is so narrow that Interleave does it, which it then has done for `down` elements.
template <typename T>
bool InterleavePlane(const Plane& plane, std::byte* dst, const std::byte* src, int64_t down) {
  const auto row = [&](int y) { return src + y * plane.along.src_stride; };
  if (plane.down.dst_stride != static_cast<ptrdiff_t>(plane.along.size * sizeof(T))) return false;
  switch (plane.along.size) {
    case 2:
      Interleave<T, 2>({row(0), row(1)}, down, dst);
      return true;
    case 3:
      Interleave<T, 3>({row(0), row(1), row(2)}, down, dst);
      return true;
    case 4:
      Interleave<T, 4>({row(0), row(1), row(2), row(3)}, down, dst);
      return true;
    default:
      return false;
  }
}

// A tile at the edge.
template <typename T>
void TransposePart(const Plane& plane, std::byte* dst, const std::byte* src, int64_t down, int64_t along) {
  for (int64_t x = 0; x < down; ++x) {
    std::byte* to = dst + static_cast<ptrdiff_t>(x) * plane.down.dst_stride;
    const std::byte* from = src + static_cast<ptrdiff_t>(x * sizeof(T));
    for (int64_t y = 0; y < along; ++y) {
      Store(to + y * sizeof(T), Load<T>(from + static_cast<ptrdiff_t>(y) * plane.along.src_stride));
    }
  }
}

// Tiles in each direction that are done together, so that their pages stay known to the processor.
constexpr int64_t kSquare = 8;

// The part of a plane from tile (first_down, first_along) on, up to kSquare tiles each way; addresses are the plane's.
template <typename T>
void TransposeSquare(const Plane& plane, std::byte* dst, const std::byte* src, int64_t first_down,
                     int64_t first_along) {
  constexpr int64_t kSide = kTile<T>;
  const int64_t down_end = std::min(plane.down.size, (first_down + kSquare) * kSide);
  const int64_t along_end = std::min(plane.along.size, (first_along + kSquare) * kSide);
  const auto first = static_cast<ptrdiff_t>(first_down * kSide);
  if (InterleavePlane<T>(plane, dst + first * plane.down.dst_stride, src + first * plane.down.src_stride,
                         down_end - first)) {
    return;
  }
  for (int64_t x = first_down * kSide; x < down_end; x += kSide) {
    const int64_t down = std::min(kSide, down_end - x);
    for (int64_t y = first_along * kSide; y < along_end; y += kSide) {
      const int64_t along = std::min(kSide, along_end - y);
      const auto [tile_x, tile_y] = std::pair(static_cast<ptrdiff_t>(x), static_cast<ptrdiff_t>(y));
      std::byte* to = dst + tile_x * plane.down.dst_stride + tile_y * plane.along.dst_stride;
      const std::byte* from = src + tile_x * plane.down.src_stride + tile_y * plane.along.src_stride;
      if (down == kSide && along == kSide) {
        TransposeTile<T>(plane, to, from);
      } else {
        TransposePart<T>(plane, to, from, down, along);
      }
    }
  }
}

template <typename T>
void CopyTransposed(const KernelFrame& frame, std::span<const Dim> dims, size_t down, std::byte* dst,
                    const std::byte* src) {
  const Plane plane = {dims[down], dims.back()};
  Dim outer[StridedCopy::kMaxRank];
  size_t rank = 0;
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    if (i != down) outer[rank++] = dims[i];
  }
  const std::span<const Dim> planes(outer, rank);
  constexpr int64_t kSide = kTile<T> * kSquare;
  const int64_t num_down = (plane.down.size + kSide - 1) / kSide;
  const int64_t num_along = (plane.along.size + kSide - 1) / kSide;
  const auto bytes_per_square =
      static_cast<double>(sizeof(T)) * std::min(kSide, plane.down.size) * std::min(kSide, plane.along.size);
  const double cost = 2 * bytes_per_square / kCopyBytesPerNanosecond;
  frame.ParallelFor(NumRows(planes) * num_down * num_along, cost, [&](int64_t begin, int64_t end) {
    ForEachStretch(planes, num_down * num_along, dst, src, begin, end,
                   [&](std::byte* to, const std::byte* from, int64_t first, int64_t last) {
                     for (int64_t i = first; i < last; ++i) {
                       TransposeSquare<T>(plane, to, from, i / num_along * kSquare, i % num_along * kSquare);
                     }
                   });
  });
}

// The dimension that is contiguous in the source while the last one is contiguous in the result; the last one if there
// is none such.
size_t FindTransposed(std::span<const Dim> dims, ptrdiff_t element_size) {
  const size_t last = dims.size() - 1;
  if (dims[last].dst_stride != element_size || dims[last].src_stride == 0) return last;
  for (size_t i = 0; i < last; ++i) {
    if (dims[i].src_stride == element_size) return i;
  }
  return last;
}

}  // namespace

void StridedCopy::AddDim(int64_t size, int64_t dst_stride, int64_t src_stride) {
  empty_ = empty_ || size == 0;
  if (size == 1 || empty_) return;
  const Dim dim = {size, static_cast<ptrdiff_t>(dst_stride) * element_size_,
                   static_cast<ptrdiff_t>(src_stride) * element_size_};
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    if (outer.dst_stride == static_cast<ptrdiff_t>(size) * dim.dst_stride &&
        outer.src_stride == static_cast<ptrdiff_t>(size) * dim.src_stride) {
      outer = {outer.size * size, dim.dst_stride, dim.src_stride};
      return;
    }
  }
  dims_[rank_++] = dim;
}

void StridedCopy::Run(const KernelFrame& frame, void* dst, const void* src) const {
  if (empty_) return;
  auto* to = static_cast<std::byte*>(dst);
  const auto* from = static_cast<const std::byte*>(src);
  std::span<const Dim> dims(dims_, static_cast<size_t>(rank_));
  ptrdiff_t element_size = element_size_;
  if (!dims.empty() && IsContiguous(dims.back())) {
    const int64_t row_bytes = dims.back().size * element_size;
    dims = dims.first(dims.size() - 1);
    // Rows of a few bytes are copied as larger elements.
    const bool is_element = row_bytes <= 16 && (row_bytes & (row_bytes - 1)) == 0;
    if (dims.empty() || (!is_element && row_bytes > static_cast<int64_t>(kMaxShortBytes))) {
      return CopyRows(frame, dims, row_bytes, to, from);
    }
    if (!is_element) {
      const auto size = static_cast<size_t>(row_bytes);
      return WithHalf(size, [&](auto half) { CopyShortRows<half()>(frame, dims, size, to, from); });
    }
    element_size = static_cast<ptrdiff_t>(row_bytes);
  }
  if (dims.empty()) {
    std::memcpy(to, from, static_cast<size_t>(element_size));
    return;
  }
  const size_t down = FindTransposed(dims, element_size);
  WithElementType(static_cast<size_t>(element_size), [&]<typename T>(std::type_identity<T>) {
    if constexpr (sizeof(T) < sizeof(Bytes16)) {
      if (down + 1 < dims.size()) return CopyTransposed<T>(frame, dims, down, to, from);
    }
    CopyStrided<T>(frame, dims, to, from);
  });
}

}  // namespace tandem::cpu
