// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conv2D, DepthwiseConv2dNative and their gradients.

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/convolution_product.h"
#include "kernels/elementwise_rows.h"
#include "kernels/kernels.h"
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
struct Conv2DKernel {
  ElementConversion conversion;

  Status operator()(DenseArg input, DenseArg filter, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan,
                            ConvolutionPlan::Make(frame.attrs(), input.shape(), filter.shape()));
    const ImageLayout source = plan.Layout(input.shape());
    const ImageLayout result = plan.Layout(frame.result_metadata(0).shape);
    const WindowProduct<T> product = {
        frame.exec().work_queue(),
        conversion,
        source,
        input.data<T>(),
        result,
        out,
        ForwardTaps(plan.windows.rows),
        ForwardTaps(plan.windows.cols),
        ForwardFilter(filter.shape(), source.channels / filter.shape().dim(2), filter.data<T>())};
    return product.Run();
  }
};

// For each remainder of the result's rows and columns by the strides, one convolution of the gradient with some of the
// filter's taps.
template <typename T>
struct Conv2DBackpropInputKernel {
  ElementConversion conversion;

  Status operator()(const Tensor&, DenseArg filter, DenseArg out_backprop, KernelFrame& frame) const {
    T* out = frame.AllocateResult<T>(0);
    if (out == nullptr) return Status();
    const TensorShape& shape = frame.result_metadata(0).shape;
    TANDEM_ASSIGN_OR_RETURN(const ConvolutionPlan plan, ConvolutionPlan::Make(frame.attrs(), shape, filter.shape()));
    const ImageLayout result = plan.Layout(shape);
    const WindowAxis& rows = plan.windows.rows;
    const WindowAxis& cols = plan.windows.cols;
    for (int64_t row = 0; row < std::min(rows.stride, rows.input); ++row) {
      for (int64_t col = 0; col < std::min(cols.stride, cols.input); ++col) {
        const WindowProduct<T> product = {
            frame.exec().work_queue(),
            conversion,
            plan.Layout(out_backprop.shape()),
            out_backprop.data<T>(),
            result,
            out,
            BackwardTaps(rows, row),
            BackwardTaps(cols, col),
            BackwardFilter(filter.shape(), result.channels / filter.shape().dim(2), filter.data<T>())};
        TANDEM_RETURN_IF_ERROR(product.Run());
      }
    }
    return Status();
  }
};

template <typename T>
struct Conv2DBackpropFilterKernel {
  ElementConversion conversion;

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

template <typename T>
ElementConversion ConversionOf() {
  if constexpr (sizeof(T) == 2) {
    const CastRows casts;
    return {casts.Direct(kDTypeOf<T>, DType::kF32), casts.Direct(DType::kF32, kDTypeOf<T>)};
  }
  return {};
}

template <typename T>
Status AddForwardAndInput(KernelOpHandler& handler) {
  const ElementConversion conversion = ConversionOf<T>();
  TANDEM_RETURN_IF_ERROR(handler.AddKernel(
      "tf.Conv2D", {kDTypeOf<T>}, MakeKernel(Conv2DKernel<T>{conversion}).WithCost(CostModel{0, &ForwardCost})));
  return handler.AddKernel(
      "tf.Conv2DBackpropInput", {kDTypeOf<T>},
      MakeKernel(Conv2DBackpropInputKernel<T>{conversion}).WithCost(CostModel{0, &BackpropInputCost}));
}

template <typename T>
Status AddFloat(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddForwardAndInput<T>(handler));
  const ElementConversion conversion = ConversionOf<T>();
  return handler.AddKernel(
      "tf.Conv2DBackpropFilter", {kDTypeOf<T>},
      MakeKernel(Conv2DBackpropFilterKernel<T>{conversion}).WithCost(CostModel{0, &BackpropFilterCost}));
}

}  // namespace

Status RegisterConvolutionKernels(KernelOpHandler& handler) {
  TANDEM_RETURN_IF_ERROR(AddFloat<Float16>(handler));
  TANDEM_RETURN_IF_ERROR(AddFloat<BFloat16>(handler));
  TANDEM_RETURN_IF_ERROR(AddFloat<float>(handler));
  TANDEM_RETURN_IF_ERROR(AddFloat<double>(handler));
  return AddForwardAndInput<int32_t>(handler);
}

}  // namespace tandem::cpu
