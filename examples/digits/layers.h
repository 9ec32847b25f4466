// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The layers of a network: forward and backward passes as op calls.

#ifndef TANDEM_EXAMPLES_DIGITS_LAYERS_H_
#define TANDEM_EXAMPLES_DIGITS_LAYERS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/eager.h"

namespace digits {

using tandem::eager::Tensor;

// A tensor that training changes.
struct Parameter {
  std::string_view name;  // "weight" or "bias"
  Tensor value;
  Tensor gradient;  // of the loss, once Backward has run
};

// One thread at a time.
class Layer {
 public:
  virtual ~Layer() = default;
  // Keeps what Backward needs.
  virtual Tensor Forward(const Tensor& input) = 0;
  // Takes the gradient of the loss by the last result of Forward, and sets those of the parameters. Gives the gradient
  // by the input, or a null tensor if that is not wanted.
  virtual Tensor Backward(const Tensor& gradient, bool wants_input_gradient) = 0;
  virtual std::span<Parameter> parameters() { return {}; }
};

// Height, width and channels of what goes from layer to layer; {1, 1, n} after the first dense layer.
struct PictureShape {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
  int64_t size() const { return rows * cols * channels; }
};

// The layers that `text` describes, words separated by spaces:
//   convK:C   a convolution with C filters of KxK, padded so that the picture keeps its size, and a ReLU
//   pool      the largest of each 2x2, rounded down
//   dense:N   N sums over all inputs, each with a weight of its own, and a ReLU unless it is the last layer
// Parameters come from `seed`: weights from a normal distribution of variance 2 / inputs (K. He et al., "Delving Deep
// into Rectifiers", 2015), biases zero. InvalidArgument for anything else, for a picture too small to pool, and for
// layers of more than 2^24 parameters; a convolution or pool cannot follow a dense layer.
tandem::StatusOr<std::vector<std::unique_ptr<Layer>>> MakeLayers(tandem::eager::Runtime& runtime, std::string_view text,
                                                                 const PictureShape& input, uint32_t seed);

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_LAYERS_H_
