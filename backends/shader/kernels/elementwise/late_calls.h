// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LateCalls: element-wise calls whose commands are put off, so that one shader may do what they would (PR-6).

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_LATE_CALLS_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_LATE_CALLS_H_

#include <array>
#include <cstdint>
#include <span>

#include "kernels/elementwise/call_delayer.h"
#include "kernels/elementwise/seen_sources.h"
#include "kernels/elementwise/shader_fuser.h"

namespace tandem::shader {

// The calls, in order, that follow each other in a queue, and their buffers. Results that nobody else holds when the
// calls are noted are out of reach for good, and are not written. The rest is one shader, or several, one after the
// other, if it has more buffers or parameters than a shader may have: how many results are held is only known then. A
// shader is made for a structure that is there the second time, while the calls are noted one by one, as they are where
// there can be none.
//
// One by one, or for a later shader, a call may need the memory of a result that was dropped. Somebody else may have
// that buffer by then, but uses it later, since commands are executed in order; such a buffer is destroyed only when
// the calls have been noted.
//
// Not thread-safe. Letting go of buffers and telling errors is left to the caller (Outcome).
class LateCalls {
 public:
  static constexpr size_t kMaxCalls = ShaderFuser::kMaxSteps;

  // What is to be done without a lock: buffers, which end with this, and failures of calls, by numbers of batches that
  // no queue has.
  struct Outcome {
    struct Failure {
      uint64_t batch = 0;
      Status error;
    };
    void LetGo(RcRef<GpuBuffer> buffer) { buffers[num_buffers++] = std::move(buffer); }

    std::array<RcRef<GpuBuffer>, kMaxCalls + kMaxElementwiseOperands> buffers;
    size_t num_buffers = 0;
    std::array<Failure, kMaxCalls> failures;
    size_t num_failures = 0;
  };

  // All three outlive this.
  LateCalls(ShaderQueue& queue, ShaderDevice& device, const ShaderFuser& fuser);

  size_t size() const { return num_calls_; }
  // Adds a call that would be issued as `step`. False, with nothing done, if it does not go with those that are there.
  bool Add(const EagerCall& call, const ShaderCall::Step& step, const CommandOrigin& origin);
  // Lets go of results that nobody else holds.
  void DropUnheld(Outcome& outcome);
  // Whether one of the calls uses the buffer.
  bool Uses(BufferId buffer) const;
  // Destroys a buffer that nobody else uses, when the calls have been noted.
  void Destroy(BufferId buffer) { doomed_[num_doomed_++] = buffer; }
  // Issues what is left to do. Then there are no calls.
  void Note(Outcome& outcome);
  // Forgets all calls.
  void Clear(Outcome& outcome);

 private:
  static constexpr size_t kMaxInputs = kMaxElementwiseOperands;
  static constexpr size_t kMaxOperands = FusedStep::kMaxOperands;
  static constexpr size_t kNoCall = SIZE_MAX;

  struct Input {
    GpuBuffer* buffer = nullptr;
    RcRef<GpuBuffer> kept;  // null if it is a result's
    TensorMetadata metadata;
    size_t taken_over_by = kNoCall;
  };
  struct LateCall {
    FusedStep step;  // operands: inputs, and from kMaxInputs on results of calls
    float alpha = 0;
    bool is_in_place = false;
    RcRef<GpuBuffer> result;  // null once nobody else holds it
    // Of the call alone.
    Launch launch;
    AsyncValueRef<RcRef<Pipeline>> pipeline;
    std::array<BufferRange, kMaxOperands + 1> buffers;
    size_t num_buffers = 0;
    CommandOrigin origin;
  };
  // Of a call, before it is added.
  struct Operands {
    std::array<uint8_t, kMaxOperands> numbers = {};
    std::array<size_t, kMaxOperands> new_inputs = {};  // which are its arguments
    size_t num_new = 0;
  };

  // Calls that follow each other, which one shader may compute.
  struct Part {
    size_t first = 0;
    size_t end = 0;
    uint32_t calls = 0;                           // as bits: those that somebody needs
    uint32_t outputs = 0;                         // whose results are written: held, or read by later parts
    std::array<uint8_t, kMaxInputs> inputs = {};  // as operands
    size_t num_inputs = 0;
  };
  // By call: the batches of those that have failed; 0: it has not.
  using Failures = std::array<uint64_t, kMaxCalls>;

  bool FindOperands(const EagerCall& call, Operands& found) const;
  bool FindOperand(const EagerCall& call, size_t k, Operands& found) const;

  // The calls, as bits, whose results somebody else holds.
  uint32_t FindOutputs() const;
  // These, and those whose results they need.
  uint32_t FindNeeded(uint32_t outputs) const;
  // The longest part from a call on that fits into a shader; a call alone if none does.
  Part FindPart(size_t first, uint32_t needed, uint32_t outputs) const;
  // Completes a part that has its calls; false if it has too many inputs.
  bool Complete(Part& part, uint32_t needed, uint32_t outputs) const;
  bool FitsShader(const Part& part) const;
  // Where in `part.inputs` what an output takes the memory of is; kNoCall: nowhere.
  size_t FindForwarded(const Part& part, size_t output) const;
  const BufferRange& RangeOf(uint8_t operand) const;
  // Of the result of a call, which may be dropped.
  const BufferRange& ResultOf(size_t call) const { return calls_[call].buffers[calls_[call].num_buffers - 1]; }

  bool NoteAsOne(const Part& part);
  void DescribeSource(const Part& part);
  const FusedSource* FindSource(bool is_new) const;
  void NoteOneByOne(const Part& part, Failures& failures, Outcome& outcome);
  StatusOr<uint64_t> NoteAlone(LateCall& call);

  ShaderQueue& queue_;
  ShaderDevice& device_;
  const ShaderFuser& fuser_;
  const GpuLimits limits_;

  TensorShape shape_;  // of all results
  std::array<LateCall, kMaxCalls> calls_;
  size_t num_calls_ = 0;
  std::array<Input, kMaxInputs> inputs_;
  size_t num_inputs_ = 0;
  std::array<BufferId, kMaxCalls> doomed_;
  size_t num_doomed_ = 0;

  FusedSource source_;  // with room for the largest
  SeenSources seen_;
  uint64_t next_failure_ = UINT64_MAX;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_LATE_CALLS_H_
