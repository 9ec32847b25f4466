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

int __tvm_ffi_live_errors(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)num_args, (void)result;
  ((int64_t*)((DLTensor*)args[1].v_ptr)->data)[0] = num_live_errors;
  return 0;
}

#ifdef __cplusplus
}
#endif
