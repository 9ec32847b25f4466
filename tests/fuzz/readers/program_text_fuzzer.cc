// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The text of programs: a program whose text and bytes read back, or an error that shows where it is wrong.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "program_forms.h"
#include "tandem/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto program = tandem::Program::FromText({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (program.ok()) {
    tandem::fuzz::CheckForms(**program);
    return 0;
  }
  const tandem::Status& error = program.status();
  if (error.code() != tandem::StatusCode::kInvalidArgument || !error.message().starts_with("fuzz:")) std::abort();
  return 0;
}
