// Columns beyond the last are finished as the last one is; they are not stored.
fn column(col: u32) -> u32 { return min(col, parameters.cols - 1u); }

fn finish(sums: A4, col: u32) -> A4 {
  var x: A4 = sums;
#if BIAS
  x += A4(A(bias[column(col)]), A(bias[column(col + 1u)]), A(bias[column(col + 2u)]), A(bias[column(col + 3u)]));
#end
#if BATCH_NORM
#for n 4
  {
    let i: u32 = column(col + ${n}u);
    let factor: f32 = A(scale[i]) / sqrt(A(variance[i]) + parameters.epsilon);
    x[${n}] = (x[${n}] - A(mean[i])) * factor + A(offset[i]);
  }
#end
#end
#if ACTIVATION
  x = A4(activate(x[0]), activate(x[1]), activate(x[2]), activate(x[3]));
#end
  return x;
}
