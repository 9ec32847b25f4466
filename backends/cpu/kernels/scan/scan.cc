// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cumsum, Cumprod: the division of tensors into lines and blocks, and the conversion of f16 and bf16.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/half_rows.h"
#include "kernels/kernels.h"
#include "kernels/op_record.h"
#include "kernels/polls.h"
#include "kernels/scan/scan_rows.h"
#include "tandem/host_context.h"
#include "tandem/op_axis.h"

namespace tandem::cpu {

namespace {

// Contiguous elements that are scanned as one; longer lines are scanned by blocks, on one thread as on several.
constexpr int64_t kBlock = int64_t{1} << 16;
// The same of a line whose elements are converted, in a buffer.
constexpr int64_t kConvertedBlock = 1024;
constexpr int64_t kMaxAccumulatorSize = 8;
constexpr float kAcrossCost = 0.3f;  // nanoseconds an element
constexpr float kConversionCost = 0.5f;

struct Accumulator {
  alignas(8) std::byte bytes[kMaxAccumulatorSize];
};

// A ScanRows and, for f16 and bf16, the conversions around it.
struct ScanFunction {
  ScanRows rows;
  Row widen = nullptr;
  Row narrow = nullptr;
  Row combine_rows = nullptr;  // of f32

  float along_cost() const { return rows.along_cost + (widen != nullptr ? kConversionCost : 0); }
  float across_cost() const { return kAcrossCost + (widen != nullptr ? kConversionCost : 0); }

  void Along(const std::byte* x, std::byte* out, int64_t n, ScanOrder order, const void* start, void* total) const {
    if (widen == nullptr) return rows.along(x, out, n, order, start, total);
    AlongConverted(x, out, n, order, start, total);
  }
  void Across(const std::byte* x, std::byte* out, int64_t n, int64_t stride, int64_t width, ScanOrder order) const {
    if (widen == nullptr) return rows.across(x, out, n, stride, width, order);
    AcrossConverted(x, out, n, stride, width, order);
  }

 private:
  static constexpr int64_t kHalfSize = 2;

  void AlongConverted(const std::byte* x, std::byte* out, int64_t n, ScanOrder order, const void* start,
                      void* total) const {
    alignas(64) float buffer[kConvertedBlock];
    float sum;
    rows.combine(nullptr, nullptr, &sum);
    for (int64_t i = 0; i < n; i += kConvertedBlock) {
      const int64_t count = std::min(kConvertedBlock, n - i);
      const int64_t first = (order.reverse ? n - i - count : i) * kHalfSize;
      const void* from = x + first;
      widen(&from, buffer, count);
      float before;
      float own;
      rows.combine(start, &sum, &before);
      rows.along(buffer, out == nullptr ? nullptr : buffer, count, order, &before, &own);
      rows.combine(&sum, &own, &sum);
      const void* results = buffer;
      if (out != nullptr) narrow(&results, out + first, count);
    }
    if (total != nullptr) std::copy_n(&sum, 1, static_cast<float*>(total));
  }

  void AcrossConverted(const std::byte* x, std::byte* out, int64_t n, int64_t stride, int64_t width,
                       ScanOrder order) const {
    alignas(64) float sums[kConvertedBlock];
    alignas(64) float elements[kConvertedBlock];
    float neutral;
    rows.combine(nullptr, nullptr, &neutral);
    StopPoll poll(kPollElements);
    for (int64_t col = 0; col < width; col += kConvertedBlock) {
      const int64_t count = std::min(kConvertedBlock, width - col);
      std::fill_n(sums, count, neutral);
      const void* const both[] = {sums, elements};
      for (int64_t i = 0; i < n; ++i) {
        if (poll.Stops(count)) return;
        const int64_t first = ((order.reverse ? n - 1 - i : i) * stride + col) * kHalfSize;
        const void* from = x + first;
        widen(&from, elements, count);
        if (order.exclusive) narrow(both, out + first, count);
        combine_rows(both, sums, count);
        if (!order.exclusive) narrow(both, out + first, count);
      }
    }
  }
};

// `lines` contiguous lines of `n` elements.
Status ScanLines(const KernelFrame& frame, const ScanFunction& scan, int64_t element_size, const std::byte* x,
                 std::byte* out, int64_t lines, int64_t n, ScanOrder order) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  // Calls fn(offset of the first element, number of elements) for the block that comes in place `block`.
  const auto with_block = [&](int64_t line, int64_t block, auto fn) {
    const int64_t count = std::min(kBlock, n - block * kBlock);
    const int64_t first = order.reverse ? n - block * kBlock - count : block * kBlock;
    fn((line * n + first) * element_size, count);
  };
  const bool is_shared = blocks > 1 && lines < 2 * int64_t{frame.exec().work_queue().ParallelismLevel()} &&
                         frame.exec().work_queue().ParallelismLevel() > 1;
  if (!is_shared) {
    frame.ParallelFor(lines, static_cast<double>(n) * scan.along_cost(), [&](int64_t begin, int64_t end) {
      StopPoll poll(kPollElements);
      for (int64_t line = begin; line < end; ++line) {
        Accumulator start;
        scan.rows.combine(nullptr, nullptr, &start);
        for (int64_t block = 0; block < blocks && !poll.Stops(kBlock); ++block) {
          with_block(line, block, [&](int64_t at, int64_t count) {
            Accumulator total;
            scan.Along(x + at, out + at, count, order, &start, &total);
            scan.rows.combine(&start, &total, &start);
          });
        }
      }
    });
    return Status();
  }
  // First what each block comes to, then what comes before each, then all elements.
  TANDEM_ASSIGN_OR_RETURN(const RcRef<HostBuffer> buffer,
                          frame.host().allocator().Allocate(static_cast<size_t>(lines * blocks) * sizeof(Accumulator)));
  auto* starts = static_cast<Accumulator*>(buffer->data());
  const double cost = static_cast<double>(kBlock) * scan.along_cost();
  frame.ParallelFor(lines * blocks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      with_block(i / blocks, i % blocks,
                 [&](int64_t at, int64_t count) { scan.Along(x + at, nullptr, count, order, nullptr, &starts[i]); });
    }
  });
  for (int64_t line = 0; line < lines; ++line) {
    Accumulator sum;
    scan.rows.combine(nullptr, nullptr, &sum);
    for (int64_t i = line * blocks; i < (line + 1) * blocks; ++i) {
      const Accumulator total = std::exchange(starts[i], sum);
      scan.rows.combine(&sum, &total, &sum);
    }
  }
  frame.ParallelFor(lines * blocks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      with_block(i / blocks, i % blocks,
                 [&](int64_t at, int64_t count) { scan.Along(x + at, out + at, count, order, &starts[i], nullptr); });
    }
  });
  return Status();
}

// `planes` of `n` rows of `width` elements, of which each column is scanned.
void ScanColumns(const KernelFrame& frame, const ScanFunction& scan, int64_t element_size, const std::byte* x,
                 std::byte* out, int64_t planes, int64_t n, int64_t width, ScanOrder order) {
  // Columns are shared among threads by so many: whole cache lines.
  constexpr int64_t kColumns = 64;
  const int64_t strips = (width + kColumns - 1) / kColumns;
  const double cost = static_cast<double>(n * std::min(width, kColumns)) * scan.across_cost();
  frame.ParallelFor(planes * strips, cost, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t plane = begin / strips;
      const int64_t first = begin % strips;
      const int64_t last = std::min(strips, first + end - begin);
      const int64_t at = (plane * n * width + first * kColumns) * element_size;
      scan.Across(x + at, out + at, n, width, std::min(width, last * kColumns) - first * kColumns, order);
      begin += last - first;
    }
  });
}

struct ScanKernel {
  ScanFunction scan;

  Status operator()(DenseArg x, const Tensor& axis, KernelFrame& frame) const {
    auto* out = frame.ForwardOrAllocateResult<std::byte>(0, {0});
    if (out == nullptr || x.size() == 0) return Status();
    const TensorShape& shape = x.shape();
    const int scanned = AxisInput(axis, shape.rank());
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 0; i < scanned; ++i) outer *= shape.dim(i);
    for (int i = scanned + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
    const ScanOrder order = {frame.attrs().GetOr("exclusive", false), frame.attrs().GetOr("reverse", false)};
    const auto element_size = static_cast<int64_t>(DTypeSize(x.dtype()));
    const auto* in = x.data<std::byte>();
    if (inner == 1) return ScanLines(frame, scan, element_size, in, out, outer, shape.dim(scanned), order);
    ScanColumns(frame, scan, element_size, in, out, outer, shape.dim(scanned), inner, order);
    return Status();
  }
};

ScanFunction FindFunction(ScanOp op, DType dtype) {
  ScanFunction function;
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    function.rows = FindScanRows(op, dtype);
    return function;
  }
  function.rows = FindScanRows(op, DType::kF32);
  const HalfRows halves(dtype);
  function.widen = halves.widen;
  function.narrow = halves.narrow;
  for (const RowEntry& entry : SimdRows()) {
    const bool is_op = std::string_view(entry.op) == (op == ScanOp::kSum ? "tf.AddV2" : "tf.Mul");
    if (is_op && entry.dtypes.Contains(DType::kF32)) function.combine_rows = entry.row;
  }
  return function;
}

}  // namespace

Status RegisterScanKernels(KernelOpHandler& handler) {
  if constexpr (IsInBuild("tf.Cumsum") || IsInBuild("tf.Cumprod")) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!kNumericDTypes.Contains(dtype)) continue;
      for (const ScanOp op : {ScanOp::kSum, ScanOp::kProduct}) {
        const char* const name = op == ScanOp::kSum ? "tf.Cumsum" : "tf.Cumprod";
        if (!DTypesInBuild(name).Contains(dtype)) continue;
        const ScanFunction function = FindFunction(op, dtype);
        if (function.rows.along == nullptr) continue;
        TANDEM_RETURN_IF_ERROR(handler.AddKernel(
            name, {dtype},
            MakeRecordedKernel<"tf.Cumsum tf.Cumprod">(ScanKernel{function}).WithCost(function.along_cost())));
      }
    }
  }
  return Status();
}

}  // namespace tandem::cpu
