// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What JavaScript needs for a runtime that computes on a GPUDevice, beside tandem_js.h and under the same rules. The
// modules that have it are tandem-webgpu.wasm and the one with threads.
//
// JavaScript has the GPUDevice; the module says what to do with it, in batches of records
// (backends/webgpu/include/tandem/webgpu/commands.h), through a function that it imports:
//
//   execute(batch, words, num_words, arena, arena_bytes)
//
// (import module "tandem", name "webgpu_execute"; with threads, `Module.onTandemExecute`). It is called on the thread
// that loaded the module, from tandem_webgpu_flush, tandem_js_take_events and from calls of ops. It must call nothing
// of the module. What becomes of the batch is told later by the functions below, which all may make results available
// and so compute further. Texts end in a NUL, and are copied.

#ifndef TANDEM_BINDINGS_WASM_TANDEM_WEBGPU_H_
#define TANDEM_BINDINGS_WASM_TANDEM_WEBGPU_H_

#include "tandem_js.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a device grants, and how it is to be used.
typedef struct tandem_webgpu_options {
  double max_storage_buffers;  // in one shader
  double max_binding_bytes;
  double max_buffer_bytes;
  double max_workgroups;   // in each dimension
  double max_invocations;  // of a workgroup; also in its x and y
  double max_workgroup_z;
  double max_workgroup_bytes;
  double has_f16;
  double has_subgroups;
  double min_subgroup_size;
  double max_subgroup_size;
  double has_timestamps;  // for traces, by kTimedDispatch
  double is_software;     // whether shaders run on the host's processor
  double memory_limit;    // bytes of the device's memory for tensors; 0: none
  double cache_limit;     // bytes of freed memory that are kept for reuse
  double has_fallback;    // whether ops without a shader run on the CPU
} tandem_webgpu_options;

// Gives the runtime a device "webgpu", once. `adapter` is for messages.
TANDEM_C_API tandem_status* tandem_webgpu_create(tandem_js* js, const char* adapter,
                                                 const tandem_webgpu_options* options);

// Has the device take shaders of tandem_js_op_register. Of the code of programs (tandem_programs.h).
TANDEM_C_API tandem_status* tandem_webgpu_take_shaders(tandem_js* js);

// What has become of what `execute` was given. Of each batch, in order; before that what has failed.
TANDEM_C_API void tandem_webgpu_batch_done(tandem_js* js, uint32_t batch);
// There was no memory for a buffer. Called before tandem_webgpu_batch_failed of the batches that use it.
TANDEM_C_API void tandem_webgpu_buffer_failed(tandem_js* js, uint32_t buffer, const char* text);
// `word` is the place of the record that failed, 0xffffffff if that is not known.
TANDEM_C_API void tandem_webgpu_batch_failed(tandem_js* js, uint32_t batch, uint32_t word, tandem_code code,
                                             const char* text);
// TANDEM_OK, or why there will be no pipeline.
TANDEM_C_API void tandem_webgpu_pipeline_done(tandem_js* js, uint32_t pipeline, tandem_code code, const char* text);
// TANDEM_OK, and the data is where it was wanted; or why not. After tandem_webgpu_batch_done of its batch.
TANDEM_C_API void tandem_webgpu_end_done(tandem_js* js, uint32_t end, tandem_code code, const char* text);
// The device is gone for good; nothing else is told any more.
TANDEM_C_API void tandem_webgpu_device_lost(tandem_js* js, const char* text);

// Hands over what has been issued, now.
TANDEM_C_API void tandem_webgpu_flush(tandem_js* js);

// Whether the tensor is, or will be, on the device.
TANDEM_C_API int32_t tandem_webgpu_is_on_device(const tandem_tensor* tensor);
// A tensor of the device, or if `to_host` is not 0 of the host, with the same content; of the host if that is strings.
TANDEM_C_API tandem_status* tandem_webgpu_transfer(tandem_js* js, const tandem_tensor* tensor, int32_t to_host,
                                                   const char* location, tandem_tensor** result);
// Ok, or why the content of the tensor is unusable; of an available tensor of the device, once its batch is done.
TANDEM_C_API tandem_status* tandem_webgpu_check(const tandem_tensor* tensor);
// The number of the buffer of an available tensor of the device; 0 for other tensors.
TANDEM_C_API uint32_t tandem_webgpu_buffer(const tandem_tensor* tensor);

// A number for a GPUBuffer of so many bytes that is not the module's. Under it JavaScript puts the buffer into its
// list, then makes a tensor of its first elements. The buffer is forgotten (record kDropBuffer) when nothing uses it
// any more.
TANDEM_C_API tandem_status* tandem_webgpu_adopt(tandem_js* js, double bytes, uint32_t* buffer);
TANDEM_C_API tandem_status* tandem_webgpu_wrap(tandem_js* js, uint32_t buffer, double bytes, tandem_dtype dtype,
                                               const int64_t* dims, uint32_t rank, tandem_tensor** tensor);

// Memory of the device in bytes, and what it was given to do so far.
typedef struct tandem_webgpu_info {
  double bytes_in_use;
  double peak_bytes_in_use;
  double bytes_cached;
  double num_allocations;
  double num_cache_hits;
  double num_submits;     // batches with commands that were handed to the device
  double num_dispatches;  // of shaders
  double num_crossings;   // calls of `execute`
} tandem_webgpu_info;
TANDEM_C_API void tandem_webgpu_describe(tandem_js* js, tandem_webgpu_info* info);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_BINDINGS_WASM_TANDEM_WEBGPU_H_
