// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/sort.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "kernel_texts.h"
#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
// Elements that a workgroup sorts: as many as a row has, within these.
constexpr uint32_t kLeastBlock = 64;
constexpr uint32_t kLargestBlock = 1024;

// A key is smaller the larger the element.
std::string DescendingKeyText(DType dtype) {
  if (kFloatDTypes.Contains(dtype)) {
    return "let bits: K = bitcast<K>(x);\n"
           "let magnitude: K = bits & ALL_BUT_SIGN;\n"
           "if (magnitude > INFINITE) { return K(0u); }\n"
           "if (magnitude == K(0u)) { return ALL_BUT_SIGN; }\n"
           "return select(~(bits | SIGN), bits, bits >= SIGN);\n";
  }
  return kSignedIntDTypes.Contains(dtype) ? "return ~(bitcast<K>(x) ^ SIGN);\n" : "return ~K(x);\n";
}

// A key is the same as another one if the elements are.
std::string AnyKeyText(DType dtype) {
  if (dtype == DType::kC64) {
    return "let re: u32 = bitcast<u32>(select(real_of(x), 0.0, real_of(x) == 0.0));\n"
           "let im: u32 = bitcast<u32>(select(imag_of(x), 0.0, imag_of(x) == 0.0));\n"
           "return (K(re) << 32u) | K(im);\n";
  }
  if (kFloatDTypes.Contains(dtype)) {
    return "let bits: K = bitcast<K>(x);\n"
           "let magnitude: K = bits & ALL_BUT_SIGN;\n"
           "if (magnitude > INFINITE) { return LAST_KEY; }\n"
           "return select(bits, K(0u), magnitude == K(0u));\n";
  }
  return kSignedIntDTypes.Contains(dtype) ? "return bitcast<K>(x);\n" : "return K(x);\n";
}

void DeclareOrder(ShaderBuilder& builder, uint32_t workgroup) {
  builder.Workgroup(workgroup).Constant("WORKGROUP", workgroup);
  builder.Text(
      "fn is_before(a: K, a_place: u32, b: K, b_place: u32) -> bool {\n"
      "return a < b || (a == b && a_place < b_place);\n}");
}

// Values: dtype, order, elements of a block.
ShaderText ComposeSort(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const auto block = static_cast<uint32_t>(values[2]);
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, dtype);
  DeclareSortKeys(builder, dtype, static_cast<SortOrder>(values[1]));
  DeclareOrder(builder, std::min(block / 2, kWorkgroup));
  builder.Constant("BLOCK", block);
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("keys", BufferAccess::kReadWrite, "K")
      .Buffer("places", BufferAccess::kReadWrite, "u32");
  for (const char* name : {"rows", "cols", "blocks"}) builder.Parameter(name);
  return builder.Finish(source.text);
}

// Value: dtype.
ShaderText ComposeMerge(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Alias("K", SortKeyType(static_cast<DType>(values[0])));
  DeclareOrder(builder, kWorkgroup);
  builder.Buffer("keys", BufferAccess::kRead, "K")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("merged_keys", BufferAccess::kReadWrite, "K")
      .Buffer("merged_places", BufferAccess::kReadWrite, "u32");
  for (const char* name : {"items", "cols", "length"}) builder.Parameter(name);
  return builder.Finish(source.text);
}

const ShaderSource kSort = {"sort_block", &ComposeSort, kSortBlockText};
const ShaderSource kMerge = {"sort_merge", &ComposeMerge, kSortMergeText};

// Keys of one size are merged by one shader.
ShaderVariant MergeVariant(DType dtype) {
  const DType of_size = ArithmeticBytes(dtype) == 8 ? DType::kU64 : DType::kU32;
  return ShaderVariant(kMerge, {static_cast<int32_t>(of_size)});
}

}  // namespace

std::string_view SortKeyType(DType dtype) { return ArithmeticBytes(dtype) == 8 ? "u64" : "u32"; }

void DeclareSortKeys(ShaderBuilder& builder, DType dtype, SortOrder order) {
  const ArithmeticBits bits = ArithmeticBitsOf(dtype);
  builder.Alias("K", SortKeyType(dtype));
  builder.Constant("SIGN", "K", bits.sign)
      .Constant("ALL_BUT_SIGN", "K", bits.all_but_sign)
      .Constant("INFINITE", "K", bits.infinity)
      .Constant("LAST_KEY", "K", ArithmeticBytes(dtype) == 8 ? "0xffffffffffffffff" : "0xffffffffu");
  const bool descends = order == SortOrder::kDescending;
  builder.Text("fn key_of(x: A) -> K {\n" + (descends ? DescendingKeyText(dtype) : AnyKeyText(dtype)) + "}");
}

SortedRows SortRows(ShaderCall& call, GpuBuffer* x, DType dtype, uint64_t rows, uint64_t cols, SortOrder order) {
  const uint64_t size = rows * cols;
  const auto block = static_cast<uint32_t>(std::clamp<uint64_t>(std::bit_ceil(cols), kLeastBlock, kLargestBlock));
  const uint64_t blocks = (cols + block - 1) / block;
  const uint64_t key_bytes = size * ArithmeticBytes(dtype);
  const auto word = [](uint64_t number) { return static_cast<uint32_t>(number); };
  SortedRows sorted = {call.Temporary(key_bytes), call.Temporary(size * sizeof(uint32_t))};
  Launch sort;
  sort.variant =
      ShaderVariant(kSort, {static_cast<int32_t>(dtype), static_cast<int32_t>(order), static_cast<int32_t>(block)});
  sort.parameters = {word(rows), word(cols), word(blocks)};
  sort.workgroups = LinearWorkgroups(rows * blocks, 1, call.limits());
  call.Run(sort, {x, sorted.keys, sorted.places});
  if (blocks == 1) return sorted;
  SortedRows merged = {call.Temporary(key_bytes), call.Temporary(size * sizeof(uint32_t))};
  for (uint64_t length = block; call.ok() && length < cols; length *= 2) {
    Launch merge;
    merge.variant = MergeVariant(dtype);
    merge.parameters = {word(size), word(cols), word(length)};
    merge.workgroups = LinearWorkgroups(size, kWorkgroup, call.limits());
    call.Run(merge, {sorted.keys, sorted.places, merged.keys, merged.places});
    std::swap(sorted, merged);
  }
  return sorted;
}

std::vector<ShaderVariant> SortVariants() {
  std::vector<ShaderVariant> variants = {MergeVariant(DType::kF32)};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32}) {
    for (const SortOrder order : {SortOrder::kDescending, SortOrder::kAnyOrder}) {
      for (const uint32_t block : {kLeastBlock, kLargestBlock}) {
        variants.emplace_back(kSort,
                              std::initializer_list<int32_t>{static_cast<int32_t>(dtype), static_cast<int32_t>(order),
                                                             static_cast<int32_t>(block)});
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
