// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Arrays in NumPy's .npy format, of the versions 1.0, 2.0 and 3.0, from and to memory.
//
//   TANDEM_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(content, "x.npy"));
//   std::vector<std::byte> elements(header.metadata.byte_size());
//   TANDEM_RETURN_IF_ERROR(ReadNpyElements(content, "x.npy", header, elements));
//
// The format (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): "\x93NUMPY", a byte each for the
// major and the minor version, the header's length as a little-endian u16 (1.0) or u32, the header, which is a Python
// dictionary with the keys descr, fortran_order and shape, then the elements. Dtypes are bool, i1 to i8, u1 to u8, f2
// to f8 and c8 (complex of two f4), of either byte order.

#ifndef TANDEM_NATIVE_FILES_NPY_H_
#define TANDEM_NATIVE_FILES_NPY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What a file says of its array.
struct NpyHeader {
  TensorMetadata metadata;
  size_t data_offset = 0;         // of the elements, in bytes
  bool is_other_endian = false;   // the elements are in the other byte order than this machine's
  bool is_fortran_order = false;  // the first index goes fastest, not the last one
};

// The header of a whole file, of which nothing is trusted; then the elements are there, and nothing behind them. Errors
// name `file`, the byte, what was expected and what was given. DataLoss for content that breaks the format;
// Unimplemented for objects, which are Python pickles, records, other dtypes, more than TensorShape::kMaxRank
// dimensions, and other versions.
StatusOr<NpyHeader> ReadNpyHeader(std::span<const std::byte> content, std::string_view file);

// Copies the elements of a file, whose header this is, to `out`, which has metadata.byte_size() bytes at any address:
// row-major, in the byte order of this machine. DataLoss for bools other than 0 and 1.
Status ReadNpyElements(std::span<const std::byte> content, std::string_view file, const NpyHeader& header,
                       std::span<std::byte> out);

// What comes in a file before row-major elements in the byte order of this machine; version 1.0, its length a multiple
// of 64 bytes. InvalidArgument for dtypes that the format lacks (bf16, string) and invalid metadata.
StatusOr<std::string> MakeNpyHeader(const TensorMetadata& metadata, std::string_view file);

}  // namespace tandem

#endif  // TANDEM_NATIVE_FILES_NPY_H_
