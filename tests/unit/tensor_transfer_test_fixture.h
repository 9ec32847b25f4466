// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorTransferTest: the fixture of tests of TensorHandle::TransferTo, with a device whose conversions succeed, take
// time or fail.

#ifndef TANDEM_TESTS_UNIT_TENSOR_TRANSFER_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_TENSOR_TRANSFER_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "host_values.h"
#include "tandem/host_context.h"
#include "tandem/tensor_handle.h"

namespace tandem {

using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

// Representations on a device of their own, named after how the conversion from dense host tensors behaves.
inline constexpr TensorType kRemote{"remote"};
inline constexpr TensorType kSlow{"slow"};
inline constexpr TensorType kFailing{"failing"};
inline constexpr TensorType kWrong{"wrong"};
inline constexpr TensorType kNull{"null"};
inline constexpr TensorType kUnknown{"unknown"};

inline const TensorMetadata kTwoFloats(DType::kF32, {2});

inline Tensor As(const TensorType& type, const Tensor& from, const Device& target, const TensorMetadata& metadata) {
  return Tensor(metadata, &target, type, nullptr, from.storage());
}
inline AsyncValueRef<Tensor> ToRemote(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kRemote, from, target, from.metadata()));
}
inline AsyncValueRef<Tensor> FromRemote(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kDenseHost, from, target, from.metadata()));
}
inline AsyncValueRef<Tensor> ToFailing(const ExecutionContext&, const Tensor&, const Device&) {
  return AsyncValueRef<Tensor>::MakeError(MakeError(StatusCode::kUnavailable, "the device is gone"));
}
inline AsyncValueRef<Tensor> ToWrong(const ExecutionContext&, const Tensor& from, const Device& target) {
  return AsyncValueRef<Tensor>::MakeAvailable(As(kWrong, from, target, TensorMetadata(DType::kF32, {3})));
}
inline AsyncValueRef<Tensor> ToNull(const ExecutionContext&, const Tensor&, const Device&) { return {}; }

// What the slow conversion began, for the test to end it.
inline thread_local RcRef<TensorValue> slow_result;
inline AsyncValueRef<Tensor> ToSlow(const ExecutionContext&, const Tensor&, const Device&) {
  slow_result = MakeUnconstructed<Tensor>();
  return AsyncValueRef<Tensor>(RcRef<AsyncValue>(slow_result));
}

class TensorTransferTest : public testing::Test {
 protected:
  TensorTransferTest() { Restart({}); }
  ~TensorTransferTest() override { slow_result.reset(); }

  // A new host.
  void Restart(HostContext::Options options) {
    host_.reset();
    if (options.work_queue == nullptr) options.work_queue = CreateSingleThreadedWorkQueue();
    options.diagnostic_handler = [this](const Status& error) {
      const std::lock_guard lock(mutex_);
      diagnostics_.push_back(error);
    };
    host_.emplace(std::move(options));
    TensorConversions& conversions = host_->conversions();
    EXPECT_TRUE(conversions.Register(kDenseHost, kRemote, &ToRemote).ok());
    EXPECT_TRUE(conversions.Register(kRemote, kDenseHost, &FromRemote).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kSlow, &ToSlow).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kFailing, &ToFailing).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kWrong, &ToWrong).ok());
    EXPECT_TRUE(conversions.Register(kDenseHost, kNull, &ToNull).ok());
  }

  ExecutionContext Exec(Location location = std::source_location::current()) {
    return ExecutionContext(*host_, location);
  }
  ExecutionContext Exec(const RcRef<RequestContext>& request) {
    return ExecutionContext(*host_, Location::Current(), request);
  }
  RcRef<RequestContext> MakeRequest(
      RequestContext::Clock::time_point deadline = RequestContext::Clock::time_point::max()) {
    StatusOr<RcRef<RequestContext>> request = RequestContext::Create(*host_, {deadline, nullptr});
    EXPECT_TRUE(request.ok());
    return *std::move(request);
  }

  TensorHandle Available() const { return TensorHandle::MakeAvailable(memory_.Dense<float>({2}, {1, 2})); }
  RcRef<TensorValue> PendingValue() const {
    return MakeRef<TensorValue>(TensorValue::Constructed{}, kTwoFloats, &memory_.device);
  }
  TensorHandle HandleTo(const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device);
  }
  TensorHandle HandleTo(const RcRef<MetadataValue>& metadata, const RcRef<TensorValue>& value) const {
    return TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata)),
                        AsyncValueRef<Tensor>(RcRef<AsyncValue>(value)), &memory_.device);
  }
  void Resolve(const RcRef<TensorValue>& value) const {
    if (value->HasContent()) {
      value->value().TakePayload(memory_.Dense<float>({2}, {1, 2}));
      value->SetConcrete();
    } else {
      value->Emplace(memory_.Dense<float>({2}, {1, 2}));
    }
  }
  size_t NumDiagnostics() {
    const std::lock_guard lock(mutex_);
    return diagnostics_.size();
  }

  const HostMemory memory_;
  const Device remote_{"gpu:0", kRemote};
  std::mutex mutex_;
  std::vector<Status> diagnostics_;
  std::optional<HostContext> host_;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_TENSOR_TRANSFER_TEST_FIXTURE_H_
