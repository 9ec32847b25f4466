// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CudaDnn: convolutions by cuDNN.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_DNN_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_DNN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cuda_pipeline.h"
#include "cudnn_functions.h"
#include "library_pipelines.h"
#include "tandem/async_value.h"
#include "tandem/shader/library_convolution.h"
#include "tandem/status.h"

namespace tandem::cuda {

class CudaDnn;

// An op of fixed sizes: its descriptions and the algorithm that cuDNN advises.
class CudaDnnOp final : public CudaCommand {
 public:
  ~CudaDnnOp() override;

  // Buffers as LibraryConvolution has them. Not thread-safe: the queue issues one command at a time.
  Status Issue(StreamHandle stream, std::span<const DevicePointer> buffers, std::span<const uint32_t> parameters,
               const std::array<uint32_t, 3>& workgroups, DriverFailure& failure) const override;

  // Public for MakeRef; made by CudaDnn.
  CudaDnnOp(const CudaDnn& dnn, const shader::LibraryConvolution& op) : dnn_(dnn), op_(op) {}

 private:
  friend class CudaDnn;

  // Scale factors: of f64, or of f32.
  const void* Factor(double value) const;
  Status IssueBiased(const void* x, const void* filter, const void* bias, void* y) const;
  // Between a filter as ops have it and one as the library has it.
  Status TurnFilter(CudnnFunctions::Tensor from_tensor, const void* from, CudnnFunctions::Tensor to_tensor,
                    void* to) const;
  void* workspace() const;
  void* turned_filter() const;

  const CudaDnn& dnn_;
  const shader::LibraryConvolution op_;
  CudnnFunctions::Tensor x_ = nullptr;
  CudnnFunctions::Tensor y_ = nullptr;
  CudnnFunctions::Tensor bias_ = nullptr;
  CudnnFunctions::Tensor op_filter_ = nullptr;       // as an op has it
  CudnnFunctions::Tensor library_filter_ = nullptr;  // the same elements as the library has them
  CudnnFunctions::Filter filter_ = nullptr;
  CudnnFunctions::Convolution convolution_ = nullptr;
  CudnnFunctions::Activation activation_ = nullptr;
  int algorithm_ = 0;
  size_t workspace_bytes_ = 0;
  mutable bool is_split_ = false;  // the library has no such convolution with a bias
};

// Not thread-safe; the context is the calling thread's.
class CudaDnn {
 public:
  // Gives memory of the stream's pool: at least so many bytes, in place of what was given before.
  using Grow = std::function<bool(size_t bytes, DevicePointer& memory)>;
  // Beyond this, an algorithm is not taken.
  static constexpr size_t kMostWorkspace = size_t{256} << 20;

  // `uses_tf32`: convolutions of f32 may round their factors to 10 bits of the fraction.
  static StatusOr<std::unique_ptr<CudaDnn>> Create(const CudnnFunctions& functions, StreamHandle stream, Grow grow,
                                                   bool uses_tf32);
  ~CudaDnn();
  CudaDnn(const CudaDnn&) = delete;
  CudaDnn& operator=(const CudaDnn&) = delete;

  // Null if cuDNN has nothing for it, or memory is exhausted; then a shader computes it. What was found is kept.
  AsyncValueRef<RcRef<shader::Pipeline>> Find(const shader::LibraryConvolution& op);

  const CudnnFunctions& functions() const { return functions_; }
  CudnnFunctions::Handle handle() const { return handle_; }
  DevicePointer workspace() const { return workspace_; }
  // Ok, or the error of a call.
  Status Check(CudnnFunctions::Result result, std::string_view call) const;

 private:
  struct Hash {
    size_t operator()(const shader::LibraryConvolution& op) const;
  };

  CudaDnn(const CudnnFunctions& functions, Grow grow, bool uses_tf32)
      : functions_(functions), grow_(std::move(grow)), uses_tf32_(uses_tf32) {}
  StatusOr<RcRef<shader::Pipeline>> Make(const shader::LibraryConvolution& op);
  Status DescribeImages(CudaDnnOp& made) const;
  Status DescribeConvolution(CudaDnnOp& made) const;
  Status DescribeFilter(CudaDnnOp& made) const;
  Status ChooseAlgorithm(CudaDnnOp& made);
  // A tensor of four dimensions whose strides are those of NCHW, or NHWC.
  Status MakeTensor(CudnnFunctions::Tensor& tensor, int type, const std::array<int64_t, 4>& dims,
                    bool channels_first) const;
  Status MakeStrided(CudnnFunctions::Tensor& tensor, int type, const std::array<int64_t, 4>& dims,
                     const std::array<int64_t, 4>& strides) const;

  const CudnnFunctions functions_;
  const Grow grow_;
  const bool uses_tf32_;
  CudnnFunctions::Handle handle_ = nullptr;
  DevicePointer workspace_ = 0;
  size_t workspace_bytes_ = 0;
  LibraryPipelines<shader::LibraryConvolution, Hash> known_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_DNN_H_
