// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of compiled functions by either ABI.

#include "tandem/tvm/packed_function.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "call_environment.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/small_array.h"
#include "target.h"

namespace tandem::tvm {

PackedFunction::PackedFunction(Abi abi, void* address, std::string_view name, std::shared_ptr<const void> code,
                               void* handle)
    : target_(std::make_shared<Target>(Target{abi, address, handle, std::string(name), std::move(code)})) {}

Abi PackedFunction::abi() const { return target_->abi; }

const std::string& PackedFunction::name() const { return target_->name; }

namespace {

constexpr size_t kUsualTensors = 4;

std::string_view View(const ByteArray& text) { return {text.data, text.size}; }

Status Failure(const PackedFunction::Target& target, int code, std::string_view reason) {
  return MakeError(StatusCode::kUnknown, "expected ", target.name, " to return 0, got ", code,
                   reason.empty() ? "" : ": ", reason);
}

// What the function said of its failure to us, or to the runtime library that it is linked with.
Status Failed(const PackedFunction::Target& target, const CallEnvironment& environment, int code) {
  if (!environment.error().empty()) return Failure(target, code, environment.error());
  if (target.abi == Abi::kClassic) {
    const char* const text = target.last_error == nullptr ? nullptr : target.last_error();
    return Failure(target, code, text == nullptr ? "" : text);
  }
  void* raised = nullptr;
  if (target.raised_error != nullptr) target.raised_error(&raised);
  if (raised == nullptr) return Failure(target, code, "");
  const auto& error = *reinterpret_cast<const ErrorCell*>(static_cast<const char*>(raised) + sizeof(Object));
  MessageBuilder reason;
  reason.Append(View(error.kind), ": ", View(error.message));
  Status failure = Failure(target, code, reason.view());
  if (target.release_object != nullptr) target.release_object(raised);
  return failure;
}

Status CallClassic(const PackedFunction::Target& target, std::span<DLTensor> tensors, const ExecutionContext& exec) {
  SmallArray<Value, kUsualTensors> values;
  SmallArray<int, kUsualTensors> codes;
  if (!values.Init(tensors.size()) || !codes.Init(tensors.size())) return Status::OutOfMemory();
  for (size_t i = 0; i < tensors.size(); ++i) {
    values[i].v_int64 = 0;  // all of it, where a pointer is less
    values[i].v_handle = &tensors[i];
    codes[i] = kDLTensorHandle;
  }
  Value result = {};
  int result_code = kNullptr;
  CallEnvironment environment(exec);
  const auto function = reinterpret_cast<ClassicFunction>(target.address);
  const int code =
      function(values.data(), codes.data(), static_cast<int>(tensors.size()), &result, &result_code, target.handle);
  if (code != 0) return Failed(target, environment, code);
  if (result_code < kObjectHandle) return Status();
  return MakeError(StatusCode::kUnimplemented, "expected ", target.name, " to give its results by arguments, got a ",
                   "value of type code ", result_code);
}

Status CallFfi(const PackedFunction::Target& target, std::span<DLTensor> tensors, const ExecutionContext& exec) {
  SmallArray<Any, kUsualTensors> args;
  if (!args.Init(tensors.size())) return Status::OutOfMemory();
  for (size_t i = 0; i < tensors.size(); ++i) {
    args[i].type_index = kDLTensorPtr;
    args[i].zero_padding = 0;
    args[i].v_int64 = 0;
    args[i].v_ptr = &tensors[i];
  }
  Any result = {kNone, 0, {0}};
  CallEnvironment environment(exec);
  const auto function = reinterpret_cast<FfiFunction>(target.address);
  const int code = function(target.handle, args.data(), static_cast<int32_t>(tensors.size()), &result);
  if (code != 0) return Failed(target, environment, code);
  if (result.type_index < kStaticObjectBegin) return Status();
  if (target.release_object != nullptr) target.release_object(result.v_ptr);
  return MakeError(StatusCode::kUnimplemented, "expected ", target.name, " to give its results by arguments, got an ",
                   "object of type index ", result.type_index);
}

// What a DLTensor points to, and where elements are that cannot stay where they are.
struct alignas(kTensorDataAlignment) Place {
  unsigned char small[Tensor::kInlineBytes];
  int64_t strides[TensorShape::kMaxRank];
  RcRef<HostBuffer> large;
};

}  // namespace

void Describe(const TensorMetadata& metadata, Abi abi, DLDevice device, void* data, Strides& strides,
              DLTensor* tensor) {
  dlpack::RowMajorStrides(metadata.shape, strides);
  // The classic ABI has unsigned integers of one bit for bools, of a byte each.
  const bool is_classic_bool = abi == Abi::kClassic && metadata.dtype == DType::kBool;
  *tensor = {data,
             device,
             metadata.rank(),
             is_classic_bool ? DLDataType{dlpack::kUInt, 1, 1} : dlpack::TypeOf(metadata.dtype),
             const_cast<int64_t*>(metadata.shape.dims().data()),
             strides,
             0};
}

namespace {

constexpr DLDevice kHost = {dlpack::kCpu, 0};

bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kTensorDataAlignment == 0; }

// The elements of an input where the function may read them.
StatusOr<void*> PlaceInput(const Tensor& input, HostAllocator& allocator, Place& place) {
  const size_t size = input.metadata().byte_size();
  if (IsAligned(input.data())) return const_cast<void*>(input.data());
  if (size <= sizeof(place.small)) return std::memcpy(place.small, input.data(), size);
  TANDEM_ASSIGN_OR_RETURN(place.large, allocator.Allocate(size));
  return std::memcpy(place.large->data(), input.data(), size);
}

}  // namespace

Status Call(const PackedFunction::Target& target, std::span<DLTensor> tensors, const ExecutionContext& exec) {
  return target.abi == Abi::kClassic ? CallClassic(target, tensors, exec) : CallFfi(target, tensors, exec);
}

namespace {

// An input as a dense tensor: itself, or one in `expanded`.
Status FindDense(KernelFrame& frame, size_t i, std::unique_ptr<std::optional<Tensor>[]>& expanded,
                 const Tensor** dense) {
  *dense = &frame.arg(i);
  if ((*dense)->IsA(kDenseHost)) [[likely]]
    return Status();
  TANDEM_RETURN_IF_ERROR(internal::CheckDense(frame, i));
  if (expanded == nullptr) expanded.reset(new (std::nothrow) std::optional<Tensor>[frame.num_args()]);
  if (expanded == nullptr) return Status::OutOfMemory();
  return internal::ExpandToDense(frame, dense, expanded[i]);
}

}  // namespace

Status RunKernel(const PackedFunction::Target& target, size_t first_input, KernelFrame& frame) {
  if (frame.handler().device() != &frame.host().device()) return RunOnDevice(target, first_input, frame);
  std::unique_ptr<std::optional<Tensor>[]> expanded;
  SmallArray<DLTensor, kUsualTensors> tensor_array;
  SmallArray<Place, kUsualTensors> place_array;
  SmallArray<void*, kUsualTensors> result_array;
  const size_t num_inputs = frame.num_args() - first_input;
  const size_t num_results = frame.num_results();
  if (!tensor_array.Init(num_inputs + num_results) || !place_array.Init(num_inputs + num_results) ||
      !result_array.Init(num_results)) {
    return Status::OutOfMemory();
  }
  DLTensor* const tensors = tensor_array.data();
  Place* const places = place_array.data();
  void** const results = result_array.data();
  for (size_t i = 0; i < num_inputs; ++i) {
    const Tensor* input;
    TANDEM_RETURN_IF_ERROR(FindDense(frame, first_input + i, expanded, &input));
    TANDEM_ASSIGN_OR_RETURN(void* const data, PlaceInput(*input, frame.host().allocator(), places[i]));
    Describe(input->metadata(), target.abi, kHost, data, places[i].strides, &tensors[i]);
  }
  for (size_t i = 0; i < num_results; ++i) {
    results[i] = frame.AllocateResult(i);
    if (results[i] == nullptr) return Status();  // which has said so
    Place& place = places[num_inputs + i];
    // What is not aligned is within the tensor itself.
    void* const data = IsAligned(results[i]) ? results[i] : place.small;
    Describe(frame.result_metadata(i), target.abi, kHost, data, place.strides, &tensors[num_inputs + i]);
  }
  TANDEM_RETURN_IF_ERROR(Call(target, tensor_array.span(), frame.exec()));
  for (size_t i = 0; i < num_results; ++i) {
    const TensorMetadata& metadata = frame.result_metadata(i);
    if (!IsAligned(results[i])) std::memcpy(results[i], places[num_inputs + i].small, metadata.byte_size());
    TANDEM_RETURN_IF_ERROR(
        CheckElements(metadata.dtype, {static_cast<const std::byte*>(results[i]), metadata.byte_size()}));
  }
  return Status();
}

}  // namespace tandem::tvm
