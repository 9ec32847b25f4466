#if COLUMNS
// Columns beyond the last are finished as the last one is; they are not stored.
fn known(column: u32) -> u32 { return min(column, parameters.columns - 1u); }
#end

#if ADDED
fn finish(sums: A4, column: u32, more: A4) -> A4 {
#else
fn finish(sums: A4, column: u32) -> A4 {
#end
  var x: A4 = sums;
#if BIAS
  x += A4(A(bias[known(column)]), A(bias[known(column + 1u)]), A(bias[known(column + 2u)]), A(bias[known(column + 3u)]));
#end
#if BATCH_NORM
#for n 4
  let i${n}: u32 = known(column + ${n}u);
  let factor${n}: A = A(scale[i${n}]) / sqrt(A(variance[i${n}]) + parameters.epsilon);
  x[${n}] = (x[${n}] - A(mean[i${n}])) * factor${n} + A(offset[i${n}]);
#end
#end
#if ADDED
  x += more;
#end
#if ACTIVATION
  x = A4(activate(x[0]), activate(x[1]), activate(x[2]), activate(x[3]));
#end
  return x;
}
