// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One step of Adam, an op at a time.

#include "digits/adam.h"

#include <cmath>
#include <utility>

#include "tandem/ops.h"

namespace digits {
namespace {

constexpr double kGradientDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

// A share of the old mean, and of the new value what is missing to one. Temporaries and moved tensors give their memory
// to the results.
Tensor MovedMean(Tensor mean, double decay, Tensor value) {
  return add(mul(std::move(mean), decay), mul(std::move(value), 1 - decay));
}

}  // namespace

void Adam::Step(const std::vector<Parameter*>& parameters, float learning_rate) {
  if (means_.empty()) {
    for (const Parameter* parameter : parameters) {
      means_.push_back({zerosLike(parameter->value), zerosLike(parameter->value)});
    }
  }
  ++steps_;
  // The means start at zero; this makes up for it.
  const auto steps = static_cast<double>(steps_);
  const double gradient_share = 1 - std::pow(kGradientDecay, steps);
  const double square_share = 1 - std::pow(kSquareDecay, steps);
  const double rate = learning_rate * std::sqrt(square_share) / gradient_share;
  const double epsilon = kEpsilon * std::sqrt(square_share);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = *parameters[i];
    Means& means = means_[i];
    means.square = MovedMean(std::move(means.square), kSquareDecay, square(parameter.gradient));
    means.gradient = MovedMean(std::move(means.gradient), kGradientDecay, std::move(parameter.gradient));
    Tensor step = realDiv(mul(means.gradient, rate), add(sqrt(means.square), epsilon));
    parameter.value = sub(std::move(parameter.value), std::move(step));
  }
}

}  // namespace digits
