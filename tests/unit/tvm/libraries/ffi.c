/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The Tandem Authors */

/* Functions as compilers make them for tvm-ffi, without linking its library: with variables for what the loader gives
   them. `both` is there by the classic name, too, which is not a function of that ABI. */

#include "published.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char tandem_substitutions[];
const char tandem_substitutions[] =
    "{\"substitutions\": [\n"
    "  {\"op\": \"tf.Neg\", \"use\": {\"function\": \"subtractone\"}}]}";

void* __tvm_ffi__library_ctx = NULL;
void (*__TVMFFIErrorSetRaisedFromCStr)(const char* kind, const char* message) = NULL;
void (*__TVMFFIErrorSetRaisedFromCStrParts)(const char* kind, const char** parts, int32_t num_parts) = NULL;
int (*__TVMFFIEnvModLookupFromImports)(void* library_ctx, const char* func_name, void** out) = NULL;
int (*__TVMFFIHandleInitOnce)(void** handle_addr, int (*init_func)(void** result)) = NULL;
void* (*__TVMBackendAllocWorkspace)(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                                    int dtype_bits_hint) = NULL;
int (*__TVMBackendFreeWorkspace)(int device_type, int device_id, void* ptr) = NULL;

#define FUNCTION(name) int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
#define USE_ALL (void)handle, (void)args, (void)num_args, (void)result
#define ARG(i) ((DLTensor*)args[i].v_ptr)

int both = 0;
FUNCTION(both) {
  USE_ALL;
  return AddOne(ARG(0), ARG(1)) ? 0 : -1;
}

FUNCTION(addone) {
  if (handle != NULL || num_args != 2 || args[0].type_index != kTVMFFIDLTensorPtr || args[0].zero_padding != 0 ||
      args[1].type_index != kTVMFFIDLTensorPtr || result->type_index != kTVMFFINone) {
    __TVMFFIErrorSetRaisedFromCStr("TypeError", "addone expects two tensors");
    return -1;
  }
  if (AddOne(ARG(0), ARG(1))) return 0;
  const char* parts[] = {"Mismatched type on argument #0 of `addone", NULL, "(x, y)`, ", "expected float32"};
  __TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 4);
  return -1;
}

FUNCTION(places) {
  USE_ALL;
  TellPlaces(ARG(0), ARG(1));
  return 0;
}

FUNCTION(describe) {
  USE_ALL;
  Describe(ARG(0), ARG(1));
  return 0;
}

FUNCTION(workspace) {
  USE_ALL;
  void* memory = __TVMBackendAllocWorkspace(kDLCPU, 0, 1000, kDLFloat, 32);
  if (memory == NULL || __TVMBackendFreeWorkspace(kDLCPU, 0, memory) != 0) return -1;
  return AddOne(ARG(0), ARG(1)) ? 0 : -1;
}

static int num_lookups = 0;
static void* looked_up = NULL;
static int LookUp(void** found) {
  ++num_lookups;
  *found = &looked_up;
  return 0;
}

/* How often something was looked up that is kept. */
FUNCTION(lookups) {
  USE_ALL;
  if (__TVMFFIHandleInitOnce(&looked_up, &LookUp) != 0) return -1;
  ((int64_t*)ARG(1)->data)[0] = looked_up == &looked_up ? num_lookups : -1;
  return 0;
}

static void* imported = NULL;
static int LookUpImported(void** found) {
  return __TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "cuda_kernel", found);
}

FUNCTION(call_import) {
  USE_ALL;
  return __TVMFFIHandleInitOnce(&imported, &LookUpImported);
}

FUNCTION(give_object) {
  USE_ALL;
  result->type_index = kTVMFFIFunction;
  result->v_ptr = &imported;
  return 0;
}

FUNCTION(fail_silently) {
  USE_ALL;
  return -1;
}

#ifdef __cplusplus
}
#endif
