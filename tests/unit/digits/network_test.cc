// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The network of examples/digits: gradients against differences, Adam and augmentation against their formulas, files.

#include "digits/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "digits/adam.h"
#include "digits/augmentation.h"
#include "digits/drawn_digits.h"
#include "digits/layers.h"
#include "digits/processes.h"
#include "tandem/ops.h"
#include "tandem/safetensors.h"
#include "temporary_folder.h"

namespace digits {
namespace {

using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;
using tandem::TemporaryFolder;
using tandem::TensorShape;
using tandem::eager::Runtime;
using tandem::eager::SaveSafetensors;

class NetworkTest : public ::testing::Test {
 protected:
  Tensor Values(const std::vector<float>& values, const TensorShape& shape) {
    return runtime_->FromValues<float>(std::span<const float>(values), shape);
  }
  // Numbers in [-1, 1).
  std::vector<float> Draw(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = random_.Uniform(-1, 1);
    return values;
  }
  std::vector<std::unique_ptr<Layer>> Layers(const std::string& text, const PictureShape& input) {
    auto layers = MakeLayers(*runtime_, text, input, /*seed=*/3);
    EXPECT_TRUE(layers.ok()) << layers.status().ToString();
    return std::move(layers).value();
  }
  Status LayersError(const std::string& text) {
    return MakeLayers(*runtime_, text, {.rows = 5, .cols = 4, .channels = 1}, 0).status();
  }

  std::unique_ptr<Runtime> runtime_ = std::move(Runtime::Create({.num_threads = 1}).value());
  Pcg32 random_{7, 54};
};

Tensor Forward(const std::vector<std::unique_ptr<Layer>>& layers, Tensor value) {
  for (const auto& layer : layers) value = layer->Forward(value);
  return value;
}

// sum(weights * results), in f64: a loss whose gradient by the results is the weights.
double Loss(const std::vector<std::unique_ptr<Layer>>& layers, const Tensor& input, const std::vector<float>& weights) {
  const std::vector<float> results = Forward(layers, input).ToVector<float>().value();
  EXPECT_EQ(results.size(), weights.size());
  double loss = 0;
  for (size_t i = 0; i < results.size(); ++i) loss += static_cast<double>(weights[i]) * results[i];
  return loss;
}

TEST_F(NetworkTest, BackwardGivesTheSlopesOfTheLoss) {
  const PictureShape input = {.rows = 6, .cols = 5, .channels = 1};
  const auto layers = Layers("conv3:3 pool conv2:2 dense:4 dense:3", input);
  const Tensor pictures = Values(Draw(2 * input.size()), {2, input.rows, input.cols, 1});
  const std::vector<float> weights = Draw(2 * 3);
  Forward(layers, pictures);
  Tensor gradient = Values(weights, {2, 3});
  for (size_t i = layers.size(); i-- > 0;) gradient = layers[i]->Backward(gradient, i > 0);
  EXPECT_FALSE(gradient.IsValid());

  // A step this small crosses a ReLU's or a pool's edge in few places; those would be far off.
  constexpr float kStep = 1e-3f;
  int checked = 0, off = 0;
  for (const auto& layer : layers) {
    for (Parameter& parameter : layer->parameters()) {
      const std::vector<float> expected = parameter.gradient.ToVector<float>().value();
      const std::vector<float> values = parameter.value.ToVector<float>().value();
      const TensorShape shape = parameter.value.Metadata()->shape;
      ASSERT_EQ(parameter.gradient.Metadata()->shape, shape);
      for (size_t i = 0; i < values.size(); ++i) {
        std::vector<float> moved = values;
        moved[i] = values[i] + kStep;
        parameter.value = Values(moved, shape);
        const double above = Loss(layers, pictures, weights);
        moved[i] = values[i] - kStep;
        parameter.value = Values(moved, shape);
        const double slope = (above - Loss(layers, pictures, weights)) / (2.0 * kStep);
        ++checked;
        off += std::abs(slope - expected[i]) > 1e-3 * std::max(1.0, std::abs(slope));
      }
      parameter.value = Values(values, shape);
    }
  }
  EXPECT_EQ(checked, 9 * 3 + 3 + 4 * 3 * 2 + 2 + 12 * 4 + 4 + 4 * 3 + 3);
  EXPECT_LE(off, checked / 50);
}

TEST_F(NetworkTest, DenseLayerTakesPicturesAsTheyAre) {
  const auto layers = Layers("dense:2", {.rows = 2, .cols = 3, .channels = 1});
  const std::vector<float> x = Draw(6);
  const std::vector<float> weight = layers[0]->parameters()[0].value.ToVector<float>().value();
  layers[0]->parameters()[1].value = Values({0.5f, -0.25f}, {2});
  const std::vector<float> y = layers[0]->Forward(Values(x, {1, 2, 3, 1})).ToVector<float>().value();
  for (size_t j = 0; j < 2; ++j) {
    double sum = j == 0 ? 0.5 : -0.25;
    for (size_t i = 0; i < 6; ++i) sum += static_cast<double>(x[i]) * weight[2 * i + j];
    EXPECT_NEAR(y[j], sum, 1e-6);
  }
}

TEST_F(NetworkTest, WrongLayersSayWhatIsWrong) {
  EXPECT_EQ(LayersError("").message(), "layers must end with a dense layer, got ''");
  EXPECT_EQ(LayersError("dense:3 pool").message(), "layers must end with a dense layer, got 'dense:3 pool'");
  EXPECT_EQ(LayersError("conv3 dense:3").message(),
            "layers must be convK:C, pool or dense:N, such as conv3:16, got 'conv3'");
  for (const char* word : {"conv0:3", "conv32:1", "conv:3", "convx:3", "conv3:-1", "conv3:4x", "dense:0", "pool:2",
                           "dense:99999999999999999999", "Dense:3", "conv3:"}) {
    EXPECT_EQ(LayersError(std::string(word) + " dense:1").message(),
              "layers must be convK:C, pool or dense:N, such as conv3:16, got '" + std::string(word) + "'");
  }
  EXPECT_EQ(LayersError("dense:3 conv3:2 dense:1").message(),
            "layer 1 must not be a convolution because a dense layer comes before it");
  EXPECT_EQ(LayersError("dense:3 pool dense:1").message(),
            "layer 1 must not be a pool because a dense layer comes before it");
  EXPECT_EQ(LayersError("pool pool pool dense:1").message(),
            "a picture must have at least 2x2 pixels to be pooled, got 1x1 before layer 2");
  EXPECT_EQ(LayersError("dense:16000000 dense:3").message(),
            "a layer must have at most 2^24 weights, got 20 x 16000000 in layer 0");
}

TEST_F(NetworkTest, AdamStepsAsItsFormulaSays) {
  const std::vector<float> start = {1.0f, -2.0f, 0.5f};
  Parameter parameter{"weight", Values(start, {3}), {}};
  Adam adam;
  std::vector<double> value(start.begin(), start.end()), mean(3), square(3);
  for (int step = 1; step <= 5; ++step) {
    const std::vector<float> gradient = Draw(3);
    parameter.gradient = Values(gradient, {3});
    adam.Step({&parameter}, 0.01f);
    for (size_t i = 0; i < 3; ++i) {
      const double g = gradient[i];
      mean[i] = 0.9 * mean[i] + 0.1 * g;
      square[i] = 0.999 * square[i] + 0.001 * g * g;
      const double unbiased_mean = mean[i] / (1 - std::pow(0.9, step));
      const double unbiased_square = square[i] / (1 - std::pow(0.999, step));
      value[i] -= 0.01 * unbiased_mean / (std::sqrt(unbiased_square) + 1e-8);
    }
    const std::vector<float> now = parameter.value.ToVector<float>().value();
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(now[i], value[i], 2e-6) << "step " << step;
  }
}

TEST_F(NetworkTest, AugmentationMovesWhatIsThere) {
  constexpr int64_t kRows = 12, kCols = 10, kCount = 8;
  Augmentation augmentation(*runtime_, kRows, kCols, /*seed=*/5);
  // A disk in the middle: however it is turned or shifted, its ink stays about the same and between paper and ink.
  std::vector<float> pictures;
  double ink = 0;
  for (int64_t i = 0; i < kCount * kRows * kCols; ++i) {
    const double y = static_cast<double>(i / kCols % kRows) - 5.5, x = static_cast<double>(i % kCols) - 4.5;
    pictures.push_back(x * x + y * y < 9 ? 1.0f : 0.0f);
    ink += pictures.back() / kCount;
  }
  const Tensor input = Values(pictures, {kCount, kRows * kCols});
  const std::vector<float> first = augmentation.Apply(input, kCount).ToVector<float>().value();
  const std::vector<float> second = augmentation.Apply(input, kCount).ToVector<float>().value();
  EXPECT_NE(first, second);
  ASSERT_EQ(first.size(), pictures.size());
  for (int64_t picture = 0; picture < kCount; ++picture) {
    double sum = 0;
    for (int64_t i = 0; i < kRows * kCols; ++i) {
      const float value = first[static_cast<size_t>(picture * kRows * kCols + i)];
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
      sum += value;
    }
    EXPECT_NEAR(sum / ink, 1, 0.45);  // 15 % more or less each way
  }
}

TEST_F(NetworkTest, AugmentationKeepsAnEvenPicture) {
  Augmentation augmentation(*runtime_, 6, 6, /*seed=*/5);
  const std::vector<float> even(2 * 36, 0.75f);
  const std::vector<float> result = augmentation.Apply(Values(even, {2, 36}), 2).ToVector<float>().value();
  ASSERT_EQ(result.size(), even.size());
  for (float value : result) EXPECT_FLOAT_EQ(value, 0.75f);
}

TEST_F(NetworkTest, TrainingFitsAFewPictures) {
  Processes alone;
  StatusOr<Network> network = Network::Create(*runtime_, "conv3:4 pool dense:10", 8, 8, 1);
  ASSERT_TRUE(network.ok());
  const Tensor pictures = Values(Draw(5 * 64), {5, 64});
  const Tensor labels = runtime_->FromValues<int32_t>({3, 1, 4, 0, 9}, {5});
  float first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    last = network->Train(pictures, labels, 0.01f, alone).Item<float>().value();
    if (step == 0) first = last;
  }
  EXPECT_GT(first, 1.0f);
  EXPECT_LT(last, 0.05f);
  EXPECT_EQ(argMax(network->Forward(pictures), 1).ToVector<int64_t>().value(), (std::vector<int64_t>{3, 1, 4, 0, 9}));
}

class NetworkFileTest : public NetworkTest {
 protected:
  // A whole file with the given metadata.
  Status LoadError(const tandem::eager::NamedTexts& metadata) {
    const Status written = SaveSafetensors(path_, {}, {.metadata = metadata});
    EXPECT_TRUE(written.ok()) << written.ToString();
    return Network::Load(*runtime_, path_).status();
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("weights");
};

TEST_F(NetworkFileTest, WhatIsLoadedComputesTheSame) {
  StatusOr<Network> network = Network::Create(*runtime_, "conv3:4 pool dense:6 dense:10", 9, 7, 1);
  ASSERT_TRUE(network.ok());
  const std::string path = folder_.File("weights");
  const Status stored = network->Store(path);
  ASSERT_TRUE(stored.ok()) << stored.ToString();
  StatusOr<Network> loaded = Network::Load(*runtime_, path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->layers(), network->layers());
  EXPECT_EQ(loaded->rows(), 9);
  EXPECT_EQ(loaded->cols(), 7);
  EXPECT_EQ(loaded->num_classes(), 10);
  EXPECT_EQ(loaded->num_parameters(), 9 * 4 + 4 + 4 * 3 * 4 * 6 + 6 + 6 * 10 + 10);
  const Tensor pictures = Values(Draw(3 * 63), {3, 63});
  EXPECT_EQ(loaded->Forward(pictures).ToVector<float>().value(), network->Forward(pictures).ToVector<float>().value());
}

TEST_F(NetworkFileTest, DamagedFilesSayWhatIsWrong) {
  EXPECT_EQ(LoadError({}).message(), path_ + " must have 'layers' in its metadata, got none");
  EXPECT_EQ(LoadError({{"layers", "dense:3"}}).message(), path_ + " must have 'rows' in its metadata, got none");
  for (const char* rows : {"", "0", "-3", "4097", "7 ", "seven", "99999999999999999999"}) {
    EXPECT_EQ(LoadError({{"layers", "dense:3"}, {"rows", rows}}).message(),
              "rows of " + path_ + " must be in [1, 4096], got '" + rows + "'");
  }
  const Status bad_layers = LoadError({{"layers", "dance:3 dense:1"}, {"rows", "2"}, {"cols", "2"}});
  EXPECT_EQ(bad_layers.code(), StatusCode::kDataLoss);
  EXPECT_EQ(bad_layers.message(), "layers of " + path_ +
                                      " cannot be made: layers must be convK:C, pool or dense:N, such as conv3:16, "
                                      "got 'dance:3'");
  EXPECT_EQ(LoadError({{"layers", "dense:3"}, {"rows", "2"}, {"cols", "2"}}).message(),
            path_ + " must have a tensor layer0.weight, got none");

  const Status written = SaveSafetensors(path_, {{"layer0.weight", Values(Draw(6), {2, 3})}},
                                         {.metadata = {{"layers", "dense:3"}, {"rows", "2"}, {"cols", "2"}}});
  ASSERT_TRUE(written.ok()) << written.ToString();
  EXPECT_EQ(Network::Load(*runtime_, path_).status().message(),
            "tensor layer0.weight of " + path_ + " must be f32[4,3], got f32[2,3]");
}

}  // namespace
}  // namespace digits
