// Rows of the input are columns of the result: `y[batch, i, j] = x[batch's offset + j * parameters.pitch + i]`. Each
// invocation moves a block of 4 x 4, and neighbours in a workgroup, which is 8 x 8 of them, neighbouring blocks, so
// that both sides are gone through in long stretches.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let tile: u32 = wid.y * nwg.x + wid.x;
  let tile_row: u32 = tile / parameters.tiles_across;
  let j: u32 = ((tile % parameters.tiles_across) * 8u + lidx % 8u) * 4u;
  let batch: u32 = tile_row / parameters.tiles_down;
  let i: u32 = ((tile_row % parameters.tiles_down) * 8u + lidx / 8u) * 4u;
  if (batch < parameters.batches && i < parameters.rows && j < parameters.cols) {
    move_block(input_of(batch) + j * parameters.pitch + i, output_of(batch) + i * parameters.row_pitch + j, i, j);
  }
}
