// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cublaslt.h"

#include <array>

#include "shared_library.h"

namespace tandem::cuda {

StatusOr<CublasltFunctions> OpenCublaslt() {
  constexpr std::array<std::string_view, 4> kVersions = {"", ".13", ".12", ".11"};
  TANDEM_ASSIGN_OR_RETURN(const SharedLibrary library,
                          OpenToolkitLibrary("cuBLASLt", "TANDEM_CUBLASLT", "libcublasLt.so", kVersions));
  CublasltFunctions functions;
  TANDEM_RETURN_IF_ERROR(SharedLibrary::Finder(library)
                             .Find("cublasLtGetVersion", functions.GetVersion)
                             .Find("cublasLtGetStatusString", functions.GetStatusString)
                             .Find("cublasLtCreate", functions.Create)
                             .Find("cublasLtDestroy", functions.Destroy)
                             .Find("cublasLtMatrixLayoutCreate", functions.MatrixLayoutCreate)
                             .Find("cublasLtMatrixLayoutDestroy", functions.MatrixLayoutDestroy)
                             .Find("cublasLtMatrixLayoutSetAttribute", functions.MatrixLayoutSetAttribute)
                             .Find("cublasLtMatmulDescCreate", functions.MatmulDescCreate)
                             .Find("cublasLtMatmulDescDestroy", functions.MatmulDescDestroy)
                             .Find("cublasLtMatmulDescSetAttribute", functions.MatmulDescSetAttribute)
                             .Find("cublasLtMatmulPreferenceCreate", functions.MatmulPreferenceCreate)
                             .Find("cublasLtMatmulPreferenceDestroy", functions.MatmulPreferenceDestroy)
                             .Find("cublasLtMatmulPreferenceSetAttribute", functions.MatmulPreferenceSetAttribute)
                             .Find("cublasLtMatmulAlgoGetHeuristic", functions.MatmulAlgoGetHeuristic)
                             .Find("cublasLtMatmul", functions.Matmul)
                             .Finish());
  return functions;
}

std::string CublasltVersion(const CublasltFunctions& functions) {
  const size_t version = functions.GetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

}  // namespace tandem::cuda
