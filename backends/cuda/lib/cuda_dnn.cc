// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Filters of ops are [rows, cols, channels, out_channels], which the library has not: they are turned for each call,
// which takes little beside a convolution.

#include "cuda_dnn.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tandem::cuda {
namespace {

using shader::LibraryConvolution;
using Kind = LibraryConvolution::Kind;

constexpr size_t kAlignment = 256;
constexpr int64_t kMostElements = INT32_MAX;  // of a tensor
constexpr int kMostAlgorithms = 8;

// -1: the library is not asked.
int TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return cudnn::kF32;
    case DType::kF16:
      return cudnn::kF16;
    case DType::kBF16:
      return cudnn::kBF16;
    case DType::kF64:
      return cudnn::kF64;
    default:
      return -1;
  }
}

// Whether as much padding before as behind gives these windows.
bool IsSymmetric(const LibraryConvolution::Axis& axis) {
  const int64_t extent = (axis.window - 1) * axis.dilation + 1;
  return axis.input + 2 * axis.pad_before >= extent &&
         (axis.input + 2 * axis.pad_before - extent) / axis.stride + 1 == axis.output;
}

bool FitsInt(const LibraryConvolution::Axis& axis) {
  return std::ranges::all_of(
      std::array{axis.input, axis.window, axis.stride, axis.dilation, axis.pad_before, axis.output},
      [](int64_t number) { return number <= (int64_t{1} << 24); });
}

// An error says why the library is not asked.
Status CheckTaken(const LibraryConvolution& op) {
  const auto not_taken = [](const auto&... why) { return MakeError(StatusCode::kUnimplemented, why...); };
  if (TypeOf(op.dtype) < 0) return not_taken("cuDNN is not asked for ", op.dtype);
  if (op.batch <= 0 || op.channels <= 0 || op.out_channels <= 0) return not_taken("there is nothing to compute");
  for (const LibraryConvolution::Axis* axis : {&op.rows, &op.cols}) {
    if (axis->input <= 0 || axis->output <= 0) return not_taken("there is nothing to compute");
    if (!FitsInt(*axis)) return not_taken("cuDNN has no windows as large");
    if (!IsSymmetric(*axis)) return not_taken("cuDNN has no more padding behind than before");
  }
  // Biased ones compute in f32.
  if (op.has_bias && op.dtype == DType::kF64) return not_taken("cuDNN has no bias of f64");
  return Status();
}

bool IsNotSupported(CudnnFunctions::Result result) {
  return result == cudnn::kNotSupportedBefore || result / 1000 == cudnn::kNotSupported / 1000;
}

void* At(DevicePointer memory) { return reinterpret_cast<void*>(memory); }

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// ---- CudaDnnOp

CudaDnnOp::~CudaDnnOp() {
  const CudnnFunctions& functions = dnn_.functions();
  for (const CudnnFunctions::Tensor tensor : {x_, y_, bias_, op_filter_, library_filter_}) {
    if (tensor != nullptr) functions.DestroyTensorDescriptor(tensor);
  }
  if (filter_ != nullptr) functions.DestroyFilterDescriptor(filter_);
  if (convolution_ != nullptr) functions.DestroyConvolutionDescriptor(convolution_);
  if (activation_ != nullptr) functions.DestroyActivationDescriptor(activation_);
}

const void* CudaDnnOp::Factor(double value) const {
  static constexpr float kF32[] = {0, 1};
  static constexpr double kF64[] = {0, 1};
  const size_t i = value == 0 ? 0 : 1;
  return op_.dtype == DType::kF64 ? static_cast<const void*>(&kF64[i]) : &kF32[i];
}

void* CudaDnnOp::workspace() const { return workspace_bytes_ == 0 ? nullptr : At(dnn_.workspace()); }

void* CudaDnnOp::turned_filter() const { return At(dnn_.workspace() + RoundUp(workspace_bytes_)); }

Status CudaDnnOp::TurnFilter(CudnnFunctions::Tensor from_tensor, const void* from, CudnnFunctions::Tensor to_tensor,
                             void* to) const {
  return dnn_.Check(
      dnn_.functions().TransformTensor(dnn_.handle(), Factor(1), from_tensor, from, Factor(0), to_tensor, to),
      "cudnnTransformTensor");
}

Status CudaDnnOp::IssueBiased(const void* x, const void* filter, const void* bias, void* y) const {
  const CudnnFunctions& f = dnn_.functions();
  if (!is_split_) {
    const auto result = f.ConvolutionBiasActivationForward(dnn_.handle(), Factor(1), x_, x, filter_, filter,
                                                           convolution_, algorithm_, workspace(), workspace_bytes_,
                                                           Factor(0), y_, y, bias_, bias, activation_, y_, y);
    if (!IsNotSupported(result)) return dnn_.Check(result, "cudnnConvolutionBiasActivationForward");
    is_split_ = true;
  }
  TANDEM_RETURN_IF_ERROR(dnn_.Check(f.ConvolutionForward(dnn_.handle(), Factor(1), x_, x, filter_, filter, convolution_,
                                                         algorithm_, workspace(), workspace_bytes_, Factor(0), y_, y),
                                    "cudnnConvolutionForward"));
  TANDEM_RETURN_IF_ERROR(
      dnn_.Check(f.AddTensor(dnn_.handle(), Factor(1), bias_, bias, Factor(1), y_, y), "cudnnAddTensor"));
  if (!op_.has_relu) return Status();
  return dnn_.Check(f.ActivationForward(dnn_.handle(), activation_, Factor(1), y_, y, Factor(0), y_, y),
                    "cudnnActivationForward");
}

Status CudaDnnOp::Issue(StreamHandle, std::span<const DevicePointer> buffers, std::span<const uint32_t>,
                        const std::array<uint32_t, 3>&, DriverFailure&) const {
  std::array<void*, 4> places = {};
  std::transform(buffers.begin(), buffers.begin() + static_cast<ptrdiff_t>(std::min(buffers.size(), places.size())),
                 places.begin(), &At);
  const auto [first, second, third, fourth] = places;
  const CudnnFunctions& f = dnn_.functions();
  void* const turned = turned_filter();
  if (op_.kind == Kind::kFilterGradient) {
    TANDEM_RETURN_IF_ERROR(
        dnn_.Check(f.ConvolutionBackwardFilter(dnn_.handle(), Factor(1), x_, first, y_, second, convolution_,
                                               algorithm_, workspace(), workspace_bytes_, Factor(0), filter_, turned),
                   "cudnnConvolutionBackwardFilter"));
    return TurnFilter(library_filter_, turned, op_filter_, third);
  }
  TANDEM_RETURN_IF_ERROR(TurnFilter(op_filter_, second, library_filter_, turned));
  if (op_.kind == Kind::kInputGradient) {
    return dnn_.Check(f.ConvolutionBackwardData(dnn_.handle(), Factor(1), filter_, turned, y_, first, convolution_,
                                                algorithm_, workspace(), workspace_bytes_, Factor(0), x_, third),
                      "cudnnConvolutionBackwardData");
  }
  if (op_.has_bias) return IssueBiased(first, turned, third, fourth);
  return dnn_.Check(f.ConvolutionForward(dnn_.handle(), Factor(1), x_, first, filter_, turned, convolution_, algorithm_,
                                         workspace(), workspace_bytes_, Factor(0), y_, third),
                    "cudnnConvolutionForward");
}

// ---- CudaDnn

StatusOr<std::unique_ptr<CudaDnn>> CudaDnn::Create(const CudnnFunctions& functions, StreamHandle stream, Grow grow,
                                                   bool uses_tf32) {
  std::unique_ptr<CudaDnn> dnn(new (std::nothrow) CudaDnn(functions, std::move(grow), uses_tf32));
  if (dnn == nullptr) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(dnn->Check(functions.Create(&dnn->handle_), "cudnnCreate"));
  TANDEM_RETURN_IF_ERROR(dnn->Check(functions.SetStream(dnn->handle_, stream), "cudnnSetStream"));
  return dnn;
}

CudaDnn::~CudaDnn() {
  known_.Clear();
  if (handle_ != nullptr) functions_.Destroy(handle_);
}

Status CudaDnn::Check(CudnnFunctions::Result result, std::string_view call) const {
  if (result == cudnn::kSuccess) return Status();
  return MakeError(StatusCode::kInternal, "expected ", call, " to succeed, got ",
                   std::string_view(functions_.GetErrorString(result)), " (TANDEM_CUDNN=off does without cuDNN)");
}

size_t CudaDnn::Hash::operator()(const LibraryConvolution& op) const {
  uint64_t hash = static_cast<uint64_t>(op.kind) << 16 | static_cast<uint64_t>(op.dtype) << 8 |
                  static_cast<uint64_t>(op.channels_first) << 2 | static_cast<uint64_t>(op.has_bias) << 1 |
                  static_cast<uint64_t>(op.has_relu);
  for (const int64_t number : {op.batch, op.channels, op.out_channels, op.groups, op.rows.input, op.rows.window,
                               op.rows.stride, op.rows.dilation, op.rows.pad_before, op.rows.output, op.cols.input,
                               op.cols.window, op.cols.stride, op.cols.dilation, op.cols.pad_before, op.cols.output}) {
    hash = HashWith(hash, static_cast<uint64_t>(number));
  }
  return static_cast<size_t>(hash);
}

AsyncValueRef<RcRef<shader::Pipeline>> CudaDnn::Find(const LibraryConvolution& op) {
  return known_.Find(op, [&] { return Make(op); });
}

StatusOr<RcRef<shader::Pipeline>> CudaDnn::Make(const LibraryConvolution& op) {
  TANDEM_RETURN_IF_ERROR(CheckTaken(op));
  auto made = MakeRef<CudaDnnOp>(*this, op);
  if (!made) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(DescribeImages(*made));
  TANDEM_RETURN_IF_ERROR(DescribeConvolution(*made));
  TANDEM_RETURN_IF_ERROR(DescribeFilter(*made));
  TANDEM_RETURN_IF_ERROR(ChooseAlgorithm(*made));
  return RcRef<shader::Pipeline>(std::move(made));
}

Status CudaDnn::MakeStrided(CudnnFunctions::Tensor& tensor, int type, const std::array<int64_t, 4>& dims,
                            const std::array<int64_t, 4>& strides) const {
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim > kMostElements || __builtin_mul_overflow(elements, dim, &elements) || elements > kMostElements) {
      return MakeError(StatusCode::kUnimplemented, "cuDNN has no tensors of more than 2^31 elements");
    }
  }
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  TANDEM_RETURN_IF_ERROR(Check(functions_.CreateTensorDescriptor(&tensor), "cudnnCreateTensorDescriptor"));
  return Check(functions_.SetTensor4dDescriptorEx(tensor, type, number(dims[0]), number(dims[1]), number(dims[2]),
                                                  number(dims[3]), number(strides[0]), number(strides[1]),
                                                  number(strides[2]), number(strides[3])),
               "cudnnSetTensor4dDescriptorEx");
}

Status CudaDnn::MakeTensor(CudnnFunctions::Tensor& tensor, int type, const std::array<int64_t, 4>& dims,
                           bool channels_first) const {
  const auto [n, c, h, w] = dims;
  const std::array<int64_t, 4> strides =
      channels_first ? std::array{c * h * w, h * w, w, int64_t{1}} : std::array{c * h * w, int64_t{1}, w * c, c};
  return MakeStrided(tensor, type, dims, strides);
}

Status CudaDnn::DescribeImages(CudaDnnOp& made) const {
  const LibraryConvolution& op = made.op_;
  const int type = TypeOf(op.dtype);
  TANDEM_RETURN_IF_ERROR(
      MakeTensor(made.x_, type, {op.batch, op.channels, op.rows.input, op.cols.input}, op.channels_first));
  TANDEM_RETURN_IF_ERROR(
      MakeTensor(made.y_, type, {op.batch, op.out_channels, op.rows.output, op.cols.output}, op.channels_first));
  if (!op.has_bias) return Status();
  TANDEM_RETURN_IF_ERROR(MakeTensor(made.bias_, type, {1, op.out_channels, 1, 1}, op.channels_first));
  TANDEM_RETURN_IF_ERROR(
      Check(functions_.CreateActivationDescriptor(&made.activation_), "cudnnCreateActivationDescriptor"));
  return Check(functions_.SetActivationDescriptor(made.activation_, op.has_relu ? cudnn::kRelu : cudnn::kIdentity,
                                                  cudnn::kPropagateNans, 0),
               "cudnnSetActivationDescriptor");
}

Status CudaDnn::DescribeConvolution(CudaDnnOp& made) const {
  const LibraryConvolution& op = made.op_;
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  TANDEM_RETURN_IF_ERROR(
      Check(functions_.CreateConvolutionDescriptor(&made.convolution_), "cudnnCreateConvolutionDescriptor"));
  const int compute = op.dtype == DType::kF64 ? cudnn::kF64 : cudnn::kF32;
  TANDEM_RETURN_IF_ERROR(Check(
      functions_.SetConvolution2dDescriptor(made.convolution_, number(op.rows.pad_before), number(op.cols.pad_before),
                                            number(op.rows.stride), number(op.cols.stride), number(op.rows.dilation),
                                            number(op.cols.dilation), cudnn::kCrossCorrelation, compute),
      "cudnnSetConvolution2dDescriptor"));
  const bool is_small = op.dtype == DType::kF16 || op.dtype == DType::kBF16;
  const int math = is_small ? cudnn::kTensorOps : uses_tf32_ ? cudnn::kDefaultMath : cudnn::kOnlyFma;
  TANDEM_RETURN_IF_ERROR(
      Check(functions_.SetConvolutionMathType(made.convolution_, math), "cudnnSetConvolutionMathType"));
  return Check(functions_.SetConvolutionGroupCount(made.convolution_, number(op.groups)),
               "cudnnSetConvolutionGroupCount");
}

Status CudaDnn::DescribeFilter(CudaDnnOp& made) const {
  const LibraryConvolution& op = made.op_;
  const int type = TypeOf(op.dtype);
  const int64_t k = op.out_channels, c = op.channels / op.groups, r = op.rows.window, s = op.cols.window;
  TANDEM_RETURN_IF_ERROR(MakeStrided(made.op_filter_, type, {k, c, r, s}, {1, k, s * c * k, c * k}));
  TANDEM_RETURN_IF_ERROR(MakeTensor(made.library_filter_, type, {k, c, r, s}, op.channels_first));
  TANDEM_RETURN_IF_ERROR(Check(functions_.CreateFilterDescriptor(&made.filter_), "cudnnCreateFilterDescriptor"));
  return Check(functions_.SetFilter4dDescriptor(made.filter_, type, op.channels_first ? cudnn::kNchw : cudnn::kNhwc,
                                                static_cast<int>(k), static_cast<int>(c), static_cast<int>(r),
                                                static_cast<int>(s)),
               "cudnnSetFilter4dDescriptor");
}

// The fastest one, as cuDNN estimates it, that gives the same result each time (NU-2) and computes each sum by itself.
Status CudaDnn::ChooseAlgorithm(CudaDnnOp& made) {
  std::array<CudnnFunctions::Performance, kMostAlgorithms> found = {};
  int num_found = 0;
  CudnnFunctions::Result result = cudnn::kSuccess;
  switch (made.op_.kind) {
    case Kind::kInputGradient:
      result = functions_.GetConvolutionBackwardDataAlgorithm(handle_, made.filter_, made.y_, made.convolution_,
                                                              made.x_, kMostAlgorithms, &num_found, found.data());
      break;
    case Kind::kFilterGradient:
      result = functions_.GetConvolutionBackwardFilterAlgorithm(
          handle_, made.x_, made.y_, made.convolution_, made.filter_, kMostAlgorithms, &num_found, found.data());
      break;
    default:
      result = functions_.GetConvolutionForwardAlgorithm(handle_, made.x_, made.filter_, made.convolution_, made.y_,
                                                         kMostAlgorithms, &num_found, found.data());
  }
  TANDEM_RETURN_IF_ERROR(Check(result, "cudnnGetConvolutionAlgorithm"));
  const auto is_taken = [&](const CudnnFunctions::Performance& algorithm) {
    const int number = algorithm.algorithm;
    const bool is_direct = made.op_.kind == Kind::kForward ? number <= cudnn::kForwardGemm
                           : made.op_.kind == Kind::kInputGradient
                               ? number <= cudnn::kInputGradientGemm
                               : number <= cudnn::kFilterGradientGemm || number == cudnn::kFilterGradientGemm2;
    return algorithm.status == cudnn::kSuccess && is_direct && algorithm.determinism == cudnn::kDeterministic &&
           algorithm.workspace_bytes <= kMostWorkspace;
  };
  const LibraryConvolution& op = made.op_;
  const auto filter_bytes =
      static_cast<size_t>(op.out_channels * (op.channels / op.groups) * op.rows.window * op.cols.window) *
      DTypeSize(op.dtype);
  for (const CudnnFunctions::Performance& algorithm : std::span(found).first(static_cast<size_t>(num_found))) {
    if (!is_taken(algorithm)) continue;
    const size_t wanted = RoundUp(algorithm.workspace_bytes) + RoundUp(filter_bytes);
    if (wanted > workspace_bytes_) {
      if (!grow_(wanted, workspace_)) continue;
      workspace_bytes_ = wanted;
    }
    made.algorithm_ = algorithm.algorithm;
    made.workspace_bytes_ = algorithm.workspace_bytes;
    // A heuristic's mathematics may be others than was asked for.
    return Check(functions_.SetConvolutionMathType(made.convolution_, algorithm.math), "cudnnSetConvolutionMathType");
  }
  return MakeError(StatusCode::kUnimplemented, "cuDNN has no algorithm for the convolution");
}

}  // namespace tandem::cuda
