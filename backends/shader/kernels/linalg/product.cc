// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/linalg/product.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/register_tiles.h"
#include "kernels/unrolled_text.h"

namespace tandem::shader {

namespace {

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

constexpr uint32_t kFinishWorkgroup = 128;
// Products of fewer multiplications are faster with their epilogue, as one command, than by a library and a second one.
constexpr int64_t kLeastForTwoCommands = int64_t{1} << 18;

void DeclareProduct(ShaderBuilder& builder, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[kDType]);
  DeclareQuadTypes(builder, dtype);
  builder.Buffer("a", BufferAccess::kRead, BufferType(values[kAQuads]))
      .Buffer("b", BufferAccess::kRead, BufferType(values[kBQuads]));
  for (const char* name : {"rows", "cols", "inner", "tiles", "row_tiles", "col_tiles", "a_row", "a_inner", "b_inner",
                           "b_col", "c_row", "c_col"}) {
    builder.Parameter(name);
  }
  for (int32_t i = 0; i < values[kBatchDims]; ++i) {
    const std::string number = std::to_string(i);
    for (const char* name : {"batch_size", "a_batch", "b_batch", "c_batch"}) builder.Parameter(name + number);
  }
  FusedEpilogue::Unpack(values[kEpilogue]).Declare(builder, BufferType(values[kCQuads]));
  builder.Buffer("c", BufferAccess::kReadWrite, BufferType(values[kCQuads]));
}

void AddStore(ShaderBuilder& builder, std::span<const int32_t> values) {
  FusedEpilogue::Unpack(values[kEpilogue])
      .AddText(builder, values[kCQuads] != 0, static_cast<DType>(values[kDType]) == DType::kF64);
}

ShaderText ComposeDirect(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareProduct(builder, values);
  builder.Workgroup(kRegisterWorkgroup).Constant("workgroup_size", kRegisterWorkgroup);
  AddStore(builder, values);
  const int rows = values[kRows];
  return builder.Finish(Unroll(source.text, {{"FLOAT", IsFloat(static_cast<DType>(values[kDType]))},
                                             {"NUM_QUADS", rows * values[kColQuads]},
                                             {"ROWS", rows},
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

// Rows and columns of a tile are in kRows and kColQuads as multiples of 64.
ShaderText ComposeTiled(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareProduct(builder, values);
  builder.Workgroup(16, 16);
  AddStore(builder, values);
  return builder.Finish(Unroll(source.text, {{"FLOAT", IsFloat(static_cast<DType>(values[kDType]))},
                                             {"ROW_QUADS", values[kRows]},
                                             {"COL_QUADS", values[kColQuads]},
                                             {"FIRST_OF_B", 256 - 64 * values[kColQuads]},
                                             {"A_INNER", values[kAQuads] == kAlongInner},
                                             {"A_ROWS", values[kAQuads] == kAlongOuter},
                                             {"B_INNER", values[kBQuads] == kAlongInner},
                                             {"B_COLS", values[kBQuads] == kAlongOuter},
                                             {"BATCH_DIMS", values[kBatchDims]}}));
}

// Values: dtype, whether four neighbours are stored at once, epilogue.
ShaderText ComposeFinishRows(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  const auto dtype = static_cast<DType>(values[0]);
  const FusedEpilogue epilogue = FusedEpilogue::Unpack(values[2]);
  DeclareQuadTypes(builder, dtype);
  for (const char* name : {"size", "row_quads", "cols", "c_col"}) builder.Parameter(name);
  epilogue.Declare(builder, BufferType(values[1]));
  builder.Buffer("c", BufferAccess::kReadWrite, BufferType(values[1]));
  builder.Workgroup(kFinishWorkgroup).Constant("workgroup_size", kFinishWorkgroup);
  epilogue.AddText(builder, values[1] != 0, dtype == DType::kF64);
  return builder.Finish(Unroll(source.text, {{"C_QUADS", values[1]}}));
}

const ShaderSource kFinishRows = {"finish_rows", &ComposeFinishRows, kFinishRowsText};
const ShaderSource kProductDirect = {"product_direct", &ComposeDirect, kProductDirectText};
const ShaderSource kProductTiled = {"product_tiled", &ComposeTiled, kProductTiledText};

// How many times 64 rows and columns a tile in shared memory has: as many as there are enough such tiles for; 0 if
// registers alone are better.
int64_t ChooseSharedTile(const MatrixProduct& product, int64_t count, const GpuLimits& limits) {
  if (limits.is_software || limits.max_invocations < 256) return 0;
  if (product.rows < 32 || product.cols < 32 || product.inner < 16) return 0;
  constexpr int64_t kEnoughTiles = 128;
  for (int64_t size : {2, 1}) {
    const int64_t row_tiles = CountTiles(product.rows, 64 * size);
    const int64_t col_tiles = CountTiles(product.cols, 64 * size);
    if (static_cast<uint64_t>(size) * 2048 * ArithmeticBytes(product.dtype) > limits.max_workgroup_bytes ||
        std::max({row_tiles, col_tiles, count}) > limits.max_workgroups) {
      continue;
    }
    if (size == 1 || count * row_tiles * col_tiles >= kEnoughTiles) return size;
  }
  return 0;
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

int64_t MatrixProduct::count() const {
  int64_t count = 1;
  for (int i = 0; i < num_batch_dims; ++i) count *= batch[static_cast<size_t>(i)].size;
  return count;
}

Launch MatrixProductProgram(const MatrixProduct& product, const GpuLimits& limits) {
  Launch launch;
  launch.workgroups = {0, 0, 0};
  const int64_t count = product.count();
  if (count * product.rows * product.cols == 0) return launch;
  bool a_batch_has_quads = true;
  bool b_batch_has_quads = true;
  bool c_has_quads = product.c_col == 1 && HasQuads(product.cols) && (product.rows == 1 || HasQuads(product.c_row));
  for (int i = 0; i < product.num_batch_dims; ++i) {
    const MatrixProduct::BatchDim& dim = product.batch[static_cast<size_t>(i)];
    a_batch_has_quads = a_batch_has_quads && HasQuads(dim.a);
    b_batch_has_quads = b_batch_has_quads && HasQuads(dim.b);
    c_has_quads = c_has_quads && HasQuads(dim.c);
  }
  const Quads a_quads =
      a_batch_has_quads ? FindQuads(product.a_inner, product.inner, product.a_row, product.rows) : kScalars;
  const Quads b_quads =
      b_batch_has_quads ? FindQuads(product.b_inner, product.inner, product.b_col, product.cols) : kScalars;
  const int64_t shared = ChooseSharedTile(product, count, limits);
  const RegisterTile tile =
      shared > 0 ? RegisterTile{shared, shared} : ChooseRegisterTile(count, product.rows, product.cols, limits);
  const int64_t unit = shared > 0 ? 64 : 1;
  const int64_t row_tiles = CountTiles(product.rows, unit * tile.rows);
  const int64_t col_tiles = CountTiles(product.cols, std::max<int64_t>(unit, 4) * tile.quads);
  const int64_t tiles = count * row_tiles * col_tiles;
  launch.variant = ShaderVariant(
      shared > 0 ? kProductTiled : kProductDirect,
      {static_cast<int32_t>(product.dtype), static_cast<int32_t>(tile.rows), static_cast<int32_t>(tile.quads), a_quads,
       b_quads, c_has_quads, shared == 0 && !HasQuads(product.inner), product.num_batch_dims, product.epilogue.Pack()});
  const auto add = [&](int64_t value) { launch.parameters.Add(static_cast<uint32_t>(value)); };
  for (int64_t value : {product.rows, product.cols, product.inner, tiles, row_tiles, col_tiles, product.a_row,
                        product.a_inner, product.b_inner, product.b_col, product.c_row, product.c_col}) {
    add(value);
  }
  // The shader finds an invocation's place from the last dimension on.
  for (int i = product.num_batch_dims; i-- > 0;) {
    const MatrixProduct::BatchDim& dim = product.batch[static_cast<size_t>(i)];
    for (int64_t value : {dim.size, dim.a, dim.b, dim.c}) add(value);
  }
  product.epilogue.AddParameters(product.cols, launch.parameters);
  if (shared > 0) {
    launch.workgroups = {static_cast<uint32_t>(col_tiles), static_cast<uint32_t>(row_tiles),
                         static_cast<uint32_t>(count)};
  } else {
    launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(tiles), kRegisterWorkgroup, limits);
  }
  return launch;
}

Launch FinishRowsProgram(DType dtype, const FusedEpilogue& epilogue, int64_t rows, int64_t cols,
                         const GpuLimits& limits) {
  Launch launch;
  const int64_t row_quads = (cols + 3) / 4;
  launch.variant = ShaderVariant(kFinishRows, {static_cast<int32_t>(dtype), HasQuads(cols), epilogue.Pack()});
  for (const int64_t value : {rows * row_quads, row_quads, cols, int64_t{1}}) {
    launch.parameters.Add(static_cast<uint32_t>(value));
  }
  epilogue.AddParameters(cols, launch.parameters);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(rows * row_quads), kFinishWorkgroup, limits);
  return launch;
}

bool MayFinishLater(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

std::optional<LibraryProduct> LibraryProductOf(const MatrixProduct& product) {
  constexpr DTypeSet kDTypes = kFloatDTypes | DTypeSet{DType::kC64};
  const FusedEpilogue& epilogue = product.epilogue;
  if (!kDTypes.Contains(product.dtype) || product.num_batch_dims > 1 || product.c_col != 1) return std::nullopt;
  if (epilogue.columns == ColumnEpilogue::kBatchNorm || epilogue.adds_tensor || epilogue.activation != 0) {
    return std::nullopt;
  }
  const int64_t count = product.count();
  // Nothing to do, or nothing to add up.
  if (count * product.rows * product.cols == 0 || product.inner == 0) return std::nullopt;
  // Rows that do not begin at multiples of 16 bytes are for kernels of the library that round a sum of 16 bits before
  // they add the bias.
  const bool is_small = DTypeSize(product.dtype) == 2;
  if (epilogue.columns == ColumnEpilogue::kBias && is_small && product.c_row % 8 != 0) return std::nullopt;
  // One of the distances is 1, and the other one large enough.
  const auto has_lines = [](int64_t rows, int64_t cols, int64_t row, int64_t col) {
    return (col == 1 && (row >= cols || rows == 1)) || (row == 1 && (col >= rows || cols == 1));
  };
  if (!has_lines(product.rows, product.inner, product.a_row, product.a_inner) ||
      !has_lines(product.inner, product.cols, product.b_inner, product.b_col) ||
      !has_lines(product.rows, product.cols, product.c_row, 1) ||
      std::max({product.rows, product.cols, product.inner, count}) > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  LibraryProduct library;
  library.dtype = product.dtype;
  library.has_bias = epilogue.columns == ColumnEpilogue::kBias;
  library.rows = product.rows;
  library.inner = product.inner;
  library.cols = product.cols;
  library.a_row = product.a_row;
  library.a_inner = product.a_inner;
  library.b_inner = product.b_inner;
  library.b_col = product.b_col;
  library.c_row = product.c_row;
  if (product.num_batch_dims == 1) {
    const MatrixProduct::BatchDim& batch = product.batch[0];
    library.count = batch.size;
    library.a_batch = batch.a;
    library.b_batch = batch.b;
    library.c_batch = batch.c;
  }
  return library;
}

void RunProduct(ShaderCall& call, const MatrixProduct& product, std::span<GpuBuffer* const> buffers) {
  if constexpr (kMayHaveAllDTypes) {
    const auto find = [&](const MatrixProduct& asked) {
      const std::optional<LibraryProduct> library = LibraryProductOf(asked);
      return library && call.ok() ? call.device().queue().FindProduct(*library) : AsyncValueRef<RcRef<Pipeline>>();
    };
    if (auto pipeline = find(product); pipeline.IsValid()) return call.RunLibrary(std::move(pipeline), buffers);
    const int64_t rows = product.rows;
    const bool has_gaps = product.num_batch_dims != 0 || product.c_row != product.cols;
    if (MayFinishLater(product.dtype) && !has_gaps && rows * product.cols * product.inner >= kLeastForTwoCommands) {
      MatrixProduct plain = product;
      plain.epilogue = {};
      if (auto pipeline = find(plain); pipeline.IsValid()) {
        GpuBuffer* const operands[] = {buffers[0], buffers[1], buffers.back()};
        call.RunLibrary(std::move(pipeline), operands);
        return call.Run(FinishRowsProgram(product.dtype, product.epilogue, rows, product.cols, call.limits()),
                        buffers.subspan(2));
      }
    }
  }
  call.Run(MatrixProductProgram(product, call.limits()), buffers);
}

}  // namespace tandem::shader
