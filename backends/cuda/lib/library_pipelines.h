// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LibraryPipelines: what a library has for the ops that it was asked for, which come again.

#ifndef TANDEM_BACKENDS_CUDA_LIB_LIBRARY_PIPELINES_H_
#define TANDEM_BACKENDS_CUDA_LIB_LIBRARY_PIPELINES_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/shader/shader_queue.h"
#include "tandem/status.h"

namespace tandem::cuda {

// A hash of what was hashed before and of one more number.
inline uint64_t HashWith(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

// Not thread-safe. An `Op` has fixed sizes.
template <typename Op, typename Hash>
class LibraryPipelines {
 public:
  // Null if the library has nothing for the op, or memory is exhausted. `make` gives a
  // StatusOr<RcRef<shader::Pipeline>> for one that is asked for the first time; that there is nothing is kept, too, but
  // for lack of memory.
  template <typename F>
  AsyncValueRef<RcRef<shader::Pipeline>> Find(const Op& op, F make) {
    if (const auto known = known_.find(op); known != known_.end()) return Share(known->second);
    StatusOr<RcRef<shader::Pipeline>> made = make();
    AsyncValueRef<RcRef<shader::Pipeline>> value;
    if (made.ok()) value = AsyncValueRef<RcRef<shader::Pipeline>>::MakeAvailable(std::move(*made));
    if (made.status().code() == StatusCode::kResourceExhausted || known_.size() >= kMostKept) return value;
    known_[op] = Share(value);
    return value;
  }
  void Clear() { known_.clear(); }

 private:
  // Beyond them, ops are described anew for each call.
  static constexpr size_t kMostKept = 4096;

  static AsyncValueRef<RcRef<shader::Pipeline>> Share(const AsyncValueRef<RcRef<shader::Pipeline>>& value) {
    return value.IsValid() ? value.CopyRef() : AsyncValueRef<RcRef<shader::Pipeline>>();
  }

  std::unordered_map<Op, AsyncValueRef<RcRef<shader::Pipeline>>, Hash> known_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_LIBRARY_PIPELINES_H_
