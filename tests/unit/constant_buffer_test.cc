// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Memory of constants, and what kernels keep with it (PR-5).

#include "tandem/constant_buffer.h"

#include <gtest/gtest.h>

#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "gemm/packed_memory.h"
#include "op_test_fixture.h"
#include "tandem/host_tensors.h"

namespace tandem {
namespace {

// A buffer that counts how many such there are.
RcRef<HostBuffer> Counted(int& count) {
  ++count;
  StatusOr<RcRef<HostBuffer>> buffer = HostAllocator::WrapExternal(&count, sizeof(count), [&count] { --count; });
  EXPECT_TRUE(buffer.ok());
  return *std::move(buffer);
}

TEST(ConstantBufferTest, PR5_AFormIsFoundByItsKey) {
  int count = 0;
  {
    ConstantForms forms;
    const ConstantForms::Key key = {&count, {1, 2}};
    EXPECT_FALSE(forms.Find(key));
    const RcRef<HostBuffer> form = Counted(count);
    forms.Keep(key, form);
    EXPECT_EQ(forms.Find(key).get(), form.get());
    EXPECT_FALSE(forms.Find({&count, {1, 3}}));
    EXPECT_FALSE(forms.Find({&forms, {1, 2}}));
    forms.Keep(key, Counted(count));
    EXPECT_EQ(forms.Find(key).get(), form.get()) << "the first one is kept";
    EXPECT_EQ(count, 1);
    const ConstantForms::Key other = {&count, {1, 3}};
    forms.Keep(other, Counted(count));
    EXPECT_TRUE(forms.Find(other));
    EXPECT_EQ(forms.Find(key).get(), form.get());
  }
  EXPECT_EQ(count, 0);
}

TEST(ConstantBufferTest, PR5_FormsGoWithTheConstant) {
  int count = 0;
  const float data[2] = {1, 2};
  bool is_released = false;
  StatusOr<RcRef<HostBuffer>> buffer = ConstantBuffer::Wrap(data, sizeof(data), [&] { is_released = true; });
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->data(), data);
  EXPECT_TRUE((*buffer)->is_external()) << "TH-5: nobody takes it over";
  ASSERT_NE((*buffer)->constant_forms(), nullptr);
  (*buffer)->constant_forms()->Keep({&count, {}}, Counted(count));
  EXPECT_EQ(count, 1);
  EXPECT_FALSE(is_released);
  *buffer = nullptr;
  EXPECT_EQ(count, 0);
  EXPECT_TRUE(is_released);
}

TEST(ConstantBufferTest, PR5_ThreadsKeepOneForm) {
  int counts[4] = {};
  ConstantForms forms;
  std::vector<std::thread> threads;
  for (int& count : counts) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 100; ++i) {
        const ConstantForms::Key key = {&forms, {i}};
        if (!forms.Find(key)) forms.Keep(key, Counted(count));
        EXPECT_TRUE(forms.Find(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3], 100);
}

TEST_F(OpTest, PR5_ATensorBecomesAConstantOverItsOwnMemory) {
  const std::vector<float> values(10'000, 1.5f);
  const TensorMetadata metadata = {DType::kF32, TensorShape({10'000})};
  StatusOr<Tensor> tensor = MakeDense(metadata, std::as_bytes(std::span(values)), host().device(), host().allocator());
  ASSERT_TRUE(tensor.ok());
  StatusOr<Tensor> constant = AsConstant(*tensor);
  ASSERT_TRUE(constant.ok());
  EXPECT_EQ(constant->metadata(), metadata);
  EXPECT_EQ(constant->data(), tensor->data());
  ASSERT_NE(constant->storage()->constant_forms(), nullptr);
  EXPECT_TRUE(constant->storage()->constant_forms()->is_of_constant());
  EXPECT_FALSE(tensor->storage()->constant_forms()->is_of_constant());
  *tensor = Tensor(&host().device());
  EXPECT_EQ(static_cast<const float*>(constant->data())[99], 1.5f) << "the memory goes with the constant";
  StatusOr<Tensor> again = AsConstant(*constant);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->storage(), constant->storage());
}

TEST_F(OpTest, PR5_WhatIsReadAsItLiesIsNoConstant) {
  const float value = 1;
  const TensorMetadata one = {DType::kF32, TensorShape({1})};
  const TensorMetadata many = {DType::kF32, TensorShape({100})};
  for (const StatusOr<Tensor>& tensor :
       {MakeDense(one, std::as_bytes(std::span(&value, 1)), host().device(), host().allocator()),
        MakeScalar(many, &value, host().device())}) {
    ASSERT_TRUE(tensor.ok());
    StatusOr<Tensor> same = AsConstant(*tensor);
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(&same->type(), &tensor->type());
    EXPECT_TRUE(!same->storage() || same->storage()->constant_forms() == nullptr);
  }
}

class PackedMemoryTest : public OpTest {
 protected:
  ConstantForms forms_;
  const ConstantForms::Key key_ = {&forms_, {7}};
};

TEST_F(PackedMemoryTest, PR5_OnlyTheFirstCallPacks) {
  const ExecutionContext exec(host(), Location());
  const KernelRun run(exec);
  std::byte* data = nullptr;
  {
    cpu::PackedMemory memory(&forms_, key_, 1000);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_FALSE(memory.is_packed());
    data = memory.data();
    EXPECT_FALSE(cpu::PackedMemory(&forms_, key_, 1000).is_packed()) << "not before it has been packed";
    memory.SetPacked();
  }
  const cpu::PackedMemory later(&forms_, key_, 1000);
  EXPECT_TRUE(later.is_packed());
  EXPECT_EQ(later.data(), data);
}

TEST_F(PackedMemoryTest, CA4_WhatACancelledKernelPackedIsNotKept) {
  const ExecutionContext exec(host(), Location());
  {
    const KernelRun run(exec);
    cpu::PackedMemory memory(&forms_, key_, 1000);
    host().CancelExecution("enough");
    memory.SetPacked();
  }
  EXPECT_FALSE(forms_.Find(key_));
}

TEST_F(PackedMemoryTest, PR5_OtherArgumentsArePackedForOneCall) {
  const ExecutionContext exec(host(), Location());
  const KernelRun run(exec);
  cpu::PackedMemory memory(nullptr, key_, 1000);
  ASSERT_NE(memory.data(), nullptr);
  EXPECT_FALSE(memory.is_packed());
  memory.SetPacked();
  EXPECT_FALSE(cpu::PackedMemory(nullptr, key_, 1000).is_packed());
}

}  // namespace
}  // namespace tandem
