// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ElementwiseGroup: element-wise ops that are computed as one, so that what one gives to the next never leaves the
// cache (PR-5, PR-6).

#ifndef TANDEM_ELEMENTWISE_GROUP_H_
#define TANDEM_ELEMENTWISE_GROUP_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/export.h"
#include "tandem/kernel.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/ref_counted.h"
#include "tandem/small_array.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

class ElementwiseGroup;
class KernelOpHandler;
class Op;

// One op of a group; it has one result.
struct ElementwiseStep {
  std::shared_ptr<const OpDef> def;
  OpAttrsRef attrs;                // frozen
  std::vector<uint32_t> operands;  // below the group's num_inputs: its inputs; from there on, results of earlier steps
  // For which the op's kernels do what the fuser knows.
  DTypeSet dtypes = DTypeSet::All() | DTypeSet{DType::kInvalid};
};

// How a handler computes groups. Thread-safe. The kernels of ops that can be steps, and those of groups, give their
// results before they return; one that gives an error for a result alone, such as that there is no memory for it, has
// not changed its arguments.
class TANDEM_EXPORT ElementwiseFuser {
 public:
  virtual ~ElementwiseFuser();
  // Whether the op can be a step, for some dtypes at least.
  virtual bool CanFuse(const OpDef& def, const OpAttrsRef& attrs) const = 0;
  // Whether it can be one where kernels are looked up by `dtype`.
  virtual bool CanFuse(const OpDef& def, DType dtype) const = 0;
  // Whether it can compute a group of such ops and dtypes whose inputs and steps' results are these. Not if one is too
  // large for the device, for example: its op then says so itself. Default: yes.
  virtual bool CanCompute(std::span<const TensorMetadata> inputs, std::span<const TensorMetadata> results) const;
  // Computes the outputs of the group, as results of the kernel, from its inputs. Only called for what Infer says can
  // be computed so.
  virtual StatusOr<Kernel> MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const = 0;
  // The group as an op of the handler: what KernelOpHandler::MakeGroupOp gives. Virtual, so that a program without a
  // fuser links nothing of groups.
  virtual StatusOr<Op> MakeOp(KernelOpHandler& handler, std::shared_ptr<const ElementwiseGroup> group) const;
};

// Thread-safe. The fuser outlives it.
class TANDEM_EXPORT ElementwiseGroup {
 public:
  // What the steps give for inputs of some metadata. All results have one shape.
  struct Typing : public RefCounted<Typing> {
    SmallArray<TensorMetadata, 2> inputs;
    SmallArray<TensorMetadata, 2> results;  // of each step
    bool is_possible = false;
    SmallArray<DType, 8> kernel_dtypes;  // by which each step's kernel is looked up
  };

  // At least one step; `outputs` are the steps whose results are used outside, in ascending order, the last step among
  // them.
  ElementwiseGroup(const ElementwiseFuser& fuser, uint32_t num_inputs, std::vector<ElementwiseStep> steps,
                   std::vector<uint32_t> outputs);
  ~ElementwiseGroup();
  ElementwiseGroup(const ElementwiseGroup&) = delete;
  ElementwiseGroup& operator=(const ElementwiseGroup&) = delete;

  uint32_t num_inputs() const { return num_inputs_; }
  std::span<const ElementwiseStep> steps() const { return steps_; }
  std::span<const uint32_t> outputs() const { return outputs_; }

  // Null if the steps are to be called one by one: one of them would fail, which it says best itself, their shapes
  // differ, there is no way to compute them as one for these dtypes, or memory is exhausted. The last answer is kept.
  RcRef<const Typing> Infer(std::span<const TensorMetadata* const> inputs) const;

  // The group as an op that no registry has: for KernelOpHandler::MakeGroupOp.
  static StatusOr<OpDef> MakeDefinition(std::shared_ptr<const ElementwiseGroup> group);

 private:
  struct Signatures;
  bool InferStep(size_t i, Typing& typing) const;

  const ElementwiseFuser& fuser_;
  const uint32_t num_inputs_;
  const std::vector<ElementwiseStep> steps_;
  const std::vector<uint32_t> outputs_;
  std::unique_ptr<const Signatures> signatures_;
  mutable std::mutex mutex_;
  mutable RcRef<const Typing> last_;
};

}  // namespace tandem

#endif  // TANDEM_ELEMENTWISE_GROUP_H_
