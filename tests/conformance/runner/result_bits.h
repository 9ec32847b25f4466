// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ResultBits: a hash of results, bit for bit, to compare those of different targets by.

#ifndef TANDEM_TESTS_CONFORMANCE_RUNNER_RESULT_BITS_H_
#define TANDEM_TESTS_CONFORMANCE_RUNNER_RESULT_BITS_H_

#include <cstddef>
#include <cstdint>

#include "tandem/tensor.h"

namespace tandem::conformance {

// FNV-1a of 64 bits over, for each tensor: the name of its dtype; its rank and its sizes, in 8 bytes each; its elements
// as they lie in memory, any NaN as the one that is positive, quiet and otherwise 0; strings as their length, in 8
// bytes, and their bytes. Little-endian. js/result_bits.mjs does the same.
class ResultBits {
 public:
  // A dense or a string tensor on the host.
  void Add(const Tensor& result);
  // For a result that is an error: the word alone.
  void AddError();
  uint64_t hash() const { return hash_; }

 private:
  void AddBytes(const void* data, size_t size);
  void AddNumber(int64_t number) { AddBytes(&number, sizeof(number)); }
  // Floating-point numbers as Bits, that of infinity among them.
  template <typename Bits>
  void AddFloats(const Tensor& result, Bits infinity);

  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace tandem::conformance

#endif  // TANDEM_TESTS_CONFORMANCE_RUNNER_RESULT_BITS_H_
