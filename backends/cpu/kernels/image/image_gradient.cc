// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinearGrad, ResizeNearestNeighborGrad. Threads take rows of the images, each of which adds up what the rows
// of the resized images that come from it give, in their order.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/converted.h"
#include "kernels/image/image_kernels.h"
#include "kernels/image/image_scaler.h"
#include "kernels/polls.h"

namespace tandem::cpu {
namespace {

// Nanoseconds an element of the gradient.
constexpr double kCost = 2;

// Calls add(row of the resized image) for those whose source(row) is `row` or the next one after: since sources ascend,
// they are neighbours. `source`: the row, or the upper one of two, that a row comes from.
template <typename Source, typename Add>
void ForEachRowFrom(int64_t row, int64_t new_height, int64_t reach, Source source, Add add) {
  int64_t low = 0;
  for (int64_t high = new_height; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    source(middle) < row - reach ? low = middle + 1 : high = middle;
  }
  for (; low < new_height && source(low) <= row; ++low) add(low);
}

// One row of sums, from one row of gradients, times a weight.
void AddBilinearRow(const float* gradients, const Tap* columns, const Sizes& sizes, float weight, float* sums) {
  const int64_t channels = sizes.channels;
  for (int64_t x = 0; x < sizes.new_width; ++x, gradients += channels) {
    const Tap& tap = columns[x];
    for (int64_t c = 0; c < channels; ++c) {
      const float gradient = weight * gradients[c];
      sums[tap.lower + c] += gradient * (1 - tap.lerp);
      sums[tap.upper + c] += gradient * tap.lerp;
    }
  }
}

Status BilinearGradAsF32(const DenseArg& grads, const TensorShape& images, KernelFrame& frame, float* out) {
  const Sizes sizes(images, grads.shape());
  Scratch<Tap> taps;
  TANDEM_RETURN_IF_ERROR(taps.Init(frame, sizes.new_height + sizes.new_width));
  Tap* const rows = taps.data();
  Tap* const columns = rows + sizes.new_height;
  const Scaler row_scaler(frame.attrs(), sizes.height, sizes.new_height);
  const Scaler column_scaler(frame.attrs(), sizes.width, sizes.new_width);
  for (int64_t y = 0; y < sizes.new_height; ++y) rows[y] = row_scaler.Interpolated(y, 1);
  for (int64_t x = 0; x < sizes.new_width; ++x) columns[x] = column_scaler.Interpolated(x, sizes.channels);
  const int64_t row_size = sizes.width * sizes.channels;
  const int64_t new_row_size = sizes.new_width * sizes.channels;
  const double cost =
      kCost * static_cast<double>(2 * new_row_size * sizes.new_height) / static_cast<double>(sizes.height);
  frame.ParallelFor(sizes.batch * sizes.height, cost + static_cast<double>(row_size), [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollElements);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % sizes.height;
      float* const sums = out + i * row_size;
      std::fill_n(sums, row_size, 0.0f);
      const float* const image = grads.data<float>() + i / sizes.height * sizes.new_height * new_row_size;
      ForEachRowFrom(
          row, sizes.new_height, 1, [&](int64_t y) { return rows[y].lower; },
          [&](int64_t y) {
            if (poll.Stops(new_row_size)) return;
            const Tap& tap = rows[y];
            const float* gradients = image + y * new_row_size;
            if (tap.lower == row) AddBilinearRow(gradients, columns, sizes, 1 - tap.lerp, sums);
            if (tap.upper == row) AddBilinearRow(gradients, columns, sizes, tap.lerp, sums);
          });
    }
  });
  return KernelRun::CheckWanted();
}

Status ResizeBilinearGradKernel(DenseArg grads, DenseArg original_image, KernelFrame& frame) {
  ConvertedResult<float> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  TANDEM_RETURN_IF_ERROR(BilinearGradAsF32(grads, original_image.shape(), frame, result.data()));
  result.Finish(frame);
  return Status();
}

// T: f32, f64 or i64.
template <typename T>
Status NearestGradAs(const DenseArg& grads, KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<T> gradients;
  TANDEM_RETURN_IF_ERROR(gradients.Init(frame, grads));
  const Sizes sizes(frame.result_metadata(0).shape, grads.shape());
  const Scaler row_scaler(frame.attrs(), sizes.height, sizes.new_height);
  const Scaler column_scaler(frame.attrs(), sizes.width, sizes.new_width);
  const int64_t row_size = sizes.width * sizes.channels;
  const double cost = kCost * static_cast<double>(sizes.new_width * sizes.channels * sizes.new_height) /
                      static_cast<double>(sizes.height);
  frame.ParallelFor(sizes.batch * sizes.height, cost + static_cast<double>(row_size), [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollElements);
    for (int64_t i = begin; i < end; ++i) {
      T* const sums = result.data() + i * row_size;
      std::fill_n(sums, row_size, T{0});
      const int64_t first = i / sizes.height * sizes.new_height;
      ForEachRowFrom(
          i % sizes.height, sizes.new_height, 0, [&](int64_t y) { return row_scaler.Nearest(y); },
          [&](int64_t y) {
            if (poll.Stops(sizes.new_width * sizes.channels)) return;
            const T* from = gradients.data() + (first + y) * sizes.new_width * sizes.channels;
            for (int64_t x = 0; x < sizes.new_width; ++x, from += sizes.channels) {
              T* const to = sums + column_scaler.Nearest(x) * sizes.channels;
              for (int64_t c = 0; c < sizes.channels; ++c) to[c] += from[c];
            }
          });
    }
  });
  result.Finish(frame);
  return Status();
}

Status ResizeNearestNeighborGradKernel(DenseArg grads, const Tensor&, KernelFrame& frame) {
  if (grads.dtype() == DType::kF64) return NearestGradAs<double>(grads, frame);
  if (kFloatDTypes.Contains(grads.dtype())) return NearestGradAs<float>(grads, frame);
  return NearestGradAs<int64_t>(grads, frame);
}

}  // namespace

Status RegisterImageGradientKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kNearestDTypes = kFloatDTypes | DTypeSet{DType::kU8, DType::kI8, DType::kI32};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ResizeBilinearGradKernel>("tf.ResizeBilinearGrad", kFloatDTypes, {2}),
      KernelEntryOf<&ResizeNearestNeighborGradKernel>("tf.ResizeNearestNeighborGrad", kNearestDTypes, {2}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
