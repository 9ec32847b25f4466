// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResizeBilinear, ResizeNearestNeighbor.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/image/image_kernels.h"
#include "kernels/image/image_rows.h"
#include "kernels/image/image_scaler.h"
#include "kernels/kernels.h"
#include "kernels/op_record.h"
#include "kernels/scratch.h"

namespace tandem::cpu {

namespace {

// Pixels of fewer channels are resampled row by row, others one by one.
constexpr int64_t kFewChannels = 16;
// Elements of a row that are resampled together, so that two of them stay in the first-level cache.
constexpr int64_t kTile = 2048;
// Nanoseconds an element of the result.
constexpr double kBilinearCost = 0.6;
constexpr double kNearestCost = 0.3;

// One bilinear resizing: the tables of its rows and columns.
struct Bilinear {
  BilinearRows functions;
  Sizes sizes;
  size_t element_size;
  const std::byte* images;
  const Tap* rows;     // places are numbers of rows
  const Tap* columns;  // places are numbers of elements in a row
  float* out;

  const std::byte* Row(int64_t row) const {
    return images + static_cast<size_t>(row * sizes.width * sizes.channels) * element_size;
  }
  // Rows [begin, end) of all images' results, a pixel at a time.
  void ByPixels(int64_t begin, int64_t end) const;
  // The same, a row at a time, for few channels.
  void ByRows(int64_t begin, int64_t end) const;
};

void Bilinear::ByPixels(int64_t begin, int64_t end) const {
  const int64_t channels = sizes.channels;
  float* to = out + begin * sizes.new_width * channels;
  for (int64_t row = begin; row < end; ++row) {
    const Tap& y = rows[row % sizes.new_height];
    const int64_t image = row / sizes.new_height * sizes.height;
    const std::byte* top = Row(image + y.lower);
    const std::byte* bottom = Row(image + y.upper);
    for (const Tap* x = columns; x < columns + sizes.new_width; ++x, to += channels) {
      const size_t left = static_cast<size_t>(x->lower) * element_size;
      const size_t right = static_cast<size_t>(x->upper) * element_size;
      const void* const corners[4] = {top + left, top + right, bottom + left, bottom + right};
      functions.channels(corners, channels, x->lerp, y.lerp, to);
    }
  }
}

void Bilinear::ByRows(int64_t begin, int64_t end) const {
  const int64_t channels = sizes.channels;
  const int64_t tile = kTile / channels;
  for (int64_t first = 0; first < sizes.new_width; first += tile) {
    const int64_t count = std::min(tile, sizes.new_width - first);
    // Rows of the images, resampled to these columns: neighbouring rows of the result need the same ones.
    float resampled[2][kTile];
    int64_t held[2] = {-1, -1};
    const auto resample = [&](int64_t row, int64_t other) -> const float* {
      if (held[0] == row) return resampled[0];
      if (held[1] == row) return resampled[1];
      const int slot = held[0] == other ? 1 : 0;
      functions.columns(Row(row), columns + first, count, channels, resampled[slot]);
      held[slot] = row;
      return resampled[slot];
    };
    for (int64_t row = begin; row < end; ++row) {
      const Tap& y = rows[row % sizes.new_height];
      const int64_t image = row / sizes.new_height * sizes.height;
      const float* top = resample(image + y.lower, image + y.upper);
      const float* bottom = resample(image + y.upper, image + y.lower);
      functions.rows(top, bottom, count * channels, y.lerp, out + (row * sizes.new_width + first) * channels);
    }
  }
}

struct ResizeBilinearKernel {
  BilinearRows functions;

  Status operator()(DenseArg images, DenseArg, KernelFrame& frame) const {
    float* out = frame.AllocateResult<float>(0);
    const TensorShape& resized = frame.result_metadata(0).shape;
    if (out == nullptr || resized.num_elements() == 0) return Status();
    const Sizes sizes(images.shape(), resized);
    Scratch<Tap> taps;
    TANDEM_RETURN_IF_ERROR(taps.Init(frame, sizes.new_height + sizes.new_width));
    Tap* rows = taps.data();
    Tap* columns = rows + sizes.new_height;
    const Scaler row_scaler(frame.attrs(), sizes.height, sizes.new_height);
    const Scaler column_scaler(frame.attrs(), sizes.width, sizes.new_width);
    for (int64_t y = 0; y < sizes.new_height; ++y) rows[y] = row_scaler.Interpolated(y, 1);
    for (int64_t x = 0; x < sizes.new_width; ++x) columns[x] = column_scaler.Interpolated(x, sizes.channels);
    const Bilinear bilinear = {functions, sizes, DTypeSize(images.dtype()), images.data<std::byte>(), rows,
                               columns,   out};
    const double cost = kBilinearCost * static_cast<double>(sizes.new_width * sizes.channels);
    frame.ParallelFor(sizes.batch * sizes.new_height, cost, [&](int64_t begin, int64_t end) {
      sizes.channels < kFewChannels ? bilinear.ByRows(begin, end) : bilinear.ByPixels(begin, end);
    });
    return Status();
  }
};

// Copies pixels of `kSize` bytes, or of `size` if that is 0.
template <size_t kSize>
void CopyPixels(const std::byte* row, const size_t* places, int64_t count, size_t size, std::byte* out) {
  const size_t bytes = kSize > 0 ? kSize : size;
  for (int64_t i = 0; i < count; ++i, out += bytes) std::memcpy(out, row + places[i], bytes);
}

using PixelCopy = void (*)(const std::byte*, const size_t*, int64_t, size_t, std::byte*);

PixelCopy PixelCopyOf(size_t size) {
  switch (size) {
    case 1:
      return &CopyPixels<1>;
    case 2:
      return &CopyPixels<2>;
    case 3:
      return &CopyPixels<3>;
    case 4:
      return &CopyPixels<4>;
    case 6:
      return &CopyPixels<6>;
    case 8:
      return &CopyPixels<8>;
    case 12:
      return &CopyPixels<12>;
    case 16:
      return &CopyPixels<16>;
    default:
      return &CopyPixels<0>;
  }
}

Status ResizeNearestNeighborKernel(DenseArg images, DenseArg, KernelFrame& frame) {
  auto* out = frame.AllocateResult<std::byte>(0);
  const TensorShape& resized = frame.result_metadata(0).shape;
  if (out == nullptr || resized.num_elements() == 0) return Status();
  const Sizes sizes(images.shape(), resized);
  const size_t pixel_size = static_cast<size_t>(sizes.channels) * DTypeSize(images.dtype());
  const size_t row_size = static_cast<size_t>(sizes.width) * pixel_size;
  const size_t new_row_size = static_cast<size_t>(sizes.new_width) * pixel_size;
  Scratch<size_t> places;  // of columns
  TANDEM_RETURN_IF_ERROR(places.Init(frame, sizes.new_width));
  const Scaler row_scaler(frame.attrs(), sizes.height, sizes.new_height);
  const Scaler column_scaler(frame.attrs(), sizes.width, sizes.new_width);
  for (int64_t x = 0; x < sizes.new_width; ++x) {
    places.data()[x] = static_cast<size_t>(column_scaler.Nearest(x)) * pixel_size;
  }
  const PixelCopy copy = PixelCopyOf(pixel_size);
  const auto* from = images.data<std::byte>();
  const double cost = kNearestCost * static_cast<double>(sizes.new_width * sizes.channels);
  frame.ParallelFor(sizes.batch * sizes.new_height, cost, [&](int64_t begin, int64_t end) {
    int64_t previous = -1;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / sizes.new_height * sizes.height;
      const int64_t source = image + row_scaler.Nearest(row % sizes.new_height);
      std::byte* to = out + static_cast<size_t>(row) * new_row_size;
      if (source == previous) {
        std::memcpy(to, to - new_row_size, new_row_size);
      } else {
        copy(from + static_cast<size_t>(source) * row_size, places.data(), sizes.new_width, pixel_size, to);
      }
      previous = source;
    }
  });
  return Status();
}

}  // namespace

Status RegisterImageKernels(KernelOpHandler& handler) {
  if constexpr (IsInBuild("tf.ResizeBilinear")) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!DTypesInBuild("tf.ResizeBilinear").Contains(dtype)) continue;
      const BilinearRows functions = FindBilinearRows(dtype);
      if (functions.columns == nullptr) continue;
      TANDEM_RETURN_IF_ERROR(handler.AddKernel("tf.ResizeBilinear", {dtype},
                                               MakeRecordedKernel<"tf.ResizeBilinear">(ResizeBilinearKernel{functions})
                                                   .WithCost(static_cast<float>(kBilinearCost))));
    }
  }
  constexpr DTypeSet kNearestDTypes = {DType::kU8,  DType::kI8,  DType::kU16,  DType::kI16, DType::kI32,
                                       DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  static constexpr KernelEntry kKernels[] = {KernelEntryOf<&ResizeNearestNeighborKernel>(
      "tf.ResizeNearestNeighbor", kNearestDTypes, {static_cast<float>(kNearestCost)})};
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  TANDEM_RETURN_IF_ERROR(RegisterImageGradientKernels(handler));
  TANDEM_RETURN_IF_ERROR(RegisterImageSampleKernels(handler));
  return RegisterBoxKernels(handler);
}

}  // namespace tandem::cpu
