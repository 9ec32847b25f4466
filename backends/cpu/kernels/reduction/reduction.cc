// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reductions over dimensions: any set of them comes down to passes over [outer, rows, cols] that reduce the rows.

#include "kernels/reduction/reduction.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/op_record.h"
#include "kernels/shape/shape_movement.h"
#include "tandem/host_context.h"

namespace tandem::cpu {

namespace {

// Columns that are reduced together, so that their accumulators stay in the first-level cache.
constexpr int64_t kMaxTileCols = 2048;
constexpr size_t kMaxElementSize = TensorMetadata::kMaxElementSize;  // of accumulators, too
// So many rows are always reduced together.
constexpr int64_t kMinChunk = 32;
// Rows of at most so many columns are taken several at a time, together of at most kNarrowTile columns.
constexpr int64_t kNarrowCols = 64;
constexpr int64_t kNarrowTile = 256;
constexpr int64_t kNarrowChunk = 16384;
// Nanoseconds that a unit of work takes besides its numbers.
constexpr double kUnitCost = 10;

constexpr int64_t DivideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

struct Pass {
  int64_t outer;
  int64_t rows;
  int64_t cols;
};

// The passes of a reduction, each over what the one before left: adjacent dimensions that are treated alike are one,
// and the reduced ones go innermost first.
class Passes {
 public:
  // `shape` has elements; each consists of `parts` numbers.
  Passes(const TensorShape& shape, const ReducedDims& reduced, int64_t parts) {
    int64_t outer[TensorShape::kMaxRank + 1] = {1};  // product of the dimensions before
    for (int axis = 0; axis < shape.rank(); ++axis) outer[axis + 1] = outer[axis] * shape.dim(axis);
    int64_t rows = 1;
    int64_t cols = parts;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const int64_t dim = shape.dim(axis);
      if (dim == 1) continue;
      if (reduced[static_cast<size_t>(axis)]) {
        rows *= dim;
        continue;
      }
      if (rows > 1) Add({outer[axis + 1], rows, cols});
      rows = 1;
      cols *= dim;
    }
    if (rows > 1) Add({1, rows, cols});
  }

  int size() const { return size_; }
  const Pass& operator[](int i) const { return passes_[i]; }
  // How many elements each result stands for.
  int64_t count() const { return count_; }

 private:
  void Add(const Pass& pass) {
    passes_[size_++] = pass;
    count_ *= pass.rows;
  }

  int size_ = 0;
  int64_t count_ = 1;
  Pass passes_[TensorShape::kMaxRank / 2];  // reduced dimensions that are not adjacent
};

// One pass cut into units: tiles of columns of chunks of rows. The sizes follow from those of the pass alone, so that
// the order of operations does, too.
struct Units {
  explicit Units(const Pass& pass) : pass(pass) {
    const bool is_narrow = pass.cols <= kNarrowCols && pass.rows * pass.cols <= kNarrowChunk;
    if (is_narrow || (pass.cols <= kMaxTileCols && pass.rows <= kMinChunk)) [[likely]] {  // spares the divisions
      tile = pass.cols;
      chunk = pass.rows;
      tiles = chunks = 1;
      return;
    }
    tile = DivideUp(pass.cols, DivideUp(pass.cols, kMaxTileCols));
    tiles = DivideUp(pass.cols, tile);
    chunk = DivideUp(pass.rows, DivideUp(pass.rows, MaxChunk()));
    chunks = DivideUp(pass.rows, chunk);
  }
  // How many rows are reduced without accumulators of their own in between.
  int64_t MaxChunk() const {
    if (pass.cols == 1) return 2 * kNarrowChunk;
    if (pass.cols <= kNarrowCols) return kNarrowChunk / pass.cols;
    return std::clamp<int64_t>(65536 / tile, kMinChunk, 256);
  }

  Pass pass;
  int64_t tile;  // columns
  int64_t tiles;
  int64_t chunk;  // rows
  int64_t chunks;
};

// The work of one reduction. What is reduced are the elements at first, then the accumulators of the step before.
class Reducer {
 public:
  Reducer(const KernelFrame& frame, const ReductionRows& rows, int64_t count, const void* elements)
      : frame_(frame),
        rows_(rows),
        count_(count),
        data_(static_cast<const std::byte*>(elements)),
        reductions_(rows.elements),
        number_size_(rows.number_size) {}

  // Leaves results in `out`; if that is null, accumulators, for the next pass.
  Status Run(Pass pass, std::byte* out) {
    while (true) {
      const Units units(pass);
      if (units.chunks == 1 && out != nullptr) {
        Compute(units, rows_.finish, out);
        return Status();
      }
      const size_t num_accumulators = static_cast<size_t>(pass.outer * units.chunks * pass.cols);
      TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer,
                              frame_.host().allocator().Allocate(num_accumulators * rows_.accumulator_size));
      auto* accumulators = static_cast<std::byte*>(buffer->data());
      Compute(units, nullptr, accumulators);
      data_ = accumulators;
      buffer_ = std::move(buffer);
      reductions_ = rows_.accumulators;
      number_size_ = rows_.accumulator_size;
      if (units.chunks == 1) return Status();
      pass.rows = units.chunks;
    }
  }

 private:
  using Finish = decltype(ReductionRows::finish);
  struct alignas(64) Accumulators {
    std::byte bytes[kMaxTileCols * kMaxElementSize];
  };

  // What is at a position that is counted in numbers.
  const std::byte* At(int64_t position) const { return data_ + position * static_cast<int64_t>(number_size_); }

  // One accumulator for each column of each chunk to `to`, or if `finish` is not null, what that makes of them.
  void Compute(const Units& units, Finish finish, std::byte* to) const {
    const Pass& pass = units.pass;
    const double cost = static_cast<double>(units.chunk * units.tile) * rows_.cost + kUnitCost;
    if (units.chunks == 1 && units.tiles == 1) {
      frame_.ParallelFor(pass.outer, cost,
                         [&](int64_t begin, int64_t end) { ComputeBlocks(pass, begin, end, finish, to); });
      return;
    }
    frame_.ParallelFor(pass.outer * units.chunks * units.tiles, cost, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) ComputeUnit(units, unit, finish, to);
    });
  }

  // For blocks [begin, end) of the pass, whose rows are one chunk and whose columns are one tile.
  void ComputeBlocks(const Pass& pass, int64_t begin, int64_t end, Finish finish, std::byte* to) const {
    const int64_t block = pass.rows * pass.cols;
    if (finish == nullptr) {
      return ReduceBlocks(At(begin * block), end - begin, pass, to + begin * pass.cols * rows_.accumulator_size);
    }
    Accumulators accumulators;
    const int64_t batch = std::max<int64_t>(1, kMaxTileCols / pass.cols);
    for (; begin < end; begin += batch) {
      const int64_t blocks = std::min(batch, end - begin);
      ReduceBlocks(At(begin * block), blocks, pass, accumulators.bytes);
      finish(accumulators.bytes, blocks * pass.cols, count_, to + begin * pass.cols * rows_.number_size);
    }
  }

  void ComputeUnit(const Units& units, int64_t unit, Finish finish, std::byte* to) const {
    const Pass& pass = units.pass;
    const int64_t col = unit % units.tiles * units.tile;
    const int64_t chunk = unit / units.tiles % units.chunks;
    const int64_t outer = unit / units.tiles / units.chunks;
    const int64_t row = chunk * units.chunk;
    const int64_t cols = std::min(units.tile, pass.cols - col);
    const int64_t rows = std::min(units.chunk, pass.rows - row);
    const std::byte* x = At((outer * pass.rows + row) * pass.cols + col);
    const int64_t position = (outer * units.chunks + chunk) * pass.cols + col;
    if (finish == nullptr) {
      return ReduceBlock(x, rows, pass.cols, cols, to + position * rows_.accumulator_size);
    }
    Accumulators accumulators;
    ReduceBlock(x, rows, pass.cols, cols, accumulators.bytes);
    finish(accumulators.bytes, cols, count_, to + position * rows_.number_size);
  }

  void ReduceBlocks(const std::byte* x, int64_t blocks, const Pass& pass, std::byte* accumulators) const {
    if (pass.cols == 1) return reductions_.stretches(x, blocks, pass.rows, accumulators);
    for (int64_t i = 0; i < blocks; ++i) {
      ReduceBlock(x, pass.rows, pass.cols, pass.cols, accumulators);
      x += pass.rows * pass.cols * static_cast<int64_t>(number_size_);
      accumulators += pass.cols * rows_.accumulator_size;
    }
  }

  void ReduceBlock(const std::byte* x, int64_t rows, int64_t stride, int64_t cols, std::byte* accumulators) const {
    if (cols == stride && cols == 1) return reductions_.stretches(x, 1, rows, accumulators);
    if (cols == stride && cols <= kNarrowCols && rows * cols >= 4 * kNarrowTile) {
      return ReduceNarrow(x, rows, cols, accumulators);
    }
    reductions_.rows(x, rows, stride, cols, accumulators);
  }

  // Contiguous rows of few columns: several of them side by side as a wide one, then the parts of that, by fours.
  void ReduceNarrow(const std::byte* x, int64_t rows, int64_t cols, std::byte* accumulators) const {
    struct alignas(64) Tile {
      std::byte bytes[kNarrowTile * kMaxElementSize];
    };
    Tile tiles[2];
    int64_t parts = 4;
    while (4 * parts * cols <= kNarrowTile) parts *= 4;
    const int64_t wide_rows = rows / parts;
    const int64_t rest = rows % parts;
    std::byte* from = tiles[0].bytes;
    std::byte* to = tiles[1].bytes;
    reductions_.rows(x, wide_rows, parts * cols, parts * cols, from);
    while (parts > 1) {
      parts /= 4;
      rows_.accumulators.rows(from, 4, parts * cols, parts * cols, to);
      std::swap(from, to);
    }
    const int64_t width = cols * rows_.accumulator_size;
    if (rest == 0) {
      std::copy(from, from + width, accumulators);
      return;
    }
    reductions_.rows(x + (rows - rest) * cols * static_cast<int64_t>(number_size_), rest, cols, cols, from + width);
    rows_.accumulators.rows(from, 2, cols, cols, accumulators);
  }

  const KernelFrame& frame_;
  const ReductionRows& rows_;
  const int64_t count_;
  const std::byte* data_;
  RcRef<HostBuffer> buffer_;  // of `data_`, if that is not the elements
  RowReductions reductions_;
  size_t number_size_;
};

ReducedDims ReadReducedDims(const DenseArg& indices, int rank) {
  ReducedDims reduced = {};
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index = indices.dtype() == DType::kI32 ? indices.data<int32_t>()[i] : indices.data<int64_t>()[i];
    reduced[static_cast<size_t>(index < 0 ? index + rank : index)] = true;
  }
  return reduced;
}

struct ReductionKernel {
  ReductionRows rows;

  Status operator()(DenseArg input, DenseArg reduction_indices, KernelFrame& frame) const {
    const ReducedDims reduced = ReadReducedDims(reduction_indices, input.shape().rank());
    if (input.size() == frame.result_metadata(0).num_elements() && input.size() > 0) {
      // Every element is reduced by itself, which leaves it as it is.
      frame.SetResult(0, WithMetadata(input.tensor(), frame.result_metadata(0)));
      return Status();
    }
    void* out = frame.AllocateResult(0);
    if (out == nullptr) return Status();
    return Reduce(frame, rows, input.shape(), reduced, input.data<void>(), out);
  }
};

// Whether the build has any of the ops here.
constexpr bool kHasReductions = IsInBuild("tf.Sum") || IsInBuild("tf.Mean") || IsInBuild("tf.Prod") ||
                                IsInBuild("tf.Max") || IsInBuild("tf.Min") || IsInBuild("tf.All") ||
                                IsInBuild("tf.Any");

[[maybe_unused]] Status AddKernels(KernelOpHandler& handler, const char* name, ReductionOp op) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const ReductionRows rows = FindReductionRows(op, dtype);
    if (rows.elements.rows == nullptr) continue;
    // Ops of bool have no type attribute but that of the indices.
    const DTypeSet dtypes =
        DTypesInBuild(name) & (dtype == DType::kBool ? DTypeSet{DType::kI32, DType::kI64} : DTypeSet{dtype});
    if (dtypes.IsEmpty()) continue;
    TANDEM_RETURN_IF_ERROR(handler.AddKernel(
        name, dtypes,
        MakeRecordedKernel<"tf.Sum tf.Mean tf.Prod tf.Max tf.Min tf.All tf.Any">(ReductionKernel{rows})
            .WithCost(rows.cost)));
  }
  return Status();
}

}  // namespace

Status Reduce(const KernelFrame& frame, const ReductionRows& rows, const TensorShape& shape, const ReducedDims& reduced,
              const void* data, void* out) {
  auto* results = static_cast<std::byte*>(out);
  const size_t element_size = size_t{rows.number_size} * rows.parts;
  if (shape.num_elements() == 0) {
    int64_t num_results = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) num_results *= reduced[axis] ? 1 : shape.dim(axis);
    alignas(8) std::byte result[kMaxElementSize];
    rows.empty(result);
    FillElements(results, num_results, result, element_size);
    return Status();
  }
  const Passes passes(shape, reduced, rows.parts);
  if (passes.size() == 0) {
    std::memcpy(out, data, static_cast<size_t>(shape.num_elements()) * element_size);
    return Status();
  }
  Reducer reducer(frame, rows, passes.count(), data);
  for (int i = 0; i < passes.size(); ++i) {
    const bool is_last = i + 1 == passes.size();
    TANDEM_RETURN_IF_ERROR(reducer.Run(passes[i], is_last ? results : nullptr));
  }
  return Status();
}

Status RegisterReductionKernels(KernelOpHandler& handler) {
  if constexpr (kHasReductions) {
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Sum", ReductionOp::kSum));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Mean", ReductionOp::kMean));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Prod", ReductionOp::kProd));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Max", ReductionOp::kMax));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Min", ReductionOp::kMin));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.All", ReductionOp::kAll));
    TANDEM_RETURN_IF_ERROR(AddKernels(handler, "tf.Any", ReductionOp::kAny));
  }
  return RegisterArgReductionKernels(handler);
}

}  // namespace tandem::cpu
