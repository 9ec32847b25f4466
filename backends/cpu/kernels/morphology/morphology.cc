// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Dilation2D and its gradients: floating-point numbers as f32 or f64, integers as i64.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/converted.h"
#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "tandem/window_geometry.h"

namespace tandem::cpu {
namespace {

template <typename T>
T Sum(T x, T y) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  return x + y;
}

// The result of a window that sees nothing: the least number of the dtype that is finite.
template <typename T>
T LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return static_cast<T>(-65504.0);
    case DType::kBF16:
      return static_cast<T>(-0x1.FEp127);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
      return static_cast<T>(-(int64_t{1} << (8 * DTypeSize(dtype) - 1)));
    default:
      return kUnsignedIntDTypes.Contains(dtype) ? T{0} : std::numeric_limits<T>::lowest();
  }
}

template <typename T>
struct Dilation {
  Status Init(const KernelFrame& frame, const DenseArg& images, const DenseArg& filters) {
    TANDEM_RETURN_IF_ERROR(input.Init(frame, images));
    TANDEM_RETURN_IF_ERROR(filter.Init(frame, filters));
    TANDEM_ASSIGN_OR_RETURN(WindowAttrs attrs, ReadWindowAttrs(frame.attrs()));
    TANDEM_ASSIGN_OR_RETURN(attrs.dilations, ReadSpatialAttr(frame.attrs(), "rates", false));
    TANDEM_ASSIGN_OR_RETURN(windows,
                            MakeWindowGeometry(attrs, images.shape(), filters.shape().dim(0), filters.shape().dim(1)));
    batch = images.shape().dim(0);
    lowest = LowestOf<T>(images.dtype());
    channels = images.shape().dim(3);
    // Of u64 the order is that of signed numbers whose first bit is the other one.
    if constexpr (std::is_integral_v<T>) flip = images.dtype() == DType::kU64 ? INT64_MIN : 0;
    return Status();
  }

  bool IsAbove(T x, T largest) const {
    if constexpr (std::is_integral_v<T>) return (x ^ flip) > (largest ^ flip);
    return x > largest || (x != x && largest == largest);
  }

  // Calls visit(place of the output, its largest sum, places of the input's and the filter's element) for the channels
  // [first, last) of the outputs of rows [begin, end) of all images, in order; the places are -1 of a window that lies
  // between the elements of an image.
  template <typename Visit>
  void ForEachOutput(int64_t begin, int64_t end, int64_t first, int64_t last, Visit visit) const {
    const WindowAxis& rows = windows.rows;
    const WindowAxis& cols = windows.cols;
    StopPoll poll(kPollProducts);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / rows.output * rows.input;
      const int64_t top = row % rows.output * rows.stride - rows.pad_before;
      for (int64_t col = 0; col < cols.output; ++col) {
        if (poll.Stops((last - first) * rows.window * cols.window)) return;
        const int64_t left = col * cols.stride - cols.pad_before;
        for (int64_t c = first; c < last; ++c) {
          T largest = lowest;
          int64_t input_place = -1;
          int64_t filter_place = -1;
          for (int64_t i = 0; i < rows.window; ++i) {
            const int64_t y = top + i * rows.dilation;
            if (y < 0 || y >= rows.input) continue;
            for (int64_t j = 0; j < cols.window; ++j) {
              const int64_t x = left + j * cols.dilation;
              if (x < 0 || x >= cols.input) continue;
              const int64_t in = ((image + y) * cols.input + x) * channels + c;
              const int64_t of_filter = (i * cols.window + j) * channels + c;
              const T sum = Sum(input.data()[in], filter.data()[of_filter]);
              if (input_place >= 0 && !IsAbove(sum, largest)) continue;
              largest = sum;
              input_place = in;
              filter_place = of_filter;
            }
          }
          visit((row * cols.output + col) * channels + c, largest, input_place, filter_place);
        }
      }
    }
  }

  double Cost() const {
    return 2 * static_cast<double>(windows.rows.window) * static_cast<double>(windows.cols.window);
  }

  ConvertedArg<T> input;
  ConvertedArg<T> filter;
  WindowGeometry windows;
  int64_t batch;
  int64_t channels;
  T lowest;
  int64_t flip = 0;
};

template <typename T>
Status Dilate(const DenseArg& input, const DenseArg& filter, KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  Dilation<T> dilation;
  TANDEM_RETURN_IF_ERROR(dilation.Init(frame, input, filter));
  const int64_t rows = dilation.batch * dilation.windows.rows.output;
  const double cost = dilation.Cost() * static_cast<double>(result.size() / rows);
  frame.ParallelFor(rows, cost, [&](int64_t begin, int64_t end) {
    dilation.ForEachOutput(begin, end, 0, dilation.channels,
                           [&](int64_t at, T largest, int64_t, int64_t) { result.data()[at] = largest; });
  });
  result.Finish(frame);
  return Status();
}

// Threads take channels, which have nothing to do with each other.
template <typename T>
Status Backprop(const DenseArg& input, const DenseArg& filter, const DenseArg& out_backprop, bool to_input,
                KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ClearLong(reinterpret_cast<std::byte*>(result.data()), static_cast<size_t>(result.size()) * sizeof(T));
  Dilation<T> dilation;
  ConvertedArg<T> gradients;
  TANDEM_RETURN_IF_ERROR(dilation.Init(frame, input, filter));
  TANDEM_RETURN_IF_ERROR(gradients.Init(frame, out_backprop));
  const int64_t rows = dilation.batch * dilation.windows.rows.output;
  const double cost = dilation.Cost() * static_cast<double>(rows * dilation.windows.cols.output);
  frame.ParallelFor(dilation.channels, cost, [&](int64_t begin, int64_t end) {
    dilation.ForEachOutput(0, rows, begin, end, [&](int64_t at, T, int64_t input_place, int64_t filter_place) {
      if (input_place < 0) return;
      T& sum = result.data()[to_input ? input_place : filter_place];
      sum = Sum(sum, gradients.data()[at]);
    });
  });
  result.Finish(frame);
  return Status();
}

// Calls run.operator()<T>() with the type that elements of the dtype are computed in.
template <typename Run>
Status WithNumbers(DType dtype, Run run) {
  if (dtype == DType::kF64) return run.template operator()<double>();
  if (kFloatDTypes.Contains(dtype)) return run.template operator()<float>();
  return run.template operator()<int64_t>();
}

Status Dilation2DKernel(DenseArg input, DenseArg filter, KernelFrame& frame) {
  return WithNumbers(input.dtype(), [&]<typename T>() { return Dilate<T>(input, filter, frame); });
}

template <bool to_input>
Status BackpropKernel(DenseArg input, DenseArg filter, DenseArg out_backprop, KernelFrame& frame) {
  return WithNumbers(input.dtype(),
                     [&]<typename T>() { return Backprop<T>(input, filter, out_backprop, to_input, frame); });
}

}  // namespace

Status RegisterMorphologyKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&Dilation2DKernel>("tf.Dilation2D", kRealDTypes, {10}),
      KernelEntryOf<&BackpropKernel<true>>("tf.Dilation2DBackpropInput", kRealDTypes, {10}),
      KernelEntryOf<&BackpropKernel<false>>("tf.Dilation2DBackpropFilter", kRealDTypes, {10}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
