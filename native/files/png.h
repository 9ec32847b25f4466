// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PNG by libpng, from and to memory; only in builds that have it.

#ifndef TANDEM_NATIVE_FILES_PNG_H_
#define TANDEM_NATIVE_FILES_PNG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tandem/function_ref.h"
#include "tandem/status.h"

namespace tandem {

// Of what kind the samples [rows, cols, channels] of a picture are.
struct PngInfo {
  size_t rows = 0;
  size_t cols = 0;
  size_t channels = 0;  // 1: grey, 2: grey and alpha, 3: RGB, 4: RGB and alpha; alpha is not premultiplied
  int depth = 8;        // bits a sample: 8, or 16 in the order of this machine

  size_t row_size() const { return cols * channels * (depth == 16 ? 2 : 1); }  // in bytes
};

// Reads a picture as it is stored, without regard to gamma; palettes become RGB, and fewer than 8 bits become 8.
// `allocate` is called once and gives memory for rows * row_size() bytes, which is for it to check that they are not
// too many; memory use is bounded by what the file can hold. Any damage is DataLoss, also in parts that hold no pixels,
// and names `file` and the byte. Thread-safe.
StatusOr<PngInfo> ReadPng(std::span<const uint8_t> bytes, const std::string& file,
                          FunctionRef<StatusOr<uint8_t*>(const PngInfo&)> allocate);

// Writes a picture by calls of `write`, whose error it returns. InvalidArgument, which names `file`, for sides above
// 1,000,000. Thread-safe.
Status WritePng(const PngInfo& info, const uint8_t* samples, const std::string& file,
                FunctionRef<Status(std::span<const std::byte>)> write);

}  // namespace tandem

#endif  // TANDEM_NATIVE_FILES_PNG_H_
