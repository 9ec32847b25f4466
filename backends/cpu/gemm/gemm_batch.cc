// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The division of a batch of products among threads.

#include "gemm/gemm_batch.h"

#include <algorithm>
#include <atomic>
#include <complex>

#include "gemm/gemm_kernels.h"
#include "kernels/task_size.h"
#include "tandem/float16.h"
#include "tandem/parallel_for.h"

namespace tandem::cpu {
namespace {

// Goes through the matrices of a batch in order.
class Position {
 public:
  Position(const GemmBatch& batch, int64_t number) : batch_(batch) {
    for (int i = batch.rank - 1; i >= 0; --i) {
      const GemmBatch::Dim& dim = batch.dims[i];
      index_[i] = number % dim.size;
      number /= dim.size;
      Move(dim, index_[i]);
    }
  }

  void Advance() {
    for (int i = batch_.rank - 1; i >= 0; --i) {
      const GemmBatch::Dim& dim = batch_.dims[i];
      Move(dim, 1);
      if (++index_[i] < dim.size) return;
      Move(dim, -dim.size);
      index_[i] = 0;
    }
  }

  // In elements from the first matrices.
  int64_t a() const { return a_; }
  int64_t b() const { return b_; }
  int64_t c() const { return c_; }

 private:
  void Move(const GemmBatch::Dim& dim, int64_t steps) {
    a_ += steps * dim.a_stride;
    b_ += steps * dim.b_stride;
    c_ += steps * dim.c_stride;
  }

  const GemmBatch& batch_;
  int64_t index_[GemmBatch::kMaxRank];
  int64_t a_ = 0, b_ = 0, c_ = 0;
};

}  // namespace

void GemmBatch::AddDim(const Dim& dim) {
  if (dim.size == 1) return;
  if (rank > 0) {
    Dim& outer = dims[rank - 1];
    if (outer.a_stride == dim.size * dim.a_stride && outer.b_stride == dim.size * dim.b_stride &&
        outer.c_stride == dim.size * dim.c_stride) {
      outer = {outer.size * dim.size, dim.a_stride, dim.b_stride, dim.c_stride};
      return;
    }
  }
  dims[rank++] = dim;
}

int64_t GemmBatch::Size() const {
  int64_t size = 1;
  for (int i = 0; i < rank; ++i) size *= dims[i].size;
  return size;
}

template <typename T>
Status BatchGemm(WorkQueue* queue, const GemmBatch& given, int64_t m, int64_t n, int64_t k, MatrixView<T> a,
                 MatrixView<T> b, T* c, int64_t ldc) {
  GemmBatch batch = given;
  // Where products share B, the rows of their A and C may be those of one product; and the other way round.
  while (batch.rank > 0) {
    const GemmBatch::Dim& inner = batch.dims[batch.rank - 1];
    if (inner.b_stride == 0 && inner.a_stride == m * a.row_stride && inner.c_stride == m * ldc) {
      m *= inner.size;
    } else if (inner.a_stride == 0 && inner.b_stride == n * b.col_stride && inner.c_stride == n) {
      n *= inner.size;
    } else {
      break;
    }
    --batch.rank;
  }
  if (batch.rank == 0) return Gemm<T>(queue, m, n, k, a, b, c, ldc);
  const int64_t size = batch.Size();
  const double products = NumProducts(m, n, k);
  const double all_products = static_cast<double>(size) * products;
  const int64_t speed = GetPackedKernels<T>().blocks().speed;
  const bool is_each_large = queue != nullptr && products > 4 * static_cast<double>(kMinTaskProducts * speed) &&
                             size < 4 * int64_t{queue->ParallelismLevel()};
  std::atomic<bool> out_of_memory = false;
  const auto multiply = [&](int64_t begin, int64_t end) {
    Position position(batch, begin);
    for (int64_t i = begin; i < end; ++i, position.Advance()) {
      MatrixView<T> this_a = a;
      MatrixView<T> this_b = b;
      this_a.data += position.a();
      this_b.data += position.b();
      const Status status = Gemm<T>(is_each_large ? queue : nullptr, m, n, k, this_a, this_b, c + position.c(), ldc);
      if (!status.ok()) out_of_memory.store(true, std::memory_order_relaxed);
    }
  };
  const auto task_products = static_cast<double>(MinTaskProducts(queue, all_products) * speed);
  const double grain = std::max(1.0, task_products / std::max(products, 1.0));
  if (queue == nullptr || is_each_large || all_products <= 4 * task_products) {
    multiply(0, size);
  } else {
    ParallelFor(*queue, size, static_cast<int64_t>(grain), multiply);
  }
  return out_of_memory.load(std::memory_order_relaxed) ? Status::OutOfMemory() : Status();
}

#define TANDEM_INSTANTIATE_BATCH_GEMM(T)                                                                              \
  template Status BatchGemm<T>(WorkQueue*, const GemmBatch&, int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, \
                               T*, int64_t);
TANDEM_INSTANTIATE_BATCH_GEMM(float)
TANDEM_INSTANTIATE_BATCH_GEMM(double)
TANDEM_INSTANTIATE_BATCH_GEMM(Float16)
TANDEM_INSTANTIATE_BATCH_GEMM(BFloat16)
TANDEM_INSTANTIATE_BATCH_GEMM(uint8_t)
TANDEM_INSTANTIATE_BATCH_GEMM(int16_t)
TANDEM_INSTANTIATE_BATCH_GEMM(uint16_t)
TANDEM_INSTANTIATE_BATCH_GEMM(int32_t)
TANDEM_INSTANTIATE_BATCH_GEMM(uint32_t)
TANDEM_INSTANTIATE_BATCH_GEMM(int64_t)
TANDEM_INSTANTIATE_BATCH_GEMM(uint64_t)
TANDEM_INSTANTIATE_BATCH_GEMM(std::complex<float>)
#undef TANDEM_INSTANTIATE_BATCH_GEMM

}  // namespace tandem::cpu
