// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Fingerprint64: FarmHash's, which never changes.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_TEXT_FINGERPRINT_H_
#define TANDEM_BACKENDS_CPU_KERNELS_TEXT_FINGERPRINT_H_

#include <cstdint>
#include <string_view>

namespace tandem::cpu {

// The same number on every machine. G. Pike, "FarmHash", its function farmhashna::Hash64.
uint64_t Fingerprint64(std::string_view text);

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_TEXT_FINGERPRINT_H_
