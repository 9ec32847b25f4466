// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The shadow op handler: runs each op on two handlers and finds the first op of which they give different results.

#ifndef TANDEM_SHADOW_OP_HANDLER_H_
#define TANDEM_SHADOW_OP_HANDLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/core_runtime.h"
#include "tandem/export.h"
#include "tandem/location.h"
#include "tandem/op_def.h"
#include "tandem/op_handler.h"
#include "tandem/ref_counted.h"
#include "tandem/tensor_comparison.h"

namespace tandem {

// A result of which the two handlers give different things. What it refers to is there during the call of the sink.
struct ShadowDivergence {
  std::string_view op;
  Location location;        // of the call
  int64_t call;             // its number on this handler, from 1
  size_t result;            // which one
  int64_t element;          // the first that differs, in row-major order; -1: metadata, or an error in place of a value
  std::string_view actual;  // the primary's element, or metadata
  std::string_view expected;  // that of the reference, or its error
  double error;               // |actual - expected| of a number; infinite where no tolerance helps, and of all else
  double ulp;                 // the same in ULP; 0 of integers
  double largest_error;       // of all elements
  int64_t num_different;      // how many elements differ
  TensorTolerance tolerance;
  std::string_view metadata;  // of the primary's result: "f32[2,3]"
  std::string_view attrs;     // "{axis = 1}"; empty if there are none
  std::string_view inputs;    // "f32[2,3], f32[3]"
  std::string_view message;   // as the error says it: what differs, what was expected, what was given
};

// Why a result was not compared.
enum class ShadowSkip : uint8_t {
  kSideEffects,      // the op has effects, and is run on the primary alone
  kNoKernel,         // the reference has no kernel for the op or the call
  kPrimaryFailed,    // the result is an error, which the caller gets
  kReferenceFailed,  // the reference was out of memory, or its device was not available
  kCancelled,
  kNotReadable,  // the content of the tensor cannot be brought to the host
  kOutOfMemory,  // for the comparison
};
inline constexpr size_t kNumShadowSkips = 7;
// "the op has side effects" and so on.
TANDEM_EXPORT std::string_view ShadowSkipText(ShadowSkip reason);

// How many results were compared. Thread-safe; may be shared by several handlers, and outlive them.
class TANDEM_EXPORT ShadowCounts : public RefCounted<ShadowCounts> {
 public:
  int64_t equal() const { return equal_.load(std::memory_order_relaxed); }  // within the tolerance
  int64_t diverged() const { return diverged_.load(std::memory_order_relaxed); }
  int64_t skipped(ShadowSkip reason) const {
    return skipped_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  int64_t skipped() const;                                                      // for any reason
  int64_t pending() const { return pending_.load(std::memory_order_relaxed); }  // of calls made, and not counted yet

  // Becomes ready when nothing is pending; an error only if memory is exhausted.
  AsyncValueRef<Chain> WhenDone();

 private:
  friend class Shadow;
  friend class RefCounted<ShadowCounts>;
  ~ShadowCounts() = default;
  void Begin(size_t num_results) { pending_.fetch_add(static_cast<int64_t>(num_results), std::memory_order_relaxed); }
  void End(size_t num_results);

  std::atomic<int64_t> equal_{0};
  std::atomic<int64_t> diverged_{0};
  std::atomic<int64_t> skipped_[kNumShadowSkips] = {};
  std::atomic<int64_t> pending_{0};
  std::mutex mutex_;
  Producer<Chain> done_;           // null if nobody waits
  AsyncValueRef<Chain> done_ref_;  // of done_
};

// How far a result of the op may be from that of another handler. If the definition states a worst error (NU-1), each
// of them may be that far from the exact result: twice that, in ULP at the larger of both numbers. Otherwise results of
// a layout op and all that are no floating-point numbers must be the same, and others may differ by a part of the
// largest number of the whole result, since what an op adds up may be much larger than its sum: f32 and c64 2^-13
// (1.2e-4), f64 2^-42 (2.3e-13), f16 2^-7, bf16 2^-4: 1024 ULP, of the halves 8. In any case results other than f64 may
// differ by 2^-126, since shaders may take subnormal numbers for 0.
TANDEM_EXPORT TensorTolerance ShadowToleranceOf(const OpDef& def, DType dtype);

// What is compared, and what becomes of what differs.
struct ShadowOptions {
  // Hears of the first `max_reports` results that differ, in the order in which they are found, from whatever thread
  // has found them; calls do not overlap. It must not block nor call ops of this handler. Both handlers get the same
  // inputs, the primary's results, so that a result which differs tells nothing against the ops after it. May be empty.
  std::function<void(const ShadowDivergence&)> sink{};
  int64_t max_reports = 1;
  // A result that differs becomes a DataLoss error that says what differs: a caller gets results only when they have
  // been compared, and ResourceExhausted if memory for that cannot be had. Otherwise he gets those of the primary as
  // they are, and nothing waits.
  bool fail = false;
  // Default: ShadowToleranceOf.
  std::function<TensorTolerance(const OpDef&, DType)> tolerance{};
  // Null: nobody asks.
  RcRef<ShadowCounts> counts{};
};

// A handler named `name` over `primary`, whose results it gives. `reference`, another handler of the runtime, runs each
// op as well, without its effects being seen: ops with side effects are run on the primary alone. Random ops are
// compared, since they are functions of their seed. Inputs that are not on the reference's device are transferred to it
// (host inputs to the host, strings stay where they are), and results to the host for comparing, by explicit transfers.
// Neither handler takes an input's memory over. A reference that fails where the primary gives a value differs, unless
// it has no kernel, no memory or was cancelled; its errors are told to the diagnostic handler like any others. What
// cannot be compared is counted as skipped.
TANDEM_EXPORT std::unique_ptr<OpHandler> CreateShadowOpHandler(std::string_view name, CoreRuntime& runtime,
                                                               OpHandler& primary, OpHandler& reference,
                                                               ShadowOptions options);

}  // namespace tandem

#endif  // TANDEM_SHADOW_OP_HANDLER_H_
