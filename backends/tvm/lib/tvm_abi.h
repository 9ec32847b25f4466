// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What functions compiled by TVM are called with, as its two C interfaces publish it.

#ifndef TANDEM_TVM_LIB_TVM_ABI_H_
#define TANDEM_TVM_LIB_TVM_ABI_H_

#include <cstddef>
#include <cstdint>

#include "tensor/dlpack_layout.h"

namespace tandem::tvm {

// The classic ABI.

union Value {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
};
static_assert(sizeof(Value) == 8);

inline constexpr int kNullptr = 4;
inline constexpr int kDLTensorHandle = 7;
inline constexpr int kObjectHandle = 8;  // from here on values are owned, as strings are

using ClassicFunction = int (*)(Value* args, int* type_codes, int num_args, Value* result, int* result_code,
                                void* resource_handle);

struct ParallelGroup {
  void* sync_handle;
  int32_t num_task;
};
using ParallelTask = int (*)(int task_id, ParallelGroup* group, void* data);

// tvm-ffi.

struct Any {
  int32_t type_index;
  uint32_t zero_padding;
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
  };
};
static_assert(sizeof(Any) == 16);

inline constexpr int32_t kNone = 0;
inline constexpr int32_t kDLTensorPtr = 7;
inline constexpr int32_t kStaticObjectBegin = 64;

using FfiFunction = int (*)(void* handle, const Any* args, int32_t num_args, Any* result);

struct Object {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  union {
    void (*deleter)(void* self, int flags);
    int64_t ensure_align;
  };
};
static_assert(sizeof(Object) == 24);

struct ByteArray {
  const char* data;
  size_t size;
};

// An error is an Object with this behind it, and more.
struct ErrorCell {
  ByteArray kind;
  ByteArray message;
};

struct Version {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
};

// The runtime libraries' own functions, where a library is linked with one of them.
using GetLastError = const char* (*)();
using ErrorMoveFromRaised = void (*)(void** error);
using ObjectDecRef = int (*)(void* object);
using SetStream = int (*)(int device_type, int device_id, void* stream);
using EnvSetStream = int (*)(int32_t device_type, int32_t device_id, void* stream, void** stream_before);
using GetVersion = void (*)(Version* version);

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_LIB_TVM_ABI_H_
