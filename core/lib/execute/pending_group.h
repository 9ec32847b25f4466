// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PendingGroup: calls of element-wise ops that wait for each other, run as one kernel (PR-6).

#ifndef TANDEM_CORE_LIB_EXECUTE_PENDING_GROUP_H_
#define TANDEM_CORE_LIB_EXECUTE_PENDING_GROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "execute/group_kernels.h"
#include "execute/pending_op.h"

namespace tandem {

// Calls are issued, counted, cancelled and failed one by one, as if there were no groups: nothing of a group exists
// before one of its calls, the head, is to run its kernel, because its last input has come or the queue has got to it.
// So what does not wait pays nothing, and no call waits for others to be issued; but a head in the queue that takes far
// longer than to issue a call begins when its caller has awaited something, or has not called for a moment: a worker
// may be faster to take it than the caller is to issue the next call.
//
// 1. Collect. Who waits for the head is in the list of waiters of its result, which nobody takes anything out of before
//    the head publishes it; likewise, those who wait for the very value that has just set the head going are next in
//    what this thread runs. Each of them is claimed if it still waits, and is a member if it can be computed with the
//    head: an element-wise op of the same handler and request, of the head's shape, each of whose inputs is there or
//    the result of a member. Then its waiters are looked at. In the order in which calls were issued no call comes
//    before what it depends on. What is claimed and no member is given back, and finds itself where it was: in a list
//    whose value only this thread can publish.
// 2. Look who holds results. A result that has no references but those of its call and of the arguments of members, and
//    no waiters but members, is out of reach for everybody else, for good, since a reference comes only from another
//    one: it will not be written, and is dropped when all is done. All others are outputs, and so an intermediate
//    tensor that somebody holds is one; who copies a handle while this goes on has one to copy.
// 3. Find the kernel (GroupKernels). Without one, without room for the outputs, or where there is too little to compute
//    for it to pay, the head runs alone and the others are given back.
// 4. Begin. From then on members cannot be cancelled, as no call whose kernel runs; one that was cancelled before is
//    given back, with all after it, and 2 is done again.
// 5. Run the kernel and publish the outputs, in the order of issue. If there is no memory for one of them, the members
//    run one after the other, each with an error of its own.
//
// A group is of one host, which is alive until its last member has left. Used by one thread.
class PendingGroup {
 public:
  // Runs `head`, of an op that can be computed with others, which has begun, with those that there are, and gives up
  // its caller's reference. False, with nothing done: it is to run alone.
  static bool TryRun(PendingOp& head);
  // Whether TryRun would run it with others, as far as that is seen at little cost and without a fuser.
  static bool IsLikely(PendingOp& head);

 private:
  static constexpr size_t kMaxCalls = GroupForm::kMaxCalls;
  static constexpr size_t kMaxOperands = GroupCall::kMaxOperands;
  static constexpr size_t kMaxInputs = kMaxCalls * kMaxOperands;
  static constexpr size_t kMaxCandidates = 32;
  static constexpr int kMaxVisited = 64;  // waiters of one value
  // Looking for members ends after so many that were none, so that a call with any number of waiters costs no more.
  static constexpr int kMaxRejected = 8;
  static constexpr uint8_t kNone = 255;

  struct Member {
    PendingOp* call = nullptr;
    uint32_t num_refs = 1;     // to its result, that are its own or members'
    uint32_t num_waiters = 0;  // for its result, that are members
    uint8_t waits_for = kNone;
    std::array<uint8_t, kMaxOperands> of{};  // the member whose result the operand is, or kNone
  };
  struct Candidate {
    PendingOp* call = nullptr;
    uint8_t waits_for = kNone;
  };

  explicit PendingGroup(PendingOp& head) : head_(head) {}
  static bool HasCandidates(PendingOp& head);
  static int64_t NumElements(const PendingOp& call) { return call.results_[0]->value().num_elements(); }

  bool Run();
  void Collect();
  void AddCandidates(uint8_t waits_for);
  void AddCandidate(PendingOp& call, uint8_t waits_for);
  bool AddMember(const Candidate& candidate);
  bool Fits(const PendingOp& call) const;
  bool FindOperands(Member& member) const;
  // Gives back the members from `count` on.
  void Truncate(size_t count);
  void FindOutputs();
  bool IsWorthIt() const;
  bool HasRoom() const;
  // Describes the members to the handler. Null if they cannot be computed as one.
  RcRef<const GroupKernel> FindKernel();
  void FindInputs();
  // False if there are fewer members now.
  bool Begin();

  void TakeInputs();
  void GiveInputsBack();
  void RunAsOne(RcRef<const GroupKernel> kernel);
  void Finish();
  void RunOneByOne();
  void FailAll(const Status& error, bool is_told);

  AsyncValue* ResultOf(size_t member) const { return members_[member].call->results_[0].get(); }

  PendingOp& head_;
  size_t max_members_ = kMaxCalls;
  std::array<Member, kMaxCalls> members_;
  size_t num_members_ = 0;
  std::array<Candidate, kMaxCandidates> candidates_;  // the latest first
  size_t num_candidates_ = 0;
  uint32_t outputs_ = 0;  // as bits

  std::array<GroupCall, kMaxCalls> calls_;               // of the members
  std::array<const TensorHandle*, kMaxInputs> sources_;  // for each input, an argument that is it
  std::array<TensorHandle, kMaxInputs> inputs_;
  uint32_t num_inputs_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_PENDING_GROUP_H_
