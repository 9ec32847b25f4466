// Rows times one row, conjugated: the transform of that is the conjugate of the inverse transform.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let number: vec2<f64> = times(x[i], one_row[i % parameters.stride]);
    y[i] = vec2<f64>(number.x, -number.y);
  }
}
