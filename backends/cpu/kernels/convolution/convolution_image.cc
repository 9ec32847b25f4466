// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads and stores of parts of images: padding, layout and dtype are dealt with here, and nowhere else.

#include "kernels/convolution/convolution_image.h"

#include <algorithm>
#include <cstring>

#include "kernels/convolution/convolution_tiles.h"

namespace tandem::cpu {
namespace {

// to[i * repeat + r] = from[i]
template <typename T>
void Repeat(const T* from, int64_t count, int64_t repeat, T* to) {
  for (int64_t i = 0; i < count; ++i, to += repeat) std::fill_n(to, repeat, from[i]);
}

// `count` pixels within one row of an image.
template <typename T>
void LoadPixels(const ImageLayout& layout, const void* data, ElementConversion conversion, int64_t at, int64_t count,
                int64_t repeat, T* room, T* to) {
  const int64_t channels = layout.channels;
  if (layout.HasPackedPixels()) {
    LoadElements(conversion, data, at, count * channels, repeat == 1 ? to : room);
    if (repeat > 1) Repeat(room, count * channels, repeat, to);
    return;
  }
  const T* planes = static_cast<const T*>(data) + at;
  int64_t stride = layout.channel_stride;
  if (conversion.widen != nullptr) {
    for (int64_t c = 0; c < channels; ++c) LoadElements(conversion, data, at + c * stride, count, room + c * count);
    planes = room;
    stride = count;
  }
  for (int64_t r = 0; r < repeat; ++r) {
    if (repeat == 1) {
      GetConvolutionTiles<T>().transpose(planes, stride, channels, count, to, channels);
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < count; ++i) to[(i * channels + c) * repeat + r] = planes[c * stride + i];
      }
    }
  }
}

}  // namespace

template <typename T>
void LoadElements(ElementConversion conversion, const void* data, int64_t at, int64_t count, T* to) {
  if (conversion.widen == nullptr) {
    std::memcpy(to, static_cast<const T*>(data) + at, static_cast<size_t>(count) * sizeof(T));
  } else {
    const void* from = static_cast<const uint16_t*>(data) + at;
    conversion.widen(&from, to, count);
  }
}

template <typename T>
void StoreElements(ElementConversion conversion, const T* from, int64_t count, void* data, int64_t at) {
  if (conversion.narrow == nullptr) {
    std::memcpy(static_cast<T*>(data) + at, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    const void* operand = from;
    conversion.narrow(&operand, static_cast<uint16_t*>(data) + at, count);
  }
}

template <typename T>
void LoadImage(const ImageLayout& layout, const void* data, ElementConversion conversion, int64_t n, int64_t row,
               int64_t num_rows, int64_t col, int64_t num_cols, int64_t repeat, T* room, T* to) {
  const int64_t pixel = layout.channels * repeat;
  const int64_t begin = std::clamp<int64_t>(-col, 0, num_cols);
  const int64_t end = std::clamp<int64_t>(layout.cols - col, begin, num_cols);
  for (int64_t r = row; r < row + num_rows; ++r, to += num_cols * pixel) {
    if (r < 0 || r >= layout.rows || begin == end) {
      std::fill_n(to, num_cols * pixel, T{0});
      continue;
    }
    std::fill_n(to, begin * pixel, T{0});
    const int64_t at = n * layout.batch_stride + r * layout.row_stride + (col + begin) * layout.col_stride;
    LoadPixels(layout, data, conversion, at, end - begin, repeat, room, to + begin * pixel);
    std::fill_n(to + end * pixel, (num_cols - end) * pixel, T{0});
  }
}

template <typename T>
void StoreImageRow(const ImageLayout& layout, void* data, ElementConversion conversion, int64_t n, int64_t row,
                   int64_t col, int64_t col_step, int64_t num_cols, T* room, const T* from) {
  const int64_t channels = layout.channels;
  const int64_t at = n * layout.batch_stride + row * layout.row_stride + col * layout.col_stride;
  if (layout.HasPackedPixels()) {
    if (col_step == 1) return StoreElements(conversion, from, num_cols * channels, data, at);
    for (int64_t i = 0; i < num_cols; ++i) {
      StoreElements(conversion, from + i * channels, channels, data, at + i * col_step * layout.col_stride);
    }
    return;
  }
  if (col_step == 1 && conversion.narrow == nullptr) {
    return GetConvolutionTiles<T>().transpose(from, channels, num_cols, channels, static_cast<T*>(data) + at,
                                              layout.channel_stride);
  }
  GetConvolutionTiles<T>().transpose(from, channels, num_cols, channels, room, num_cols);
  for (int64_t c = 0; c < channels; ++c) {
    const T* plane = room + c * num_cols;
    const int64_t to = at + c * layout.channel_stride;
    if (col_step == 1) {
      StoreElements(conversion, plane, num_cols, data, to);
    } else if (conversion.narrow == nullptr) {
      T* pixels = static_cast<T*>(data) + to;
      for (int64_t i = 0; i < num_cols; ++i) pixels[i * col_step] = plane[i];
    } else {
      for (int64_t i = 0; i < num_cols; ++i) StoreElements(conversion, plane + i, 1, data, to + i * col_step);
    }
  }
}

#define TANDEM_INSTANTIATE_IMAGE(T)                                                                                  \
  template void LoadElements<T>(ElementConversion, const void*, int64_t, int64_t, T*);                               \
  template void StoreElements<T>(ElementConversion, const T*, int64_t, void*, int64_t);                              \
  template void LoadImage<T>(const ImageLayout&, const void*, ElementConversion, int64_t, int64_t, int64_t, int64_t, \
                             int64_t, int64_t, T*, T*);                                                              \
  template void StoreImageRow<T>(const ImageLayout&, void*, ElementConversion, int64_t, int64_t, int64_t, int64_t,   \
                                 int64_t, T*, const T*);
TANDEM_INSTANTIATE_IMAGE(float)
TANDEM_INSTANTIATE_IMAGE(double)
TANDEM_INSTANTIATE_IMAGE(uint32_t)
#undef TANDEM_INSTANTIATE_IMAGE

}  // namespace tandem::cpu
