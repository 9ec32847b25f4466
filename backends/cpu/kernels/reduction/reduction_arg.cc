// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ArgMax and ArgMin: the kernels, which divide the work.

#include "kernels/reduction/reduction_arg.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/op_record.h"
#include "kernels/reduction/reduction.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// Nanoseconds an element.
constexpr float kCost = 0.2f;

constexpr int64_t DivideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

template <typename Index>
void StoreAs(const int64_t* indices, int64_t n, std::byte* out, int64_t position) {
  Index* to = reinterpret_cast<Index*>(out) + position;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Index>(indices[i]);
}

int64_t ReadIndex(const DenseArg& index) {
  switch (index.dtype()) {
    case DType::kI16:
      return *index.data<int16_t>();
    case DType::kI32:
      return *index.data<int32_t>();
    default:
      return *index.data<int64_t>();
  }
}

// The work of one call: the input as [outer, rows, cols], of which the rows are searched, in tiles of columns.
class Search {
 public:
  Search(const KernelFrame& frame, const ArgRows& rows, const DenseArg& input, int64_t dimension, void* out)
      : frame_(frame),
        functions_(rows),
        element_size_(static_cast<int64_t>(DTypeSize(input.dtype()))),
        data_(input.data<std::byte>()),
        out_(static_cast<std::byte*>(out)) {
    const int rank = input.shape().rank();
    const int64_t axis = dimension < 0 ? dimension + rank : dimension;
    for (int i = 0; i < rank; ++i) {
      (i < axis ? outer_ : i == axis ? rows_ : cols_) *= input.shape().dim(i);
    }
    width_ = std::min(cols_, ArgRows::kMaxCols);
    tiles_ = DivideUp(cols_, width_);
  }

  Status Run() const {
    // Chunks of rows, so that there is work for several threads.
    const int64_t chunk = std::max<int64_t>(1, kChunkElements / width_);
    if (rows_ > 2 * chunk) return RunInChunks(chunk);
    ForUnits(1, rows_, [this](const Unit& unit) {
      int64_t best[ArgRows::kMaxCols];
      functions_.find(At(unit), rows_, cols_, unit.cols, 0, best);
      Store(unit, best);
    });
    return Status();
  }

 private:
  static constexpr int64_t kChunkElements = 65536;

  struct Unit {
    int64_t index;
    int64_t outer;
    int64_t chunk;
    int64_t col;
    int64_t cols;
  };

  Status RunInChunks(int64_t chunk) const {
    const int64_t chunks = DivideUp(rows_, chunk);
    // For each tile, its candidates of each chunk.
    const int64_t num_candidates = outer_ * tiles_ * chunks * width_;
    TANDEM_ASSIGN_OR_RETURN(const RcRef<HostBuffer> buffer,
                            frame_.host().allocator().Allocate(static_cast<size_t>(num_candidates) * sizeof(int64_t)));
    auto* const candidates = static_cast<int64_t*>(buffer->data());
    // Candidates that were not found would be taken for rows.
    const bool found = ForUnits(chunks, chunk, [&](const Unit& unit) {
      const int64_t row = unit.chunk * chunk;
      const int64_t tile = unit.index / chunks;
      functions_.find(At(unit) + row * cols_ * element_size_, std::min(chunk, rows_ - row), cols_, unit.cols, row,
                      candidates + tile * chunks * width_ + unit.chunk * unit.cols);
    });
    if (!found) return frame_.CheckActive();
    ForUnits(1, chunks, [&](const Unit& unit) {
      int64_t* const best = candidates + unit.index * chunks * width_;
      functions_.merge(At(unit), cols_, unit.cols, chunks, best);
      Store(unit, best);
    });
    return Status();
  }

  // Calls fn for each of `chunks` chunks of `chunk` rows of each tile of columns.
  template <typename Fn>
  bool ForUnits(int64_t chunks, int64_t chunk, const Fn& fn) const {
    const double cost = static_cast<double>(chunk * width_) * kCost + 10;
    return frame_.ParallelFor(outer_ * tiles_ * chunks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tile = i / chunks;
        const int64_t col = tile % tiles_ * width_;
        fn(Unit{i, tile / tiles_, i % chunks, col, std::min(width_, cols_ - col)});
      }
    });
  }

  // The first row of the unit's tile.
  const std::byte* At(const Unit& unit) const {
    return data_ + (unit.outer * rows_ * cols_ + unit.col) * element_size_;
  }

  void Store(const Unit& unit, const int64_t* best) const {
    const int64_t position = unit.outer * cols_ + unit.col;
    switch (frame_.result_metadata(0).dtype) {
      case DType::kI16:
      case DType::kU16:
        return StoreAs<uint16_t>(best, unit.cols, out_, position);
      case DType::kI32:
        return StoreAs<int32_t>(best, unit.cols, out_, position);
      default:
        return StoreAs<int64_t>(best, unit.cols, out_, position);
    }
  }

  const KernelFrame& frame_;
  const ArgRows& functions_;
  const int64_t element_size_;
  const std::byte* const data_;
  std::byte* const out_;
  int64_t outer_ = 1;
  int64_t rows_ = 1;
  int64_t cols_ = 1;
  int64_t width_;  // of a tile
  int64_t tiles_;
};

struct ArgKernel {
  ArgRows rows;

  Status operator()(DenseArg input, DenseArg dimension, KernelFrame& frame) const {
    void* out = frame.AllocateResult(0);
    if (out == nullptr || frame.result_metadata(0).num_elements() == 0) return Status();
    return Search(frame, rows, input, ReadIndex(dimension), out).Run();
  }
};

[[maybe_unused]] Status AddKernels(KernelOpHandler& handler, const char* name, bool smallest) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::kBool && !kRealDTypes.Contains(dtype)) continue;
    if (!DTypesInBuild(name).Contains(dtype)) continue;
    const ArgRows rows = FindArgRows(dtype, smallest);
    if (rows.find == nullptr) continue;
    TANDEM_RETURN_IF_ERROR(
        handler.AddKernel(name, {dtype}, MakeRecordedKernel<"tf.ArgMax tf.ArgMin">(ArgKernel{rows}).WithCost(kCost)));
  }
  return Status();
}

}  // namespace

Status RegisterArgReductionKernels([[maybe_unused]] KernelOpHandler& handler) {
  if constexpr (IsInBuild("tf.ArgMax")) TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.ArgMax", /*smallest=*/false));
  if constexpr (IsInBuild("tf.ArgMin")) TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.ArgMin", /*smallest=*/true));
  return Status();
}

}  // namespace tandem::cpu
