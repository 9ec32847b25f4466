// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers and the words that describe them.

#include "digits/layers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "tandem/ops.h"

namespace digits {

using tandem::InvalidArgument;
using tandem::Status;
using tandem::StatusOr;
using tandem::TensorShape;
using tandem::eager::Runtime;

namespace {

constexpr int64_t kMaxParameters = int64_t{1} << 24;  // of a layer
constexpr int64_t kMaxKernel = 31;                    // rows and columns

// Drawn weights of `shape`, for sums of `inputs` products.
Tensor DrawWeights(Runtime& runtime, std::span<const int64_t> shape, int64_t inputs, uint32_t seed, size_t layer) {
  const Tensor key = runtime.FromValues<int32_t>({static_cast<int32_t>(seed), static_cast<int32_t>(layer)}, {2});
  return mul(statelessRandomNormal(shape, key), std::sqrt(2.0 / static_cast<double>(inputs)));
}

Tensor Zeros(Runtime& runtime, int64_t size) {
  return runtime.FromValues<float>(std::vector<float>(static_cast<size_t>(size)), {size});
}

// Weights, biases and perhaps a ReLU, which dense layers and convolutions have in common.
class WeightedLayer : public Layer {
 public:
  Tensor Forward(const Tensor& input) final {
    input_ = input;
    output_ = biasAdd(Multiply(input, weight()), bias());
    if (has_relu_) output_ = relu(std::move(output_));
    return output_;
  }

  Tensor Backward(const Tensor& gradient, bool wants_input_gradient) final {
    const Tensor before_relu = has_relu_ ? reluGrad(gradient, output_) : gradient;
    parameters_[0].gradient = WeightGradient(input_, before_relu);
    parameters_[1].gradient = biasAddGrad(before_relu);
    return wants_input_gradient ? InputGradient(input_, before_relu) : Tensor();
  }

  std::span<Parameter> parameters() final { return parameters_; }

 protected:
  WeightedLayer(Tensor weight, Tensor bias, bool has_relu)
      : parameters_{Parameter{"weight", std::move(weight), {}}, Parameter{"bias", std::move(bias), {}}},
        has_relu_(has_relu) {}

  const Tensor& weight() const { return parameters_[0].value; }
  const Tensor& bias() const { return parameters_[1].value; }

 private:
  virtual Tensor Multiply(const Tensor& input, const Tensor& weight) = 0;
  virtual Tensor WeightGradient(const Tensor& input, const Tensor& gradient) = 0;
  virtual Tensor InputGradient(const Tensor& input, const Tensor& gradient) = 0;

  std::array<Parameter, 2> parameters_;
  bool has_relu_;
  Tensor input_, output_;
};

// Of inputs of any shape [n, ...], taken as [n, inputs].
class Dense final : public WeightedLayer {
 public:
  Dense(Tensor weight, Tensor bias, bool has_relu, int64_t inputs)
      : WeightedLayer(std::move(weight), std::move(bias), has_relu), inputs_(inputs) {}

 private:
  Tensor Flat(const Tensor& input) const { return reshape(input, {-1, inputs_}); }
  Tensor Multiply(const Tensor& input, const Tensor& weight) override { return matMul(Flat(input), weight); }
  Tensor WeightGradient(const Tensor& input, const Tensor& gradient) override {
    return matMul(Flat(input), gradient, {.transpose_a = true});
  }
  Tensor InputGradient(const Tensor& input, const Tensor& gradient) override {
    return reshape(matMul(gradient, weight(), {.transpose_b = true}), shape(input));
  }

  int64_t inputs_;
};

class Convolution final : public WeightedLayer {
 public:
  Convolution(Tensor weight, Tensor bias) : WeightedLayer(std::move(weight), std::move(bias), /*has_relu=*/true) {}

 private:
  Tensor Multiply(const Tensor& input, const Tensor& weight) override {
    return conv2d(input, weight, {1, 1, 1, 1}, "SAME");
  }
  Tensor WeightGradient(const Tensor& input, const Tensor& gradient) override {
    return conv2dBackpropFilter(input, shape(weight()), gradient, {1, 1, 1, 1}, "SAME");
  }
  Tensor InputGradient(const Tensor& input, const Tensor& gradient) override {
    return conv2dBackpropInput(shape(input), weight(), gradient, {1, 1, 1, 1}, "SAME");
  }
};

class Pool final : public Layer {
 public:
  Tensor Forward(const Tensor& input) override {
    input_ = input;
    output_ = maxPool(input, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
    return output_;
  }
  Tensor Backward(const Tensor& gradient, bool wants_input_gradient) override {
    if (!wants_input_gradient) return Tensor();
    return maxPoolGrad(input_, output_, gradient, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }

 private:
  Tensor input_, output_;
};

// A number in [1, max] that is the whole of `text`.
bool ParseNumber(std::string_view text, int64_t max, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= max;
}

// Builds layer after layer, keeping the shape between them.
class LayerParser {
 public:
  LayerParser(Runtime& runtime, const PictureShape& input, uint32_t seed)
      : runtime_(runtime), shape_(input), seed_(seed) {}

  StatusOr<std::unique_ptr<Layer>> Parse(std::string_view word, bool is_last) {
    const size_t colon = word.find(':');
    const std::string_view number = colon == std::string_view::npos ? "" : word.substr(colon + 1);
    const std::string_view kind = word.substr(0, colon);
    int64_t kernel = 0;
    int64_t count = 0;
    ++index_;
    if (word == "pool") return MakePool();
    if (kind == "dense" && ParseNumber(number, kMaxParameters, count)) return MakeDense(count, is_last);
    if (kind.starts_with("conv") && ParseNumber(kind.substr(4), kMaxKernel, kernel) &&
        ParseNumber(number, kMaxParameters, count)) {
      return MakeConvolution(kernel, count);
    }
    return InvalidArgument("layers must be convK:C, pool or dense:N, such as conv3:16, got '", word, "'");
  }

 private:
  Status CheckIsPicture(std::string_view what) const {
    if (!is_flat_) return Status();
    return InvalidArgument("layer ", index_ - 1, " must not be ", what, " because a dense layer comes before it");
  }

  Status CheckParameters(int64_t inputs, int64_t outputs) const {
    if (inputs <= kMaxParameters / outputs) return Status();
    return InvalidArgument("a layer must have at most 2^24 weights, got ", inputs, " x ", outputs, " in layer ",
                           index_ - 1);
  }

  StatusOr<std::unique_ptr<Layer>> MakePool() {
    TANDEM_RETURN_IF_ERROR(CheckIsPicture("a pool"));
    if (shape_.rows < 2 || shape_.cols < 2) {
      return InvalidArgument("a picture must have at least 2x2 pixels to be pooled, got ", shape_.rows, "x",
                             shape_.cols, " before layer ", index_ - 1);
    }
    shape_ = {shape_.rows / 2, shape_.cols / 2, shape_.channels};
    return std::unique_ptr<Layer>(std::make_unique<Pool>());
  }

  StatusOr<std::unique_ptr<Layer>> MakeDense(int64_t count, bool is_last) {
    const int64_t inputs = shape_.size();
    TANDEM_RETURN_IF_ERROR(CheckParameters(inputs, count));
    shape_ = {1, 1, count};
    is_flat_ = true;
    Tensor weights = DrawWeights(runtime_, std::array{inputs, count}, inputs, seed_, index_ - 1);
    return std::unique_ptr<Layer>(
        std::make_unique<Dense>(std::move(weights), Zeros(runtime_, count), !is_last, inputs));
  }

  StatusOr<std::unique_ptr<Layer>> MakeConvolution(int64_t kernel, int64_t count) {
    TANDEM_RETURN_IF_ERROR(CheckIsPicture("a convolution"));
    const int64_t inputs = kernel * kernel * shape_.channels;
    TANDEM_RETURN_IF_ERROR(CheckParameters(inputs, count));
    Tensor weights =
        DrawWeights(runtime_, std::array{kernel, kernel, shape_.channels, count}, inputs, seed_, index_ - 1);
    shape_.channels = count;
    return std::unique_ptr<Layer>(std::make_unique<Convolution>(std::move(weights), Zeros(runtime_, count)));
  }

  Runtime& runtime_;
  PictureShape shape_;
  uint32_t seed_;
  size_t index_ = 0;
  bool is_flat_ = false;
};

}  // namespace

StatusOr<std::vector<std::unique_ptr<Layer>>> MakeLayers(Runtime& runtime, std::string_view text,
                                                         const PictureShape& input, uint32_t seed) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; (begin = text.find_first_not_of(' ', begin)) != std::string_view::npos;) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  if (words.empty() || !words.back().starts_with("dense")) {
    return InvalidArgument("layers must end with a dense layer, got '", text, "'");
  }
  LayerParser parser(runtime, input, seed);
  std::vector<std::unique_ptr<Layer>> layers;
  for (size_t i = 0; i < words.size(); ++i) {
    TANDEM_ASSIGN_OR_RETURN(std::unique_ptr<Layer> layer, parser.Parse(words[i], i + 1 == words.size()));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace digits
