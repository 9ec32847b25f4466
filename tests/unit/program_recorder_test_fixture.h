// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRecorderTest: the fixture of tests that record calls on the CPU handler and replay what they gave.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_RECORDER_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_PROGRAM_RECORDER_TEST_FIXTURE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/program_recorder.h"
#include "tandem/program_runner.h"

namespace tandem {

class ProgramRecorderTest : public OpTest {
 protected:
  // A tensor that is to come.
  struct Promise {
    Producer<Tensor> producer;
    TensorHandle handle;

    void Keep(const TensorHandle& value) {
      producer.value().TakePayload(value.tensor());
      producer.SetConcrete();
    }
  };
  Promise Pending(const TensorMetadata& metadata) {
    auto producer = Producer<Tensor>::MakeConstructed(metadata, &host().device());
    TensorHandle handle(producer.ref(), &host().device());
    return {std::move(producer), std::move(handle)};
  }

  // Starts a recorder over the CPU, in place of the one before.
  void Start(const ProgramRecorder::Options& options = {}) {
    recorder_.reset();
    StatusOr<RcRef<ProgramRecorder>> started = ProgramRecorder::Start(runtime(), options);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    recorder_ = *std::move(started);
    const StatusOr<OpHandler*> handler = recorder_->HandlerOver(*cpu());
    ASSERT_TRUE(handler.ok()) << handler.status().ToString();
    recording_ = *handler;
  }
  template <typename... Handles>
  void StartWith(const Handles&... inputs) {
    Start();
    (ExpectOk(recorder_->AddInput(inputs)), ...);
  }
  static void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

  // Calls through the recorder's handler.
  std::vector<TensorHandle> CallN(std::string_view op, OpArgs args, size_t num_results, const OpAttrsRef& attrs = {},
                                  AsyncValueRef<Chain>* chain = nullptr) {
    std::vector<TensorHandle> results(num_results);
    runtime().Execute(op, recording_, Location(), args.span(), attrs, results, chain);
    for (const TensorHandle& result : results) EXPECT_TRUE(result.IsValid()) << "EX-3";
    return results;
  }
  TensorHandle Call(std::string_view op, OpArgs args, const OpAttrsRef& attrs = {}) {
    return std::move(CallN(op, std::move(args), 1, attrs)[0]);
  }
  void Print(std::string_view text, AsyncValueRef<Chain>& chain) {
    CallN("tf.PrintV2", {Strings({}, {text})}, 0, {}, &chain);
  }

  // The program, or null and a failed test.
  RcRef<const Program> Finish(OpArgs outputs) {
    StatusOr<RcRef<const Program>> program = recorder_->Finish(outputs.span());
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    return program.ok() ? *std::move(program) : nullptr;
  }
  Status ErrorOfFinish(OpArgs outputs) {
    const StatusOr<RcRef<const Program>> program = recorder_->Finish(outputs.span());
    EXPECT_FALSE(program.ok());
    return program.status();
  }

  std::vector<TensorHandle> Replay(const RcRef<const Program>& program, OpArgs args, size_t num_results,
                                   AsyncValueRef<Chain>* chain = nullptr, ProgramRunner::Options options = {}) {
    std::vector<TensorHandle> results(num_results);
    const StatusOr<ProgramRunner> runner = ProgramRunner::Create(runtime(), program, std::move(options));
    EXPECT_TRUE(runner.ok()) << runner.status().ToString();
    if (runner.ok()) runner->Run("main", Exec(), args.span(), results, chain);
    return results;
  }
  TensorHandle ReplayOne(const RcRef<const Program>& program, OpArgs args = {}) {
    return std::move(Replay(program, std::move(args), 1)[0]);
  }
  ExecutionContext Exec() { return ExecutionContext(host(), Location()); }

  void Await(const AsyncValueRef<Chain>& chain) {
    const AsyncValue* const value = chain.value();
    ExpectOk(host().Await({&value, 1}));
  }

  // The instructions of the function, each by its kernel, and its name or constant if it has one: "tf.Neg" for an op,
  // "f32[2]" for a constant.
  static std::vector<std::string> Instructions(const RcRef<const Program>& program) {
    std::vector<std::string> texts;
    for (const ProgramInstruction& instruction : program->functions()[0].instructions) {
      switch (instruction.kernel) {
        case ProgramKernel::kExecuteOp:
          texts.push_back(instruction.name);
          break;
        case ProgramKernel::kConstDenseTensor:
        case ProgramKernel::kConstStringTensor:
          texts.push_back(instruction.constant == nullptr ? instruction.name : TextOf(instruction.constant->metadata));
          break;
        default:
          texts.emplace_back(ProgramKernelName(instruction.kernel));
          if (!instruction.name.empty()) texts.back() += " " + instruction.name;
      }
    }
    return texts;
  }

  // The elements of a tensor, once it is there.
  std::string BytesOf(const TensorHandle& handle) {
    ExpectOk(host().Await(handle));
    const StatusOr<Tensor> dense = ToDense(handle.tensor(), host().allocator());
    EXPECT_TRUE(dense.ok()) << dense.status().ToString();
    if (!dense.ok()) return {};
    return std::string(static_cast<const char*>(dense->data()), static_cast<size_t>(dense->metadata().byte_size()));
  }

  RcRef<ProgramRecorder> recorder_;
  OpHandler* recording_ = nullptr;
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_RECORDER_TEST_FIXTURE_H_
