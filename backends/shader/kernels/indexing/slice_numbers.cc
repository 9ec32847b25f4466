// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/slice_numbers.h"

#include <string>

#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

std::string_view LoadIndexText(DType dtype) {
  switch (dtype) {
    case DType::kI16:
      return "let half: u32 = (indices[place / 2u] >> ((place % 2u) * 16u)) & 0xffffu;\n"
             "return select(half, 0xffffffffu, half >= 0x8000u);\n";
    case DType::kU16:
      return "return (indices[place / 2u] >> ((place % 2u) * 16u)) & 0xffffu;\n";
    case DType::kI32:
      return "let index: u32 = indices[place];\n"
             "return select(index, 0xffffffffu, index >= 0x80000000u);\n";
    default:
      return "return select(0xffffffffu, indices[2u * place], indices[2u * place + 1u] == 0u);\n";
  }
}

}  // namespace

void DeclareIndices(ShaderBuilder& builder, DType dtype) {
  builder.Buffer("indices", BufferAccess::kRead, "u32");
  builder.Text("fn load_index(place: u32) -> u32 {\n" + std::string(LoadIndexText(dtype)) + "}");
}

SliceNumbers::SliceNumbers(const TensorMetadata& indices, const TensorShape& tensor) : dtype(indices.dtype) {
  const int rank = indices.rank() - 1;
  depth = static_cast<int>(indices.dim(rank));
  for (int i = 0; i < rank; ++i) count *= indices.dim(i);
  for (int i = 0; i < tensor.rank(); ++i) (i < depth ? num_slices : slice_size) *= tensor.dim(i);
  for (int i = 0; i < depth; ++i) limits[i] = tensor.dim(i);
}

SliceNumbers SliceNumbers::OfSegments(const TensorMetadata& segment_ids, const TensorShape& result) {
  SliceNumbers numbers(segment_ids.dtype);
  numbers.count = segment_ids.num_elements();
  numbers.limits[0] = numbers.num_slices = result.dim(0);
  for (int i = 1; i < result.rank(); ++i) numbers.slice_size *= result.dim(i);
  return numbers;
}

void SliceNumbers::Declare(ShaderBuilder& builder, DType dtype, int depth) {
  DeclareIndices(builder, dtype);
  std::string text = "fn slice_of(row: u32) -> u32 {\nvar number: u32 = 0u;\n";
  for (int d = 0; d < depth; ++d) {
    const std::string n = std::to_string(d);
    const std::string limit = "parameters.limit" + n;
    builder.Parameter("limit" + n);
    text += "let index" + n + ": u32 = load_index(row * " + std::to_string(depth) + "u + " + n + "u);\n";
    text += "if (index" + n + " >= " + limit + ") {\nreturn 0xffffffffu;\n}\n";
    text += "number = number * " + limit + " + index" + n + ";\n";
  }
  builder.Text(text + "return number;\n}");
}

void SliceNumbers::AddParameters(LaunchParameters& parameters) const {
  for (int d = 0; d < depth; ++d) parameters.Add(Low(limits[d]));
}

}  // namespace tandem::shader
