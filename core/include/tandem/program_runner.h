// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRunner: executes the functions of a program (PR-3).
//
//   TANDEM_ASSIGN_OR_RETURN(auto runner, tandem::ProgramRunner::Create(runtime, program));
//   runner.Run("main", exec, arguments, results);

#ifndef TANDEM_PROGRAM_RUNNER_H_
#define TANDEM_PROGRAM_RUNNER_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/op_handler.h"
#include "tandem/program.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

class CoreRuntime;
class ProgramPlan;

// A program made ready for a runtime: its ops are resolved, and its constants are tensors, also on the devices of the
// ops that take them, as far as those are known before it runs; with them kernels keep what they pack of them
// (ConstantBuffer). Copies share that. Any number of threads may run it at once; the runtime must outlive it.
class TANDEM_EXPORT ProgramRunner {
 public:
  // How functions may be nested in calls, conditions and loops; deeper ones are errors.
  static constexpr int kMaxDepth = 64;

  // Where a program finds what it names. Every member has a default.
  struct Options {
    // Runs all ops, whatever op handlers the program names: a program recorded on one device replays on another. It is
    // also what functions get that take an op handler. Default: those that are named; "cpu" for functions.
    OpHandler* op_handler = nullptr;
    // Default: CoreRuntime::FindHandler.
    std::function<StatusOr<OpHandler*>(std::string_view name)> find_op_handler{};
    // Whether ops that follow each other are computed as one where their handler can do that and what they are given
    // allows it (PR-5): element-wise ops, and products and convolutions with a bias and an activation, whose f16 and
    // bf16 are rounded once then. In less time; traces show one op.
    bool fuse = true;
    // A tensor of the weight's dtype and shape, on any device. Default: there are none.
    std::function<StatusOr<TensorHandle>(std::string_view name)> find_weight{};
    // What the program was read from, for Create alone: if it is text, errors show the line and a mark under the place,
    // as those of reading do. Default: they have the place as their location only.
    std::string_view source{};
  };

  // What callers of a function give and get; chains and op handlers are not counted.
  struct Signature {
    size_t num_arguments = 0;
    size_t num_results = 0;  // a shape is an i64 tensor [rank]
  };

  // NotFound, with the place in the program, if an op, an op handler or a weight is not there, InvalidArgument if an op
  // can never take as many arguments: nothing is executed of a program that cannot be executed whole.
  static StatusOr<ProgramRunner> Create(CoreRuntime& runtime, RcRef<const Program> program, Options options);
  static StatusOr<ProgramRunner> Create(CoreRuntime& runtime, RcRef<const Program> program) {
    return Create(runtime, std::move(program), Options());
  }

  ProgramRunner(const ProgramRunner&);
  ProgramRunner(ProgramRunner&&) noexcept;
  ProgramRunner& operator=(ProgramRunner) noexcept;
  ~ProgramRunner();

  const Program& program() const;

  // NotFound if there is none of this name.
  StatusOr<Signature> SignatureOf(std::string_view function) const;

  // Calls a function as an op is called (EX): never waits for a tensor, consumes the arguments, and fills the results,
  // which are errors if the function cannot be called so. Where a loop or a condition needs a value that is pending,
  // the rest happens when it is there. Chains that the function takes are `chain`, or ready; `chain`, if given, becomes
  // what those that it gives are merged to, and with what it was if the function takes none.
  void Run(std::string_view function, const ExecutionContext& exec, std::span<TensorHandle> arguments,
           std::span<TensorHandle> results, AsyncValueRef<Chain>* chain = nullptr) const;

  // The function as an op, named `function`, for calling it many times; it keeps the program.
  StatusOr<Op> MakeOp(std::string_view function) const;

 private:
  explicit ProgramRunner(RcRef<const ProgramPlan> plan);

  RcRef<const ProgramPlan> plan_;
};

}  // namespace tandem

#endif  // TANDEM_PROGRAM_RUNNER_H_
