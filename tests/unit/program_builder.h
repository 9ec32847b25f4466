// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Short ways to make programs in tests, without either of their forms.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_BUILDER_H_
#define TANDEM_TESTS_UNIT_PROGRAM_BUILDER_H_

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/op_attrs.h"
#include "tandem/program.h"

namespace tandem {

// Appends instructions to a function, whose values get numbers in the order in which they are made.
class FunctionBuilder {
 public:
  FunctionBuilder(std::string name, std::vector<ProgramType> parameters, std::vector<ProgramType> results) {
    function_.name = std::move(name);
    function_.num_parameters = static_cast<uint32_t>(parameters.size());
    function_.value_types = std::move(parameters);
    function_.result_types = std::move(results);
  }

  // The instruction may be completed until the next one is added.
  ProgramInstruction& Add(ProgramKernel kernel, std::vector<uint32_t> operands, std::vector<ProgramType> results = {}) {
    ProgramInstruction& instruction = function_.instructions.emplace_back();
    instruction.kernel = kernel;
    instruction.operands = std::move(operands);
    for (const ProgramType type : results) {
      instruction.results.push_back(static_cast<uint32_t>(function_.value_types.size()));
      function_.value_types.push_back(type);
    }
    return instruction;
  }
  // The value that was defined last.
  uint32_t last() const { return static_cast<uint32_t>(function_.value_types.size()) - 1; }

  ProgramFunction& function() { return function_; }
  ProgramFunction Return(std::vector<uint32_t> values) {
    Add(ProgramKernel::kReturn, std::move(values));
    return std::move(function_);
  }

 private:
  ProgramFunction function_;
};

inline RcRef<const Program> CreateProgram(std::vector<ProgramFunction> functions) {
  StatusOr<RcRef<const Program>> program = Program::Create(std::move(functions), "test");
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  return program.ok() ? *program : nullptr;
}

// The attributes of the set, for an instruction.
inline RcRef<const FrozenOpAttrs> Frozen(const OpAttrs& attrs) { return FrozenOpAttrs::Create(attrs.entries()); }

// Elements of any C++ type of as many bytes as the dtype's have, so that bits need no conversion.
template <typename T>
std::shared_ptr<ProgramConstant> Constant(DType dtype, const TensorShape& shape, const std::vector<T>& elements) {
  auto constant = std::make_shared<ProgramConstant>();
  constant->metadata = {dtype, shape};
  constant->bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(constant->bytes.data(), elements.data(), constant->bytes.size());
  return constant;
}
template <typename T>
std::shared_ptr<ProgramConstant> Splat(DType dtype, const TensorShape& shape, T element) {
  auto constant = Constant<T>(dtype, shape, {element});
  constant->is_splat = true;
  return constant;
}
inline std::shared_ptr<ProgramConstant> Strings(const TensorShape& shape, std::vector<std::string> elements) {
  auto constant = std::make_shared<ProgramConstant>();
  constant->metadata = {DType::kString, shape};
  constant->strings = std::move(elements);
  return constant;
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_BUILDER_H_
