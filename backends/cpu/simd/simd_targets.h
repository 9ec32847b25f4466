// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which instruction sets Highway compiles our SIMD code for, and whether it may fuse; included before any header of
// Highway's.

#ifndef TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_

#include "tandem/kernel_run.h"

// Where a target has no vectors, code of Highway's for one element, as g++ 12.2 gets in any case: its vectors emulated
// by loops, which other compilers would get, lose NaN in Max and Min, and infinities in MaxOfLanes and MinOfLanes.
#undef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 1

// x86-64 has three: what the compiler's flags allow, AVX2 with FMA, and AVX-512 (F, BW, DQ, VL). Every other target
// compiles one, and then nothing of Highway is linked.
#if (defined(__x86_64__) || defined(_M_X64)) && defined(TANDEM_SIMD_WITHOUT_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#elif defined(__x86_64__) || defined(_M_X64)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#elif !defined(HWY_COMPILE_ONLY_STATIC)
#define HWY_COMPILE_ONLY_STATIC
#endif

// Files whose code multiplies and adds in one instruction are compiled twice where a target has it: once more with
// TANDEM_SIMD_EXACT, which makes two instructions of it, for exact mode (NU-3). All that such a file defines is in
// TANDEM_CPU_NAMESPACE; what others call begins with TANDEM_IF_EXACT.
#ifdef TANDEM_SIMD_EXACT
#define TANDEM_CPU_NAMESPACE tandem::cpu::exact
#else
#define TANDEM_CPU_NAMESPACE tandem::cpu
#endif

// TANDEM_IF_EXACT(call): in a kernel that must be exact, returns what `call`, of a function of namespace exact,
// returns.
#if defined(TANDEM_SIMD_HAS_EXACT) && !defined(TANDEM_SIMD_EXACT)
#define TANDEM_IF_EXACT(call)            \
  if (KernelRun::IsExact()) [[unlikely]] \
  return exact::call
#else
#define TANDEM_IF_EXACT(call) static_cast<void>(0)
#endif

#endif  // TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_
