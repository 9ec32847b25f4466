// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Names of Highway's targets, and the switching off of what is better than the one that is wanted.

#include "cpu_target.h"

#ifndef __EMSCRIPTEN__

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "simd/simd_targets.h"

// clang-format off
#include "hwy/targets.h"  // after the choice of targets
// clang-format on

namespace tandem::cpu {

namespace {

struct Target {
  std::string_view name;
  int64_t bits;  // of which a build has one at most; lower ones are better
};

constexpr Target kTargets[] = {
    {"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"neon", HWY_NEON}, {"scalar", HWY_SCALAR}, {"sse2", HWY_SCALAR}};

// The bit of the target of that name, which is one of `supported`.
StatusOr<int64_t> FindTarget(std::string_view name, int64_t supported) {
  StatusCode code = StatusCode::kInvalidArgument;
  MessageBuilder names;
  for (const Target& target : kTargets) {
    const bool is_supported = (target.bits & supported) != 0;
    if (is_supported && target.name == name) return target.bits & supported;
    if (is_supported) names.Append(names.view().empty() ? "" : ", ", target.name);
    if (target.name == name) code = StatusCode::kNotFound;
  }
  return MakeError(code, "expected TANDEM_CPU_TARGET to be one of ", names.view(),
                   ", which this machine and build have, got \"", name, "\"");
}

void DisableTargets(int64_t bits) {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) != 0
  if (bits != 0) hwy::DisableTargets(bits);
#else
  static_cast<void>(bits);  // there is one, and nothing of Highway is linked
#endif
}

}  // namespace

Status LimitCpuTarget() {
  // Highway does not tell of what is disabled.
  static const int64_t supported = (HWY_SUPPORTED_TARGETS | HWY_STATIC_TARGET) & HWY_TARGETS;
  const char* const name = std::getenv("TANDEM_CPU_TARGET");
  int64_t disabled = 0;
  if (name != nullptr && *name != '\0') {
    TANDEM_ASSIGN_OR_RETURN(const int64_t target, FindTarget(name, supported));
    disabled = target - 1;
  }
  // Once, since kernels of another runtime may be running later.
  static const int64_t disabled_at_first = (DisableTargets(disabled), disabled);
  if (disabled == disabled_at_first) return Status();
  return FailedPrecondition("expected TANDEM_CPU_TARGET to be what it was for the process's first CPU handler, got ",
                            name == nullptr ? "none" : name);
}

}  // namespace tandem::cpu

#else

namespace tandem::cpu {

Status LimitCpuTarget() { return Status(); }

}  // namespace tandem::cpu

#endif
