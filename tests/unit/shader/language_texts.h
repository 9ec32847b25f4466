// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts in the kernels' language that every language it is translated to must have the means for.

#ifndef TANDEM_TESTS_UNIT_SHADER_LANGUAGE_TEXTS_H_
#define TANDEM_TESTS_UNIT_SHADER_LANGUAGE_TEXTS_H_

#include <string>
#include <string_view>

namespace tandem::shader::language {

inline constexpr std::string_view kBegin =
    "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
    "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
    "@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;\n";
inline constexpr std::string_view kMain =
    "@compute @workgroup_size(64, 1, 1) fn main(@builtin(global_invocation_id) gid: vec3u, "
    "@builtin(local_invocation_id) lid: vec3u, @builtin(workgroup_id) wid: vec3u, "
    "@builtin(num_workgroups) nwg: vec3u, @builtin(local_invocation_index) lidx: u32) {\n";

// An entry point with that body, behind the declarations and three buffers.
inline std::string Shader(std::string_view declarations, std::string_view body) {
  std::string text(declarations);
  return text.append(kBegin).append(kMain).append(body).append("\n}\n");
}

inline std::string StatementsText() {
  return Shader("", R"(
  var i: i32 = 0;
  var done: bool;
  for (var j: u32 = 0u; j < 4u; j++) { i += 1; }
  for (; i < 10; ) { i *= 2; }
  while (i > 0) { i -= 3; if (i == 1) { break; } else if i == 2 { continue; } else { i--; } }
  switch (i) { case 0: { y[0] = 1.0; } case 1, 2, { y[0] = 2.0; } default: { y[0] = 3.0; } }
  { let inner: f32 = x[lid.x]; y[gid.x] = inner; }
  i <<= 2u; i >>= u32(i); i &= 7; i |= 8; i ^= 1; i %= 5; i /= 2;
  _ = atomicAdd(&counts[0], 1u);
  done = !done && (i != 0 || -i >= ~i);
  if (done) { return; }
  ;
)");
}

inline std::string TypesText() {
  return Shader(
      "alias Vector = vec4f; alias Row = array<Vector, 2>; const SIZE: u32 = 4u * 2u + 1u;\n"
      "var<workgroup> tile: array<array<f32, SIZE>, 3>; var<workgroup> total: atomic<i32>;\n"
      "var<workgroup> sums: array<atomic<u32>, 4>;\n"
      "fn sum(row: Row) -> f32 { return dot(row[0], row[1]); }\n",
      R"(
  var row: Row = Row(Vector(1.0), vec4<f32>(vec2f(1.0, 2.0), 3.0, 4.0));
  var rows: array<Row, 3>;
  rows[1][0].x = 2.0;
  let v: vec2i = vec2i(vec2f(1.0, 2.0));
  let b: vec2<bool> = vec2<bool>(true, false);
  let s: vec4f = select(row[0], row[1], v.x == 1);
  let t: vec2i = select(v, v + 1, b);
  tile[2][SIZE - 1u] = sum(row) + s.w + f32(t.y) + f32(array<i32, 2>(3, 4)[1]);
  atomicMax(&total, -3); atomicMin(&sums[lidx % 4u], 2u); atomicStore(&total, 1); atomicSub(&sums[0], 1u);
  y[0] = tile[0][0] + f32(atomicLoad(&total)) + f32(atomicExchange(&sums[1], 2u));
)");
}

inline std::string FunctionsOutOfOrderText() {
  return "fn first(x: f32) -> f32 { return second(x); }\n" +
         Shader("fn second(x: f32) -> f32 { if (x > 1.0) { return 0.0; } return x; }\n", "y[0] = first(x[0]);");
}

inline std::string BuiltInFunctionsText() {
  return Shader("", R"(
  let f: f32 = x[0];
  let v: vec4f = vec4f(f);
  var a: f32 = inverseSqrt(f) + round(f) + atan2(f, 2.0) + saturate(f) + fma(f, f, f) + trunc(f) + sign(f) + fract(f);
  a += abs(f) + ceil(f) + floor(f) + exp(f) + exp2(f) + log(f) + log2(f) + pow(f, 2.0) + sqrt(f) + min(f, 1.0);
  a += max(f, 1.0) + clamp(f, 0.0, 1.0) + mix(f, 1.0, 0.5) + step(f, 1.0) + smoothstep(0.0, 1.0, f) + sinh(f) + cosh(f);
  a += tanh(f) + asinh(f) + acosh(f) + atanh(f) + asin(f) + acos(f) + atan(f) + sin(f) + cos(f) + tan(f) + ldexp(f, 2);
  a += dot(v, v) + length(v) + f % 2.0 + (v % v).x + saturate(v).y + round(v).z;
  let u: u32 = countOneBits(1u) + firstLeadingBit(1u) + firstTrailingBit(1u) + extractBits(5u, 1u, 2u) + reverseBits(1u);
  let i: i32 = countOneBits(1) + firstLeadingBit(-1) + firstTrailingBit(1) + extractBits(5, 1u, 2u);
  let w: u32 = insertBits(u, 3u, 1u, 2u) + countLeadingZeros(u) + countTrailingZeros(u) + pack2x16float(vec2f(f));
  let p: vec2f = unpack2x16float(w);
  y[0] = a + p.x + bitcast<f32>(u) + bitcast<f32>(i) + bitcast<vec2f>(vec2u(u)).x + f32(bitcast<vec4i>(v).x);
  let taken: bool = atomicCompareExchangeWeak(&counts[0], 1u, 2u).exchanged;
  let old: u32 = atomicCompareExchangeWeak(&counts[0], 1u, 2u).old_value + atomicOr(&counts[1], 1u);
  storageBarrier(); workgroupBarrier();
)");
}

inline std::string HalfFloatsAndSubgroupsText() {
  return "enable f16;\nenable subgroups;\n" + Shader(
                                                  "@group(0) @binding(3) var<storage, read_write> h: array<f16>;\n"
                                                  "@group(0) @binding(4) var<storage, read_write> hv: array<vec4h>;\n",
                                                  R"(
  let a: f16 = h[0] * 2.0h + f16(x[0]) - 1h;
  hv[0] = vec4h(a, 1.0h, max(a, 0.0h), select(a, 1.0h, a > 0.0h));
  h[1] = fma(a, a, a) % 2.0h;
  let pair: vec2h = vec2h(a, f16(0.0));
  h[2] = bitcast<vec2h>(bitcast<u32>(pair) + 1u)[0];
  y[0] = subgroupAdd(x[0]) + subgroupMax(x[1]) + subgroupMin(x[2]) + subgroupMul(x[3]) + subgroupBroadcastFirst(x[4]);
  y[1] = f32(i32(a)) + f32(u32(a)) + vec4f(hv[0]).x;
  if (subgroupElect() || subgroupAny(x[0] > 0.0)) { y[2] = f32(subgroupAdd(1u)); }
)");
}

inline std::string NumbersText() {
  return Shader("", R"(
  let low: i32 = -2147483648;
  let high: u32 = 4294967295u;
  let hex: u32 = 0xFFFFFFFFu + 0x1fu;
  let big: u32 = 4000000000;
  y[0] = 1f + .5 + 1. + 1e-3 + 1.5E+2f + 3.40282347e38f + f32(low) + f32(high) + f32(hex) + f32(7i) + f32(big);
)");
}

// To be cut and changed.
inline std::string TextToBreak() {
  return Shader("const N: u32 = 4u; var<workgroup> tile: array<array<f32, N>, 2>;",
                "for (var i: u32 = 0u; i < N; i++) { switch i { case 0u: { tile[0][i] = select(1.0, x[i], i == 2u); } "
                "default { y[i] = bitcast<f32>(i % 3u) << 2; } } }");
}

}  // namespace tandem::shader::language

#endif  // TANDEM_TESTS_UNIT_SHADER_LANGUAGE_TEXTS_H_
