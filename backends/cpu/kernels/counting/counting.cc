// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Bincount, DenseBincount, LowerBound, UpperBound.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

int64_t IntegerAt(const DenseArg& integers, int64_t i) {
  return integers.dtype() == DType::kI32 ? integers.data<int32_t>()[i] : integers.data<int64_t>()[i];
}

Status CheckNotNegative(const char* name, const DenseArg& counted) {
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < counted.size() && !poll.Stops(); ++i) {
    if (IntegerAt(counted, i) >= 0) continue;
    return InvalidArgument(name, " must not be negative, got ", IntegerAt(counted, i), " at element ", i);
  }
  return KernelRun::CheckWanted();
}

// Counts the elements [begin, end), or adds up their weights, unless they are null. T: as which integers wrap around.
template <typename T>
void CountRow(const DenseArg& counted, const T* weights, int64_t begin, int64_t end, bool is_binary, int64_t size,
              T* bins) {
  ClearLong(reinterpret_cast<std::byte*>(bins), static_cast<size_t>(size) * sizeof(T));
  StopPoll poll(kPollElements / 4);
  for (int64_t i = begin; i < end && !poll.Stops(); ++i) {
    const int64_t bin = IntegerAt(counted, i);
    if (bin >= size) continue;
    bins[bin] = is_binary ? T{1} : bins[bin] + (weights == nullptr ? T{1} : weights[i]);
  }
}

template <typename T>
Status CountRows(const DenseArg& counted, const DenseArg& weights, int64_t rows, KernelFrame& frame) {
  T* bins = frame.AllocateResult<T>(0);
  if (bins == nullptr || frame.result_metadata(0).num_elements() == 0) return Status();
  const int64_t size = frame.result_metadata(0).num_elements() / rows;
  const int64_t row_size = counted.size() / rows;
  const T* weight = weights.size() == 0 ? nullptr : weights.data<T>();
  const bool is_binary = frame.attrs().GetOr("binary_output", false);
  const double cost = static_cast<double>(row_size) + 0.2 * static_cast<double>(size);
  frame.ParallelFor(rows, cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      CountRow(counted, weight, row * row_size, (row + 1) * row_size, is_binary, size, bins + row * size);
    }
  });
  return Status();
}

Status Count(const char* name, const DenseArg& counted, const DenseArg& weights, int64_t rows, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckNotNegative(name, counted));
  switch (weights.dtype()) {
    case DType::kI32:
      return CountRows<uint32_t>(counted, weights, rows, frame);
    case DType::kI64:
      return CountRows<uint64_t>(counted, weights, rows, frame);
    case DType::kF32:
      return CountRows<float>(counted, weights, rows, frame);
    default:
      return CountRows<double>(counted, weights, rows, frame);
  }
}

Status BincountKernel(DenseArg arr, const Tensor&, DenseArg weights, KernelFrame& frame) {
  return Count("arr", arr, weights, 1, frame);
}

Status DenseBincountKernel(DenseArg input, const Tensor&, DenseArg weights, KernelFrame& frame) {
  return Count("input", input, weights, input.shape().rank() == 2 ? input.shape().dim(0) : 1, frame);
}

// A number whose order among those of the same floating-point dtype is that of the elements: NaN is the largest, and
// both zeros are one.
uint64_t FloatKey(double element) {
  if (std::isnan(element)) return std::numeric_limits<uint64_t>::max();
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const auto bits = std::bit_cast<uint64_t>(element + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

uint64_t SignedKey(int64_t element) { return static_cast<uint64_t>(element) ^ (uint64_t{1} << 63); }

// The same for every real dtype: one search serves them all.
uint64_t KeyAt(DType dtype, const void* elements, int64_t i) {
  switch (dtype) {
    case DType::kU8:
      return static_cast<const uint8_t*>(elements)[i];
    case DType::kI8:
      return SignedKey(static_cast<const int8_t*>(elements)[i]);
    case DType::kU16:
      return static_cast<const uint16_t*>(elements)[i];
    case DType::kI16:
      return SignedKey(static_cast<const int16_t*>(elements)[i]);
    case DType::kU32:
      return static_cast<const uint32_t*>(elements)[i];
    case DType::kI32:
      return SignedKey(static_cast<const int32_t*>(elements)[i]);
    case DType::kU64:
      return static_cast<const uint64_t*>(elements)[i];
    case DType::kI64:
      return SignedKey(static_cast<const int64_t*>(elements)[i]);
    case DType::kF16:
      return FloatKey(static_cast<float>(static_cast<const Float16*>(elements)[i]));
    case DType::kBF16:
      return FloatKey(static_cast<float>(static_cast<const BFloat16*>(elements)[i]));
    case DType::kF32:
      return FloatKey(static_cast<const float*>(elements)[i]);
    default:
      return FloatKey(static_cast<const double*>(elements)[i]);
  }
}

// How many elements of a row of sorted_inputs are less than each value, or not greater than it.
template <bool is_upper>
Status BoundKernel(DenseArg sorted, DenseArg values, KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out == nullptr || values.size() == 0) return Status();
  const DType dtype = values.dtype();
  const bool is_wide = frame.result_metadata(0).dtype == DType::kI64;
  const int64_t row_size = sorted.shape().dim(1);
  const int64_t row_values = values.shape().dim(1);
  const double cost = 5 + 5 * std::log2(static_cast<double>(row_size) + 1);
  frame.ParallelFor(values.size(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / row_values * row_size;
      const uint64_t key = KeyAt(dtype, values.data<void>(), i);
      int64_t low = 0;
      for (int64_t high = row_size; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        const uint64_t element = KeyAt(dtype, sorted.data<void>(), first + middle);
        const bool is_before = is_upper ? element <= key : element < key;
        is_before ? low = middle + 1 : high = middle;
      }
      if (is_wide) {
        static_cast<int64_t*>(out)[i] = low;
      } else {
        static_cast<int32_t*>(out)[i] = static_cast<int32_t>(low);
      }
    }
  });
  return Status();
}

}  // namespace

Status RegisterCountingKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kCounts = {DType::kI32, DType::kI64, DType::kF32, DType::kF64};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&BincountKernel>("tf.Bincount", kCounts, {1}),
      KernelEntryOf<&DenseBincountKernel>("tf.DenseBincount", kCounts, {1}),
      KernelEntryOf<&BoundKernel<false>>("tf.LowerBound", kRealDTypes, {10}),
      KernelEntryOf<&BoundKernel<true>>("tf.UpperBound", kRealDTypes, {10}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
