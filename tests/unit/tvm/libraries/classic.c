/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The Tandem Authors */

/* Functions as TVM compiles them for its classic ABI: with variables for what the loader gives them. */

#include "published.h"

#ifdef __cplusplus
extern "C" {
#endif

void* __tvm_module_ctx = NULL;
void (*__TVMAPISetLastError)(const char* message) = NULL;
int (*__TVMBackendGetFuncFromEnv)(void* mod_node, const char* func_name, void** out) = NULL;
int (*__TVMFuncCall)(void* func, TVMValue* arg_values, int* type_codes, int num_args, TVMValue* ret_val,
                     int* ret_type_code) = NULL;
void* (*__TVMBackendAllocWorkspace)(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                                    int dtype_bits_hint) = NULL;
int (*__TVMBackendFreeWorkspace)(int device_type, int device_id, void* ptr) = NULL;
int (*__TVMBackendParallelLaunch)(FTVMParallelLambda flambda, void* cdata, int num_task) = NULL;
int (*__TVMBackendParallelBarrier)(int task_id, TVMParallelGroupEnv* penv) = NULL;

#define FUNCTION(name)                                                                                 \
  int name(TVMValue* args, int* type_codes, int num_args, TVMValue* out_ret_value, int* out_ret_tcode, \
           void* resource_handle)
#define USE_ALL \
  (void)args, (void)type_codes, (void)num_args, (void)out_ret_value, (void)out_ret_tcode, (void)resource_handle
#define ARG(i) ((DLTensor*)args[i].v_handle)

/* What the library says of itself: where its functions run in place of ops. */
extern const char tandem_substitutions[];
const char tandem_substitutions[] =
    "{\"substitutions\": [\n"
    "  {\"op\": \"tf.Neg\", \"inputs\": [\"f32[3]\"], \"use\": {\"function\": \"addone\"}},\n"
    "  {\"op\": \"tf.AddV2\", \"inputs\": [\"f32[4]\", \"f32[4]\"], \"use\": {\"function\": \"sum\"}}]}";

static int Fail(const char* message) {
  __TVMAPISetLastError(message);
  return -1;
}

/* Also looks at the arguments as compiled functions do. */
FUNCTION(addone) {
  if (num_args != 2) return Fail("Assert fail: num_args == 2, addone: num_args should be 2");
  if (type_codes[0] != kTVMDLTensorHandle || type_codes[1] != kTVMDLTensorHandle || resource_handle != NULL ||
      out_ret_value == NULL || *out_ret_tcode != kTVMNullptr) {
    return Fail("Assert fail: the arguments should be pointers");
  }
  return AddOne(ARG(0), ARG(1)) ? 0 : Fail("Assert fail: addone.x.dtype is expected to be float32");
}

/* The last argument is the sum of the others. */
FUNCTION(sum) {
  USE_ALL;
  for (int64_t i = 0; i < NumElements(ARG(num_args - 1)); ++i) {
    float total = 0;
    for (int j = 0; j + 1 < num_args; ++j) total += ((const float*)ARG(j)->data)[i];
    ((float*)ARG(num_args - 1)->data)[i] = total;
  }
  return 0;
}

/* Of x, the whole and the fraction as i32 and f64. */
FUNCTION(parts) {
  USE_ALL;
  for (int64_t i = 0; i < NumElements(ARG(0)); ++i) {
    const float x = ((const float*)ARG(0)->data)[i];
    ((int32_t*)ARG(1)->data)[i] = (int32_t)x;
    ((double*)ARG(2)->data)[i] = (double)x - (int32_t)x;
  }
  return 0;
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

FUNCTION(fail) {
  USE_ALL;
  return Fail("Check failed: it never works");
}

FUNCTION(fail_silently) {
  USE_ALL;
  return 42;
}

/* Adds one by way of memory of the loader's, some of which is never freed. */
FUNCTION(workspace) {
  USE_ALL;
  const int64_t count = NumElements(ARG(0));
  float* copy = (float*)__TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)count * sizeof(float), kDLFloat, 32);
  void* left = __TVMBackendAllocWorkspace(kDLCPU, 0, 1, kDLInt, 8);
  if (copy == NULL || left == NULL) return -1;
  if ((uintptr_t)copy % 128 != 0 || (uintptr_t)left % 128 != 0) return Fail("expected aligned memory");
  for (int64_t i = 0; i < count; ++i) copy[i] = ((const float*)ARG(0)->data)[i] + 1;
  for (int64_t i = 0; i < count; ++i) ((float*)ARG(1)->data)[i] = copy[i];
  if (__TVMBackendFreeWorkspace(kDLCPU, 0, copy) != 0) return Fail("expected to free what was given");
  return __TVMBackendFreeWorkspace(kDLCPU, 0, copy) == 0 ? Fail("expected to free it once") : 0;
}

FUNCTION(huge_workspace) {
  USE_ALL;
  return __TVMBackendAllocWorkspace(kDLCPU, 0, UINT64_MAX, kDLFloat, 32) == NULL ? -1 : 0;
}

FUNCTION(gpu_workspace) {
  USE_ALL;
  return __TVMBackendAllocWorkspace(2, 0, 64, kDLFloat, 32) == NULL ? -1 : 0;
}

static int AddOneTask(int task_id, TVMParallelGroupEnv* penv, void* cdata) {
  TVMValue* args = (TVMValue*)cdata;
  const int64_t count = NumElements(ARG(0));
  const int64_t step = (count + penv->num_task - 1) / penv->num_task;
  for (int64_t i = task_id * step; i < (task_id + 1) * step && i < count; ++i) {
    ((float*)ARG(1)->data)[i] = ((const float*)ARG(0)->data)[i] + 1;
  }
  return 0;
}

FUNCTION(parallel) {
  USE_ALL;
  return __TVMBackendParallelLaunch(&AddOneTask, args, 0);
}

FUNCTION(parallel_seven) {
  USE_ALL;
  return __TVMBackendParallelLaunch(&AddOneTask, args, 7);
}

static int FailingTask(int task_id, TVMParallelGroupEnv* penv, void* cdata) {
  (void)penv;
  (void)cdata;
  return task_id == 3 ? Fail("Check failed: task 3") : 0;
}

FUNCTION(parallel_failing) {
  USE_ALL;
  return __TVMBackendParallelLaunch(&FailingTask, NULL, 5);
}

static int WaitingTask(int task_id, TVMParallelGroupEnv* penv, void* cdata) {
  (void)cdata;
  return __TVMBackendParallelBarrier(task_id, penv);
}

FUNCTION(barrier) {
  USE_ALL;
  return __TVMBackendParallelLaunch(&WaitingTask, NULL, 2);
}

FUNCTION(call_global) {
  USE_ALL;
  void* function = NULL;
  return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "tvm.contrib.cblas.matmul", &function);
}

FUNCTION(give_object) {
  USE_ALL;
  out_ret_value->v_handle = args;
  *out_ret_tcode = kTVMModuleHandle;
  return 0;
}

/* Every bool is 2, which is none. */
FUNCTION(wrong_bools) {
  USE_ALL;
  for (int64_t i = 0; i < NumElements(ARG(1)); ++i) ((unsigned char*)ARG(1)->data)[i] = 2;
  return 0;
}

#ifdef __cplusplus
}
#endif
