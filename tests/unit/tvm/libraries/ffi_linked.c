/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The Tandem Authors */

/* Functions of tvm-ffi as a C compiler makes them, in a library that is linked with its runtime. */

#include "published.h"

#ifdef __cplusplus
extern "C" {
#endif

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
extern int num_live_errors;

int __tvm_ffi_addone(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)num_args, (void)result;
  if (AddOne((DLTensor*)args[0].v_ptr, (DLTensor*)args[1].v_ptr)) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "Expects a Tensor of float32");
  return -1;
}

void* TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

/* The stream, the device's type and number. */
int __tvm_ffi_stream(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  const DLTensor* y = (const DLTensor*)args[num_args - 1].v_ptr;
  (void)handle, (void)result;
  ((int64_t*)y->data)[0] = (int64_t)(intptr_t)TVMFFIEnvGetStream(2, 0);
  ((int64_t*)y->data)[1] = y->device.device_type;
  ((int64_t*)y->data)[2] = y->device.device_id;
  return 0;
}

int __tvm_ffi_live_errors(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)num_args, (void)result;
  ((int64_t*)((DLTensor*)args[1].v_ptr)->data)[0] = num_live_errors;
  return 0;
}

#ifdef __cplusplus
}
#endif
