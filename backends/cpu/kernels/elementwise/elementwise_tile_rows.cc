// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// An interpreter whose registers are vectors: which step comes next is looked up once for a whole tile.

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/elementwise/elementwise_tiles.h"
#include "simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_tile_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, static_cast<size_t>(kTileElements)>;
using V = hn::Vec<D>;
constexpr size_t kLanes = hn::MaxLanes(D());
constexpr size_t kNarrow = static_cast<size_t>(kTileElements) / kLanes;  // vectors
// As many as there are registers for beside what the steps need: of 32, or of the fewest of an instruction set, 16.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kWide = 16;
#else
constexpr size_t kWide = std::max<size_t>(kNarrow, 8);
#endif

// As the functions of elements of the same names (elementwise_simd_rows.cc, positive_part-inl.h).
HWY_INLINE V Maximum(V x, V y) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // Here, Max is x if x > y, else y.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y));
#elif HWY_TARGET == HWY_WASM
  // A comparison and a choice in one instruction, while Max takes several; all bits set are a NaN.
  return V{wasm_v128_or(wasm_f32x4_pmax(y.raw, x.raw), wasm_f32x4_ne(x.raw, x.raw))};
#else
  return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y);
#endif
}
HWY_INLINE V Minimum(V x, V y) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y));
#elif HWY_TARGET == HWY_WASM
  return V{wasm_v128_or(wasm_f32x4_pmin(y.raw, x.raw), wasm_f32x4_ne(x.raw, x.raw))};
#else
  return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y);
#endif
}
HWY_INLINE V Relu(V x) {
#if HWY_TARGET == HWY_WASM
  // pmax leaves NaN and -0 as they are; the sum of -0 and 0 is 0.
  const V zero = hn::Zero(D());
  return hn::Add(V{wasm_f32x4_pmax(x.raw, zero.raw)}, zero);
#else
  return hn::IfThenZeroElse(hn::Le(x, hn::Zero(D())), x);
#endif
}
HWY_INLINE V Square(V x) { return hn::Mul(x, x); }

HWY_INLINE V Load(const std::byte* elements, size_t i) {
  return hn::LoadU(D(), reinterpret_cast<const float*>(elements) + i * kLanes);
}
HWY_INLINE void Store(V x, std::byte* elements, size_t i) {
  hn::StoreU(x, D(), reinterpret_cast<float*>(elements) + i * kLanes);
}

// A tile of sizeof...(kI) vectors through all steps; it is `offset` bytes into each step's elements. The vectors are
// named one by one so that they stay in registers from one step to the next.
template <size_t... kI>
HWY_INLINE void ComputeTile(std::span<const TileStep> steps, int64_t offset, std::index_sequence<kI...>) {
  V x[] = {Load(steps[0].data + offset, kI)...};
  for (const TileStep& step : steps.subspan(1)) {
    std::byte* const y = step.data + offset;
    switch (step.op) {
      case TileOp::kLoad:
        ((x[kI] = Load(y, kI)), ...);
        break;
      case TileOp::kStore:
        (Store(x[kI], y, kI), ...);
        break;
      case TileOp::kAdd:
        ((x[kI] = hn::Add(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kMul:
        ((x[kI] = hn::Mul(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kSquaredDifference:
        ((x[kI] = Square(hn::Sub(x[kI], Load(y, kI)))), ...);
        break;
      case TileOp::kSub:
        ((x[kI] = hn::Sub(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kSubFrom:
        ((x[kI] = hn::Sub(Load(y, kI), x[kI])), ...);
        break;
      case TileOp::kDiv:
        ((x[kI] = hn::Div(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kDivInto:
        ((x[kI] = hn::Div(Load(y, kI), x[kI])), ...);
        break;
      case TileOp::kMaximum:
        ((x[kI] = Maximum(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kMaximumFrom:
        ((x[kI] = Maximum(Load(y, kI), x[kI])), ...);
        break;
      case TileOp::kMinimum:
        ((x[kI] = Minimum(x[kI], Load(y, kI))), ...);
        break;
      case TileOp::kMinimumFrom:
        ((x[kI] = Minimum(Load(y, kI), x[kI])), ...);
        break;
      case TileOp::kNeg:
        ((x[kI] = hn::Neg(x[kI])), ...);
        break;
      case TileOp::kAbs:
        ((x[kI] = hn::Abs(x[kI])), ...);
        break;
      case TileOp::kSquare:
        ((x[kI] = Square(x[kI])), ...);
        break;
      case TileOp::kRelu:
        ((x[kI] = Relu(x[kI])), ...);
        break;
    }
  }
}

// As many tiles of kVectors as there are in the elements [begin, n). Where the next one begins.
template <size_t kVectors>
HWY_INLINE int64_t ComputeTilesOf(std::span<const TileStep> steps, int64_t begin, int64_t n) {
  constexpr auto kElements = static_cast<int64_t>(kVectors * kLanes);
  for (; begin + kElements <= n; begin += kElements) {
    ComputeTile(steps, begin * static_cast<int64_t>(sizeof(float)), std::make_index_sequence<kVectors>());
  }
  return begin;
}

}  // namespace

// Without vectors of Highway's, those that the compiler makes of rows are better.
bool HasTilesOfTarget() { return kLanes > 1; }

void ComputeTilesOfTarget(std::span<const TileStep> steps, int64_t n) {
  const int64_t done = ComputeTilesOf<kWide>(steps, 0, n);
  if constexpr (kNarrow < kWide) ComputeTilesOf<kNarrow>(steps, done, n);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

namespace {

HWY_EXPORT(HasTilesOfTarget);
HWY_EXPORT(ComputeTilesOfTarget);

struct OpEntry {
  std::string_view op;
  TileOps ops;
};
constexpr OpEntry kOps[] = {
    {"tf.Abs", {TileOp::kAbs, TileOp::kAbs}},
    {"tf.AddV2", {TileOp::kAdd, TileOp::kAdd}},
    {"tf.Maximum", {TileOp::kMaximum, TileOp::kMaximumFrom}},
    {"tf.Minimum", {TileOp::kMinimum, TileOp::kMinimumFrom}},
    {"tf.Mul", {TileOp::kMul, TileOp::kMul}},
    {"tf.Neg", {TileOp::kNeg, TileOp::kNeg}},
    {"tf.RealDiv", {TileOp::kDiv, TileOp::kDivInto}},
    {"tf.Relu", {TileOp::kRelu, TileOp::kRelu}},
    {"tf.Square", {TileOp::kSquare, TileOp::kSquare}},
    {"tf.SquaredDifference", {TileOp::kSquaredDifference, TileOp::kSquaredDifference}},
    {"tf.Sub", {TileOp::kSub, TileOp::kSubFrom}},
};

}  // namespace

const TileOps* FindTileOps(std::string_view op) {
  if (!HWY_DYNAMIC_DISPATCH(HasTilesOfTarget)()) return nullptr;
  const auto* const found = std::ranges::find(kOps, op, &OpEntry::op);
  return found == std::end(kOps) ? nullptr : &found->ops;
}

void ComputeTiles(std::span<const TileStep> steps, int64_t n) { HWY_DYNAMIC_DISPATCH(ComputeTilesOfTarget)(steps, n); }

}  // namespace tandem::cpu
#endif  // HWY_ONCE
