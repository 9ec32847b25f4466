// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients; _FusedConv2D, _FusedDepthwiseConv2dNative.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "gemm/fused_epilogue.h"
#include "gemm/gemm.h"
#include "gemm/packed_memory.h"
#include "kernels/convolution/convolution_depthwise.h"
#include "kernels/convolution/convolution_product.h"
#include "kernels/half_rows.h"
#include "kernels/kernels.h"
#include "tandem/function_ref.h"
#include "tandem/fused_ops.h"
#include "tandem/window_geometry.h"

namespace tandem::cpu {
namespace {

// What attributes and shapes say, which the metadata function has checked.
struct ConvolutionPlan {
  WindowAttrs attrs;
  WindowGeometry windows;

  static StatusOr<ConvolutionPlan> Make(const OpAttrsRef& attrs, const TensorShape& input, const TensorShape& filter) {
    ConvolutionPlan plan;
    TANDEM_ASSIGN_OR_RETURN(plan.attrs, ReadWindowAttrs(attrs));
    TANDEM_ASSIGN_OR_RETURN(plan.windows, MakeWindowGeometry(plan.attrs, input, filter.dim(0), filter.dim(1)));
    return plan;
  }
  ImageLayout Layout(const TensorShape& image) const { return ImageLayout(image, attrs.channels_first); }
};

template <typename T>
FilterView<T> ForwardFilter(const TensorShape& shape, int64_t groups, const T* data) {
  const int64_t width = shape.dim(3);
  return {data,
          shape.dim(1) * shape.dim(2) * width,
          shape.dim(2) * width,
          /*depth_stride=*/width,
          /*width_stride=*/1,
          /*group_stride=*/width / groups,
          groups,
          shape.dim(2),
          width / groups};
}

// With the channels of input and output exchanged.
template <typename T>
FilterView<T> BackwardFilter(const TensorShape& shape, int64_t groups, const T* data) {
  FilterView<T> view = ForwardFilter(shape, groups, data);
  std::swap(view.depth_stride, view.width_stride);
  std::swap(view.depth, view.width);
  return view;
}

template <typename T>
ElementConversion ConversionOf() {
  static const HalfRows halves(kDTypeOf<T>);
  return {halves.widen, halves.narrow};
}

template <typename T>
struct Conv2DKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(DenseArg input, DenseArg filter, KernelFrame& frame) const {
    return Run(input, filter, nullptr, frame);
  }

  Status Run(const DenseArg& input, const DenseArg& filter, const PixelFinish<GemmComputeType<T>>* finish,
             KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan,
                            ConvolutionPlan::Make(frame.attrs(), input.shape(), filter.shape()));
    const ImageLayout source = plan.Layout(input.shape());
    const ImageLayout result = plan.Layout(frame.result_metadata(0).shape);
    FilterView<T> view = ForwardFilter(filter.shape(), source.channels / filter.shape().dim(2), filter.data<T>());
    view.forms = FormsOf(filter, frame.result_metadata(0).num_elements() / std::max<int64_t>(1, result.channels));
    const WindowProduct<T> product = {frame.exec().work_queue(),
                                      conversion,
                                      source,
                                      input.data<T>(),
                                      result,
                                      out,
                                      ForwardTaps(plan.windows.rows),
                                      ForwardTaps(plan.windows.cols),
                                      view,
                                      finish};
    return product.Run();
  }
};

// A gradient with regard to the input: for each remainder of its rows and columns by the strides, one convolution of
// the output's gradient with some of the taps.
Status ForPhases(const WindowGeometry& windows,
                 FunctionRef<Status(const TapAxis& rows, const TapAxis& cols)> convolve) {
  for (int64_t row = 0; row < std::min(windows.rows.stride, windows.rows.input); ++row) {
    const TapAxis rows = BackwardTaps(windows.rows, row);
    for (int64_t col = 0; col < std::min(windows.cols.stride, windows.cols.input); ++col) {
      TANDEM_RETURN_IF_ERROR(convolve(rows, BackwardTaps(windows.cols, col)));
    }
  }
  return Status();
}

// Whether there is one window, which is all there is: then images are to be multiplied with the filter as they are.
bool IsWhole(const WindowAxis& axis) {
  return axis.output == 1 && axis.input == axis.window && axis.dilation == 1 && axis.pad_before == 0;
}

template <typename T>
struct Conv2DBackpropInputKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(const Tensor&, DenseArg filter, DenseArg out_backprop, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = frame.result_metadata(0).shape;
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan, ConvolutionPlan::Make(frame.attrs(), shape, filter.shape()));
    const ImageLayout result = plan.Layout(shape);
    if (!plan.attrs.channels_first && filter.shape().dim(2) == result.channels && IsWhole(plan.windows.rows) &&
        IsWhole(plan.windows.cols)) {
      const int64_t width = filter.shape().dim(3);
      return Gemm<T>(&frame.exec().work_queue(), result.batch, result.batch_stride, width,
                     {out_backprop.data<T>(), width, 1}, {filter.data<T>(), 1, width}, out);
    }
    return ForPhases(plan.windows, [&](const TapAxis& rows, const TapAxis& cols) {
      const WindowProduct<T> product = {
          frame.exec().work_queue(),
          conversion,
          plan.Layout(out_backprop.shape()),
          out_backprop.data<T>(),
          result,
          out,
          rows,
          cols,
          BackwardFilter(filter.shape(), result.channels / filter.shape().dim(2), filter.data<T>())};
      return product.Run();
    });
  }
};

template <typename T>
struct Conv2DBackpropFilterKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(DenseArg input, const Tensor&, DenseArg out_backprop, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = frame.result_metadata(0).shape;
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan, ConvolutionPlan::Make(frame.attrs(), input.shape(), shape));
    const ImageLayout source = plan.Layout(input.shape());
    const WindowGradient<T> gradient = {frame.exec().work_queue(),
                                        conversion,
                                        source,
                                        input.data<T>(),
                                        plan.Layout(out_backprop.shape()),
                                        out_backprop.data<T>(),
                                        ForwardTaps(plan.windows.rows),
                                        ForwardTaps(plan.windows.cols),
                                        shape.dim(0),
                                        shape.dim(1),
                                        source.channels / shape.dim(2),
                                        out};
    return gradient.Run();
  }
};

template <typename T>
struct DepthwiseKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(DenseArg input, DenseArg filter, KernelFrame& frame) const {
    return Run(input, filter, nullptr, frame);
  }

  Status Run(const DenseArg& input, const DenseArg& filter, const PixelFinish<GemmComputeType<T>>* finish,
             KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan,
                            ConvolutionPlan::Make(frame.attrs(), input.shape(), filter.shape()));
    const DepthwiseProduct<T> product = {frame.exec().work_queue(),
                                         conversion,
                                         plan.Layout(input.shape()),
                                         input.data<T>(),
                                         plan.Layout(frame.result_metadata(0).shape),
                                         out,
                                         ForwardTaps(plan.windows.rows),
                                         ForwardTaps(plan.windows.cols),
                                         filter.shape().dim(1),
                                         filter.data<T>(),
                                         finish};
    return product.Run();
  }
};

template <typename T>
struct DepthwiseBackpropInputKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(const Tensor&, DenseArg filter, DenseArg out_backprop, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = frame.result_metadata(0).shape;
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan, ConvolutionPlan::Make(frame.attrs(), shape, filter.shape()));
    return ForPhases(plan.windows, [&](const TapAxis& rows, const TapAxis& cols) {
      const DepthwiseProduct<T> product = {frame.exec().work_queue(),
                                           conversion,
                                           plan.Layout(out_backprop.shape()),
                                           out_backprop.data<T>(),
                                           plan.Layout(shape),
                                           out,
                                           rows,
                                           cols,
                                           filter.shape().dim(1),
                                           filter.data<T>()};
      return product.Run();
    });
  }
};

template <typename T>
struct DepthwiseBackpropFilterKernel {
  ElementConversion conversion = ConversionOf<T>();

  Status operator()(DenseArg input, const Tensor&, DenseArg out_backprop, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = frame.result_metadata(0).shape;
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan, ConvolutionPlan::Make(frame.attrs(), input.shape(), shape));
    const DepthwiseGradient<T> gradient = {frame.exec().work_queue(),
                                           conversion,
                                           plan.Layout(input.shape()),
                                           input.data<T>(),
                                           plan.Layout(out_backprop.shape()),
                                           out_backprop.data<T>(),
                                           ForwardTaps(plan.windows.rows),
                                           ForwardTaps(plan.windows.cols),
                                           shape.dim(0),
                                           shape.dim(1),
                                           out};
    return gradient.Run();
  }
};

// What is fused with a convolution: x * factor (unless null) + shift for each channel, a tensor to add, an activation.
template <typename T>
struct ChannelEpilogue {
  const T* factor;
  FusedEpilogue<T> epilogue;
  int64_t channels;

  void operator()(T* pixels, int64_t count, const T* added) const {
    if (factor != nullptr) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < channels; ++c) pixels[i * channels + c] *= factor[c];
      }
    }
    epilogue.Apply(pixels, channels, count, 0, channels, added, channels);
  }

  // The same as limits, if it is as simple.
  BiasAndLimits<T> Limits() const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (factor != nullptr) return {};
    switch (epilogue.activation) {
      case Activation::kNone:
        return {epilogue.bias, -kInfinity, kInfinity, nullptr};
      case Activation::kRelu:
        return {epilogue.bias, 0, kInfinity, nullptr};
      case Activation::kRelu6:
        return {epilogue.bias, 0, 6, nullptr};
      default:
        return {};
    }
  }
};

// Scale, offset, mean and variance become the factor and the shift that they amount to.
template <typename T>
void Normalize(int64_t channels, float epsilon, T* vectors) {
  T* const scale = vectors;
  T* const offset = vectors + channels;
  const T* const mean = vectors + 2 * channels;
  const T* const variance = vectors + 3 * channels;
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] /= std::sqrt(variance[c] + static_cast<T>(epsilon));
    offset[c] -= mean[c] * scale[c];
  }
}

// A convolution K with fused ops.
template <class K, typename T>
struct FusedKernel {
  using Computed = GemmComputeType<T>;

  K convolution;

  Status operator()(DenseArg input, DenseArg filter, VariadicArgs args, KernelFrame& frame) const {
    const int64_t channels = args[0].size();
    const TaskMemory memory(static_cast<uint64_t>(channels) * 4 * sizeof(Computed));
    if (memory.data() == nullptr) return Status::OutOfMemory();
    Computed* const vectors = reinterpret_cast<Computed*>(memory.data());
    const FusedOps fused_ops = FusedOpsOf(frame.attrs());
    const size_t num_vectors = fused_ops.num_vectors();
    for (size_t i = 0; i < num_vectors; ++i) {
      LoadElements(convolution.conversion, args[i].template data<T>(), 0, channels,
                   vectors + static_cast<int64_t>(i) * channels);
    }
    const OpAttrsRef& attrs = frame.attrs();
    ChannelEpilogue<Computed> finish = {nullptr, {vectors}, channels};
    if (fused_ops.first == "FusedBatchNorm") {
      Normalize(channels, attrs.GetOr("epsilon", 0.0001f), vectors);
      finish.factor = vectors;
      finish.epilogue.bias = vectors + channels;
    }
    finish.epilogue.activation = FindActivation(fused_ops.activation);
    finish.epilogue.leakyrelu_alpha = attrs.GetOr("leakyrelu_alpha", 0.2f);
    const T* const added = fused_ops.adds_tensor ? args[num_vectors].template data<T>() : nullptr;
    const PixelFinish<Computed> finish_pixels = {finish, finish.Limits(), added};
    return convolution.Run(input, filter, &finish_pixels, frame);
  }
};

// About 30 products of f32 a nanosecond; other dtypes are slower. An output takes as many products as the filter has
// elements for its channel.
double ProductsCost(double products, DType dtype) { return products * (dtype == DType::kF32 ? 0.03 : 0.1); }
double ProductsOf(const TensorMetadata& output, const TensorMetadata& filter) {
  return static_cast<double>(output.num_elements()) * static_cast<double>(filter.num_elements()) /
         static_cast<double>(std::max<int64_t>(1, filter.dim(3)));
}
double ForwardCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  return ProductsCost(ProductsOf(results[0], *args[1]), results[0].dtype);
}
double BackpropInputCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  return ProductsCost(ProductsOf(*args[2], *args[1]), results[0].dtype);
}
double BackpropFilterCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  return ProductsCost(ProductsOf(*args[2], results[0]), results[0].dtype);
}

// The first dimensions of a filter, for which an output of a depthwise convolution has products.
double DepthwiseCost(const TensorMetadata& output, const TensorMetadata& filter) {
  const double nanoseconds_a_product = output.dtype == DType::kF32 ? 0.04 : 0.1;
  return static_cast<double>(output.num_elements()) * static_cast<double>(filter.dim(0) * filter.dim(1)) *
         nanoseconds_a_product;
}
double DepthwiseForwardCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  return DepthwiseCost(results[0], *args[1]);
}
double DepthwiseBackpropInputCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata>) {
  return DepthwiseCost(*args[2], *args[1]);
}
double DepthwiseBackpropFilterCost(std::span<const TensorMetadata* const> args,
                                   std::span<const TensorMetadata> results) {
  return DepthwiseCost(*args[2], results[0]);
}

// K's operator() as a function.
template <class K, class F = decltype(&K::operator())>
struct Stateless;
template <class K, class... Args>
struct Stateless<K, Status (K::*)(Args...) const> {
  static Status Call(Args... args) { return K{}(std::forward<Args>(args)...); }
};

template <class K, typename T>
constexpr KernelEntry Entry(const char* op, decltype(CostModel::estimate) cost) {
  return KernelEntryOf<&Stateless<K>::Call>(op, {kDTypeOf<T>}, CostModel{0, cost});
}

template <typename T>
constexpr std::array kForwardAndInput = {
    Entry<Conv2DKernel<T>, T>("tf.Conv2D", &ForwardCost),
    Entry<Conv2DBackpropInputKernel<T>, T>("tf.Conv2DBackpropInput", &BackpropInputCost)};

template <typename T>
constexpr std::array kOfFloats = {
    Entry<Conv2DBackpropFilterKernel<T>, T>("tf.Conv2DBackpropFilter", &BackpropFilterCost),
    Entry<DepthwiseKernel<T>, T>("tf.DepthwiseConv2dNative", &DepthwiseForwardCost),
    Entry<DepthwiseBackpropInputKernel<T>, T>("tf.DepthwiseConv2dNativeBackpropInput", &DepthwiseBackpropInputCost),
    Entry<DepthwiseBackpropFilterKernel<T>, T>("tf.DepthwiseConv2dNativeBackpropFilter", &DepthwiseBackpropFilterCost),
    Entry<FusedKernel<Conv2DKernel<T>, T>, T>("tf._FusedConv2D", &ForwardCost),
    Entry<FusedKernel<DepthwiseKernel<T>, T>, T>("tf._FusedDepthwiseConv2dNative", &DepthwiseForwardCost)};

template <typename... T>
Status AddFloats(KernelOpHandler& handler) {
  Status status;
  const auto add = [&](std::span<const KernelEntry> kernels) {
    if (status.ok()) status = handler.AddKernels(kernels);
  };
  ((add(kForwardAndInput<T>), add(kOfFloats<T>)), ...);
  return status;
}

}  // namespace

Status RegisterConvolutionKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR((AddFloats<Float16, BFloat16, float, double>(handler)));
  return handler.AddKernels(kForwardAndInput<int32_t>);
}

}  // namespace tandem::cpu
