// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CropAndResize, ImageProjectiveTransformV3: pixels taken from places between those of an image, in f32.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/converted.h"
#include "kernels/image/image_kernels.h"
#include "kernels/polls.h"

namespace tandem::cpu {
namespace {

// Rows or columns of a crop: place = start + i * step, in pixels of the image.
struct CropAxis {
  CropAxis(float from, float to, int64_t size, int64_t crop_size) : last(static_cast<float>(size - 1)) {
    if (crop_size > 1) {
      step = (to - from) * last / static_cast<float>(crop_size - 1);
      start = from * last;
    } else {
      start = 0.5f * (from + to) * last;
    }
  }
  float Place(int64_t i) const { return start + static_cast<float>(i) * step; }
  bool IsInside(float place) const { return place >= 0 && place <= last; }

  float last;
  float start;
  float step = 0;
};

struct Crops {
  const float* image;
  int64_t height, width, channels;
  int64_t crop_height, crop_width;
  bool is_nearest;
  float outside;

  const float* Pixel(int64_t batch, float y, float x) const {
    return image + ((batch * height + static_cast<int64_t>(y)) * width + static_cast<int64_t>(x)) * channels;
  }

  void Row(const float* box, int64_t batch, int64_t row, float* out) const {
    const CropAxis rows(box[0], box[2], height, crop_height);
    const CropAxis columns(box[1], box[3], width, crop_width);
    const float y = rows.Place(row);
    for (int64_t i = 0; i < crop_width; ++i, out += channels) {
      const float x = columns.Place(i);
      if (!rows.IsInside(y) || !columns.IsInside(x)) {
        std::fill_n(out, channels, outside);
      } else if (is_nearest) {
        std::copy_n(Pixel(batch, std::round(y), std::round(x)), channels, out);
      } else {
        const float top = std::floor(y), left = std::floor(x);
        const float* const corners[] = {Pixel(batch, top, left), Pixel(batch, top, std::ceil(x)),
                                        Pixel(batch, std::ceil(y), left), Pixel(batch, std::ceil(y), std::ceil(x))};
        for (int64_t c = 0; c < channels; ++c) {
          const float upper = corners[0][c] + (corners[1][c] - corners[0][c]) * (x - left);
          const float lower = corners[2][c] + (corners[3][c] - corners[2][c]) * (x - left);
          out[c] = upper + (lower - upper) * (y - top);
        }
      }
    }
  }
};

Status CropAndResizeKernel(DenseArg image, DenseArg boxes, DenseArg box_ind, const Tensor&, KernelFrame& frame) {
  const int64_t batch = image.shape().dim(0);
  const auto* numbers = box_ind.data<int32_t>();
  for (int64_t i = 0; i < box_ind.size(); ++i) {
    if (numbers[i] >= 0 && numbers[i] < batch) continue;
    return InvalidArgument("box_ind must be in [0, ", batch, "), got ", numbers[i], " at element ", i);
  }
  float* out = frame.AllocateResult<float>(0);
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (out == nullptr || shape.num_elements() == 0) return Status();
  ConvertedArg<float> pixels;
  TANDEM_RETURN_IF_ERROR(pixels.Init(frame, image));
  const Crops crops = {pixels.data(),
                       image.shape().dim(1),
                       image.shape().dim(2),
                       image.shape().dim(3),
                       shape.dim(1),
                       shape.dim(2),
                       frame.attrs().GetOr<std::string_view>("method", "bilinear") == "nearest",
                       frame.attrs().GetOr("extrapolation_value", 0.0f)};
  const int64_t row_size = crops.crop_width * crops.channels;
  frame.ParallelFor(shape.dim(0) * shape.dim(1), 5 * static_cast<double>(row_size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t box = i / crops.crop_height;
      crops.Row(boxes.data<float>() + 4 * box, numbers[box], i % crops.crop_height, out + i * row_size);
    }
  });
  return Status();
}

enum class FillMode { kConstant, kReflect, kWrap, kNearest };

FillMode ReadFillMode(const OpAttrsRef& attrs) {
  const auto name = attrs.GetOr<std::string_view>("fill_mode", "CONSTANT");
  if (name == "REFLECT") return FillMode::kReflect;
  if (name == "WRAP") return FillMode::kWrap;
  return name == "NEAREST" ? FillMode::kNearest : FillMode::kConstant;
}

// How many whole times `size` goes into `place`, times `step`.
float WholeSteps(float place, int64_t size, int64_t step) {
  const auto quotient = static_cast<double>(place / static_cast<float>(size));
  return static_cast<float>(std::trunc(quotient) * static_cast<double>(step));
}

// A place among `size` pixels for one that may lie beyond them; NaN stays.
float MapPlace(FillMode mode, float place, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (mode == FillMode::kConstant || place != place) return place;
  if (mode != FillMode::kNearest && (place < 0 || place > last)) {
    if (size <= 1 || !std::isfinite(place)) return 0;
    const auto period = static_cast<float>(2 * size);
    if (mode == FillMode::kReflect && place < 0) {
      place += WholeSteps(-place, 2 * size, 2 * size);
      place = place < -static_cast<float>(size) ? place + period : -place - 1;
    } else if (mode == FillMode::kReflect) {
      place -= WholeSteps(place, 2 * size, 2 * size);
      if (place >= static_cast<float>(size)) place = period - place - 1;
    } else if (place < 0) {
      place += WholeSteps(-place, size - 1, size) + static_cast<float>(size);
    } else {
      place -= WholeSteps(place, size - 1, size);
    }
  }
  return std::clamp(place, 0.0f, last);
}

struct Projection {
  const float* transforms;
  bool is_one;  // for all images
  FillMode mode;
  int64_t height, width;
  int64_t new_height, new_width;

  // Calls visit(number of the result's pixel, image, y, x); y is NaN where nothing is projected to.
  template <typename Visit>
  void ForEachPixel(int64_t begin, int64_t end, Visit visit) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / new_height;
      const float* t = transforms + (is_one ? 0 : 8 * image);
      const auto row = static_cast<float>(i % new_height);
      for (int64_t j = 0; j < new_width; ++j) {
        const auto column = static_cast<float>(j);
        const float divisor = t[6] * column + t[7] * row + 1;
        float x = (t[0] * column + t[1] * row + t[2]) / divisor;
        float y = (t[3] * column + t[4] * row + t[5]) / divisor;
        if (divisor == 0) x = y = std::nanf("");
        visit(i * new_width + j, image, MapPlace(mode, y, height), MapPlace(mode, x, width));
      }
    }
  }
  // The number of a pixel, or -1 of a place beyond the image.
  int64_t PixelAt(int64_t image, float y, float x) const {
    if (!(y >= 0 && y < static_cast<float>(height) && x >= 0 && x < static_cast<float>(width))) return -1;
    return (image * height + static_cast<int64_t>(y)) * width + static_cast<int64_t>(x);
  }
};

Status TransformNearest(KernelFrame& frame, const Projection& projection, const DenseArg& images, float fill) {
  auto* out = frame.AllocateResult<std::byte>(0);
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (out == nullptr || shape.num_elements() == 0) return Status();
  const size_t size = DTypeSize(images.dtype());
  std::byte filling[8];
  if (images.dtype() == DType::kF32) {
    std::memcpy(filling, &fill, sizeof(fill));
  } else {
    ConvertElements(frame, DType::kF32, &fill, images.dtype(), filling, 1);
  }
  const int64_t channels = shape.dim(3);
  const size_t pixel_size = static_cast<size_t>(channels) * size;
  const double cost = static_cast<double>(shape.dim(2)) * (10 + static_cast<double>(channels));
  frame.ParallelFor(shape.dim(0) * shape.dim(1), cost, [&](int64_t begin, int64_t end) {
    projection.ForEachPixel(begin, end, [&](int64_t pixel, int64_t image, float y, float x) {
      std::byte* const to = out + static_cast<size_t>(pixel) * pixel_size;
      const int64_t from = projection.PixelAt(image, std::round(y), std::round(x));
      if (from >= 0) {
        std::memcpy(to, images.data<std::byte>() + static_cast<size_t>(from) * pixel_size, pixel_size);
      } else {
        for (size_t c = 0; c < pixel_size; c += size) std::memcpy(to + c, filling, size);
      }
    });
  });
  return Status();
}

Status TransformBilinear(KernelFrame& frame, const Projection& projection, const DenseArg& images, float fill) {
  ConvertedResult<float> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<float> pixels;
  TANDEM_RETURN_IF_ERROR(pixels.Init(frame, images));
  const TensorShape& shape = frame.result_metadata(0).shape;
  const int64_t channels = shape.dim(3);
  const double cost = static_cast<double>(shape.dim(2)) * (20 + 4 * static_cast<double>(channels));
  frame.ParallelFor(shape.dim(0) * shape.dim(1), cost, [&](int64_t begin, int64_t end) {
    projection.ForEachPixel(begin, end, [&](int64_t pixel, int64_t image, float y, float x) {
      float* const to = result.data() + pixel * channels;
      if (y != y || x != x) {
        std::fill_n(to, channels, fill);
        return;
      }
      const float top = std::floor(y), left = std::floor(x);
      const float bottom = top + 1, right = left + 1;
      const int64_t corners[] = {projection.PixelAt(image, top, left), projection.PixelAt(image, top, right),
                                 projection.PixelAt(image, bottom, left), projection.PixelAt(image, bottom, right)};
      for (int64_t c = 0; c < channels; ++c) {
        float value[4];
        for (int i = 0; i < 4; ++i) value[i] = corners[i] < 0 ? fill : pixels.data()[corners[i] * channels + c];
        const float upper = (right - x) * value[0] + (x - left) * value[1];
        const float lower = (right - x) * value[2] + (x - left) * value[3];
        to[c] = (bottom - y) * upper + (y - top) * lower;
      }
    });
  });
  result.Finish(frame);
  return Status();
}

Status TransformKernel(DenseArg images, DenseArg transforms, const Tensor&, DenseArg fill_value, KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  const Projection projection = {transforms.data<float>(),
                                 transforms.shape().dim(0) == 1,
                                 ReadFillMode(frame.attrs()),
                                 images.shape().dim(1),
                                 images.shape().dim(2),
                                 shape.dim(1),
                                 shape.dim(2)};
  const float fill = *fill_value.data<float>();
  if (frame.attrs().GetOr<std::string_view>("interpolation", "NEAREST") == "NEAREST") {
    return TransformNearest(frame, projection, images, fill);
  }
  return TransformBilinear(frame, projection, images, fill);
}

}  // namespace

Status RegisterImageSampleKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kCropDTypes =
      kFloatDTypes | DTypeSet{DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32, DType::kI64};
  static constexpr DTypeSet kTransformDTypes = kFloatDTypes | DTypeSet{DType::kU8, DType::kI32, DType::kI64};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&CropAndResizeKernel>("tf.CropAndResize", kCropDTypes, {5}),
      KernelEntryOf<&TransformKernel>("tf.ImageProjectiveTransformV3", kTransformDTypes, {5}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
