// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The binary form of programs, as it is and with the checksum that a change leaves wrong: a program whose text and
// bytes read back, or an error that names the file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "program/program_binary.h"
#include "program_forms.h"
#include "tandem/program.h"

namespace {

void Read(std::span<const std::byte> bytes) {
  const auto program = tandem::Program::FromBytes(bytes, "fuzz");
  if (program.ok()) return tandem::fuzz::CheckForms(**program);
  const tandem::Status& error = program.status();
  const bool is_known =
      error.code() == tandem::StatusCode::kDataLoss || error.code() == tandem::StatusCode::kUnimplemented;
  if (!is_known || !error.message().starts_with("fuzz:")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  Read(bytes);
  std::vector<std::byte> with_checksum(bytes.begin(), bytes.end());
  tandem::SetProgramChecksum(with_checksum);
  Read(with_checksum);
  return 0;
}
