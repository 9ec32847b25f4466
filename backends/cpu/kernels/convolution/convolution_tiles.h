// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConvolutionTiles: the inner loops of convolutions, compiled for several instruction sets: the product of a matrix
// whose rows lie anywhere in an image and one that is packed; and transposition, for images with the channels first.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TILES_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TILES_H_

#include <cstdint>

#include "kernels/convolution/convolution_finish.h"

namespace tandem::cpu {

// Elements at `offset`, `offset` + step, ... that a row of the left matrix has next to each other.
struct GatherRun {
  int64_t offset;
  int64_t length;
};

// C[num_rows, cols] (row stride ldc) = or += A * B. Row i of A is what the runs name in the memory from rows[i]: so
// neither the overlapping windows of an image nor their transpose are ever copied. B is packed as Gemm packs it: panels
// of GemmKernels::panel_cols columns, zeros behind the last one, `panel_stride` elements from panel to panel.
template <typename T>
struct GatheredProduct {
  const T* const* rows;
  int64_t num_rows;
  const GatherRun* runs;
  int64_t num_runs;
  int64_t step;
  const T* b;
  int64_t panel_cols;
  int64_t panel_stride;
  T* c;
  int64_t ldc;
  int64_t cols;
  bool accumulate;
  BiasAndLimits<T> limits;  // of what is complete with these products, if ConvolutionTiles::finishes; added to C
};

template <typename T>
struct ConvolutionTiles {
  int64_t tile_rows;    // as many rows are computed at a time; a multiple of it is fastest
  bool finishes;        // whether `multiply` heeds limits
  int64_t part_panels;  // panels of B for which it is worth it to go along the rows by themselves
  void (*multiply)(const GatheredProduct<T>& product);
  // to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols.
  void (*transpose)(const T* from, int64_t from_stride, int64_t rows, int64_t cols, T* to, int64_t to_stride);
};

// For the best instruction set of this processor; float, double and uint32_t.
template <typename T>
const ConvolutionTiles<T>& GetConvolutionTiles();

namespace exact {
template <typename T>
const ConvolutionTiles<T>& GetConvolutionTiles();
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_TILES_H_
