// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Functions compiled by TVM, or for its ABIs, in the C++ face:
//
//   auto addone = tandem::tvm::LoadModule("libaddone.so")["addone"];
//   tandem::eager::Tensor y = addone(x);                                                 // like x
//   tandem::eager::Tensor z = product(x, y, {.shape = tandem::TensorShape{2, 3}});
//
// Nothing throws. What cannot be loaded makes results errors, which say why and where; status() tells it before. Not in
// WebAssembly.

#ifndef TANDEM_TVM_H_
#define TANDEM_TVM_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/export.h"
#include "tandem/tvm/packed_function.h"
#include "tandem/tvm/tvm_ops.h"

namespace tandem::tvm {

// A result of a function, as far as it is not like the first input.
struct Output {
  DType dtype = DType::kInvalid;  // kInvalid: that of the first input, which is waited for if it is not known yet
  std::optional<TensorShape> shape = std::nullopt;
};

// A function of a module, which it keeps loaded. Copies share it. Calls are those of the op tandem.TvmDso, which is
// defined in the runtime of the tensors if it is not there (RegisterOps). Thread-safe.
class TANDEM_EXPORT Function {
 public:
  // Ok, or why every call is an error.
  const Status& status() const { return status_; }
  const PackedFunction& packed() const { return packed_; }

  // One result. At least one argument must be a tensor.
  eager::Tensor operator()(eager::Operand x, const Output& output = {},
                           std::source_location where = std::source_location::current()) const {
    return Call({&x}, output, where);
  }
  eager::Tensor operator()(eager::Operand x, eager::Operand y, const Output& output = {},
                           std::source_location where = std::source_location::current()) const {
    return Call({&x, &y}, output, where);
  }
  eager::Tensor operator()(eager::Operand x, eager::Operand y, eager::Operand z, const Output& output = {},
                           std::source_location where = std::source_location::current()) const {
    return Call({&x, &y, &z}, output, where);
  }
  // Any number of arguments and results. All outputs have a shape, or none has.
  std::vector<eager::Tensor> Call(std::span<eager::Operand* const> inputs, std::span<const Output> outputs,
                                  std::source_location where = std::source_location::current()) const;

 private:
  friend class Module;
  eager::Tensor Call(std::initializer_list<eager::Operand*> inputs, const Output& output,
                     std::source_location where) const {
    return std::move(Call(std::span(inputs.begin(), inputs.size()), {&output, 1}, where)[0]);
  }

  Status status_;
  std::string path_;
  std::string name_;
  PackedFunction packed_;
};

class Module;

// See Library::Load.
TANDEM_EXPORT Module LoadModule(std::string_view path, std::source_location where = std::source_location::current());

// A library, which it keeps loaded. Copies share it. Thread-safe.
class TANDEM_EXPORT Module {
 public:
  // Ok, or why there is none.
  const Status& status() const { return status_; }
  Function operator[](std::string_view name) const;

 private:
  friend Module LoadModule(std::string_view path, std::source_location where);
  Status status_;
  std::shared_ptr<const Library> library_;
  std::source_location where_;
};

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_H_
