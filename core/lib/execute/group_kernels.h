// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GroupKernels: the kernels of groups of calls that a handler has run as one, for the next group of the same form.

#ifndef TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_
#define TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "execute/kernel_op.h"
#include "tandem/elementwise_group.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"
#include "tandem/ref_counted.h"

namespace tandem {

class PendingOp;

// One call of a group, as long as the call lives.
struct GroupCall {
  static constexpr size_t kMaxOperands = 3;

  const std::shared_ptr<const OpDef>* def = nullptr;
  const OpAttrsRef* attrs = nullptr;
  uint32_t num_operands = 0;
  std::array<uint32_t, kMaxOperands> operands{};  // as those of an ElementwiseStep
};

// What groups have in common that one kernel computes.
struct GroupForm {
  static constexpr size_t kMaxCalls = 32;

  std::span<const GroupCall> calls;
  uint32_t num_inputs = 0;
  uint32_t outputs = 0;  // the calls, as bits, whose results are wanted; the last is among them
};

// What gives the outputs of a form.
struct GroupKernel : public RefCounted<GroupKernel> {
  size_t hash = 0;  // of the form
  std::shared_ptr<const ElementwiseGroup> group;
  RcRef<const KernelOp> op;  // null: the calls cannot be computed as one
};

// Keeps those that were used last, roughly. Thread-safe.
class GroupKernels {
 public:
  // For a handler with a fuser, or with one to come: then `want` is told once, when it would first be of use.
  explicit GroupKernels(KernelOpHandler& handler, std::function<void()> want = nullptr)
      : handler_(handler), want_(std::move(want)) {}

  // The fuser is there. What never calls this links nothing of groups.
  void Begin();
  // PendingGroup::TryRun; false before Begin.
  bool TryRun(PendingOp& head) {
    const Runner run = run_.load(std::memory_order_acquire);
    return run != nullptr ? run(head) : Want(head);
  }
  // Null if the calls cannot be computed as one. For a form that is new, or was forgotten, a kernel is made, which
  // takes as long as some hundred small calls.
  RcRef<const GroupKernel> Find(const GroupForm& form);

 private:
  using Runner = bool (*)(PendingOp& head);
  // False.
  bool Want(PendingOp& head);

  struct Places;

  // Null if memory is exhausted.
  RcRef<const GroupKernel> Make(const GroupForm& form, size_t hash) const;
  void Keep(RcRef<const GroupKernel> made);

  KernelOpHandler& handler_;
  const std::function<void()> want_;
  std::atomic<bool> was_wanted_{false};
  std::atomic<Runner> run_{nullptr};  // set once, by Begin
  std::shared_ptr<Places> places_;    // shared, so that nothing is linked for destroying them before Begin
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_
