// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shadow: what a shadow op handler and its ops share; ShadowCall: a call that is run on two handlers; comparing a
// result of one with that of the other.

#ifndef TANDEM_CORE_HANDLERS_SHADOW_COMPARISON_H_
#define TANDEM_CORE_HANDLERS_SHADOW_COMPARISON_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tandem/shadow_op_handler.h"
#include "tandem/small_array.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// Thread-safe. Outlives the handler while results that are to be compared are pending.
class Shadow final : public RefCounted<Shadow> {
 public:
  explicit Shadow(ShadowOptions options) : options_(std::move(options)) {}

  bool fails() const { return options_.fail; }
  int64_t NextCall() { return num_calls_.fetch_add(1, std::memory_order_relaxed) + 1; }
  TensorTolerance ToleranceOf(const OpDef& def, DType dtype) const {
    return options_.tolerance ? options_.tolerance(def, dtype) : ShadowToleranceOf(def, dtype);
  }
  // So many results of a call will be counted, each once, by one of the following.
  void BeginComparisons(size_t num_results);
  void CountEqual();
  void CountSkipped(ShadowSkip reason, size_t num_results = 1);
  // Tells the sink if it is to hear of it, and counts it.
  void Report(const ShadowDivergence& divergence);

 private:
  friend class RefCounted<Shadow>;
  ~Shadow() = default;
  void TellSink(const ShadowDivergence& divergence);

  const ShadowOptions options_;
  std::atomic<int64_t> num_calls_{0};
  std::mutex mutex_;
  int64_t num_reports_ = 0;  // guarded by mutex_
};

// What reports say of a call. Immutable once its arguments are set.
class ShadowCall final : public RefCounted<ShadowCall> {
 public:
  ShadowCall(RcRef<Shadow> shadow, std::shared_ptr<const OpDef> def, const OpInvocation& invocation, int64_t number)
      : shadow_(std::move(shadow)),
        def_(std::move(def)),
        location_(invocation.exec.location()),
        number_(number),
        attrs_(invocation.attrs.Freeze()) {}
  // Adds references to the arguments. False if memory is exhausted, for them or the attributes.
  [[nodiscard]] bool Init(std::span<const TensorHandle> args);

  Shadow& shadow() const { return *shadow_; }
  const OpDef& def() const { return *def_; }
  Location location() const { return location_; }
  std::span<const TensorHandle> args() { return args_.span(); }

  // Compares result `index`, which is readable from both handlers; counts and reports. Ok, or, if they differ and that
  // is to fail, the error of it, which nobody has been told.
  Status Compare(const ExecutionContext& exec, size_t index, const Tensor& actual, const Tensor& expected);
  // The same where the reference has given an error.
  Status CompareError(size_t index, const Tensor& actual, const Status& error);

 private:
  friend class RefCounted<ShadowCall>;
  ~ShadowCall() = default;

  // What of a ShadowDivergence is known without the call.
  struct Difference {
    int64_t element = -1;
    double error;
    double ulp = 0;
    double largest_error;
    int64_t num_different = 1;
    TensorTolerance tolerance{};
  };
  static void FindDifference(const Tensor& actual, const Tensor& expected, Difference& difference);
  Status Diverge(size_t index, const TensorMetadata& metadata, const Difference& difference, std::string_view actual,
                 std::string_view expected);

  const RcRef<Shadow> shadow_;
  const std::shared_ptr<const OpDef> def_;
  const Location location_;
  const int64_t number_;
  const OpAttrsRef attrs_;
  SmallArray<TensorHandle, 4> args_;
};

// Compares result `index` of a call as soon as both are there, and gives what its caller is to get: `actual` itself, or
// one that comes when it has been compared.
TensorHandle CompareResults(const ExecutionContext& exec, RcRef<ShadowCall> call, size_t index, TensorHandle actual,
                            TensorHandle expected);

}  // namespace tandem

#endif  // TANDEM_CORE_HANDLERS_SHADOW_COMPARISON_H_
