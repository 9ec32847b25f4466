// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Two networks with random weights: MobileNetV2, batch normalization folded, and a BERT encoder; as layers, whatever
// runs them.

#ifndef TANDEM_TESTS_BENCH_NETWORKS_H_
#define TANDEM_TESTS_BENCH_NETWORKS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/op_handler.h"
#include "tandem/program.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// Numbers of a shape.
struct NetworkTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

struct MobileNet {
  struct Layer {
    bool is_depthwise;
    int64_t stride;
    bool has_relu6;
    bool begins_block;
    bool ends_residual;    // its result is added to what its block began with
    NetworkTensor filter;  // [rows, columns, in, out], or [rows, columns, channels, 1]
    NetworkTensor bias;
  };

  // For images [1, image_size, image_size, 3]; width 1 is the usual one, `classes` that of the result.
  static MobileNet Make(int64_t image_size, double width, int64_t classes);

  NetworkTensor image;
  std::vector<Layer> layers;
  NetworkTensor dense;  // behind the mean over the image
  NetworkTensor dense_bias;
};

struct Bert {
  struct Dense {
    NetworkTensor weights;  // [in, out]
    NetworkTensor bias;
  };
  struct Norm {
    NetworkTensor scale;
    NetworkTensor bias;
  };
  struct Layer {
    Dense query;
    Dense key;
    Dense value;
    Dense output;
    Norm norm;
    Dense up;
    Dense down;
    Norm last_norm;
  };

  // The result is [tokens, hidden].
  static Bert Make(int64_t tokens, int64_t hidden, int64_t heads, int64_t num_layers, int64_t vocabulary);

  int64_t tokens;
  int64_t hidden;
  int64_t heads;
  std::vector<int32_t> ids;
  NetworkTensor vocabulary;
  NetworkTensor positions;
  Norm norm;
  std::vector<Layer> layers;
};

inline constexpr float kBertEpsilon = 1e-12f;

// A network's weights as tensors, and its ops as eager calls.
class EagerNetwork {
 public:
  // `handler` runs the ops: perhaps one that records. Both outlive it.
  EagerNetwork(CoreRuntime& runtime, OpHandler* handler) : runtime_(runtime), handler_(handler) {}

  // The weights become tensors first; each run is of one input.
  void Load(const MobileNet& network);
  void Load(const Bert& network);
  // Moves the input, and all weights but those that ops read on the host, to another device.
  void MoveTo(const Device& device);

  TensorHandle Input() const { return input_.CopyRef(); }
  TensorHandle Run(const TensorHandle& input);

 private:
  TensorHandle MakeTensor(const NetworkTensor& tensor);
  TensorHandle Integers(std::vector<int32_t> values);
  TensorHandle Number(float value);
  // The next weight.
  TensorHandle Weight() { return weights_[next_weight_++].CopyRef(); }
  TensorHandle Call(std::string_view op, std::vector<TensorHandle> args, const OpAttrsRef& attrs = {});
  TensorHandle RunMobileNet(const TensorHandle& image);
  TensorHandle RunBert(const TensorHandle& ids);
  TensorHandle DenseLayer(TensorHandle x);
  TensorHandle NormLayer(TensorHandle x);
  TensorHandle Heads(TensorHandle x);

  CoreRuntime& runtime_;
  OpHandler* const handler_;
  const MobileNet* mobile_net_ = nullptr;
  const Bert* bert_ = nullptr;
  TensorHandle input_;
  std::vector<TensorHandle> weights_;  // in the order of their use
  size_t next_weight_ = 0;
};

// A network as a program, recorded of its eager calls on `handler`.
StatusOr<RcRef<const Program>> RecordNetwork(CoreRuntime& runtime, OpHandler& handler, const MobileNet& network);
StatusOr<RcRef<const Program>> RecordNetwork(CoreRuntime& runtime, OpHandler& handler, const Bert& network);

// The largest difference of two results, as a fraction of the largest element; infinite if their sizes differ.
double RelativeDifference(std::span<const float> expected, std::span<const float> given);

}  // namespace tandem

#endif  // TANDEM_TESTS_BENCH_NETWORKS_H_
