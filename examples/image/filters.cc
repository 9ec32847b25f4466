// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Filters as op calls; what is computed here in C++ is only the weights and indices that the ops are given.

#include "image/filters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "tandem/ops.h"

namespace image {
namespace {

using tandem::DType;
using tandem::StatusOr;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

constexpr int kRowAxis = 1;
constexpr int kColAxis = 2;
constexpr int kChannelAxis = 3;

Runtime& RuntimeOf(const Picture& picture) { return *picture.pixels.runtime(); }

// Adds `border` pixels at both ends of the axis, which has `size`: ... 1 0 | 0 1 2 ... as often as it takes.
Tensor Mirror(const Tensor& pixels, int axis, int64_t size, int64_t border) {
  std::vector<int32_t> indices;
  for (int64_t i = -border; i < size + border; ++i) {
    const int64_t place = (i % (2 * size) + 2 * size) % (2 * size);
    indices.push_back(static_cast<int32_t>(std::min(place, 2 * size - 1 - place)));
  }
  const Tensor where = pixels.runtime()->FromValues<int32_t>(indices, {static_cast<int64_t>(indices.size())});
  return gather(pixels, where, axis);
}

Tensor Reverse(const Picture& picture, int axis, int64_t size) {
  return gather(picture.pixels, range(RuntimeOf(picture), size - 1, -1, -1), axis);
}

// The Gaussian at -radius ... radius, of sum 1; beyond three deviations there is next to nothing.
std::vector<double> GaussianWeights(double sigma) {
  const auto radius = std::max(1, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<double> weights;
  double sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += weights.emplace_back(std::exp(-0.5 * i * i / (sigma * sigma)));
  for (double& weight : weights) weight /= sum;
  return weights;
}

Tensor BlurAxis(const Tensor& pixels, int axis, int64_t size, int64_t channels, float sigma) {
  if (sigma <= 0) return pixels;
  const std::vector<double> weights = GaussianWeights(sigma);
  const auto taps = static_cast<int64_t>(weights.size());
  // The same weights for each channel, which the convolution keeps apart.
  std::vector<float> filter;
  for (double weight : weights) filter.insert(filter.end(), static_cast<size_t>(channels), static_cast<float>(weight));
  const tandem::TensorShape shape = {axis == kRowAxis ? taps : 1, axis == kColAxis ? taps : 1, channels, 1};
  return depthwiseConv2dNative(Mirror(pixels, axis, size, taps / 2), pixels.runtime()->FromValues<float>(filter, shape),
                               {1, 1, 1, 1}, "VALID");
}

// How much to blur an axis before it shrinks.
float ShrinkSigma(int64_t from, int64_t to) {
  return from <= to ? 0 : (static_cast<float>(from) / static_cast<float>(to) - 1) / 2;
}

}  // namespace

Picture FromImage(Runtime& runtime, const Image& image) {
  const auto rows = static_cast<int64_t>(image.rows), cols = static_cast<int64_t>(image.cols);
  const auto channels = static_cast<int64_t>(image.channels);
  const DType dtype = image.depth == 16 ? DType::kU16 : DType::kU8;
  const Tensor samples = runtime.FromBytes(dtype, std::as_bytes(image.samples.bytes()), {1, rows, cols, channels});
  const Tensor light = mul(cast(samples, DType::kF32), image.depth == 16 ? 1 / 65535.0f : 1 / 255.0f);
  if (!image.has_alpha()) return {light, rows, cols, channels};
  const Tensor color = slice(light, {0, 0, 0, 0}, {1, rows, cols, channels - 1});
  const Tensor alpha = slice(light, {0, 0, 0, channels - 1}, {1, rows, cols, 1});
  // What shines through is 1, the white below.
  return {add(mul(color, alpha), sub(1, alpha)), rows, cols, channels - 1};
}

StatusOr<Image> ToImage(const Picture& picture, int depth) {
  const float range = depth == 16 ? 65535 : 255;
  const Tensor scaled = round(mul(minimum(maximum(picture.pixels, 0), 1), range));
  const Tensor samples = cast(scaled, depth == 16 ? DType::kU16 : DType::kU8);
  std::span<const std::byte> bytes;
  if (depth == 16) {
    TANDEM_ASSIGN_OR_RETURN(const std::span<const uint16_t> values, samples.Values<uint16_t>());
    bytes = std::as_bytes(values);
  } else {
    TANDEM_ASSIGN_OR_RETURN(const std::span<const uint8_t> values, samples.Values<uint8_t>());
    bytes = std::as_bytes(values);
  }
  TANDEM_ASSIGN_OR_RETURN(Image image, MakeImage(static_cast<size_t>(picture.rows), static_cast<size_t>(picture.cols),
                                                 static_cast<size_t>(picture.channels), depth));
  if (bytes.size() != image.samples.size()) {
    return tandem::Internal("expected ", image.samples.size(), " bytes of samples, got ", bytes.size());
  }
  std::memcpy(image.samples.data(), bytes.data(), bytes.size());
  return image;
}

Picture Grayscale(const Picture& picture) {
  if (picture.channels == 1) return picture;
  const Tensor weights = RuntimeOf(picture).FromValues<float>({0.299f, 0.587f, 0.114f}, {1, 1, 3, 1});
  return {conv2d(picture.pixels, weights, {1, 1, 1, 1}, "VALID"), picture.rows, picture.cols, 1};
}

Picture Invert(const Picture& picture) {
  return {sub(1, picture.pixels), picture.rows, picture.cols, picture.channels};
}

Picture Blur(const Picture& picture, float sigma_rows, float sigma_cols) {
  const Tensor rows = BlurAxis(picture.pixels, kRowAxis, picture.rows, picture.channels, sigma_rows);
  const Tensor both = BlurAxis(rows, kColAxis, picture.cols, picture.channels, sigma_cols);
  return {both, picture.rows, picture.cols, picture.channels};
}

Picture Sharpen(const Picture& picture, float amount) {
  constexpr float kSigma = 1.5f;
  const Tensor detail = sub(picture.pixels, Blur(picture, kSigma, kSigma).pixels);
  return {add(picture.pixels, mul(detail, amount)), picture.rows, picture.cols, picture.channels};
}

Picture Edges(const Picture& picture) {
  const Picture grey = Grayscale(picture);
  const Tensor padded = Mirror(Mirror(grey.pixels, kRowAxis, grey.rows, 1), kColAxis, grey.cols, 1);
  // [row, column, 1, direction]: to the right, and down. A step from 0 to 1 gives 4.
  const Tensor sobel =
      RuntimeOf(picture).FromValues<float>({-1, -1, 0, -2, 1, -1, -2, 0, 0, 0, 2, 0, -1, 1, 0, 2, 1, 1}, {3, 3, 1, 2});
  const Tensor gradient = mul(conv2d(padded, sobel, {1, 1, 1, 1}, "VALID"), 0.25f);
  return {sqrt(sum(square(gradient), {kChannelAxis}, {.keep_dims = true})), grey.rows, grey.cols, 1};
}

Picture Resize(const Picture& picture, int64_t rows, int64_t cols) {
  const Picture smooth = Blur(picture, ShrinkSigma(picture.rows, rows), ShrinkSigma(picture.cols, cols));
  return {resizeBilinear(smooth.pixels, {rows, cols}, {.half_pixel_centers = true}), rows, cols, picture.channels};
}

Picture ResizeNearest(const Picture& picture, int64_t rows, int64_t cols) {
  return {resizeNearestNeighbor(picture.pixels, {rows, cols}, {.half_pixel_centers = true}), rows, cols,
          picture.channels};
}

Picture Pixelate(const Picture& picture, int64_t size) {
  // Where the last square of a row or column is not whole, the mean is that of its part.
  const int64_t rows = (picture.rows + size - 1) / size, cols = (picture.cols + size - 1) / size;
  const std::vector<int64_t> square = {1, size, size, 1};
  const Picture means = {avgPool(picture.pixels, square, square, "SAME"), rows, cols, picture.channels};
  const Picture squares = ResizeNearest(means, rows * size, cols * size);
  // "SAME" shares what is missing between both ends.
  const int64_t top = (rows * size - picture.rows) / 2, left = (cols * size - picture.cols) / 2;
  return {slice(squares.pixels, {0, top, left, 0}, {1, picture.rows, picture.cols, picture.channels}), picture.rows,
          picture.cols, picture.channels};
}

Picture FlipHorizontally(const Picture& picture) {
  return {Reverse(picture, kColAxis, picture.cols), picture.rows, picture.cols, picture.channels};
}

Picture FlipVertically(const Picture& picture) {
  return {Reverse(picture, kRowAxis, picture.rows), picture.rows, picture.cols, picture.channels};
}

Picture Rotate(const Picture& picture) {
  const Picture mirrored = {transpose(picture.pixels, {0, kColAxis, kRowAxis, kChannelAxis}), picture.cols,
                            picture.rows, picture.channels};
  return FlipHorizontally(mirrored);
}

Picture ToRgb(const Picture& picture) {
  if (picture.channels != 1) return picture;
  return {tile(picture.pixels, {1, 1, 1, 3}), picture.rows, picture.cols, 3};
}

}  // namespace image
