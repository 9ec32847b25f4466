// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudnnFunctions: cuDNN's functions, as far as they are used, opened where it is there.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDNN_FUNCTIONS_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDNN_FUNCTIONS_H_

#include <cstddef>
#include <string>

#include "cuda_driver.h"
#include "tandem/status.h"

namespace tandem::cuda {

// As the headers of versions 8 and 9 declare them (cudnn_ops*.h, cudnn_cnn*.h), so that a machine without the library
// builds the same module.
struct CudnnFunctions {
  using Result = int;
  using Handle = void*;
  using Tensor = void*;
  using Filter = void*;
  using Convolution = void*;
  using Activation = void*;
  struct Performance {  // of an algorithm of one of the three kinds
    int algorithm;
    Result status;
    float time;
    size_t workspace_bytes;
    int determinism;
    int math;
    int reserved[3];
  };
  size_t (*GetVersion)();  // 10000 * major + 100 * minor + patch, of version 8 1000 * major + ...
  const char* (*GetErrorString)(Result result);
  Result (*Create)(Handle* handle);
  Result (*Destroy)(Handle handle);
  Result (*SetStream)(Handle handle, StreamHandle stream);
  Result (*CreateTensorDescriptor)(Tensor* tensor);
  Result (*DestroyTensorDescriptor)(Tensor tensor);
  Result (*SetTensor4dDescriptorEx)(Tensor tensor, int type, int n, int c, int h, int w, int n_stride, int c_stride,
                                    int h_stride, int w_stride);
  Result (*TransformTensor)(Handle handle, const void* alpha, Tensor x_tensor, const void* x, const void* beta,
                            Tensor y_tensor, void* y);
  Result (*AddTensor)(Handle handle, const void* alpha, Tensor a_tensor, const void* a, const void* beta,
                      Tensor c_tensor, void* c);
  Result (*CreateFilterDescriptor)(Filter* filter);
  Result (*DestroyFilterDescriptor)(Filter filter);
  Result (*SetFilter4dDescriptor)(Filter filter, int type, int format, int k, int c, int h, int w);
  Result (*CreateActivationDescriptor)(Activation* activation);
  Result (*DestroyActivationDescriptor)(Activation activation);
  Result (*SetActivationDescriptor)(Activation activation, int mode, int nans, double coefficient);
  Result (*ActivationForward)(Handle handle, Activation activation, const void* alpha, Tensor x_tensor, const void* x,
                              const void* beta, Tensor y_tensor, void* y);
  Result (*CreateConvolutionDescriptor)(Convolution* convolution);
  Result (*DestroyConvolutionDescriptor)(Convolution convolution);
  Result (*SetConvolution2dDescriptor)(Convolution convolution, int row_padding, int col_padding, int row_stride,
                                       int col_stride, int row_dilation, int col_dilation, int mode, int compute_type);
  Result (*SetConvolutionMathType)(Convolution convolution, int math);
  Result (*SetConvolutionGroupCount)(Convolution convolution, int groups);
  Result (*GetConvolutionForwardAlgorithm)(Handle handle, Tensor x, Filter filter, Convolution convolution, Tensor y,
                                           int most, int* num_found, Performance* found);
  Result (*GetConvolutionBackwardDataAlgorithm)(Handle handle, Filter filter, Tensor dy, Convolution convolution,
                                                Tensor dx, int most, int* num_found, Performance* found);
  Result (*GetConvolutionBackwardFilterAlgorithm)(Handle handle, Tensor x, Tensor dy, Convolution convolution,
                                                  Filter filter, int most, int* num_found, Performance* found);
  Result (*ConvolutionForward)(Handle handle, const void* alpha, Tensor x_tensor, const void* x, Filter filter,
                               const void* w, Convolution convolution, int algorithm, void* workspace,
                               size_t workspace_bytes, const void* beta, Tensor y_tensor, void* y);
  Result (*ConvolutionBiasActivationForward)(Handle handle, const void* alpha1, Tensor x_tensor, const void* x,
                                             Filter filter, const void* w, Convolution convolution, int algorithm,
                                             void* workspace, size_t workspace_bytes, const void* alpha2,
                                             Tensor z_tensor, const void* z, Tensor bias_tensor, const void* bias,
                                             Activation activation, Tensor y_tensor, void* y);
  Result (*ConvolutionBackwardData)(Handle handle, const void* alpha, Filter filter, const void* w, Tensor dy_tensor,
                                    const void* dy, Convolution convolution, int algorithm, void* workspace,
                                    size_t workspace_bytes, const void* beta, Tensor dx_tensor, void* dx);
  Result (*ConvolutionBackwardFilter)(Handle handle, const void* alpha, Tensor x_tensor, const void* x,
                                      Tensor dy_tensor, const void* dy, Convolution convolution, int algorithm,
                                      void* workspace, size_t workspace_bytes, const void* beta, Filter filter,
                                      void* dw);
};

// Numbers of the headers.
namespace cudnn {
inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3000;     // to 3999, of version 9
inline constexpr int kNotSupportedBefore = 9;  // of version 8
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kBF16 = 9;
inline constexpr int kNchw = 0, kNhwc = 1;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kDefaultMath = 0, kTensorOps = 1, kOnlyFma = 3;
inline constexpr int kDeterministic = 1;
inline constexpr int kRelu = 1, kIdentity = 5;
inline constexpr int kPropagateNans = 1;
// Algorithms that compute each sum by itself: those by Fourier and Winograd's transforms spread infinities and NaNs.
inline constexpr int kForwardGemm = 2;        // and those below
inline constexpr int kInputGradientGemm = 1;  // and those below
inline constexpr int kFilterGradientGemm = 1, kFilterGradientGemm2 = 3;
}  // namespace cudnn

// TANDEM_CUDNN in the environment names the library's file, or is "off"; else it is looked for as NVRTC is. NotFound,
// naming what was tried, or FailedPrecondition if it lacks a function or is older than 8.
StatusOr<CudnnFunctions> OpenCudnn();

// "9.19".
std::string CudnnVersion(const CudnnFunctions& functions);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDNN_FUNCTIONS_H_
