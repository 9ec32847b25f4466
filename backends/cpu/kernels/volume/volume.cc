// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv3D and its gradients: products with a matrix of patches, some outputs at a time; in f64 for f64, else in f32.

#include <algorithm>
#include <cstdint>

#include "gemm/gemm.h"
#include "kernels/converted.h"
#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/volume/volume_plan.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

// Elements of a matrix of patches, about: so that it stays in the second-level cache.
constexpr int64_t kPatchElements = int64_t{1} << 17;

// A convolution: its volumes, and the matrix of patches, of which each row is what one output sees, in the order of the
// filter's rows: depth, row, column, channel.
struct Convolution {
  static StatusOr<Convolution> Make(const OpAttrsRef& attrs, const TensorShape& input, const TensorShape& filter) {
    TANDEM_ASSIGN_OR_RETURN(const VolumeAttrs volume_attrs, ReadVolumeAttrs(attrs));
    const VolumeSizes window = {filter.dim(0), filter.dim(1), filter.dim(2)};
    TANDEM_ASSIGN_OR_RETURN(const VolumeWindows windows, MakeVolumeWindows(volume_attrs, input, window));
    Convolution result;
    result.batch = input.dim(0);
    result.channels = filter.dim(3);
    result.filters = filter.dim(4);
    result.channels_first = volume_attrs.channels_first;
    result.windows = windows;
    result.input_pixels = windows[0].input * windows[1].input * windows[2].input;
    result.outputs = windows[0].output * windows[1].output * windows[2].output;
    result.taps = window[0] * window[1] * window[2];
    return result;
  }

  int64_t patch_size() const { return taps * channels; }
  // Outputs whose patches are made together.
  int64_t chunk() const {
    return std::max<int64_t>(1, std::min(outputs, kPatchElements / std::max<int64_t>(1, patch_size())));
  }
  // The distances of the channels of a pixel, and of pixels, in a volume of `pixels` with `count` channels.
  int64_t ChannelStride(int64_t pixels) const { return channels_first ? pixels : 1; }
  int64_t PixelStride(int64_t count) const { return channels_first ? 1 : count; }

  // Calls visit(tap, pixel) for each tap of the filter on output `output`; the pixel is -1 in the padding.
  template <typename Visit>
  void ForEachTap(int64_t output, Visit visit) const {
    const auto& [depth, rows, columns] = windows;
    const int64_t row = output / columns.output;
    const int64_t first_depth = row / rows.output * depth.stride - depth.pad_before;
    const int64_t first_row = row % rows.output * rows.stride - rows.pad_before;
    const int64_t first_column = output % columns.output * columns.stride - columns.pad_before;
    int64_t tap = 0;
    for (int64_t i = 0; i < depth.window; ++i) {
      const int64_t d = first_depth + i * depth.dilation;
      for (int64_t j = 0; j < rows.window; ++j) {
        const int64_t r = first_row + j * rows.dilation;
        const bool is_row = d >= 0 && d < depth.input && r >= 0 && r < rows.input;
        for (int64_t k = 0; k < columns.window; ++k, ++tap) {
          const int64_t c = first_column + k * columns.dilation;
          const bool is_pixel = is_row && c >= 0 && c < columns.input;
          visit(tap, is_pixel ? (d * rows.input + r) * columns.input + c : -1);
        }
      }
    }
  }

  int64_t batch;
  int64_t channels;
  int64_t filters;
  bool channels_first;
  VolumeWindows windows;
  int64_t input_pixels;
  int64_t outputs;  // of one volume
  int64_t taps;
};

// The patches of outputs [first, first + count) of a volume.
template <typename T>
void GatherPatches(const KernelFrame& frame, const Convolution& conv, const T* volume, int64_t first, int64_t count,
                   T* patches) {
  const int64_t channel_stride = conv.ChannelStride(conv.input_pixels);
  const int64_t pixel_stride = conv.PixelStride(conv.channels);
  const double cost = 2 * static_cast<double>(conv.taps) + 0.3 * static_cast<double>(conv.patch_size());
  frame.ParallelFor(count, cost, [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollElements);
    for (int64_t i = begin; i < end && !poll.Stops(conv.patch_size()); ++i) {
      T* const patch = patches + i * conv.patch_size();
      conv.ForEachTap(first + i, [&](int64_t tap, int64_t pixel) {
        T* const to = patch + tap * conv.channels;
        if (pixel < 0) {
          std::fill_n(to, conv.channels, T{0});
        } else {
          const T* from = volume + pixel * pixel_stride;
          for (int64_t c = 0; c < conv.channels; ++c) to[c] = from[c * channel_stride];
        }
      });
    }
  });
}

// Adds the patches to the pixels that they are of, in the order of the outputs; threads take channels.
template <typename T>
void ScatterPatches(const KernelFrame& frame, const Convolution& conv, const T* patches, int64_t first, int64_t count,
                    T* volume) {
  const int64_t channel_stride = conv.ChannelStride(conv.input_pixels);
  const int64_t pixel_stride = conv.PixelStride(conv.channels);
  frame.ParallelFor(conv.channels, static_cast<double>(count * conv.taps), [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollElements);
    for (int64_t i = 0; i < count && !poll.Stops(conv.taps * (end - begin)); ++i) {
      const T* const patch = patches + i * conv.patch_size();
      conv.ForEachTap(first + i, [&](int64_t tap, int64_t pixel) {
        if (pixel < 0) return;
        const T* from = patch + tap * conv.channels;
        T* const to = volume + pixel * pixel_stride;
        for (int64_t c = begin; c < end; ++c) to[c * channel_stride] += from[c];
      });
    }
  });
}

// Calls run(volume, first output, number of outputs) for all outputs, some at a time.
template <typename Run>
Status ForEachChunk(const Convolution& conv, Run run) {
  const int64_t chunk = conv.chunk();
  for (int64_t volume = 0; volume < conv.batch; ++volume) {
    for (int64_t first = 0; first < conv.outputs; first += chunk) {
      TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
      TANDEM_RETURN_IF_ERROR(run(volume, first, std::min(chunk, conv.outputs - first)));
    }
  }
  return Status();
}

// The results of some outputs as a matrix with a row for each.
template <typename T>
MatrixView<T> OutputRows(const Convolution& conv, const T* outputs, int64_t volume, int64_t first) {
  const int64_t pixel_stride = conv.PixelStride(conv.filters);
  return {outputs + volume * conv.outputs * conv.filters + first * pixel_stride, pixel_stride,
          conv.ChannelStride(conv.outputs)};
}

template <typename T>
struct Forward {
  static Status Run(KernelFrame& frame, const Convolution& conv, const T* input, const T* filter, T* out) {
    Scratch<T> patches;
    TANDEM_RETURN_IF_ERROR(patches.Init(frame, conv.chunk() * conv.patch_size()));
    WorkQueue* const queue = &frame.exec().work_queue();
    const MatrixView<T> filters = {filter, conv.filters, 1};
    return ForEachChunk(conv, [&](int64_t volume, int64_t first, int64_t count) {
      GatherPatches(frame, conv, input + volume * conv.input_pixels * conv.channels, first, count, patches.data());
      const MatrixView<T> rows = {patches.data(), conv.patch_size(), 1};
      T* const to = out + volume * conv.outputs * conv.filters;
      if (conv.channels_first) {
        return Gemm<T>(queue, conv.filters, count, conv.patch_size(), filters.Transposed(), rows.Transposed(),
                       to + first, conv.outputs);
      }
      return Gemm<T>(queue, count, conv.filters, conv.patch_size(), rows, filters, to + first * conv.filters,
                     conv.filters);
    });
  }
};

template <typename T>
struct BackpropInput {
  static Status Run(KernelFrame& frame, const Convolution& conv, const T* gradients, const T* filter, T* out) {
    ClearLong(reinterpret_cast<std::byte*>(out),
              static_cast<size_t>(conv.batch * conv.input_pixels * conv.channels) * sizeof(T));
    Scratch<T> patches;
    TANDEM_RETURN_IF_ERROR(patches.Init(frame, conv.chunk() * conv.patch_size()));
    const MatrixView<T> filters = {filter, conv.filters, 1};
    return ForEachChunk(conv, [&](int64_t volume, int64_t first, int64_t count) {
      TANDEM_RETURN_IF_ERROR(Gemm<T>(&frame.exec().work_queue(), count, conv.patch_size(), conv.filters,
                                     OutputRows(conv, gradients, volume, first), filters.Transposed(), patches.data()));
      ScatterPatches(frame, conv, patches.data(), first, count, out + volume * conv.input_pixels * conv.channels);
      return Status();
    });
  }
};

template <typename T>
struct BackpropFilter {
  static Status Run(KernelFrame& frame, const Convolution& conv, const T* input, const T* gradients, T* out) {
    const int64_t size = conv.patch_size() * conv.filters;
    ClearLong(reinterpret_cast<std::byte*>(out), static_cast<size_t>(size) * sizeof(T));
    Scratch<T> patches;
    Scratch<T> sums;
    TANDEM_RETURN_IF_ERROR(patches.Init(frame, conv.chunk() * conv.patch_size()));
    TANDEM_RETURN_IF_ERROR(sums.Init(frame, size));
    return ForEachChunk(conv, [&](int64_t volume, int64_t first, int64_t count) {
      GatherPatches(frame, conv, input + volume * conv.input_pixels * conv.channels, first, count, patches.data());
      const MatrixView<T> rows = {patches.data(), conv.patch_size(), 1};
      TANDEM_RETURN_IF_ERROR(Gemm<T>(&frame.exec().work_queue(), conv.patch_size(), conv.filters, count,
                                     rows.Transposed(), OutputRows(conv, gradients, volume, first), sums.data()));
      frame.ParallelFor(size, 0.3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] += sums.data()[i];
      });
      return Status();
    });
  }
};

template <template <typename> typename Pass, typename T>
Status RunAs(KernelFrame& frame, const TensorShape& input, const TensorShape& filter, const DenseArg& a,
             const DenseArg& b) {
  ConvertedResult<T> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<T> first;
  ConvertedArg<T> second;
  TANDEM_RETURN_IF_ERROR(first.Init(frame, a));
  TANDEM_RETURN_IF_ERROR(second.Init(frame, b));
  TANDEM_ASSIGN_OR_RETURN(const Convolution conv, Convolution::Make(frame.attrs(), input, filter));
  TANDEM_RETURN_IF_ERROR(Pass<T>::Run(frame, conv, first.data(), second.data(), result.data()));
  result.Finish(frame);
  return Status();
}

template <template <typename> typename Pass>
Status Run(KernelFrame& frame, const TensorShape& input, const TensorShape& filter, const DenseArg& a,
           const DenseArg& b) {
  return a.dtype() == DType::kF64 ? RunAs<Pass, double>(frame, input, filter, a, b)
                                  : RunAs<Pass, float>(frame, input, filter, a, b);
}

Status Conv3DKernel(DenseArg input, DenseArg filter, KernelFrame& frame) {
  return Run<Forward>(frame, input.shape(), filter.shape(), input, filter);
}

Status BackpropInputKernel(const Tensor&, DenseArg filter, DenseArg out_backprop, KernelFrame& frame) {
  return Run<BackpropInput>(frame, frame.result_metadata(0).shape, filter.shape(), out_backprop, filter);
}

Status BackpropFilterKernel(DenseArg input, const Tensor&, DenseArg out_backprop, KernelFrame& frame) {
  return Run<BackpropFilter>(frame, input.shape(), frame.result_metadata(0).shape, input, out_backprop);
}

}  // namespace

Status RegisterVolumeKernels(KernelOpHandler& handler) {
  static constexpr CostModel kCost = {10};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&Conv3DKernel>("tf.Conv3D", kFloatDTypes, kCost),
      KernelEntryOf<&BackpropInputKernel>("tf.Conv3DBackpropInputV2", kFloatDTypes, kCost),
      KernelEntryOf<&BackpropFilterKernel>("tf.Conv3DBackpropFilterV2", kFloatDTypes, kCost),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels));
  return RegisterVolumePoolKernels(handler);
}

}  // namespace tandem::cpu
