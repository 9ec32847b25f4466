// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPoolWithArgmax: images as volumes of depth 1.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/converted.h"
#include "kernels/pooling/pooling_plan.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/volume/volume_plan.h"

namespace tandem::cpu {
namespace {

StatusOr<PoolVolumes> ImagesAsVolumes(const OpAttrsRef& attrs, const TensorShape& image) {
  TANDEM_ASSIGN_OR_RETURN(const WindowAttrs window_attrs, ReadWindowAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const auto window, ReadSpatialAttr(attrs, "ksize", false));
  TANDEM_ASSIGN_OR_RETURN(const WindowGeometry geometry, MakeWindowGeometry(window_attrs, image, window[0], window[1]));
  WindowAxis depth;
  depth.input = depth.output = 1;
  return PoolVolumes(image, {depth, geometry.rows, geometry.cols}, /*channels_first=*/false);
}

// Numbers of pixels in `places`, by comparing elements as T.
template <typename T>
Status FindPlaces(const KernelFrame& frame, const PoolVolumes& images, const DenseArg& input, int64_t* places) {
  ConvertedArg<T> x;
  TANDEM_RETURN_IF_ERROR(x.Init(frame, input));
  const T* elements = x.data();
  Scratch<T> ordered;
  if (input.dtype() == DType::kU64) {  // as signed numbers of the same order
    TANDEM_RETURN_IF_ERROR(ordered.Init(frame, input.size()));
    frame.ParallelFor(input.size(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ordered.data()[i] = static_cast<T>(input.data<uint64_t>()[i] ^ (uint64_t{1} << 63));
      }
    });
    elements = ordered.data();
  }
  frame.ParallelFor(images.count * images.windows[1].output, RowCost(images),
                    [&](int64_t begin, int64_t end) { FindLargest<T>(images, elements, begin, end, places); });
  return KernelRun::CheckWanted();
}

// Copies what is at `places`, elements of the whole input.
void TakeElements(const KernelFrame& frame, const DenseArg& input, const int64_t* places, int64_t n, void* out) {
  WithElementType(DTypeSize(input.dtype()), [&]<typename T>(std::type_identity<T>) {
    frame.ParallelFor(n, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) static_cast<T*>(out)[i] = input.data<T>()[places[i]];
    });
  });
}

Status MaxPoolWithArgmaxKernel(DenseArg input, KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  void* argmax = frame.AllocateResult(1);
  const int64_t n = frame.result_metadata(0).num_elements();
  if (out == nullptr || argmax == nullptr || n == 0) return Status();
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes images, ImagesAsVolumes(frame.attrs(), input.shape()));
  Scratch<int64_t> places;
  TANDEM_RETURN_IF_ERROR(places.Init(frame, n));
  switch (input.dtype()) {
    case DType::kF64:
      TANDEM_RETURN_IF_ERROR(FindPlaces<double>(frame, images, input, places.data()));
      break;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      TANDEM_RETURN_IF_ERROR(FindPlaces<float>(frame, images, input, places.data()));
      break;
    default:
      TANDEM_RETURN_IF_ERROR(FindPlaces<int64_t>(frame, images, input, places.data()));
  }
  const int64_t image_size = images.InputPixels() * images.channels;
  const int64_t image_results = n / images.count;
  const bool with_batch = frame.attrs().GetOr("include_batch_in_index", false);
  const bool is_wide = frame.result_metadata(1).dtype == DType::kI64;
  frame.ParallelFor(n, 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = places.data()[i] * images.channels + i % images.channels;
      const int64_t whole = i / image_results * image_size + place;
      places.data()[i] = whole;
      const int64_t told = with_batch ? whole : place;
      if (is_wide) {
        static_cast<int64_t*>(argmax)[i] = told;
      } else {
        static_cast<int32_t*>(argmax)[i] = static_cast<int32_t>(told);
      }
    }
  });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  TakeElements(frame, input, places.data(), n, out);
  return Status();
}

}  // namespace

Status RegisterPoolArgmaxKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MaxPoolWithArgmaxKernel>("tf.MaxPoolWithArgmax", kRealDTypes, {3}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
