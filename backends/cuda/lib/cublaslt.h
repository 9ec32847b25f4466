// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Cublaslt: NVIDIA's products of matrices, opened where they are there.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUBLASLT_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cuda_driver.h"
#include "tandem/status.h"

namespace tandem::cuda {

// The functions of cuBLASLt that are used, as its header declares them since CUDA 11.
struct CublasltFunctions {
  using Result = int;
  using Handle = void*;
  using Layout = void*;
  using Description = void*;
  using Preference = void*;
  struct Algorithm {
    uint64_t data[8];
  };
  struct Heuristic {
    Algorithm algorithm;
    size_t workspace_bytes;
    Result state;
    float waves;
    int reserved[4];
  };
  size_t (*GetVersion)();  // 10000 * major + 100 * minor + patch
  const char* (*GetStatusString)(Result result);
  Result (*Create)(Handle* handle);
  Result (*Destroy)(Handle handle);
  Result (*MatrixLayoutCreate)(Layout* layout, int type, uint64_t rows, uint64_t cols, int64_t column_distance);
  Result (*MatrixLayoutDestroy)(Layout layout);
  Result (*MatrixLayoutSetAttribute)(Layout layout, int attribute, const void* value, size_t bytes);
  Result (*MatmulDescCreate)(Description* description, int compute_type, int scale_type);
  Result (*MatmulDescDestroy)(Description description);
  Result (*MatmulDescSetAttribute)(Description description, int attribute, const void* value, size_t bytes);
  Result (*MatmulPreferenceCreate)(Preference* preference);
  Result (*MatmulPreferenceDestroy)(Preference preference);
  Result (*MatmulPreferenceSetAttribute)(Preference preference, int attribute, const void* value, size_t bytes);
  Result (*MatmulAlgoGetHeuristic)(Handle handle, Description description, Layout a, Layout b, Layout c, Layout d,
                                   Preference preference, int most, Heuristic* found, int* num_found);
  Result (*Matmul)(Handle handle, Description description, const void* alpha, const void* a, Layout a_layout,
                   const void* b, Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d,
                   Layout d_layout, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                   StreamHandle stream);
};

// Numbers of the header.
namespace cublaslt {
inline constexpr int kSuccess = 0;
inline constexpr int kNoMemory = 3;
inline constexpr int kInvalidValue = 7;
inline constexpr int kNotSupported = 15;
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kC64 = 4, kBF16 = 14;
inline constexpr int kComputeF32 = 68, kComputeF64 = 70, kComputeTf32 = 77;
inline constexpr int kNotTransposed = 0, kTransposed = 1;
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchDistance = 6;
inline constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8, kBiasType = 26;
inline constexpr int kEpilogueBias = 4;
inline constexpr int kWorkspaceBytes = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8;
}  // namespace cublaslt

// TANDEM_CUBLASLT in the environment names the library's file, or is "off"; else it is looked for as NVRTC is.
// NotFound, naming what was tried, or FailedPrecondition if it lacks a function.
StatusOr<CublasltFunctions> OpenCublaslt();

// "13.1".
std::string CublasltVersion(const CublasltFunctions& functions);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUBLASLT_H_
