// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products of bf16 matrices by AMX, the matrix tiles of Intel's processors since 2023: Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 1, chapter 18, and TDPBF16PS in volume 2. An instruction adds to 16 x 16 sums
// in f32 the products of 16 rows of up to 16 pairs of A and as many pairs of rows of B, in eight tile registers of
// 1 KB. Four of them have the sums, two A and two B.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gemm/gemm_kernels.h"
#include "simd/simd_targets.h"

#ifdef TANDEM_CPU_MAY_HAVE_AMX

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/gemm_amx.cc"
// clang-format off: this comes first, and then what is compiled for each target.
#include "hwy/foreach_target.h"
// clang-format on
#include "gemm/gemm_pack-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

constexpr int kTileSize = 16;          // rows of a tile, and words of a row
constexpr int kPanel = 2 * kTileSize;  // rows of a panel of A, columns of a panel of B
constexpr int kMaxPairs = kTileSize;   // of products that one instruction adds to each sum
constexpr int kStep = 2 * kMaxPairs;   // the same as depth
constexpr int64_t kRowBytes = 4 * kTileSize;
constexpr int64_t kTileBytes = kTileSize * kRowBytes;
constexpr int64_t kMaxDepth = 512;  // of a block, so that a panel of A stays in the first-level cache

// Panels have all pairs of a step of the depth behind each other, and then those of the next step, which may have
// fewer. A pair is a word whose lower half comes first in depth; where the depth is odd, the last pair ends with 0.
// A step has two tiles, one after the other, with zeros beyond `width`. Of A, pair p of row i of a tile is word
// i * pairs + p; of B, that of column i is word p * kTileSize + i.
constexpr int PairsOf(int64_t depth) { return static_cast<int>((depth + 1) / 2); }

// The tiles of A.
void PairsInRows(const BFloat16* from, int64_t width_stride, int64_t depth_stride, int width, int depth, uint32_t* to) {
  const int pairs = PairsOf(depth);
  std::fill_n(to + width * pairs, (kPanel - width) * pairs, 0u);
  for (int i = 0; i < width; ++i, from += width_stride, to += pairs) {
    to[pairs - 1] = 0;
    auto* const row = reinterpret_cast<unsigned char*>(to);
    if (depth_stride == 1) {
      // A copy whose size is known takes one instruction.
      depth == kStep ? std::memcpy(row, from, kStep * sizeof(BFloat16))
                     : std::memcpy(row, from, static_cast<size_t>(depth) * sizeof(BFloat16));
      continue;
    }
    for (int p = 0; p < depth; ++p) std::memcpy(row + 2 * p, from + p * depth_stride, sizeof(BFloat16));
  }
}

// The tiles of B, whose columns are neighbours in memory.
void PairsInColumns(const BFloat16* from, int64_t depth_stride, int width, int depth, uint32_t* to) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint16_t, decltype(d)> half;
  static constexpr uint16_t kZeros[kPanel] = {};
  alignas(64) uint16_t copies[2][kPanel] = {};
  const auto row = [&](int p) -> const uint16_t* {
    if (p >= depth) return kZeros;
    const auto* elements = reinterpret_cast<const uint16_t*>(from + p * depth_stride);
    if (width == kPanel) return elements;
    return std::copy_n(elements, width, copies[p % 2]) - width;
  };
  for (int p = 0; p < depth; p += 2, to += kTileSize) {
    const uint16_t* const first = row(p);
    const uint16_t* const second = row(p + 1);
    for (int i = 0; i < kPanel; i += kTileSize) {
      const auto low = hn::PromoteTo(d, hn::LoadU(half, first + i));
      const auto high = hn::PromoteTo(d, hn::LoadU(half, second + i));
      hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d, to + i * PairsOf(depth));
    }
  }
}

// By the other form, where elements are neighbours in that one.
template <bool kOfA>
void PackPanel(const BFloat16* from, int64_t width_stride, int64_t depth_stride, int64_t width, int64_t depth,
               float* to) {
  alignas(64) uint32_t other[kPanel * kMaxPairs];
  for (int64_t p = 0; p < depth; p += kStep, from += kStep * depth_stride) {
    const int step = static_cast<int>(std::min<int64_t>(kStep, depth - p));
    const int pairs = PairsOf(step);
    auto* const words = reinterpret_cast<uint32_t*>(to) + p / 2 * kPanel;
    const bool in_columns = width_stride == 1 && depth_stride != 1;
    uint32_t* const as_they_lie = in_columns == kOfA ? other : words;
    if (in_columns) {
      PairsInColumns(from, depth_stride, static_cast<int>(width), step, as_they_lie);
    } else {
      PairsInRows(from, width_stride, depth_stride, static_cast<int>(width), step, as_they_lie);
    }
    if (in_columns != kOfA) continue;
    for (int i = 0; i < kPanel; i += kTileSize) {
      uint32_t* const tile = words + i * pairs;
      const uint32_t* const from_tile = other + i * pairs;
      if constexpr (!kOfA) {
        TransposePanel<uint32_t, kTileSize>(from_tile, pairs, kTileSize, pairs, tile);
      } else if (pairs == kMaxPairs) {
        TransposePanel<uint32_t, kMaxPairs>(from_tile, kTileSize, kMaxPairs, kTileSize, tile);
      } else {
        for (int r = 0; r < kTileSize; ++r) {
          for (int pair = 0; pair < pairs; ++pair) tile[r * pairs + pair] = from_tile[pair * kTileSize + r];
        }
      }
    }
  }
}

// What LDTILECFG reads.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

#define TANDEM_AMX __attribute__((target("amx-tile,amx-bf16")))

// Compilers do not know that some of these instructions read and write memory: all of it is up to date here for them.
void Fence(const void* used_by_them) { asm volatile("" : : "r"(used_by_them) : "memory"); }

// Tiles 0 to 3 are the sums, 4 and 5 A's, 6 and 7 B's.
TANDEM_AMX void Configure(int pairs) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = static_cast<uint8_t>(tile < 6 ? kTileSize : pairs);
    config.row_bytes[tile] = static_cast<uint16_t>(tile == 4 || tile == 5 ? 4 * pairs : kRowBytes);
  }
  Fence(&config);
  _tile_loadconfig(&config);
}

// Panels, or rows of A, of which some steps are to be multiplied: where the first step is, and bytes from row to row of
// a tile, from tile to tile of a step, and from step to step.
struct Panel {
  const unsigned char* first;
  int64_t row_stride;
  int64_t tile_stride;
  int64_t step_stride;
};

// Of a packed panel, from a step on, `pairs` pairs each; kTileSize words from row to row of B's tiles, `pairs` of A's.
Panel PackedPanel(const float* panel, int64_t first_step, int pairs, int words_a_row) {
  const int64_t tile_bytes = pairs * kRowBytes;
  return {reinterpret_cast<const unsigned char*>(panel) + first_step * 2 * kTileBytes,
          words_a_row * static_cast<int64_t>(sizeof(uint32_t)), tile_bytes, 2 * tile_bytes};
}

// Adds the products of `steps` steps to kRows times kCols tiles of sums. Of B, which passes by rows of A that stay in
// the first-level cache, that keeps nothing.
template <int kRows, int kCols>
TANDEM_AMX void AddSteps(Panel a, Panel b, int64_t steps, bool accumulate, float* c, int64_t ldc) {
  const int64_t c_stride = ldc * static_cast<int64_t>(sizeof(float));
  Fence(c);
  if (accumulate) {
    _tile_loadd(0, c, c_stride);
    if constexpr (kCols > 1) _tile_loadd(1, c + kTileSize, c_stride);
    if constexpr (kRows > 1) _tile_loadd(2, c + kTileSize * ldc, c_stride);
    if constexpr (kRows > 1 && kCols > 1) _tile_loadd(3, c + kTileSize * ldc + kTileSize, c_stride);
  } else {
    _tile_zero(0);
    if constexpr (kCols > 1) _tile_zero(1);
    if constexpr (kRows > 1) _tile_zero(2);
    if constexpr (kRows > 1 && kCols > 1) _tile_zero(3);
  }
  for (int64_t step = 0; step < steps; ++step, a.first += a.step_stride, b.first += b.step_stride) {
    _tile_stream_loadd(6, b.first, b.row_stride);
    _tile_loadd(4, a.first, a.row_stride);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kCols > 1) {
      _tile_stream_loadd(7, b.first + b.tile_stride, b.row_stride);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRows > 1) {
      _tile_loadd(5, a.first + a.tile_stride, a.row_stride);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kRows > 1 && kCols > 1) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_stride);
  if constexpr (kCols > 1) _tile_stored(1, c + kTileSize, c_stride);
  if constexpr (kRows > 1) _tile_stored(2, c + kTileSize * ldc, c_stride);
  if constexpr (kRows > 1 && kCols > 1) _tile_stored(3, c + kTileSize * ldc + kTileSize, c_stride);
  Fence(c);
}

// Some steps of a block, `pairs` pairs each: all of them, or those that are whole, or the rest. The sums are complete
// with it if there is an epilogue.
struct Part {
  int64_t first_step;
  int64_t steps;
  int pairs;
  bool accumulate;
  const GemmEpilogue* epilogue;
};

// Rows [row, row + rows) of C.
void AddToRows(const GemmBlock<float>& g, const Part& part, const Panel& a, int64_t row, int64_t rows) {
  Panel b = PackedPanel(g.b, part.first_step, part.pairs, kTileSize);
  for (int64_t col = 0; col < g.cols; col += kPanel, b.first += PairsOf(g.depth) * kPanel * sizeof(uint32_t)) {
    const int64_t cols = std::min<int64_t>(kPanel, g.cols - col);
    const auto add = rows > kTileSize ? (cols > kTileSize ? AddSteps<2, 2> : AddSteps<2, 1>)
                                      : (cols > kTileSize ? AddSteps<1, 2> : AddSteps<1, 1>);
    float* const c = g.c + row * g.ldc + col;
    // Tiles are read and written whole. And what is complete here need not get into C.
    alignas(64) float own[kPanel * kPanel];
    const bool is_whole = rows % kTileSize == 0 && cols % kTileSize == 0;
    const bool in_place = is_whole && (part.accumulate || part.epilogue == nullptr);
    float* const sums = in_place ? c : own;
    const int64_t ld = in_place ? g.ldc : kPanel;
    const auto bytes = static_cast<size_t>(cols) * sizeof(float);
    for (int64_t i = 0; !in_place && part.accumulate && i < rows; ++i) std::memcpy(own + i * ld, c + i * g.ldc, bytes);
    add(a, b, part.steps, part.accumulate, sums, ld);
    if (part.epilogue != nullptr) {
      part.epilogue->apply(part.epilogue->context, sums, ld, row, rows, col, cols);
    } else {
      for (int64_t i = 0; !in_place && i < rows; ++i) std::memcpy(c + i * g.ldc, own + i * ld, bytes);
    }
  }
}

TANDEM_AMX void AddPart(const GemmBlock<float>& g, const Part& part) {
  Configure(part.pairs);
  for (int64_t row = 0; row < g.rows; row += kPanel) {
    const int64_t rows = std::min<int64_t>(kPanel, g.rows - row);
    if (g.a_packed) {
      const float* const panel = g.a + row * PairsOf(g.depth);
      AddToRows(g, part, PackedPanel(panel, part.first_step, part.pairs, part.pairs), row, rows);
      continue;
    }
    const auto* const from = reinterpret_cast<const BFloat16*>(g.a) + row * g.a_row_stride + part.first_step * kStep;
    const int64_t depth = std::min<int64_t>(part.steps * kStep, g.depth - part.first_step * kStep);
    if (rows % kTileSize == 0 && depth == part.steps * kStep) {
      const int64_t row_bytes = g.a_row_stride * static_cast<int64_t>(sizeof(BFloat16));
      AddToRows(g, part, {reinterpret_cast<const unsigned char*>(from), row_bytes, kTileSize * row_bytes, kRowBytes},
                row, rows);
      continue;
    }
    // What lies behind rows and their ends is not to be read.
    alignas(64) float packed[kPanel * kMaxDepth / 2];
    PackPanel<true>(from, g.a_row_stride, 1, rows, depth, packed);
    AddToRows(g, part, PackedPanel(packed, 0, part.pairs, part.pairs), row, rows);
  }
}

TANDEM_AMX void MultiplyAndFinish(const GemmBlock<float>& g, const GemmEpilogue* epilogue) {
  const int64_t whole_steps = g.depth / kStep;
  const int rest = PairsOf(g.depth % kStep);
  if (whole_steps > 0) {
    AddPart(g, {0, whole_steps, kMaxPairs, g.accumulate, rest == 0 ? epilogue : nullptr});
  }
  if (rest > 0) AddPart(g, {whole_steps, 1, rest, g.accumulate || whole_steps > 0, epilogue});
  _tile_release();
}

#undef TANDEM_AMX

// By AVX512_BF16, but for subnormal numbers, which epilogues may give, and which that takes for 0.
__attribute__((target("avx512f,avx512bw,avx512dq,avx512bf16"))) void RoundRow(const float* from, int64_t count,
                                                                              BFloat16* to) {
  constexpr int64_t kLanes = 16;
  constexpr int kSubnormal = 0x20;  // of VFPCLASSPS
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const __m512 low = _mm512_loadu_ps(from + i);
    const __m512 high = _mm512_loadu_ps(from + i + kLanes);
    if ((_mm512_fpclass_ps_mask(low, kSubnormal) | _mm512_fpclass_ps_mask(high, kSubnormal)) != 0) break;
    const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
    std::memcpy(to + i, &rounded, sizeof(rounded));
  }
  Round(from + i, count - i, to + i);
}

uint16_t LeastMagnitude(const BFloat16* numbers, int64_t stride, int64_t count) {
  const auto* const bits = reinterpret_cast<const uint16_t*>(numbers);
  constexpr uint16_t kMagnitude = 0x7FFF;
  const hn::ScalableTag<uint16_t> d;
  constexpr int64_t kLanes = HWY_LANES(uint16_t);
  auto least = hn::Set(d, uint16_t{0xFFFF});
  int64_t i = 0;
  for (; stride == 1 && i + kLanes <= count; i += kLanes) {
    const auto magnitude = hn::And(hn::LoadU(d, bits + i), hn::Set(d, kMagnitude));
    least = hn::Min(least, hn::Sub(magnitude, hn::Set(d, uint16_t{1})));
  }
  alignas(64) uint16_t lanes[kLanes];
  hn::Store(least, d, lanes);
  uint16_t result = *std::min_element(lanes, lanes + kLanes);
  for (; i < count; ++i) {
    result = std::min(result, static_cast<uint16_t>((bits[i * stride] & kMagnitude) - 1));
  }
  return result;
}

const GemmKernels<BFloat16>* AmxKernels() {
  static constexpr GemmKernels<BFloat16> kKernels = [] {
    GemmKernels<BFloat16> kernels = {};
    kernels.panel_rows = kernels.panel_cols = kPanel;
    kernels.own_blocks = {.max_depth = kMaxDepth, .packed_together = 2, .takes_rows_of_a = true, .speed = 16};
    kernels.multiply = [](const GemmBlock<float>& g) { MultiplyAndFinish(g, nullptr); };
    kernels.multiply_and_finish = [](const GemmBlock<float>& g, const GemmEpilogue& epilogue) {
      MultiplyAndFinish(g, &epilogue);
    };
    kernels.least_magnitude = LeastMagnitude;
    kernels.pack_a = PackPanel<true>;
    kernels.pack_b = PackPanel<false>;
    kernels.round = RoundRow;
    return kernels;
  }();
  return &kKernels;
}

#else

const GemmKernels<BFloat16>* AmxKernels() { return nullptr; }

#endif  // AVX-512

}  // namespace
}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tandem::cpu {
namespace {

HWY_EXPORT(AmxKernels);

struct Cpuid {
  Cpuid(unsigned leaf, unsigned part) {
    if (__get_cpuid_count(leaf, part, &eax, &ebx, &ecx, &edx) == 0) eax = ebx = ecx = edx = 0;
  }
  unsigned eax, ebx, ecx, edx;
};

// Whether the processor has tiles for bf16, and AVX512_BF16, and the operating system keeps tiles for each thread.
// Linux has to be asked, once for the process, since they make what it keeps larger by 8 KB.
bool AskForTiles() {
  constexpr unsigned kAmxBF16 = 1u << 22, kAmxTile = 1u << 24, kAvx512BF16 = 1u << 5, kOsXSave = 1u << 27;
  const unsigned tiles = Cpuid(7, 0).edx;
  if ((tiles & kAmxBF16) == 0 || (tiles & kAmxTile) == 0) return false;
  if ((Cpuid(7, 1).eax & kAvx512BF16) == 0 || (Cpuid(1, 0).ecx & kOsXSave) == 0) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>
  constexpr long kTileData = 18;               // the component of the state: XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const GemmKernels<BFloat16>* GetAmxKernels() {
  if (KernelRun::IsExact()) return nullptr;
  const GemmKernels<BFloat16>* const kernels = HWY_DYNAMIC_DISPATCH(AmxKernels)();
  if (kernels == nullptr) return nullptr;
  static const bool has_tiles = AskForTiles();
  return has_tiles ? kernels : nullptr;
}

}  // namespace tandem::cpu

#endif  // HWY_ONCE

#endif  // TANDEM_CPU_MAY_HAVE_AMX
