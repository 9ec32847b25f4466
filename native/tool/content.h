// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files as a whole, and the programs in them.

#ifndef TANDEM_NATIVE_TOOL_CONTENT_H_
#define TANDEM_NATIVE_TOOL_CONTENT_H_

#include <cstddef>
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

// For an error at a place of a file: a newline and what ShowProgramPlace says. Empty if the path is of no regular file
// with such a place.
std::string ShowPlace(const std::string& path, const ProgramPosition& position);

// ".npy", in lower case; empty if there is none.
std::string ExtensionOf(const std::string& path);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_CONTENT_H_
