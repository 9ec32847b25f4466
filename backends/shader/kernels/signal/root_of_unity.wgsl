fn times(a: vec2<f64>, b: vec2<f64>) -> vec2<f64> {
  return vec2<f64>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i k / n) for k < n: by the sine and the cosine of an eighth of a turn at most.
fn root_of(k: u32, n: u32) -> vec2<f64> {
  let quadrant: u32 = 4u * k / n;
  var rest: u32 = 4u * k - quadrant * n;
  let is_upper: bool = 2u * rest > n;
  if (is_upper) {
    rest = n - rest;
  }
  let angle: f64 = 1.57079632679489661923lf * (f64(rest) / f64(n));
  let first: f64 = cos(angle);
  let second: f64 = sin(angle);
  var root: vec2<f64> = vec2<f64>(select(first, second, is_upper), -select(second, first, is_upper));
  for (var turn: u32 = 0u; turn < quadrant; turn++) {
    root = vec2<f64>(root.y, -root.x);
  }
  return root;
}

// Number k of the chirp of a transform of n numbers: exp(-pi i k^2 / n).
fn chirp_of(k: u32, n: u32) -> vec2<f64> {
  return root_of(u32(u64(k) * u64(k) % u64(2u * n)), 2u * n);
}
