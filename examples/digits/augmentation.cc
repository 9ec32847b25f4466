// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Affine maps and bilinear sampling, op by op.

#include "digits/augmentation.h"

#include <utility>

#include "tandem/ops.h"

namespace digits {

using tandem::DType;
using tandem::eager::Runtime;

namespace {

constexpr double kTurn = 0.2;  // radians
constexpr double kScale = 0.15;
constexpr double kSlant = 0.2;
constexpr double kShift = 0.1;  // of the size

// A coordinate between two pixels: their numbers i32 and how far it is from the lower one, each [n, pixels].
struct Between {
  tandem::eager::Tensor low, high, fraction;
};

Between Locate(tandem::eager::Tensor position, int64_t size) {
  position = minimum(maximum(std::move(position), 0.0), static_cast<double>(size - 1));
  const auto floored = floor(position);
  return {cast(floored, DType::kI32), cast(minimum(add(floored, 1.0), static_cast<double>(size - 1)), DType::kI32),
          sub(std::move(position), floored)};
}

}  // namespace

Augmentation::Augmentation(Runtime& runtime, int64_t rows, int64_t cols, uint32_t seed)
    : runtime_(&runtime), rows_(rows), cols_(cols), seed_(seed) {
  const auto pixel = range(runtime, 0, rows * cols, 1);
  const auto centred = [&](const Tensor& number, int64_t size) {
    return reshape(sub(cast(number, DType::kF32), static_cast<double>(size - 1) / 2), {1, -1});
  };
  x_ = centred(floorMod(pixel, cols), cols);
  y_ = centred(floorDiv(pixel, cols), rows);
}

Augmentation::Tensor Augmentation::Draw(int64_t n, double limit) {
  const Tensor key = runtime_->FromValues<int32_t>({static_cast<int32_t>(seed_), draws_++}, {2});
  return mul(sub(statelessRandomUniform({n, 1}, key), 0.5), 2 * limit);
}

Augmentation::Tensor Augmentation::Apply(const Tensor& pictures, int64_t n) {
  const Tensor turn = Draw(n, kTurn);
  const Tensor scale_x = add(Draw(n, kScale), 1.0);
  const Tensor scale_y = add(Draw(n, kScale), 1.0);
  const Tensor slant = Draw(n, kSlant);
  const Tensor cosine = cos(turn), sine = sin(turn);
  // Where pixel (x, y) of the result comes from.
  const Tensor slanted = add(x_, mul(slant, y_));
  const Tensor x = mul(sub(mul(cosine, slanted), mul(sine, y_)), scale_x);
  const Tensor y = mul(add(mul(sine, slanted), mul(cosine, y_)), scale_y);
  const auto shifted = [&](const Tensor& position, int64_t size) {
    const Tensor shift = add(Draw(n, kShift * static_cast<double>(size)), static_cast<double>(size - 1) / 2);
    return Locate(add(position, shift), size);
  };
  const Between column = shifted(x, cols_);
  const Between row = shifted(y, rows_);

  const Tensor flat = reshape(pictures, {-1});
  const Tensor first = reshape(mul(range(*runtime_, 0, n, 1), rows_ * cols_), {n, 1});
  const auto sampled_row = [&](const Tensor& number) {
    const Tensor start = add(mul(number, cols_), first);
    const Tensor left = gather(flat, add(start, column.low), 0);
    return add(left, mul(sub(gather(flat, add(start, column.high), 0), left), column.fraction));
  };
  const Tensor top = sampled_row(row.low);
  return add(top, mul(sub(sampled_row(row.high), top), row.fraction));
}

}  // namespace digits
