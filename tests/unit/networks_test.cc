// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Small networks, recorded from eager calls: as a prepared program they give what the calls give (PR-4, PR-5).

#include "../bench/networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"

namespace tandem {
namespace {

class NetworksTest : public OpTest {
 protected:
  NetworksTest() { EnableProgramFusion(*cpu()); }

  template <typename Network>
  void ExpectSame(const Network& network, int64_t most_ops) {
    EagerNetwork eager(runtime(), cpu());
    eager.Load(network);
    const std::vector<float> expected = Values<float>(eager.Run(eager.Input()));
    const RcRef<const Program> program = Record(network);
    ASSERT_TRUE(program);
    ExpectNear(RunMain(Make(program, false), eager.Input()), expected, 0);
    const ProgramRunner prepared = Make(program, true);
    for (int run = 0; run < 3; ++run) ExpectNear(RunMain(prepared, eager.Input()), expected, 1e-5f);
    host().StartTracing();
    RunMain(prepared, eager.Input());
    host().StopTracing();
    EXPECT_LE(host().tracer().num_events(), most_ops);
  }

 private:
  template <typename Network>
  RcRef<const Program> Record(const Network& network) {
    const StatusOr<RcRef<ProgramRecorder>> recorder = ProgramRecorder::Start(runtime());
    EXPECT_TRUE(recorder.ok());
    const StatusOr<OpHandler*> handler = (*recorder)->HandlerOver(*cpu());
    EXPECT_TRUE(handler.ok());
    EagerNetwork recorded(runtime(), *handler);
    recorded.Load(network);
    const TensorHandle input = recorded.Input();
    EXPECT_TRUE((*recorder)->AddInput(input).ok());
    const TensorHandle output = recorded.Run(input);
    StatusOr<RcRef<const Program>> program = (*recorder)->Finish({&output, 1});
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    return program.ok() ? *std::move(program) : nullptr;
  }
  ProgramRunner Make(const RcRef<const Program>& program, bool fuse) {
    ProgramRunner::Options options;
    options.fuse = fuse;
    StatusOr<ProgramRunner> runner = ProgramRunner::Create(runtime(), program, options);
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    return *std::move(runner);
  }
  std::vector<float> RunMain(const ProgramRunner& runner, TensorHandle input) {
    TensorHandle result;
    runner.Run("main", ExecutionContext(host(), Location()), {&input, 1}, {&result, 1});
    return Values<float>(result);
  }
  static void ExpectNear(const std::vector<float>& given, const std::vector<float>& expected, float tolerance) {
    ASSERT_EQ(given.size(), expected.size());
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::fabs(value));
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < given.size(); ++i) ASSERT_NEAR(given[i], expected[i], tolerance * largest) << i;
  }
};

// 17 blocks with a depthwise convolution and a projection each, 16 of them with an expansion; 11 sums; the first and
// the last convolution, the mean and the dense layer.
TEST_F(NetworksTest, PR5_MobileNet) { ExpectSame(MobileNet::Make(32, 0.25, 10), 65); }

TEST_F(NetworksTest, PR5_Bert) { ExpectSame(Bert::Make(12, 16, 2, 2, 50), 47); }

}  // namespace
}  // namespace tandem
