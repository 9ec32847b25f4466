// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What kernels keep of tensors that are no constants: from which use on, until when, and that results are the same with
// and without it (TH-10).

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "instruction_sets.h"
#include "op_test_fixture.h"
#include "tandem/constant_buffer.h"

namespace tandem {
namespace {

using Buffer = RcRef<HostBuffer>;
using Key = ConstantForms::Key;

constexpr size_t kKiB = 1024;

Buffer Allocate(HostAllocator& allocator, size_t size) {
  StatusOr<Buffer> buffer = allocator.Allocate(size);
  EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
  return buffer.ok() ? *std::move(buffer) : nullptr;
}

// Keeps a form as a kernel does, if it is wanted.
bool Use(const Buffer& buffer, HostAllocator& allocator, const Key& key, size_t size) {
  ConstantForms* const forms = buffer->constant_forms();
  if (forms == nullptr || !forms->IsWanted(key, size)) return false;
  if (!forms->Find(key)) forms->Keep(key, Allocate(allocator, size));
  return true;
}

TEST(TensorFormsTest, TH10_AFormIsKeptFromTheSecondUseOn) {
  const auto allocator = HostAllocator::Create({});
  Buffer buffer = Allocate(*allocator, 64 * kKiB);
  const Key key = {&key, {1}}, other = {&key, {2}};
  EXPECT_FALSE(Use(buffer, *allocator, key, 64 * kKiB));
  EXPECT_FALSE(buffer->constant_forms()->Find(key));
  EXPECT_FALSE(Use(buffer, *allocator, other, 64 * kKiB)) << "the first use of this key";
  EXPECT_EQ(allocator->stats().bytes_in_use, 64 * kKiB);
  EXPECT_TRUE(Use(buffer, *allocator, key, 64 * kKiB));
  const Buffer form = buffer->constant_forms()->Find(key);
  ASSERT_TRUE(form);
  EXPECT_TRUE(Use(buffer, *allocator, key, 64 * kKiB));
  EXPECT_EQ(buffer->constant_forms()->Find(key).get(), form.get());
  EXPECT_EQ(allocator->stats().bytes_in_use, 128 * kKiB) << "forms count as memory in use";
  buffer.reset();
  EXPECT_EQ(allocator->stats().bytes_in_use, 64 * kKiB) << "only what the test holds";
}

TEST(TensorFormsTest, TH10_NothingIsKeptOfSmallTensors) {
  const auto allocator = HostAllocator::Create({});
  EXPECT_EQ(Allocate(*allocator, 4 * kKiB)->constant_forms(), nullptr);
  EXPECT_NE(Allocate(*allocator, 16 * kKiB)->constant_forms(), nullptr);
}

TEST(TensorFormsTest, TH10_NothingIsKeptOfMemoryThatOthersMayWriteTo) {
  std::vector<float> values(10'000);
  StatusOr<Buffer> wrapped = HostAllocator::WrapExternal(values.data(), values.size() * sizeof(float), {});
  ASSERT_TRUE(wrapped.ok());
  EXPECT_EQ((*wrapped)->constant_forms(), nullptr);
}

TEST(TensorFormsTest, ER5_FormsAreDroppedBeforeMemoryIsShort) {
  int shortages = 0;
  const auto allocator = HostAllocator::Create({.memory_limit = 1024 * kKiB, .on_shortage = [&](size_t) {
                                                  ++shortages;
                                                  return false;
                                                }});
  const Buffer buffer = Allocate(*allocator, 100 * kKiB);
  const Key key = {&key, {1}};
  EXPECT_FALSE(Use(buffer, *allocator, key, 200 * kKiB));
  EXPECT_TRUE(Use(buffer, *allocator, key, 200 * kKiB));
  Buffer large = Allocate(*allocator, 800 * kKiB);
  EXPECT_TRUE(large);
  EXPECT_EQ(shortages, 0);
  EXPECT_EQ(allocator->stats().bytes_in_use, 900 * kKiB);
  EXPECT_FALSE(buffer->constant_forms()->Find(key));
  // Nor are there new ones until half of that is free.
  for (int use = 0; use < 3; ++use) EXPECT_FALSE(Use(buffer, *allocator, key, 20 * kKiB));
  large.reset();
  EXPECT_TRUE(Use(buffer, *allocator, key, 200 * kKiB));
  // What has been in the way twice is not made a third time.
  EXPECT_TRUE(Allocate(*allocator, 800 * kKiB));
  for (int use = 0; use < 3; ++use) EXPECT_FALSE(Use(buffer, *allocator, key, 200 * kKiB));
  allocator->set_memory_limit(2048 * kKiB);
  EXPECT_TRUE(Use(buffer, *allocator, key, 200 * kKiB));
}

TEST(TensorFormsTest, ER5_WhatIsLargerThanTheLimitDropsNothing) {
  const auto allocator = HostAllocator::Create({.memory_limit = 1024 * kKiB});
  const Buffer buffer = Allocate(*allocator, 100 * kKiB);
  const Key key = {&key, {1}};
  Use(buffer, *allocator, key, 200 * kKiB);
  EXPECT_TRUE(Use(buffer, *allocator, key, 200 * kKiB));
  EXPECT_EQ(allocator->Allocate(1025 * kKiB).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(buffer->constant_forms()->Find(key));
}

TEST(TensorFormsTest, ER5_FormsLeaveAQuarterOfTheLimit) {
  const auto allocator = HostAllocator::Create({.memory_limit = 1000 * kKiB});
  const Buffer buffer = Allocate(*allocator, 500 * kKiB);
  const Key key = {&key, {1}}, larger = {&key, {2}};
  for (int use = 0; use < 3; ++use) EXPECT_FALSE(Use(buffer, *allocator, larger, 251 * kKiB));
  EXPECT_FALSE(Use(buffer, *allocator, key, 250 * kKiB));
  EXPECT_TRUE(Use(buffer, *allocator, key, 250 * kKiB));
  for (int use = 0; use < 3; ++use) EXPECT_FALSE(Use(buffer, *allocator, larger, SIZE_MAX));
}

TEST(TensorFormsTest, WQ3_FormsOutliveTheAllocator) {
  auto allocator = HostAllocator::Create({});
  Buffer buffer = Allocate(*allocator, 64 * kKiB);
  const Key key = {&key, {1}};
  Use(buffer, *allocator, key, 64 * kKiB);
  EXPECT_TRUE(Use(buffer, *allocator, key, 64 * kKiB));
  allocator.reset();
  EXPECT_TRUE(buffer->constant_forms()->Find(key));
}

TEST(TensorFormsTest, TH10_FormsAreMadeAndDroppedByManyThreads) {
  const auto allocator = HostAllocator::Create({.memory_limit = 16 * 1024 * kKiB});
  std::vector<Buffer> buffers;
  for (int i = 0; i < 8; ++i) buffers.push_back(Allocate(*allocator, 32 * kKiB));
  std::atomic<bool> is_done = false;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      const Key key = {&buffers, {thread / 2}};
      for (int i = 0; i < 2000; ++i) {
        const Buffer& shared = buffers[static_cast<size_t>(i % 8)];
        if (Use(shared, *allocator, key, 32 * kKiB)) shared->constant_forms()->Find(key);
        const Buffer own = Allocate(*allocator, 32 * kKiB);
        Use(own, *allocator, key, 32 * kKiB);
        Use(own, *allocator, key, 32 * kKiB);
        if (i % 100 == 0) allocator->set_memory_limit(16 * 1024 * kKiB);
      }
      is_done = true;
    });
  }
  // More than there is beside what is kept.
  while (!is_done) {
    if (StatusOr<Buffer> most = allocator->Allocate(15 * 1024 * kKiB); most.ok()) {
      *static_cast<char*>((*most)->data()) = 1;
    }
  }
  for (std::thread& thread : threads) thread.join();
  buffers.clear();
  EXPECT_EQ(allocator->stats().bytes_in_use, 0u);
}

// ---- Products and convolutions.

// Whole numbers, so that sums are exact, and a different one in each of some places.
std::vector<float> Numbers(int64_t n, int64_t factor) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<float>((i * factor + i / 11) % 17 - 8);
  return values;
}
// What sums in another order would give other bits of.
std::vector<float> Fractions(int64_t n, int64_t factor) {
  std::vector<float> values = Numbers(n, factor);
  for (float& value : values) value = value / 7.0f + 0.01f;
  return values;
}

std::vector<double> Product(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n, int64_t k) {
  std::vector<double> product(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) {
        product[static_cast<size_t>(i * n + j)] +=
            double{a[static_cast<size_t>(i * k + p)]} * b[static_cast<size_t>(p * n + j)];
      }
    }
  }
  return product;
}

struct Shape {
  int64_t m, k, n;
};
// Vectors times matrices from beyond the caches, whose last panels have 1, 4 and all columns; a row stride that no
// vector divides; products whose matrix is packed on each path.
constexpr Shape kShapes[] = {{1, 1100, 257}, {1, 300, 1028}, {1, 700, 512}, {1, 40'000, 129}, {32, 256, 256},
                             {40, 300, 130}, {20, 700, 65},  {256, 90, 80}, {3, 515, 700}};

class KeptMatrixTest : public OpTest, public testing::WithParamInterface<bool> {
 protected:
  KeptMatrixTest() : OpTest(/*exact=*/GetParam()) {}
  // Once all calls have given back what they had.
  size_t BytesInUse() {
    host().Quiesce();
    return host().allocator().stats().bytes_in_use;
  }
};
INSTANTIATE_TEST_SUITE_P(Exact, KeptMatrixTest, testing::Bool());

TEST_P(KeptMatrixTest, TH10_ProductsAreTheSameBitsByAKeptMatrix) {
  cpu::ForEachInstructionSet([&](const char*) {
    for (const auto& [m, k, n] : kShapes) {
      SCOPED_TRACE(testing::Message() << m << "x" << k << "x" << n);
      const std::vector<float> a = Numbers(m * k, 3), b = Numbers(k * n, 5);
      const TensorHandle x = Dense<float>({m, k}, a), w = Dense<float>({k, n}, b);
      const std::vector<double> expected = Product(a, b, m, n, k);
      const TensorHandle y = Dense<float>({m, k}, Fractions(m * k, 3)), v = Dense<float>({k, n}, Fractions(k * n, 5));
      const TensorHandle bias = Dense<float>({n}, Fractions(n, 7));
      std::vector<float> first, first_fused;
      for (int use = 0; use < 3; ++use) {
        EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), expected) << "use " << use;
        const std::vector<float> product = Values<float>(Run("tf.MatMul", {y, v}));
        const std::vector<float> fused =
            Values<float>(Run("tf._FusedMatMul", {y, v, bias},
                              Attrs("fused_ops", std::vector<std::string_view>{"BiasAdd", "Relu"}, "num_args", 1)));
        if (use == 0) first = product;
        if (use == 0) first_fused = fused;
        ASSERT_EQ(product.size(), first.size());
        EXPECT_EQ(std::memcmp(product.data(), first.data(), first.size() * sizeof(float)), 0) << "use " << use;
        ASSERT_EQ(fused.size(), first_fused.size());
        EXPECT_EQ(std::memcmp(fused.data(), first_fused.data(), fused.size() * sizeof(float)), 0) << "use " << use;
      }
    }
  });
}

// Also where sums are below 2^-126, which some instructions for bf16 take for 0.
TEST_P(KeptMatrixTest, TH10_ProductsOfBF16AreRoundedSumsByAKeptMatrix) {
  for (const float scale : {1.0f, 0x1p-68f}) {
    for (const auto& [m, k, n] : {Shape{1, 1100, 257}, {32, 256, 256}, {20, 700, 65}}) {
      SCOPED_TRACE(testing::Message() << m << "x" << k << "x" << n << ", times " << scale);
      const std::vector<float> a = Numbers(m * k, 3), b = Numbers(k * n, 5);
      const auto scaled = [&](const std::vector<float>& numbers, const TensorShape& shape) {
        std::vector<BFloat16> values;
        for (const float number : numbers) values.push_back(BFloat16(number * scale));
        return Dense<BFloat16>(shape, values);
      };
      const TensorHandle x = scaled(a, {m, k}), w = scaled(b, {k, n});
      std::vector<double> expected = Product(a, b, m, n, k);
      for (double& sum : expected) sum = BFloat16(static_cast<float>(sum) * scale * scale);
      const size_t before = BytesInUse();
      for (int use = 0; use < 4; ++use) EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), expected) << "use " << use;
      EXPECT_GT(BytesInUse(), before) << "the test is of no use then";
    }
  }
}

TEST_P(KeptMatrixTest, TH10_ConvolutionsAreTheSameBitsByAKeptFilter) {
  const std::vector<int64_t> strides = {1, 1, 1, 1};
  for (const int64_t size : {int64_t{1}, int64_t{3}}) {
    const TensorHandle image = Dense<float>({1, 12, 12, 64}, Fractions(12 * 12 * 64, 3));
    const TensorHandle filter = Dense<float>({size, size, 64, 80}, Fractions(size * size * 64 * 80, 5));
    const auto convolve = [&] {
      return Values<float>(Run("tf.Conv2D", {image, filter}, Attrs("strides", strides, "padding", "SAME")));
    };
    const size_t before = BytesInUse();
    const std::vector<float> first = convolve();
    EXPECT_EQ(BytesInUse(), before);
    for (int use = 1; use < 4; ++use) {
      const std::vector<float> later = convolve();
      ASSERT_EQ(later.size(), first.size());
      EXPECT_EQ(std::memcmp(later.data(), first.data(), first.size() * sizeof(float)), 0);
      EXPECT_GE(BytesInUse(), before + static_cast<size_t>(size * size * 64 * 80) * sizeof(float));
    }
  }
}

TEST_P(KeptMatrixTest, TH10_WhatIsKeptGoesWithTheTensor) {
  const TensorHandle x = Dense<float>({1, 1100}, Numbers(1100, 3));
  const size_t before = BytesInUse();
  {
    const TensorHandle w = Dense<float>({1100, 257}, Numbers(1100 * 257, 5));
    for (int use = 0; use < 3; ++use) {
      Values<float>(Run("tf.MatMul", {x, w}));
      EXPECT_EQ(BytesInUse() - before, (use == 0 ? 1 : 2) * size_t{1100 * 257} * sizeof(float)) << "use " << use;
    }
  }
  EXPECT_EQ(BytesInUse(), before);
}

TEST_P(KeptMatrixTest, TH10_OfManyRowsNothingIsKept) {
  const TensorHandle x = Dense<float>({600, 100}, Numbers(60'000, 3)), w = Dense<float>({100, 90}, Numbers(9'000, 5));
  const size_t before = BytesInUse();
  for (int use = 0; use < 3; ++use) Values<float>(Run("tf.MatMul", {x, w}));
  EXPECT_EQ(BytesInUse(), before);
}

// The memory of a matrix that has been packed is taken over for a result, which becomes a matrix itself.
TEST_P(KeptMatrixTest, TH5_WhatWasKeptOfMemoryThatIsTakenOverIsForgotten) {
  for (const auto& [m, k, n] : {Shape{1, 1100, 257}, Shape{32, 256, 256}}) {
    const std::vector<float> a = Numbers(m * k, 3);
    std::vector<float> b = Numbers(k * n, 5);
    const TensorHandle x = Dense<float>({m, k}, a);
    TensorHandle w = Dense<float>({k, n}, b);
    for (int use = 0; use < 3; ++use) EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), Product(a, b, m, n, k));
    const void* const memory = w.tensor().data();
    w = Run("tf.AddV2", {std::move(w), Spread<float>({}, 1)});
    ASSERT_TRUE(host().Await(w).ok());
    ASSERT_EQ(w.tensor().data(), memory) << "the test is of no use then";
    for (float& value : b) value += 1;
    for (int use = 0; use < 3; ++use) EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), Product(a, b, m, n, k));
  }
}

TEST_P(KeptMatrixTest, ER5_ProductsNearTheLimitKeepNothing) {
  const std::vector<float> a = Numbers(1100, 3), b = Numbers(1100 * 257, 5);
  const TensorHandle x = Dense<float>({1, 1100}, a), w = Dense<float>({1100, 257}, b);
  host().allocator().set_memory_limit(BytesInUse() + 16 * kKiB);
  for (int use = 0; use < 3; ++use) EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), Product(a, b, 1, 257, 1100));
}

TEST_P(KeptMatrixTest, TH10_ManyThreadsMultiplyWithOneMatrix) {
  const std::vector<float> a = Numbers(1100, 3), b = Numbers(1100 * 257, 5);
  const TensorHandle x = Dense<float>({1, 1100}, a), w = Dense<float>({1100, 257}, b);
  const std::vector<double> expected = Product(a, b, 1, 257, 1100);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int use = 0; use < 20; ++use) EXPECT_EQ(Doubles(Run("tf.MatMul", {x, w})), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tandem
