// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What cuda_driver.h and nvrtc.h declare is what the toolkit's headers declare, where these are: sizes, numbers, and
// how many arguments of which size functions take.

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "cublaslt.h"
#include "cuda_driver.h"
#include "cudnn_functions.h"
#include "nvrtc.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define TANDEM_HAS_CUDA_HEADER
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define TANDEM_HAS_CUBLASLT_HEADER
#endif
#if __has_include(<cudnn.h>)
// What it calls deprecated is what version 8 has, too.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>
#define TANDEM_HAS_CUDNN_HEADER
#endif

namespace tandem::cuda {
namespace {

#ifdef TANDEM_HAS_CUDA_HEADER

template <typename T>
constexpr bool kIsAddress = std::is_pointer_v<T>;

// Handles are addresses here and there, enumerations are int.
template <typename Ours, typename Theirs>
constexpr bool IsAlike() {
  return sizeof(Ours) == sizeof(Theirs) && kIsAddress<Ours> == kIsAddress<Theirs>;
}
// Of the types alone, since there need be no library.
template <typename Ours, typename Theirs>
struct Alike;
template <typename R, typename... Ours, typename S, typename... Theirs>
struct Alike<R (*)(Ours...), S (*)(Theirs...)> {
  static constexpr bool IsSo() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return IsAlike<R, S>() && (IsAlike<Ours, Theirs>() && ...);
    }
  }
};

TEST(DriverDeclarationsTest, FunctionsAreTheHeaders) {
#define EXPECT_ALIKE_AS(NAME, THEIRS) \
  EXPECT_TRUE((Alike<decltype(DriverFunctions::NAME), decltype(&THEIRS)>::IsSo())) << #NAME
#define EXPECT_ALIKE(NAME) EXPECT_ALIKE_AS(NAME, cu##NAME)
  EXPECT_ALIKE(GetErrorName);
  EXPECT_ALIKE(GetErrorString);
  EXPECT_ALIKE(Init);
  EXPECT_ALIKE(DriverGetVersion);
  EXPECT_ALIKE(DeviceGetCount);
  EXPECT_ALIKE(DeviceGet);
  EXPECT_ALIKE(DeviceGetName);
  EXPECT_ALIKE(DeviceGetAttribute);
  EXPECT_ALIKE_AS(DeviceTotalMem, cuDeviceTotalMem_v2);
  EXPECT_ALIKE(DevicePrimaryCtxRetain);
  EXPECT_ALIKE_AS(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
  EXPECT_ALIKE(CtxSetCurrent);
  EXPECT_ALIKE(StreamCreate);
  EXPECT_ALIKE_AS(StreamDestroy, cuStreamDestroy_v2);
  EXPECT_ALIKE(StreamSynchronize);
  EXPECT_ALIKE(StreamWaitEvent);
  EXPECT_ALIKE(EventCreate);
  EXPECT_ALIKE_AS(EventDestroy, cuEventDestroy_v2);
  EXPECT_ALIKE(EventRecord);
  EXPECT_ALIKE(EventQuery);
  EXPECT_ALIKE(EventSynchronize);
  EXPECT_ALIKE_AS(EventElapsedTime, cuEventElapsedTime);
  EXPECT_ALIKE(PointerGetAttribute);
  EXPECT_ALIKE(MemPoolCreate);
  EXPECT_ALIKE(MemPoolDestroy);
  EXPECT_ALIKE(MemPoolSetAttribute);
  EXPECT_ALIKE(MemPoolTrimTo);
  EXPECT_ALIKE(MemAllocFromPoolAsync);
  EXPECT_ALIKE(MemFreeAsync);
  EXPECT_ALIKE(MemHostAlloc);
  EXPECT_ALIKE(MemFreeHost);
  EXPECT_ALIKE_AS(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2);
  EXPECT_ALIKE_AS(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
  EXPECT_ALIKE_AS(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2);
  EXPECT_ALIKE(MemsetD32Async);
  EXPECT_ALIKE(ModuleLoadData);
  EXPECT_ALIKE(ModuleUnload);
  EXPECT_ALIKE(ModuleGetFunction);
  EXPECT_ALIKE(LaunchKernel);
#define EXPECT_GRAPH_ALIKE(NAME, THEIRS) \
  EXPECT_TRUE((Alike<decltype(GraphFunctions::NAME), decltype(&THEIRS)>::IsSo())) << #NAME
#if CUDA_VERSION >= 12000
  EXPECT_GRAPH_ALIKE(StreamBeginCapture, cuStreamBeginCapture_v2);
  EXPECT_GRAPH_ALIKE(StreamEndCapture, cuStreamEndCapture);
  EXPECT_GRAPH_ALIKE(GraphInstantiate, cuGraphInstantiateWithFlags);
  EXPECT_GRAPH_ALIKE(GraphLaunch, cuGraphLaunch);
  EXPECT_GRAPH_ALIKE(GraphExecDestroy, cuGraphExecDestroy);
  EXPECT_GRAPH_ALIKE(GraphDestroy, cuGraphDestroy);
#endif
#undef EXPECT_GRAPH_ALIKE
#undef EXPECT_ALIKE
#undef EXPECT_ALIKE_AS
}

TEST(DriverDeclarationsTest, NumbersAndStructsAreTheHeaders) {
  EXPECT_EQ(kDriverSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kDriverOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kDriverStubLibrary, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(kDriverNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kDriverNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kAttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kAttributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kAttributeMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  EXPECT_EQ(kPoolAttributeReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
  EXPECT_EQ(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  EXPECT_EQ(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kMemoryOfHost, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  EXPECT_EQ(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(kStreamNonBlocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(kEventBlockingSync, static_cast<unsigned>(CU_EVENT_BLOCKING_SYNC));
  EXPECT_EQ(kEventDisableTiming, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(kPoolOnDevice, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(kPoolPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(sizeof(PoolProperties), sizeof(CUmemPoolProps));
  EXPECT_EQ(offsetof(PoolProperties, location), offsetof(CUmemPoolProps, location));
  EXPECT_EQ(offsetof(PoolProperties, max_size), offsetof(CUmemPoolProps, maxSize));
  for (const CUresult lost :
       {CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
        CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_EXTERNAL_DEVICE, CUDA_ERROR_UNKNOWN}) {
    EXPECT_TRUE(IsContextLost(lost)) << lost;
  }
  for (const CUresult other : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_READY,
                               CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_PTX}) {
    EXPECT_FALSE(IsContextLost(other)) << other;
  }
}

#ifdef TANDEM_HAS_CUBLASLT_HEADER
TEST(CublasltDeclarationsTest, FunctionsAndNumbersAreTheHeaders) {
#define EXPECT_LT_ALIKE(NAME) \
  EXPECT_TRUE((Alike<decltype(CublasltFunctions::NAME), decltype(&cublasLt##NAME)>::IsSo())) << #NAME
  EXPECT_LT_ALIKE(GetVersion);
  EXPECT_LT_ALIKE(GetStatusString);
  EXPECT_LT_ALIKE(Create);
  EXPECT_LT_ALIKE(Destroy);
  EXPECT_LT_ALIKE(MatrixLayoutCreate);
  EXPECT_LT_ALIKE(MatrixLayoutDestroy);
  EXPECT_LT_ALIKE(MatrixLayoutSetAttribute);
  EXPECT_LT_ALIKE(MatmulDescCreate);
  EXPECT_LT_ALIKE(MatmulDescDestroy);
  EXPECT_LT_ALIKE(MatmulDescSetAttribute);
  EXPECT_LT_ALIKE(MatmulPreferenceCreate);
  EXPECT_LT_ALIKE(MatmulPreferenceDestroy);
  EXPECT_LT_ALIKE(MatmulPreferenceSetAttribute);
  EXPECT_LT_ALIKE(MatmulAlgoGetHeuristic);
  EXPECT_LT_ALIKE(Matmul);
#undef EXPECT_LT_ALIKE
  EXPECT_EQ(sizeof(CublasltFunctions::Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(CublasltFunctions::Heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(CublasltFunctions::Heuristic, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(CublasltFunctions::Heuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  const std::pair<int, int> numbers[] = {
      {cublaslt::kSuccess, CUBLAS_STATUS_SUCCESS},
      {cublaslt::kNoMemory, CUBLAS_STATUS_ALLOC_FAILED},
      {cublaslt::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE},
      {cublaslt::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED},
      {cublaslt::kF32, CUDA_R_32F},
      {cublaslt::kF64, CUDA_R_64F},
      {cublaslt::kF16, CUDA_R_16F},
      {cublaslt::kC64, CUDA_C_32F},
      {cublaslt::kBF16, CUDA_R_16BF},
      {cublaslt::kComputeF32, CUBLAS_COMPUTE_32F},
      {cublaslt::kComputeF64, CUBLAS_COMPUTE_64F},
      {cublaslt::kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32},
      {cublaslt::kNotTransposed, CUBLAS_OP_N},
      {cublaslt::kTransposed, CUBLAS_OP_T},
      {cublaslt::kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT},
      {cublaslt::kLayoutBatchDistance, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET},
      {cublaslt::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA},
      {cublaslt::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB},
      {cublaslt::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE},
      {cublaslt::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER},
      {cublaslt::kBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE},
      {cublaslt::kEpilogueBias, CUBLASLT_EPILOGUE_BIAS},
      {cublaslt::kWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES},
      {cublaslt::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES},
      {cublaslt::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES},
  };
  for (const auto& [ours, theirs] : numbers) EXPECT_EQ(ours, theirs);
}
#endif

#ifdef TANDEM_HAS_CUDNN_HEADER
TEST(CudnnDeclarationsTest, FunctionsAndNumbersAreTheHeaders) {
#define EXPECT_DNN_ALIKE(NAME, THEIRS) \
  EXPECT_TRUE((Alike<decltype(CudnnFunctions::NAME), decltype(&THEIRS)>::IsSo())) << #NAME
  EXPECT_DNN_ALIKE(GetVersion, cudnnGetVersion);
  EXPECT_DNN_ALIKE(GetErrorString, cudnnGetErrorString);
  EXPECT_DNN_ALIKE(Create, cudnnCreate);
  EXPECT_DNN_ALIKE(Destroy, cudnnDestroy);
  EXPECT_DNN_ALIKE(SetStream, cudnnSetStream);
  EXPECT_DNN_ALIKE(CreateTensorDescriptor, cudnnCreateTensorDescriptor);
  EXPECT_DNN_ALIKE(DestroyTensorDescriptor, cudnnDestroyTensorDescriptor);
  EXPECT_DNN_ALIKE(SetTensor4dDescriptorEx, cudnnSetTensor4dDescriptorEx);
  EXPECT_DNN_ALIKE(TransformTensor, cudnnTransformTensor);
  EXPECT_DNN_ALIKE(AddTensor, cudnnAddTensor);
  EXPECT_DNN_ALIKE(CreateFilterDescriptor, cudnnCreateFilterDescriptor);
  EXPECT_DNN_ALIKE(DestroyFilterDescriptor, cudnnDestroyFilterDescriptor);
  EXPECT_DNN_ALIKE(SetFilter4dDescriptor, cudnnSetFilter4dDescriptor);
  EXPECT_DNN_ALIKE(CreateActivationDescriptor, cudnnCreateActivationDescriptor);
  EXPECT_DNN_ALIKE(DestroyActivationDescriptor, cudnnDestroyActivationDescriptor);
  EXPECT_DNN_ALIKE(SetActivationDescriptor, cudnnSetActivationDescriptor);
  EXPECT_DNN_ALIKE(ActivationForward, cudnnActivationForward);
  EXPECT_DNN_ALIKE(CreateConvolutionDescriptor, cudnnCreateConvolutionDescriptor);
  EXPECT_DNN_ALIKE(DestroyConvolutionDescriptor, cudnnDestroyConvolutionDescriptor);
  EXPECT_DNN_ALIKE(SetConvolution2dDescriptor, cudnnSetConvolution2dDescriptor);
  EXPECT_DNN_ALIKE(SetConvolutionMathType, cudnnSetConvolutionMathType);
  EXPECT_DNN_ALIKE(SetConvolutionGroupCount, cudnnSetConvolutionGroupCount);
  EXPECT_DNN_ALIKE(GetConvolutionForwardAlgorithm, cudnnGetConvolutionForwardAlgorithm_v7);
  EXPECT_DNN_ALIKE(GetConvolutionBackwardDataAlgorithm, cudnnGetConvolutionBackwardDataAlgorithm_v7);
  EXPECT_DNN_ALIKE(GetConvolutionBackwardFilterAlgorithm, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  EXPECT_DNN_ALIKE(ConvolutionForward, cudnnConvolutionForward);
  EXPECT_DNN_ALIKE(ConvolutionBiasActivationForward, cudnnConvolutionBiasActivationForward);
  EXPECT_DNN_ALIKE(ConvolutionBackwardData, cudnnConvolutionBackwardData);
  EXPECT_DNN_ALIKE(ConvolutionBackwardFilter, cudnnConvolutionBackwardFilter);
#undef EXPECT_DNN_ALIKE
  EXPECT_EQ(sizeof(CudnnFunctions::Performance), sizeof(cudnnConvolutionFwdAlgoPerf_t));
  EXPECT_EQ(sizeof(CudnnFunctions::Performance), sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
  EXPECT_EQ(sizeof(CudnnFunctions::Performance), sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
  EXPECT_EQ(offsetof(CudnnFunctions::Performance, workspace_bytes), offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
  EXPECT_EQ(offsetof(CudnnFunctions::Performance, math), offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
  const std::pair<int, int> numbers[] = {
    {cudnn::kSuccess, CUDNN_STATUS_SUCCESS},
    {cudnn::kF32, CUDNN_DATA_FLOAT},
    {cudnn::kF64, CUDNN_DATA_DOUBLE},
    {cudnn::kF16, CUDNN_DATA_HALF},
    {cudnn::kBF16, CUDNN_DATA_BFLOAT16},
    {cudnn::kNchw, CUDNN_TENSOR_NCHW},
    {cudnn::kNhwc, CUDNN_TENSOR_NHWC},
    {cudnn::kCrossCorrelation, CUDNN_CROSS_CORRELATION},
    {cudnn::kDefaultMath, CUDNN_DEFAULT_MATH},
    {cudnn::kTensorOps, CUDNN_TENSOR_OP_MATH},
    {cudnn::kOnlyFma, CUDNN_FMA_MATH},
    {cudnn::kDeterministic, CUDNN_DETERMINISTIC},
    {cudnn::kRelu, CUDNN_ACTIVATION_RELU},
    {cudnn::kIdentity, CUDNN_ACTIVATION_IDENTITY},
    {cudnn::kPropagateNans, CUDNN_PROPAGATE_NAN},
    {cudnn::kForwardGemm, CUDNN_CONVOLUTION_FWD_ALGO_GEMM},
    {cudnn::kInputGradientGemm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1},
    {cudnn::kFilterGradientGemm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1},
    {cudnn::kFilterGradientGemm2, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3},
#if CUDNN_MAJOR >= 9
    {cudnn::kNotSupported, CUDNN_STATUS_NOT_SUPPORTED},
#else
    {cudnn::kNotSupportedBefore, CUDNN_STATUS_NOT_SUPPORTED},
#endif
  };
  for (const auto& [ours, theirs] : numbers) EXPECT_EQ(ours, theirs);
}
#endif

#else

TEST(DriverDeclarationsTest, FunctionsAreTheHeaders) { GTEST_SKIP() << "there is no CUDA Toolkit (cuda.h)"; }

#endif

}  // namespace
}  // namespace tandem::cuda
