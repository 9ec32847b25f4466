// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let word: u32 = (wid.y * nwg.x + wid.x) * 64u + lidx;
  let i: u32 = 2u * word;
  if (i >= parameters.size) {
    return;
  }
  var halves: u32 = x[i] & 0xffffu;
  if (i + 1u < parameters.size) {
    halves |= x[i + 1u] << 16u;
  }
  y[word] = halves;
}
