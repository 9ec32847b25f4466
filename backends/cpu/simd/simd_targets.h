// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which instruction sets Highway compiles our SIMD code for; included before any header of Highway's.

#ifndef TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_
#define TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_

// x86-64 has three: what the compiler's flags allow, AVX2 with FMA, and AVX-512 (F, BW, DQ, VL). Every other target
// compiles one, and then nothing of Highway is linked.
#if defined(__x86_64__) || defined(_M_X64)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#elif !defined(HWY_COMPILE_ONLY_STATIC)
#define HWY_COMPILE_ONLY_STATIC
#endif

#endif  // TANDEM_BACKENDS_CPU_SIMD_SIMD_TARGETS_H_
