// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRunnerTest: programs of text, run with tensors that may be to come.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_RUNNER_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_PROGRAM_RUNNER_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_runner.h"

namespace tandem {

// A tensor that is to come, and its handle.
struct PendingTensor {
  Producer<Tensor> producer;
  TensorHandle handle;
};

class ProgramRunnerTest : public OpTest {
 protected:
  StatusOr<ProgramRunner> Make(std::string_view text, ProgramRunner::Options options = {}) {
    StatusOr<RcRef<const Program>> program = Program::FromText(text, "test.mlir");
    if (!program.ok()) return program.status();
    return ProgramRunner::Create(runtime(), *std::move(program), std::move(options));
  }
  std::string MakeError(std::string_view text, ProgramRunner::Options options = {}) {
    const StatusOr<ProgramRunner> runner = Make(text, std::move(options));
    return runner.ok() ? "no error" : runner.status().ToString();
  }

  std::vector<TensorHandle> RunMany(const ProgramRunner& runner, OpArgs args, size_t num_results,
                                    AsyncValueRef<Chain>* chain = nullptr, std::string_view function = "main") {
    std::vector<TensorHandle> results(num_results);
    runner.Run(function, ExecutionContext(host(), Location()), args.span(), results, chain);
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsValid()) << "EX-3";
    for (const TensorHandle& arg : args.span()) EXPECT_FALSE(arg.IsValid()) << "EX-2";
    return results;
  }
  TensorHandle RunText(std::string_view text, OpArgs args = {}, AsyncValueRef<Chain>* chain = nullptr) {
    const StatusOr<ProgramRunner> runner = Make(text);
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    if (!runner.ok()) return TensorHandle::MakeError(runner.status());
    return std::move(RunMany(*runner, std::move(args), 1, chain)[0]);
  }

  PendingTensor Pending(const TensorMetadata& metadata) {
    auto producer = Producer<Tensor>::MakeConstructed(metadata, &host().device());
    TensorHandle handle(producer.ref(), &host().device());
    return {std::move(producer), std::move(handle)};
  }
  static void Keep(PendingTensor& promise, const TensorHandle& value) {
    promise.producer.value().TakePayload(value.tensor());
    promise.producer.SetConcrete();
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_RUNNER_TEST_FIXTURE_H_
