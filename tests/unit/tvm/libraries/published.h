/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The Tandem Authors */

/* The structs and numbers of DLPack, TVM's classic ABI and tvm-ffi, as they publish them, for the test libraries: apart
   from those that Tandem itself uses. Sources here are C, and C++ as well, since the build compiles that alone. */

#ifndef TANDEM_TESTS_UNIT_TVM_LIBRARIES_PUBLISHED_H_
#define TANDEM_TESTS_UNIT_TVM_LIBRARIES_PUBLISHED_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

enum { kDLCPU = 1, kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBool = 6 };

/* TVM up to 0.20. */

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

enum { kTVMNullptr = 4, kTVMDLTensorHandle = 7, kTVMModuleHandle = 9 };

typedef struct {
  void* sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;
typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv* penv, void* cdata);

/* tvm-ffi. */

typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  union {
    void (*deleter)(void* self, int flags);
    int64_t ensure_align;
  };
} TVMFFIObject;

typedef struct {
  int32_t type_index;
  uint32_t zero_padding;
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    TVMFFIObject* v_obj;
  };
} TVMFFIAny;

enum { kTVMFFINone = 0, kTVMFFIDLTensorPtr = 7, kTVMFFIError = 67, kTVMFFIFunction = 68 };

typedef struct {
  const char* data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  void (*update_backtrace)(void* self, const TVMFFIByteArray* backtrace, int32_t update_mode);
  void* cause_chain;
  void* extra_context;
} TVMFFIErrorCell;

typedef struct {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} TVMFFIVersion;

#ifdef __cplusplus
}
#endif

static inline int64_t NumElements(const DLTensor* tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) count *= tensor->shape[i];
  return count;
}

/* y = x + 1; whether both are f32 tensors of the CPU and of one size. */
static inline int AddOne(const DLTensor* x, const DLTensor* y) {
  const int64_t count = NumElements(x);
  if (x->device.device_type != kDLCPU || x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->dtype.lanes != 1 ||
      y->dtype.code != kDLFloat || y->dtype.bits != 32 || NumElements(y) != count) {
    return 0;
  }
  for (int64_t i = 0; i < count; ++i) {
    ((float*)((char*)y->data + y->byte_offset))[i] = ((const float*)((char*)x->data + x->byte_offset))[i] + 1;
  }
  return 1;
}

/* Where an input and an output of i64 are: their addresses and what they are modulo 64. */
static inline void TellPlaces(const DLTensor* x, const DLTensor* y) {
  int64_t* told = (int64_t*)y->data;
  told[0] = (int64_t)(uintptr_t)x->data;
  told[1] = (int64_t)(uintptr_t)y->data;
  told[2] = (int64_t)((uintptr_t)x->data % 64 + (uintptr_t)y->data % 64);
}

/* A tensor as numbers: dtype code, bits, lanes, device, rank, dimensions, strides. */
static inline void Describe(const DLTensor* x, const DLTensor* y) {
  int64_t* told = (int64_t*)y->data;
  *told++ = x->dtype.code;
  *told++ = x->dtype.bits;
  *told++ = x->dtype.lanes;
  *told++ = x->device.device_type;
  *told++ = x->ndim;
  for (int32_t i = 0; i < x->ndim; ++i) *told++ = x->shape[i];
  for (int32_t i = 0; i < x->ndim; ++i) *told++ = x->strides[i];
}

#endif /* TANDEM_TESTS_UNIT_TVM_LIBRARIES_PUBLISHED_H_ */
