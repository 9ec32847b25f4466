// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/shape/strided_copy.h"

#include <cassert>
#include <string>

#include "kernel_texts.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

// Of the blocks of a transposition: elements of a side, and blocks of a workgroup's side.
constexpr int64_t kBlock = 4;
constexpr int64_t kBlocks = 8;
// Below it a side is too short for blocks to be worth it.
constexpr int64_t kMinSide = 8;

std::string Numbered(std::string_view name, int i) { return std::string(name) + std::to_string(i); }

// Adds a function that takes `i` apart into the positions along `rank` dimensions, whose sizes are parameters size0,
// size1, ..., and gives `offset` plus the sum of position * stride.
std::string PlaceFunction(std::string_view name, int rank, std::string_view offset, std::string_view stride) {
  std::string text = "fn " + std::string(name) + "(i: u32) -> u32 {\nvar place: u32 = " + std::string(offset) + ";\n";
  text += "var rest: u32 = i;\n";
  for (int d = rank - 1; d > 0; --d) {
    const std::string size = Numbered("parameters.size", d);
    text += "place = place + (rest % " + size + ") * parameters." + Numbered(stride, d) + ";\nrest = rest / " + size +
            ";\n";
  }
  if (rank > 0) text += "place = place + rest * parameters." + Numbered(stride, 0) + ";\n";
  return text + "return place;\n}";
}

ShaderText ComposeStridedCopy(const ShaderSource& source, std::span<const int32_t> values) {
  const int rank = values[1];
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("offset");
  for (int d = 0; d < rank; ++d) shader.builder().Parameter(Numbered("size", d)).Parameter(Numbered("stride", d));
  shader.Input("x");
  shader.builder().Text(PlaceFunction("place_of", rank, "parameters.offset", "stride"));
  return shader.Finish(source.text);
}

constexpr std::string_view kMoveBlock = R"(
fn move_block(source: u32, place: u32, i: u32, j: u32) {
  for (var r: u32 = 0u; r < 4u; r++) {
    for (var c: u32 = 0u; c < 4u; c++) {
      if (i + r < parameters.rows && j + c < parameters.cols) {
        y[place + r * parameters.row_pitch + c] = x[source + c * parameters.pitch + r];
      }
    }
  }
})";

constexpr std::string_view kMoveVectors = R"(
fn move_block(source: u32, place: u32, i: u32, j: u32) {
  let a: vec4u = x[source / 4u];
  let b: vec4u = x[(source + parameters.pitch) / 4u];
  let c: vec4u = x[(source + 2u * parameters.pitch) / 4u];
  let d: vec4u = x[(source + 3u * parameters.pitch) / 4u];
  y[place / 4u] = vec4u(a.x, b.x, c.x, d.x);
  y[(place + parameters.row_pitch) / 4u] = vec4u(a.y, b.y, c.y, d.y);
  y[(place + 2u * parameters.row_pitch) / 4u] = vec4u(a.z, b.z, c.z, d.z);
  y[(place + 3u * parameters.row_pitch) / 4u] = vec4u(a.w, b.w, c.w, d.w);
})";

// Values: bytes of an element, 4 or 8; dimensions besides the two; whether four elements are read and written at once.
ShaderText ComposeTranspose(const ShaderSource& source, std::span<const int32_t> values) {
  const int rank = values[1];
  const bool by_vectors = values[2] != 0;
  const std::string_view type = by_vectors ? "vec4u" : values[0] == 8 ? "vec2u" : "u32";
  ShaderBuilder builder(source.name);
  builder.Workgroup(kBlocks * kBlocks);
  for (const char* name : {"offset", "pitch", "row_pitch", "rows", "cols", "batches", "tiles_down", "tiles_across"}) {
    builder.Parameter(name);
  }
  for (int d = 0; d < rank; ++d) {
    builder.Parameter(Numbered("size", d)).Parameter(Numbered("in", d)).Parameter(Numbered("out", d));
  }
  builder.Buffer("x", BufferAccess::kRead, type).Buffer("y", BufferAccess::kReadWrite, type);
  builder.Text(PlaceFunction("input_of", rank, "parameters.offset", "in"));
  builder.Text(PlaceFunction("output_of", rank, "0u", "out"));
  builder.Text(by_vectors ? kMoveVectors : kMoveBlock);
  return builder.Finish(source.text);
}

const ShaderSource kStridedCopy = {"strided_copy", &ComposeStridedCopy, kStridedCopyText};
const ShaderSource kTranspose = {"transpose", &ComposeTranspose, kTransposeText};

constexpr int kMaxTransposeRank = 8;

// Which dimension of the result is the input's innermost one; -1 if the copy is no transposition worth blocks.
int FindRows(const StridedCopy& copy, uint32_t element_bytes) {
  const int last = copy.rank() - 1;
  if (last < 1 || last - 1 > kMaxTransposeRank || (element_bytes != kWordBytes && element_bytes != 8)) return -1;
  if (copy.dim(last).stride == 1 || copy.dim(last).stride == 0 || copy.dim(last).size < kMinSide) return -1;
  for (int d = 0; d < last; ++d) {
    if (copy.dim(d).stride == 1 && copy.dim(d).size >= kMinSide) return d;
  }
  return -1;
}

Launch TransposeProgram(const StridedCopy& copy, int rows_dim, uint32_t element_bytes, const GpuLimits& limits) {
  const int last = copy.rank() - 1;
  const int64_t rows = copy.dim(rows_dim).size;
  const int64_t cols = copy.dim(last).size;
  int64_t row_pitch = 1;
  for (int d = rows_dim + 1; d <= last; ++d) row_pitch *= copy.dim(d).size;
  WideElements wide(element_bytes);
  wide.Include(rows | cols | copy.offset());
  for (int d = 0; d <= last; ++d) {
    if (d != rows_dim) wide.Include(copy.dim(d).stride);
  }
  const bool by_vectors = element_bytes == kWordBytes && wide.factor() == kBlock;
  constexpr int64_t kTile = kBlock * kBlocks;
  const int64_t batches = copy.count() / (rows * cols);
  const int64_t tiles_down = (rows + kTile - 1) / kTile;
  const int64_t tiles_across = (cols + kTile - 1) / kTile;
  Launch launch;
  launch.variant = ShaderVariant(kTranspose, {static_cast<int32_t>(element_bytes), last - 1, by_vectors ? 1 : 0});
  launch.parameters = {
      Low(copy.offset()), Low(copy.dim(last).stride), Low(row_pitch), Low(rows), Low(cols), Low(batches),
      Low(tiles_down),    Low(tiles_across)};
  int64_t out_stride = copy.count();
  for (int d = 0; d < last; ++d) {
    out_stride /= copy.dim(d).size;
    if (d == rows_dim) continue;
    launch.parameters.Add(Low(copy.dim(d).size));
    launch.parameters.Add(Low(copy.dim(d).stride));
    launch.parameters.Add(Low(out_stride));
  }
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(batches * tiles_down * tiles_across), 1, limits);
  return launch;
}

}  // namespace

void StridedCopy::AddDim(int64_t size, int64_t stride) {
  count_ *= size;
  if (size == 1) return;
  if (rank_ > 0 && dims_[rank_ - 1].stride == stride * size) {
    dims_[rank_ - 1] = {dims_[rank_ - 1].size * size, stride};
    return;
  }
  assert(rank_ < kMaxDims);
  dims_[rank_++] = {size, stride};
}

uint32_t StridedCopy::Widen(uint32_t element_bytes) {
  if (rank_ == 0 || count_ == 0 || dims_[rank_ - 1].stride != 1) return element_bytes;
  WideElements wide(element_bytes);
  wide.Include(dims_[rank_ - 1].size | offset_);
  for (int d = 0; d + 1 < rank_; ++d) wide.Include(dims_[d].stride);
  const uint32_t factor = wide.factor();
  if (factor == 1) return element_bytes;
  count_ /= factor;
  offset_ /= factor;
  dims_[rank_ - 1].size /= factor;
  for (int d = 0; d + 1 < rank_; ++d) dims_[d].stride /= static_cast<int64_t>(factor);
  if (dims_[rank_ - 1].size == 1) --rank_;
  return element_bytes * factor;
}

Launch StridedCopyProgram(StridedCopy copy, uint32_t element_bytes, const GpuLimits& limits) {
  element_bytes = copy.Widen(element_bytes);
  if (copy.count() > 0) {
    const int rows_dim = FindRows(copy, element_bytes);
    if (rows_dim >= 0) return TransposeProgram(copy, rows_dim, element_bytes, limits);
  }
  const ShaderVariant variant(kStridedCopy, {static_cast<int32_t>(element_bytes), copy.rank()});
  Launch launch = MovementLaunch(variant, element_bytes, copy.count(), limits);
  launch.parameters.Add(Low(copy.offset()));
  for (int d = 0; d < copy.rank(); ++d) {
    launch.parameters.Add(Low(copy.dim(d).size));
    launch.parameters.Add(Low(copy.dim(d).stride));
  }
  return launch;
}

std::vector<ShaderVariant> StridedCopyVariants() {
  std::vector<ShaderVariant> variants;
  for (const int32_t bytes : {1, 2, 4, 8, 16}) {
    for (const int32_t rank : {0, 1, 3, StridedCopy::kMaxDims})
      variants.emplace_back(kStridedCopy, std::initializer_list<int32_t>{bytes, rank});
  }
  for (const int32_t rank : {0, 2, kMaxTransposeRank}) {
    variants.emplace_back(kTranspose, std::initializer_list<int32_t>{4, rank, 0});
    variants.emplace_back(kTranspose, std::initializer_list<int32_t>{4, rank, 1});
    variants.emplace_back(kTranspose, std::initializer_list<int32_t>{8, rank, 0});
  }
  return variants;
}

}  // namespace tandem::shader
