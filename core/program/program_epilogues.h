// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Products and convolutions with what follows them, a bias or a normalization, a tensor to add and an activation, as
// one op (PR-5).

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_EPILOGUES_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_EPILOGUES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "defs/op_signature.h"
#include "program_plan.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"

namespace tandem {

// Ops that follow each other, the first argument of each the result of the one before, and the one op that they amount
// to. Thread-safe.
class PlanEpilogue {
 public:
  // One of the ops. What it takes beside the result of the one before are the next `num_inputs` inputs of the whole.
  struct Member {
    explicit Member(std::shared_ptr<const OpDef> op_def) : def(std::move(op_def)), signature(*def) {}

    const std::shared_ptr<const OpDef> def;
    const OpSignature signature;
    OpAttrsRef attrs;        // frozen
    DTypeSet dtypes;         // by which its kernels may be looked up
    size_t num_inputs = 0;   // all of the first member's
    size_t place = 0;        // of the result of the one before, among its arguments
    size_t num_results = 1;  // of which only the first is used
  };

  // `whole` takes the inputs of all members in their order.
  PlanEpilogue(std::vector<std::unique_ptr<const Member>> members, std::unique_ptr<const Member> whole)
      : members_(std::move(members)), whole_(std::move(whole)) {}

  // Whether calls of all members with inputs of this metadata would be right, by kernels of their dtypes, and `whole`
  // gives what they give. The last answer is kept.
  bool Fits(std::span<const TensorMetadata* const> inputs) const;

 private:
  struct Answer : public RefCounted<Answer> {
    SmallArray<TensorMetadata, 4> inputs;
    bool fits = false;
  };
  bool Infer(std::span<const TensorMetadata* const> inputs) const;

  const std::vector<std::unique_ptr<const Member>> members_;
  const std::unique_ptr<const Member> whole_;
  mutable std::mutex mutex_;
  mutable RcRef<const Answer> last_;
};

// Finds products and convolutions whose results only the following steps use, which an op of the same handler can
// compute along with them, and gives each its fusion. In exact mode, only what gives the same bits. `steps` are those
// of a function of `num_values` values, made of `instructions`.
void FoldEpilogues(size_t num_values, std::span<const ProgramInstruction* const> instructions,
                   std::span<PlanStep> steps);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_EPILOGUES_H_
