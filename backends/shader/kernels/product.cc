// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/product.h"

#include <algorithm>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

// How four elements of a matrix come in one piece.
enum Quads : int32_t { kScalars, kAlongInner, kAlongOuter };  // outer: the rows of a, the columns of b

// The values of a variant, in order.
enum Value {
  kDType,
  kRows,  // of a tile
  kColQuads,
  kAQuads,
  kBQuads,
  kCQuads,  // whether rows of the result are stored four elements at a time
  kRagged,  // whether four does not divide the inner dimension
  kBatchDims,
  kEpilogue,
};

constexpr uint32_t kDirectWorkgroup = 16;

std::string_view QuadType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "vec4h";
    case DType::kI32:
      return "vec4i";
    case DType::kU32:
      return "vec4u";
    default:
      return "vec4f";
  }
}

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16; }

void DeclareProduct(ShaderBuilder& builder, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[kDType]);
  DeclareTypes(builder, dtype);
  builder.Alias("T4", QuadType(dtype)).Alias("A4", IsFloat(dtype) ? "vec4f" : QuadType(dtype));
  builder.Buffer("a", BufferAccess::kRead, values[kAQuads] == kScalars ? "T" : "T4")
      .Buffer("b", BufferAccess::kRead, values[kBQuads] == kScalars ? "T" : "T4");
  for (const char* name : {"rows", "cols", "inner", "tiles", "row_tiles", "col_tiles", "a_row", "a_inner", "b_inner",
                           "b_col", "c_row", "c_col"}) {
    builder.Parameter(name);
  }
  for (int32_t i = 0; i < values[kBatchDims]; ++i) {
    const std::string number = std::to_string(i);
    for (const char* name : {"batch_size", "a_batch", "b_batch", "c_batch"}) builder.Parameter(name + number);
  }
  FusedEpilogue::Unpack(values[kEpilogue]).Declare(builder);
  builder.Buffer("c", BufferAccess::kReadWrite, values[kCQuads] != 0 ? "T4" : "T");
}

ShaderText ComposeDirect(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareProduct(builder, values);
  builder.Workgroup(kDirectWorkgroup).Constant("workgroup_size", kDirectWorkgroup);
  FusedEpilogue::Unpack(values[kEpilogue]).AddText(builder);
  const int rows = values[kRows];
  builder.Text(Unroll(kProductStoreText,
                      {{"FLOAT", IsFloat(static_cast<DType>(values[kDType]))}, {"C_QUADS", values[kCQuads]}}));
  return builder.Finish(Unroll(source.text, {{"ROWS", rows},
                                             {"ROW_GROUPS", (rows + 3) / 4},
                                             {"GROUP", std::min(rows, 4)},
                                             {"QUADS", values[kColQuads]},
                                             {"A_SCALARS", values[kAQuads] == kScalars},
                                             {"A_INNER", values[kAQuads] == kAlongInner},
                                             {"A_ROWS", values[kAQuads] == kAlongOuter},
                                             {"B_SCALARS", values[kBQuads] == kScalars},
                                             {"B_INNER", values[kBQuads] == kAlongInner},
                                             {"B_COLS", values[kBQuads] == kAlongOuter},
                                             {"RAGGED", values[kRagged]},
                                             {"BATCH_DIMS", values[kBatchDims]}}));
}

const ShaderSource kProductDirect = {"product_direct", &ComposeDirect, kProductDirectText};

bool HasQuads(int64_t x) { return x % 4 == 0; }

// How the elements of a matrix can be read, by the distances along its inner dimension and across it, and its sizes.
Quads FindQuads(int64_t inner_stride, int64_t inner, int64_t outer_stride, int64_t outer, bool batch_has_quads) {
  if (!batch_has_quads) return kScalars;
  if (inner_stride == 1 && HasQuads(inner) && (outer == 1 || HasQuads(outer_stride))) return kAlongInner;
  if (outer_stride == 1 && HasQuads(outer) && (inner <= 1 || HasQuads(inner_stride))) return kAlongOuter;
  return kScalars;
}

struct Tile {
  int64_t rows;
  int64_t quads;
};

int64_t CountTiles(const MatrixProduct& product, const Tile& tile) {
  const auto count = [](int64_t size, int64_t part) { return (size + part - 1) / part; };
  int64_t tiles = count(product.rows, tile.rows) * count(product.cols, 4 * tile.quads);
  for (int i = 0; i < product.num_batch_dims; ++i) tiles *= product.batch[static_cast<size_t>(i)].size;
  return tiles;
}

// The larger a tile, the fewer elements are read for a product; but there must be some tiles to be computed at once.
Tile ChooseDirectTile(const MatrixProduct& product, const GpuLimits& limits) {
  Tile tile = {product.rows == 1 ? 1 : product.rows <= 4 ? 4 : product.rows <= 8 ? 8 : 16,
               product.cols <= 4 ? 1 : product.cols <= 8 ? 2 : 4};
  if (!limits.is_software) tile = {std::min<int64_t>(tile.rows, 4), std::min<int64_t>(tile.quads, 2)};
  const int64_t enough = limits.is_software ? 64 : 16384;
  while (CountTiles(product, tile) < enough && (tile.rows > 4 || tile.quads > 1)) {
    if (tile.rows > 4 * tile.quads || tile.quads == 1) {
      tile.rows /= 2;
    } else {
      tile.quads /= 2;
    }
  }
  return tile;
}

}  // namespace

void MatrixProduct::AddBatchDim(const BatchDim& dim) {
  if (dim.size == 1) return;
  if (num_batch_dims > 0) {
    BatchDim& last = batch[static_cast<size_t>(num_batch_dims - 1)];
    if (last.a == dim.a * dim.size && last.b == dim.b * dim.size && last.c == dim.c * dim.size) {
      last = {last.size * dim.size, dim.a, dim.b, dim.c};
      return;
    }
  }
  batch[static_cast<size_t>(num_batch_dims++)] = dim;
}

int64_t MatrixProduct::num_elements() const {
  int64_t elements = rows * cols;
  for (int i = 0; i < num_batch_dims; ++i) elements *= batch[static_cast<size_t>(i)].size;
  return elements;
}

Launch MatrixProductProgram(const MatrixProduct& product, const GpuLimits& limits) {
  Launch launch;
  launch.workgroups = {0, 0, 0};
  if (product.num_elements() == 0) return launch;
  bool a_batch_has_quads = true;
  bool b_batch_has_quads = true;
  bool c_has_quads = product.c_col == 1 && HasQuads(product.cols) && (product.rows == 1 || HasQuads(product.c_row));
  for (int i = 0; i < product.num_batch_dims; ++i) {
    const MatrixProduct::BatchDim& dim = product.batch[static_cast<size_t>(i)];
    a_batch_has_quads = a_batch_has_quads && HasQuads(dim.a);
    b_batch_has_quads = b_batch_has_quads && HasQuads(dim.b);
    c_has_quads = c_has_quads && HasQuads(dim.c);
  }
  const Quads a_quads = FindQuads(product.a_inner, product.inner, product.a_row, product.rows, a_batch_has_quads);
  const Quads b_quads = FindQuads(product.b_inner, product.inner, product.b_col, product.cols, b_batch_has_quads);
  const Tile tile = ChooseDirectTile(product, limits);
  launch.variant =
      ShaderVariant(kProductDirect, {static_cast<int32_t>(product.dtype), static_cast<int32_t>(tile.rows),
                                     static_cast<int32_t>(tile.quads), a_quads, b_quads, c_has_quads,
                                     !HasQuads(product.inner), product.num_batch_dims, product.epilogue.Pack()});
  const int64_t tiles = CountTiles(product, tile);
  const auto add = [&](int64_t value) { launch.parameters.Add(static_cast<uint32_t>(value)); };
  for (int64_t value :
       {product.rows, product.cols, product.inner, tiles, (product.rows + tile.rows - 1) / tile.rows,
        (product.cols + 4 * tile.quads - 1) / (4 * tile.quads), product.a_row, product.a_inner, product.b_inner,
        product.b_col, product.c_row, product.c_col}) {
    add(value);
  }
  // The shader finds an invocation's place from the last dimension on.
  for (int i = product.num_batch_dims; i-- > 0;) {
    const MatrixProduct::BatchDim& dim = product.batch[static_cast<size_t>(i)];
    for (int64_t value : {dim.size, dim.a, dim.b, dim.c}) add(value);
  }
  product.epilogue.AddParameters(launch.parameters);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(tiles), kDirectWorkgroup, limits);
  return launch;
}

}  // namespace tandem::shader
