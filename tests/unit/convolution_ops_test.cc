// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Convolutions of sizes that fit no tile, with each instruction set and several numbers of threads: against sums of
// products in f64, alike with any number of threads (NU-2), and with fused ops as without.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "instruction_sets.h"
#include "op_test_fixture.h"

namespace tandem {
namespace {

// A runtime with so many threads.
class Machine {
 public:
  explicit Machine(int threads) : runtime_(MakeOptions(threads)) {
    EXPECT_TRUE(RegisterAllOps(runtime_.registry()).ok());
    cpu_ = *CreateCpuOpHandler(runtime_);
  }

  template <typename T>
  TensorHandle Dense(const TensorShape& shape, const std::vector<T>& values) {
    HostContext& host = runtime_.host();
    StatusOr<Tensor> tensor =
        MakeDense({kDTypeOf<T>, shape}, std::as_bytes(std::span(values)), host.device(), host.allocator());
    EXPECT_TRUE(tensor.ok());
    return TensorHandle::MakeAvailable(*std::move(tensor));
  }
  std::vector<float> Run(std::string_view op, OpArgs args, const OpAttrsRef& attrs) {
    TensorHandle result;
    runtime_.Execute(op, cpu_, Location(), args.span(), attrs, {&result, 1});
    const Status status = runtime_.host().Await(result);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok() || result.IsError()) {
      ADD_FAILURE() << (result.IsError() ? result.GetError().ToString() : "");
      return {};
    }
    const auto* data = static_cast<const float*>(result.tensor().data());
    return {data, data + result.tensor().num_elements()};
  }

 private:
  static HostContext::Options MakeOptions(int threads) {
    HostContext::Options options;
    options.work_queue = threads == 1 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(threads);
    return options;
  }

  CoreRuntime runtime_;
  KernelOpHandler* cpu_ = nullptr;
};

// A convolution of an image [batch, rows, cols, depth] by a filter [size, size, depth, width], or [size, size, depth,
// 1] if it is depthwise; channels last.
struct Case {
  int64_t batch, rows, cols, depth, size, width, stride;
  bool is_depthwise = false;
  bool is_same = true;
  int64_t dilation = 1;

  int64_t channels() const { return is_depthwise ? depth : width; }
  int64_t Outputs(int64_t length) const {
    const int64_t span = (size - 1) * dilation + 1;
    return is_same ? (length + stride - 1) / stride : (length - span) / stride + 1;
  }
  int64_t Padding(int64_t length) const {
    const int64_t span = (size - 1) * dilation + 1;
    return is_same ? std::max<int64_t>(0, (Outputs(length) - 1) * stride + span - length) / 2 : 0;
  }
  OpAttrsRef Attributes(std::string_view activation = "") const {
    OpAttrs attrs;
    internal::SetAttrs(attrs, "strides", std::vector<int64_t>{1, stride, stride, 1}, "padding",
                       is_same ? "SAME" : "VALID", "dilations", std::vector<int64_t>{1, dilation, dilation, 1});
    if (!activation.empty())
      attrs.SetArray<std::string_view>("fused_ops", std::vector<std::string_view>{"BiasAdd", activation});
    return attrs.Freeze();
  }
  // Where in the image what an output sees through a tap of the filter lies: elements from there on; -1: beside it.
  int64_t Seen(int64_t out, int64_t tap) const {
    const int64_t col = out % Outputs(cols), row = out / Outputs(cols) % Outputs(rows);
    const int64_t y = row * stride + tap / size * dilation - Padding(rows);
    const int64_t x = col * stride + tap % size * dilation - Padding(cols);
    if (y < 0 || x < 0 || y >= rows || x >= cols) return -1;
    return ((out / Outputs(cols) / Outputs(rows) * rows + y) * cols + x) * depth;
  }
  TensorShape ImageShape() const { return {batch, rows, cols, depth}; }
  TensorShape OutputShape() const { return {batch, Outputs(rows), Outputs(cols), channels()}; }
  std::string Text() const {
    return TextOf(batch, "x", rows, "x", cols, "x", depth, " ", size, "x", size, " to ", width, " stride ", stride,
                  " dilation ", dilation, is_depthwise ? " depthwise" : "", is_same ? "" : " valid");
  }
};

std::vector<float> Numbers(int64_t count, uint32_t seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return numbers;
}

// The sums of products, and how large they may be without cancellation.
struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;
};
Sums Convolve(const Case& c, const std::vector<float>& image, const std::vector<float>& filter) {
  Sums sums;
  const int64_t channels = c.channels();
  for (int64_t i = 0; i < c.OutputShape().num_elements(); ++i) {
    const int64_t channel = i % channels;
    double sum = 0, magnitude = 0;
    for (int64_t tap = 0; tap < c.size * c.size; ++tap) {
      const int64_t seen = c.Seen(i / channels, tap);
      if (seen < 0) continue;
      for (int64_t k = c.is_depthwise ? channel : 0; k < (c.is_depthwise ? channel + 1 : c.depth); ++k) {
        const float weight = filter[c.is_depthwise ? tap * c.depth + k : (tap * c.depth + k) * c.width + channel];
        const double product = static_cast<double>(image[seen + k]) * static_cast<double>(weight);
        sum += product;
        magnitude += std::fabs(product);
      }
    }
    sums.values.push_back(sum);
    sums.magnitudes.push_back(magnitude);
  }
  return sums;
}

// The gradient of the filter, if that of the outputs is `gradient`.
Sums FilterGradient(const Case& c, const std::vector<float>& image, const std::vector<float>& gradient) {
  Sums sums;
  sums.values.resize(static_cast<size_t>(c.size * c.size * c.depth * c.width));
  sums.magnitudes.resize(sums.values.size());
  for (int64_t i = 0; i < c.OutputShape().num_elements(); ++i) {
    for (int64_t tap = 0; tap < c.size * c.size; ++tap) {
      const int64_t seen = c.Seen(i / c.width, tap);
      if (seen < 0) continue;
      for (int64_t k = 0; k < c.depth; ++k) {
        const double product = static_cast<double>(image[seen + k]) * static_cast<double>(gradient[i]);
        const int64_t weight = (tap * c.depth + k) * c.width + i % c.width;
        sums.values[weight] += product;
        sums.magnitudes[weight] += std::fabs(product);
      }
    }
  }
  return sums;
}

// The bits, with one kind of NaN.
std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::isnan(value) ? 0xFFFFFFFFu : std::bit_cast<uint32_t>(value));
  return bits;
}

class ConvolutionOpsTest : public testing::Test {
 protected:
  ConvolutionOpsTest() {
    for (const int threads : {1, 2, 3, 8}) machines_.push_back(std::make_unique<Machine>(threads));
  }

  void Check(const Case& c) {
    SCOPED_TRACE(c.Text());
    const std::vector<float> image = Numbers(c.ImageShape().num_elements(), 1);
    const std::vector<float> filter = Numbers(c.size * c.size * c.depth * (c.is_depthwise ? 1 : c.width), 2);
    const Sums sums = Convolve(c, image, filter);
    const std::string_view op = c.is_depthwise ? "tf.DepthwiseConv2dNative" : "tf.Conv2D";
    cpu::ForEachInstructionSet([&](std::string_view name) {
      SCOPED_TRACE(name);
      CheckSums(sums, [&](Machine& machine) {
        return machine.Run(op, Arguments(machine, c, image, filter), c.Attributes());
      });
      CheckFused(c, image, filter);
    });
  }

  void CheckFilterGradient(const Case& c) {
    SCOPED_TRACE(c.Text());
    const std::vector<float> image = Numbers(c.ImageShape().num_elements(), 1);
    const std::vector<float> gradient = Numbers(c.OutputShape().num_elements(), 2);
    const std::vector<int32_t> filter_sizes({static_cast<int32_t>(c.size), static_cast<int32_t>(c.size),
                                             static_cast<int32_t>(c.depth), static_cast<int32_t>(c.width)});
    const Sums sums = FilterGradient(c, image, gradient);
    cpu::ForEachInstructionSet([&](std::string_view name) {
      SCOPED_TRACE(name);
      CheckSums(sums, [&](Machine& machine) {
        OpArgs args = {machine.Dense(c.ImageShape(), image), machine.Dense({4}, filter_sizes),
                       machine.Dense(c.OutputShape(), gradient)};
        return machine.Run("tf.Conv2DBackpropFilter", std::move(args), c.Attributes());
      });
    });
  }

 private:
  // What `compute` gives on each machine: near the sums, the same bits on all.
  template <typename Compute>
  void CheckSums(const Sums& sums, const Compute& compute) {
    std::vector<uint32_t> bits;
    for (const auto& machine : machines_) {
      const std::vector<float> result = compute(*machine);
      ASSERT_EQ(result.size(), sums.values.size());
      if (!bits.empty()) {
        EXPECT_EQ(BitsOf(result), bits);
        continue;
      }
      bits = BitsOf(result);
      size_t wrong = 0;
      for (size_t i = 0; i < result.size(); ++i) {
        wrong += !(std::fabs(static_cast<double>(result[i]) - sums.values[i]) <= 1e-5 * sums.magnitudes[i]);
      }
      EXPECT_EQ(wrong, 0u);
    }
  }

  static OpArgs Arguments(Machine& machine, const Case& c, const std::vector<float>& image,
                          const std::vector<float>& filter) {
    return {machine.Dense(c.ImageShape(), image),
            machine.Dense({c.size, c.size, c.depth, c.is_depthwise ? 1 : c.width}, filter)};
  }

  // What is fused gives the bits of the ops one by one, of NaN and zeros, too.
  void CheckFused(const Case& c, std::vector<float> image, const std::vector<float>& filter) {
    image[image.size() / 3] = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(image.begin(), std::min<size_t>(image.size() / 5, static_cast<size_t>(3 * c.depth * c.cols)), -1e-38f);
    std::vector<float> bias = Numbers(c.channels(), 3);
    for (size_t i = 0; i < bias.size(); i += 3) bias[i] = -0.0f;
    const std::string_view op = c.is_depthwise ? "tf.DepthwiseConv2dNative" : "tf.Conv2D";
    const std::string fused_op = c.is_depthwise ? "tf._FusedDepthwiseConv2dNative" : "tf._FusedConv2D";
    const TensorShape shape = c.OutputShape();
    Machine& machine = *machines_[0];
    const std::vector<float> sums = machine.Run(op, Arguments(machine, c, image, filter), c.Attributes());
    const std::vector<float> biased =
        machine.Run("tf.BiasAdd", {machine.Dense(shape, sums), machine.Dense({c.channels()}, bias)}, {});
    for (const std::string_view activation : {"Relu", "Relu6"}) {
      SCOPED_TRACE(activation);
      const std::vector<float> expected = machine.Run(TextOf("tf.", activation), {machine.Dense(shape, biased)}, {});
      for (const auto& other : machines_) {
        OpArgs product_args = Arguments(*other, c, image, filter);
        std::vector<TensorHandle> args;
        for (TensorHandle& arg : product_args.span()) args.push_back(std::move(arg));
        args.push_back(other->Dense({c.channels()}, bias));
        EXPECT_EQ(BitsOf(other->Run(fused_op, std::move(args), c.Attributes(activation))), BitsOf(expected));
      }
    }
  }

  std::vector<std::unique_ptr<Machine>> machines_;
};

TEST_F(ConvolutionOpsTest, NU2_OfSinglePixels) {
  Check({1, 5, 5, 7, 1, 5, 1});
  Check({1, 7, 7, 300, 1, 160, 1});  // more outputs than two tiles, several slices of depth
  Check({2, 13, 11, 24, 1, 65, 1});  // images in one row of pixels
  Check({1, 31, 37, 16, 1, 24, 1});  // half of a panel
  Check({3, 9, 9, 40, 1, 33, 1, false, false});
  Check({1, 20, 21, 33, 1, 17, 2});  // not all pixels
}

TEST_F(ConvolutionOpsTest, NU2_OfWindows) {
  Check({1, 14, 15, 33, 3, 70, 1});  // a filter that is larger than the image
  Check({2, 7, 9, 64, 3, 96, 2});
  Check({1, 10, 9, 32, 3, 64, 1, false, true, 2});
  Check({2, 12, 11, 16, 3, 16, 1});  // half of a panel
  Check({2, 23, 19, 3, 3, 32, 2});
  Check({1, 29, 31, 17, 3, 16, 1, false, false});
  Check({1, 17, 16, 12, 3, 40, 1, false, true, 2});
}

// Tiles depend on how far from each other the pixels lie that outputs see.
TEST_F(ConvolutionOpsTest, NU2_OfRowsOfPixels) {
  for (const int64_t cols : {7, 10, 13, 14, 21, 28}) {
    for (const int64_t width : {9, 20, 24, 47}) {
      Check({1, 9, cols, 8, 3, width, 1});
      Check({2, 8, cols, 3, 3, width, 1, false, false});  // runs that no loop's turns fit in
      Check({1, 11, 2 * cols, 4, 3, width, 2});
    }
    Check({2, 9, cols, 1, 5, 16, 1});
    Check({1, 9, cols, 5, 1, 40, 1});
    Check({1, 6, cols, 20, 3, 16, 1, false, true, 2});
  }
}

TEST_F(ConvolutionOpsTest, NU2_GradientsOfFilters) {
  for (const int64_t depth : {1, 3, 8, 11, 16}) {
    for (const int64_t width : {5, 16, 33}) {
      CheckFilterGradient({3, 9, 10, depth, 3, width, 1});
      CheckFilterGradient({2, 12, 7, depth, 3, width, 2});
      CheckFilterGradient({2, 11, 13, depth, 3, width, 1, false, false, 2});
    }
  }
  CheckFilterGradient({1, 3, 300, 6, 3, 20, 1});  // more outputs in a row than have a run each
  CheckFilterGradient({60, 14, 14, 16, 3, 32, 1});
  CheckFilterGradient({1, 9, 9, 40, 1, 24, 1});
}

TEST_F(ConvolutionOpsTest, NU2_Depthwise) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t length : {4, 7, 8, 13, 14, 19}) {
      Check({2, length, length + 1, 33, 3, 1, stride, true});
      Check({1, length + 3, length, 48, 3, 1, stride, true, false});
    }
    Check({1, 61, 58, 100, 3, 1, stride, true});  // larger than a second-level cache
    Check({1, 9, 40, 31, 3, 1, stride, true});
  }
  Check({1, 60, 60, 80, 3, 1, 1, true, true, 2});
  Check({1, 20, 18, 40, 5, 1, 2, true});
}

}  // namespace
}  // namespace tandem
