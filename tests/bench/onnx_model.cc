// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Writes ONNX models: just the parts of the format that the benches need, as protocol buffers.

#include "onnx_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace tandem {

namespace {

// The numbers of fields and types are those of onnx.proto.
enum : int { kFloat = 1, kInt64 = 7 };

class Message {
 public:
  Message& Int(int field, int64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& Float(int field, float value) {
    Varint(static_cast<uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Message& Bytes(int field, std::string_view value) {
    Varint(static_cast<uint64_t>(field) << 3 | 2);
    Varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& Nested(int field, const Message& message) { return Bytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value > 127; value >>= 7) bytes_.push_back(static_cast<char>((value & 127) | 128));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

using Integers = std::vector<int64_t>;

Message Attribute(std::string_view name, int64_t value) { return Message().Bytes(1, name).Int(3, value).Int(20, 2); }
Message Attribute(std::string_view name, float value) { return Message().Bytes(1, name).Float(2, value).Int(20, 1); }
Message Attribute(std::string_view name, const char* value) {
  return Message().Bytes(1, name).Bytes(4, value).Int(20, 3);
}
Message Attribute(std::string_view name, const Integers& values) {
  Message message = Message().Bytes(1, name);
  for (const int64_t value : values) message.Int(8, value);
  return message.Int(20, 7);
}

Message ValueInfo(std::string_view name, int type, const Integers& shape) {
  Message dims;
  for (const int64_t size : shape) dims.Nested(1, Message().Int(1, size));
  return Message().Bytes(1, name).Nested(2, Message().Nested(1, Message().Int(1, type).Nested(2, dims)));
}

// A graph under construction. Values are referred to by their names.
class Graph {
 public:
  std::string Input(int type, const Integers& shape) {
    graph_.Nested(11, ValueInfo("x", type, shape));
    return "x";
  }
  std::string Constant(const NetworkTensor& tensor) {
    return AddConstant(kFloat, tensor.shape, std::as_bytes(std::span(tensor.values)));
  }
  std::string Constant(const Integers& values) {
    return AddConstant(kInt64, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values)));
  }
  std::string Number(float value) { return Constant(NetworkTensor{{}, {value}}); }

  std::string Node(std::string_view type, const std::vector<std::string>& inputs,
                   const std::vector<Message>& attributes = {}) {
    Message node;
    for (const std::string& input : inputs) node.Bytes(1, input);
    const std::string output = "v" + std::to_string(count_++);
    node.Bytes(2, output).Bytes(4, type);
    for (const Message& attribute : attributes) node.Nested(5, attribute);
    graph_.Nested(1, node);
    return output;
  }

  // The model's bytes, whose output is `name`.
  std::string Finish(std::string_view name, const Integers& shape) {
    graph_.Bytes(2, "bench").Nested(12, ValueInfo(name, kFloat, shape));
    const Message opset = Message().Bytes(1, "").Int(2, 20);
    return Message().Int(1, 9).Bytes(2, "tandem-bench").Nested(7, graph_).Nested(8, opset).bytes();
  }

 private:
  std::string AddConstant(int type, const Integers& shape, std::span<const std::byte> bytes) {
    const std::string name = "c" + std::to_string(count_++);
    Message message;
    for (const int64_t size : shape) message.Int(1, size);
    message.Int(2, type).Bytes(8, name);
    message.Bytes(9, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    graph_.Nested(5, message);
    return name;
  }

  Message graph_;
  int count_ = 0;
};

// With dimension i what dimension perm[i] was.
NetworkTensor Transposed(const NetworkTensor& tensor, const std::vector<size_t>& perm) {
  const size_t rank = perm.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * tensor.shape[i];
  NetworkTensor result;
  for (const size_t p : perm) result.shape.push_back(tensor.shape[p]);
  result.values.reserve(tensor.values.size());
  std::vector<int64_t> place(rank, 0);
  for (size_t n = 0; n < tensor.values.size(); ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += place[i] * strides[perm[i]];
    result.values.push_back(tensor.values[static_cast<size_t>(from)]);
    for (size_t i = rank; i-- > 0 && ++place[i] == result.shape[i];) place[i] = 0;
  }
  return result;
}

class BertGraph {
 public:
  explicit BertGraph(const Bert& network) : network_(network) {}

  std::string Build() {
    const std::string ids = graph_.Input(kInt64, {network_.tokens});
    const std::string rows =
        graph_.Node("Gather", {graph_.Constant(network_.vocabulary), ids}, {Attribute("axis", int64_t{0})});
    std::string x = Norm(graph_.Node("Add", {rows, graph_.Constant(network_.positions)}), network_.norm);
    const std::string scale = graph_.Number(1 / std::sqrt(static_cast<float>(network_.hidden / network_.heads)));
    for (const Bert::Layer& layer : network_.layers) {
      const std::string query = Heads(Dense(x, layer.query), {1, 0, 2});
      const std::string key = Heads(Dense(x, layer.key), {1, 2, 0});
      const std::string value = Heads(Dense(x, layer.value), {1, 0, 2});
      const std::string product = graph_.Node("Mul", {graph_.Node("MatMul", {query, key}), scale});
      const std::string scores = graph_.Node("Softmax", {product}, {Attribute("axis", int64_t{-1})});
      std::string mixed =
          graph_.Node("Transpose", {graph_.Node("MatMul", {scores, value})}, {Attribute("perm", Integers{1, 0, 2})});
      mixed = graph_.Node("Reshape", {mixed, graph_.Constant(Integers{network_.tokens, network_.hidden})});
      x = Norm(graph_.Node("Add", {Dense(mixed, layer.output), x}), layer.norm);
      const std::string up = graph_.Node("Gelu", {Dense(x, layer.up)});
      x = Norm(graph_.Node("Add", {Dense(up, layer.down), x}), layer.last_norm);
    }
    return graph_.Finish(x, {network_.tokens, network_.hidden});
  }

 private:
  std::string Dense(const std::string& x, const Bert::Dense& dense) {
    const std::string product = graph_.Node("MatMul", {x, graph_.Constant(dense.weights)});
    return graph_.Node("Add", {product, graph_.Constant(dense.bias)});
  }
  std::string Norm(const std::string& x, const Bert::Norm& norm) {
    return graph_.Node("LayerNormalization", {x, graph_.Constant(norm.scale), graph_.Constant(norm.bias)},
                       {Attribute("axis", int64_t{-1}), Attribute("epsilon", kBertEpsilon)});
  }
  std::string Heads(const std::string& x, const Integers& perm) {
    const std::string shape =
        graph_.Constant(Integers{network_.tokens, network_.heads, network_.hidden / network_.heads});
    return graph_.Node("Transpose", {graph_.Node("Reshape", {x, shape})}, {Attribute("perm", perm)});
  }

  const Bert& network_;
  Graph graph_;
};

}  // namespace

OnnxModel OnnxModelOf(const MobileNet& network) {
  Graph graph;
  OnnxModel model;
  model.input = Transposed(network.image, {0, 3, 1, 2});
  std::string x = graph.Input(kFloat, model.input.shape);
  const std::string zero = graph.Number(0);
  const std::string six = graph.Number(6);
  std::string block_input;
  for (const MobileNet::Layer& layer : network.layers) {
    if (layer.begins_block) block_input = x;
    const NetworkTensor filter =
        layer.is_depthwise ? Transposed(layer.filter, {2, 3, 0, 1}) : Transposed(layer.filter, {3, 2, 0, 1});
    const int64_t groups = layer.is_depthwise ? layer.bias.shape[0] : 1;
    x = graph.Node("Conv", {x, graph.Constant(filter), graph.Constant(layer.bias)},
                   {Attribute("auto_pad", "SAME_UPPER"), Attribute("strides", Integers{layer.stride, layer.stride}),
                    Attribute("group", groups)});
    if (layer.has_relu6) x = graph.Node("Clip", {x, zero, six});
    if (layer.ends_residual) x = graph.Node("Add", {x, block_input});
  }
  x = graph.Node("ReduceMean", {x, graph.Constant(Integers{2, 3})}, {Attribute("keepdims", int64_t{0})});
  x = graph.Node("Gemm", {x, graph.Constant(network.dense), graph.Constant(network.dense_bias)});
  model.bytes = graph.Finish(x, {1, network.dense.shape[1]});
  return model;
}

OnnxModel OnnxChainOf(std::span<const std::string> ops, int64_t elements) {
  static constexpr std::string_view kUnary[] = {"Abs", "Neg", "Relu", "Tanh", "Exp", "Sigmoid", "Gelu"};
  Graph graph;
  OnnxModel model;
  model.input = {{elements}, std::vector<float>(static_cast<size_t>(elements), 1.0f)};
  std::string x = graph.Input(kFloat, model.input.shape);
  const std::string y = graph.Constant({{elements}, std::vector<float>(static_cast<size_t>(elements), 0.5f)});
  for (const std::string& op : ops) {
    const bool is_unary = std::ranges::find(kUnary, op) != std::end(kUnary);
    x = graph.Node(op, is_unary ? std::vector<std::string>{x} : std::vector<std::string>{x, y});
  }
  model.bytes = graph.Finish(x, {elements});
  return model;
}

OnnxModel OnnxModelOf(const Bert& network) {
  OnnxModel model;
  model.is_integer = true;
  model.input = {{network.tokens}, {network.ids.begin(), network.ids.end()}};
  model.bytes = BertGraph(network).Build();
  return model;
}

}  // namespace tandem
