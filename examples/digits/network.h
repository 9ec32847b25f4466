// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A network of layers, trained with Adam on the cross entropy, every step an op call.

#ifndef TANDEM_EXAMPLES_DIGITS_NETWORK_H_
#define TANDEM_EXAMPLES_DIGITS_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "digits/adam.h"
#include "digits/layers.h"
#include "digits/processes.h"
#include "tandem/eager.h"

namespace digits {

// One thread at a time.
class Network {
 public:
  // For pictures of `rows` x `cols` in one channel; `layers` as MakeLayers reads them.
  static tandem::StatusOr<Network> Create(tandem::eager::Runtime& runtime, const std::string& layers, int64_t rows,
                                          int64_t cols, uint32_t seed);
  // From a file that Store wrote, which fixes layers and size of the pictures.
  static tandem::StatusOr<Network> Load(tandem::eager::Runtime& runtime, const std::string& path);

  // Logits f32 [n, classes] of pictures f32 [n, rows * cols].
  Tensor Forward(const Tensor& pictures);

  // One step of Adam on a batch with labels i32 [n]; gives the mean loss, f32 [], which may still be pending.
  // `processes` train the same network together, each on its share of the batch.
  Tensor Train(const Tensor& pictures, const Tensor& labels, float learning_rate, Processes& processes);

  // Writes safetensors: layerI.weight and layerI.bias, I counting all layers from 0; layers and size of the pictures
  // are in the metadata ("layers", "rows", "cols").
  tandem::Status Store(const std::string& path);

  const std::string& layers() const { return text_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t num_parameters();
  // Of the last layer.
  int64_t num_classes();

 private:
  Network(std::string text, int64_t rows, int64_t cols, std::vector<std::unique_ptr<Layer>> layers);
  // With "layerI." before its name, for each parameter.
  template <typename Function>
  tandem::Status ForEachParameter(Function function);

  std::string text_;
  int64_t rows_;
  int64_t cols_;
  std::vector<std::unique_ptr<Layer>> layers_;
  Adam adam_;
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_NETWORK_H_
