// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Strips: a convolution's outputs by ranges of rows or images, which stay in the cache, with what they are computed
// from, while they are worked on.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_STRIPS_H_
#define TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_STRIPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/convolution/convolution_image.h"
#include "kernels/convolution/convolution_taps.h"
#include "kernels/task_size.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {

// Tasks that even out unequal threads.
inline int64_t EnoughTasks(const WorkQueue& queue) {
  const int64_t threads = queue.ParallelismLevel();
  return threads == 1 ? 1 : 16 * threads;
}

constexpr int64_t DivideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
constexpr int64_t RoundUp(int64_t x, int64_t multiple) { return DivideUp(x, multiple) * multiple; }
// What `count` elements take, so that what follows is aligned for the cache. More than memory can have if it is.
template <typename T>
constexpr uint64_t RoundUpBytes(int64_t count) {
  return (static_cast<uint64_t>(count) * sizeof(T) + 63) / 64 * 64;
}

// Rows [row, row + num_rows) of outputs of images [image, image + num_images): all rows if it is more than one image.
struct Strip {
  int64_t image;
  int64_t num_images;
  int64_t row;
  int64_t num_rows;
  int64_t num_pixels;
};

template <typename T>
class Strips {
 public:
  // Each source channel counts `repeat` times; `width` is the number of channels of an output.
  Strips(const ImageLayout& source, const T* data, ElementConversion conversion, const TapAxis& rows,
         const TapAxis& cols, int64_t repeat, int64_t width)
      : source_(source),
        data_(data),
        conversion_(conversion),
        rows_(rows),
        cols_(cols),
        repeat_(repeat),
        width_(width),
        is_in_place_(conversion.widen == nullptr && source.HasPackedPixels() && repeat == 1 && rows.IsInside() &&
                     cols.IsInside()),
        pitch_(is_in_place_ ? source.row_stride : PitchOf(cols.Span(cols.outputs), source.channels * repeat)) {}

  // As many outputs a strip as the second-level cache holds, but at least `wanted` strips, unless these would be less
  // than two tiles of `tile_rows` outputs.
  void ChooseSize(int64_t tile_rows, int64_t wanted) {
    constexpr int64_t kCacheElements = (int64_t{192} << 10) / static_cast<int64_t>(sizeof(T));
    const int64_t by_width = std::max(4 * tile_rows, kCacheElements / width_) / cols_.outputs;
    const int64_t by_source = is_in_place_ ? by_width : kCacheElements / pitch_ / rows_.stride;
    const int64_t fair = DivideUp(source_.batch * rows_.outputs, wanted);
    const int64_t enough = DivideUp(2 * tile_rows, cols_.outputs);
    // Where a row is one output, whole tiles of them.
    unit_rows_ = cols_.outputs == 1 ? tile_rows : 1;
    SetRows(std::clamp<int64_t>(std::min(by_width, by_source), 1, std::max(fair, enough)));
  }
  // The same for at most `pixels` outputs a strip, if a row has not more.
  void ChooseSize(int64_t pixels) { SetRows(std::max<int64_t>(1, pixels / cols_.outputs)); }

  // False if where strides are huge, the padding between a strip's windows is more than memory can have.
  bool FitsInMemory() const { return MemorySize() <= static_cast<uint64_t>(PTRDIFF_MAX) / 2; }
  int64_t size() const { return num_strips_; }
  int64_t max_pixels() const { return images_a_strip_ * rows_a_strip_ * cols_.outputs; }
  // Source elements from row to row.
  int64_t pitch() const { return pitch_; }
  int64_t pixel_size() const { return source_.channels * repeat_; }
  // How many of `n` strips, or parts of strips, make a task, if an output takes so many products there.
  int64_t GrainFor(WorkQueue& queue, int64_t n, double products) const {
    return TaskGrain(&queue, n, static_cast<double>(max_pixels()) * products);
  }

  Strip operator[](int64_t i) const {
    Strip strip;
    if (strips_an_image_ == 1) {
      strip.image = i * images_a_strip_;
      strip.num_images = std::min(images_a_strip_, source_.batch - strip.image);
      strip.row = 0;
      strip.num_rows = rows_.outputs;
    } else {
      strip.image = i / strips_an_image_;
      strip.num_images = 1;
      strip.row = FirstRow(i % strips_an_image_);
      strip.num_rows = FirstRow(i % strips_an_image_ + 1) - strip.row;
    }
    strip.num_pixels = strip.num_images * strip.num_rows * cols_.outputs;
    return strip;
  }

  // What a StripSource needs; as much as can be if that overflows.
  uint64_t MemorySize() const {
    int64_t loaded = images_a_strip_ * rows_.Span(rows_a_strip_);
    if (!is_in_place_ && (__builtin_mul_overflow(loaded, pitch_, &loaded) || loaded > kMaxElements))
      return UINT64_MAX / 2;
    return PointersSize() + LoadedSize() + RoomSize();
  }

 private:
  template <typename U>
  friend class StripSource;

  static constexpr int64_t kMaxElements = INT64_MAX / 64;

  static int64_t PitchOf(int64_t cols, int64_t channels) {
    int64_t pitch;
    return __builtin_mul_overflow(cols, channels, &pitch) ? kMaxElements : pitch;
  }

  void SetRows(int64_t rows) {
    images_a_strip_ = std::clamp<int64_t>(rows / rows_.outputs, 1, source_.batch);
    strips_an_image_ = rows < rows_.outputs ? DivideUp(rows_.outputs, rows) : 1;
    // Tiles that are not whole cost almost as much as those that are, so that strips are rather larger than one of them
    // small.
    if (unit_rows_ > 1) {
      const int64_t whole = RoundUp(rows, unit_rows_);
      strips_an_image_ = std::max<int64_t>(1, (rows_.outputs + whole / 2) / whole);
    }
    rows_a_strip_ = std::min(rows_.outputs, DivideUp(rows_.outputs, strips_an_image_) + unit_rows_ - 1);
    num_strips_ = strips_an_image_ == 1 ? DivideUp(source_.batch, images_a_strip_) : source_.batch * strips_an_image_;
  }
  // Of a strip of an image: equal ones, rather than a small last one.
  int64_t FirstRow(int64_t strip) const {
    if (strip == strips_an_image_) return rows_.outputs;
    const int64_t rest = rows_.outputs % strips_an_image_ * strip / strips_an_image_;
    return (rows_.outputs / strips_an_image_ * strip + rest + unit_rows_ / 2) / unit_rows_ * unit_rows_;
  }
  uint64_t PointersSize() const { return RoundUpBytes<const T*>(max_pixels()); }
  uint64_t LoadedSize() const {
    return is_in_place_ ? 0 : RoundUpBytes<T>(images_a_strip_ * rows_.Span(rows_a_strip_) * pitch_);
  }
  uint64_t RoomSize() const { return is_in_place_ ? 0 : RoundUpBytes<T>(source_.cols * source_.channels); }

  const ImageLayout& source_;
  const T* const data_;
  const ElementConversion conversion_;
  const TapAxis& rows_;
  const TapAxis& cols_;
  const int64_t repeat_;
  const int64_t width_;
  const bool is_in_place_;
  const int64_t pitch_;
  int64_t images_a_strip_ = 1;
  int64_t strips_an_image_ = 1;
  int64_t unit_rows_ = 1;
  int64_t rows_a_strip_ = 1;  // at most
  int64_t num_strips_ = 0;
};

// The source elements of one strip at a time, in `memory` or where they are.
template <typename T>
class StripSource {
 public:
  StripSource(const Strips<T>& strips, std::byte* memory)
      : strips_(strips),
        pixels_(reinterpret_cast<const T**>(memory)),
        loaded_(reinterpret_cast<T*>(memory + strips.PointersSize())),
        room_(reinterpret_cast<T*>(memory + strips.PointersSize() + strips.LoadedSize())) {}

  Strip Load(int64_t index) {
    const Strip strip = strips_[index];
    num_pixels_ = 0;
    const int64_t span = strips_.rows_.Span(strip.num_rows);
    for (int64_t i = 0; i < strip.num_images; ++i) {
      const int64_t first_row = strip.row * strips_.rows_.stride + strips_.rows_.first;
      const T* first;
      if (strips_.is_in_place_) {
        first = strips_.data_ + (strip.image + i) * strips_.source_.batch_stride + first_row * strips_.pitch_ +
                strips_.cols_.first * strips_.pixel_size();
      } else {
        T* to = loaded_ + i * span * strips_.pitch_;
        LoadImage<T>(strips_.source_, strips_.data_, strips_.conversion_, strip.image + i, first_row, span,
                     strips_.cols_.first, strips_.cols_.Span(strips_.cols_.outputs), strips_.repeat_, room_, to);
        first = to;
      }
      AddPixels(first, strip.num_rows);
    }
    return strip;
  }

  // For each output, the first source element that it sees.
  const T* const* pixels() const { return pixels_; }
  // Makes them the ones `offset` elements further.
  void Shift(int64_t offset) {
    for (int64_t i = 0; i < num_pixels_; ++i) pixels_[i] += offset;
  }

 private:
  void AddPixels(const T* first, int64_t num_rows) {
    const int64_t step = strips_.cols_.stride * strips_.pixel_size();
    for (int64_t row = 0; row < num_rows; ++row) {
      const T* pixel = first + row * strips_.rows_.stride * strips_.pitch_;
      for (int64_t col = 0; col < strips_.cols_.outputs; ++col, pixel += step) pixels_[num_pixels_++] = pixel;
    }
  }

  const Strips<T>& strips_;
  const T** const pixels_;
  T* const loaded_;
  T* const room_;
  int64_t num_pixels_ = 0;
};

// The outputs of one strip at a time, channels last: in the result, or in `memory` until they are stored there.
template <typename T>
class StripResult {
 public:
  StripResult(const ImageLayout& layout, void* data, ElementConversion conversion, const TapAxis& rows,
              const TapAxis& cols, int64_t max_pixels)
      : layout_(layout),
        data_(data),
        conversion_(conversion),
        rows_(rows),
        cols_(cols),
        has_whole_rows_(rows.out_step == 1 && cols.out_step == 1 && cols.outputs == layout.cols &&
                        rows.outputs == layout.rows),
        is_in_place_(has_whole_rows_ && layout.HasPackedPixels() && conversion.narrow == nullptr),
        pixels_size_(RoundUpBytes<T>(is_in_place_ ? 0 : max_pixels * layout.channels)) {}

  uint64_t MemorySize() const { return 2 * pixels_size_; }
  void SetMemory(std::byte* memory) {
    pixels_ = reinterpret_cast<T*>(memory);
    room_ = reinterpret_cast<T*>(memory + pixels_size_);
  }

  // Whether outputs may be written to where they belong: all of a strip's to Pixels, or row by row to Row, pixel_stride
  // elements from one to the next.
  bool IsInPlace() const { return is_in_place_; }
  bool HasPlacesOfRows() const { return layout_.HasPackedPixels() && conversion_.narrow == nullptr; }
  T* Row(int64_t image, int64_t row) const {
    return static_cast<T*>(data_) + image * layout_.batch_stride +
           (rows_.out_first + row * rows_.out_step) * layout_.row_stride + cols_.out_first * layout_.col_stride;
  }
  int64_t pixel_stride() const { return cols_.out_step * layout_.col_stride; }
  int64_t row_stride() const { return rows_.out_step * layout_.row_stride; }

  // Where to write the strip's outputs otherwise.
  T* Pixels(const Strip& strip) const {
    return is_in_place_ ? static_cast<T*>(data_) + strip.image * layout_.batch_stride + strip.row * layout_.row_stride
                        : pixels_;
  }

  // Once they are all there.
  void Store(const Strip& strip) const {
    if (is_in_place_) return;
    const T* from = pixels_;
    const auto store = [&](int64_t image, int64_t row, int64_t num_cols) {
      StoreImageRow<T>(layout_, data_, conversion_, image, rows_.out_first + row * rows_.out_step, cols_.out_first,
                       cols_.out_step, num_cols, room_, from);
      from += num_cols * layout_.channels;
    };
    for (int64_t image = strip.image; image < strip.image + strip.num_images; ++image) {
      if (has_whole_rows_) {
        store(image, strip.row, strip.num_rows * cols_.outputs);
      } else {
        for (int64_t row = strip.row; row < strip.row + strip.num_rows; ++row) store(image, row, cols_.outputs);
      }
    }
  }

 private:
  const ImageLayout& layout_;
  void* const data_;
  const ElementConversion conversion_;
  const TapAxis& rows_;
  const TapAxis& cols_;
  const bool has_whole_rows_;
  const bool is_in_place_;
  const uint64_t pixels_size_;
  T* pixels_ = nullptr;
  T* room_ = nullptr;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_CONVOLUTION_CONVOLUTION_STRIPS_H_
