// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads and writes tensors in the safetensors format.

#ifndef TANDEM_EXAMPLES_DIGITS_SAFETENSORS_H_
#define TANDEM_EXAMPLES_DIGITS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_buffer.h"
#include "tandem/dtype.h"
#include "tandem/status.h"
#include "tandem/tensor_shape.h"

namespace digits {

// The format (https://github.com/huggingface/safetensors): a little-endian u64 N; N bytes of JSON that give for each
// tensor name its dtype, shape and [begin, end) in the data, and under "__metadata__" a map of text to text; the data,
// which the tensors fill without holes or overlaps, row-major and little-endian.
// Dtypes: BOOL, U8, I8, U16, I16, I32, U32, I64, U64, F16, BF16, F32, F64.

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, the format's own limit

struct StoredTensor {
  std::string name;
  tandem::DType dtype = tandem::DType::kInvalid;
  tandem::TensorShape shape;
  files::ByteBuffer bytes;
};

struct SafetensorsContents {
  std::vector<StoredTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;

  // Null if there is none of this name.
  const StoredTensor* Find(std::string_view name) const;
};

// Trusts nothing in the file: every error names the file, the tensor or the byte, what was expected and what was
// given. Beyond the format's rules it refuses fields it does not know, shapes that TensorShape cannot hold, dtypes that
// Tandem lacks (unimplemented) and bools other than 0 and 1. Codes: not found for a missing file, data loss for
// content that breaks the format, resource exhausted when memory for the (checked) data cannot be had. Thread-safe.
tandem::StatusOr<SafetensorsContents> ReadSafetensors(const std::string& path);

// A tensor to write; refers to the caller's memory.
struct TensorToStore {
  std::string_view name;
  tandem::DType dtype;
  tandem::TensorShape shape;
  std::span<const uint8_t> bytes;
};

// Writes beside `path` and then renames, so that a file at `path` is always whole: the old one or the new one. Invalid
// argument for duplicate, non-UTF-8 or reserved names, dtypes outside the format, and bytes that do not fit the shape.
tandem::Status WriteSafetensors(const std::string& path, std::span<const TensorToStore> tensors,
                                const std::map<std::string, std::string>& metadata = {});

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_SAFETENSORS_H_
