// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// cuBLASLt has matrices column by column, so that it is given the transposed product: c' = b' a', where what is a row
// here is a column there, and the bias has an element for each of its rows.

#include "cuda_products.h"

#include <new>
#include <utility>

namespace tandem::cuda {
namespace {

// As kernels are promised: GpuLimits::offset_alignment.
constexpr uint32_t kAlignment = 16;

struct Types {
  int element;
  int compute;
  int scale;
};

// None: the library is not asked.
bool FindTypes(DType dtype, bool uses_tf32, Types& types) {
  using namespace cublaslt;
  switch (dtype) {
    case DType::kF32:
      types = {kF32, uses_tf32 ? kComputeTf32 : kComputeF32, kF32};
      return true;
    case DType::kF16:
      types = {kF16, kComputeF32, kF32};
      return true;
    case DType::kBF16:
      types = {kBF16, kComputeF32, kF32};
      return true;
    case DType::kF64:
      types = {kF64, kComputeF64, kF64};
      return true;
    case DType::kC64:
      types = {kC64, kComputeF32, kC64};
      return true;
    default:
      return false;
  }
}

// A matrix with `rows` rows here, as the library sees it: transposed where its columns are contiguous.
struct Matrix {
  uint64_t rows;
  uint64_t cols;
  int64_t distance;  // of columns
  int operation;
};

// `row` and `col`: distances of elements of neighbouring rows and columns here.
Matrix MatrixOf(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  // A matrix of one row or column may have any distance, but the library wants one that is large enough.
  if (col == 1 && (row >= cols || rows == 1)) {
    return {static_cast<uint64_t>(cols), static_cast<uint64_t>(rows), rows == 1 ? cols : row, cublaslt::kNotTransposed};
  }
  return {static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), cols == 1 ? rows : col, cublaslt::kTransposed};
}

}  // namespace

// ---- CudaProduct

CudaProduct::~CudaProduct() {
  for (const CublasltFunctions::Layout layout : layouts_) {
    if (layout != nullptr) products_.functions().MatrixLayoutDestroy(layout);
  }
  if (description_ != nullptr) products_.functions().MatmulDescDestroy(description_);
}

Status CudaProduct::Issue(StreamHandle stream, std::span<const DevicePointer> buffers, std::span<const uint32_t>,
                          const std::array<uint32_t, 3>&, DriverFailure&) const {
  const CublasltFunctions& functions = products_.functions();
  const auto address = [&](size_t i) { return reinterpret_cast<void*>(buffers[i]); };
  if (has_bias_) {
    const void* const bias = address(2);
    TANDEM_RETURN_IF_ERROR(
        products_.Check(functions.MatmulDescSetAttribute(description_, cublaslt::kBiasPointer, &bias, sizeof(bias)),
                        "cublasLtMatmulDescSetAttribute"));
  }
  // Scale factors: of f32, f64 or two of f32.
  const float one[] = {1, 0}, zero[] = {0, 0};
  const double one_f64 = 1, zero_f64 = 0;
  const void* const alpha = is_f64_ ? static_cast<const void*>(&one_f64) : one;
  const void* const beta = is_f64_ ? static_cast<const void*>(&zero_f64) : zero;
  void* const c = address(has_bias_ ? 3 : 2);
  return products_.Check(
      functions.Matmul(products_.handle(), description_, alpha, address(1), layouts_[0], address(0), layouts_[1], beta,
                       c, layouts_[2], c, layouts_[2], &algorithm_,
                       reinterpret_cast<void*>(products_.workspace().memory), workspace_bytes_, stream),
      "cublasLtMatmul");
}

// ---- CudaProducts

StatusOr<std::unique_ptr<CudaProducts>> CudaProducts::Create(const CublasltFunctions& functions,
                                                             const Workspace& workspace, bool uses_tf32) {
  std::unique_ptr<CudaProducts> products(new (std::nothrow) CudaProducts(functions, workspace, uses_tf32));
  if (products == nullptr) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(products->Check(functions.Create(&products->handle_), "cublasLtCreate"));
  return products;
}

CudaProducts::~CudaProducts() {
  known_.Clear();
  if (handle_ != nullptr) functions_.Destroy(handle_);
}

Status CudaProducts::Check(CublasltFunctions::Result result, std::string_view call) const {
  if (result == cublaslt::kSuccess) return Status();
  if (result == cublaslt::kNoMemory) return Status::OutOfMemory();
  return MakeError(StatusCode::kInternal, "expected ", call, " to succeed, got ",
                   std::string_view(functions_.GetStatusString(result)));
}

size_t CudaProducts::Hash::operator()(const shader::LibraryProduct& product) const {
  uint64_t hash = static_cast<uint64_t>(product.dtype) * 2 + product.has_bias;
  for (const int64_t number :
       {product.rows, product.inner, product.cols, product.a_row, product.a_inner, product.b_inner, product.b_col,
        product.c_row, product.count, product.a_batch, product.b_batch, product.c_batch}) {
    hash = HashWith(hash, static_cast<uint64_t>(number));
  }
  return static_cast<size_t>(hash);
}

AsyncValueRef<RcRef<shader::Pipeline>> CudaProducts::Find(const shader::LibraryProduct& product) {
  const std::lock_guard lock(mutex_);
  return known_.Find(product, [&] { return Make(product); });
}

StatusOr<RcRef<shader::Pipeline>> CudaProducts::Make(const shader::LibraryProduct& product) const {
  auto made = MakeRef<CudaProduct>(*this);
  if (!made) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(Describe(product, *made));
  TANDEM_RETURN_IF_ERROR(ChooseAlgorithm(*made));
  return RcRef<shader::Pipeline>(std::move(made));
}

Status CudaProducts::Describe(const shader::LibraryProduct& product, CudaProduct& made) const {
  Types types;
  if (!FindTypes(product.dtype, uses_tf32_, types)) {
    return MakeError(StatusCode::kUnimplemented, "cuBLASLt has no products of ", product.dtype);
  }
  made.has_bias_ = product.has_bias;
  made.is_f64_ = product.dtype == DType::kF64;
  const Matrix first = MatrixOf(product.inner, product.cols, product.b_inner, product.b_col);
  const Matrix second = MatrixOf(product.rows, product.inner, product.a_row, product.a_inner);
  const Matrix result = MatrixOf(product.rows, product.cols, product.c_row, 1);
  const Matrix matrices[] = {first, second, result};
  const int64_t distances[] = {product.b_batch, product.a_batch, product.c_batch};
  for (size_t i = 0; i < made.layouts_.size(); ++i) {
    const Matrix& matrix = matrices[i];
    TANDEM_RETURN_IF_ERROR(Check(
        functions_.MatrixLayoutCreate(&made.layouts_[i], types.element, matrix.rows, matrix.cols, matrix.distance),
        "cublasLtMatrixLayoutCreate"));
    if (product.count == 1) continue;
    const auto count = static_cast<int32_t>(product.count);
    const auto set = [&](int attribute, const void* value, size_t bytes) {
      return Check(functions_.MatrixLayoutSetAttribute(made.layouts_[i], attribute, value, bytes),
                   "cublasLtMatrixLayoutSetAttribute");
    };
    TANDEM_RETURN_IF_ERROR(set(cublaslt::kLayoutBatchCount, &count, sizeof(count)));
    TANDEM_RETURN_IF_ERROR(set(cublaslt::kLayoutBatchDistance, &distances[i], sizeof(int64_t)));
  }
  TANDEM_RETURN_IF_ERROR(
      Check(functions_.MatmulDescCreate(&made.description_, types.compute, types.scale), "cublasLtMatmulDescCreate"));
  const auto set = [&](int attribute, int32_t value) {
    return Check(functions_.MatmulDescSetAttribute(made.description_, attribute, &value, sizeof(value)),
                 "cublasLtMatmulDescSetAttribute");
  };
  TANDEM_RETURN_IF_ERROR(set(cublaslt::kTransposeA, first.operation));
  TANDEM_RETURN_IF_ERROR(set(cublaslt::kTransposeB, second.operation));
  if (!product.has_bias) return Status();
  TANDEM_RETURN_IF_ERROR(set(cublaslt::kEpilogue, cublaslt::kEpilogueBias));
  return set(cublaslt::kBiasType, types.element);
}

Status CudaProducts::ChooseAlgorithm(CudaProduct& made) const {
  CublasltFunctions::Preference preference = nullptr;
  TANDEM_RETURN_IF_ERROR(Check(functions_.MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  const auto set = [&](int attribute, const void* value, size_t bytes) {
    return functions_.MatmulPreferenceSetAttribute(preference, attribute, value, bytes);
  };
  const uint64_t workspace = workspace_.bytes;
  CublasltFunctions::Result result = set(cublaslt::kWorkspaceBytes, &workspace, sizeof(workspace));
  for (const int attribute :
       {cublaslt::kAlignmentA, cublaslt::kAlignmentB, cublaslt::kAlignmentC, cublaslt::kAlignmentD}) {
    if (result == cublaslt::kSuccess) result = set(attribute, &kAlignment, sizeof(kAlignment));
  }
  CublasltFunctions::Heuristic found = {};
  int num_found = 0;
  if (result == cublaslt::kSuccess) {
    result = functions_.MatmulAlgoGetHeuristic(handle_, made.description_, made.layouts_[0], made.layouts_[1],
                                               made.layouts_[2], made.layouts_[2], preference, 1, &found, &num_found);
  }
  functions_.MatmulPreferenceDestroy(preference);
  TANDEM_RETURN_IF_ERROR(Check(result, "cublasLtMatmulAlgoGetHeuristic"));
  if (num_found == 0 || found.state != cublaslt::kSuccess) {
    return MakeError(StatusCode::kUnimplemented, "cuBLASLt has no algorithm for the product");
  }
  made.algorithm_ = found.algorithm;
  made.workspace_bytes_ = found.workspace_bytes;
  return Status();
}

}  // namespace tandem::cuda
