// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Transfers that end early: by the host, by their request, by its deadline (CA-1 to CA-3, CA-5).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "tandem/host_context.h"
#include "tandem/tensor_handle.h"
#include "tensor_transfer_test_fixture.h"

namespace tandem {
namespace {

// CA-1
TEST_F(TensorTransferTest, CancellingTheHostEndsAPendingTransferAtOnceAndDropsItsSource) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
  constexpr uint32_t kLine = __LINE__ - 1;
  const Tensor* tensor = &value->value();
  host_->CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_EQ(result.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_EQ(result.GetError().location().line, kLine);
  EXPECT_EQ(result.metadata(), kTwoFloats);
  EXPECT_TRUE(value->IsUnique());
  EXPECT_EQ(&value->value(), tensor);
}

// CA-1: whether or not its source ever resolves.
TEST_F(TensorTransferTest, ACancelledTransfersSourceMayResolveLaterOrNever) {
  for (const bool resolves : {true, false}) {
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
    host_->CancelExecution("enough");
    host_->Restart();
    if (resolves) Resolve(value);
    value.reset();
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  }
}

// CA-1
TEST_F(TensorTransferTest, CancellingEndsPendingMetadataToo) {
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle result = HandleTo(metadata, value).TransferTo(Exec(), remote_);
  host_->CancelExecution("enough");
  EXPECT_TRUE(result.value().IsError());
  EXPECT_TRUE(result.metadata_value()->IsError());
  EXPECT_TRUE(value->IsUnique());
  metadata->Emplace(kTwoFloats);
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
}

// CA-1
TEST_F(TensorTransferTest, CancellingEndsATransferWhoseConversionTakesTime) {
  const TensorHandle result = Available().TransferTo(Exec(), remote_, kSlow);
  host_->CancelExecution("enough");
  EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
  EXPECT_TRUE(slow_result->IsUnique());
  slow_result->Emplace(kTwoFloats, &remote_, kSlow, nullptr, nullptr);
  EXPECT_TRUE(result.IsError());
}

// CA-1
TEST_F(TensorTransferTest, WhileTheHostIsCancelledTransfersFailAtOnce) {
  host_->CancelExecution("enough");
  const size_t diagnostics = NumDiagnostics();
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle pending = HandleTo(value).TransferTo(Exec(), remote_);
  const TensorHandle available = Available().TransferTo(Exec(), remote_);
  EXPECT_EQ(pending.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_EQ(available.GetError().message(), "[tandem.Transfer] enough");
  EXPECT_TRUE(value->IsUnique());
  EXPECT_EQ(NumDiagnostics(), diagnostics + 2);
  // Nothing is done for what is there already.
  EXPECT_TRUE(Available().TransferTo(Exec(), memory_.device).IsConcrete());
}

// CA-2
TEST_F(TensorTransferTest, AfterARestartNewTransfersRunAndOldOnesStayCancelled) {
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle before = HandleTo(value).TransferTo(Exec(), remote_);
  host_->CancelExecution("enough");
  host_->Restart();
  const TensorHandle after = HandleTo(value).TransferTo(Exec(), remote_);
  Resolve(value);
  EXPECT_EQ(before.GetError().code(), StatusCode::kCancelled);
  EXPECT_TRUE(after.IsConcrete());
}

// CA-3
TEST_F(TensorTransferTest, CancellingARequestEndsItsTransfersAlone) {
  const RcRef<RequestContext> cancelled = MakeRequest();
  const RcRef<RequestContext> other = MakeRequest();
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle of_cancelled = HandleTo(value).TransferTo(Exec(cancelled), remote_);
  const TensorHandle of_other = HandleTo(value).TransferTo(Exec(other), remote_);
  const TensorHandle of_none = HandleTo(value).TransferTo(Exec(), remote_);
  cancelled->Cancel("no longer wanted");
  EXPECT_EQ(of_cancelled.GetError().message(), "[tandem.Transfer] no longer wanted");
  EXPECT_FALSE(of_other.IsAvailable());
  EXPECT_FALSE(of_none.IsAvailable());
  EXPECT_EQ(Available().TransferTo(Exec(cancelled), remote_).GetError().code(), StatusCode::kCancelled);
  Resolve(value);
  EXPECT_TRUE(of_other.IsConcrete());
  EXPECT_TRUE(of_none.IsConcrete());
}

// CA-3: a cancelled transfer does not keep its request while its source may come much later.
TEST_F(TensorTransferTest, ACancelledTransferLetsItsRequestGo) {
  RcRef<RequestContext> request = MakeRequest(RequestContext::Clock::now() + std::chrono::hours(1));
  RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(request), remote_);
  EXPECT_FALSE(request->IsUnique());
  request->Cancel("no longer wanted");
  EXPECT_TRUE(request->IsUnique());
  request.reset();
  host_.reset();
  value.reset();
}

// CA-3
TEST_F(TensorTransferTest, ATransferEndsWithItsRequestsDeadline) {
  const RcRef<RequestContext> late = MakeRequest(RequestContext::Clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(Available().TransferTo(Exec(late), remote_).GetError().code(), StatusCode::kDeadlineExceeded);

  const RcRef<RequestContext> soon = MakeRequest(RequestContext::Clock::now() + std::chrono::milliseconds(5));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle result = HandleTo(value).TransferTo(Exec(soon), remote_);
  EXPECT_EQ(host_->Await(result).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(value->IsUnique());
}

// CA-1, MD-4: dependents of a cancelled transfer, and theirs, hear of it though the source stays pending.
TEST_F(TensorTransferTest, ACancelledTransferEndsThoseThatDependOnIt) {
  const RcRef<RequestContext> request = MakeRequest();
  const RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
  const RcRef<TensorValue> value = MakeUnconstructed<Tensor>();
  const TensorHandle first = HandleTo(metadata, value).TransferTo(Exec(request), remote_);
  const TensorHandle second = first.TransferTo(Exec(), memory_.device);
  const TensorHandle third = second.TransferTo(Exec(), remote_);
  request->Cancel("no longer wanted");
  for (const TensorHandle* handle : {&first, &second, &third}) {
    EXPECT_EQ(handle->GetError().message(), "[tandem.Transfer] no longer wanted");
    EXPECT_TRUE(handle->value().IsError());
  }
}

// CA-1: the host goes with transfers pending, the source comes, or goes, afterwards.
TEST_F(TensorTransferTest, TheHostMayGoBeforeTheSource) {
  for (const bool resolves : {true, false}) {
    Restart({});
    RcRef<TensorValue> value = PendingValue();
    const TensorHandle result = HandleTo(value).TransferTo(Exec(), remote_);
    host_.reset();
    EXPECT_EQ(result.GetError().code(), StatusCode::kCancelled);
    if (resolves) Resolve(value);
    value.reset();
  }
}

// CA-1, CA-5
TEST_F(TensorTransferTest, ThreadsTransferResolveAndCancel) {
  std::atomic<bool> stop{false};
  std::thread canceller([&] {
    while (!stop) {
      host_->CancelExecution("enough");
      std::this_thread::yield();
      host_->Restart();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&, user] {
      const RcRef<RequestContext> request = MakeRequest();
      for (int round = 0; round < 300; ++round) {
        RcRef<MetadataValue> metadata = MakeUnconstructed<TensorMetadata>();
        RcRef<TensorValue> value = round % 2 == 0 ? PendingValue() : MakeUnconstructed<Tensor>();
        const TensorHandle source = round % 2 == 0 ? HandleTo(value) : HandleTo(metadata, value);
        const TensorHandle there = source.TransferTo(Exec(request), remote_);
        const TensorHandle back = there.TransferTo(Exec(), memory_.device);
        std::thread resolver([&] {
          if (round % 2 != 0) metadata->Emplace(kTwoFloats);
          Resolve(value);
        });
        if (user == 0 && round == 200) request->Cancel("no longer wanted");
        resolver.join();
        for (const TensorHandle* handle : {&there, &back}) {
          while (!handle->IsAvailable()) std::this_thread::yield();
          ASSERT_TRUE(handle->IsConcrete() || handle->GetError().code() == StatusCode::kCancelled);
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  stop = true;
  canceller.join();
}

}  // namespace
}  // namespace tandem
