// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FFT, IFFT, RFFT, IRFFT: transforms of rows, shared out among threads by rows.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/signal/signal_fft.h"

namespace tandem::cpu {
namespace {

struct Complex64 {
  float re;
  float im;
};

// Calls transform(row, work) for each row, with room for the plan's transform and `more` elements behind it.
Status ForEachRow(const KernelFrame& frame, const FftPlan& plan, int64_t n, int64_t rows,
                  FunctionRef<void(int64_t, Complex*)> transform) {
  const auto length = static_cast<double>(n);
  return ParallelForWithScratch(frame, rows, 3 * length * (1 + std::log2(length)),
                                plan.work_size() * static_cast<int64_t>(sizeof(Complex)),
                                [&](int64_t begin, int64_t end, void* scratch) {
                                  for (int64_t row = begin; row < end && !KernelRun::IsStopped(); ++row) {
                                    transform(row, static_cast<Complex*>(scratch));
                                  }
                                });
}

// The inverse transform is that of numbers whose real and imaginary parts are exchanged, with these exchanged again.
template <bool is_inverse>
Status ComplexKernel(DenseArg input, KernelFrame& frame) {
  auto* out = frame.AllocateResult<Complex64>(0);
  if (out == nullptr || input.size() == 0) return Status();
  const int64_t n = input.shape().dim(input.shape().rank() - 1);
  FftPlan plan;
  TANDEM_RETURN_IF_ERROR(plan.Init(frame, n));
  const double scale = is_inverse ? 1 / static_cast<double>(n) : 1;
  return ForEachRow(frame, plan, n, input.size() / n, [&](int64_t row, Complex* work) {
    const auto* from = input.data<Complex64>() + row * n;
    Complex64* const to = out + row * n;
    for (int64_t i = 0; i < n; ++i) {
      work[i] = is_inverse ? Complex{from[i].im, from[i].re} : Complex{from[i].re, from[i].im};
    }
    plan.Transform(work);
    for (int64_t i = 0; i < n; ++i) {
      const auto re = static_cast<float>(scale * work[i].re);
      const auto im = static_cast<float>(scale * work[i].im);
      to[i] = is_inverse ? Complex64{im, re} : Complex64{re, im};
    }
  });
}

// A row of n real numbers, of which `given` are there: for even n as a transform of n / 2 complex numbers, the real
// ones of even and of odd index.
void TransformReal(const FftPlan& plan, const Complex* roots, const float* from, int64_t given, int64_t n,
                   Complex* work, Complex64* to) {
  const auto at = [&](int64_t i) { return i < given ? static_cast<double>(from[i]) : 0.0; };
  const auto store = [to](int64_t k, Complex x) { to[k] = {static_cast<float>(x.re), static_cast<float>(x.im)}; };
  if (n % 2 != 0) {
    for (int64_t i = 0; i < n; ++i) work[i] = {at(i), 0};
    plan.Transform(work);
    for (int64_t k = 0; k <= n / 2; ++k) store(k, work[k]);
    return;
  }
  const int64_t half = n / 2;
  for (int64_t i = 0; i < half; ++i) work[i] = {at(2 * i), at(2 * i + 1)};
  plan.Transform(work);
  for (int64_t k = 0; k <= half; ++k) {
    const Complex x = work[k == half ? 0 : k];
    const Complex mirrored = work[k == 0 ? 0 : half - k].Conjugate();
    const Complex even = 0.5 * (x + mirrored);
    const Complex odd = 0.5 * (x - mirrored).TurnedBack();
    store(k, even + roots[k] * odd);
  }
}

// The inverse, from `given` elements of the transform.
void TransformToReal(const FftPlan& plan, const Complex* roots, const Complex64* from, int64_t given, int64_t n,
                     Complex* work, float* to) {
  const auto at = [&](int64_t k) {
    Complex x = {0, 0};
    if (k < given) x = {from[k].re, from[k].im};
    if (k == 0 || 2 * k == n) x.im = 0;
    return x;
  };
  const double scale = 1 / static_cast<double>(n);
  if (n % 2 != 0) {
    for (int64_t k = 0; k < n; ++k) {
      const Complex x = 2 * k <= n ? at(k) : at(n - k).Conjugate();
      work[k] = {x.im, x.re};
    }
    plan.Transform(work);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(scale * work[i].im);
    return;
  }
  const int64_t half = n / 2;
  for (int64_t k = 0; k < half; ++k) {
    const Complex x = at(k);
    const Complex mirrored = at(half - k).Conjugate();
    const Complex odd = (x - mirrored) * roots[k].Conjugate();
    const Complex sum = x + mirrored + Complex{-odd.im, odd.re};  // twice the numbers of even index, and i times odd
    work[k] = {sum.im, sum.re};
  }
  plan.Transform(work);
  for (int64_t i = 0; i < half; ++i) {
    to[2 * i] = static_cast<float>(scale * work[i].im);
    to[2 * i + 1] = static_cast<float>(scale * work[i].re);
  }
}

// T: of the elements of the argument, R: of those of the result.
template <typename T, typename R, auto transform>
Status RealKernel(DenseArg input, const Tensor& fft_length, KernelFrame& frame) {
  R* const out = frame.AllocateResult<R>(0);
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (out == nullptr || shape.num_elements() == 0) return Status();
  const int64_t n = *static_cast<const int32_t*>(fft_length.data());
  const int64_t given = input.shape().dim(input.shape().rank() - 1);
  const int64_t results = shape.dim(shape.rank() - 1);
  FftPlan plan;
  TANDEM_RETURN_IF_ERROR(plan.Init(frame, n % 2 == 0 ? n / 2 : n));
  Scratch<Complex> roots;
  if (n % 2 == 0) {
    TANDEM_RETURN_IF_ERROR(roots.Init(frame, n / 2 + 1));
    InSteps(n / 2 + 1, kPollSteps / 4, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) roots.data()[k] = RootOfUnity(k, n);
    });
  }
  return ForEachRow(frame, plan, n, shape.num_elements() / results, [&](int64_t row, Complex* work) {
    transform(plan, roots.data(), input.data<T>() + row * given, given, n, work, out + row * results);
  });
}

}  // namespace

Status RegisterSignalKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kComplex = {DType::kC64};
  static constexpr DTypeSet kReal = {DType::kF32};  // the dtype Treal, by which those of real numbers are looked up
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ComplexKernel<false>>("tf.FFT", kComplex, {20}),
      KernelEntryOf<&ComplexKernel<true>>("tf.IFFT", kComplex, {20}),
      KernelEntryOf<&RealKernel<float, Complex64, &TransformReal>>("tf.RFFT", kReal, {20}),
      KernelEntryOf<&RealKernel<Complex64, float, &TransformToReal>>("tf.IRFFT", kReal, {20}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
