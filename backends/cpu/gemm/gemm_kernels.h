// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GemmKernels: the inner loops of Gemm for one element type, compiled for several instruction sets.

#ifndef TANDEM_BACKENDS_CPU_GEMM_GEMM_KERNELS_H_
#define TANDEM_BACKENDS_CPU_GEMM_GEMM_KERNELS_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "gemm/gemm.h"
#include "tandem/float16.h"

namespace tandem::cpu {

// Complex arithmetic by the textbook formulas, which vectorise; std::complex repairs infinities at a high price.
struct PlainComplex64 {
  float re;
  float im;
};

// What products of S are computed and accumulated in: float for the 16-bit floats (rounded once, at the end), words
// that wrap around for integers.
template <typename S>
struct GemmComputeTypeOf {
  using type = std::conditional_t<std::is_integral_v<S>, std::conditional_t<sizeof(S) == 8, uint64_t, uint32_t>, S>;
};
template <>
struct GemmComputeTypeOf<Float16> {
  using type = float;
};
template <>
struct GemmComputeTypeOf<BFloat16> {
  using type = float;
};
template <>
struct GemmComputeTypeOf<std::complex<float>> {
  using type = PlainComplex64;
};
template <typename S>
using GemmComputeType = typename GemmComputeTypeOf<S>::type;

// Depth of a block: the partial sums of C are added up per kGemmDepth products, on every path, so that the bits of the
// result depend on neither the path nor the number of threads.
inline constexpr int64_t kGemmDepth = 256;

// C[rows, cols] (row stride ldc) = or += A[rows, depth] * B[depth, cols].
template <typename T>
struct GemmBlock {
  int64_t rows;
  int64_t cols;
  int64_t depth;
  // Element (i, p) of A is a[i * a_row_stride + p * a_depth_stride]. If `a_packed`, A is panels of `panel_rows` rows,
  // each `depth` times a column of that many elements, and the strides are 1 and `panel_rows`.
  const T* a;
  int64_t a_row_stride;
  int64_t a_depth_stride;
  bool a_packed;
  // Element (p, j) of B is b[p * b_depth_stride + j]. If `b_packed`, B is panels of `panel_cols` columns, each `depth`
  // times a row of that many elements, and the stride is `panel_cols`.
  const T* b;
  int64_t b_depth_stride;
  bool b_packed;
  T* c;
  int64_t ldc;
  bool accumulate;
};

// Of a matrix that vectors are multiplied with: what a second-level cache keeps of it. More than that comes from
// further away and is better read in order.
#ifdef __wasm__
inline constexpr int64_t kGemvCachedBytes = int64_t{1} << 19;
#else
inline constexpr int64_t kGemvCachedBytes = int64_t{1} << 20;
#endif

// A vector (`x`, stride x_stride, `depth` elements) times a matrix M[depth, cols], into y[cols].
template <typename T>
struct GemvBlock {
  int64_t cols;
  int64_t depth;
  const T* x;
  int64_t x_stride;
  const T* m;
  int64_t m_stride;  // from row to row of M, or from column to column where M's columns are contiguous
  T* y;
};

// The headers of GCC and of Clang.
#if defined(__x86_64__) && defined(__linux__) && (__has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>))
#define TANDEM_CPU_MAY_HAVE_AMX
#endif
// Whether products of packed matrices of S may be done by AMX.
#ifdef TANDEM_CPU_MAY_HAVE_AMX
template <typename S>
inline constexpr bool kMayHaveAmx = std::is_same_v<S, BFloat16>;
#else
template <typename S>
inline constexpr bool kMayHaveAmx = false;
#endif

// What is otherwise with AMX than with all other kernels where both matrices are packed.
struct PackedBlocks {
  int64_t max_depth = kGemmDepth;
  // How many elements, neighbours in depth, make one of a packed panel.
  int64_t packed_together = 1;
  // Whether `multiply` also takes an A of elements of S, as they lie, where its rows are contiguous.
  bool takes_rows_of_a = false;
  // How many times as many products `multiply` does in a time, roughly: for the sizes of tasks.
  int64_t speed = 1;

  constexpr int64_t PackedDepth(int64_t depth) const { return (depth + packed_together - 1) / packed_together; }
};

template <typename S>
struct GemmKernels {
  using T = GemmComputeType<S>;

  int64_t panel_rows;
  int64_t panel_cols;
  // `multiply` also takes matrices that are not packed if B has a multiple of so many columns; 0: never.
  int64_t direct_cols;
  // Whether `multiply` takes all rows of A for one panel of B before the next panel, so that a block of A is to stay in
  // the second-level cache; else a block of B is.
  bool by_panels_of_b;
  PackedBlocks own_blocks;
  constexpr PackedBlocks blocks() const {
    if constexpr (kMayHaveAmx<S>) return own_blocks;
    return {};
  }

  void (*multiply)(const GemmBlock<T>& block);
  // The same, and calls `epilogue` for each part of C once its sums are complete, which need not get into `c` then;
  // its rows and columns count from those of the block. Null unless there is a better way than one after the other, as
  // with AMX.
  void (*multiply_and_finish)(const GemmBlock<T>& block, const GemmEpilogue& epilogue);
  // If not null, the kernels take numbers below 2^-126 for 0, products and sums among them: they are for matrices where
  // there are none. This is the bits of the least of `count` numbers, without signs and less 1, so that 0 is the most.
  uint16_t (*least_magnitude)(const S* numbers, int64_t stride, int64_t count);
  // Packs one panel of A or B: to[p * panel_width + i] = from[i * width_stride + p * depth_stride] for i < width; the
  // rest of the panel becomes zero unless `multiply` leaves it alone.
  void (*pack_a)(const S* from, int64_t width_stride, int64_t depth_stride, int64_t width, int64_t depth, T* to);
  void (*pack_b)(const S* from, int64_t width_stride, int64_t depth_stride, int64_t width, int64_t depth, T* to);
  // Rounds (or truncates) `count` results to S.
  void (*round)(const T* from, int64_t count, S* to);
  // M's rows contiguous, or M's columns (and x) contiguous. For floating-point numbers that are not computed in wider
  // ones; else null. Of up to `gemv_cols` columns gemv_rows keeps y in registers; 0 if it does so of no number.
  int64_t gemv_cols;
  void (*gemv_rows)(const GemvBlock<T>& block);
  void (*gemv_columns)(const GemvBlock<T>& block);
};

// The kernels for the best instruction set of this processor. Defined for the element types that Gemm has.
template <typename S>
const GemmKernels<S>& GetGemmKernels();

namespace exact {
template <typename S>
const GemmKernels<S>& GetGemmKernels();
}

#ifdef TANDEM_CPU_MAY_HAVE_AMX
// Null if the processor has no AMX for bf16, or the system does not let the process use it; in exact mode; and in
// builds without AVX-512.
const GemmKernels<BFloat16>* GetAmxKernels();
#endif

// The kernels for products of which both matrices are packed.
template <typename S>
const GemmKernels<S>& GetPackedKernels() {
#ifdef TANDEM_CPU_MAY_HAVE_AMX
  if constexpr (kMayHaveAmx<S>) {
    if (const GemmKernels<S>* const amx = GetAmxKernels()) return *amx;
  }
#endif
  return GetGemmKernels<S>();
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_GEMM_GEMM_KERNELS_H_
