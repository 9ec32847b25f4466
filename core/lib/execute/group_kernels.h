// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// GroupKernels: the kernels of groups of calls that a handler has run as one, for the next group of the same form.

#ifndef TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_
#define TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

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
  // For a handler with a fuser, which makes one: a program without such handlers links nothing of groups.
  explicit GroupKernels(KernelOpHandler& handler) : handler_(handler) {}
  virtual ~GroupKernels() = default;

  // PendingGroup::TryRun.
  virtual bool TryRun(PendingOp& head);
  // Null if the calls cannot be computed as one. For a form that is new, or was forgotten, a kernel is made, which
  // takes as long as some hundred small calls.
  RcRef<const GroupKernel> Find(const GroupForm& form);

 private:
  static constexpr size_t kNumPlaces = 64;
  static constexpr size_t kNumTries = 4;  // places where a form may be

  // Null if memory is exhausted.
  RcRef<const GroupKernel> Make(const GroupForm& form, size_t hash) const;
  void Keep(RcRef<const GroupKernel> made);

  KernelOpHandler& handler_;
  std::mutex mutex_;
  std::array<RcRef<const GroupKernel>, kNumPlaces> places_;
  size_t next_victim_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_GROUP_KERNELS_H_
