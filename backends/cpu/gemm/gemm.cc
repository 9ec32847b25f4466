// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gemm's choice of a way for each shape, the blocking for the caches, and the division among threads.

#include "gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gemm/gemm_kernels.h"
#include "gemm/packed_memory.h"
#include "kernels/polls.h"
#include "kernels/task_memory.h"
#include "kernels/task_size.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Rows and columns of C for which A and B are packed at a time: large enough that packing is cheap beside multiplying.
constexpr int64_t kMaxBlockRows = 1536;
constexpr int64_t kMaxBlockCols = 2048;
// Rows of A so far apart lie in few sets of the first-level cache, which has at least 32 KB.
constexpr int64_t kFarApartBytes = 2048;
// What a block of one packed matrix may take of a second-level cache while panels of the other pass by it.
constexpr int64_t kCacheBytes = int64_t{256} << 10;

// Up to so many products, matrices in the cache are multiplied as they lie.
constexpr int64_t kMaxDirectProducts = int64_t{1} << 20;
// The same where B is packed already.
constexpr int64_t kMaxDirectWithPackedB = int64_t{1} << 24;

constexpr int64_t DivideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
constexpr int64_t RoundUp(int64_t x, int64_t multiple) { return DivideUp(x, multiple) * multiple; }

// Whether a * b * c > limit, without overflow; all are positive.
bool ProductExceeds(int64_t a, int64_t b, int64_t c, int64_t limit) { return a > limit / b || a * b > limit / c; }

// Calls fn for ranges of [0, n), on the queue if there is one and more than one grain.
template <typename F>
void ForRanges(WorkQueue* queue, int64_t n, int64_t grain, F&& fn) {
  if (queue == nullptr || n <= grain) {
    fn(int64_t{0}, n);
  } else {
    ParallelFor(*queue, n, grain, fn);
  }
}

void ApplyEpilogue(const GemmEpilogue& epilogue, void* sums, int64_t ldc, int64_t row, int64_t rows, int64_t col,
                   int64_t cols) {
  if (epilogue.apply != nullptr) epilogue.apply(epilogue.context, sums, ldc, row, rows, col, cols);
}

// Room for `count` elements, aligned for the cache: within the object if it suffices, else on the heap.
template <typename T>
class Room {
 public:
  explicit Room(int64_t count) {
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
    if (bytes > sizeof(local_)) heap_.Allocate(bytes);
    data_ = reinterpret_cast<T*>(bytes > sizeof(local_) ? heap_.data() : local_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  T* data() { return data_; }  // null if there was no memory

 private:
  TaskMemory heap_;
  T* data_;
  alignas(64) std::byte local_[8192];
};

template <typename T, typename Kernels>
ConstantForms::Key KeyOf(const Kernels& kernels, PackedOrder order, int64_t n, int64_t k, const MatrixView<T>& b) {
  return {&kernels, {static_cast<int64_t>(order), AddressOf(b.data), b.row_stride, b.col_stride, n, k}};
}

// A row vector, row `row` of A, times a matrix that has contiguous rows or columns.
template <typename T>
Status MultiplyVector(WorkQueue* queue, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                      const GemmEpilogue& epilogue, int64_t row = 0) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  const bool rows = b.col_stride == 1;
  Room<T> contiguous_x(rows || a.col_stride == 1 ? 0 : k);
  GemvBlock<T> whole = {n, k, a.data, a.col_stride, b.data, rows ? b.row_stride : b.col_stride, c};
  if (!rows && a.col_stride != 1) {
    T* x = contiguous_x.data();
    if (x == nullptr) return Status::OutOfMemory();
    for (int64_t p = 0; p < k; ++p) x[p] = a.data[p * a.col_stride];
    whole.x = x;
    whole.x_stride = 1;
  }
  // Parts that are as wide as can be, since the rows of narrow ones are far apart for their size.
  const int64_t fair = queue == nullptr ? n : n / (2 * int64_t{queue->ParallelismLevel()});
  const int64_t grain = RoundUp(std::max(DivideUp(kMinTaskElements, k), fair), rows ? 64 : 4);
  ForRanges(queue, n, grain, [&](int64_t begin, int64_t end) {
    GemvBlock<T> part = whole;
    part.cols = end - begin;
    part.m = b.data + begin * b.col_stride;
    part.y = c + begin;
    (rows ? kernels.gemv_rows : kernels.gemv_columns)(part);
    ApplyEpilogue(epilogue, part.y, n, row, 1, begin, end - begin);
  });
  return {};
}

// The same with a matrix from beyond the caches, of contiguous rows, whose columns lie in panels that are as wide as
// kernels take at a time, so that each thread reads memory in order and keeps its sums in registers. False if they do
// not, since `forms` are not to have it, and nothing was done.
template <typename T>
bool MultiplyVectorByPanels(WorkQueue* queue, int64_t n, int64_t k, const MatrixView<T>& a, const MatrixView<T>& b,
                            T* c, const GemmEpilogue& epilogue, ConstantForms* forms) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  const int64_t width = kernels.gemv_cols;
  if (width == 0 || n <= width || b.col_stride != 1 || k <= kGemvCachedBytes / static_cast<int64_t>(sizeof(T)) / n) {
    return false;
  }
  const ConstantForms::Key key = KeyOf(kernels, PackedOrder::kColumnPanels, n, k, b);
  const uint64_t bytes = static_cast<uint64_t>(n) * static_cast<uint64_t>(k) * sizeof(T);
  forms = IfWanted(forms, key, bytes);
  if (forms == nullptr) return false;
  PackedMemory memory(forms, key, bytes);
  T* const panels = reinterpret_cast<T*>(memory.data());
  if (panels == nullptr) return false;
  const auto for_panels = [&](auto fn) {
    const int64_t grain = DivideUp(kMinTaskElements, k * width);
    ForRanges(queue, DivideUp(n, width), grain, [&](int64_t begin, int64_t end) {
      StopPoll poll(kPollElements);
      for (int64_t col = begin * width; col < std::min(end * width, n) && !poll.Stops(k * width); col += width) {
        fn(col, std::min(width, n - col), panels + col * k);
      }
    });
  };
  if (!memory.is_packed()) {
    for_panels([&](int64_t col, int64_t cols, T* to) {
      StopPoll poll(kPollElements);
      for (int64_t p = 0; p < k && !poll.Stops(cols); ++p, to += cols) {
        std::copy_n(b.data + p * b.row_stride + col, cols, to);
      }
    });
    memory.SetPacked();
  }
  for_panels([&](int64_t col, int64_t cols, const T* panel) {
    kernels.gemv_rows({cols, k, a.data, a.col_stride, panel, cols, c + col});
    ApplyEpilogue(epilogue, c + col, n, 0, 1, col, cols);
  });
  return true;
}

// Multiplies without packing: for small matrices, and where packed elements would be used too few times. `packed_b`,
// if not null, has B packed by slices of kGemmDepth.
template <typename T>
void MultiplyDirect(const GemmKernels<T>& kernels, WorkQueue* queue, int64_t m, int64_t n, int64_t k,
                    const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t ldc, const GemmEpilogue& epilogue,
                    const T* packed_b) {
  const int64_t packed_cols = packed_b == nullptr ? 0 : RoundUp(n, kernels.panel_cols);
  const auto multiply = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
    GemmBlock<T> g = {};
    g.rows = rows;
    g.cols = cols;
    g.a_row_stride = a.row_stride;
    g.a_depth_stride = a.col_stride;
    g.b_depth_stride = packed_b != nullptr ? kernels.panel_cols : b.row_stride;
    g.b_packed = packed_b != nullptr;
    g.c = c + row * ldc + col;
    g.ldc = ldc;
    StopPoll poll(kPollProducts);
    for (int64_t p = 0; p < k; p += kGemmDepth) {
      g.depth = std::min(kGemmDepth, k - p);
      if (poll.Stops(rows * cols * g.depth)) return;
      g.a = a.data + row * a.row_stride + p * a.col_stride;
      g.b = g.b_packed ? packed_b + p * packed_cols + col * g.depth : b.data + p * b.row_stride + col;
      g.accumulate = p > 0;
      kernels.multiply(g);
    }
    ApplyEpilogue(epilogue, g.c, ldc, row, rows, col, cols);
  };
  const int64_t task_products = MinTaskProducts(queue, NumProducts(m, n, k));
  if (queue == nullptr || !ProductExceeds(m, n, k, 4 * task_products)) return multiply(0, m, 0, n);
  const bool by_rows = DivideUp(m, kernels.panel_rows) >
                       std::min<int64_t>(DivideUp(n, kernels.panel_cols), 4 * queue->ParallelismLevel() - 1);
  const int64_t unit = by_rows ? kernels.panel_rows : kernels.panel_cols;
  const int64_t grain = DivideUp(task_products, (by_rows ? n : m) * k * unit);
  ForRanges(queue, DivideUp(by_rows ? m : n, unit), grain, [&](int64_t begin, int64_t end) {
    begin *= unit;
    end = std::min(end * unit, by_rows ? m : n);
    by_rows ? multiply(begin, end - begin, 0, n) : multiply(0, m, begin, end - begin);
  });
}

// The same with B packed, because its rows have gaps. Not inline, so that other ways need no room on the stack for B.
template <typename T>
[[gnu::noinline]] Status MultiplyWithPackedB(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a,
                                             MatrixView<T> b, T* c, int64_t ldc, const GemmEpilogue& epilogue) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  const int64_t packed_cols = RoundUp(n, kernels.panel_cols);
  Room<T> packed_b(packed_cols * k);
  if (packed_b.data() == nullptr) return Status::OutOfMemory();
  for (int64_t p = 0; p < k; p += kGemmDepth) {
    const int64_t depth = std::min(kGemmDepth, k - p);
    for (int64_t col = 0; col < n; col += kernels.panel_cols) {
      kernels.pack_b(b.data + p * b.row_stride + col * b.col_stride, b.col_stride, b.row_stride,
                     std::min(kernels.panel_cols, n - col), depth, packed_b.data() + p * packed_cols + col * depth);
    }
  }
  MultiplyDirect<T>(kernels, queue, m, n, k, a, b, c, ldc, epilogue, packed_b.data());
  return {};
}

// The types of weights, whose constants are packed once.
template <typename T>
inline constexpr bool kHasConstants = std::is_same_v<GemmComputeType<T>, float> || std::is_floating_point_v<T>;

// GemmKernels::least_magnitude of a matrix.
template <typename S>
uint16_t LeastMagnitude(const GemmKernels<S>& kernels, WorkQueue* queue, int64_t rows, int64_t cols, MatrixView<S> x) {
  if (x.row_stride == 1) {
    std::swap(rows, cols);
    x = x.Transposed();
  }
  // Without gaps it is as one row, of which some elements are looked at at a time rather than rows.
  const bool has_gaps = x.col_stride != 1 || (x.row_stride != cols && rows > 1);
  constexpr int64_t kElementsATime = 4 * kMinTaskElements;
  const int64_t units = has_gaps ? rows : DivideUp(rows * cols, kElementsATime);
  const int64_t grain = has_gaps ? DivideUp(kElementsATime, cols) : 1;
  std::atomic<uint16_t> least{UINT16_MAX};
  ForRanges(queue, units, grain, [&](int64_t begin, int64_t end) {
    uint16_t of_range = UINT16_MAX;
    StopPoll poll(kPollElements);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * (has_gaps ? x.row_stride : kElementsATime);
      const int64_t count = has_gaps ? cols : std::min(kElementsATime, rows * cols - first);
      if (poll.Stops(count)) return;
      of_range = std::min(of_range, kernels.least_magnitude(x.data + first, x.col_stride, count));
    }
    uint16_t known = least.load(std::memory_order_relaxed);
    while (of_range < known && !least.compare_exchange_weak(known, of_range, std::memory_order_relaxed)) {
    }
  });
  return least.load(std::memory_order_relaxed);
}

// Whether no bf16 number of at least these magnitudes, no product of two and no sum of these is below 2^-126 but 0:
// products and sums are multiples of the product of last bits, which are 2^-7 of what exponents say.
bool AreAllNormal(uint16_t least_of_a, uint16_t least_of_b) {
  constexpr int kBias = 127, kFraction = 7, kMinExponent = 1 - kBias;
  const auto exponent = [](uint16_t least) { return ((least + 1) >> kFraction) - kBias; };
  const int a = exponent(least_of_a), b = exponent(least_of_b);
  return a >= kMinExponent && b >= kMinExponent && a + b - 2 * kFraction >= kMinExponent;
}

// Whether the kernels would lose numbers of this product, since there may be such small ones. Calls `least_of_b` for
// GemmKernels::least_magnitude of B if it is wanted.
template <typename S, typename F>
bool MayLoseNumbers(const GemmKernels<S>& kernels, WorkQueue* queue, int64_t m, int64_t k, const MatrixView<S>& a,
                    F&& least_of_b) {
  if constexpr (!kMayHaveAmx<S>) return false;
  if (kernels.least_magnitude == nullptr) return false;
  return !AreAllNormal(LeastMagnitude(kernels, queue, m, k, a), least_of_b());
}

// All panels of a B that is kept packed, by slices of PackedBlocks::max_depth.
template <typename S>
class ConstantB {
 public:
  using T = GemmComputeType<S>;

  ConstantB(ConstantForms* forms, int64_t n, int64_t k, const MatrixView<S>& b)
      : kernels_(GetPackedKernels<S>()),
        n_(n),
        k_(k),
        b_(b),
        cols_(RoundUp(n, kernels_.panel_cols)),
        memory_(forms, KeyOf(kernels_, PackedOrder::kSlicedPanels, n, k, b), Bytes(n, k)) {}

  // The same forms if there is to be this one. Not if most of the panels would be padding, or they do not fit the
  // blocks of C.
  static ConstantForms* IfWorthIt(ConstantForms* forms, int64_t n, int64_t k, const MatrixView<S>& b) {
    const GemmKernels<S>& kernels = GetPackedKernels<S>();
    if (forms == nullptr || RoundUp(n, kernels.panel_cols) > 2 * n || kMaxBlockCols % kernels.panel_cols != 0) {
      return nullptr;
    }
    return IfWanted(forms, KeyOf(kernels, PackedOrder::kSlicedPanels, n, k, b), Bytes(n, k));
  }

  // Null if there was no memory.
  const T* Pack(WorkQueue* queue) {
    T* const packed = reinterpret_cast<T*>(memory_.data());
    if (packed == nullptr || memory_.is_packed()) return packed;
    const int64_t width = kernels_.panel_cols;
    const int64_t panels = cols_ / width;
    const int64_t max_depth = std::min(k_, kernels_.blocks().max_depth);
    const int64_t grain = DivideUp(kMinTaskElements, max_depth * width);
    ForRanges(queue, panels * DivideUp(k_, max_depth), grain, [&](int64_t begin, int64_t end) {
      StopPoll poll(kPollElements);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t p = i / panels * max_depth;
        const int64_t col = i % panels * width;
        const int64_t depth = std::min(max_depth, k_ - p);
        if (poll.Stops(depth * width)) return;
        kernels_.pack_b(b_.data + p * b_.row_stride + col * b_.col_stride, b_.col_stride, b_.row_stride,
                        std::min(width, n_ - col), depth,
                        packed + kernels_.blocks().PackedDepth(p) * cols_ + col * kernels_.blocks().PackedDepth(depth));
      }
    });
    if constexpr (kMayHaveAmx<S>) {
      if (kernels_.least_magnitude != nullptr) least_magnitude() = LeastMagnitude(kernels_, queue, k_, n_, b_);
    }
    memory_.SetPacked();
    return packed;
  }

  const GemmKernels<S>& kernels() const { return kernels_; }
  // Of B, once it is packed, if the kernels want it: behind the panels.
  uint16_t& least_magnitude() const {
    return *reinterpret_cast<uint16_t*>(memory_.data() + Bytes(n_, k_) - sizeof(uint16_t));
  }

 private:
  static uint64_t Bytes(int64_t n, int64_t k) {
    const GemmKernels<S>& kernels = GetPackedKernels<S>();
    const int64_t depth = kernels.blocks().PackedDepth(k);
    const auto cols = static_cast<uint64_t>(RoundUp(n, kernels.panel_cols));
    return cols * static_cast<uint64_t>(depth) * sizeof(T) + (kMayHaveAmx<S> ? sizeof(uint16_t) : 0);
  }

  const GemmKernels<S>& kernels_;
  const int64_t n_, k_;
  const MatrixView<S>& b_;
  const int64_t cols_;
  PackedMemory memory_;
};

// One multiplication with packing. `Run` takes C by blocks, and each block by slices of PackedBlocks::max_depth
// products.
template <typename S>
class PackedProduct {
 public:
  using T = GemmComputeType<S>;

  // `constant_b`, if not null, is B packed as a ConstantB for the same kernels.
  PackedProduct(const GemmKernels<S>& kernels, WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<S> a,
                MatrixView<S> b, S* c, int64_t ldc, const GemmEpilogue& epilogue, const T* constant_b)
      : kernels_(kernels),
        m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        c_(c),
        ldc_(ldc),
        epilogue_(epilogue),
        constant_b_(constant_b),
        task_products_(MinTaskProducts(queue, NumProducts(m, n, k)) * kernels_.blocks().speed) {
    if (queue != nullptr && ProductExceeds(m, n, k, 2 * task_products_)) queue_ = queue;
  }

  Status Run() {
    const int64_t depth = kernels_.blocks().PackedDepth(std::min(k_, kernels_.blocks().max_depth));
    const int64_t max_rows = RoundUp(std::min(m_, kMaxBlockRows), kernels_.panel_rows);
    const int64_t max_cols = RoundUp(std::min(n_, kMaxBlockCols), kernels_.panel_cols);
    if (!kInPlace) ld_sums_ = max_cols + kSumsGap;
    const int64_t sums = max_rows * ld_sums_;
    const int64_t own_cols = constant_b_ == nullptr ? max_cols : 0;
    const int64_t own_rows = packs_a() ? max_rows : 0;
    Room<T> scratch((own_rows + own_cols) * depth + sums);
    if (scratch.data() == nullptr) return Status::OutOfMemory();
    packed_b_ = scratch.data();
    packed_a_ = packed_b_ + own_cols * depth;
    sums_ = packed_a_ + own_rows * depth;
    StopPoll poll(kPollProducts);
    for (first_col_ = 0; first_col_ < n_; first_col_ += kMaxBlockCols) {
      cols_ = std::min(kMaxBlockCols, n_ - first_col_);
      for (first_row_ = 0; first_row_ < m_; first_row_ += kMaxBlockRows) {
        rows_ = std::min(kMaxBlockRows, m_ - first_row_);
        for (first_depth_ = 0; first_depth_ < k_; first_depth_ += kernels_.blocks().max_depth) {
          depth_ = std::min(kernels_.blocks().max_depth, k_ - first_depth_);
          if (poll.Stops(rows_ * cols_ * depth_)) return {};
          PackSlice();
          MultiplySlice();
        }
      }
    }
    return {};
  }

 private:
  bool packs_a() const {
    if (!kernels_.blocks().takes_rows_of_a) return true;
    return a_.col_stride != 1 || a_.row_stride * static_cast<int64_t>(sizeof(S)) % kFarApartBytes == 0;
  }

  // Whether sums can be kept in C itself.
  static constexpr bool kInPlace = std::is_same_v<S, T> || (std::is_integral_v<S> && sizeof(S) == sizeof(T));

  // Behind each row of sums, so that rows of a power of two are not all in the same set of a cache.
  static constexpr int64_t kSumsGap = 64 / sizeof(T);

  void PackSlice() {
    const int64_t a_width = kernels_.panel_rows;
    const int64_t b_width = kernels_.panel_cols;
    const int64_t packed_depth = kernels_.blocks().PackedDepth(depth_);
    const int64_t a_panels = packs_a() ? DivideUp(rows_, a_width) : 0;
    const int64_t b_panels = DivideUp(cols_, b_width);
    const S* a = a_.data + first_row_ * a_.row_stride + first_depth_ * a_.col_stride;
    const S* b = b_.data + first_depth_ * b_.row_stride + first_col_ * b_.col_stride;
    // With one slice only, B stays packed for all blocks of rows.
    const int64_t first =
        constant_b_ != nullptr || (k_ <= kernels_.blocks().max_depth && first_row_ > 0) ? b_panels : 0;
    const int64_t grain = DivideUp(kMinTaskElements, depth_ * b_width);
    ForRanges(queue_, b_panels + a_panels - first, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin + first; panel < end + first; ++panel) {
        if (panel < b_panels) {
          const int64_t col = panel * b_width;
          kernels_.pack_b(b + col * b_.col_stride, b_.col_stride, b_.row_stride, std::min(b_width, cols_ - col), depth_,
                          packed_b_ + col * packed_depth);
        } else {
          const int64_t row = (panel - b_panels) * a_width;
          kernels_.pack_a(a + row * a_.row_stride, a_.row_stride, a_.col_stride, std::min(a_width, rows_ - row), depth_,
                          packed_a_ + row * packed_depth);
        }
      }
    });
  }

  // By tiles of C whose rows of A, or columns of B, stay in the second-level cache while the others pass by them.
  void MultiplySlice() {
    const bool keeps_a = kernels_.by_panels_of_b;
    const int64_t kept = keeps_a ? rows_ : cols_;
    const int64_t passing = keeps_a ? cols_ : rows_;
    const int64_t kept_unit = keeps_a ? kernels_.panel_rows : kernels_.panel_cols;
    const int64_t passing_unit = keeps_a ? kernels_.panel_cols : kernels_.panel_rows;
    const int64_t cached =
        kCacheBytes / static_cast<int64_t>(sizeof(T)) / kernels_.blocks().PackedDepth(kernels_.blocks().max_depth);
    const int64_t tile_kept = std::min(kept, std::max(kept_unit, cached / kept_unit * kept_unit));
    // Tiles with the work of one task at least, and of several if there are enough for all threads.
    const int64_t wanted = queue_ == nullptr ? 1 : 4 * queue_->ParallelismLevel();
    const int64_t enough = DivideUp(task_products_, tile_kept * depth_);
    const int64_t fair = passing * DivideUp(kept, tile_kept) / wanted;
    const int64_t tile_passing = std::min(passing, RoundUp(std::clamp(fair, enough, 8 * enough), passing_unit));
    const int64_t num_kept = DivideUp(kept, tile_kept);
    const int64_t num_passing = DivideUp(passing, tile_passing);
    ForRanges(queue_, num_kept * num_passing, 1, [&](int64_t begin, int64_t end) {
      StopPoll poll(kPollProducts);
      for (int64_t tile = begin; tile < end; ++tile) {
        if (poll.Stops(tile_kept * tile_passing * depth_)) return;
        const int64_t at_kept = tile / num_passing * tile_kept;
        const int64_t at_passing = tile % num_passing * tile_passing;
        const int64_t count_kept = std::min(tile_kept, kept - at_kept);
        const int64_t count_passing = std::min(tile_passing, passing - at_passing);
        keeps_a ? MultiplyTile(at_kept, count_kept, at_passing, count_passing)
                : MultiplyTile(at_passing, count_passing, at_kept, count_kept);
      }
    });
  }

  void MultiplyTile(int64_t row, int64_t rows, int64_t col, int64_t cols) {
    const int64_t packed_depth = kernels_.blocks().PackedDepth(depth_);
    const int64_t packed_first = kernels_.blocks().PackedDepth(first_depth_);
    GemmBlock<T> g = {};
    g.rows = rows;
    g.cols = cols;
    g.depth = depth_;
    if (packs_a()) {
      g.a = packed_a_ + row * packed_depth;
      g.a_row_stride = 1;
      g.a_depth_stride = kernels_.panel_rows;
      g.a_packed = true;
    } else {
      g.a = reinterpret_cast<const T*>(a_.data + (first_row_ + row) * a_.row_stride + first_depth_);
      g.a_row_stride = a_.row_stride;
      g.a_depth_stride = 1;
    }
    g.b = constant_b_ == nullptr
              ? packed_b_ + col * packed_depth
              : constant_b_ + packed_first * RoundUp(n_, kernels_.panel_cols) + (first_col_ + col) * packed_depth;
    g.b_depth_stride = kernels_.panel_cols;
    g.b_packed = true;
    g.accumulate = first_depth_ > 0;
    if constexpr (kInPlace) {
      g.c = reinterpret_cast<T*>(c_ + (first_row_ + row) * ldc_ + first_col_ + col);
      g.ldc = ldc_;
    } else {
      g.c = sums_ + row * ld_sums_ + col;
      g.ldc = ld_sums_;
    }
    const bool is_complete = first_depth_ + depth_ == k_;
    if (!is_complete || (kInPlace && epilogue_.apply == nullptr)) return kernels_.multiply(g);
    const Finish finish = {*this, first_row_ + row, first_col_ + col};
    const GemmEpilogue epilogue = {&Finish::Apply, &finish};
    if constexpr (kMayHaveAmx<S>) {
      if (kernels_.multiply_and_finish != nullptr) return kernels_.multiply_and_finish(g, epilogue);
    }
    // By so many rows at a time that they are still in the cache.
    const GemmBlock<T> whole = g;
    for (int64_t i = 0; i < rows; i += g.rows) {
      g.rows = std::min(8 * kernels_.panel_rows, rows - i);
      g.a = whole.a + i * packed_depth;
      g.c = whole.c + i * g.ldc;
      kernels_.multiply(g);
      ApplyEpilogue(epilogue, g.c, g.ldc, i, g.rows, 0, cols);
    }
  }

  // What happens to complete sums of a tile of C: the epilogue of the product, and rounding.
  struct Finish {
    const PackedProduct& product;
    int64_t row, col;  // the tile's first ones

    static void Apply(const void* context, void* sums, int64_t ldc, int64_t i, int64_t rows, int64_t j, int64_t cols) {
      const auto& [product, first_row, first_col] = *static_cast<const Finish*>(context);
      const int64_t row = first_row + i, col = first_col + j;
      ApplyEpilogue(product.epilogue_, sums, ldc, row, rows, col, cols);
      if constexpr (!kInPlace) {
        for (int64_t r = 0; r < rows; ++r) {
          product.kernels_.round(static_cast<const T*>(sums) + r * ldc, cols,
                                 product.c_ + (row + r) * product.ldc_ + col);
        }
      }
    }
  };

  const GemmKernels<S>& kernels_;
  WorkQueue* queue_ = nullptr;  // null if the product is too small to share
  const int64_t m_, n_, k_;
  const MatrixView<S> a_, b_;
  S* const c_;
  const int64_t ldc_;
  const GemmEpilogue& epilogue_;
  const T* const constant_b_;
  const int64_t task_products_;
  T* packed_a_;
  T* packed_b_;
  // Of the block of C, where C cannot hold them, and from row to row of them.
  T* sums_;
  int64_t ld_sums_ = 0;
  // The current block of C, and the current slice of A's columns and B's rows.
  int64_t first_row_, rows_;
  int64_t first_col_, cols_;
  int64_t first_depth_, depth_;
};

template <typename T>
Status MultiplyWithConstantB(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                             int64_t ldc, const GemmEpilogue& epilogue, ConstantForms* forms) {
  ConstantB<T> constant(forms, n, k, b);
  const GemmComputeType<T>* const packed = constant.Pack(queue);
  if (packed == nullptr) return Status::OutOfMemory();
  if constexpr (std::is_floating_point_v<T>) {
    const GemmKernels<T>& kernels = GetGemmKernels<T>();
    if (kernels.direct_cols != 0 && !ProductExceeds(n, k, m, kMaxDirectWithPackedB)) {
      MultiplyDirect<T>(kernels, queue, m, n, k, a, b, c, ldc, epilogue, packed);
      return {};
    }
  }
  if (MayLoseNumbers(constant.kernels(), queue, m, k, a, [&] { return constant.least_magnitude(); })) {
    return PackedProduct<T>(GetGemmKernels<T>(), queue, m, n, k, a, b, c, ldc, epilogue, nullptr).Run();
  }
  return PackedProduct<T>(constant.kernels(), queue, m, n, k, a, b, c, ldc, epilogue, packed).Run();
}

// Whether packing A and B would cost more than it saves.
template <typename T>
bool IsDirectBetter(const GemmKernels<T>& kernels, int64_t m, int64_t n, int64_t k, const MatrixView<T>& b) {
  if (kernels.direct_cols == 0 || b.col_stride != 1 || n % kernels.direct_cols != 0) return false;
  return m <= 2 * kernels.panel_rows || n <= kernels.panel_cols || !ProductExceeds(n, k, m, kMaxDirectProducts);
}

// The same of packing A, where B must be packed.
template <typename T>
bool IsPackingBEnough(const GemmKernels<T>& kernels, int64_t m, int64_t n, int64_t k) {
  if (kernels.direct_cols == 0) return false;
  if (ProductExceeds(RoundUp(n, kernels.panel_cols), k, sizeof(T), 4 * kCacheBytes)) return false;
  return n <= kernels.panel_cols || !ProductExceeds(n, k, m, kMaxDirectProducts / 4);
}

}  // namespace

template <typename T>
Status Gemm(WorkQueue* queue, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc,
            const GemmEpilogue& epilogue, ConstantForms* b_forms) {
  if (m == 0 || n == 0) return {};
  if (k == 0 && epilogue.apply == nullptr) {
    StopPoll poll(kPollElements);
    for (int64_t i = 0; i < m && !poll.Stops(n); ++i) std::fill_n(c + i * ldc, n, T(0));
    return {};
  }
  if (k == 0) {  // zeros for the epilogue
    const T zero(0);
    return Gemm<T>(queue, m, n, 1, {&zero, 0, 0}, {&zero, 0, 0}, c, ldc, epilogue);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (n == 1 && m > 1 && ldc == 1 && epilogue.apply != nullptr) {
      TANDEM_RETURN_IF_ERROR(Gemm<T>(queue, m, n, k, a, b, c, ldc));
      ApplyEpilogue(epilogue, c, 1, 0, m, 0, 1);
      return {};
    }
  }
  if (n == 1 && m > 1 && ldc == 1 && epilogue.apply == nullptr) {
    // The same as the transposed product, which has rows to vectorise.
    std::swap(m, n);
    std::swap(a, b);
    a = a.Transposed();
    b = b.Transposed();
    b_forms = nullptr;
    ldc = n;
  }
  if constexpr (std::is_floating_point_v<T>) {
    const GemmKernels<T>& kernels = GetGemmKernels<T>();
    if (m == 1 && (b.col_stride == 1 || b.row_stride == 1)) {
      if (MultiplyVectorByPanels(queue, n, k, a, b, c, epilogue, b_forms)) return {};
      return MultiplyVector(queue, n, k, a, b, c, epilogue);
    }
    // A few rows are not worth packing B for, if its columns are vectors of some length. Only vectors times matrices
    // add up in another order than everything below, so that the instruction set must not have a say in this.
    if (m <= 3 && k >= 64 && b.row_stride == 1 && b.col_stride != 1) {
      for (int64_t i = 0; i < m; ++i, a.data += a.row_stride, c += ldc) {
        TANDEM_RETURN_IF_ERROR(MultiplyVector(queue, n, k, a, b, c, epilogue, i));
      }
      return {};
    }
    if (IsDirectBetter(kernels, m, n, k, b)) {
      MultiplyDirect<T>(kernels, queue, m, n, k, a, b, c, ldc, epilogue, nullptr);
      return {};
    }
  }
  if constexpr (kHasConstants<T>) {
    b_forms = ConstantB<T>::IfWorthIt(b_forms, n, k, b);
    if (b_forms != nullptr) return MultiplyWithConstantB(queue, m, n, k, a, b, c, ldc, epilogue, b_forms);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (IsPackingBEnough(GetGemmKernels<T>(), m, n, k)) {
      return MultiplyWithPackedB(queue, m, n, k, a, b, c, ldc, epilogue);
    }
  }
  const GemmKernels<T>& packed = GetPackedKernels<T>();
  const bool loses = MayLoseNumbers(packed, queue, m, k, a, [&] { return LeastMagnitude(packed, queue, k, n, b); });
  return PackedProduct<T>(loses ? GetGemmKernels<T>() : packed, queue, m, n, k, a, b, c, ldc, epilogue, nullptr).Run();
}

#define TANDEM_INSTANTIATE_GEMM(T)                                                                          \
  template Status Gemm<T>(WorkQueue*, int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t, \
                          const GemmEpilogue&, ConstantForms*);
TANDEM_INSTANTIATE_GEMM(float)
TANDEM_INSTANTIATE_GEMM(double)
TANDEM_INSTANTIATE_GEMM(Float16)
TANDEM_INSTANTIATE_GEMM(BFloat16)
TANDEM_INSTANTIATE_GEMM(int8_t)
TANDEM_INSTANTIATE_GEMM(uint8_t)
TANDEM_INSTANTIATE_GEMM(int16_t)
TANDEM_INSTANTIATE_GEMM(uint16_t)
TANDEM_INSTANTIATE_GEMM(int32_t)
TANDEM_INSTANTIATE_GEMM(uint32_t)
TANDEM_INSTANTIATE_GEMM(int64_t)
TANDEM_INSTANTIATE_GEMM(uint64_t)
TANDEM_INSTANTIATE_GEMM(std::complex<float>)
#undef TANDEM_INSTANTIATE_GEMM

}  // namespace tandem::cpu
