// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Multinomial, StatelessMultinomial.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/converted.h"
#include "kernels/polls.h"
#include "kernels/random/random.h"
#include "simd/scalar_math.h"
#include "tandem/philox.h"

namespace tandem::cpu {
namespace {

// Number `i` of those that tf.StatelessRandomUniform gives in f64.
double UniformAt(const PhiloxStream& stream, int64_t i) {
  const PhiloxBlock block = stream.Block(static_cast<uint64_t>(i) / 2);
  const size_t first = i % 2 == 0 ? 0 : 2;
  const uint64_t bits = uint64_t{block[first] & 0xFFFFF} << 32 | block[first + 1];
  return static_cast<double>(bits) * 0x1p-52;
}

// The sums of the exponentials of a row's logits up to each, relative to the largest; 0 if no logit is finite.
double SumUp(const double* logits, int64_t classes, double* sums) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < classes; ++i) {
    if (std::isfinite(logits[i])) largest = std::max(largest, logits[i]);
  }
  const ScalarMath& math = MathOfRun();
  double sum = 0;
  StopPoll poll(kPollSteps);
  for (int64_t i = 0; i < classes && !poll.Stops(); ++i) {
    if (std::isfinite(logits[i])) sum += math.exp(logits[i] - largest);
    sums[i] = sum;
  }
  return sum;
}

struct Sampler {
  const double* sums;
  int64_t classes;
  int64_t samples;  // of each row
  PhiloxStream stream;

  int64_t Draw(int64_t i) const {
    const double* row = sums + i / samples * classes;
    return std::upper_bound(row, row + classes, UniformAt(stream, i) * row[classes - 1]) - row;
  }
};

Status DrawClasses(const DenseArg& logits, const PhiloxStream& stream, KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  const TensorMetadata& result = frame.result_metadata(0);
  if (out == nullptr || result.num_elements() == 0) return Status();
  const int64_t rows = logits.shape().dim(0);
  const int64_t classes = logits.shape().dim(1);
  if (classes == 0) return InvalidArgument("there must be at least one class, got logits: ", logits.metadata());
  ConvertedArg<double> numbers;
  Scratch<double> sums;
  TANDEM_RETURN_IF_ERROR(numbers.Init(frame, logits));
  TANDEM_RETURN_IF_ERROR(sums.Init(frame, logits.size()));
  frame.ParallelFor(rows, 20 * static_cast<double>(classes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      SumUp(numbers.data() + row * classes, classes, sums.data() + row * classes);
    }
  });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  for (int64_t row = 0; row < rows; ++row) {
    if (sums.data()[(row + 1) * classes - 1] > 0) continue;
    return InvalidArgument("each row of logits must have a finite number, got none in row ", row);
  }
  const Sampler sampler = {sums.data(), classes, result.shape.dim(1), stream};
  frame.ParallelFor(result.num_elements(), 40, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t drawn = sampler.Draw(i);
      if (result.dtype == DType::kI32) {
        static_cast<int32_t*>(out)[i] = static_cast<int32_t>(drawn);
      } else {
        static_cast<int64_t*>(out)[i] = drawn;
      }
    }
  });
  return Status();
}

Status MultinomialKernel(DenseArg logits, const Tensor&, KernelFrame& frame) {
  const auto seed = [&](const char* name) { return static_cast<uint64_t>(frame.attrs().GetOr<int64_t>(name, 0)); };
  return DrawClasses(logits, MakePhiloxStream(seed("seed"), seed("seed2")), frame);
}

Status StatelessMultinomialKernel(DenseArg logits, const Tensor&, DenseArg seed, KernelFrame& frame) {
  const auto part = [&](int i) {
    return static_cast<uint64_t>(seed.dtype() == DType::kI32 ? seed.data<int32_t>()[i] : seed.data<int64_t>()[i]);
  };
  return DrawClasses(logits, MakePhiloxStream(part(0), part(1)), frame);
}

}  // namespace

Status RegisterMultinomialKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&MultinomialKernel>("tf.Multinomial", kRealDTypes, {20}),
      KernelEntryOf<&StatelessMultinomialKernel>("tf.StatelessMultinomial", kRealDTypes, {20}),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
