// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The passes of FftPlan, and Bluestein's convolution: L. Bluestein, "A linear filtering approach to the computation of
// discrete Fourier transform" (1970).

#include "kernels/signal/signal_fft.h"

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/polls.h"
#include "simd/scalar_math.h"

namespace tandem::cpu {
namespace {

// The largest factor that a pass is for.
constexpr int kMaxRadix = 31;
// Butterflies between questions whether to end.
constexpr int64_t kBlock = 4096;

// Sums of `r` numbers times the powers of a root of unity of order r, in place.
void Butterfly2(Complex* t) {
  const Complex sum = t[0] + t[1];
  t[1] = t[0] - t[1];
  t[0] = sum;
}

void Butterfly3(Complex* t) {
  constexpr double kSine = 0.86602540378443864676;  // of 2 pi / 3
  const Complex sum = t[1] + t[2];
  const Complex middle = t[0] - 0.5 * sum;
  const Complex turned = kSine * (t[1] - t[2]).TurnedBack();
  t[0] = t[0] + sum;
  t[1] = middle + turned;
  t[2] = middle - turned;
}

void Butterfly4(Complex* t) {
  const Complex a = t[0] + t[2];
  const Complex b = t[0] - t[2];
  const Complex c = t[1] + t[3];
  const Complex d = (t[1] - t[3]).TurnedBack();
  t[0] = a + c;
  t[1] = b + d;
  t[2] = a - c;
  t[3] = b - d;
}

void Butterfly5(Complex* t) {
  constexpr double kCosine1 = 0.30901699437494742410, kSine1 = 0.95105651629515357212;   // of 2 pi / 5
  constexpr double kCosine2 = -0.80901699437494742410, kSine2 = 0.58778525229247312917;  // of 4 pi / 5
  const Complex a = t[1] + t[4], b = t[2] + t[3];
  const Complex c = (t[1] - t[4]).TurnedBack(), d = (t[2] - t[3]).TurnedBack();
  const Complex first = t[0] + kCosine1 * a + kCosine2 * b;
  const Complex second = t[0] + kCosine2 * a + kCosine1 * b;
  const Complex first_turned = kSine1 * c + kSine2 * d;
  const Complex second_turned = kSine2 * c - kSine1 * d;
  t[0] = t[0] + a + b;
  t[1] = first + first_turned;
  t[4] = first - first_turned;
  t[2] = second + second_turned;
  t[3] = second - second_turned;
}

// The same for any odd r, with `step` from one power of the root to the next in `roots`.
void ButterflyAny(Complex* t, int r, const Complex* roots, int64_t step) {
  Complex result[kMaxRadix];
  for (int j = 0; j < r; ++j) {
    Complex sum = t[0];
    for (int b = 1; b < r; ++b) sum = sum + t[b] * roots[b * j % r * step];
    result[j] = sum;
  }
  std::copy_n(result, r, t);
}

// One pass: `count` groups of r rows of `length` numbers, r * length apart, become r rows that are count * length
// apart.
template <int kRadix>
void Pass(int radix, int64_t count, int64_t length, const Complex* roots, const Complex* from, Complex* to) {
  const int r = kRadix == 0 ? radix : kRadix;
  const int64_t root_step = count * length;
  StopPoll poll(kPollElements / 4);
  for (int64_t group = 0; group < count; ++group) {
    for (int64_t block = 0; block < length; block += kBlock) {
      const int64_t end = std::min(length, block + kBlock);
      if (poll.Stops((end - block) * r)) return;
      for (int64_t i = block; i < end; ++i) {
        Complex t[kRadix == 0 ? kMaxRadix : kRadix] = {};
        for (int b = 0; b < r; ++b) t[b] = from[i + length * (b + r * group)];
        if constexpr (kRadix == 2) Butterfly2(t);
        if constexpr (kRadix == 3) Butterfly3(t);
        if constexpr (kRadix == 4) Butterfly4(t);
        if constexpr (kRadix == 5) Butterfly5(t);
        if constexpr (kRadix == 0) ButterflyAny(t, r, roots, root_step);
        to[i + length * group] = t[0];
        for (int j = 1; j < r; ++j) to[i + length * (group + count * j)] = t[j] * roots[count * i * j];
      }
    }
  }
}

// Whether n has no other prime factors than 2, 3 and 5.
bool IsSmooth(int64_t n) {
  for (const int factor : {2, 3, 5}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

}  // namespace

Complex RootOfUnity(int64_t k, int64_t n) {
  const int64_t quadrant = 4 * k / n;
  int64_t rest = 4 * k - quadrant * n;  // of a quadrant, in parts of n
  const bool is_upper = 2 * rest > n;
  if (is_upper) rest = n - rest;
  constexpr double kHalfPi = 1.57079632679489661923;
  auto [sin, cos] = MathOfRun().sincos(kHalfPi * (static_cast<double>(rest) / static_cast<double>(n)));
  if (is_upper) std::swap(sin, cos);
  Complex root = {cos, -sin};
  for (int64_t i = 0; i < quadrant; ++i) root = root.TurnedBack();
  return root;
}

Status FftPlan::Init(const KernelFrame& frame, int64_t n) {
  int64_t rest = n;
  for (int factor = 2; factor <= kMaxRadix; ++factor) {
    while (rest % factor == 0) rest /= factor;
  }
  return rest == 1 ? InitPasses(frame, n) : InitConvolution(frame, n);
}

Status FftPlan::InitPasses(const KernelFrame& frame, int64_t n) {
  n_ = n;
  int64_t rest = n;
  for (int factor = 4; rest > 1; factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2) {
    while (rest % factor == 0) {
      factors_[num_factors_++] = factor;
      rest /= factor;
    }
  }
  TANDEM_RETURN_IF_ERROR(roots_.Init(frame, n));
  InSteps(n, kPollSteps / 4, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) roots_.data()[k] = RootOfUnity(k, n);
  });
  return KernelRun::CheckWanted();
}

Status FftPlan::InitConvolution(const KernelFrame& frame, int64_t n) {
  n_ = n;
  inner_.reset(new (std::nothrow) FftPlan);
  if (inner_ == nullptr || n > INT64_MAX / 8) return Status::OutOfMemory();
  int64_t length = 2 * n - 1;
  while (!IsSmooth(length)) ++length;
  TANDEM_RETURN_IF_ERROR(inner_->InitPasses(frame, length));
  TANDEM_RETURN_IF_ERROR(chirp_.Init(frame, n));
  TANDEM_RETURN_IF_ERROR(filter_.Init(frame, 2 * length));
  int64_t square = 0;  // k^2 modulo 2 n
  StopPoll poll(kPollSteps / 4);
  for (int64_t k = 0; k < n; ++k) {
    if (poll.Stops()) return KernelRun::CheckWanted();
    chirp_.data()[k] = RootOfUnity(square, 2 * n);
    square = (square + 2 * k + 1) % (2 * n);
  }
  Complex* const filter = filter_.data();
  std::fill_n(filter, length, Complex{0, 0});
  for (int64_t k = 0; k < n; ++k) {
    filter[k] = 1 / static_cast<double>(length) * chirp_.data()[k].Conjugate();
    if (k > 0) filter[length - k] = filter[k];
  }
  inner_->Transform(filter);
  return KernelRun::CheckWanted();
}

void FftPlan::Transform(Complex* work) const {
  inner_ == nullptr ? TransformByPasses(work) : TransformByConvolution(work);
}

void FftPlan::TransformByPasses(Complex* work) const {
  Complex* from = work;
  Complex* to = work + n_;
  int64_t count = 1;
  for (int i = 0; i < num_factors_; ++i) {
    const int radix = factors_[i];
    const int64_t length = n_ / (count * radix);
    const auto pass = radix == 2   ? &Pass<2>
                      : radix == 3 ? &Pass<3>
                      : radix == 4 ? &Pass<4>
                      : radix == 5 ? &Pass<5>
                                   : &Pass<0>;
    pass(radix, count, length, roots_.data(), from, to);
    if (KernelRun::IsStopped()) return;
    count *= radix;
    std::swap(from, to);
  }
  if (from != work) std::copy_n(from, n_, work);
}

void FftPlan::TransformByConvolution(Complex* work) const {
  const int64_t length = inner_->n_;
  for (int64_t k = 0; k < n_; ++k) work[k] = work[k] * chirp_.data()[k];
  std::fill(work + n_, work + length, Complex{0, 0});
  inner_->Transform(work);
  // The inverse transform is the conjugate of that of the conjugates.
  for (int64_t k = 0; k < length; ++k) work[k] = (work[k] * filter_.data()[k]).Conjugate();
  inner_->Transform(work);
  for (int64_t k = 0; k < n_; ++k) work[k] = work[k].Conjugate() * chirp_.data()[k];
}

}  // namespace tandem::cpu
