// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Collective ops of the library on MPI: run by mpirun as several processes, each of which checks its results against
// what it computes from the numbers that all of them start with.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives_test_fixture.h"
#include "tandem/float16.h"
#include "tandem/ops.h"

namespace tandem::eager {
namespace {

// Element i of process `rank`.
template <typename T>
T ValueOf(int rank, size_t i) {
  return static_cast<T>(static_cast<float>((i * 7 + static_cast<size_t>(rank) * 5) % 11 + 1));
}
template <typename T>
std::vector<T> ValuesOf(int rank, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf<T>(rank, i);
  return values;
}

class MpiCollectivesTest : public CollectivesTest {
 protected:
  template <typename T>
  std::vector<T> ReducedValues(std::string_view reduction, size_t count) {
    std::vector<T> expected(count);
    for (size_t i = 0; i < count; ++i) {
      double value = static_cast<double>(ValueOf<T>(0, i));
      for (int rank = 1; rank < count_; ++rank) {
        const double other = static_cast<double>(ValueOf<T>(rank, i));
        if (reduction == "sum" || reduction == "mean") value += other;
        if (reduction == "prod") value *= other;
        if (reduction == "min") value = std::min(value, other);
        if (reduction == "max") value = std::max(value, other);
      }
      expected[i] = static_cast<T>(reduction == "mean" ? value / count_ : value);
    }
    return expected;
  }
  // Small numbers: sums and products are exact, and the mean is rounded once.
  template <typename T>
  void ExpectReductions() {
    for (const std::string_view reduction : {"sum", "min", "max", "prod", "mean"}) {
      if (std::is_integral_v<T> && reduction == "mean") continue;
      const Tensor reduced = Reduce("tandem.AllReduce", Vector(ValuesOf<T>(rank_, 37)), reduction);
      EXPECT_EQ(*reduced.ToVector<T>(), ReducedValues<T>(reduction, 37)) << reduction;
    }
  }
};

TEST_F(MpiCollectivesTest, AllReduceOfEachDType) {
  ExpectReductions<float>();
  ExpectReductions<double>();
  ExpectReductions<int32_t>();
  ExpectReductions<int64_t>();
  ExpectReductions<uint16_t>();
}

TEST_F(MpiCollectivesTest, AllReduceOfHalves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor sum = Call("tandem.AllReduce", cast(Vector(ValuesOf<float>(rank_, 37)), dtype));
    EXPECT_EQ(sum.Metadata()->dtype, dtype);
    EXPECT_EQ(*cast(sum, DType::kF32).ToVector<float>(), ReducedValues<float>("sum", 37));
  }
}

// Other than with a tree of additions, sums are those of the ranks' order, so they do not depend on who adds them up.
TEST_F(MpiCollectivesTest, SumsAreInTheOrderOfRanks) {
  std::vector<float> expected(1000), own(1000);
  for (int rank = 0; rank < count_; ++rank) {
    for (size_t i = 0; i < own.size(); ++i) {
      const float value = 1.0f / static_cast<float>(i + 1 + 17 * static_cast<size_t>(rank));
      expected[i] = rank == 0 ? value : expected[i] + value;
      if (rank == rank_) own[i] = value;
    }
  }
  EXPECT_EQ(*Call("tandem.AllReduce", Vector(own)).ToVector<float>(), expected);
}

TEST_F(MpiCollectivesTest, ScalarsAndEmptyTensors) {
  const Tensor sum = Call("tandem.AllReduce", rt_.Scalar<int32_t>(rank_ + 1));
  EXPECT_TRUE(sum.Metadata()->shape == TensorShape());
  EXPECT_EQ(*sum.Item<int32_t>(), count_ * (count_ + 1) / 2);
  const Tensor none = rt_.FromValues<float>({}, {2, 0});
  EXPECT_TRUE(Call("tandem.AllReduce", none).Metadata()->shape == TensorShape({2, 0}));
  EXPECT_TRUE(Call("tandem.Broadcast", none).Await().ok());
  EXPECT_TRUE(Call("tandem.AllGather", none).Metadata()->shape == TensorShape({2 * count_, 0}));
  EXPECT_TRUE(Call("tandem.ReduceScatter", rt_.FromValues<float>({}, {0, 3})).Await().ok());
}

TEST_F(MpiCollectivesTest, SeveralTensorsAtOnce) {
  Operand a(rt_.Scalar<float>(1)), b(Vector(ValuesOf<float>(rank_, 5))), c(rt_.FromValues<float>({}, {0}));
  Operand* const operands[] = {&a, &b, &c};
  Tensor results[3];
  rt_.Execute("tandem.AllReduce", operands, OpAttrs(), results, nullptr);
  EXPECT_EQ(*results[0].Item<float>(), count_);
  EXPECT_EQ(*results[1].ToVector<float>(), ReducedValues<float>("sum", 5));
  EXPECT_TRUE(results[2].Await().ok());
}

// More than the buffers hold, and no multiple of the number of processes.
TEST_F(MpiCollectivesTest, LongTensorsGoInPieces) {
  constexpr size_t kCount = 1'300'001;
  const Tensor sum = Call("tandem.AllReduce", Vector(ValuesOf<float>(rank_, kCount)));
  EXPECT_TRUE(*sum.ToVector<float>() == ReducedValues<float>("sum", kCount));
  const Tensor first = Call("tandem.Broadcast", Vector(ValuesOf<float>(rank_, kCount)));
  EXPECT_TRUE(*first.ToVector<float>() == ValuesOf<float>(0, kCount));
  const std::vector<float> all = *Call("tandem.AllGather", Vector(ValuesOf<float>(rank_, kCount))).ToVector<float>();
  ASSERT_EQ(all.size(), kCount * static_cast<size_t>(count_));
  for (int rank = 0; rank < count_; ++rank) {
    const auto begin = all.begin() + static_cast<int64_t>(kCount) * rank;
    EXPECT_TRUE(std::equal(begin, begin + kCount, ValuesOf<float>(rank, kCount).begin())) << rank;
  }
}

TEST_F(MpiCollectivesTest, BroadcastFromEachProcess) {
  for (int root = 0; root < count_; ++root) {
    OpAttrs attrs;
    attrs.Set("root", int64_t{root});
    const Tensor x = rt_.FromValues<int64_t>({rank_, rank_ + 10, rank_ + 20}, {3, 1});
    const Tensor y = Call("tandem.Broadcast", x, attrs);
    EXPECT_TRUE(y.Metadata()->shape == TensorShape({3, 1}));
    EXPECT_EQ(*y.ToVector<int64_t>(), (std::vector<int64_t>{root, root + 10, root + 20}));
  }
  const Tensor flags = Call("tandem.Broadcast", cast(rt_.Scalar<int32_t>(rank_ == 0), DType::kBool));
  EXPECT_EQ(*cast(flags, DType::kI32).Item<int32_t>(), 1);
}

TEST_F(MpiCollectivesTest, AllGatherIsAlongTheFirstDimension) {
  const Tensor y = Call("tandem.AllGather", rt_.FromValues<int32_t>({rank_, rank_ * 2}, {1, 2}));
  EXPECT_TRUE(y.Metadata()->shape == TensorShape({count_, 2}));
  std::vector<int32_t> expected;
  for (int rank = 0; rank < count_; ++rank) expected.insert(expected.end(), {rank, rank * 2});
  EXPECT_EQ(*y.ToVector<int32_t>(), expected);
}

TEST_F(MpiCollectivesTest, ReduceScatterGivesEachItsPart) {
  // Long enough for several pieces.
  const size_t part = 600'001, all = part * static_cast<size_t>(count_);
  const Tensor x = Vector(ValuesOf<double>(rank_, all));
  const std::vector<double> expected = ReducedValues<double>("mean", all);
  const std::vector<double> own = *Reduce("tandem.ReduceScatter", x, "mean").ToVector<double>();
  ASSERT_EQ(own.size(), part);
  EXPECT_TRUE(std::equal(own.begin(), own.end(), expected.begin() + static_cast<int64_t>(part) * rank_));
}

// CH-3: calls are futures, and their chain makes every process issue them in the same order, whichever is ready first.
TEST_F(MpiCollectivesTest, CH3_ChainedCallsKeepTheirOrder) {
  std::vector<Tensor> sums;
  Tensor value = rt_.Scalar<float>(static_cast<float>(rank_));
  for (int i = 0; i < 50; ++i) {
    // Of one process the first input of a pair comes from the call before, of others the second.
    value =
        Reduce("tandem.AllReduce", (i + rank_) % 2 == 0 ? add(value, 0.0) : rt_.Scalar(*value.Item<float>()), "max");
    sums.push_back(Call("tandem.AllReduce", rt_.Scalar<int32_t>(i)));
  }
  EXPECT_EQ(*value.Item<float>(), static_cast<float>(count_ - 1));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*sums[static_cast<size_t>(i)].Item<int32_t>(), i * count_);
}

// EX-3: the errors of each process by itself, none of which needs the others.
TEST_F(MpiCollectivesTest, WrongCalls) {
  const Tensor two = rt_.FromValues<int32_t>({1, 2}, {2});
  EXPECT_EQ(ErrorOf(Reduce("tandem.AllReduce", two, "mean")),
            "[tandem.AllReduce] the mean must be of f16, bf16, f32 or f64, got i32");
  chain_.reset();
  EXPECT_NE(ErrorOf(Reduce("tandem.AllReduce", two, "median")).find("median"), std::string::npos);
  chain_.reset();
  OpAttrs attrs;
  attrs.Set("root", int64_t{count_});
  const std::string count = std::to_string(count_);
  EXPECT_EQ(ErrorOf(Call("tandem.Broadcast", two, attrs)),
            "[tandem.Broadcast] root must be in [0, " + count + "), the processes, got " + count);
  chain_.reset();
  EXPECT_EQ(ErrorOf(Call("tandem.AllGather", rt_.Scalar(1.0f))),
            "[tandem.AllGather] x to gather must have a first dimension, got a scalar");
  chain_.reset();
  EXPECT_EQ(ErrorOf(Call("tandem.ReduceScatter", Vector(ValuesOf<float>(0, static_cast<size_t>(count_) + 1)))),
            "[tandem.ReduceScatter] first dimension of x must be a multiple of " + count + " processes, got " +
                std::to_string(count_ + 1));
  chain_.reset();
  OpAttrs never;
  never.Set("timeout_ms", int64_t{1} << 40);
  EXPECT_EQ(ErrorOf(Call("tandem.AllReduce", two, never)),
            "[tandem.AllReduce] timeout_ms must be in [1, 2147483647], got 1099511627776");
}

// CH-2: without a chain nobody would know the order.
TEST_F(MpiCollectivesTest, CH2_ACallNeedsAChain) {
  const auto scope = rt_.With({.chain = nullptr});
  Runtime& rt = rt_;
  std::vector<TensorHandle> args(1);
  args[0] = rt.Scalar(1.0f).handle().CopyRef();
  std::vector<TensorHandle> results(1);
  rt.core().Execute("tandem.AllReduce", &rt.handler(), Location(), args, OpAttrs(), results, nullptr);
  EXPECT_TRUE(results[0].IsError());
}

// All processes hear of it, and go on.
TEST_F(MpiCollectivesTest, CallsThatDiffer) {
  const Tensor x = rt_.FromValues<float>({1, 2, 3}, {3});
  const std::string error = ErrorOf(rank_ == 1 ? Call("tandem.Broadcast", x) : Call("tandem.AllReduce", x));
  EXPECT_NE(error.find("expected the same call in every process, process " + std::to_string(rank_)), std::string::npos)
      << error;
  EXPECT_NE(error.find("calls Broadcast from 0 of 1 f32 tensors with 3 elements"), std::string::npos) << error;
  EXPECT_NE(error.find("calls AllReduce (sum) of 1 f32 tensors with 3 elements"), std::string::npos) << error;
  chain_.reset();
  const std::string shapes = ErrorOf(Call("tandem.AllReduce", reshape(x, rank_ == 0 ? Operand({1, 3}) : Operand({3}))));
  EXPECT_TRUE(shapes.ends_with("of other shapes")) << shapes;
  chain_.reset();
  EXPECT_EQ(*Call("tandem.AllReduce", rt_.Scalar(1.0f)).Item<float>(), static_cast<float>(count_));
}

// MPI starts once in a process; runtimes and libraries come and go.
TEST_F(MpiCollectivesTest, DL1_AnotherRuntimeUsesTheSameProcesses) {
  auto other = std::move(*Runtime::Create());
  LoadedOpLibrary library = std::move(*LoadOpLibrary(other->core(), TANDEM_MPI_LIBRARY));
  AsyncValueRef<Chain> chain;
  {
    const auto scope = other->With({.chain = &chain});
    Operand one(other->Scalar(1.0f));
    EXPECT_EQ(*other->Execute("tandem.AllReduce", {&one}, OpAttrs()).Item<float>(), static_cast<float>(count_));
  }
  chain.reset();
  EXPECT_TRUE(library.Unload().IsValid());
  EXPECT_EQ(*Call("tandem.AllReduce", rt_.Scalar(1.0f)).Item<float>(), static_cast<float>(count_));
}

}  // namespace
}  // namespace tandem::eager
