// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The unit tests that a WebAssembly program skips, with the reasons.

#ifndef TANDEM_TESTS_UNIT_SKIPPED_TESTS_H_
#define TANDEM_TESTS_UNIT_SKIPPED_TESTS_H_

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

namespace tandem {

// Parts of the full names of tests that start threads of their own, or ask what a work queue does with workers.
inline constexpr std::string_view kNeedThreads[] = {
    // Threads by name.
    "Thread",
    // Threads of their own; a small stack is one of a thread.
    "AsyncValueTest.AContinuationOfAPendingValueRunsOnTheResolvingThread",
    "AsyncValueTest.ALongChainIsDestroyedOnASmallStack",
    "AsyncValueTest.ALongChainOfCallablesPassesAnErrorOnOnASmallStack",
    "AsyncValueTest.ALongChainOfIndirectionsResolvesOnASmallStack",
    "AsyncValueTest.ALongChainResolvesOnASmallStackWithoutAllocating",
    "AsyncValueTest.ContinuationsOfAvailableValuesAreBoundedToo",
    "AsyncValueTest.TheOutOfMemoryValueIsNotCounted",
    "CancellationLoadTest.CA5_ResolveAgainstCancel",
    "DeadlineRaceTest.CA3_DeadlinesThatPassDuringACall",
    "DeadlineTest.CA3_ManyDeadlinesInAnyOrder/1",
    "DeadlineTest.CA3_PendingOpsFailAtTheDeadline/1",
    "LoadOpLibraryTest.DL1_DeferredCallsHearOfCancellation",
    "LoadOpLibraryTest.DL1_ResultsThatComeLater",
    "LoadOpLibraryTest.OR3_DeferredCallsKeepTheCode",
    "LoadOpLibraryTest.OR3_DestroyingTheRuntimeEndsDeferredCalls",
    "LoadOpLibraryTest.PR3_OpsOfLibrariesInPrograms",
    "DeadlineTest.CA3_TheLastReferenceIsAPendingOp/1",
    "CancellationTest.CA2_ACancellationDoesNotReachTheNextEpoch",
    "ErrorsTest.ER3_WhenItSurfacesMuchLaterAndFarDownstream",
    "HostAllocatorTest.StatisticsAndTrimMayBeCalledMeanwhile",
    "LateKernelTest.AV8_AnAbandonedResultIsAnErrorWithOpAndLocation",
    "OpChangesTest.OR3_ChangesWhileOthersCall",
    "OpLibraryTest.OR3_LibrariesComeAndGoWhileOthersCall",
    "OpLibraryTest.OR3_RemovalWaitsForRunningCalls",
    "PendingLimitTest.EX11_ADeadlineEndsTheWaitForRoom",
    "PendingLimitTest.EX11_AnAsynchronousKernelIsWaitedFor",
    "PendingLimitTest.EX11_CancellationEndsTheWaitForRoom",
    "PendingLimitTest.EX11_MakingRoomDoesNotNest",
    "PendingOpsTest.EX12_LongChainOfSideEffects",
    "PendingOpsTest.EX12_ManyOpsThatWaitForTheSameValue",
    "PendingOpsTest.EX12_RuntimeDestroyedUnderALongChain",
    "LongChainTest.EX12_ResolvesWithBoundedStackAndGivesItsMemoryBack",
    "RuntimeTest.WQ3_DestroyedWhileOthersResolveItsInputs",
    "StatusTest.LongCauseChainIsDestroyedWithoutRecursion",
    "StatusTest.LongCauseChainIsReadWithoutRecursion",
    "TensorHandleTest.TextIsNeverHalfOfTwoStates",
    "TensorTransferTest.ALongChainOfTransfersIsCancelledOnASmallStack",
    "TensorTransferTest.ALongChainOfTransfersRunsOnASmallStack",
    // Workers.
    "ExecuteTest.EX7_CostDecidesWhereWorkRuns",
    "LongKernelTest",
    "RunningKernelTest",
    "ParallelForTest.WQ2_DoesNotWaitForHelpersThatCannotStart",
    "MultiThreadedQueue",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsAndLeavesNothingBehind/1",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsAndLeavesNothingBehind/2",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsAndLeavesNothingBehind/3",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsInATaskToo/1",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsInATaskToo/2",
    "AnyQueueTest.AV7_AwaitPastTheDeadlineFailsInATaskToo/3",
    "AnyQueueTest.AV7_AwaitWithoutMemoryForItsDeadlineStillWaits",
    "AnyQueueTest.WQ1_RunsEveryTaskOnceWhoeverAddsIt",
    "CApiTest.WaitingHasALimit",
    "JsEventLoopTest.WorkersComputeLongCalls",
    "JsMemoryTest.WorkersThatWaitForACollectionAreCancelled",
    "JsMemoryTest.WorkersWaitForACollection",
};

// Of tests that compare with functions of the C library which its WebAssembly form has not: acosh of arguments out of
// its domain, and long double functions that are more accurate than those of double. The conformance cases show the
// same.
inline constexpr std::string_view kNeedCLibrary[] = {
    "/acosh",
    "SimdMath.OfF64IsAccurateForArgumentsOfEveryKind/gelu",
    "SimdMath.TreatsSpecialValuesAsCDoes/gelu",
};

class SkipsTests final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    if (HasOneOf(name, kNeedCLibrary)) GTEST_SKIP() << "it compares with what this C library cannot do";
#ifndef __EMSCRIPTEN_PTHREADS__
    if (HasOneOf(name, kNeedThreads)) GTEST_SKIP() << "it needs threads, and this program has none";
#endif
  }

 private:
  static bool HasOneOf(const std::string& name, std::span<const std::string_view> parts) {
    for (const std::string_view part : parts) {
      if (name.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_SKIPPED_TESTS_H_
