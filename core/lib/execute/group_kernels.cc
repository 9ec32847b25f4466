// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Forms of groups, compared and turned into kernels.

#include "execute/group_kernels.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "defs/attr_comparison.h"
#include "execute/pending_group.h"

namespace tandem {

namespace {

// Both are sorted by name, being frozen.
bool AreSame(const OpAttrsRef& a, const OpAttrsRef& b) {
  return std::ranges::equal(a.entries(), b.entries(), [](const AttrEntry& x, const AttrEntry& y) {
    return x.name == y.name && HaveSameValue(x, y);
  });
}

bool IsOf(const ElementwiseGroup& group, const GroupForm& form) {
  if (group.num_inputs() != form.num_inputs || group.steps().size() != form.calls.size()) return false;
  uint32_t outputs = 0;
  for (const uint32_t output : group.outputs()) outputs |= uint32_t{1} << output;
  if (outputs != form.outputs) return false;
  for (size_t i = 0; i < form.calls.size(); ++i) {
    const ElementwiseStep& step = group.steps()[i];
    const GroupCall& call = form.calls[i];
    const std::span<const uint32_t> operands(call.operands.data(), call.num_operands);
    if (step.def != *call.def || !std::ranges::equal(step.operands, operands)) return false;
    if (!AreSame(step.attrs, *call.attrs)) return false;
  }
  return true;
}

// FNV-1a, by words. Attributes are left out, since ops hardly ever differ in them alone.
size_t HashOf(const GroupForm& form) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  add(form.num_inputs);
  add(form.outputs);
  for (const GroupCall& call : form.calls) {
    add(reinterpret_cast<uintptr_t>(call.def->get()));
    for (uint32_t i = 0; i < call.num_operands; ++i) add(call.operands[i]);
  }
  return static_cast<size_t>(hash ^ hash >> 32);
}

}  // namespace

struct GroupKernels::Places {
  static constexpr size_t kNum = 64;
  static constexpr size_t kNumTries = 4;  // where a form may be

  std::mutex mutex;
  std::array<RcRef<const GroupKernel>, kNum> kernels;
  size_t next_victim = 0;
};

void GroupKernels::Begin() {
  places_ = std::make_shared<Places>();
  run_.store(&PendingGroup::TryRun, std::memory_order_release);
}

bool GroupKernels::Want(PendingOp& head) {
  if (was_wanted_.load(std::memory_order_relaxed) || !PendingGroup::IsLikely(head)) return false;
  if (!was_wanted_.exchange(true)) want_();
  return false;
}

RcRef<const GroupKernel> GroupKernels::Make(const GroupForm& form, size_t hash) const {
  RcRef<GroupKernel> made = MakeRef<GroupKernel>();
  if (!made) return nullptr;
  made->hash = hash;
  const ElementwiseFuser& fuser = *handler_.fuser();
  std::vector<ElementwiseStep> steps;
  std::vector<uint32_t> outputs;
  bool can_fuse = true;
  for (const GroupCall& call : form.calls) {
    if ((form.outputs >> steps.size() & 1) != 0) outputs.push_back(static_cast<uint32_t>(steps.size()));
    can_fuse = can_fuse && fuser.CanFuse(**call.def, *call.attrs);
    steps.push_back({*call.def, *call.attrs, {call.operands.begin(), call.operands.begin() + call.num_operands}});
  }
  made->group = std::make_shared<const ElementwiseGroup>(fuser, form.num_inputs, std::move(steps), std::move(outputs));
  if (!can_fuse) return made;
  const StatusOr<Op> op = handler_.MakeGroupOp(made->group);
  if (op.ok()) made->op = RcRef<const KernelOp>::Share(static_cast<const KernelOp*>(op->impl().get()));
  return made;
}

void GroupKernels::Keep(RcRef<const GroupKernel> made) {
  Places& places = *places_;
  // What is replaced ends without the lock.
  const std::lock_guard lock(places.mutex);
  size_t place = made->hash % Places::kNum;
  for (size_t i = 0; i < Places::kNumTries && places.kernels[place]; ++i) place = (made->hash + i) % Places::kNum;
  if (places.kernels[place]) place = (made->hash + places.next_victim++ % Places::kNumTries) % Places::kNum;
  std::swap(places.kernels[place], made);
}

RcRef<const GroupKernel> GroupKernels::Find(const GroupForm& form) {
  const size_t hash = HashOf(form);
  RcRef<const GroupKernel> found;
  {
    const std::lock_guard lock(places_->mutex);
    for (size_t i = 0; i < Places::kNumTries && !found; ++i) {
      const RcRef<const GroupKernel>& known = places_->kernels[(hash + i) % Places::kNum];
      if (known && known->hash == hash && IsOf(*known->group, form)) found = known;
    }
  }
  if (!found) {
    found = Make(form, hash);
    if (!found) return nullptr;
    Keep(found);
  }
  return found->op ? found : nullptr;
}

}  // namespace tandem
