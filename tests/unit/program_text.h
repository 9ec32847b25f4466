// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs read from text, for tests.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_TEXT_H_
#define TANDEM_TESTS_UNIT_PROGRAM_TEXT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/op_attrs.h"
#include "tandem/program.h"

namespace tandem {

// The program, or null and a failed test.
inline RcRef<const Program> ReadText(std::string_view text) {
  StatusOr<RcRef<const Program>> program = Program::FromText(text, "t.mlir");
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : nullptr;
}

// The message of the error that reading gives, which must be InvalidArgument; empty if it gives none.
inline std::string ErrorOf(std::string_view text) {
  const StatusOr<RcRef<const Program>> program = Program::FromText(text, "t.mlir");
  if (program.ok()) return "";
  EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument);
  return std::string(program.status().message());
}

// The first line of it.
inline std::string FirstLineOfError(std::string_view text) {
  const std::string message = ErrorOf(text);
  return message.substr(0, message.find('\n'));
}

// A function around instructions, which begin on line 2.
inline std::string InFunction(std::string_view instructions) {
  return "func @f(%h: !corert.ophandler, %t: !corert.tensorhandle, %ch: !tfrt.chain) {\n" + std::string(instructions) +
         "\ntfrt.return\n}";
}

// The instruction that is all of a function; one like that of no program, and a failed test, if there is an error.
inline ProgramInstruction ReadInstruction(std::string_view text) {
  const RcRef<const Program> program = ReadText(InFunction(text));
  if (!program || program->functions()[0].instructions.size() != 2) {
    ADD_FAILURE() << "expected one instruction: " << text;
    return {};
  }
  return program->functions()[0].instructions[0];
}

// The attributes that are written as `text`, "{a = 1}".
inline OpAttrsRef ReadAttrs(std::string_view text) {
  return OpAttrsRef(ReadInstruction("corert.executeop(%h) \"op\"() " + std::string(text)).attrs);
}

// The tensor that is written as `text`, "dense<1> : tensor<i32>".
inline ProgramConstant ReadDense(std::string_view text) {
  const auto constant = ReadInstruction("%c = corert.const_dense_tensor " + std::string(text)).constant;
  return constant ? *constant : ProgramConstant();
}

// Elements of fixed size.
template <typename T>
std::vector<T> ElementsOf(const ProgramConstant& constant) {
  std::vector<T> elements(constant.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), constant.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_TEXT_H_
