// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A library with the functions of cuBLASLt that are used, for memory of the host: it checks what it is given, as the
// real one does, and computes column by column in f64. Commands go to whoever `fakeOnStream` names.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cublaslt.h"
#include "fake_library.h"
#include "tandem/float16.h"

namespace {

using tandem::cuda::CublasltFunctions;
using tandem::cuda::ElementAt;
using tandem::cuda::SetElement;
using Result = CublasltFunctions::Result;
namespace lt = tandem::cuda::cublaslt;

struct Layout {
  int type;
  uint64_t rows, cols;
  int64_t distance;
  int32_t count = 1;
  int64_t batch = 0;
};
struct Description {
  int compute, scale;
  int32_t operation_a = lt::kNotTransposed, operation_b = lt::kNotTransposed, epilogue = 1, bias_type = -1;
  const void* bias = nullptr;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

int g_handle;
int g_num_live = 0;  // of layouts, descriptions and preferences
tandem::cuda::IssueFake g_issue = nullptr;

// Marks an algorithm as this library's.
constexpr uint64_t kMark = 0x7461;

std::complex<double> Load(int type, const void* from, int64_t i) {
  switch (type) {
    case lt::kF16:
      return static_cast<float>(ElementAt<tandem::Float16>(from, i));
    case lt::kBF16:
      return static_cast<float>(ElementAt<tandem::BFloat16>(from, i));
    case lt::kF64:
      return ElementAt<double>(from, i);
    case lt::kC64:
      return std::complex<double>(ElementAt<std::complex<float>>(from, i));
    default:
      return ElementAt<float>(from, i);
  }
}

void Store(int type, void* to, int64_t i, std::complex<double> x) {
  switch (type) {
    case lt::kF16:
      return SetElement(to, i, tandem::Float16(static_cast<float>(x.real())));
    case lt::kBF16:
      return SetElement(to, i, tandem::BFloat16(static_cast<float>(x.real())));
    case lt::kF64:
      return SetElement(to, i, x.real());
    case lt::kC64:
      return SetElement(to, i, std::complex<float>(x));
    default:
      return SetElement(to, i, static_cast<float>(x.real()));
  }
}

bool IsAligned(const void* address, size_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

// What the sizes of a product must be.
bool Fits(const Description& d, const Layout& a, const Layout& b, const Layout& c) {
  const bool is_a_turned = d.operation_a == lt::kTransposed, is_b_turned = d.operation_b == lt::kTransposed;
  const uint64_t inner = is_a_turned ? a.rows : a.cols;
  if ((is_a_turned ? a.cols : a.rows) != c.rows || (is_b_turned ? b.rows : b.cols) != c.cols) return false;
  if ((is_b_turned ? b.cols : b.rows) != inner || a.count != c.count || b.count != c.count) return false;
  for (const Layout* layout : {&a, &b, &c}) {
    if (layout->type != c.type || layout->rows == 0 || layout->cols == 0) return false;
    if (layout->distance < static_cast<int64_t>(layout->rows)) return false;
  }
  const bool is_f64 = c.type == lt::kF64;
  if (d.compute != (is_f64 ? lt::kComputeF64 : lt::kComputeF32) && (is_f64 || d.compute != lt::kComputeTf32))
    return false;
  if (d.scale != (is_f64 ? lt::kF64 : c.type == lt::kC64 ? lt::kC64 : lt::kF32)) return false;
  return d.epilogue == 1 || (d.epilogue == lt::kEpilogueBias && d.bias_type == c.type);
}

struct Product {
  Description description;
  Layout a_layout, b_layout, c_layout;
  const void* a;
  const void* b;
  void* c;

  void Run() const {
    const bool is_a_turned = description.operation_a == lt::kTransposed;
    const bool is_b_turned = description.operation_b == lt::kTransposed;
    const auto inner = static_cast<int64_t>(is_a_turned ? a_layout.rows : a_layout.cols);
    const int type = c_layout.type;
    for (int64_t n = 0; n < c_layout.count; ++n) {
      for (int64_t col = 0; col < static_cast<int64_t>(c_layout.cols); ++col) {
        for (int64_t row = 0; row < static_cast<int64_t>(c_layout.rows); ++row) {
          std::complex<double> sum = description.bias != nullptr ? Load(type, description.bias, row) : 0;
          for (int64_t k = 0; k < inner; ++k) {
            const int64_t a_at = is_a_turned ? k + row * a_layout.distance : row + k * a_layout.distance;
            const int64_t b_at = is_b_turned ? col + k * b_layout.distance : k + col * b_layout.distance;
            sum += Load(type, a, n * a_layout.batch + a_at) * Load(type, b, n * b_layout.batch + b_at);
          }
          Store(type, c, n * c_layout.batch + row + col * c_layout.distance, sum);
        }
      }
    }
  }
};

template <typename T>
Result SetNumber(T& number, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return lt::kInvalidValue;
  std::memcpy(&number, value, bytes);
  return lt::kSuccess;
}

template <typename T>
Result Delete(void* object) {
  delete static_cast<T*>(object);
  --g_num_live;
  return lt::kSuccess;
}

}  // namespace

TANDEM_FAKE void fakeOnStream(tandem::cuda::IssueFake issue) { g_issue = issue; }
TANDEM_FAKE int fakeNumLive() { return g_num_live; }

TANDEM_FAKE size_t cublasLtGetVersion() { return 130102; }
TANDEM_FAKE const char* cublasLtGetStatusString(Result result) {
  return result == lt::kInvalidValue ? "an invalid value" : "an error of the fake library's";
}
TANDEM_FAKE Result cublasLtCreate(void** handle) {
  *handle = &g_handle;
  return lt::kSuccess;
}
TANDEM_FAKE Result cublasLtDestroy(void* handle) { return handle == &g_handle ? lt::kSuccess : lt::kInvalidValue; }

TANDEM_FAKE Result cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t cols, int64_t distance) {
  *layout = new Layout{type, rows, cols, distance};
  ++g_num_live;
  return lt::kSuccess;
}
TANDEM_FAKE Result cublasLtMatrixLayoutDestroy(void* layout) { return Delete<Layout>(layout); }
TANDEM_FAKE Result cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  auto& ours = *static_cast<Layout*>(layout);
  if (attribute == lt::kLayoutBatchCount) return SetNumber(ours.count, value, bytes);
  return attribute == lt::kLayoutBatchDistance ? SetNumber(ours.batch, value, bytes) : lt::kInvalidValue;
}

TANDEM_FAKE Result cublasLtMatmulDescCreate(void** description, int compute, int scale) {
  *description = new Description{compute, scale};
  ++g_num_live;
  return lt::kSuccess;
}
TANDEM_FAKE Result cublasLtMatmulDescDestroy(void* description) { return Delete<Description>(description); }
TANDEM_FAKE Result cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, size_t bytes) {
  auto& ours = *static_cast<Description*>(description);
  switch (attribute) {
    case lt::kTransposeA:
      return SetNumber(ours.operation_a, value, bytes);
    case lt::kTransposeB:
      return SetNumber(ours.operation_b, value, bytes);
    case lt::kEpilogue:
      return SetNumber(ours.epilogue, value, bytes);
    case lt::kBiasPointer:
      return SetNumber(ours.bias, value, bytes);
    case lt::kBiasType:
      return SetNumber(ours.bias_type, value, bytes);
    default:
      return lt::kInvalidValue;
  }
}

TANDEM_FAKE Result cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Preference;
  ++g_num_live;
  return lt::kSuccess;
}
TANDEM_FAKE Result cublasLtMatmulPreferenceDestroy(void* preference) { return Delete<Preference>(preference); }
TANDEM_FAKE Result cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                                        size_t bytes) {
  auto& ours = *static_cast<Preference*>(preference);
  if (attribute == lt::kWorkspaceBytes) return SetNumber(ours.workspace, value, bytes);
  if (attribute < lt::kAlignmentA || attribute > lt::kAlignmentD) return lt::kInvalidValue;
  return SetNumber(ours.alignments[attribute - lt::kAlignmentA], value, bytes);
}

// The algorithm has the alignment and the workspace that it was asked for. Products of f16 whose inner dimension is 13
// have none, so that something is left to kernels.
TANDEM_FAKE Result cublasLtMatmulAlgoGetHeuristic(void* handle, void* description, void* a, void* b, void* c, void* d,
                                                  void* preference, int most, CublasltFunctions::Heuristic* found,
                                                  int* num_found) {
  const auto& ours = *static_cast<Description*>(description);
  const auto& wanted = *static_cast<Preference*>(preference);
  const auto& first = *static_cast<Layout*>(a);
  if (handle != &g_handle || most < 1 || c != d) return lt::kInvalidValue;
  if (!Fits(ours, first, *static_cast<Layout*>(b), *static_cast<Layout*>(c))) return lt::kInvalidValue;
  *num_found = 0;
  const uint64_t inner = ours.operation_a == lt::kTransposed ? first.rows : first.cols;
  if (first.type == lt::kF16 && inner == 13) return lt::kNotSupported;
  const uint32_t alignment = *std::max_element(std::begin(wanted.alignments), std::end(wanted.alignments));
  found[0] = {{{kMark, alignment, wanted.workspace / 2}}, wanted.workspace / 2, lt::kSuccess, 1.0f, {}};
  *num_found = 1;
  return lt::kSuccess;
}

TANDEM_FAKE Result cublasLtMatmul(void* handle, void* description, const void* alpha, const void* a, void* a_layout,
                                  const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                                  void* d, void* d_layout, const CublasltFunctions::Algorithm* algorithm,
                                  void* workspace, size_t workspace_bytes, void* stream) {
  const Product product = {*static_cast<Description*>(description),
                           *static_cast<Layout*>(a_layout),
                           *static_cast<Layout*>(b_layout),
                           *static_cast<Layout*>(c_layout),
                           a,
                           b,
                           d};
  const Description& ours = product.description;
  if (handle != &g_handle || stream == nullptr || c != d || c_layout != d_layout) return lt::kInvalidValue;
  if (!Fits(ours, product.a_layout, product.b_layout, product.c_layout)) return lt::kInvalidValue;
  if ((ours.epilogue == lt::kEpilogueBias) != (ours.bias != nullptr)) return lt::kInvalidValue;
  const auto alignment = static_cast<size_t>(algorithm->data[1]);
  if (algorithm->data[0] != kMark || !IsAligned(a, alignment) || !IsAligned(b, alignment) || !IsAligned(d, alignment)) {
    return lt::kInvalidValue;
  }
  if (workspace_bytes < algorithm->data[2] || (workspace_bytes > 0 && workspace == nullptr)) return lt::kInvalidValue;
  if (Load(ours.scale, alpha, 0) != 1.0 || Load(ours.scale, beta, 0) != 0.0) return lt::kInvalidValue;
  tandem::cuda::OnStream(g_issue, [product] { product.Run(); });
  return lt::kSuccess;
}
