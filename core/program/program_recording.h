// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recording: the log of a stretch of eager execution: calls, and which tensors they took and gave.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "program_recording_table.h"
#include "tandem/async_value.h"
#include "tandem/device.h"
#include "tandem/execution_context.h"
#include "tandem/frozen_op_attrs.h"
#include "tandem/growing_array.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// Where a tensor comes from. Values are numbered in the order in which they became known.
struct RecordedValue {
  enum class Kind : uint8_t { kInput, kConstant, kResult };
  Kind kind = Kind::kInput;
  uint32_t index = 0;  // of the input, the constant or the call
};

struct RecordedConstant {
  TensorHandle tensor;
  TensorHandle on_host;  // null until it has been asked for
};

// An op, or a transfer.
struct RecordedCall {
  std::string_view op;                 // belongs to the op registry; empty: a transfer
  const OpHandler* handler = nullptr;  // of an op: that it was passed on to
  RcRef<const FrozenOpAttrs> attrs;    // of an op; null if there are none
  RcRef<AsyncValue> effect;            // of an op with effects: its chain
  bool takes_chain = false;            // of an op
  bool is_to_dense = true;             // of a transfer: to the representation that tensors usually have there
  const Device* target = nullptr;      // of a transfer
  // Places in RecordedContent::operands, and the values that are its results.
  uint32_t first_operand = 0;
  uint32_t num_operands = 0;
  uint32_t first_result = 0;
  uint32_t num_results = 0;
};

struct RecordedContent {
  KnownValues known;  // values by their tensors; effects as kEffect
  GrowingArray<RecordedValue> values;
  GrowingArray<RecordedConstant> constants;
  GrowingArray<RecordedCall> calls;  // a call comes after those that gave its operands
  GrowingArray<uint32_t> operands;   // values
  uint32_t num_inputs = 0;
  GrowingArray<RcRef<AsyncValue>> outside;  // inputs and chains that were pending when they came
  // Results of transfers inside of calls that are still to be heard of from the host.
  GrowingArray<const AsyncValue*> ignored;

  static constexpr uint32_t kEffect = KnownValues::kNone - 1;

  // The value, or kNone. A tensor that stands for another one is that one, once it is there.
  uint32_t Find(const TensorHandle& tensor) const;
  // Room for a call of so many operands and results, of which none may be known, and for an input. False if memory is
  // exhausted.
  [[nodiscard]] bool Reserve(size_t num_operands, size_t num_results, KnownValues::Entries& dropped);
  // These need room. What is known already stays what it is.
  uint32_t AddValue(AsyncValue& value, RecordedValue::Kind kind, size_t index);
  uint32_t AddConstant(const TensorHandle& tensor);
};

// A call while it is made, between Recording::Begin and End.
struct CallInProgress {
  std::string_view op;  // as in RecordedCall
  const OpHandler* handler = nullptr;
  bool has_effects = false;
  RcRef<const FrozenOpAttrs> attrs{};
  SmallArray<uint32_t, 6> operands{};    // values, or kNone for
  SmallArray<TensorHandle, 6> others{};  // tensors that are not known yet
  RcRef<AsyncValue> outside{};           // its chain, if it is pending and none of a recorded call
};

// Thread-safe until it has been stopped; then content() is for one thread at a time. On the path of calls running out
// of memory stops it, and drops what it has.
class Recording final : public TransferObserver {
 public:
  explicit Recording(RcRef<TransferObserver> previous) : previous_(std::move(previous)) {}

  // Before a call is passed on. False: it is not recorded.
  [[nodiscard]] bool Begin(const OpInvocation& invocation, CallInProgress& call);
  // When it has returned.
  void End(CallInProgress& call, const OpInvocation& invocation);
  // What a call transfers; it is heard of once more from the host.
  void IgnoreTransfer(const TensorHandle& result);
  // Any transfer on the host; the observer that was there before hears of it, too.
  void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override;

  Status AddInput(const TensorHandle& input);

  void Stop();
  void FailForMemory();
  bool is_out_of_memory() const;
  const RcRef<TransferObserver>& previous() const { return previous_; }

  RecordedContent& content() { return content_; }
  // Drops the content, which calls in progress would keep otherwise.
  void Clear();

 private:
  // These hold the lock; false if memory is exhausted.
  bool AppendCall(CallInProgress& call, const OpInvocation& invocation, KnownValues::Entries& dropped);
  bool AppendTransfer(uint32_t source, const TensorHandle& result, bool is_to_dense, KnownValues::Entries& dropped);

  const RcRef<TransferObserver> previous_;
  mutable std::mutex mutex_;
  bool has_stopped_ = false;
  bool is_out_of_memory_ = false;
  RecordedContent content_;
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_RECORDING_H_
