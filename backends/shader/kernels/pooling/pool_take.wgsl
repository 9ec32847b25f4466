// The elements at `places`, which count those of all images, and their places, in an image where `image_size` is its size.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let i: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (i < parameters.count) {
    let place: u32 = places[i];
    y[i] = x[place];
#if LONG
    argmax[i] = vec2u(place % parameters.image_size, 0u);
#else
    argmax[i] = place % parameters.image_size;
#end
  }
}
