// Dimensions cut into blocks, whose positions are in the batch; of K dimensions, 0 is the innermost one.
fn element(i: u32) -> E {
  var source: u32 = i % parameters.pixel;
  var rest: u32 = i / parameters.pixel;
  var step: u32 = parameters.pixel;
#if TO_BATCH
  var position: u32 = rest / parameters.spots / parameters.batch;
  let image: u32 = rest / parameters.spots % parameters.batch;
  var is_inside: bool = true;
#for d K
  let at${d}: u32 = rest % parameters.depth${d} * parameters.block${d} + position % parameters.block${d};
  rest = rest / parameters.depth${d};
  position = position / parameters.block${d};
  is_inside = is_inside && at${d} >= parameters.margin${d} && at${d} - parameters.margin${d} < parameters.space${d};
  source += (at${d} - parameters.margin${d}) * step;
  step = step * parameters.space${d};
#end
  if (!is_inside) {
    return E(0u);
  }
  return load_x(source + image * step);
#else
  var position: u32 = 0u;
  var position_step: u32 = parameters.batch;
#for d K
  let at${d}: u32 = rest % parameters.space${d} + parameters.margin${d};
  rest = rest / parameters.space${d};
  position += at${d} % parameters.block${d} * position_step;
  position_step = position_step * parameters.block${d};
  source += at${d} / parameters.block${d} * step;
  step = step * parameters.depth${d};
#end
  return load_x(source + (position + rest) * step);
#end
}
