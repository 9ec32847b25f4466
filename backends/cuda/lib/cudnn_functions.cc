// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cudnn_functions.h"

#include <array>

#include "shared_library.h"

namespace tandem::cuda {

namespace {

constexpr size_t kOldest = 8000;

}  // namespace

StatusOr<CudnnFunctions> OpenCudnn() {
  constexpr std::array<std::string_view, 3> kVersions = {"", ".9", ".8"};
  TANDEM_ASSIGN_OR_RETURN(const SharedLibrary library,
                          OpenToolkitLibrary("cuDNN", "TANDEM_CUDNN", "libcudnn.so", kVersions));
  CudnnFunctions functions;
  TANDEM_RETURN_IF_ERROR(
      SharedLibrary::Finder(library)
          .Find("cudnnGetVersion", functions.GetVersion)
          .Find("cudnnGetErrorString", functions.GetErrorString)
          .Find("cudnnCreate", functions.Create)
          .Find("cudnnDestroy", functions.Destroy)
          .Find("cudnnSetStream", functions.SetStream)
          .Find("cudnnCreateTensorDescriptor", functions.CreateTensorDescriptor)
          .Find("cudnnDestroyTensorDescriptor", functions.DestroyTensorDescriptor)
          .Find("cudnnSetTensor4dDescriptorEx", functions.SetTensor4dDescriptorEx)
          .Find("cudnnTransformTensor", functions.TransformTensor)
          .Find("cudnnAddTensor", functions.AddTensor)
          .Find("cudnnCreateFilterDescriptor", functions.CreateFilterDescriptor)
          .Find("cudnnDestroyFilterDescriptor", functions.DestroyFilterDescriptor)
          .Find("cudnnSetFilter4dDescriptor", functions.SetFilter4dDescriptor)
          .Find("cudnnCreateActivationDescriptor", functions.CreateActivationDescriptor)
          .Find("cudnnDestroyActivationDescriptor", functions.DestroyActivationDescriptor)
          .Find("cudnnSetActivationDescriptor", functions.SetActivationDescriptor)
          .Find("cudnnActivationForward", functions.ActivationForward)
          .Find("cudnnCreateConvolutionDescriptor", functions.CreateConvolutionDescriptor)
          .Find("cudnnDestroyConvolutionDescriptor", functions.DestroyConvolutionDescriptor)
          .Find("cudnnSetConvolution2dDescriptor", functions.SetConvolution2dDescriptor)
          .Find("cudnnSetConvolutionMathType", functions.SetConvolutionMathType)
          .Find("cudnnSetConvolutionGroupCount", functions.SetConvolutionGroupCount)
          .Find("cudnnGetConvolutionForwardAlgorithm_v7", functions.GetConvolutionForwardAlgorithm)
          .Find("cudnnGetConvolutionBackwardDataAlgorithm_v7", functions.GetConvolutionBackwardDataAlgorithm)
          .Find("cudnnGetConvolutionBackwardFilterAlgorithm_v7", functions.GetConvolutionBackwardFilterAlgorithm)
          .Find("cudnnConvolutionForward", functions.ConvolutionForward)
          .Find("cudnnConvolutionBiasActivationForward", functions.ConvolutionBiasActivationForward)
          .Find("cudnnConvolutionBackwardData", functions.ConvolutionBackwardData)
          .Find("cudnnConvolutionBackwardFilter", functions.ConvolutionBackwardFilter)
          .Finish());
  if (functions.GetVersion() >= kOldest) return functions;
  return FailedPrecondition("expected a cuDNN of version 8 or later, got ", std::string_view(CudnnVersion(functions)));
}

std::string CudnnVersion(const CudnnFunctions& functions) {
  const size_t version = functions.GetVersion();
  const size_t major = version >= 90000 ? 10000 : 1000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100);
}

}  // namespace tandem::cuda
