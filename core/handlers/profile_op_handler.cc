// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Counters by op and dtype, made when an op is resolved, so that a call allocates only for results that are pending.

#include "tandem/profile_op_handler.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <tuple>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/tensor_handle.h"

namespace tandem {

namespace {

using Time = std::chrono::nanoseconds;

}  // namespace

void ProfileTimes::Add(Time time) {
  min = count == 0 ? time : std::min(min, time);
  max = count == 0 ? time : std::max(max, time);
  total += time;
  ++count;
}

// What is known of results that are there.
struct Profile::Outcome {
  static Outcome Of(const TensorHandle& handle) {
    if (handle.IsError()) return {.is_error = true};
    return {.bytes = handle.tensor().metadata().byte_size()};
  }
  void Add(const Outcome& other) {
    is_error |= other.is_error;
    is_dropped |= other.is_dropped;
    bytes = AddBytes(bytes, other.bytes);
  }
  // At most 2^64 - 1: scalar host tensors may be of any size.
  static uint64_t AddBytes(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

  bool is_error = false;
  bool is_dropped = false;
  uint64_t bytes = 0;
};

// The counters of an op. Thread-safe.
class Profile::Record {
 public:
  // Null if memory is exhausted.
  static std::unique_ptr<Record> Make(std::string_view op) {
    std::unique_ptr<char[]> name(new (std::nothrow) char[op.size() + 1]);
    if (name == nullptr) return nullptr;
    std::memcpy(name.get(), op.data(), op.size());
    return std::unique_ptr<Record>(new (std::nothrow) Record(std::move(name), op.size()));
  }

  std::string_view op() const { return {name_.get(), name_size_}; }

  // Counts a call that has returned. `outcome` is that of all results, or null if some are pending: then the counters'
  // generation, which Finish is to be given.
  uint32_t Return(DType dtype, Time time, const Outcome* outcome) {
    const std::lock_guard lock(mutex_);
    ProfileCounts& counts = CountsLocked(dtype);
    ++counts.calls;
    counts.call.Add(time);
    if (outcome == nullptr) {
      ++counts.pending;
    } else {
      EndLocked(counts, time, *outcome);
    }
    return generation_;
  }
  void Finish(uint32_t generation, DType dtype, Time time, const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) return;
    ProfileCounts& counts = CountsLocked(dtype);
    --counts.pending;
    EndLocked(counts, time, outcome);
  }
  void Reset() {
    const std::lock_guard lock(mutex_);
    ++generation_;
    counts_ = {};
  }
  void AppendTo(std::vector<OpProfile>& entries) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i].calls == 0) continue;
      OpProfile& entry = entries.emplace_back();
      static_cast<ProfileCounts&>(entry) = counts_[i];
      entry.op = op();
      entry.dtype = static_cast<DType>(i);
    }
  }

 private:
  Record(std::unique_ptr<char[]> name, size_t name_size) : name_(std::move(name)), name_size_(name_size) {}

  ProfileCounts& CountsLocked(DType dtype) { return counts_[static_cast<size_t>(dtype)]; }
  static void EndLocked(ProfileCounts& counts, Time time, const Outcome& outcome) {
    if (outcome.is_error) ++counts.errors;
    counts.result_bytes = Outcome::AddBytes(counts.result_bytes, outcome.bytes);
    if (outcome.is_dropped) {
      ++counts.dropped;
    } else {
      counts.results.Add(time);
    }
  }

  const std::unique_ptr<char[]> name_;
  const size_t name_size_;
  std::mutex mutex_;
  uint32_t generation_ = 0;
  std::array<ProfileCounts, kNumDTypes> counts_{};
};

// A call with results to come. Thread-safe.
class Profile::PendingResults final : public RefCounted<PendingResults> {
 public:
  PendingResults(RcRef<Profile> profile, Record& record, DType dtype, Time start)
      : profile_(std::move(profile)), record_(record), dtype_(dtype), start_(start) {}

  Profile& profile() const { return *profile_; }

  // One more part whose end is to come; before it comes.
  void AddPart() {
    const std::lock_guard lock(mutex_);
    ++num_parts_;
  }
  // The call itself is a part, which ends by this; `outcome` is that of the results that are there.
  void Return(Time end, const Outcome& outcome) {
    generation_ = record_.Return(dtype_, end - start_, nullptr);
    EndPart(outcome);
  }
  void EndPart(const Outcome& outcome) {
    {
      const std::lock_guard lock(mutex_);
      outcome_.Add(outcome);
      if (--num_parts_ > 0) return;
    }
    record_.Finish(generation_, dtype_, profile_->Now() - start_, outcome_);
  }

 private:
  const RcRef<Profile> profile_;
  Record& record_;
  const DType dtype_;
  const Time start_;
  uint32_t generation_ = 0;  // written before the call's own part ends
  std::mutex mutex_;
  int num_parts_ = 1;
  Outcome outcome_;
};

// Waits for one value.
class Profile::ResultWaiter final : public Waiter {
 public:
  ResultWaiter(RcRef<PendingResults> call, RcRef<AsyncValue> value, bool is_tensor)
      : call_(std::move(call)), value_(std::move(value)), is_tensor_(is_tensor) {}

  // From here on it frees itself. The caller has a reference to the value of his own.
  void Begin() {
    {
      Profile& profile = call_->profile();
      const std::lock_guard lock(profile.waiters_mutex_);
      next_ = profile.waiters_;
      if (next_ != nullptr) next_->previous_ = this;
      profile.waiters_ = this;
    }
    value_->AndThen(*this);
  }

  void Run() override {
    {
      const std::lock_guard lock(call_->profile().waiters_mutex_);
      UnlinkLocked();
    }
    Outcome outcome;
    if (value_->IsError()) {
      outcome.is_error = true;
    } else if (is_tensor_) {
      outcome.bytes = static_cast<const TensorValue*>(value_->Resolved())->value().metadata().byte_size();
    }
    // Before anything else: whoever is told next may find the value unique.
    value_.reset();
    End(outcome);
  }
  // Only after DropAbandoned has given up the reference.
  void Drop() override { End({.is_dropped = true}); }

 private:
  friend class Profile;

  void UnlinkLocked() {
    (previous_ == nullptr ? call_->profile().waiters_ : previous_->next_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  void End(const Outcome& outcome) {
    const RcRef<PendingResults> call = std::move(call_);
    delete this;
    call->EndPart(outcome);
  }

  RcRef<PendingResults> call_;
  RcRef<AsyncValue> value_;
  const bool is_tensor_;
  ResultWaiter* previous_ = nullptr;
  ResultWaiter* next_ = nullptr;
};

Profile::Profile(Clock clock)
    : clock_(clock ? std::move(clock) : [] { return Time(std::chrono::steady_clock::now().time_since_epoch()); }) {}

Profile::~Profile() = default;

Profile::Record* Profile::FindOrAddRecord(std::string_view op) {
  const std::lock_guard lock(records_mutex_);
  for (const std::unique_ptr<Record>& record : records_) {
    if (record->op() == op) return record.get();
  }
  std::unique_ptr<Record> record = Record::Make(op);
  if (record == nullptr) return nullptr;
  const std::unique_ptr<Record>* const added = records_.Append(std::move(record));
  return added == nullptr ? nullptr : added->get();
}

void Profile::DropAbandoned() {
  ResultWaiter* abandoned = nullptr;
  {
    const std::lock_guard lock(waiters_mutex_);
    for (ResultWaiter* waiter = waiters_; waiter != nullptr;) {
      ResultWaiter* const next = waiter->next_;
      // In this order: who drops the last other reference has ended the value before.
      if (waiter->value_->IsUnique() && !waiter->value_->IsAvailable()) {
        waiter->UnlinkLocked();
        waiter->next_ = std::exchange(abandoned, waiter);
      }
      waiter = next;
    }
  }
  while (abandoned != nullptr) {
    ResultWaiter* const waiter = std::exchange(abandoned, abandoned->next_);
    // The value ends with its last reference, and tells the waiter so.
    const RcRef<AsyncValue> last = std::move(waiter->value_);
  }
}

std::vector<OpProfile> Profile::Entries() {
  DropAbandoned();
  std::vector<OpProfile> entries;
  {
    const std::lock_guard lock(records_mutex_);
    for (const std::unique_ptr<Record>& record : records_) record->AppendTo(entries);
  }
  std::ranges::sort(entries, [](const OpProfile& a, const OpProfile& b) {
    return std::tie(b.results.total, a.op, a.dtype) < std::tie(a.results.total, b.op, b.dtype);
  });
  return entries;
}

void Profile::Reset() {
  DropAbandoned();
  const std::lock_guard lock(records_mutex_);
  for (const std::unique_ptr<Record>& record : records_) record->Reset();
}

namespace {

constexpr std::string_view kHeaders[] = {"op",
                                         "dtype",
                                         "calls",
                                         "pending",
                                         "errors",
                                         "dropped",
                                         "call total/us",
                                         "call min/us",
                                         "call max/us",
                                         "results total/us",
                                         "results min/us",
                                         "results max/us",
                                         "results/B"};
constexpr size_t kNumColumns = std::size(kHeaders);
constexpr size_t kNumLeftAligned = 2;

using Row = std::array<std::string, kNumColumns>;

// "12.345", of 12345 ns.
std::string Microseconds(Time time) {
  const std::string fraction = std::to_string(time.count() % 1000);
  return std::to_string(time.count() / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

Row RowOf(const OpProfile& entry) {
  return {entry.op,
          entry.dtype == DType::kInvalid ? "-" : std::string(DTypeName(entry.dtype)),
          std::to_string(entry.calls),
          std::to_string(entry.pending),
          std::to_string(entry.errors),
          std::to_string(entry.dropped),
          Microseconds(entry.call.total),
          Microseconds(entry.call.min),
          Microseconds(entry.call.max),
          Microseconds(entry.results.total),
          Microseconds(entry.results.min),
          Microseconds(entry.results.max),
          std::to_string(entry.result_bytes)};
}

}  // namespace

std::string Profile::ToText() {
  std::vector<Row> rows(1);
  std::ranges::copy(kHeaders, rows[0].begin());
  for (const OpProfile& entry : Entries()) rows.push_back(RowOf(entry));
  std::array<size_t, kNumColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kNumColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < kNumColumns; ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) text += "  ";
      text += i < kNumLeftAligned ? row[i] + padding : padding + row[i];
    }
    text += '\n';
  }
  return text;
}

class ProfileOp final : public OpImpl {
 public:
  ProfileOp(RcRef<const OpImpl> op, RcRef<Profile> profile, Profile::Record& record)
      : OpImpl(op->name(), op->is_removable()), op_(std::move(op)), profile_(std::move(profile)), record_(record) {}

  void Invoke(const OpInvocation& invocation) const override {
    Call call = {.dtype = FirstDType(invocation.args), .start = profile_->Now()};
    op_->Invoke(invocation);
    const Time end = profile_->Now();
    for (const TensorHandle& result : invocation.results) {
      if (!result.IsValid()) continue;
      if (result.IsAvailable()) {
        call.outcome.Add(Profile::Outcome::Of(result));
      } else {
        WaitFor(result.value().value(), /*is_tensor=*/true, call);
      }
    }
    if (invocation.results.empty() && invocation.chain != nullptr && invocation.chain->IsValid()) {
      if (invocation.chain->IsAvailable()) {
        call.outcome.is_error = invocation.chain->IsError();
      } else {
        WaitFor(invocation.chain->value(), /*is_tensor=*/false, call);
      }
    }
    if (call.pending) {
      call.pending->Return(end, call.outcome);
    } else {
      record_.Return(call.dtype, end - call.start, &call.outcome);
    }
  }

 private:
  struct Call {
    DType dtype;
    Time start;
    Profile::Outcome outcome{};                // of what is there
    RcRef<Profile::PendingResults> pending{};  // made for the first result that is not
  };

  static DType FirstDType(std::span<const TensorHandle> args) {
    const bool is_known = !args.empty() && args[0].IsValid() && args[0].IsMetadataAvailable();
    return is_known ? args[0].metadata().dtype : DType::kInvalid;
  }

  void WaitFor(AsyncValue* value, bool is_tensor, Call& call) const {
    if (!call.pending) call.pending = MakeRef<Profile::PendingResults>(profile_, record_, call.dtype, call.start);
    Profile::ResultWaiter* waiter = nullptr;
    if (call.pending) {
      waiter = new (std::nothrow) Profile::ResultWaiter(call.pending, RcRef<AsyncValue>::Share(value), is_tensor);
    }
    if (waiter == nullptr) {
      call.outcome.is_dropped = true;
      return;
    }
    call.pending->AddPart();
    waiter->Begin();
  }

  const RcRef<const OpImpl> op_;
  const RcRef<Profile> profile_;
  Profile::Record& record_;
};

class ProfileOpHandler final : public OpHandler {
 public:
  ProfileOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate, RcRef<Profile> profile)
      : OpHandler(name, runtime, &delegate), profile_(std::move(profile)) {}
  // The profile may be referred to by what nobody can end any more.
  ~ProfileOpHandler() override { profile_->DropAbandoned(); }

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    TANDEM_ASSIGN_OR_RETURN(Op op, fallback()->MakeOp(op_name));
    Profile::Record* const record = profile_->FindOrAddRecord(op.name());
    if (record == nullptr) return Status::OutOfMemory();
    RcRef<const OpImpl> profiled = MakeRef<const ProfileOp>(op.impl(), profile_, *record);
    if (!profiled) return Status::OutOfMemory();
    return Op(std::move(profiled));
  }

 private:
  const RcRef<Profile> profile_;
};

std::unique_ptr<OpHandler> CreateProfileOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate,
                                                  RcRef<Profile> profile) {
  return std::make_unique<ProfileOpHandler>(name, runtime, delegate, std::move(profile));
}

}  // namespace tandem
