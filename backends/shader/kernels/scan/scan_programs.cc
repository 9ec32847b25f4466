// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/scan/scan_programs.h"

#include <algorithm>

#include "kernel_texts.h"
#include "kernels/element_types.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;

enum Value : size_t { kOp, kDType, kExclusive, kReverse, kTotals, kOffsets };

uint64_t DivideUp(uint64_t x, uint64_t y) { return (x + y - 1) / y; }

ShaderText ComposeScan(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[kDType]));
  const bool is_product = static_cast<ScanOp>(values[kOp]) == ScanOp::kProduct;
  builder.Alias("R", values[kTotals] != 0 ? "A" : "T");
  builder.Buffer("x", BufferAccess::kRead, "T");
  if (values[kOffsets] != 0) builder.Buffer("offsets", BufferAccess::kRead, "A");
  builder.Buffer("y", BufferAccess::kReadWrite, "R");
  for (const char* name : {"items", "rows", "inner", "chunk", "chunks"}) builder.Parameter(name);
  const auto constant = [&](const char* name, int32_t value) {
    builder.Constant(name, "bool", value != 0 ? "true" : "false");
  };
  constant("EXCLUSIVE", values[kExclusive]);
  constant("REVERSE", values[kReverse]);
  constant("TOTALS", values[kTotals]);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  builder.Text(is_product ? "fn combine(a: A, b: A) -> A { return a * b; }"
                          : "fn combine(a: A, b: A) -> A { return a + b; }");
  builder.Text(values[kOffsets] != 0 ? "fn start(item: u32) -> A { return offsets[item]; }"
               : is_product          ? "fn start(item: u32) -> A { return A(1); }"
                                     : "fn start(item: u32) -> A { return A(0); }");
  return builder.Finish(source.text);
}

const ShaderSource& Source() {
  static const ShaderSource source = {"scan", &ComposeScan, kScanText};
  return source;
}

Launch MakeLaunch(const ScanKind& kind, const ScanShape& shape, uint64_t chunks, bool totals, bool offsets,
                  const GpuLimits& limits) {
  const uint64_t items = shape.rows == 0 ? 0 : shape.outer * chunks * shape.inner;
  Launch launch;
  launch.variant = ShaderVariant(Source(), {static_cast<int32_t>(kind.op), static_cast<int32_t>(kind.dtype),
                                            kind.exclusive && !totals, kind.reverse, totals, offsets});
  for (uint64_t word : {items, shape.rows, shape.inner, DivideUp(shape.rows, chunks), chunks}) {
    launch.parameters.Add(static_cast<uint32_t>(word));
  }
  launch.workgroups = LinearWorkgroups(items, kWorkgroup, limits);
  return launch;
}

}  // namespace

uint64_t ScanChunks(const ScanShape& shape, const GpuLimits& limits) {
  // Long enough to be worth two launches more, short enough to keep rounding errors small.
  constexpr uint64_t kMinChunk = 32;
  constexpr uint64_t kMaxChunk = 256;
  if (shape.rows <= 2 * kMinChunk) return 1;
  const uint64_t wanted = limits.is_software ? 64 : 16384;
  const uint64_t columns = std::max<uint64_t>(shape.outer * shape.inner, 1);
  const uint64_t chunks =
      DivideUp(shape.rows, std::clamp(DivideUp(shape.rows, DivideUp(wanted, columns)), kMinChunk, kMaxChunk));
  return DivideUp(shape.rows, DivideUp(shape.rows, chunks));
}

Launch ScanTotalsProgram(const ScanKind& kind, const ScanShape& shape, uint64_t chunks, const GpuLimits& limits) {
  return MakeLaunch(kind, shape, chunks, /*totals=*/true, /*offsets=*/false, limits);
}

Launch ScanProgram(const ScanKind& kind, const ScanShape& shape, uint64_t chunks, const GpuLimits& limits) {
  return MakeLaunch(kind, shape, chunks, /*totals=*/false, /*offsets=*/chunks > 1, limits);
}

std::vector<ShaderVariant> ScanVariants(const GpuLimits& limits) {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kF16}) {
    if (dtype == DType::kF16 && !limits.has_f16) continue;
    for (const ScanOp op : {ScanOp::kSum, ScanOp::kProduct}) {
      for (const bool flag : {false, true}) {
        const ScanKind kind = {op, dtype, /*exclusive=*/flag, /*reverse=*/flag};
        variants.push_back(ScanTotalsProgram(kind, {1, 100, 1}, 2, limits).variant);
        for (const uint64_t chunks : {1, 2}) {
          variants.push_back(ScanProgram(kind, {1, 100, 1}, chunks, limits).variant);
        }
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
