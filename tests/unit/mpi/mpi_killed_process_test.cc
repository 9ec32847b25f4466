// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the other processes of an MPI job see when one of them is killed. Run by mpirun with --enable-recovery.

#include <csignal>
#include <string>

#include "collectives_test_fixture.h"

namespace tandem::eager {
namespace {

class MpiKilledProcessTest : public CollectivesTest {};

TEST_F(MpiKilledProcessTest, TheOthersHearOfItInTime) {
  OpAttrs attrs;
  attrs.Set("timeout_ms", int64_t{500});
  ASSERT_TRUE(Call("tandem.AllReduce", rt_.Scalar(1.0f), attrs).Await().ok());
  if (rank_ == 2) raise(SIGKILL);
  const Tensor late = Call("tandem.AllReduce", rt_.Scalar(1.0f), attrs);
  EXPECT_EQ(late.Await().code(), StatusCode::kDeadlineExceeded);
  const std::string error = late.Await().ToString(), process = "process " + std::to_string(rank_) + " of 3 ";
  EXPECT_NE(error.find("[tandem.AllReduce] " + process + "waited 5"), std::string::npos) << error;
  EXPECT_NE(error.find(" ms for an answer of process 2, got none"), std::string::npos) << error;
  EXPECT_NE(error.find("collectives_test_fixture.h:"), std::string::npos) << error;
  // What follows does not wait again.
  chain_.reset();
  const std::string next = ErrorOf(Call("tandem.AllReduce", rt_.Scalar(1.0f)));
  EXPECT_NE(next.find(process + "takes no part in collective ops any more"), std::string::npos) << next;
}

}  // namespace
}  // namespace tandem::eager
