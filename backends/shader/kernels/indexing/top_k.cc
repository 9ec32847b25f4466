// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/top_k.h"

#include <string>
#include <utility>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "tandem/kernel.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kBlock = 1024;  // elements that a workgroup sorts

// A key is smaller the larger the element: NaN comes before all, and 0 and -0 are the same.
std::string KeyText(DType dtype) {
  constexpr std::string_view kHead = "fn key_of(x: A) -> K {\n";
  if (kFloatDTypes.Contains(dtype)) {
    return std::string(kHead) +
           "let bits: K = bitcast<K>(x);\n"
           "let magnitude: K = bits & ~SIGN;\n"
           "if (magnitude > INFINITY) { return K(0u); }\n"
           "if (magnitude == K(0u)) { return ~SIGN; }\n"
           "return select(~(bits | SIGN), bits, bits >= SIGN);\n}";
  }
  return std::string(kHead) +
         (kSignedIntDTypes.Contains(dtype) ? "return ~(bitcast<K>(x) ^ SIGN);\n}" : "return ~K(x);\n}");
}

void DeclareKeys(ShaderBuilder& builder, DType dtype) {
  const bool is_long = ArithmeticBytes(dtype) == 8;
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, dtype);
  builder.Alias("K", is_long ? "u64" : "u32");
  builder.Text(
      "fn is_before(a: K, a_place: u32, b: K, b_place: u32) -> bool {\n"
      "return a < b || (a == b && a_place < b_place);\n}");
}

// Value: dtype.
ShaderText ComposeSort(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  const bool is_long = ArithmeticBytes(dtype) == 8;
  ShaderBuilder builder(source.name);
  DeclareKeys(builder, dtype);
  builder.Constant("BLOCK", kBlock)
      .Constant("SIGN", "K", is_long ? "0x8000000000000000" : "0x80000000u")
      .Constant("INFINITY", "K", is_long ? "0x7ff0000000000000" : "0x7f800000u")
      .Constant("LAST_KEY", "K", is_long ? "0xffffffffffffffff" : "0xffffffffu");
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("keys", BufferAccess::kReadWrite, "K")
      .Buffer("places", BufferAccess::kReadWrite, "u32");
  for (const char* name : {"rows", "cols", "blocks"}) builder.Parameter(name);
  return builder.Text(KeyText(dtype)).Finish(source.text);
}

// Value: dtype.
ShaderText ComposeMerge(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareKeys(builder, static_cast<DType>(values[0]));
  builder.Buffer("keys", BufferAccess::kRead, "K")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("merged_keys", BufferAccess::kReadWrite, "K")
      .Buffer("merged_places", BufferAccess::kReadWrite, "u32");
  for (const char* name : {"items", "cols", "length"}) builder.Parameter(name);
  return builder.Finish(source.text);
}

// Values: dtypes of elements and of places.
ShaderText ComposeTake(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Alias("I", StorageType(static_cast<DType>(values[1])));
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("values", BufferAccess::kReadWrite, "T")
      .Buffer("indices", BufferAccess::kReadWrite, "I");
  for (const char* name : {"items", "cols", "taken"}) builder.Parameter(name);
  return builder.Finish(source.text);
}

const ShaderSource kSort = {"top_k_sort", &ComposeSort, kTopKSortText};
const ShaderSource kMerge = {"top_k_merge", &ComposeMerge, kTopKMergeText};
const ShaderSource kTake = {"top_k_take", &ComposeTake, kTopKTakeText};

Launch MakeLaunch(const ShaderVariant& variant, uint64_t items, uint32_t in_workgroup, LaunchParameters parameters,
                  const GpuLimits& limits) {
  Launch launch;
  launch.variant = variant;
  launch.parameters = parameters;
  launch.workgroups = LinearWorkgroups(items, in_workgroup, limits);
  return launch;
}

Status TopKKernel(KernelFrame& frame) {
  ShaderCall call(frame);
  const TensorMetadata& values = frame.result_metadata(0);
  if (values.num_elements() == 0) return call.Finish();
  const TensorMetadata& input = frame.arg(0).metadata();
  const GpuLimits& limits = call.limits();
  const auto cols = static_cast<uint64_t>(input.dim(input.rank() - 1));
  const auto size = static_cast<uint64_t>(input.num_elements());
  const uint64_t rows = size / cols;
  const uint64_t blocks = (cols + kBlock - 1) / kBlock;
  const auto dtype = static_cast<int32_t>(input.dtype);
  const auto word = [](uint64_t number) { return static_cast<uint32_t>(number); };
  GpuBuffer* const x = call.Argument(0);
  const uint64_t key_bytes = size * ArithmeticBytes(input.dtype);
  GpuBuffer* keys = call.Temporary(key_bytes);
  GpuBuffer* places = call.Temporary(size * sizeof(uint32_t));
  call.Run(MakeLaunch(ShaderVariant(kSort, {dtype}), rows * blocks, 1, {word(rows), word(cols), word(blocks)}, limits),
           {x, keys, places});
  if (blocks > 1) {
    GpuBuffer* merged_keys = call.Temporary(key_bytes);
    GpuBuffer* merged_places = call.Temporary(size * sizeof(uint32_t));
    for (uint64_t length = kBlock; length < cols; length *= 2) {
      call.Run(
          MakeLaunch(ShaderVariant(kMerge, {dtype}), size, kWorkgroup, {word(size), word(cols), word(length)}, limits),
          {keys, places, merged_keys, merged_places});
      std::swap(keys, merged_keys);
      std::swap(places, merged_places);
    }
  }
  const auto items = static_cast<uint64_t>(values.num_elements());
  const ShaderVariant take(kTake, {dtype, static_cast<int32_t>(frame.result_metadata(1).dtype)});
  call.Run(MakeLaunch(take, items, kWorkgroup, {word(items), word(cols), word(items / rows)}, limits),
           {x, places, call.Result(0), call.Result(1)});
  return call.Finish();
}

}  // namespace

Status RegisterTopKKernels(ShaderOpHandler& handler) {
  if (!handler.gpu().limits().has_all_dtypes) return Status();
  static constexpr KernelEntry kKernels[] = {KernelEntryOf<&TopKKernel>("tf.TopKV2", kRealDTypesOfGpu)};
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
