// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Passes over the layers, and the weights' file.

#include "digits/network.h"

#include <charconv>
#include <utility>

#include "tandem/ops.h"
#include "tandem/safetensors.h"

namespace digits {

using tandem::DType;
using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;
using tandem::eager::NamedTensors;
using tandem::eager::Runtime;
using tandem::eager::SafetensorsEntry;
using tandem::eager::SafetensorsFile;

namespace {

constexpr int64_t kMaxSide = 4096;  // rows or columns of a picture in a file

StatusOr<std::string> FindText(const SafetensorsFile& file, const std::string& path, const std::string& name) {
  if (const auto found = file.FindMetadata(name)) return std::string(*found);
  return MakeError(StatusCode::kDataLoss, path, " must have '", name, "' in its metadata, got none");
}

StatusOr<int64_t> FindSide(const SafetensorsFile& file, const std::string& path, const std::string& name) {
  TANDEM_ASSIGN_OR_RETURN(const std::string text, FindText(file, path, name));
  int64_t side = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  if (error == std::errc() && end == text.data() + text.size() && side >= 1 && side <= kMaxSide) return side;
  return MakeError(StatusCode::kDataLoss, name, " of ", path, " must be in [1, ", kMaxSide, "], got '", text, "'");
}

}  // namespace

Network::Network(std::string text, int64_t rows, int64_t cols, std::vector<std::unique_ptr<Layer>> layers)
    : text_(std::move(text)), rows_(rows), cols_(cols), layers_(std::move(layers)) {}

StatusOr<Network> Network::Create(Runtime& runtime, const std::string& layers, int64_t rows, int64_t cols,
                                  uint32_t seed) {
  TANDEM_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Layer>> made,
                          MakeLayers(runtime, layers, {.rows = rows, .cols = cols, .channels = 1}, seed));
  return Network(layers, rows, cols, std::move(made));
}

Tensor Network::Forward(const Tensor& pictures) {
  Tensor value = reshape(pictures, {-1, rows_, cols_, 1});
  for (const auto& layer : layers_) value = layer->Forward(value);
  return value;
}

Tensor Network::Train(const Tensor& pictures, const Tensor& labels, float learning_rate, Processes& processes) {
  auto [losses, gradient] = sparseSoftmaxCrossEntropyWithLogits(Forward(pictures), labels);
  // Of the mean loss rather than of each one.
  gradient = realDiv(std::move(gradient), cast(size(labels), DType::kF32));
  for (size_t i = layers_.size(); i-- > 0;) gradient = layers_[i]->Backward(gradient, /*wants_input_gradient=*/i > 0);
  std::vector<Parameter*> parameters;
  for (const auto& layer : layers_) {
    for (Parameter& parameter : layer->parameters()) parameters.push_back(&parameter);
  }
  processes.AverageGradients(parameters);
  adam_.Step(parameters, learning_rate);
  return mean(std::move(losses), {0});
}

template <typename Function>
Status Network::ForEachParameter(Function function) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (Parameter& parameter : layers_[i]->parameters()) {
      TANDEM_RETURN_IF_ERROR(function(parameter, "layer" + std::to_string(i) + "." + std::string(parameter.name)));
    }
  }
  return Status();
}

int64_t Network::num_parameters() {
  int64_t count = 0;
  for (const auto& layer : layers_) {
    for (const Parameter& parameter : layer->parameters()) count += parameter.value.Metadata()->num_elements();
  }
  return count;
}

int64_t Network::num_classes() { return layers_.back()->parameters().back().value.Metadata()->dim(0); }

Status Network::Store(const std::string& path) {
  NamedTensors tensors;
  TANDEM_RETURN_IF_ERROR(ForEachParameter([&](const Parameter& parameter, std::string name) -> Status {
    tensors.emplace(std::move(name), parameter.value);
    return Status();
  }));
  return tandem::eager::SaveSafetensors(
      path, tensors,
      {.metadata = {{"layers", text_}, {"rows", std::to_string(rows_)}, {"cols", std::to_string(cols_)}}});
}

StatusOr<Network> Network::Load(Runtime& runtime, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  TANDEM_ASSIGN_OR_RETURN(const std::string layers, FindText(file, path, "layers"));
  TANDEM_ASSIGN_OR_RETURN(const int64_t rows, FindSide(file, path, "rows"));
  TANDEM_ASSIGN_OR_RETURN(const int64_t cols, FindSide(file, path, "cols"));
  StatusOr<Network> network = Create(runtime, layers, rows, cols, /*seed=*/0);
  if (!network.ok()) {
    return MakeError(StatusCode::kDataLoss, "layers of ", path, " cannot be made: ", network.status().message());
  }
  TANDEM_RETURN_IF_ERROR(network->ForEachParameter([&](Parameter& parameter, const std::string& name) -> Status {
    const SafetensorsEntry* stored = file.Find(name);
    if (stored == nullptr) {
      return MakeError(StatusCode::kDataLoss, path, " must have a tensor ", name, ", got none");
    }
    TANDEM_ASSIGN_OR_RETURN(const tandem::TensorMetadata expected, parameter.value.Metadata());
    if (stored->metadata != expected) {
      return MakeError(StatusCode::kDataLoss, "tensor ", name, " of ", path, " must be ", expected, ", got ",
                       stored->metadata);
    }
    // Moved once to where the ops run, rather than with each call.
    parameter.value = file.Load(runtime, name).To(*runtime.handler().device());
    return parameter.value.Await();
  }));
  return network;
}

}  // namespace digits
