// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

var<workgroup> parts: array<A, PARTS>;

fn reduce_lanes(value: A, lidx: u32, slot: u32) -> A {
  let lane: u32 = lidx % LANES;
  let first: u32 = slot * WORKGROUP + lidx - lane;
  parts[first + lane] = value;
  workgroupBarrier();
  var result: A = value;
  if (FOLDED < LANES) {
    if (lane < FOLDED) {
      for (var i: u32 = FOLDED; i < LANES; i += FOLDED) {
        result = join(result, parts[first + lane + i]);
      }
      parts[first + lane] = result;
    }
    workgroupBarrier();
  }
  result = parts[first];
  for (var i: u32 = 1u; i < FOLDED; i++) {
    result = join(result, parts[first + i]);
  }
  return result;
}
