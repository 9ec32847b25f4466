// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Adam: steps whose size follows from running means of each gradient and of its square.

#ifndef TANDEM_EXAMPLES_DIGITS_ADAM_H_
#define TANDEM_EXAMPLES_DIGITS_ADAM_H_

#include <cstdint>
#include <vector>

#include "digits/layers.h"

namespace digits {

// D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015, with its constants: means decay by 0.9
// and 0.999, and 1e-8 keeps the divisor from zero. One thread at a time.
class Adam {
 public:
  // One step for `parameters`, the same ones in the same order each time.
  void Step(const std::vector<Parameter*>& parameters, float learning_rate);

 private:
  struct Means {
    Tensor gradient;
    Tensor square;
  };
  std::vector<Means> means_;
  int64_t steps_ = 0;
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_ADAM_H_
