// The same for values smaller than a word: goes through all words of the result, and leaves what is in other columns.
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let first: u32 = (wid.y * nwg.x + wid.x) * (WORKGROUP * ROUNDS) + lidx;
  for (var round: u32 = 0u; round < ROUNDS; round++) {
    let begin: u32 = (first + round * WORKGROUP) * PER_WORD;
    if (begin < parameters.count) {
      var word: u32 = y[begin / PER_WORD];
      for (var k: u32 = 0u; k < PER_WORD; k++) {
        let i: u32 = begin + k;
        let col: u32 = i % parameters.row - parameters.first;
        if (i < parameters.count && col < parameters.window) {
          let value: u32 = element((i / parameters.row) * parameters.window + col);
          word = (word & ~(((1u << BITS) - 1u) << (k * BITS))) | (value << (k * BITS));
        }
      }
      y[begin / PER_WORD] = word;
    }
  }
}
