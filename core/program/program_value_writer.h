// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Names, tensors and attributes in the text of programs. Each function appends to `out`.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_VALUE_WRITER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_VALUE_WRITER_H_

#include <span>
#include <string>
#include <string_view>

#include "tandem/attr_entry.h"
#include "tandem/program.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// Whether it is one without quotes.
bool IsProgramIdentifier(std::string_view name);

// In quotes, with escapes for what is no character of UTF-8 or cannot be seen: "a\xff\n".
void AppendProgramString(std::string_view text, std::string* out);

// @name, @"a name"
void AppendProgramSymbol(std::string_view name, std::string* out);

// tensor<2x3xf32>
void AppendProgramTensorType(const TensorMetadata& metadata, std::string* out);

// dense<[1.0, 2.0]> : tensor<2xf32>
void AppendProgramDense(const ProgramConstant& constant, std::string* out);

// {shape = [2], values = [1.0, 2.0]}
void AppendProgramCreation(const ProgramConstant& constant, std::string* out);

// {axis = 1, name = "a"}
void AppendProgramAttrs(std::span<const AttrEntry> entries, std::string* out);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_VALUE_WRITER_H_
