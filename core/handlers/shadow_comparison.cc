// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How results are brought together and compared, and the text of what differs.

#include "shadow_comparison.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "checked_result.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"
#include "tandem/kernel_run.h"

namespace tandem {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One number stands for all elements of both.
bool AreScalars(const Tensor& a, const Tensor& b) { return a.IsA(kScalarHost) && b.IsA(kScalarHost); }

int64_t NumCompared(const Tensor& a, const Tensor& b) {
  return AreScalars(a, b) ? std::min<int64_t>(1, a.num_elements()) : a.num_elements();
}

bool IsCancellation(const Status& error) {
  return error.code() == StatusCode::kCancelled || error.code() == StatusCode::kDeadlineExceeded;
}

// A result that is compared when both handlers have given it.
class PendingComparison final : public CheckedResult {
 public:
  PendingComparison(const ExecutionContext& exec, RcRef<ShadowCall> call, size_t index, TensorHandle actual,
                    TensorHandle expected)
      : CheckedResult(exec, call->def().name, std::move(actual)),
        call_(std::move(call)),
        index_(index),
        expected_(std::move(expected)) {}

 private:
  AsyncValue* Prepare() override {
    if (!expected_.IsAvailable()) return expected_.value().value();
    if (expected_.IsError() || !AreFetchable()) return nullptr;
    Fetch(source(), actual_on_host_);
    Fetch(expected_, expected_on_host_);
    if (!actual_on_host_.IsAvailable()) return actual_on_host_.value().value();
    return expected_on_host_.IsAvailable() ? nullptr : expected_on_host_.value().value();
  }
  bool IsLong() const override {
    if (!actual_on_host_.IsValid() || actual_on_host_.IsError() || expected_on_host_.IsError()) return false;
    return IsLongCheck(exec(), NumCompared(actual_on_host_.tensor(), expected_on_host_.tensor()));
  }
  Status Check() override {
    is_counted_ = true;
    if (expected_.IsError()) return TellIfError(call_->CompareError(index_, source().tensor(), expected_.GetError()));
    if (!actual_on_host_.IsValid()) return Skip(ShadowSkip::kNotReadable, Status());
    if (actual_on_host_.IsError()) return Skip(ShadowSkip::kPrimaryFailed, actual_on_host_.GetError());
    if (expected_on_host_.IsError()) return Skip(ShadowSkip::kReferenceFailed, Status());
    return TellIfError(call_->Compare(exec(), index_, actual_on_host_.tensor(), expected_on_host_.tensor()));
  }
  void DropInputs() override {
    CheckedResult::DropInputs();
    expected_.reset();
    actual_on_host_.reset();
    expected_on_host_.reset();
  }
  void SetError(const Status& error) override {
    if (!is_counted_) {
      call_->shadow().CountSkipped(IsCancellation(error) ? ShadowSkip::kCancelled : ShadowSkip::kPrimaryFailed);
    }
    CheckedResult::SetError(error);
  }

  bool AreFetchable() const {
    return IsFetchable(exec(), source().tensor()) && IsFetchable(exec(), expected_.tensor());
  }
  void Fetch(const TensorHandle& from, TensorHandle& to) const {
    if (to.IsValid()) return;
    to = IsReadable(from.tensor()) ? from.CopyRef() : from.TransferTo(exec(), exec().host().device());
  }
  // `error` is what the result becomes if it has to be compared.
  Status Skip(ShadowSkip reason, const Status& error) {
    call_->shadow().CountSkipped(reason);
    return call_->shadow().fails() ? error : Status();
  }
  // Whoever has cancelled the comparison has told so.
  Status TellIfError(const Status& error) const { return error.ok() || IsCancellation(error) ? error : Tell(error); }

  const RcRef<ShadowCall> call_;
  const size_t index_;
  TensorHandle expected_;
  TensorHandle actual_on_host_;    // null until both are there, and if one of them cannot be read
  TensorHandle expected_on_host_;  // likewise
  bool is_counted_ = false;
};

}  // namespace

std::string_view ShadowSkipText(ShadowSkip reason) {
  constexpr std::string_view kTexts[kNumShadowSkips] = {
      "the op has side effects",
      "the reference has no kernel for it",
      "the primary gave an error",
      "the reference was out of memory or its device not available",
      "it was cancelled",
      "the tensor cannot be read on the host",
      "no memory for the comparison",
  };
  return kTexts[static_cast<size_t>(reason)];
}

int64_t ShadowCounts::skipped() const {
  int64_t sum = 0;
  for (size_t i = 0; i < kNumShadowSkips; ++i) sum += skipped(static_cast<ShadowSkip>(i));
  return sum;
}

TensorTolerance ShadowToleranceOf(const OpDef& def, DType dtype) {
  TensorTolerance tolerance;
  if (!kFloatDTypes.Contains(dtype) && dtype != DType::kC64) return tolerance;
  if (dtype != DType::kF64) tolerance.abs = 0x1p-126;
  if (def.kind == OpKind::kLayout) return tolerance;
  tolerance.at_larger = true;
  const int stated = StatedUlp(def, dtype);
  if (stated >= 0) {
    tolerance.ulp = 2 * stated;
  } else if (dtype == DType::kF64) {
    tolerance.of_largest = 0x1p-42;
  } else if (dtype == DType::kF16) {
    tolerance.of_largest = 0x1p-7;
  } else {
    tolerance.of_largest = dtype == DType::kBF16 ? 0x1p-4 : 0x1p-13;
  }
  return tolerance;
}

AsyncValueRef<Chain> ShadowCounts::WhenDone() {
  const std::lock_guard lock(mutex_);
  if (pending_.load(std::memory_order_acquire) == 0) return MakeReadyChain();
  if (!done_) {
    done_ = Producer<Chain>::Make();
    if (!done_) return AsyncValueRef<Chain>(OutOfMemoryAsyncValue());
    done_ref_ = done_.ref();
  }
  return done_ref_.CopyRef();
}

void ShadowCounts::End(size_t num_results) {
  const auto num_ended = static_cast<int64_t>(num_results);
  if (pending_.fetch_sub(num_ended, std::memory_order_acq_rel) != num_ended) return;
  Producer<Chain> done;
  AsyncValueRef<Chain> done_ref;
  {
    const std::lock_guard lock(mutex_);
    done = std::move(done_);
    done_ref = std::move(done_ref_);
  }
  if (done) done.Emplace();
}

void Shadow::BeginComparisons(size_t num_results) {
  if (options_.counts) options_.counts->Begin(num_results);
}

void Shadow::CountEqual() {
  if (!options_.counts) return;
  options_.counts->equal_.fetch_add(1, std::memory_order_relaxed);
  options_.counts->End(1);
}

void Shadow::CountSkipped(ShadowSkip reason, size_t num_results) {
  if (!options_.counts) return;
  options_.counts->skipped_[static_cast<size_t>(reason)].fetch_add(static_cast<int64_t>(num_results),
                                                                   std::memory_order_relaxed);
  options_.counts->End(num_results);
}

void Shadow::Report(const ShadowDivergence& divergence) {
  TellSink(divergence);
  if (!options_.counts) return;
  options_.counts->diverged_.fetch_add(1, std::memory_order_relaxed);
  options_.counts->End(1);
}

void Shadow::TellSink(const ShadowDivergence& divergence) {
  if (!options_.sink) return;
  const std::lock_guard lock(mutex_);
  if (num_reports_ >= options_.max_reports) return;
  ++num_reports_;
  options_.sink(divergence);
}

bool ShadowCall::Init(std::span<const TensorHandle> args) {
  if (attrs_.out_of_memory() || !args_.Init(args.size())) return false;
  for (size_t i = 0; i < args.size(); ++i) args_[i] = args[i].CopyRef();
  return true;
}

Status ShadowCall::CompareError(size_t index, const Tensor& actual, const Status& error) {
  switch (error.code()) {
    case StatusCode::kUnimplemented:
    case StatusCode::kNotFound:
      shadow_->CountSkipped(ShadowSkip::kNoKernel);
      return Status();
    case StatusCode::kCancelled:
    case StatusCode::kDeadlineExceeded:
      shadow_->CountSkipped(ShadowSkip::kCancelled);
      return Status();
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
      shadow_->CountSkipped(ShadowSkip::kReferenceFailed);
      return Status();
    default:
      break;
  }
  MessageBuilder given;
  given.Append(actual.metadata());
  MessageBuilder expected;
  expected.Append("the error ");
  AppendQuoted(expected, error.message());
  return Diverge(index, actual.metadata(), {.error = kInfinity, .largest_error = kInfinity}, given.view(),
                 expected.view());
}

// Both are dense, strings, or one number for all.
void ShadowCall::FindDifference(const Tensor& actual, const Tensor& expected, Difference& difference) {
  difference.num_different = 0;
  difference.error = difference.largest_error = 0;
  if (actual.dtype() == DType::kString) {
    const StringHostView got(actual);
    const StringHostView want(expected);
    for (int64_t i = 0; i < got.size(); ++i) {
      if (got[i] == want[i]) continue;
      if (difference.num_different++ == 0) difference.element = i;
      difference.error = difference.largest_error = kInfinity;
    }
    return;
  }
  const int64_t parts = actual.dtype() == DType::kC64 ? 2 : 1;
  int64_t last = -1;
  CompareNumbers(actual.dtype(), expected.data(), actual.data(), parts * NumCompared(actual, expected),
                 difference.tolerance, [&](const NumberDifference& number) {
                   const int64_t element = number.number / parts;
                   if (difference.num_different == 0) {
                     difference.element = element;
                     difference.error = number.error;
                     difference.ulp = number.ulp;
                   }
                   difference.largest_error = std::max(difference.largest_error, number.error);
                   if (std::exchange(last, element) != element) ++difference.num_different;
                 });
}

Status ShadowCall::Compare(const ExecutionContext& exec, size_t index, const Tensor& actual, const Tensor& expected) {
  MessageBuilder given;
  MessageBuilder wanted;
  Difference difference{.error = kInfinity, .largest_error = kInfinity};
  if (!(actual.metadata() == expected.metadata())) {
    given.Append(actual.metadata());
    wanted.Append(expected.metadata());
    return Diverge(index, actual.metadata(), difference, given.view(), wanted.view());
  }
  const DType dtype = actual.dtype();
  const bool as_they_are = dtype == DType::kString || AreScalars(actual, expected);
  HostAllocator& allocator = exec.host().allocator();
  const StatusOr<Tensor> got = as_they_are ? StatusOr<Tensor>(actual) : ToDense(actual, allocator);
  const StatusOr<Tensor> want = as_they_are ? StatusOr<Tensor>(expected) : ToDense(expected, allocator);
  if (!got.ok() || !want.ok()) {
    shadow_->CountSkipped(ShadowSkip::kOutOfMemory);
    return !shadow_->fails() ? Status() : got.ok() ? want.status() : got.status();
  }
  difference.tolerance = shadow_->ToleranceOf(*def_, dtype);
  {
    const KernelRun run(exec);
    FindDifference(*got, *want, difference);
    if (run.was_stopped()) {
      shadow_->CountSkipped(ShadowSkip::kCancelled);
      return shadow_->fails() ? run.Reason().WithContext(def_->name, location_) : Status();
    }
  }
  if (difference.num_different == 0) {
    shadow_->CountEqual();
    return Status();
  }
  if (dtype == DType::kString) {
    AppendQuoted(given, StringHostView(*got)[difference.element]);
    AppendQuoted(wanted, StringHostView(*want)[difference.element]);
  } else {
    AppendElement(given, dtype, got->data(), difference.element);
    AppendElement(wanted, dtype, want->data(), difference.element);
  }
  return Diverge(index, actual.metadata(), difference, given.view(), wanted.view());
}

Status ShadowCall::Diverge(size_t index, const TensorMetadata& metadata, const Difference& difference,
                           std::string_view actual, std::string_view expected) {
  MessageBuilder result;
  result.Append(metadata);
  MessageBuilder attrs;
  if (!attrs_.empty()) attrs.Append(attrs_);
  MessageBuilder inputs;
  for (size_t i = 0; i < args_.size(); ++i) {
    inputs.Append(i == 0 ? "" : ", ");
    args_[i].IsMetadataAvailable() ? inputs.Append(args_[i].metadata()) : inputs.Append("unknown");
  }
  MessageBuilder message;
  message.Append("result ", index, " must be like that of the reference, expected ", expected, ", got ", actual);
  if (difference.element >= 0) {
    message.Append(" at ");
    AppendPosition(message, metadata.shape, difference.element);
    message.Append(" of ", metadata);
    if (difference.ulp > 0) message.Append(" (", static_cast<float>(difference.ulp), " ulp)");
    if (difference.num_different > 1) message.Append("; ", difference.num_different, " elements differ");
  }
  shadow_->Report({.op = def_->name,
                   .location = location_,
                   .call = number_,
                   .result = index,
                   .element = difference.element,
                   .actual = actual,
                   .expected = expected,
                   .error = difference.error,
                   .ulp = difference.ulp,
                   .largest_error = difference.largest_error,
                   .num_different = difference.num_different,
                   .tolerance = difference.tolerance,
                   .metadata = result.view(),
                   .attrs = attrs.view(),
                   .inputs = inputs.view(),
                   .message = message.view()});
  return shadow_->fails() ? Status::Error(StatusCode::kDataLoss, message.view(), def_->name, location_) : Status();
}

TensorHandle CompareResults(const ExecutionContext& exec, RcRef<ShadowCall> call, size_t index, TensorHandle actual,
                            TensorHandle expected) {
  Shadow& shadow = call->shadow();
  const auto become = [&](const Status& error) {
    if (error.ok()) return std::move(actual);
    return TensorHandle::MakeError(exec.host().EmitError(error.WithContext(call->def().name, exec.location())));
  };
  if (actual.IsError()) {
    shadow.CountSkipped(ShadowSkip::kPrimaryFailed);
    return actual;
  }
  if (actual.IsConcrete() && expected.IsError()) {
    return become(call->CompareError(index, actual.tensor(), expected.GetError()));
  }
  if (actual.IsConcrete() && expected.IsConcrete()) {
    const Tensor& got = actual.tensor();
    const Tensor& want = expected.tensor();
    if (IsReadable(got) && IsReadable(want) && !IsLongCheck(exec, NumCompared(got, want))) {
      return become(call->Compare(exec, index, got, want));
    }
  }
  const bool fails = shadow.fails();
  const std::string_view op = call->def().name;
  const RcRef<Shadow> kept = RcRef<Shadow>::Share(&shadow);
  auto comparison = MakeRef<PendingComparison>(exec, std::move(call), index, actual.CopyRef(), std::move(expected));
  if (comparison && fails) {
    // The caller is to be the only one who refers to what he gets.
    actual = comparison->MakeResult();
    if (!actual.IsValid()) comparison.reset();
  }
  if (comparison) {
    comparison.release()->Begin();
    return actual;
  }
  kept->CountSkipped(ShadowSkip::kOutOfMemory);
  if (!fails) return actual;
  return TensorHandle::MakeError(exec.host().EmitError(Status::OutOfMemory().WithContext(op, exec.location())));
}

}  // namespace tandem
