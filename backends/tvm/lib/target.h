// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What is behind a PackedFunction, and a kernel's call of it.

#ifndef TANDEM_TVM_LIB_TARGET_H_
#define TANDEM_TVM_LIB_TARGET_H_

#include <memory>
#include <span>
#include <string>

#include "tandem/kernel_frame.h"
#include "tandem/kernel_parameter.h"
#include "tandem/tvm/packed_function.h"
#include "tvm_abi.h"

namespace tandem::tvm {

struct PackedFunction::Target {
  Abi abi;
  void* address;
  void* handle;
  std::string name;
  std::shared_ptr<const void> code;
  // Of the runtime library that the function's library is linked with; null without one.
  GetLastError last_error = nullptr;
  ErrorMoveFromRaised raised_error = nullptr;
  ObjectDecRef release_object = nullptr;
  SetStream set_stream = nullptr;
  EnvSetStream env_set_stream = nullptr;
};

// Calls the function with the tensors, within the environment of `exec`: ok, or what it says of its failure.
Status Call(const PackedFunction::Target& target, std::span<DLTensor> tensors, const ExecutionContext& exec);

// Calls it on the arguments of a kernel's call, from one on, and on its results, whose metadata are known: on the host,
// or on the device of the kernel's handler.
Status RunKernel(const PackedFunction::Target& target, size_t first_input, KernelFrame& frame);

// A DLTensor's strides.
using Strides = int64_t[TensorShape::kMaxRank];
// `tensor` points into `metadata` and `strides`. A function may write to the struct, but not to what it describes.
void Describe(const TensorMetadata& metadata, Abi abi, DLDevice device, void* data, Strides& strides, DLTensor* tensor);
// RunKernel for a handler of another device, whose memory the function gets.
Status RunOnDevice(const PackedFunction::Target& target, size_t first_input, KernelFrame& frame);

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_LIB_TARGET_H_
