// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What layers the networks have, and which ops these are.

#include "networks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/program_recorder.h"

namespace tandem {

namespace {

// Numbers between -1 and 1, the same everywhere.
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {}

  NetworkTensor Draw(std::vector<int64_t> shape, double scale, double offset = 0) {
    NetworkTensor tensor = {std::move(shape), {}};
    const int64_t size = std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
    tensor.values.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) tensor.values.push_back(static_cast<float>(offset + scale * Next()));
    return tensor;
  }

 private:
  double Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state_ >> 32) - (int64_t{1} << 31)) / 2147483648.0;
  }

  uint64_t state_;
};

// Of that scale the elements of all layers are about as large.
double ScaleOf(int64_t terms) { return std::sqrt(6.0 / static_cast<double>(terms)); }

OpAttrsRef WindowAttrs(int64_t stride) {
  OpAttrs attrs;
  const int64_t strides[] = {1, stride, stride, 1};
  attrs.SetArray<int64_t>("strides", strides);
  attrs.Set("padding", "SAME");
  return attrs.Freeze();
}

template <typename T>
OpAttrsRef OneAttr(std::string_view name, T value) {
  OpAttrs attrs;
  attrs.Set(name, value);
  return attrs.Freeze();
}

// A tensor, or an error.
TensorHandle HandleOf(StatusOr<Tensor> tensor) {
  return tensor.ok() ? TensorHandle::MakeAvailable(*std::move(tensor)) : TensorHandle::MakeError(tensor.status());
}

template <typename... Handles>
std::vector<TensorHandle> List(Handles... handles) {
  std::vector<TensorHandle> list;
  (list.push_back(std::move(handles)), ...);
  return list;
}

}  // namespace

MobileNet MobileNet::Make(int64_t image_size, double width, int64_t classes) {
  static constexpr struct {
    int64_t expansion;
    int64_t channels;
    int repeats;
    int64_t stride;  // of the first
  } kBlocks[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  RandomSource random(2018);
  MobileNet network;
  const auto scaled = [width](int64_t channels) {
    return std::max<int64_t>(8, static_cast<int64_t>(static_cast<double>(channels) * width));
  };
  const auto convolution = [&](int64_t size, int64_t from, int64_t to, int64_t stride, bool has_relu6) {
    network.layers.push_back({false, stride, has_relu6, false, false,
                              random.Draw({size, size, from, to}, ScaleOf(size * size * from)),
                              random.Draw({to}, 0.1)});
  };
  network.image = random.Draw({1, image_size, image_size, 3}, 1);
  int64_t channels = scaled(32);
  convolution(3, 3, channels, 2, true);
  for (const auto& block : kBlocks) {
    for (int i = 0; i < block.repeats; ++i) {
      const int64_t stride = i == 0 ? block.stride : 1;
      const int64_t to = scaled(block.channels);
      const int64_t wide = channels * block.expansion;
      const size_t first = network.layers.size();
      if (block.expansion > 1) convolution(1, channels, wide, 1, true);
      network.layers.push_back(
          {true, stride, true, false, false, random.Draw({3, 3, wide, 1}, ScaleOf(9)), random.Draw({wide}, 0.1)});
      convolution(1, wide, to, 1, false);
      network.layers[first].begins_block = true;
      network.layers.back().ends_residual = stride == 1 && channels == to;
      channels = to;
    }
  }
  const int64_t last = scaled(1280);
  convolution(1, channels, last, 1, true);
  network.dense = random.Draw({last, classes}, ScaleOf(last));
  network.dense_bias = random.Draw({classes}, 0.1);
  return network;
}

Bert Bert::Make(int64_t tokens, int64_t hidden, int64_t heads, int64_t num_layers, int64_t vocabulary) {
  RandomSource random(2019);
  const auto dense = [&](int64_t from, int64_t to) {
    return Dense{random.Draw({from, to}, ScaleOf(from) / 2), random.Draw({to}, 0.1)};
  };
  const auto norm = [&] { return Norm{random.Draw({hidden}, 0.1, 1), random.Draw({hidden}, 0.1)}; };
  Bert network = {tokens, hidden, heads, {}, random.Draw({vocabulary, hidden}, 1), random.Draw({tokens, hidden}, 1),
                  norm(), {}};
  for (int64_t i = 0; i < tokens; ++i) network.ids.push_back(static_cast<int32_t>((i * 7919 + 13) % vocabulary));
  for (int64_t i = 0; i < num_layers; ++i) {
    network.layers.push_back({dense(hidden, hidden), dense(hidden, hidden), dense(hidden, hidden),
                              dense(hidden, hidden), norm(), dense(hidden, 4 * hidden), dense(4 * hidden, hidden),
                              norm()});
  }
  return network;
}

TensorHandle EagerNetwork::MakeTensor(const NetworkTensor& tensor) {
  HostContext& host = runtime_.host();
  return HandleOf(MakeDense({DType::kF32, TensorShape(tensor.shape)}, std::as_bytes(std::span(tensor.values)),
                            host.device(), host.allocator()));
}

TensorHandle EagerNetwork::Integers(std::vector<int32_t> values) {
  HostContext& host = runtime_.host();
  return HandleOf(MakeDense({DType::kI32, {static_cast<int64_t>(values.size())}}, std::as_bytes(std::span(values)),
                            host.device(), host.allocator()));
}

TensorHandle EagerNetwork::Number(float value) {
  return HandleOf(MakeScalar({DType::kF32, {}}, &value, runtime_.host().device()));
}

TensorHandle EagerNetwork::Call(std::string_view op, std::vector<TensorHandle> args, const OpAttrsRef& attrs) {
  TensorHandle result;
  runtime_.Execute(ExecutionContext(runtime_.host(), Location()), op, handler_, args, attrs, {&result, 1});
  return result;
}

void EagerNetwork::Load(const MobileNet& network) {
  mobile_net_ = &network;
  input_ = MakeTensor(network.image);
  for (const MobileNet::Layer& layer : network.layers) {
    weights_.push_back(MakeTensor(layer.filter));
    weights_.push_back(MakeTensor(layer.bias));
  }
  weights_.push_back(Integers({1, 2}));
  weights_.push_back(MakeTensor(network.dense));
  weights_.push_back(MakeTensor(network.dense_bias));
}

void EagerNetwork::Load(const Bert& network) {
  bert_ = &network;
  input_ = Integers(network.ids);
  const auto tokens = static_cast<int32_t>(network.tokens);
  const auto hidden = static_cast<int32_t>(network.hidden);
  const auto heads = static_cast<int32_t>(network.heads);
  const auto add_dense = [&](const Bert::Dense& dense) {
    weights_.push_back(MakeTensor(dense.weights));
    weights_.push_back(MakeTensor(dense.bias));
  };
  const auto add_norm = [&](const Bert::Norm& norm) {
    weights_.push_back(MakeTensor(norm.scale));
    weights_.push_back(MakeTensor(norm.bias));
  };
  const auto add_heads = [&] {
    weights_.push_back(Integers({tokens, heads, hidden / heads}));
    weights_.push_back(Integers({1, 0, 2}));
  };
  weights_.push_back(MakeTensor(network.vocabulary));
  const int32_t axis = 0;
  weights_.push_back(HandleOf(MakeScalar({DType::kI32, {}}, &axis, runtime_.host().device())));
  weights_.push_back(MakeTensor(network.positions));
  add_norm(network.norm);
  for (const Bert::Layer& layer : network.layers) {
    for (const Bert::Dense* dense : {&layer.query, &layer.key, &layer.value}) {
      add_dense(*dense);
      add_heads();
    }
    weights_.push_back(Number(1 / std::sqrt(static_cast<float>(hidden / heads))));
    weights_.push_back(Integers({1, 0, 2}));
    weights_.push_back(Integers({tokens, hidden}));
    add_dense(layer.output);
    add_norm(layer.norm);
    add_dense(layer.up);
    add_dense(layer.down);
    add_norm(layer.last_norm);
  }
}

void EagerNetwork::MoveTo(const Device& device) {
  const auto move = [&](TensorHandle& tensor) {
    tensor = tensor.TransferTo(ExecutionContext(runtime_.host(), Location()), device);
  };
  move(input_);
  // Axes, shapes and permutations are of i32.
  for (TensorHandle& weight : weights_) {
    if (!weight.IsError() && weight.tensor().dtype() == DType::kF32) move(weight);
  }
}

TensorHandle EagerNetwork::Run(const TensorHandle& input) {
  next_weight_ = 0;
  return mobile_net_ != nullptr ? RunMobileNet(input) : RunBert(input);
}

TensorHandle EagerNetwork::RunMobileNet(const TensorHandle& image) {
  TensorHandle x = image.CopyRef();
  TensorHandle block_input;
  for (const MobileNet::Layer& layer : mobile_net_->layers) {
    if (layer.begins_block) block_input = x.CopyRef();
    const std::string_view op = layer.is_depthwise ? "tf.DepthwiseConv2dNative" : "tf.Conv2D";
    TensorHandle filter = Weight();
    x = Call(op, List(std::move(x), std::move(filter)), WindowAttrs(layer.stride));
    x = Call("tf.BiasAdd", List(std::move(x), Weight()));
    if (layer.has_relu6) x = Call("tf.Relu6", List(std::move(x)));
    if (layer.ends_residual) x = Call("tf.AddV2", List(std::move(x), std::move(block_input)));
  }
  x = Call("tf.Mean", List(std::move(x), Weight()));
  return DenseLayer(std::move(x));
}

TensorHandle EagerNetwork::DenseLayer(TensorHandle x) {
  TensorHandle weights = Weight();
  x = Call("tf.MatMul", List(std::move(x), std::move(weights)));
  return Call("tf.BiasAdd", List(std::move(x), Weight()));
}

TensorHandle EagerNetwork::NormLayer(TensorHandle x) {
  TensorHandle scale = Weight();
  TensorHandle bias = Weight();
  return Call("tandem.LayerNorm", List(std::move(x), std::move(scale), std::move(bias)),
              OneAttr("epsilon", kBertEpsilon));
}

TensorHandle EagerNetwork::Heads(TensorHandle x) {
  x = Call("tf.Reshape", List(std::move(x), Weight()));
  return Call("tf.Transpose", List(std::move(x), Weight()));
}

TensorHandle EagerNetwork::RunBert(const TensorHandle& ids) {
  TensorHandle vocabulary = Weight();
  TensorHandle first_axis = Weight();
  TensorHandle x = Call("tf.GatherV2", List(std::move(vocabulary), ids.CopyRef(), std::move(first_axis)));
  x = NormLayer(Call("tf.AddV2", List(std::move(x), Weight())));
  for (size_t i = 0; i < bert_->layers.size(); ++i) {
    TensorHandle query = Heads(DenseLayer(x.CopyRef()));
    TensorHandle key = Heads(DenseLayer(x.CopyRef()));
    TensorHandle value = Heads(DenseLayer(x.CopyRef()));
    TensorHandle scores = Call("tf.BatchMatMulV2", List(std::move(query), std::move(key)), OneAttr("adj_y", true));
    scores = Call("tf.Softmax", List(Call("tf.Mul", List(std::move(scores), Weight()))));
    TensorHandle mixed = Call("tf.BatchMatMulV2", List(std::move(scores), std::move(value)));
    mixed = Call("tf.Transpose", List(std::move(mixed), Weight()));
    mixed = Call("tf.Reshape", List(std::move(mixed), Weight()));
    mixed = DenseLayer(std::move(mixed));
    x = NormLayer(Call("tf.AddV2", List(std::move(mixed), std::move(x))));
    TensorHandle up = Call("tandem.Gelu", List(DenseLayer(x.CopyRef())));
    TensorHandle down = DenseLayer(std::move(up));
    x = NormLayer(Call("tf.AddV2", List(std::move(down), std::move(x))));
  }
  return x;
}

namespace {

template <typename Network>
StatusOr<RcRef<const Program>> Record(CoreRuntime& runtime, OpHandler& handler, const Network& network) {
  TANDEM_ASSIGN_OR_RETURN(const RcRef<ProgramRecorder> recorder, ProgramRecorder::Start(runtime));
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const recording, recorder->HandlerOver(handler));
  EagerNetwork recorded(runtime, recording);
  recorded.Load(network);
  const TensorHandle input = recorded.Input();
  TANDEM_RETURN_IF_ERROR(recorder->AddInput(input));
  const TensorHandle output = recorded.Run(input);
  return recorder->Finish({&output, 1});
}

}  // namespace

StatusOr<RcRef<const Program>> RecordNetwork(CoreRuntime& runtime, OpHandler& handler, const MobileNet& network) {
  return Record(runtime, handler, network);
}
StatusOr<RcRef<const Program>> RecordNetwork(CoreRuntime& runtime, OpHandler& handler, const Bert& network) {
  return Record(runtime, handler, network);
}

double RelativeDifference(std::span<const float> expected, std::span<const float> given) {
  if (expected.size() != given.size()) return std::numeric_limits<double>::infinity();
  double largest = 0, worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(expected[i]) - static_cast<double>(given[i]));
    if (!(difference < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
    worst = std::max(worst, difference);
  }
  return largest > 0 ? worst / largest : worst;
}

}  // namespace tandem
