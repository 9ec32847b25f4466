// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which steps of a plan are computed as one (PR-5).

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_FUSION_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_FUSION_H_

#include <span>

#include "program_plan.h"

namespace tandem {

// Finds runs of element-wise ops of one handler that follow each other, each of which uses a result of the run, and
// gives the first step of each run its fusion; steps of other fusions are left as they are. `steps` are those of a
// function of `num_values` values, made of `instructions`.
Status FuseSteps(size_t num_values, std::span<const ProgramInstruction* const> instructions, std::span<PlanStep> steps);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_FUSION_H_
