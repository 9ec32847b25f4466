// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LRN, LRNGrad: each pixel in f64.

#include "kernels/normalization/normalization_local.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/converted.h"
#include "kernels/polls.h"
#include "simd/scalar_math.h"

namespace tandem::cpu {
namespace {

struct LocalNorm {
  explicit LocalNorm(const OpAttrsRef& attrs, int64_t num_channels)
      : channels(num_channels),
        radius(std::min(attrs.GetOr<int64_t>("depth_radius", 5), num_channels)),
        bias(attrs.GetOr("bias", 1.0f)),
        alpha(attrs.GetOr("alpha", 1.0f)),
        beta(attrs.GetOr("beta", 0.5f)),
        math(MathOfRun()) {}

  int64_t First(int64_t c) const { return std::max<int64_t>(0, c - radius); }
  int64_t Last(int64_t c) const { return std::min(channels - 1, c + radius); }
  double Cost() const { return static_cast<double>(channels) * (20 + 2 * static_cast<double>(radius)); }

  // bias + alpha * s for channel `c` of the pixel at `x`.
  double Base(const float* x, int64_t c) const {
    double squares = 0;
    for (int64_t i = First(c); i <= Last(c); ++i) squares += static_cast<double>(x[i]) * x[i];
    return bias + alpha * squares;
  }
  // base^-beta, by roots for the powers that networks use.
  double Factor(double base) const {
    if (beta == 0.5) return 1 / std::sqrt(base);
    if (beta == 0.75) return 1 / (std::sqrt(base) * std::sqrt(std::sqrt(base)));
    if (beta == 1) return 1 / base;
    return math.pow(base, -beta);
  }

  int64_t channels;
  int64_t radius;
  double bias;
  double alpha;
  double beta;
  const ScalarMath& math;
};

Status LocalKernel(DenseArg input, KernelFrame& frame) {
  ConvertedResult<float> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<float> x;
  TANDEM_RETURN_IF_ERROR(x.Init(frame, input));
  const LocalNorm norm(frame.attrs(), input.shape().dim(3));
  frame.ParallelFor(result.size() / norm.channels, norm.Cost(), [&](int64_t begin, int64_t end) {
    StopPoll poll(kPollElements);
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      const float* from = x.data() + pixel * norm.channels;
      for (int64_t c = 0; c < norm.channels && !poll.Stops(2 * norm.radius + 1); ++c) {
        const double factor = norm.Factor(norm.Base(from, c));
        result.data()[pixel * norm.channels + c] = static_cast<float>(from[c] * factor);
      }
    }
  });
  result.Finish(frame);
  return Status();
}

Status LocalGradKernel(DenseArg input_grads, DenseArg input_image, DenseArg output_image, KernelFrame& frame) {
  ConvertedResult<float> result;
  TANDEM_RETURN_IF_ERROR(result.Init(frame, 0));
  if (result.data() == nullptr || result.size() == 0) return Status();
  ConvertedArg<float> gradients;
  ConvertedArg<float> x;
  ConvertedArg<float> y;
  TANDEM_RETURN_IF_ERROR(gradients.Init(frame, input_grads));
  TANDEM_RETURN_IF_ERROR(x.Init(frame, input_image));
  TANDEM_RETURN_IF_ERROR(y.Init(frame, output_image));
  const LocalNorm norm(frame.attrs(), input_image.shape().dim(3));
  const int64_t scratch_size = norm.channels * static_cast<int64_t>(sizeof(double));
  TANDEM_RETURN_IF_ERROR(ParallelForWithScratch(
      frame, result.size() / norm.channels, 2 * norm.Cost(), scratch_size,
      [&](int64_t begin, int64_t end, void* scratch) {
        auto* const shares = static_cast<double*>(scratch);  // what each channel's result gives to those around it
        StopPoll poll(kPollElements);
        for (int64_t pixel = begin; pixel < end; ++pixel) {
          const int64_t first = pixel * norm.channels;
          const float* from = x.data() + first;
          float* const to = result.data() + first;
          for (int64_t c = 0; c < norm.channels && !poll.Stops(2 * norm.radius + 1); ++c) {
            const double base = norm.Base(from, c);
            const double gradient = gradients.data()[first + c];
            shares[c] = gradient * y.data()[first + c] / base;
          }
          for (int64_t c = 0; c < norm.channels && !poll.Stops(2 * norm.radius + 1); ++c) {
            double sum = 0;
            for (int64_t i = norm.First(c); i <= norm.Last(c); ++i) sum += shares[i];
            const double direct = gradients.data()[first + c] * norm.Factor(norm.Base(from, c));
            to[c] = static_cast<float>(direct - 2 * norm.alpha * norm.beta * from[c] * sum);
          }
        }
      }));
  result.Finish(frame);
  return Status();
}

}  // namespace

Status RegisterLocalNormalizationKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kDTypes = {DType::kF16, DType::kBF16, DType::kF32};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&LocalKernel>("tf.LRN", kDTypes, {20}),
      KernelEntryOf<&LocalGradKernel>("tf.LRNGrad", kDTypes, {30}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
