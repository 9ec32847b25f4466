// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// kIsCompact: where size of code counts more than speed.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_COMPACT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_COMPACT_H_

#include <type_traits>

namespace tandem::cpu {

// Whether loops over elements of type T are the shortest that are right, rather than the fastest: in a module that a
// page loads (TANDEM_SMALL), of all types but f32.
#ifdef TANDEM_SMALL
template <typename T>
inline constexpr bool kIsCompact = !std::is_same_v<T, float>;
#else
template <typename T>
inline constexpr bool kIsCompact = false;
#endif

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_COMPACT_H_
