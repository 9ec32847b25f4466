// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaProducts: products of matrices by cuBLASLt.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_PRODUCTS_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cublaslt.h"
#include "cuda_pipeline.h"
#include "library_pipelines.h"
#include "tandem/async_value.h"
#include "tandem/shader/library_product.h"
#include "tandem/status.h"

namespace tandem::cuda {

class CudaProducts;

// A product of fixed sizes: its descriptions and the algorithm that cuBLASLt advises.
class CudaProduct final : public CudaCommand {
 public:
  ~CudaProduct() override;

  // Buffers: a, b, the bias if there is one, c. Not thread-safe: the queue issues one command at a time.
  Status Issue(StreamHandle stream, std::span<const DevicePointer> buffers, std::span<const uint32_t> parameters,
               const std::array<uint32_t, 3>& workgroups, DriverFailure& failure) const override;

  // Public for MakeRef; made by CudaProducts.
  explicit CudaProduct(const CudaProducts& products) : products_(products) {}

 private:
  friend class CudaProducts;

  const CudaProducts& products_;
  CublasltFunctions::Description description_ = nullptr;
  std::array<CublasltFunctions::Layout, 3> layouts_ = {};  // of the library's first and second matrix, and the result
  CublasltFunctions::Algorithm algorithm_ = {};
  size_t workspace_bytes_ = 0;
  bool has_bias_ = false;
  bool is_f64_ = false;
};

// Thread-safe. The context must be the calling thread's.
class CudaProducts {
 public:
  // Memory that products may use while they run: one after another, as they are in one stream.
  struct Workspace {
    DevicePointer memory = 0;
    size_t bytes = 0;
  };

  // `uses_tf32`: products of f32 may round their factors to 10 bits of the fraction.
  static StatusOr<std::unique_ptr<CudaProducts>> Create(const CublasltFunctions& functions, const Workspace& workspace,
                                                        bool uses_tf32);
  ~CudaProducts();
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;

  // Null if cuBLASLt has nothing for it, or memory is exhausted; then a shader computes it. What was found is kept.
  AsyncValueRef<RcRef<shader::Pipeline>> Find(const shader::LibraryProduct& product);

  const CublasltFunctions& functions() const { return functions_; }
  CublasltFunctions::Handle handle() const { return handle_; }
  const Workspace& workspace() const { return workspace_; }
  // Ok, or the error of a call.
  Status Check(CublasltFunctions::Result result, std::string_view call) const;

 private:
  struct Hash {
    size_t operator()(const shader::LibraryProduct& product) const;
  };

  CudaProducts(const CublasltFunctions& functions, const Workspace& workspace, bool uses_tf32)
      : functions_(functions), workspace_(workspace), uses_tf32_(uses_tf32) {}
  StatusOr<RcRef<shader::Pipeline>> Make(const shader::LibraryProduct& product) const;
  Status Describe(const shader::LibraryProduct& product, CudaProduct& made) const;
  Status ChooseAlgorithm(CudaProduct& made) const;

  const CublasltFunctions functions_;
  const Workspace workspace_;
  const bool uses_tf32_;
  CublasltFunctions::Handle handle_ = nullptr;

  std::mutex mutex_;
  LibraryPipelines<shader::LibraryProduct, Hash> known_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_PRODUCTS_H_
