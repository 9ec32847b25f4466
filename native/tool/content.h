// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files as a whole, and the programs in them.

#ifndef TANDEM_NATIVE_TOOL_CONTENT_H_
#define TANDEM_NATIVE_TOOL_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tandem/program.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"

namespace tandem::tool {

// All bytes of a file, a pipe or, if the path is "-", standard input. NotFound if there is none, InvalidArgument for a
// folder.
StatusOr<std::vector<std::byte>> ReadContent(const std::string& path);

// Replaces the file as a whole, or leaves the old one if something fails. Errors as ReplaceFile's.
Status WriteContent(const std::string& path, std::span<const std::byte> content);

// The program in a file, a pipe or, by "-", standard input: text or the binary form, told apart by its content.
StatusOr<RcRef<const Program>> ReadProgram(const std::string& path);

// For an error at a place of a text: a newline, the line, a newline, and a mark under the column, which counts
// characters of UTF-8 from 1. Empty if the path is of no regular file with such a line, or the line is too long to be
// looked at.
std::string ShowLine(const std::string& path, uint32_t line, uint32_t column);

// ".npy", in lower case; empty if there is none.
std::string ExtensionOf(const std::string& path);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_CONTENT_H_
