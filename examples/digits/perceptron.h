// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A multi-layer perceptron whose forward pass, gradients and updates are op calls.

#ifndef TANDEM_EXAMPLES_DIGITS_PERCEPTRON_H_
#define TANDEM_EXAMPLES_DIGITS_PERCEPTRON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "digits/safetensors.h"
#include "tandem/eager.h"

namespace digits {

// Dense layers with a ReLU between them: `widths` are the sizes of input, hidden layers and output. Trained by
// stochastic gradient descent with momentum on the cross entropy. One thread at a time.
class Perceptron {
 public:
  using Tensor = tandem::eager::Tensor;

  // Weights drawn from a normal distribution of variance 2 / inputs (He et al., 2015), from `seed`; biases zero.
  Perceptron(tandem::eager::Runtime& runtime, const std::vector<int64_t>& widths, uint32_t seed);
  // Weights from a file that Store wrote; the file fixes the widths.
  static tandem::StatusOr<Perceptron> Load(tandem::eager::Runtime& runtime, const std::string& path);

  // Logits f32 [n, classes] of pictures f32 [n, inputs].
  Tensor Forward(const Tensor& pictures);

  // One step on a batch with labels i32 [n]; gives the mean loss, f32 [], which may still be pending.
  Tensor Train(const Tensor& pictures, const Tensor& labels, float learning_rate, float momentum);

  // Writes the weights as safetensors: layerI.weight [inputs, outputs] and layerI.bias [outputs].
  tandem::Status Store(const std::string& path) const;

  const std::vector<int64_t>& widths() const { return widths_; }
  int64_t num_parameters() const;
  // Op calls made so far.
  int64_t num_ops() const { return num_ops_; }

 private:
  struct Layer {
    Tensor weight, bias;
    Tensor weight_velocity, bias_velocity;
  };
  explicit Perceptron(tandem::eager::Runtime& runtime) : runtime_(&runtime) {}
  // Outputs of all layers, the input first.
  std::vector<Tensor> Activations(const Tensor& pictures);
  void Update(Tensor& parameter, Tensor& velocity, Tensor gradient, float learning_rate, float momentum);

  tandem::eager::Runtime* runtime_;
  std::vector<int64_t> widths_;
  std::vector<Layer> layers_;
  int64_t num_ops_ = 0;
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_PERCEPTRON_H_
