// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/scatter.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
// Steps, of reading an index and comparing it, that cost no more than a few launches do.
constexpr int64_t kMaxDirectSteps = int64_t{1} << 20;
// The most updates of a block, and for each slice: what ordering them takes grows with the square of those of a slice.
constexpr int64_t kMaxBlock = 16384;
constexpr int64_t kMinBlock = 1024;
constexpr int64_t kBlockPerSlice = 64;

ShaderBuilder Begin(const ShaderSource& source) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  return builder;
}

// All sources here have as their first values the dtype of indices and how many name a slice.
void DeclareSlices(ShaderBuilder& builder, std::span<const int32_t> values) {
  SliceNumbers::Declare(builder, static_cast<DType>(values[0]), values[1]);
}

void DeclareSum(ShaderBuilder& builder, DType dtype) {
  DeclareTypes(builder, dtype);
  builder.Text(dtype == DType::kBool ? "fn joined(a: A, b: A) -> A {\nreturn a | b;\n}"
                                     : "fn joined(a: A, b: A) -> A {\nreturn a + b;\n}");
}

// Further values: dtype; ScatterStart.
ShaderText ComposeDirect(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  for (const char* name : {"count", "slice", "updates"}) builder.Parameter(name);
  DeclareSum(builder, static_cast<DType>(values[2]));
  DeclareSlices(builder, values);
  builder.Buffer("updates", BufferAccess::kRead, "T");
  std::string_view start = "A(0)";
  if (static_cast<ScatterStart>(values[3]) == ScatterStart::kTensor) {
    builder.Buffer("x", BufferAccess::kRead, "T");
    start = "A(x[i])";
  } else if (static_cast<ScatterStart>(values[3]) == ScatterStart::kResult) {
    start = "A(y[i])";
  }
  builder.Buffer("y", BufferAccess::kReadWrite, "T");
  builder.Text("fn start_of(i: u32) -> A {\nreturn " + std::string(start) + ";\n}");
  return builder.Finish(source.text);
}

ShaderText ComposeLink(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  builder.Parameter("first").Parameter("updates");
  DeclareSlices(builder, values);
  builder.Buffer("heads", BufferAccess::kReadWrite, "atomic<u32>");
  builder.Buffer("previous_of", BufferAccess::kReadWrite, "u32");
  return builder.Finish(source.text);
}

void DeclareMarks(ShaderBuilder& builder) { builder.Constant("FIRST", 0x80000000u).Constant("LAST", 0x7fffffffu); }

ShaderText ComposeOrder(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  builder.Parameter("first").Parameter("updates");
  DeclareMarks(builder);
  DeclareSlices(builder, values);
  builder.Buffer("heads", BufferAccess::kRead, "u32");
  builder.Buffer("previous_of", BufferAccess::kRead, "u32");
  builder.Buffer("next_of", BufferAccess::kReadWrite, "u32");
  return builder.Finish(source.text);
}

// Further value: dtype.
ShaderText ComposeAdd(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  for (const char* name : {"count", "slice", "first"}) builder.Parameter(name);
  DeclareMarks(builder);
  DeclareSum(builder, static_cast<DType>(values[2]));
  DeclareSlices(builder, values);
  builder.Buffer("updates", BufferAccess::kRead, "T");
  builder.Buffer("next_of", BufferAccess::kRead, "u32");
  builder.Buffer("heads", BufferAccess::kReadWrite, "u32");
  builder.Buffer("y", BufferAccess::kReadWrite, "T");
  return builder.Finish(source.text);
}

ShaderText ComposeClaim(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  builder.Parameter("updates");
  DeclareSlices(builder, values);
  builder.Buffer("winners", BufferAccess::kReadWrite, "atomic<u32>");
  return builder.Finish(source.text);
}

// Further value: bytes of an element.
ShaderText ComposePut(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder = Begin(source);
  const std::string_view type = values[2] == 16 ? "vec4u" : values[2] == 8 ? "vec2u" : "u32";
  builder.Parameter("count").Parameter("slice");
  DeclareSlices(builder, values);
  builder.Buffer("updates", BufferAccess::kRead, type);
  builder.Buffer("winners", BufferAccess::kRead, "u32");
  builder.Buffer("y", BufferAccess::kReadWrite, type);
  return builder.Finish(source.text);
}

// Value: bytes of an element.
ShaderText ComposeMerge(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("slice");
  shader.Input("x");
  shader.Input("updates");
  shader.builder().Buffer("winners", BufferAccess::kRead, "u32");
  return shader.Finish(source.text);
}

ShaderText ComposeZeros(const ShaderSource& source, std::span<const int32_t> values) {
  return MovementShader(source.name, static_cast<uint32_t>(values[0])).Finish(source.text);
}

const ShaderSource kDirect = {"scatter_direct", &ComposeDirect, kScatterDirectText};
const ShaderSource kLink = {"scatter_link", &ComposeLink, kScatterLinkText};
const ShaderSource kOrder = {"scatter_order", &ComposeOrder, kScatterOrderText};
const ShaderSource kAdd = {"scatter_add", &ComposeAdd, kScatterAddText};
const ShaderSource kClaim = {"scatter_claim", &ComposeClaim, kScatterClaimText};
const ShaderSource kPut = {"scatter_put", &ComposePut, kScatterPutText};
const ShaderSource kMerge = {"scatter_merge", &ComposeMerge, kScatterMergeText};
const ShaderSource kZeros = {"zeros", &ComposeZeros, kZerosText};

// A launch of one invocation for each of `items`; the slices' limits are its last parameters.
Launch MakeLaunch(const ShaderVariant& variant, int64_t items, const LaunchParameters& parameters,
                  const SliceNumbers& numbers, const GpuLimits& limits) {
  Launch launch;
  launch.variant = variant;
  launch.parameters = parameters;
  numbers.AddParameters(launch.parameters);
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(items), kWorkgroup, limits);
  return launch;
}

ShaderVariant MakeVariant(const ShaderSource& source, const SliceNumbers& numbers, int32_t value = 0,
                          int32_t second = 0) {
  return ShaderVariant(source, {static_cast<int32_t>(numbers.dtype), numbers.depth, value, second});
}

uint32_t WideFactor(const SliceNumbers& numbers, DType dtype) {
  WideElements wide(ElementBytes(dtype));
  wide.Include(numbers.slice_size);
  return wide.factor();
}

}  // namespace

bool IsDirectScatter(const SliceNumbers& numbers) {
  int64_t steps = 0;
  return !__builtin_mul_overflow(numbers.num_slices * numbers.slice_size, numbers.count, &steps) &&
         steps <= kMaxDirectSteps;
}

Launch ScatterDirectProgram(const SliceNumbers& numbers, DType dtype, ScatterStart start, const GpuLimits& limits) {
  const int64_t items = numbers.num_slices * numbers.slice_size;
  return MakeLaunch(MakeVariant(kDirect, numbers, static_cast<int32_t>(dtype), static_cast<int32_t>(start)), items,
                    {Low(items), Low(numbers.slice_size), Low(numbers.count)}, numbers, limits);
}

int64_t UpdateBlockSize(const SliceNumbers& numbers, DType dtype) {
  // f16 and bf16 are rounded once, so all that goes to a slice must be added up in one block.
  if (dtype == DType::kF16 || dtype == DType::kBF16) return numbers.count;
  const int64_t slices = std::min(numbers.num_slices, kMaxBlock);
  return std::clamp(kBlockPerSlice * slices, kMinBlock, kMaxBlock);
}

Launch ScatterLinkProgram(const SliceNumbers& numbers, const UpdateBlock& block, const GpuLimits& limits) {
  Launch launch =
      MakeLaunch(MakeVariant(kLink, numbers), block.count, {Low(block.first), Low(block.count)}, numbers, limits);
  return launch;
}

Launch ScatterOrderProgram(const SliceNumbers& numbers, const UpdateBlock& block, const GpuLimits& limits) {
  return MakeLaunch(MakeVariant(kOrder, numbers), block.count, {Low(block.first), Low(block.count)}, numbers, limits);
}

Launch ScatterAddProgram(const SliceNumbers& numbers, DType dtype, const UpdateBlock& block, const GpuLimits& limits) {
  const int64_t items = block.count * numbers.slice_size;
  Launch launch = MakeLaunch(MakeVariant(kAdd, numbers, static_cast<int32_t>(dtype)), items,
                             {Low(items), Low(numbers.slice_size), Low(block.first)}, numbers, limits);
  return launch;
}

Launch ScatterClaimProgram(const SliceNumbers& numbers, const GpuLimits& limits) {
  return MakeLaunch(MakeVariant(kClaim, numbers), numbers.count, {Low(numbers.count)}, numbers, limits);
}

bool IsPutInPlace(const SliceNumbers& numbers, DType dtype) {
  return ElementBytes(dtype) * WideFactor(numbers, dtype) >= kWordBytes;
}

Launch ScatterPutProgram(const SliceNumbers& numbers, DType dtype, const GpuLimits& limits) {
  const uint32_t factor = WideFactor(numbers, dtype);
  const auto bytes = static_cast<int32_t>(ElementBytes(dtype) * factor);
  const int64_t slice = numbers.slice_size / static_cast<int64_t>(factor);
  const int64_t items = numbers.count * slice;
  return MakeLaunch(MakeVariant(kPut, numbers, bytes), items, {Low(items), Low(slice)}, numbers, limits);
}

Launch ScatterMergeProgram(const SliceNumbers& numbers, DType dtype, const GpuLimits& limits) {
  const uint32_t bytes = ElementBytes(dtype);
  const ShaderVariant variant(kMerge, {static_cast<int32_t>(bytes)});
  Launch launch = MovementLaunch(variant, bytes, numbers.num_slices * numbers.slice_size, limits);
  launch.parameters.Add(Low(numbers.slice_size));
  return launch;
}

Launch ZeroProgram(int64_t words, const GpuLimits& limits) {
  const uint32_t factor = words % 4 == 0 ? 4 : 1;
  const uint32_t bytes = kWordBytes * factor;
  return MovementLaunch(ShaderVariant(kZeros, {static_cast<int32_t>(bytes)}), bytes,
                        words / static_cast<int64_t>(factor), limits);
}

std::vector<ShaderVariant> ScatterVariants() {
  std::vector<ShaderVariant> variants;
  const auto add = [&variants](const ShaderSource& source, DType index, int32_t depth, int32_t value = 0,
                               int32_t second = 0) {
    variants.emplace_back(source, std::initializer_list<int32_t>{static_cast<int32_t>(index), depth, value, second});
  };
  for (const DType index : {DType::kI16, DType::kU16, DType::kI32, DType::kI64}) {
    for (const int32_t depth : {0, 1, 3}) {
      for (const ShaderSource* source : {&kLink, &kOrder, &kClaim}) add(*source, index, depth);
      for (const int32_t bytes : {4, 8, 16}) add(kPut, index, depth, bytes);
    }
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32, DType::kBool}) {
    const auto value = static_cast<int32_t>(dtype);
    for (const int32_t start : {0, 1, 2}) add(kDirect, DType::kI32, 2, value, start);
    add(kAdd, DType::kI32, 2, value);
  }
  for (const int32_t bytes : {1, 2}) variants.emplace_back(kMerge, std::initializer_list<int32_t>{bytes});
  for (const int32_t bytes : {4, 16}) variants.emplace_back(kZeros, std::initializer_list<int32_t>{bytes});
  return variants;
}

}  // namespace tandem::shader
