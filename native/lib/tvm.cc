// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions compiled by TVM, in the C++ face: calls of the op tandem.TvmDso.

#include "tandem/tvm.h"

#include <algorithm>
#include <utility>

#include "tandem/dlpack.h"

namespace tandem::tvm {

namespace {

// What the outputs are, as the attributes of tandem.TvmDso.
Status SetOutputs(std::span<eager::Operand* const> inputs, std::span<const Output> outputs, std::source_location where,
                  OpAttrs& attrs) {
  std::vector<DType> dtypes;
  std::vector<TensorShape> shapes;
  for (const Output& output : outputs) {
    dtypes.push_back(output.dtype);
    if (output.shape) shapes.push_back(*output.shape);
    if (output.dtype != DType::kInvalid) continue;
    const eager::Tensor* const first = inputs.empty() ? nullptr : inputs[0]->tensor();
    if (first == nullptr) return InvalidArgument("expected the dtype of a result whose first input is no tensor");
    TANDEM_ASSIGN_OR_RETURN(const TensorMetadata metadata, first->Metadata(where));
    dtypes.back() = metadata.dtype;
  }
  if (!shapes.empty() && shapes.size() != outputs.size()) {
    return InvalidArgument("expected a shape for each of ", outputs.size(), " results, or none, got ", shapes.size());
  }
  attrs.SetArray("output_dtype", std::span<const DType>(dtypes));
  if (!shapes.empty()) attrs.SetArray("output_shape", std::span<const TensorShape>(shapes));
  return Status();
}

}  // namespace

std::vector<eager::Tensor> Function::Call(std::span<eager::Operand* const> inputs, std::span<const Output> outputs,
                                          std::source_location where) const {
  std::vector<eager::Tensor> results(outputs.size());
  eager::Runtime* runtime = nullptr;
  for (const eager::Operand* input : inputs) {
    if (runtime == nullptr && input->tensor() != nullptr) runtime = input->tensor()->runtime();
  }
  Status wrong = status_;
  OpAttrs attrs;
  if (wrong.ok() && runtime != nullptr) {
    // Runtime::Create has made it, by CreateCpuOpHandler.
    auto& cpu = static_cast<KernelOpHandler&>(*runtime->core().FindHandler("cpu"));
    wrong = RegisterOps(runtime->core(), cpu);
    KernelOpHandler* const used = runtime->handler().kernel_handler();
    const bool is_other = used != nullptr && used != &cpu;
    if (wrong.ok() && is_other && FindDlpackDevice(runtime->core(), *used->device()) != nullptr) {
      wrong = RegisterOps(runtime->core(), *used);
    }
    if (wrong.ok()) wrong = SetOutputs(inputs, outputs, where, attrs);
  }
  if (!wrong.ok()) {
    wrong = wrong.WithContext("tandem.TvmDso", where);
    if (runtime != nullptr) wrong = runtime->host().EmitError(wrong);
    for (eager::Tensor& result : results) result = eager::Tensor(runtime, TensorHandle::MakeError(wrong));
    return results;
  }
  attrs.Set("lib_path", std::string_view(path_));
  attrs.Set("func_name", std::string_view(name_));
  eager::CallN("tandem.TvmDso", inputs, attrs, results, where);
  return results;
}

Function Module::operator[](std::string_view name) const {
  Function function;
  function.status_ = status_;
  if (!status_.ok()) return function;
  StatusOr<PackedFunction> found = library_->Find(name);
  if (found.ok()) {
    function.packed_ = std::move(*found);
  } else {
    function.status_ = found.status().WithContext("", where_);
  }
  function.path_ = library_->path();
  function.name_ = name;
  return function;
}

Module LoadModule(std::string_view path, std::source_location where) {
  Module module;
  module.where_ = where;
  StatusOr<std::shared_ptr<const Library>> library = Library::Load(path);
  if (library.ok()) {
    module.library_ = std::move(*library);
  } else {
    module.status_ = library.status().WithContext("", where);
  }
  return module;
}

}  // namespace tandem::tvm
