// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What traces and observers tell of transfers (TH-9, EX-13, TR-1, TR-2).

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "host_values.h"
#include "tandem/host_context.h"
#include "tandem/tensor_handle.h"
#include "tensor_transfer_test_fixture.h"

namespace tandem {
namespace {

// EX-13, TR-1, TR-2
TEST_F(TensorTransferTest, TransfersAreTraced) {
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 0);
  host_->StartTracing();
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle later = HandleTo(value).TransferTo(Exec(), remote_);
  EXPECT_EQ(host_->tracer().num_events(), 1);
  Resolve(value);
  EXPECT_EQ(host_->tracer().num_events(), 2);
  // Nothing is done for these.
  static_cast<void>(Available().TransferTo(Exec(), memory_.device));
  static_cast<void>(TensorHandle::MakeError(Internal("x")).TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 2);
  const std::string json = host_->tracer().ToJson();
  EXPECT_NE(json.find(R"("name":"tandem.Transfer")"), std::string::npos);
  EXPECT_NE(json.find(R"("device":"gpu:0")"), std::string::npos);
  EXPECT_NE(json.find(R"("inputs":"f32[2]")"), std::string::npos);
  EXPECT_NE(json.find(R"("attrs":"{from = dense_host on cpu, to = remote on gpu:0}")"), std::string::npos);
  host_->StopTracing();
  static_cast<void>(Available().TransferTo(Exec(), remote_));
  EXPECT_EQ(host_->tracer().num_events(), 2);
}

// TH-9: a conversion that takes time has ended when its result is there.
TEST_F(TensorTransferTest, TH9_ASlowConversionIsTracedUntilItsEnd) {
  host_->StartTracing();
  const TensorHandle slow = Available().TransferTo(Exec(), remote_, kSlow);
  EXPECT_EQ(host_->tracer().num_events(), 0);
  slow_result->Emplace(As(kSlow, Available().tensor(), remote_, kTwoFloats));
  EXPECT_TRUE(slow.IsConcrete());
  EXPECT_EQ(host_->tracer().num_events(), 1);
  EXPECT_NE(host_->tracer().ToJson().find("{from = dense_host on cpu, to = slow on gpu:0}"), std::string::npos);
}

// TH-9: whoever asks hears of what is transferred, and of nothing else.
TEST_F(TensorTransferTest, TH9_AnObserverHearsOfEachTransfer) {
  class Observer final : public TransferObserver {
   public:
    explicit Observer(std::vector<std::string>& heard) : heard_(heard) {}
    void OnTransfer(const TensorHandle& source, const TensorHandle& result, std::string_view attrs) override {
      heard_.push_back(TextOf(source, " -> ", result, " ", attrs));
    }

   private:
    std::vector<std::string>& heard_;
  };
  std::vector<std::string> heard;
  const ExecutionContext exec = Exec().WithTransferObserver(MakeRef<Observer>(heard));
  static_cast<void>(Available().TransferTo(exec, remote_));
  const RcRef<TensorValue> value = PendingValue();
  const TensorHandle later = HandleTo(value).TransferTo(exec, remote_);
  static_cast<void>(Available().TransferTo(exec, memory_.device));
  static_cast<void>(TensorHandle::MakeError(Internal("x")).TransferTo(exec, remote_));
  EXPECT_EQ(heard, (std::vector<std::string>{
                       "f32[2] on cpu -> f32[2] on gpu:0 {from = dense_host on cpu, to = remote on gpu:0}",
                       "pending f32[2] on cpu -> pending f32[2] on gpu:0 {from = cpu, to = remote on gpu:0}",
                   }));
  Resolve(value);
  EXPECT_TRUE(later.IsConcrete());
}

}  // namespace
}  // namespace tandem
