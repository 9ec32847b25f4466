// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The running statistics after a step of training.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i >= parameters.items) {
    return;
  }
  let kept: f32 = 1.0 - parameters.update;
  running_mean[i] = mean[i] * parameters.update + old_mean_of(i) * kept;
  running_variance[i] = variance[i] * parameters.unbiased * parameters.update + old_variance_of(i) * kept;
}
