// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A library with the functions of cuDNN that are used, for memory of the host: it checks what it is given, as the real
// one does, and computes by the definitions in f64. Commands go to whoever `fakeOnStream` names.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "cudnn_functions.h"
#include "fake_library.h"
#include "tandem/float16.h"

namespace {

using tandem::cuda::CudnnFunctions;
using tandem::cuda::ElementAt;
using tandem::cuda::SetElement;
using Result = CudnnFunctions::Result;
namespace dnn = tandem::cuda::cudnn;

constexpr Result kBadParameter = 2000;

struct Tensor {
  int type = -1;
  std::array<int, 4> dims = {};  // n, c, h, w
  std::array<int, 4> strides = {};

  int64_t At(int n, int c, int h, int w) const {
    return int64_t{n} * strides[0] + int64_t{c} * strides[1] + int64_t{h} * strides[2] + int64_t{w} * strides[3];
  }
  // Of the formats that other calls take.
  int Format() const {
    const auto& [n, c, h, w] = dims;
    if (strides == std::array{c * h * w, h * w, w, 1}) return dnn::kNchw;
    return strides == std::array{c * h * w, 1, w * c, c} ? dnn::kNhwc : -1;
  }
};
struct Filter {
  int type = -1, format = -1;
  Tensor elements;  // with dims k, c, h, w
};
struct Convolution {
  std::array<int, 2> padding = {}, stride = {}, dilation = {};
  int mode = -1, compute = -1, math = 0, groups = 1;
};
struct Activation {
  int mode = -1, nans = -1;
};

int g_handle;
int g_num_live = 0;  // of descriptors
void* g_stream = nullptr;
tandem::cuda::IssueFake g_issue = nullptr;

template <typename F>
Result OnStream(F run) {
  tandem::cuda::OnStream(g_issue, std::move(run));
  return dnn::kSuccess;
}

double Load(int type, const void* from, int64_t i) {
  switch (type) {
    case dnn::kF16:
      return static_cast<float>(ElementAt<tandem::Float16>(from, i));
    case dnn::kBF16:
      return static_cast<float>(ElementAt<tandem::BFloat16>(from, i));
    case dnn::kF64:
      return ElementAt<double>(from, i);
    default:
      return ElementAt<float>(from, i);
  }
}

void Store(int type, void* to, int64_t i, double x) {
  switch (type) {
    case dnn::kF16:
      return SetElement(to, i, tandem::Float16(static_cast<float>(x)));
    case dnn::kBF16:
      return SetElement(to, i, tandem::BFloat16(static_cast<float>(x)));
    case dnn::kF64:
      return SetElement(to, i, x);
    default:
      return SetElement(to, i, static_cast<float>(x));
  }
}

const Tensor& TensorOf(void* tensor) { return *static_cast<Tensor*>(tensor); }

double FactorOf(int type, const void* factor) {
  return type == dnn::kF64 ? *static_cast<const double*>(factor) : *static_cast<const float*>(factor);
}

template <typename F>
void ForEach(const std::array<int, 4>& dims, F body) {
  for (int n = 0; n < dims[0]; ++n) {
    for (int c = 0; c < dims[1]; ++c) {
      for (int h = 0; h < dims[2]; ++h) {
        for (int w = 0; w < dims[3]; ++w) body(n, c, h, w);
      }
    }
  }
}

int OutputOf(int input, int window, int padding, int stride, int dilation) {
  return (input + 2 * padding - ((window - 1) * dilation + 1)) / stride + 1;
}

// What a convolution's parts must be.
bool Fits(const Tensor& x, const Filter& filter, const Convolution& convolution, const Tensor& y) {
  const auto& [k, c, r, s] = filter.elements.dims;
  if (x.type != filter.type || y.type != x.type || x.Format() < 0 || y.Format() < 0) return false;
  const bool is_pixel = x.dims[1] == 1 || y.dims[1] == 1 || (x.dims[2] == 1 && x.dims[3] == 1);
  if (!is_pixel && (x.Format() != filter.format || y.Format() != filter.format)) return false;
  if (x.dims[1] != c * convolution.groups || y.dims[1] != k || k % convolution.groups != 0) return false;
  if (x.dims[0] != y.dims[0] || convolution.mode != dnn::kCrossCorrelation) return false;
  const int compute = x.type == dnn::kF64 ? dnn::kF64 : dnn::kF32;
  if (convolution.compute != compute) return false;
  for (size_t i = 0; i < 2; ++i) {
    const int window = filter.elements.dims[i + 2];
    if (convolution.stride[i] < 1 || convolution.dilation[i] < 1 || convolution.padding[i] < 0) return false;
    if (y.dims[i + 2] !=
        OutputOf(x.dims[i + 2], window, convolution.padding[i], convolution.stride[i], convolution.dilation[i])) {
      return false;
    }
  }
  return true;
}

// Calls `body` with the places in x, the filter and y of each product.
template <typename F>
void ForEachProduct(const Tensor& x, const Filter& filter, const Convolution& convolution, const Tensor& y, F body) {
  const auto& [k_size, c_size, r_size, s_size] = filter.elements.dims;
  const int per_group = k_size / convolution.groups;
  ForEach(y.dims, [&](int n, int k, int h, int w) {
    ForEach({1, c_size, r_size, s_size}, [&](int, int c, int r, int s) {
      const int row = h * convolution.stride[0] + r * convolution.dilation[0] - convolution.padding[0];
      const int col = w * convolution.stride[1] + s * convolution.dilation[1] - convolution.padding[1];
      if (row < 0 || row >= x.dims[2] || col < 0 || col >= x.dims[3]) return;
      body(x.At(n, k / per_group * c_size + c, row, col), filter.elements.At(k, c, r, s), y.At(n, k, h, w));
    });
  });
}

// Sums of products in f64, stored once.
class Sums {
 public:
  explicit Sums(const Tensor& tensor) : tensor_(tensor) {
    int64_t size = 1;
    for (const int dim : tensor.dims) size *= dim;
    values_.assign(static_cast<size_t>(size), 0);
  }
  double& operator[](int64_t place) { return values_[static_cast<size_t>(place)]; }
  void Store(void* to) const {
    for (size_t i = 0; i < values_.size(); ++i) ::Store(tensor_.type, to, static_cast<int64_t>(i), values_[i]);
  }

 private:
  const Tensor tensor_;
  std::vector<double> values_;
};

// A workspace of 1000 bytes for algorithm 1, which is only needed to be there.
constexpr size_t kWorkspace = 1000;

bool IsReady(void* handle, int algorithm, const void* workspace, size_t workspace_bytes) {
  return handle == &g_handle && g_stream != nullptr &&
         (algorithm != 1 || (workspace != nullptr && workspace_bytes >= kWorkspace));
}

// First an algorithm that is fast but by Fourier transform, then one that is not deterministic, then one of sums.
Result Advise(bool fits, int most, int* num_found, CudnnFunctions::Performance* found, int math) {
  if (!fits || most < 3) return kBadParameter;
  found[0] = {4, dnn::kSuccess, 1, 0, dnn::kDeterministic, math, {}};
  found[1] = {0, dnn::kSuccess, 2, 0, 0, math, {}};
  found[2] = {1, dnn::kSuccess, 3, kWorkspace, dnn::kDeterministic, math, {}};
  *num_found = 3;
  return dnn::kSuccess;
}

template <typename T>
Result Make(void** object) {
  *object = new T;
  ++g_num_live;
  return dnn::kSuccess;
}
template <typename T>
Result Delete(void* object) {
  delete static_cast<T*>(object);
  --g_num_live;
  return dnn::kSuccess;
}

double Activated(const Activation& activation, double x) {
  return activation.mode == dnn::kRelu && x <= 0 ? 0 : x;  // NaN stays
}

}  // namespace

TANDEM_FAKE void fakeOnStream(tandem::cuda::IssueFake issue) { g_issue = issue; }
TANDEM_FAKE int fakeNumLive() { return g_num_live; }

TANDEM_FAKE size_t cudnnGetVersion() { return 91900; }
TANDEM_FAKE const char* cudnnGetErrorString(Result result) {
  return result == kBadParameter ? "CUDNN_STATUS_BAD_PARAM" : "an error of the fake library's";
}
TANDEM_FAKE Result cudnnCreate(void** handle) {
  *handle = &g_handle;
  return dnn::kSuccess;
}
TANDEM_FAKE Result cudnnDestroy(void* handle) { return handle == &g_handle ? dnn::kSuccess : kBadParameter; }
TANDEM_FAKE Result cudnnSetStream(void*, void* stream) {
  g_stream = stream;
  return dnn::kSuccess;
}

TANDEM_FAKE Result cudnnCreateTensorDescriptor(void** tensor) { return Make<Tensor>(tensor); }
TANDEM_FAKE Result cudnnDestroyTensorDescriptor(void* tensor) { return Delete<Tensor>(tensor); }
TANDEM_FAKE Result cudnnSetTensor4dDescriptorEx(void* tensor, int type, int n, int c, int h, int w, int n_stride,
                                                int c_stride, int h_stride, int w_stride) {
  if (std::min({n, c, h, w, n_stride, c_stride, h_stride, w_stride}) < 1) return kBadParameter;
  *static_cast<Tensor*>(tensor) = {type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}};
  return dnn::kSuccess;
}
TANDEM_FAKE Result cudnnTransformTensor(void*, const void* alpha, void* x_tensor, const void* x, const void* beta,
                                        void* y_tensor, void* y) {
  const Tensor from = TensorOf(x_tensor), to = TensorOf(y_tensor);
  if (from.type != to.type || from.dims != to.dims) return kBadParameter;
  if (FactorOf(from.type, alpha) != 1 || FactorOf(from.type, beta) != 0) return kBadParameter;
  return OnStream([=] {
    ForEach(from.dims, [&](int n, int c, int h, int w) {
      Store(to.type, y, to.At(n, c, h, w), Load(from.type, x, from.At(n, c, h, w)));
    });
  });
}
TANDEM_FAKE Result cudnnAddTensor(void*, const void* alpha, void* a_tensor, const void* a, const void* beta,
                                  void* c_tensor, void* c) {
  const Tensor from = TensorOf(a_tensor), to = TensorOf(c_tensor);
  if (from.type != to.type || from.dims != std::array{1, to.dims[1], 1, 1}) return kBadParameter;
  if (FactorOf(from.type, alpha) != 1 || FactorOf(from.type, beta) != 1) return kBadParameter;
  return OnStream([=] {
    ForEach(to.dims, [&](int n, int k, int h, int w) {
      const int64_t place = to.At(n, k, h, w);
      Store(to.type, c, place, Load(to.type, c, place) + Load(to.type, a, k));
    });
  });
}

TANDEM_FAKE Result cudnnCreateFilterDescriptor(void** filter) { return Make<Filter>(filter); }
TANDEM_FAKE Result cudnnDestroyFilterDescriptor(void* filter) { return Delete<Filter>(filter); }
TANDEM_FAKE Result cudnnSetFilter4dDescriptor(void* filter, int type, int format, int k, int c, int h, int w) {
  const std::array<int, 4> strides =
      format == dnn::kNchw ? std::array{c * h * w, h * w, w, 1} : std::array{c * h * w, 1, w * c, c};
  *static_cast<Filter*>(filter) = {type, format, {type, {k, c, h, w}, strides}};
  return dnn::kSuccess;
}

TANDEM_FAKE Result cudnnCreateActivationDescriptor(void** activation) { return Make<Activation>(activation); }
TANDEM_FAKE Result cudnnDestroyActivationDescriptor(void* activation) { return Delete<Activation>(activation); }
TANDEM_FAKE Result cudnnSetActivationDescriptor(void* activation, int mode, int nans, double) {
  *static_cast<Activation*>(activation) = {mode, nans};
  return nans == dnn::kPropagateNans ? dnn::kSuccess : kBadParameter;
}
TANDEM_FAKE Result cudnnActivationForward(void*, void* activation, const void*, void* x_tensor, const void* x,
                                          const void*, void* y_tensor, void* y) {
  const Tensor tensor = TensorOf(x_tensor);
  if (tensor.dims != TensorOf(y_tensor).dims) return kBadParameter;
  return OnStream([tensor, ours = *static_cast<Activation*>(activation), x, y] {
    ForEach(tensor.dims, [&](int n, int c, int h, int w) {
      const int64_t place = tensor.At(n, c, h, w);
      Store(tensor.type, y, place, Activated(ours, Load(tensor.type, x, place)));
    });
  });
}

TANDEM_FAKE Result cudnnCreateConvolutionDescriptor(void** convolution) { return Make<Convolution>(convolution); }
TANDEM_FAKE Result cudnnDestroyConvolutionDescriptor(void* convolution) { return Delete<Convolution>(convolution); }
TANDEM_FAKE Result cudnnSetConvolution2dDescriptor(void* convolution, int row_padding, int col_padding, int row_stride,
                                                   int col_stride, int row_dilation, int col_dilation, int mode,
                                                   int compute) {
  auto& ours = *static_cast<Convolution*>(convolution);
  ours.padding = {row_padding, col_padding};
  ours.stride = {row_stride, col_stride};
  ours.dilation = {row_dilation, col_dilation};
  ours.mode = mode;
  ours.compute = compute;
  return dnn::kSuccess;
}
TANDEM_FAKE Result cudnnSetConvolutionMathType(void* convolution, int math) {
  static_cast<Convolution*>(convolution)->math = math;
  return dnn::kSuccess;
}
TANDEM_FAKE Result cudnnSetConvolutionGroupCount(void* convolution, int groups) {
  static_cast<Convolution*>(convolution)->groups = groups;
  return groups >= 1 ? dnn::kSuccess : kBadParameter;
}

TANDEM_FAKE Result cudnnGetConvolutionForwardAlgorithm_v7(void*, void* x, void* filter, void* convolution, void* y,
                                                          int most, int* num_found,
                                                          CudnnFunctions::Performance* found) {
  const auto& ours = *static_cast<Convolution*>(convolution);
  // Something is left to kernels.
  if (ours.dilation[0] == 3) return dnn::kNotSupported;
  return Advise(Fits(TensorOf(x), *static_cast<Filter*>(filter), ours, TensorOf(y)), most, num_found, found, ours.math);
}
TANDEM_FAKE Result cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void* filter, void* dy, void* convolution,
                                                               void* dx, int most, int* num_found,
                                                               CudnnFunctions::Performance* found) {
  const auto& ours = *static_cast<Convolution*>(convolution);
  return Advise(Fits(TensorOf(dx), *static_cast<Filter*>(filter), ours, TensorOf(dy)), most, num_found, found,
                ours.math);
}
TANDEM_FAKE Result cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void* x, void* dy, void* convolution,
                                                                 void* filter, int most, int* num_found,
                                                                 CudnnFunctions::Performance* found) {
  const auto& ours = *static_cast<Convolution*>(convolution);
  return Advise(Fits(TensorOf(x), *static_cast<Filter*>(filter), ours, TensorOf(dy)), most, num_found, found,
                ours.math);
}

namespace {

Result Convolve(const Tensor& from, const void* x, const Filter& filter, const void* w, const Convolution& convolution,
                const Tensor& to, void* y, const Tensor* bias_tensor, const void* bias, const Activation& activation) {
  if (!Fits(from, filter, convolution, to)) return kBadParameter;
  if (bias_tensor != nullptr && bias_tensor->dims != std::array{1, to.dims[1], 1, 1}) return kBadParameter;
  return OnStream([=, has_bias = bias_tensor != nullptr] {
    Sums sums(to);
    ForEachProduct(from, filter, convolution, to, [&](int64_t at_x, int64_t at_w, int64_t at_y) {
      sums[at_y] += Load(from.type, x, at_x) * Load(from.type, w, at_w);
    });
    ForEach(to.dims, [&](int n, int k, int h, int c) {
      double& sum = sums[to.At(n, k, h, c)];
      sum = Activated(activation, has_bias ? sum + Load(to.type, bias, k) : sum);
    });
    sums.Store(y);
  });
}

}  // namespace

TANDEM_FAKE Result cudnnConvolutionForward(void* handle, const void* alpha, void* x_tensor, const void* x, void* filter,
                                           const void* w, void* convolution, int algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta, void* y_tensor, void* y) {
  const Tensor& from = TensorOf(x_tensor);
  if (!IsReady(handle, algorithm, workspace, workspace_bytes)) return kBadParameter;
  if (FactorOf(from.type, alpha) != 1 || FactorOf(from.type, beta) != 0) return kBadParameter;
  return Convolve(from, x, *static_cast<Filter*>(filter), w, *static_cast<Convolution*>(convolution),
                  TensorOf(y_tensor), y, nullptr, nullptr, {});
}
// Has none of bf16, so that a bias is also added by itself.
TANDEM_FAKE Result cudnnConvolutionBiasActivationForward(void* handle, const void* alpha, void* x_tensor, const void* x,
                                                         void* filter, const void* w, void* convolution, int algorithm,
                                                         void* workspace, size_t workspace_bytes, const void* alpha2,
                                                         void* z_tensor, const void* z, void* bias_tensor,
                                                         const void* bias, void* activation, void* y_tensor, void* y) {
  const Tensor& from = TensorOf(x_tensor);
  if (!IsReady(handle, algorithm, workspace, workspace_bytes)) return kBadParameter;
  if (from.type == dnn::kBF16) return dnn::kNotSupported;
  if (FactorOf(from.type, alpha) != 1 || FactorOf(from.type, alpha2) != 0 || z != y || z_tensor != y_tensor) {
    return kBadParameter;
  }
  return Convolve(from, x, *static_cast<Filter*>(filter), w, *static_cast<Convolution*>(convolution),
                  TensorOf(y_tensor), y, &TensorOf(bias_tensor), bias, *static_cast<Activation*>(activation));
}
TANDEM_FAKE Result cudnnConvolutionBackwardData(void* handle, const void*, void* filter, const void* w, void* dy_tensor,
                                                const void* dy, void* convolution, int algorithm, void* workspace,
                                                size_t workspace_bytes, const void*, void* dx_tensor, void* dx) {
  const Tensor from = TensorOf(dy_tensor), to = TensorOf(dx_tensor);
  const Filter ours = *static_cast<Filter*>(filter);
  const Convolution how = *static_cast<Convolution*>(convolution);
  if (!IsReady(handle, algorithm, workspace, workspace_bytes) || !Fits(to, ours, how, from)) return kBadParameter;
  return OnStream([=] {
    Sums sums(to);
    ForEachProduct(to, ours, how, from, [&](int64_t at_x, int64_t at_w, int64_t at_y) {
      sums[at_x] += Load(from.type, dy, at_y) * Load(from.type, w, at_w);
    });
    sums.Store(dx);
  });
}
TANDEM_FAKE Result cudnnConvolutionBackwardFilter(void* handle, const void*, void* x_tensor, const void* x,
                                                  void* dy_tensor, const void* dy, void* convolution, int algorithm,
                                                  void* workspace, size_t workspace_bytes, const void*, void* filter,
                                                  void* dw) {
  const Tensor from = TensorOf(x_tensor), to = TensorOf(dy_tensor);
  const Filter ours = *static_cast<Filter*>(filter);
  const Convolution how = *static_cast<Convolution*>(convolution);
  if (!IsReady(handle, algorithm, workspace, workspace_bytes) || !Fits(from, ours, how, to)) return kBadParameter;
  return OnStream([=] {
    Sums sums(ours.elements);
    ForEachProduct(from, ours, how, to, [&](int64_t at_x, int64_t at_w, int64_t at_y) {
      sums[at_w] += Load(from.type, x, at_x) * Load(from.type, dy, at_y);
    });
    sums.Store(dw);
  });
}
