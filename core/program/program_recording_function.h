// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// RecordedFunction: the function of a program that a recording becomes.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_FUNCTION_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_FUNCTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_recording.h"
#include "program_recording_handler.h"
#include "tandem/host_context.h"
#include "tandem/program.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// First Plan, twice, each time until what it gives is there, and then Make. Standard containers do, since no call waits
// for it. The outputs, and the recording, which has stopped, outlive it.
class RecordedFunction {
 public:
  RecordedFunction(HostContext& host, const RecordingState& state, RecordedContent& content,
                   std::span<const TensorHandle> outputs)
      : host_(host), state_(state), content_(content), outputs_(outputs) {}

  // Finds what is needed; what has to be there, or may be waited for, before the function is made is kept by the
  // recording and the outputs. When that is there, it is known which effects failed and what constants have come to
  // stand for, which may need others.
  StatusOr<std::vector<AsyncValue*>> Plan();

  StatusOr<ProgramFunction> Make(std::string_view name, size_t max_inline_bytes);
  // Of the function that was made.
  std::vector<std::pair<std::string, TensorHandle>> TakeWeights() { return std::move(weights_); }

 private:
  static constexpr uint32_t kNone = KnownValues::kNone;

  // Finds what the outputs need, and the effects that happened. An error if a call took what was recorded after it.
  Status MarkNeeded();
  std::span<const uint32_t> OperandsOf(const RecordedCall& call) const {
    return content_.operands.span().subspan(call.first_operand, call.num_operands);
  }
  // The value; or, of a constant that has come to stand for an input or a result, that one.
  uint32_t Canonical(uint32_t value) const;
  // The error that an output or a constant is, or ok.
  Status CheckErrors() const;

  void AddParameters();
  Status AddHandlers();
  void AddHandler(std::string_view name);
  // Of what is on the device.
  StatusOr<std::string_view> HandlerNameFor(const Device& device) const;
  Status AddCall(const RecordedCall& call);
  void AddOp(const RecordedCall& call, std::span<const uint32_t> arguments);
  // These give the value of the function.
  StatusOr<uint32_t> Use(uint32_t recorded);
  StatusOr<uint32_t> AddConstant(const RecordedConstant& constant);
  StatusOr<uint32_t> AddSparse(const Tensor& tensor);
  uint32_t AddHostTensor(const TensorHandle& handle);
  uint32_t AddTransfer(uint32_t value, std::string_view handler);

  // Appends an instruction, to be completed before the next one.
  ProgramInstruction& Add(ProgramKernel kernel, std::vector<uint32_t> operands);
  // Appends a result to it.
  uint32_t AddResult(ProgramType type);

  HostContext& host_;
  const RecordingState& state_;
  RecordedContent& content_;
  const std::span<const TensorHandle> outputs_;
  // Of what was recorded.
  std::vector<uint32_t> output_values_;
  std::vector<uint32_t> canonical_;  // by value, as of the last Plan
  std::vector<bool> needed_values_;
  std::vector<bool> needed_calls_;
  bool has_effects_ = false;  // any that is needed

  size_t max_inline_bytes_ = SIZE_MAX;
  ProgramFunction function_;
  std::vector<uint32_t> made_;                             // the function's values, or kNone, by those recorded
  std::map<std::string, uint32_t, std::less<>> handlers_;  // values by name
  uint32_t chain_ = kNone;                                 // what comes next starts after it
  bool is_after_effect_ = false;                           // it is not the parameter
  std::vector<std::pair<std::string, TensorHandle>> weights_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_FUNCTION_H_
