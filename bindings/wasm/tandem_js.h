// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What JavaScript needs beside the C interface (bindings/c/tandem.h): functions that never wait, take no 64-bit
// integers and cross between JavaScript and WebAssembly seldom.
//
// Errors and ownership are those of tandem.h: null is success. Every function is called on the one thread that loaded
// the module. Besides these and those of tandem.h that exports.txt lists, the module exports `memory`, `malloc` and
// `free`; views of the memory must be made anew after every call that may allocate, since it may have grown.
//
// What runs where. Calls that take little time are computed at once. Longer ones are queued: in the module with threads
// for its workers, in the one without for tandem_js_run_tasks, which JavaScript calls from its event loop.
//
// Waking. The module imports `wake()` (import module "tandem"; with threads, `Module.onTandemWake`). It is called, on
// the thread that loaded the module, when there is something to do: tasks to run, or events. It must only take note of
// that: call nothing of the module. JavaScript then calls tandem_js_run_tasks (without threads) and
// tandem_js_take_events until that gives fewer events than there is room for. `wake` is not called again before that.
//
// Memory. While more than a threshold is in use, JavaScript is asked to collect garbage (TANDEM_JS_SHORTAGE): it
// provokes a garbage collection, lets its finalizers release tensors, and calls tandem_js_collected. Until then calls
// are queued but for the very smallest, such as on axes and sizes; tandem_js_run_tasks does nothing, and workers that
// would need more than the threshold wait. An op fails for lack of memory only when a collection has not helped.
//
// With threads, tandem-threads-web.js and tandem-threads-node.js export Emscripten's factory, which takes `numThreads`
// (the workers it loads before it resolves: one more than tandem_js_create is given, for what waits), `instantiateWasm`
// (the memory is imports.env.memory there), `onTandemWake()` and `onTandemFailure(error)`. That is called when a worker
// could not be loaded, and the factory rejects then, or when one failed later: no worker is left.
//
// The end. To dispose of a runtime call tandem_js_cancel, take the events, which tell of all that was pending, then
// drop the instance with its memory: with threads, after `Module.tandemTerminate()`, which ends its workers at once.
// Nothing may be called afterwards, tandem_tensor_release included.

#ifndef TANDEM_BINDINGS_WASM_TANDEM_JS_H_
#define TANDEM_BINDINGS_WASM_TANDEM_JS_H_

#include <stdint.h>

#include "tandem.h"

#ifdef __cplusplus
extern "C" {
#endif

// Grows with every change of what JavaScript relies on; the package takes a module of its own version only.
#define TANDEM_JS_VERSION 8
TANDEM_C_API uint32_t tandem_js_version(void);

// A runtime with what JavaScript needs around it: work queue, events, garbage collection.
typedef struct tandem_js tandem_js;

// A runtime with that many workers; the module without threads has none. With threads, one fewer than `numThreads` at
// most. `memory_limit` in bytes of tensor data, 0 for none. At most `pending_limit` calls may be pending, 0 for the
// default of 1,048,576; more fail. With `diagnostics` not 0, there is a TANDEM_JS_DIAGNOSTIC for each error. `exact` is
// that of tandem_runtime_options, `fuse` the opposite of its no_fusion.
TANDEM_C_API tandem_status* tandem_js_create(int32_t num_threads, double memory_limit, double pending_limit,
                                             int32_t diagnostics, int32_t exact, int32_t fuse, tandem_js** js);
// For the functions of tandem.h; borrowed.
TANDEM_C_API tandem_runtime* tandem_js_runtime(tandem_js* js);
// As tandem_runtime_cancel, also for workers that wait for memory.
TANDEM_C_API tandem_status* tandem_js_cancel(tandem_js* js, const char* reason);

// Runs queued tasks for about `milliseconds`, but one at least; none while memory is short. 1 if there is more to run
// now, else 0. Also cancels requests whose deadline has passed. With threads it does only that.
TANDEM_C_API uint32_t tandem_js_run_tasks(tandem_js* js, double milliseconds);

// Runs what is short of the queued tasks, with and without threads, for about `milliseconds` or until the tensor is
// available. None while memory is short.
TANDEM_C_API void tandem_js_help_with(tandem_js* js, const tandem_tensor* tensor, double milliseconds);

// Events, in the order they arose.
typedef struct tandem_js_event {
  uint32_t kind;  // a tandem_js_event_kind
  uint32_t id;
  uintptr_t data;  // a pointer
  uint32_t size;
} tandem_js_event;
typedef uint32_t tandem_js_event_kind;
enum {
  // What tandem_js_on_ready and the like were given as `id` is ready. `data`: 0, or the error, a tandem_status* that
  // JavaScript releases.
  TANDEM_JS_READY = 1,
  // `data`: an error, a tandem_status* that JavaScript releases.
  TANDEM_JS_DIAGNOSTIC = 2,
  // `data`: text of `size` bytes, without a NUL behind it, that JavaScript frees with tandem_free.
  TANDEM_JS_PRINT = 3,
  // Memory is short: JavaScript collects garbage, then calls tandem_js_collected. Not sent again before that.
  TANDEM_JS_SHORTAGE = 4,
  // A kernel in JavaScript is to run: `id` is the op's of tandem_js_op_register, `data` the tandem_js_call*.
  TANDEM_JS_CALL = 5,
  // A call waits for the code of its kernel, which is in the module's second part: JavaScript loads it, then calls
  // tandem_js_kernels_came or tandem_js_kernels_failed. Not sent again before that.
  TANDEM_JS_KERNELS = 6,
  // Calls that follow each other could have been computed as one: JavaScript loads the code for that, then calls
  // tandem_js_fuse. Sent once by each device.
  TANDEM_JS_FUSION = 7
};
// Moves at most `capacity` events to `events`; returns how many.
TANDEM_C_API uint32_t tandem_js_take_events(tandem_js* js, tandem_js_event* events, uint32_t capacity);

// A TANDEM_JS_READY with `id` once the tensor is available or an error; soon, if it is already. May fail with
// TANDEM_RESOURCE_EXHAUSTED only.
TANDEM_C_API tandem_status* tandem_js_on_ready(tandem_js* js, const tandem_tensor* tensor, uint32_t id);
// The same for the effects of the calls that the chain was given so far.
TANDEM_C_API tandem_status* tandem_js_chain_on_ready(tandem_js* js, const tandem_chain* chain, uint32_t id);
// The same for when nothing is queued or running.
TANDEM_C_API tandem_status* tandem_js_on_settled(tandem_js* js, uint32_t id);

// Of modules of several parts alone, those of the npm package; others lack these functions.

// After tandem_js_create and before anything is called: calls of kernels in the second part wait for it, and calls that
// wait for each other are computed one by one until what computes them as one is there.
TANDEM_C_API void tandem_js_postpone_parts(tandem_js* js);
// What TANDEM_JS_KERNELS asks for is in the table: calls that wait for it go on.
TANDEM_C_API void tandem_js_kernels_came(tandem_js* js);
// It cannot be had: those calls fail with this error. The next one asks anew.
TANDEM_C_API void tandem_js_kernels_failed(tandem_js* js, tandem_code code, const char* message);
// What computes element-wise ops as one is in the table: from now on calls that wait for each other are, unless the
// runtime was made without that. Idempotent.
TANDEM_C_API void tandem_js_fuse(tandem_js* js);

// Tensors.

// A tensor of numbers, and in *data where its elements are to be written, before anybody else gets the tensor:
// row-major and without gaps, aligned to at least 8 bytes. What is there before is arbitrary. Their size in bytes
// follows from dtype and shape. `dims` are int64, little-endian: two u32 each.
TANDEM_C_API tandem_status* tandem_js_tensor_new(tandem_js* js, tandem_dtype dtype, const int64_t* dims, uint32_t rank,
                                                 void** data, tandem_tensor** tensor);
// A scalar of the dtype, rounded to the nearest. Null if the value does not fit, as core's CheckedCast has it, if the
// dtype is none of numbers, or if memory is exhausted.
TANDEM_C_API tandem_tensor* tandem_js_scalar(tandem_js* js, tandem_dtype dtype, double value);
// `values`, available numbers, as elements of the dtype that `like`, which is pending, turns out to have: a pending
// tensor, or null if memory is exhausted. They are for that input of the op's definition in a call with this request
// and this location, each of which may be null; if they do not fit, the tensor becomes an error that says so.
TANDEM_C_API tandem_tensor* tandem_js_cast_like(tandem_js* js, const tandem_tensor* values, const tandem_tensor* like,
                                                const tandem_op* op, uint32_t input, const tandem_request* request,
                                                const char* location);

// What is known of a tensor, without waiting.
typedef struct tandem_js_description {
  int32_t state;     // a tandem_state
  int32_t dtype;     // 0 if it is not known yet, or the tensor is an error
  int32_t rank;      // -1 if it is not known yet, or the tensor is an error
  const void* data;  // the elements' address if the state is TANDEM_AVAILABLE and they are dense in memory, else 0
  double byte_size;  // of the elements, by dtype and shape; 0 for strings
  double dims[TANDEM_MAX_RANK];
} tandem_js_description;
TANDEM_C_API void tandem_js_describe(const tandem_tensor* tensor, tandem_js_description* description);
// A tandem_state.
TANDEM_C_API int32_t tandem_js_tensor_state(const tandem_tensor* tensor);
// The error that the tensor is, for the caller to release; null if it is none (yet).
TANDEM_C_API tandem_status* tandem_js_tensor_error(const tandem_tensor* tensor);
// A string's bytes; no NUL behind them.
typedef struct tandem_js_string {
  const char* data;
  size_t size;
} tandem_js_string;
// The strings of an available tensor of strings from `first` on, in row-major order, borrowed from the tensor. Returns
// how many: `count`, or fewer if there are no more; 0 if it is no available tensor of strings.
TANDEM_C_API uint32_t tandem_js_strings(const tandem_tensor* tensor, uint32_t first, uint32_t count,
                                        tandem_js_string* strings);

// Attributes and requests without 64-bit integers.

// As tandem_attrs_set_int; `value` must be an integer of at most 2^53.
TANDEM_C_API tandem_code tandem_js_attrs_set_int(tandem_attrs* attrs, const char* name, double value);
// As tandem_request_create, in milliseconds; negative: none. Without threads a deadline is noticed by calls and by
// tandem_js_run_tasks, so JavaScript calls that when it has passed.
TANDEM_C_API tandem_status* tandem_js_request_create(tandem_js* js, double timeout_ms, tandem_request** request);

// Memory.

// In bytes of tensor data, without the smallest tensors.
typedef struct tandem_js_memory_info {
  double bytes_in_use;
  double peak_bytes_in_use;
  double bytes_cached;     // freed, and kept for reuse
  double num_allocations;  // since the runtime was made
  double num_cache_hits;   // of these, served by what was kept
  double limit;            // 0: none
  double threshold;        // beyond which garbage is collected
  double pending_ops;      // calls that are pending, queued or running
} tandem_js_memory_info;
TANDEM_C_API void tandem_js_memory(tandem_js* js, tandem_js_memory_info* info);
// JavaScript has collected garbage: what waited for that goes on. The next collection is asked for when more than
// `threshold` bytes are in use; with every collection JavaScript chooses it anew, such as twice what is left in use. It
// is 256 MiB at first, and JavaScript may call this at any time to change it.
TANDEM_C_API void tandem_js_collected(tandem_js* js, double threshold);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_BINDINGS_WASM_TANDEM_JS_H_
