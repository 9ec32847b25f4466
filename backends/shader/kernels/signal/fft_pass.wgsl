// One pass of the transform of rows of `size` numbers: `groups` groups of RADIX rows of `length` numbers, RADIX * length
// apart, become RADIX rows that are groups * length apart (Stockham, decimation in frequency).
fn main(gid: vec3u, lid: vec3u, wid: vec3u, nwg: vec3u, lidx: u32) {
  let item: u32 = (wid.y * nwg.x + wid.x) * WORKGROUP + lidx;
  if (item >= parameters.count) {
    return;
  }
  let row: u32 = item / (parameters.groups * parameters.length) * parameters.size;
  let i: u32 = item % parameters.length;
  let group: u32 = item / parameters.length % parameters.groups;
  let source: u32 = row + i + parameters.length * RADIX * group;
  let result: u32 = row + i + parameters.length * group;
  let distance: u32 = parameters.length * parameters.groups;
#for b RADIX
  let t${b}: vec2<f64> = x[source + ${b}u * parameters.length];
#end
#if TWO
  let s0: vec2<f64> = t0 + t1;
  let s1: vec2<f64> = t0 - t1;
#end
#if FOUR
  let even: vec2<f64> = t0 + t2;
  let odd: vec2<f64> = t1 + t3;
  let even_rest: vec2<f64> = t0 - t2;
  let odd_rest: vec2<f64> = t1 - t3;
  let turned: vec2<f64> = vec2<f64>(odd_rest.y, -odd_rest.x);
  let s0: vec2<f64> = even + odd;
  let s1: vec2<f64> = even_rest + turned;
  let s2: vec2<f64> = even - odd;
  let s3: vec2<f64> = even_rest - turned;
#end
#if UNROLLED
  y[result] = s0;
#for j OTHERS
  y[result + ${j+1}u * distance] = times(s${j+1}, roots[parameters.groups * i * ${j+1}u]);
#end
#else
  let step: u32 = parameters.size / RADIX;
  for (var j: u32 = 0u; j < RADIX; j++) {
    var sum: vec2<f64> = t0;
#for b OTHERS
    sum += times(t${b+1}, roots[${b+1}u * j % RADIX * step]);
#end
    y[result + j * distance] = times(sum, roots[parameters.groups * i * j]);
  }
#end
}
