// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors from and to files, in the format that the file's name says: .safetensors, .npy, and .png where the tool is
// built with libpng.

#ifndef TANDEM_NATIVE_TOOL_TENSOR_FILES_H_
#define TANDEM_NATIVE_TOOL_TENSOR_FILES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/eager.h"
#include "tandem/status.h"
#include "tool/console.h"

namespace tandem::tool {

// A tensor of a file, on the host. Files of one tensor give it no name.
struct FileTensor {
  std::string name;
  eager::Tensor tensor;
};

// Whether `a` comes before `b` where numbers in names count as numbers: "input2" before "input10".
bool NaturalLess(std::string_view a, std::string_view b);

// Ok if tensors can be read from and written to a file of this name.
Status CheckTensorFileName(const std::string& path);

// All tensors of a file, sorted by NaturalLess. A PNG is f32 [rows, cols, channels], from 0 to 1, with as many channels
// as it has: 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGB and alpha).
StatusOr<std::vector<FileTensor>> ReadTensors(eager::Runtime& runtime, Console& console, const std::string& path);

// Waits for the tensors, which are of one runtime, and writes them: to .safetensors as output0, output1 and so on, to
// other files one tensor. A PNG takes f32 from 0 to 1, which is clipped and rounded to 8 bits, or u8; [rows, cols] or
// [rows, cols, channels].
Status WriteTensors(std::span<const eager::Tensor> tensors, Console& console, const std::string& path);

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_TENSOR_FILES_H_
