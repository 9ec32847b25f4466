// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallRunner: makes a call in two ways and checks what must hold of every call, right or wrong.

#ifndef TANDEM_TESTS_FUZZ_CALL_RUNNER_H_
#define TANDEM_TESTS_FUZZ_CALL_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "call.h"
#include "tandem/core_runtime.h"

namespace tandem::fuzz {

class CallRunner {
 public:
  CallRunner();
  ~CallRunner();

  // Empty, or what is wrong: a null or unresolved result (EX-3), an argument that is left (EX-2), an error without op
  // or location or of a kind that only a fault has (ER-2, ER-3), one that the diagnostic handler did not hear of once
  // (ER-4), metadata that is not the tensor's (MD-2), values or bytes that are left (AV-6), results or errors that
  // depend on the way the call is made (EX, MD-6, TH-5, NU-2).
  std::string Run(const Call& call);

  const OpRegistry& registry() const;
  // Op calls made.
  uint64_t num_calls() const { return num_calls_; }
  // Of the calls given to Run, those whose first way gave no error.
  uint64_t num_right() const { return num_right_; }

 private:
  struct World;
  struct Inputs;
  struct Outcome;

  void MakeCall(World& world, const Call& call, Way way, Outcome& outcome);
  void CheckOutcome(World& world, const Call& call, Outcome& outcome);
  void CheckError(World& world, const Call& call, const Status& error, Outcome& outcome);
  void CallThen(World& world, const Call& call, Outcome& outcome);
  std::string Compare(World& world, const Call& call, const Outcome& first, const Outcome& second);

  std::unique_ptr<World> alone_;         // without threads
  std::unique_ptr<World> with_threads_;  // made when first needed
  uint64_t num_calls_ = 0;
  uint64_t num_right_ = 0;
};

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_CALL_RUNNER_H_
