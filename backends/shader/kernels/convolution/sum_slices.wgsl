// Adds up slices that lie one after the other.

fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * workgroup_size + lidx;
  if (i >= parameters.elements) { return; }
  var sum: A = A(0);
  for (var slice: u32 = 0u; slice < parameters.slices; slice++) { sum += x[slice * parameters.elements + i]; }
  y[i] = T(sum);
}
