// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// MaxPool3D, AvgPool3D and their gradients: in f64 for f64, else in f32.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/converted.h"
#include "kernels/polls.h"
#include "kernels/volume/volume_plan.h"

namespace tandem::cpu {
namespace {

// Places in a volume, of which the last dimension changes fastest.
struct Place {
  int64_t depth;
  int64_t row;
  int64_t column;
};

// Calls visit(number of the pixel) for each pixel in the ranges, of a volume of this many rows and columns.
template <typename Visit>
void ForEachPixel(IndexRange depths, IndexRange rows, IndexRange columns, int64_t num_rows, int64_t num_columns,
                  Visit visit) {
  for (int64_t d = depths.begin; d < depths.end; ++d) {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      const int64_t first = (d * num_rows + r) * num_columns;
      for (int64_t c = columns.begin; c < columns.end; ++c) visit(first + c);
    }
  }
}

// Calls visit(volume, place, number of the pixel among those of all volumes) for the pixels of rows [begin, end) of all
// volumes with these sizes.
template <typename Visit>
void ForEachPlace(int64_t depth, int64_t rows, int64_t columns, int64_t begin, int64_t end, Visit visit) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t volume = row / (depth * rows);
    const int64_t rest = row % (depth * rows);
    for (int64_t column = 0; column < columns; ++column) {
      if (!visit(volume, Place{rest / rows, rest % rows, column}, row * columns + column)) return;
    }
  }
}

// The same for outputs, with the pixels that each window sees: visit(volume, number of the output, for_each, count).
template <typename Visit>
void ForEachWindow(const PoolVolumes& volumes, int64_t begin, int64_t end, Visit visit) {
  const auto& [depth, rows, columns] = volumes.windows;
  StopPoll poll(kPollProducts);
  ForEachPlace(depth.output, rows.output, columns.output, begin, end, [&](int64_t volume, Place at, int64_t output) {
    const IndexRange ranges[] = {SeenBy(depth, at.depth), SeenBy(rows, at.row), SeenBy(columns, at.column)};
    const int64_t count = ranges[0].size() * ranges[1].size() * ranges[2].size();
    visit(volume, output, count,
          [&](auto see) { ForEachPixel(ranges[0], ranges[1], ranges[2], rows.input, columns.input, see); });
    return !poll.Stops(count * volumes.channels);
  });
}

// NaN wins, and stays.
template <typename T>
bool IsAbove(T x, T largest) {
  if constexpr (std::is_floating_point_v<T>) return x > largest || (x != x && largest == largest);
  return x > largest;
}

struct MaxPool {
  template <typename T>
  static void Rows(const PoolVolumes& volumes, const T* x, int64_t begin, int64_t end, T* out) {
    const int64_t channels = volumes.channels;
    ForEachWindow(volumes, begin, end, [&](int64_t volume, int64_t output, int64_t, auto for_each) {
      const T* const first = x + volume * volumes.InputPixels() * channels;
      T* const to = out + output * channels;
      std::fill_n(to, channels, -std::numeric_limits<T>::infinity());
      for_each([&](int64_t pixel) {
        const T* from = first + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] = from[c] > to[c] || from[c] != from[c] ? from[c] : to[c];
      });
    });
  }
};

struct AvgPool {
  template <typename T>
  static void Rows(const PoolVolumes& volumes, const T* x, int64_t begin, int64_t end, T* out) {
    const int64_t channels = volumes.channels;
    ForEachWindow(volumes, begin, end, [&](int64_t volume, int64_t output, int64_t count, auto for_each) {
      const T* const first = x + volume * volumes.InputPixels() * channels;
      T* const to = out + output * channels;
      std::fill_n(to, channels, T{0});
      for_each([&](int64_t pixel) {
        const T* from = first + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
      });
      for (int64_t c = 0; c < channels; ++c) to[c] /= static_cast<T>(count);
    });
  }
};

StatusOr<PoolVolumes> MakePoolVolumes(const OpAttrsRef& attrs, const TensorShape& shape) {
  TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
  TANDEM_ASSIGN_OR_RETURN(const VolumeSizes window, ReadVolumeAttr(attrs, "ksize", volume_attrs.channels_first));
  TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, shape, window));
  return PoolVolumes(shape, windows, volume_attrs.channels_first);
}

template <typename Pool, typename T>
Status PoolAs(const DenseArg& input, KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<T> x;
  TANDEM_RETURN_IF_ERROR(x.Init(frame, input));
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes volumes, MakePoolVolumes(frame.attrs(), input.shape()));
  const int64_t rows = volumes.count * volumes.windows[0].output * volumes.windows[1].output;
  frame.ParallelFor(rows, RowCost(volumes),
                    [&](int64_t begin, int64_t end) { Pool::Rows(volumes, x.data(), begin, end, result.data()); });
  result.Finish(frame);
  return Status();
}

template <typename Pool>
Status PoolKernel(DenseArg input, KernelFrame& frame) {
  return input.dtype() == DType::kF64 ? PoolAs<Pool, double>(input, frame) : PoolAs<Pool, float>(input, frame);
}

// Calls add(gradients, output, to) for each pixel of rows [begin, end) of all inputs and each window that sees it, in
// order; `to` are the sums for the pixel's channels.
template <typename T, typename Add>
void GradientRows(const PoolVolumes& volumes, int64_t begin, int64_t end, T* out, Add add) {
  const auto& [depth, rows, columns] = volumes.windows;
  StopPoll poll(kPollProducts);
  ForEachPlace(depth.input, rows.input, columns.input, begin, end, [&](int64_t volume, Place at, int64_t pixel) {
    T* const to = out + pixel * volumes.channels;
    std::fill_n(to, volumes.channels, T{0});
    int64_t count = 1;
    ForEachPixel(Seeing(depth, at.depth), Seeing(rows, at.row), Seeing(columns, at.column), rows.output, columns.output,
                 [&](int64_t window) {
                   add(volume, pixel - volume * volumes.InputPixels(), window, to);
                   ++count;
                 });
    return !poll.Stops(count * volumes.channels);
  });
}

template <typename T>
Status AvgGradAs(const DenseArg& grad, KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<T> gradients;
  TANDEM_RETURN_IF_ERROR(gradients.Init(frame, grad));
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes volumes, MakePoolVolumes(frame.attrs(), frame.result_metadata(0).shape));
  const auto& [depth, rows, columns] = volumes.windows;
  const auto count_of = [&](int64_t window) {
    const int64_t row = window / columns.output;
    return SeenBy(depth, row / rows.output).size() * SeenBy(rows, row % rows.output).size() *
           SeenBy(columns, window % columns.output).size();
  };
  frame.ParallelFor(volumes.count * depth.input * rows.input, RowCost(volumes), [&](int64_t begin, int64_t end) {
    GradientRows(volumes, begin, end, result.data(), [&](int64_t volume, int64_t, int64_t window, T* to) {
      const T* from = gradients.data() + (volume * volumes.OutputPixels() + window) * volumes.channels;
      const auto count = static_cast<T>(count_of(window));
      for (int64_t c = 0; c < volumes.channels; ++c) to[c] += from[c] / count;
    });
  });
  result.Finish(frame);
  return Status();
}

Status AvgGradKernel(const Tensor&, DenseArg grad, KernelFrame& frame) {
  return grad.dtype() == DType::kF64 ? AvgGradAs<double>(grad, frame) : AvgGradAs<float>(grad, frame);
}

template <typename T>
Status MaxGradAs(const DenseArg& input, const DenseArg& grad, KernelFrame& frame) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<T> x;
  ConvertedArg<T> gradients;
  Scratch<int64_t> places;
  TANDEM_RETURN_IF_ERROR(x.Init(frame, input));
  TANDEM_RETURN_IF_ERROR(gradients.Init(frame, grad));
  TANDEM_RETURN_IF_ERROR(places.Init(frame, grad.size()));
  TANDEM_ASSIGN_OR_RETURN(const PoolVolumes volumes, MakePoolVolumes(frame.attrs(), input.shape()));
  const auto& [depth, rows, columns] = volumes.windows;
  frame.ParallelFor(volumes.count * depth.output * rows.output, RowCost(volumes),
                    [&](int64_t begin, int64_t end) { FindLargest<T>(volumes, x.data(), begin, end, places.data()); });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  frame.ParallelFor(volumes.count * depth.input * rows.input, RowCost(volumes), [&](int64_t begin, int64_t end) {
    GradientRows(volumes, begin, end, result.data(), [&](int64_t volume, int64_t pixel, int64_t window, T* to) {
      const int64_t first = (volume * volumes.OutputPixels() + window) * volumes.channels;
      for (int64_t c = 0; c < volumes.channels; ++c) {
        if (places.data()[first + c] == pixel) to[c] += gradients.data()[first + c];
      }
    });
  });
  result.Finish(frame);
  return Status();
}

Status MaxGradKernel(DenseArg input, DenseArg, DenseArg grad, KernelFrame& frame) {
  return grad.dtype() == DType::kF64 ? MaxGradAs<double>(input, grad, frame) : MaxGradAs<float>(input, grad, frame);
}

}  // namespace

double RowCost(const PoolVolumes& volumes) {
  constexpr double kWindowElementCost = 0.5;
  double cost = kWindowElementCost * static_cast<double>(volumes.windows[2].output * volumes.channels);
  for (const WindowAxis& axis : volumes.windows) cost *= static_cast<double>(std::min(axis.window, axis.input) + 1);
  return cost;
}

template <typename T>
void FindLargest(const PoolVolumes& volumes, const T* x, int64_t begin, int64_t end, int64_t* places) {
  const int64_t channels = volumes.channels;
  ForEachWindow(volumes, begin, end, [&](int64_t volume, int64_t output, int64_t, auto for_each) {
    const T* const first = x + volume * volumes.InputPixels() * channels;
    int64_t* const to = places + output * channels;
    bool is_first = true;
    for_each([&](int64_t pixel) {
      for (int64_t c = 0; c < channels; ++c) {
        if (is_first || IsAbove(first[pixel * channels + c], first[to[c] * channels + c])) to[c] = pixel;
      }
      is_first = false;
    });
  });
}
template void FindLargest<float>(const PoolVolumes&, const float*, int64_t, int64_t, int64_t*);
template void FindLargest<double>(const PoolVolumes&, const double*, int64_t, int64_t, int64_t*);
template void FindLargest<int64_t>(const PoolVolumes&, const int64_t*, int64_t, int64_t, int64_t*);

Status RegisterVolumePoolKernels(KernelOpHandler& handler) {
  static constexpr CostModel kCost = {2};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&PoolKernel<MaxPool>>("tf.MaxPool3D", kFloatDTypes, kCost),
      KernelEntryOf<&PoolKernel<AvgPool>>("tf.AvgPool3D", kFloatDTypes, kCost),
      KernelEntryOf<&MaxGradKernel>("tf.MaxPool3DGrad", kFloatDTypes, kCost),
      KernelEntryOf<&AvgGradKernel>("tf.AvgPool3DGrad", kFloatDTypes, kCost),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
