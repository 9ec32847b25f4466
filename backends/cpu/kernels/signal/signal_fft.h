// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FftPlan: the discrete Fourier transform of any length, in f64.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_SIGNAL_SIGNAL_FFT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_SIGNAL_SIGNAL_FFT_H_

#include <cstdint>
#include <memory>

#include "kernels/scratch.h"

namespace tandem::cpu {

// A complex number, without the special cases of std::complex's arithmetic.
struct Complex {
  double re;
  double im;

  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
  Complex Conjugate() const { return {re, -im}; }
  // Times -i.
  Complex TurnedBack() const { return {im, -re}; }
};

// exp(-2 pi i k / n), 0 <= k < n, as exact as the sine and cosine of an angle of at most pi / 4.
Complex RootOfUnity(int64_t k, int64_t n);

// For transforms of one length: of prime factors up to 31 by passes of mixed radix (Stockham), of others as a
// convolution of such a length (Bluestein). Immutable once it is made.
class FftPlan {
 public:
  // ResourceExhausted. `n` is at least 1.
  Status Init(const KernelFrame& frame, int64_t n);

  // Elements that a transform works in, those that are transformed among them.
  int64_t work_size() const { return 2 * (inner_ == nullptr ? n_ : inner_->n_); }
  // Transforms work[0, n) in place; the rest is scratch. Ends early if the kernel is to end.
  void Transform(Complex* work) const;

 private:
  static constexpr int kMaxFactors = 64;

  Status InitPasses(const KernelFrame& frame, int64_t n);
  Status InitConvolution(const KernelFrame& frame, int64_t n);
  void TransformByPasses(Complex* work) const;
  void TransformByConvolution(Complex* work) const;

  int64_t n_ = 0;
  int num_factors_ = 0;
  int factors_[kMaxFactors];
  Scratch<Complex> roots_;  // exp(-2 pi i k / n)
  // Of a convolution: its transform; exp(-pi i k^2 / n); and the transform of the conjugates, scaled.
  std::unique_ptr<FftPlan> inner_;
  Scratch<Complex> chirp_;
  Scratch<Complex> filter_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_SIGNAL_SIGNAL_FFT_H_
