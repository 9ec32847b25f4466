// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors, shapes and elements of the text of programs. Each function reads what begins at the current token and leaves
// the one behind it as the current one.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_TENSOR_READER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_TENSOR_READER_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "program_lexer.h"
#include "tandem/dtype.h"
#include "tandem/program.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// "f32", "i1", also TensorFlow's names. Empty if it is none.
std::optional<DType> ParseProgramElement(std::string_view name);

// Whether the current token is a number, nan and inf included.
bool IsProgramNumber(const ProgramTokens& tokens);

// A number as an element of a dtype, which is none of strings or complex numbers, behind those of `bytes`.
Status ReadProgramNumber(ProgramTokens& tokens, DType dtype, std::vector<std::byte>* bytes);

// "true", "false", or what ReadProgramNumber reads.
Status ReadProgramBool(ProgramTokens& tokens, std::vector<std::byte>* bytes);

// shape<2x-1x3>: any dimensions.
Status ReadProgramShape(ProgramTokens& tokens, TensorShape* shape);

// tensor<2x3xf32>, and valid.
Status ReadProgramTensorType(ProgramTokens& tokens, TensorMetadata* metadata);

// dense<...> : tensor<...>
Status ReadProgramDense(ProgramTokens& tokens, ProgramConstant* constant);

// {shape = [2], values = [1.0, 2.0]}
Status ReadProgramCreation(ProgramTokens& tokens, DType dtype, ProgramConstant* constant);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_TENSOR_READER_H_
