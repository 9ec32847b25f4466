// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Networks and chains of ops as ONNX models, and how ONNX Runtime runs them.

#ifndef TANDEM_TESTS_BENCH_ONNX_MODEL_H_
#define TANDEM_TESTS_BENCH_ONNX_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "networks.h"

namespace tandem {

// A model's bytes, and its only input, which is called "x": numbers, or integers as i64.
struct OnnxModel {
  std::string bytes;
  NetworkTensor input;
  bool is_integer = false;
};

OnnxModel OnnxModelOf(const MobileNet& network);
OnnxModel OnnxModelOf(const Bert& network);
// Ops of ONNX, one after the other, on so many elements; each that takes two arguments has 0.5 as its second.
OnnxModel OnnxChainOf(std::span<const std::string> ops, int64_t elements);

// A session of ONNX Runtime with all its optimizations. Errors end the program.
class OnnxSession {
 public:
  virtual ~OnnxSession() = default;
  virtual void Run() = 0;
  // Of the last run.
  virtual std::vector<float> Result() const = 0;
};
// With a prefix for the name of a file, the session writes there how long each node of each run took, when it ends.
std::unique_ptr<OnnxSession> MakeOnnxSession(const OnnxModel& model, int num_threads, const char* profile = nullptr);

}  // namespace tandem

#endif  // TANDEM_TESTS_BENCH_ONNX_MODEL_H_
