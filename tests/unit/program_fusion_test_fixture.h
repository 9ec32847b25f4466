// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramFusionTest: for programs whose ops are computed as fewer.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_FUSION_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_PROGRAM_FUSION_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_runner.h"

namespace tandem {

class ProgramFusionTest : public OpTest {
 protected:
  using OpTest::OpTest;

  void SetUp() override { EnableProgramFusion(*cpu()); }

  ProgramRunner Make(std::string_view text, bool fuse) {
    StatusOr<RcRef<const Program>> program = Program::FromText(text, "test.mlir");
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    ProgramRunner::Options options;
    options.fuse = fuse;
    StatusOr<ProgramRunner> runner = ProgramRunner::Create(runtime(), *std::move(program), options);
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    return *std::move(runner);
  }
  std::vector<TensorHandle> RunMain(const ProgramRunner& runner, const std::vector<TensorHandle>& inputs,
                                    size_t num_results) {
    std::vector<TensorHandle> args;
    for (const TensorHandle& input : inputs) args.push_back(input.CopyRef());
    std::vector<TensorHandle> results(num_results);
    runner.Run("main", ExecutionContext(host(), Location()), args, results);
    return results;
  }
  // How many ops a run of the program executes.
  int64_t CountOps(const ProgramRunner& runner, const std::vector<TensorHandle>& inputs, size_t num_results) {
    host().tracer().Clear();
    host().StartTracing();
    for (const TensorHandle& result : RunMain(runner, inputs, num_results)) {
      static_cast<void>(host().Await(result));
    }
    host().StopTracing();
    return host().tracer().num_events();
  }
  void ExpectSame(std::string_view text, const std::vector<TensorHandle>& inputs, size_t num_results) {
    const auto fused = RunMain(Make(text, true), inputs, num_results);
    const auto expected = RunMain(Make(text, false), inputs, num_results);
    for (size_t i = 0; i < num_results; ++i) {
      ASSERT_TRUE(host().Await(fused[i]).ok()) << host().Await(fused[i]).ToString();
      ASSERT_TRUE(host().Await(expected[i]).ok());
      ASSERT_EQ(TextOf(fused[i].metadata()), TextOf(expected[i].metadata()));
      const StatusOr<Tensor> x = ToDense(fused[i].tensor(), host().allocator());
      const StatusOr<Tensor> y = ToDense(expected[i].tensor(), host().allocator());
      ASSERT_TRUE(x.ok() && y.ok());
      EXPECT_EQ(std::memcmp(x->data(), y->data(), x->metadata().byte_size()), 0) << "result " << i;
    }
  }
  std::vector<TensorHandle> Two(std::vector<float> x, std::vector<float> y) {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({static_cast<int64_t>(x.size())}, x));
    inputs.push_back(Dense<float>({static_cast<int64_t>(y.size())}, y));
    return inputs;
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_FUSION_TEST_FIXTURE_H_
