// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Forward pass, backward pass and updates, one op at a time.

#include "digits/perceptron.h"

#include <cmath>

#include "tandem/ops.h"

namespace digits {

using tandem::DType;
using tandem::Status;
using tandem::StatusOr;
using tandem::TensorShape;
namespace eager = tandem::eager;

namespace {
std::string ParameterName(size_t layer, const char* what) { return "layer" + std::to_string(layer) + "." + what; }
}  // namespace

Perceptron::Perceptron(eager::Runtime& runtime, const std::vector<int64_t>& widths, uint32_t seed)
    : runtime_(&runtime), widths_(widths) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const auto scale = static_cast<float>(std::sqrt(2.0 / static_cast<double>(widths[i])));
    const Tensor key = runtime.FromValues<int32_t>({static_cast<int32_t>(seed), static_cast<int32_t>(i)}, {2});
    Layer layer;
    layer.weight = mul(statelessRandomNormal({widths[i], widths[i + 1]}, key), scale);
    layer.bias = runtime.FromValues<float>(std::vector<float>(static_cast<size_t>(widths[i + 1])), {widths[i + 1]});
    layer.weight_velocity = zerosLike(layer.weight);
    layer.bias_velocity = zerosLike(layer.bias);
    num_ops_ += 4;
    layers_.push_back(std::move(layer));
  }
}

std::vector<eager::Tensor> Perceptron::Activations(const Tensor& pictures) {
  std::vector<Tensor> activations = {pictures};
  for (size_t i = 0; i < layers_.size(); ++i) {
    Tensor sum = biasAdd(matMul(activations.back(), layers_[i].weight), layers_[i].bias);
    const bool is_last = i + 1 == layers_.size();
    activations.push_back(is_last ? std::move(sum) : relu(std::move(sum)));
    num_ops_ += is_last ? 2 : 3;
  }
  return activations;
}

eager::Tensor Perceptron::Forward(const Tensor& pictures) { return Activations(pictures).back(); }

eager::Tensor Perceptron::Train(const Tensor& pictures, const Tensor& labels, float learning_rate, float momentum) {
  std::vector<Tensor> activations = Activations(pictures);
  auto [losses, backprop] = sparseSoftmaxCrossEntropyWithLogits(activations.back(), labels);
  Tensor loss = mean(std::move(losses), {0});
  // The gradient of the mean loss by the logits, from the last layer to the first.
  const auto batch = static_cast<float>(labels.Metadata()->num_elements());
  Tensor gradient = mul(std::move(backprop), 1.0f / batch);
  num_ops_ += 3;
  for (size_t i = layers_.size(); i-- > 0;) {
    Layer& layer = layers_[i];
    Tensor weight_gradient = matMul(activations[i], gradient, {.transpose_a = true});
    Tensor bias_gradient = biasAddGrad(gradient);
    num_ops_ += 2;
    if (i > 0) {
      gradient = reluGrad(matMul(gradient, layer.weight, {.transpose_b = true}), activations[i]);
      num_ops_ += 2;
    }
    Update(layer.weight, layer.weight_velocity, std::move(weight_gradient), learning_rate, momentum);
    Update(layer.bias, layer.bias_velocity, std::move(bias_gradient), learning_rate, momentum);
  }
  return loss;
}

void Perceptron::Update(Tensor& parameter, Tensor& velocity, Tensor gradient, float learning_rate, float momentum) {
  // Temporaries and moved tensors give their memory to the results: an update allocates one buffer, for the product.
  velocity = add(mul(std::move(velocity), momentum), std::move(gradient));
  parameter = sub(std::move(parameter), mul(velocity, learning_rate));
  num_ops_ += 4;
}

int64_t Perceptron::num_parameters() const {
  int64_t count = 0;
  for (size_t i = 0; i + 1 < widths_.size(); ++i) count += (widths_[i] + 1) * widths_[i + 1];
  return count;
}

Status Perceptron::Store(const std::string& path) const {
  std::vector<std::string> names;
  names.reserve(2 * layers_.size());  // the views below stay valid
  std::vector<TensorToStore> tensors;
  const auto add_tensor = [&](const Tensor& tensor, std::string name) -> Status {
    TANDEM_ASSIGN_OR_RETURN(const std::span<const float> values, tensor.Values<float>());
    names.push_back(std::move(name));
    tensors.push_back({names.back(),
                       DType::kF32,
                       tensor.Metadata()->shape,
                       {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()}});
    return Status();
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    TANDEM_RETURN_IF_ERROR(add_tensor(layers_[i].weight, ParameterName(i, "weight")));
    TANDEM_RETURN_IF_ERROR(add_tensor(layers_[i].bias, ParameterName(i, "bias")));
  }
  return WriteSafetensors(path, tensors, {{"model", "perceptron"}});
}

StatusOr<Perceptron> Perceptron::Load(eager::Runtime& runtime, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const SafetensorsContents file, ReadSafetensors(path));
  Perceptron model(runtime);
  const auto parameter = [&](const std::string& name, int rank) -> StatusOr<Tensor> {
    const StoredTensor* stored = file.Find(name);
    if (stored == nullptr) {
      return tandem::MakeError(tandem::StatusCode::kDataLoss, path, " must have a tensor ", name, ", got none");
    }
    if (stored->dtype != DType::kF32 || stored->shape.rank() != rank) {
      return tandem::MakeError(tandem::StatusCode::kDataLoss, "tensor ", name, " of ", path, " must be f32 of rank ",
                               rank, ", got ", tandem::TensorMetadata(stored->dtype, stored->shape));
    }
    return runtime.FromBytes(DType::kF32, std::as_bytes(stored->bytes.bytes()), stored->shape);
  };
  for (size_t i = 0; i == 0 || file.Find(ParameterName(i, "weight")) != nullptr; ++i) {
    Layer layer;
    TANDEM_ASSIGN_OR_RETURN(layer.weight, parameter(ParameterName(i, "weight"), 2));
    TANDEM_ASSIGN_OR_RETURN(layer.bias, parameter(ParameterName(i, "bias"), 1));
    const TensorShape weight = layer.weight.Metadata()->shape;
    const TensorShape bias = layer.bias.Metadata()->shape;
    if ((i > 0 && weight.dim(0) != model.widths_.back()) || bias.dim(0) != weight.dim(1)) {
      return tandem::MakeError(tandem::StatusCode::kDataLoss, "layers of ", path, " must fit together, got ",
                               ParameterName(i, "weight"), " ", weight, " and bias ", bias);
    }
    if (i == 0) model.widths_.push_back(weight.dim(0));
    model.widths_.push_back(weight.dim(1));
    layer.weight_velocity = zerosLike(layer.weight);
    layer.bias_velocity = zerosLike(layer.bias);
    model.layers_.push_back(std::move(layer));
  }
  return model;
}

}  // namespace digits
