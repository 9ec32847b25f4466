// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface of Tandem, for every language that can call C: runtimes, tensors, op calls, requests, programs,
// errors.
//
// Errors. A function that can fail returns a tandem_status*: null is success, anything else an error that the caller
// reads and releases. Where it fails, what it would have given is null or zero. A null or otherwise wrong argument is
// TANDEM_INVALID_ARGUMENT, never a crash; what cannot be detected is a pointer that is neither null nor of a living
// object.
//
// Ownership. What a function gives through its last parameters belongs to the caller, who releases it with the release
// function of its type; these take null too. Texts and data are borrowed from the object they are asked of, unless the
// function says otherwise. What is passed in is copied, or referred to in the object's own way: the caller may release
// or change it as soon as the function returns, unless the function says otherwise.
//
// Threads. Every function may be called from any thread. Runtimes, made ops, programs and requests may be used by
// several threads at once, tensors and errors read by several. Attributes, chains and recordings are used by one thread
// at a time. Nothing may be in use when it is released.
//
// Objects may be released in any order. Once its runtime is destroyed, an object is good for nothing but being
// released: what needs the runtime fails with TANDEM_FAILED_PRECONDITION.

#ifndef TANDEM_H_
#define TANDEM_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TANDEM_C_API __attribute__((visibility("default")))
#else
#define TANDEM_C_API
#endif

// The version of this interface. It grows when a program compiled with an older header would no longer work; functions,
// and members at the end of structs with a `struct_size`, are added without that.
#define TANDEM_ABI_VERSION 1

#define TANDEM_MAX_RANK 8

// For functions that wait: without a limit.
#define TANDEM_FOREVER (-1)

#ifdef __cplusplus
extern "C" {
#endif

// Tensors of other libraries, as a dlpack.h declares them.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

// An error; null stands for success. Immutable.
typedef struct tandem_status tandem_status;
// Op definitions, devices, threads and memory.
typedef struct tandem_runtime tandem_runtime;
// One reference to a tensor, which is available, pending or an error. The tensor is immutable.
typedef struct tandem_tensor tandem_tensor;
// The named attributes of a call, to be filled in and used any number of times.
typedef struct tandem_attrs tandem_attrs;
// An op looked up once, for calling it many times.
typedef struct tandem_op tandem_op;
// Orders the side effects of the ops it is given to.
typedef struct tandem_chain tandem_chain;
// A group of calls that can be cancelled, and given a deadline, together.
typedef struct tandem_request tandem_request;
// Functions of op calls, from a file or recorded, made ready for a runtime.
typedef struct tandem_program tandem_program;
// Calls that are to become a program.
typedef struct tandem_recording tandem_recording;
// Ops, kernels and devices that were added at run time.
typedef struct tandem_op_library tandem_op_library;
// A library of functions that TVM compiled, which stays loaded.
typedef struct tandem_tvm_library tandem_tvm_library;

// The kinds of errors.
typedef int32_t tandem_code;
enum {
  TANDEM_OK = 0,
  TANDEM_CANCELLED = 1,
  TANDEM_UNKNOWN = 2,
  TANDEM_INVALID_ARGUMENT = 3,
  TANDEM_DEADLINE_EXCEEDED = 4,
  TANDEM_NOT_FOUND = 5,
  TANDEM_ALREADY_EXISTS = 6,
  TANDEM_RESOURCE_EXHAUSTED = 7,
  TANDEM_FAILED_PRECONDITION = 8,
  TANDEM_OUT_OF_RANGE = 9,
  TANDEM_UNIMPLEMENTED = 10,
  TANDEM_INTERNAL = 11,
  TANDEM_UNAVAILABLE = 12,
  TANDEM_DATA_LOSS = 13
};

// The element types of tensors.
typedef int32_t tandem_dtype;
enum {
  TANDEM_BOOL = 1,  // one byte, 0 or 1
  TANDEM_U8 = 2,
  TANDEM_I8 = 3,
  TANDEM_U16 = 4,
  TANDEM_I16 = 5,
  TANDEM_I32 = 6,
  TANDEM_U32 = 7,
  TANDEM_I64 = 8,
  TANDEM_U64 = 9,
  TANDEM_F16 = 10,   // IEEE binary16
  TANDEM_BF16 = 11,  // the upper half of an f32
  TANDEM_F32 = 12,
  TANDEM_F64 = 13,
  TANDEM_C64 = 14,  // real and imaginary f32
  TANDEM_STRING = 15
};

// Whether a tensor has come.
typedef int32_t tandem_state;
enum { TANDEM_PENDING = 0, TANDEM_AVAILABLE = 1, TANDEM_ERROR = 2 };

// Version.

// The TANDEM_ABI_VERSION of the library.
TANDEM_C_API uint32_t tandem_abi_version(void);
// The version of the library, "major.minor.patch"; static.
TANDEM_C_API const char* tandem_version(void);

// Errors. Null is success here too: TANDEM_OK, and empty texts. Texts end in a NUL and live as long as the error.

TANDEM_C_API tandem_code tandem_status_code(const tandem_status* status);
// "[tf.MatMul] inner dimensions must agree, got a: f32[2,3], b: f32[4,5]"
TANDEM_C_API const char* tandem_status_message(const tandem_status* status);
// "tf.MatMul", or empty.
TANDEM_C_API const char* tandem_status_op(const tandem_status* status);
// The location that the call which caused the error was given, or empty.
TANDEM_C_API const char* tandem_status_location(const tandem_status* status);
// All in one: "InvalidArgument: message (location)", and a line for each op of its way and each cause.
TANDEM_C_API const char* tandem_status_text(const tandem_status* status);
// The ops that the error came through with a tensor or a chain, from the one next to where it arose: lines such as
// "tf.Relu (location)", after eight of them one with the number of the others. Empty if it came through none.
TANDEM_C_API const char* tandem_status_way(const tandem_status* status);
// The error that led to this one, for the caller to release, or null.
TANDEM_C_API tandem_status* tandem_status_cause(const tandem_status* status);
TANDEM_C_API void tandem_status_release(tandem_status* status);
// "InvalidArgument" and so on; static.
TANDEM_C_API const char* tandem_code_name(tandem_code code);

// Frees a text or other memory that a function gave for that; null is fine.
TANDEM_C_API void tandem_free(void* memory);

// Runtimes.

// Callbacks are called on whatever thread an event arises on, several at a time. They may call every function but
// tandem_runtime_destroy, and must return: no longjmp, no C++ exception. What they are given is borrowed for the call.

// Hears of each error of a call once, when it arises, and of memory that ran out; not of arguments that are wrong in
// themselves, such as nulls.
typedef void (*tandem_diagnostic_callback)(void* user, const tandem_status* error);
// Gets what printing ops print: `size` bytes, without a NUL behind them.
typedef void (*tandem_print_callback)(void* user, const char* text, size_t size);
// Is told that something has come (`error` is null) or has failed.
typedef void (*tandem_ready_callback)(void* user, const tandem_status* error);
// Is told that wrapped memory is no longer used.
typedef void (*tandem_release_callback)(void* user);

// What a runtime is made of. Zero is the default of each member but the first.
typedef struct tandem_runtime_options {
  size_t struct_size;                        // sizeof(tandem_runtime_options)
  int32_t num_threads;                       // for long ops; 0: one for each core
  uint64_t memory_limit;                     // bytes of tensor data; 0: no limit
  tandem_diagnostic_callback on_diagnostic;  // null: nobody hears
  void* diagnostic_user;                     // its first argument
  tandem_print_callback print;               // null: standard output
  void* print_user;                          // its first argument
  // Where calls run that name no device: null or "cpu", or a device that is added to the CPU for that
  // (tandem_runtime_add_device), or these with layers (tandem_layers_add).
  const char* device;
  // Not 0: exact mode. Results of the CPU are the same bits on every processor, instruction set and C library,
  // WebAssembly included; of a NaN it is the same only that it is one. Slower. Other devices compute as ever.
  int32_t exact;
  // Not 0: each op is computed by itself. Otherwise calls of element-wise ops that wait for each other may be computed
  // as one, with the same results; what is between them takes memory only if the program still has a tensor of it.
  int32_t no_fusion;
} tandem_runtime_options;

// A runtime with the CPU and all ops. `abi_version` is TANDEM_ABI_VERSION: a library of another one fails. `options`
// may be null.
TANDEM_C_API tandem_status* tandem_runtime_create(uint32_t abi_version, const tandem_runtime_options* options,
                                                  tandem_runtime** runtime);
// Makes a device available to calls of the runtime, which name it; nothing if it is. "vulkan" is a GPU by Vulkan: the
// first discrete one, else integrated, virtual, of the CPU, or what TANDEM_VULKAN_DEVICE in the environment names. It
// takes tensors of the host as they are, and runs what it has no kernel for on the CPU. TANDEM_NOT_FOUND if there is no
// such device here, or nothing to drive it with: the module libtandem_vulkan beside the library, a Vulkan loader, a
// driver; TANDEM_FAILED_PRECONDITION if the program links the static library, or the device falls short. "cuda" is a
// GPU by CUDA in the same way: the first one, or what TANDEM_CUDA_DEVICE names, by the module libtandem_cuda, a driver
// and the toolkit's NVRTC.
TANDEM_C_API tandem_status* tandem_runtime_add_device(tandem_runtime* runtime, const char* device);
// The same for a device in a module of any maker: `module` is a name, for the module libtandem_<name> beside the
// library, or the path of a file. `settings` are the module's own, and may be null: "vulkan" has `device` (text: a
// device's index or a part of its name), `cache_folder` (text), `memory_limit` and `cache_limit` (bytes), and "cuda"
// has these, `synchronous` (bool: the device is waited for after each op, for telling which one failed) and `graphs`
// (bool: stretches of commands that come again and again are launched as CUDA graphs). Calls name the device by the
// name that the module gives its op handler. Nothing if one of that name is there. TANDEM_NOT_FOUND as above;
// TANDEM_INVALID_ARGUMENT for settings that the module does not know.
TANDEM_C_API tandem_status* tandem_runtime_load_device(tandem_runtime* runtime, const char* module,
                                                       const tandem_attrs* settings);
// Which drivers and libraries a device of the runtime uses, their versions and what for, and why others are not used,
// a line each; no line for a device that has nothing to tell. As tandem_trace_json.
TANDEM_C_API tandem_status* tandem_device_report(tandem_runtime* runtime, const char* device, char** text,
                                                 size_t* size);
// Defines the ops tandem.TvmDso and tandem.TvmDsoDynamic, which call functions of libraries that TVM compiled; nothing
// if they are there. They run on the host and on the CUDA device that the runtime has by now. Whoever may name ops and
// attributes, such as the author of a program, may then run code of any file. Not in WebAssembly.
TANDEM_C_API tandem_status* tandem_runtime_add_tvm_ops(tandem_runtime* runtime);
// Cancels what is pending, waits for what is running and for callbacks, and frees the runtime. Other threads must not
// be calling functions of it. From within a callback it fails with TANDEM_FAILED_PRECONDITION and does nothing. Null is
// fine.
TANDEM_C_API tandem_status* tandem_runtime_destroy(tandem_runtime* runtime);
// Makes every pending result a TANDEM_CANCELLED error with this reason at once, and every later call's too until
// tandem_runtime_restart. `reason` may be null.
TANDEM_C_API tandem_status* tandem_runtime_cancel(tandem_runtime* runtime, const char* reason);
TANDEM_C_API tandem_status* tandem_runtime_restart(tandem_runtime* runtime);
// Waits until nothing is queued or running.
TANDEM_C_API tandem_status* tandem_runtime_settle(tandem_runtime* runtime);

// Bytes of tensor data, without wrapped memory and the smallest tensors, and how allocations were served.
typedef struct tandem_memory_stats {
  size_t struct_size;  // sizeof(tandem_memory_stats), set by the caller
  uint64_t bytes_in_use;
  uint64_t peak_bytes_in_use;
  uint64_t bytes_cached;     // freed, and kept for reuse
  uint64_t num_allocations;  // since the runtime was made
  uint64_t num_cache_hits;   // of these, served by what was kept
} tandem_memory_stats;

TANDEM_C_API tandem_status* tandem_runtime_memory(tandem_runtime* runtime, tandem_memory_stats* stats);
// Bytes of tensor data beyond which ops fail with TANDEM_RESOURCE_EXHAUSTED; 0: no limit.
TANDEM_C_API tandem_status* tandem_runtime_set_memory_limit(tandem_runtime* runtime, uint64_t bytes);
// Gives memory that is kept for reuse back to the system.
TANDEM_C_API tandem_status* tandem_runtime_trim(tandem_runtime* runtime);

// Records what runs when, until it is stopped.
TANDEM_C_API tandem_status* tandem_trace_start(tandem_runtime* runtime);
TANDEM_C_API tandem_status* tandem_trace_stop(tandem_runtime* runtime);
// Forgets what was recorded.
TANDEM_C_API tandem_status* tandem_trace_clear(tandem_runtime* runtime);
// What was recorded, in Chrome's trace event format. The caller frees the text, which ends in a NUL, with tandem_free;
// `size`, which may be null, is without the NUL.
TANDEM_C_API tandem_status* tandem_trace_json(tandem_runtime* runtime, char** json, size_t* size);
// The definitions of all ops, sorted by name: arguments, results, attributes, documentation. As tandem_trace_json.
TANDEM_C_API tandem_status* tandem_op_registry_json(tandem_runtime* runtime, char** json, size_t* size);

// Layers: between calls and a device, to find what is slow or wrong. A device with layers is a device as well, for
// calls, made ops, programs and recordings, which name it by its text. A text is the name of a device behind its
// layers, the outermost first: "profile:nan-guard:cpu". The layers are:
//   profile               counts calls of each op and dtype, and measures them
//   nan-guard             a result with a NaN is a TANDEM_OUT_OF_RANGE error; with {infinities} also one with an
//                         infinity; with {report} it is given as it is
//   shadow:DEVICE|OTHER   runs each op on OTHER, too, and compares; with {fail} what differs is a TANDEM_DATA_LOSS
//                         error. {ulp=4,abs=1e-6,of-largest=1e-4}, or some of it, is one tolerance for all ops, in
//                         units in the last place of the larger number, absolute, and as a part of the largest number
//                         of the result; otherwise each op has its own. {reports=10}: how many differences are kept,
//                         otherwise 64
//   log                   prints calls and results; {elements=8} of a tensor; with {sync} each when it is there
//   substitute:NAME|DEVICE
//                         runs other ops, or compiled functions, in place of those that a table names, which
//                         tandem_substitutions_add has made
// Brackets say what belongs together: "shadow:(profile:vulkan)|cpu". What is recorded goes under layers, by
// tandem_recording_device, or over them: "profile:record:cpu", with the device that it gave.

// Makes the device that `text` describes, unless there is one, for as long as the runtime lives.
// TANDEM_INVALID_ARGUMENT with the place in a text that is none, TANDEM_NOT_FOUND for a device that the runtime does
// not have, or a layer.
TANDEM_C_API tandem_status* tandem_layers_add(tandem_runtime* runtime, const char* text);
// What the layers of a runtime have found so far, all of a kind together, as JSON; no layers have found nothing. It is
// not waited for: tandem_runtime_settle before. The caller frees the text, which ends in a NUL, with tandem_free;
// `size`, which may be null, is without the NUL. Numbers that are not finite are texts, "inf", and so are integers
// beyond 2^53; "location" is that of the call, or empty.
//
// Of each op and dtype, those whose results took most time first: [{"op": "tf.MatMul", "dtype": "f32" or null, "calls",
// "pending", "errors", "dropped", "result_bytes", "call": TIMES, "results": TIMES}, ...], with TIMES {"count", "total",
// "min", "max"} in nanoseconds: until calls returned, and until their results were there.
TANDEM_C_API tandem_status* tandem_layers_profile(tandem_runtime* runtime, char** json, size_t* size);
// Forgets what was measured.
TANDEM_C_API tandem_status* tandem_layers_reset_profile(tandem_runtime* runtime);
// {"equal", "diverged", "pending", "skipped": {"why": number, ...}, "divergences": [...]}: how many results are the
// same within the tolerance, are not, are still to be compared, and were not compared; and of the first that differ
// {"op", "location", "call", "result", "element", "actual", "expected", "error", "ulp", "largest_error",
// "num_different", "metadata", "attrs", "inputs", "message"}: "call" is counted from 1 by each layer, "element" the
// first that differs in row-major order, or -1 for a shape or an error, "actual" and "expected" texts of it.
TANDEM_C_API tandem_status* tandem_layers_shadow(tandem_runtime* runtime, char** json, size_t* size);
// Of the first 64 results that nan-guard found, whether or not they became errors: [{"op", "location", "result",
// "metadata", "element", "value", "message"}, ...].
TANDEM_C_API tandem_status* tandem_layers_nan_guard(tandem_runtime* runtime, char** json, size_t* size);

// Makes a table of substitutions for layers, under a name without any of ":|(){}", from the JSON that
// core/handlers/README.md describes. What a table says of libraries of compiled functions runs their code.
// TANDEM_INVALID_ARGUMENT with name, line and column for what is wrong, TANDEM_NOT_FOUND for an op, a library or a
// function that is not there, TANDEM_ALREADY_EXISTS for a name that the runtime has.
TANDEM_C_API tandem_status* tandem_substitutions_add(tandem_runtime* runtime, const char* name, const char* json,
                                                     size_t size);
// The same from the table that a library of compiled functions has itself, as its symbol tandem_substitutions.
// TANDEM_NOT_FOUND for a library without one. Not in WebAssembly.
TANDEM_C_API tandem_status* tandem_substitutions_load(tandem_runtime* runtime, const char* name, const char* library);

// Tensors.

// A tensor with a copy of the elements, row-major and without gaps; `size`, in bytes, must be what dtype and shape
// take. `dims` may be null if `rank` is 0, `data` if `size` is. Every byte of TANDEM_BOOL but 0 is copied as 1.
TANDEM_C_API tandem_status* tandem_tensor_create(tandem_runtime* runtime, tandem_dtype dtype, const int64_t* dims,
                                                 size_t rank, const void* data, size_t size, tandem_tensor** tensor);
// A tensor of strings, one for each element of the shape, whose bytes are copied. `sizes` may be null: then the strings
// end in a NUL.
TANDEM_C_API tandem_status* tandem_tensor_create_strings(tandem_runtime* runtime, const int64_t* dims, size_t rank,
                                                         const char* const* strings, const size_t* sizes, size_t count,
                                                         tandem_tensor** tensor);
// A tensor over the caller's memory, which must be aligned to the size of an element, if of TANDEM_BOOL have bytes of 0
// and 1 alone, and must not change until `release` is called: exactly once, also if this function fails, and on any
// thread. `release` may be null.
TANDEM_C_API tandem_status* tandem_tensor_wrap(tandem_runtime* runtime, tandem_dtype dtype, const int64_t* dims,
                                               size_t rank, const void* data, size_t size,
                                               tandem_release_callback release, void* user, tandem_tensor** tensor);
// A tensor of another library, by DLPack 1.x, whose header is dlpack.h of any maker: over the memory of `managed`,
// which nobody may write to until its deleter is called, exactly once and on any thread; at once if this function fails
// for another reason than a null argument, or if it copied. It copies elements that are not row-major without gaps or
// not aligned to their size, and bools of other bytes than 0 and 1. One lane. Memory of the CPU (pinned memory is), or
// of a device that a handler of the runtime is for, as tandem_tensor_from_device_dlpack takes it with the stream 1.
TANDEM_C_API tandem_status* tandem_tensor_from_dlpack(tandem_runtime* runtime, struct DLManagedTensorVersioned* managed,
                                                      tandem_tensor** tensor);
// The same for the form before DLPack 1.0.
TANDEM_C_API tandem_status* tandem_tensor_from_unversioned_dlpack(tandem_runtime* runtime,
                                                                  struct DLManagedTensor* managed,
                                                                  tandem_tensor** tensor);
// Waits, then gives the elements to another library: it shares the memory, which nobody may write to, and keeps it
// until it calls the deleter, also after the runtime is destroyed. Of a tensor on another device it is that of a copy
// on the host. Not for strings.
TANDEM_C_API tandem_status* tandem_tensor_to_dlpack(const tandem_tensor* tensor,
                                                    struct DLManagedTensorVersioned** managed);
// The same in the form before DLPack 1.0, which cannot say that the memory is read-only.
TANDEM_C_API tandem_status* tandem_tensor_to_unversioned_dlpack(const tandem_tensor* tensor,
                                                                struct DLManagedTensor** managed);
// DLPack for memory of devices, which is that of CUDA devices. A stream is what `stream` of Python's __dlpack__ is: of
// CUDA its handle, where 1 is the legacy default stream and 2 that of the thread; -1 for none, where the caller has
// seen to it that nobody needs to wait.
//
// A tensor over memory whose content is what `stream` has been given so far; the deleter is called when the device has
// done all that was issued while somebody had the tensor. On a device elements must be row-major without gaps, and are
// no bools; those that are not aligned to 16 bytes are copied.
TANDEM_C_API tandem_status* tandem_tensor_from_device_dlpack(tandem_runtime* runtime,
                                                             struct DLManagedTensorVersioned* managed, int64_t stream,
                                                             tandem_tensor** tensor);
// Waits until the tensor has come, then gives its elements where they are, on the host or on a device, without copying:
// what is issued to `stream` from now on sees them. The stream lives until the deleter is called.
TANDEM_C_API tandem_status* tandem_tensor_to_device_dlpack(const tandem_tensor* tensor, int64_t stream,
                                                           struct DLManagedTensorVersioned** managed);
// The stream that a device executes its calls in, to be given to who makes tensors for it; -1 of the CPU.
// TANDEM_UNIMPLEMENTED for devices whose memory others cannot use.
TANDEM_C_API tandem_status* tandem_device_stream(tandem_runtime* runtime, const char* device, int64_t* stream);
// Another reference to the same tensor; the data is shared.
TANDEM_C_API tandem_status* tandem_tensor_copy(const tandem_tensor* tensor, tandem_tensor** copy);
TANDEM_C_API void tandem_tensor_release(tandem_tensor* tensor);

// Whether the tensor has come, without waiting.
TANDEM_C_API tandem_status* tandem_tensor_state(const tandem_tensor* tensor, tandem_state* state);
// Known without waiting unless it depends on data that is pending; then these wait.
TANDEM_C_API tandem_status* tandem_tensor_dtype(const tandem_tensor* tensor, tandem_dtype* dtype);
// `dims` has room for `capacity` dimensions; TANDEM_MAX_RANK always suffices. It may be null if that is 0 and only the
// rank is asked for, which is given in any case; too little room otherwise is TANDEM_INVALID_ARGUMENT.
TANDEM_C_API tandem_status* tandem_tensor_shape(const tandem_tensor* tensor, int64_t* dims, size_t capacity,
                                                size_t* rank);
// Waits until the tensor is available: success, or the error it has become. After `timeout_ns` nanoseconds, if not
// negative, TANDEM_DEADLINE_EXCEEDED; the tensor is none the worse for it.
TANDEM_C_API tandem_status* tandem_tensor_await(const tandem_tensor* tensor, int64_t timeout_ns);
// Calls back once, when the tensor is available or an error: at once, on this thread, if it is already. If this
// function fails, it never calls. A tensor that is still pending when its runtime is destroyed becomes an error.
TANDEM_C_API tandem_status* tandem_tensor_on_ready(const tandem_tensor* tensor, tandem_ready_callback callback,
                                                   void* user);
// The tensor on the device of that name, null for "cpu": the same one if it is there, else a copy, which may become
// available later. Calls need it whose arguments are on another device that is not the host's.
TANDEM_C_API tandem_status* tandem_tensor_transfer(const tandem_tensor* tensor, const char* device,
                                                   tandem_tensor** result);
// Waits, then shows the elements, row-major and without gaps, for as long as this reference lives: of a tensor on
// another device, those of a copy on the host. `size` is in bytes and may be null. Not for strings.
TANDEM_C_API tandem_status* tandem_tensor_data(const tandem_tensor* tensor, const void** data, size_t* size);
// Waits, then shows the bytes of one string, without a NUL behind them, for as long as this reference lives. `index` is
// that of the element in row-major order.
TANDEM_C_API tandem_status* tandem_tensor_string(const tandem_tensor* tensor, int64_t index, const char** data,
                                                 size_t* size);
// Waits, then describes the tensor: "f32[2,2] = [1, 2, 3, 4]", with at most `max_elements` of them. The caller frees
// the text, which ends in a NUL, with tandem_free.
TANDEM_C_API tandem_status* tandem_tensor_text(const tandem_tensor* tensor, int32_t max_elements, char** text);

// Attributes. A setter copies its value. It returns TANDEM_OK, or, for a null or wrong argument and for a name already
// set, the code of an error that tandem_attrs_status tells and that every call with the attributes fails with: it is
// enough to look at that. Arrays may be null if their count is 0.

TANDEM_C_API tandem_status* tandem_attrs_create(tandem_attrs** attrs);
TANDEM_C_API void tandem_attrs_release(tandem_attrs* attrs);
// The first error of a setter, for the caller to release, or null.
TANDEM_C_API tandem_status* tandem_attrs_status(const tandem_attrs* attrs);

TANDEM_C_API tandem_code tandem_attrs_set_bool(tandem_attrs* attrs, const char* name, int value);
TANDEM_C_API tandem_code tandem_attrs_set_int(tandem_attrs* attrs, const char* name, int64_t value);
TANDEM_C_API tandem_code tandem_attrs_set_float(tandem_attrs* attrs, const char* name, float value);
TANDEM_C_API tandem_code tandem_attrs_set_string(tandem_attrs* attrs, const char* name, const char* value, size_t size);
TANDEM_C_API tandem_code tandem_attrs_set_dtype(tandem_attrs* attrs, const char* name, tandem_dtype value);
TANDEM_C_API tandem_code tandem_attrs_set_shape(tandem_attrs* attrs, const char* name, const int64_t* dims,
                                                size_t rank);
// A constant with a copy of the elements, as in tandem_tensor_create.
TANDEM_C_API tandem_code tandem_attrs_set_tensor(tandem_attrs* attrs, const char* name, tandem_dtype dtype,
                                                 const int64_t* dims, size_t rank, const void* data, size_t size);
// The name of a function of a program.
TANDEM_C_API tandem_code tandem_attrs_set_function(tandem_attrs* attrs, const char* name, const char* value);
// Attributes in an attribute: at most 64 levels of them, the outermost counted.
TANDEM_C_API tandem_code tandem_attrs_set_attrs(tandem_attrs* attrs, const char* name, const tandem_attrs* value);
// Each value is one byte, 0 or not.
TANDEM_C_API tandem_code tandem_attrs_set_bools(tandem_attrs* attrs, const char* name, const uint8_t* values,
                                                size_t count);
TANDEM_C_API tandem_code tandem_attrs_set_ints(tandem_attrs* attrs, const char* name, const int64_t* values,
                                               size_t count);
TANDEM_C_API tandem_code tandem_attrs_set_floats(tandem_attrs* attrs, const char* name, const float* values,
                                                 size_t count);
// `sizes` may be null: then the strings end in a NUL.
TANDEM_C_API tandem_code tandem_attrs_set_strings(tandem_attrs* attrs, const char* name, const char* const* values,
                                                  const size_t* sizes, size_t count);
TANDEM_C_API tandem_code tandem_attrs_set_dtypes(tandem_attrs* attrs, const char* name, const tandem_dtype* values,
                                                 size_t count);
// `dims` has the dimensions of all shapes, one after the other; `ranks` says how many each has.
TANDEM_C_API tandem_code tandem_attrs_set_shapes(tandem_attrs* attrs, const char* name, const int64_t* dims,
                                                 const size_t* ranks, size_t count);

// Chains and requests.

// A chain that nothing precedes.
TANDEM_C_API tandem_status* tandem_chain_create(tandem_runtime* runtime, tandem_chain** chain);
// Waits for the effects of all calls that were given the chain; otherwise as tandem_tensor_await.
TANDEM_C_API tandem_status* tandem_chain_await(const tandem_chain* chain, int64_t timeout_ns);
// As tandem_tensor_on_ready, for the effects of the calls so far.
TANDEM_C_API tandem_status* tandem_chain_on_ready(const tandem_chain* chain, tandem_ready_callback callback,
                                                  void* user);
TANDEM_C_API void tandem_chain_release(tandem_chain* chain);

// A request whose calls fail with TANDEM_DEADLINE_EXCEEDED `timeout_ns` nanoseconds from now, if that is not negative.
TANDEM_C_API tandem_status* tandem_request_create(tandem_runtime* runtime, int64_t timeout_ns,
                                                  tandem_request** request);
// Makes the request's pending results, and those of its later calls, TANDEM_CANCELLED errors. The first reason counts;
// `reason` may be null.
TANDEM_C_API tandem_status* tandem_request_cancel(tandem_request* request, const char* reason);
// Success, or why no more calls of the request run.
TANDEM_C_API tandem_status* tandem_request_check(const tandem_request* request);
// Ends nothing: pending calls of the request go on, its deadline included.
TANDEM_C_API void tandem_request_release(tandem_request* request);

// Calls.

// What a call may be given besides its arguments. Zero is the default of each member but the first.
typedef struct tandem_call_options {
  size_t struct_size;         // sizeof(tandem_call_options)
  const tandem_attrs* attrs;  // null: none, so that every attribute is its default
  const char* device;         // null: that of the runtime's options; a made op has its own, and takes none
  // Ops with side effects need one. The call starts after the effects of earlier calls with it, and later ones after
  // this one's.
  tandem_chain* chain;
  tandem_request* request;  // null: none
  // Where the caller's program makes the call, for errors: "file:line:column", or any text. The runtime keeps one copy
  // of each text that it is given: of longer ones the last 1,024 bytes, and of 65,536 different ones at most.
  const char* location;
  uint32_t flags;  // TANDEM_CONSUME_ARGUMENTS or 0
} tandem_call_options;

// The call releases the references it is given as arguments, each once, whatever becomes of it. An op may then compute
// its result in the memory of an argument that nobody else refers to.
#define TANDEM_CONSUME_ARGUMENTS 1u

// Calls the op of that name. `results` has room for as many as the op's definition says. The call returns before the
// results are computed, unless that takes little time; they may be passed on at once.
//
// It fails if it is wrong in itself, and if all its results, or of an op without any its chain, are known to be errors
// when it returns: a wrong shape always is. All results are null then, and a chain that the op was given may be that
// error from there on. An error that is only found later is that of the results: tandem_tensor_await and other
// functions tell it.
TANDEM_C_API tandem_status* tandem_execute(tandem_runtime* runtime, const char* op, tandem_tensor* const* args,
                                           size_t num_args, const tandem_call_options* options, tandem_tensor** results,
                                           size_t num_results);

// Looks an op up, on `device` or, if that is null, that of the runtime's options. TANDEM_NOT_FOUND and the like say why
// it cannot run there.
TANDEM_C_API tandem_status* tandem_op_create(tandem_runtime* runtime, const char* name, const char* device,
                                             tandem_op** op);
// Calls it: tandem_execute without the lookup.
TANDEM_C_API tandem_status* tandem_op_execute(const tandem_op* op, tandem_tensor* const* args, size_t num_args,
                                              const tandem_call_options* options, tandem_tensor** results,
                                              size_t num_results);
TANDEM_C_API void tandem_op_release(tandem_op* op);

// Programs: functions of op calls, as text or in a binary form; core/program/README.md has the language.

// Gives a program the weight that it takes from outside under this name, or null if there is none. The tensor stays
// the callback's, which may release it when the program is loaded. Called on the thread that loads it.
typedef const tandem_tensor* (*tandem_weight_callback)(void* user, const char* name);

// How a program is made ready. Zero is the default of each member but the first.
typedef struct tandem_program_options {
  size_t struct_size;  // sizeof(tandem_program_options)
  // Runs all ops, whatever devices the program names: what was recorded on one runs on another. Null: those that it
  // names, and "cpu" for a function that takes its device from outside.
  const char* device;
  tandem_weight_callback weight;  // null: there are none
  void* weight_user;              // its first argument
} tandem_program_options;

// Reads a program, of text or of the binary form, which `size` bytes of `data` are, and looks up all that it names.
// `name` is what errors and locations call it; null: "program". `options` may be null. TANDEM_INVALID_ARGUMENT with
// line, column and the line for text that is wrong, TANDEM_DATA_LOSS with the byte for the binary form,
// TANDEM_UNIMPLEMENTED if a later version wrote it; TANDEM_NOT_FOUND for an op, a device or a weight that is not there.
TANDEM_C_API tandem_status* tandem_program_load(tandem_runtime* runtime, const void* data, size_t size,
                                                const char* name, const tandem_program_options* options,
                                                tandem_program** program);
TANDEM_C_API void tandem_program_release(tandem_program* program);
// The name of a function, in the order of the program; null if `index` is not below their number.
TANDEM_C_API const char* tandem_program_function(const tandem_program* program, size_t index);
// How many tensors a function takes and gives; shapes are tensors of i64. Chains and devices are not counted.
// TANDEM_NOT_FOUND if there is no function of this name.
TANDEM_C_API tandem_status* tandem_program_signature(const tandem_program* program, const char* function,
                                                     size_t* num_args, size_t* num_results);
// Calls a function as tandem_execute calls an op, but with neither attributes nor a device. The options' chain is every
// chain that the function takes, and stands from then on for the effects of those that it gives, too; a function that
// takes none starts at once. Errors of ops have their place in the program as their location.
TANDEM_C_API tandem_status* tandem_program_run(const tandem_program* program, const char* function,
                                               tandem_tensor* const* args, size_t num_args,
                                               const tandem_call_options* options, tandem_tensor** results,
                                               size_t num_results);
// The program as text, and in the binary form, which is shorter and sooner read; each reads back as the same program.
// The caller frees them with tandem_free. `size` is in bytes, of the text, which ends in a NUL, without that; it may be
// null for text.
TANDEM_C_API tandem_status* tandem_program_text(const tandem_program* program, char** text, size_t* size);
TANDEM_C_API tandem_status* tandem_program_bytes(const tandem_program* program, void** bytes, size_t* size);

// Recordings: what calls do, of any thread, becomes a program of one function, which does it for other inputs.

// How calls are recorded. Zero is the default of each member but the first.
typedef struct tandem_recording_options {
  size_t struct_size;    // sizeof(tandem_recording_options)
  const char* function;  // the name of the program's function; null: "main"
} tandem_recording_options;

// From here on calls are recorded. `options` may be null. TANDEM_FAILED_PRECONDITION if the runtime has another
// recording that is not finished.
TANDEM_C_API tandem_status* tandem_recording_start(tandem_runtime* runtime, const tandem_recording_options* options,
                                                   tandem_recording** recording);
// The name of a device that does what `device` does, or for null that of the runtime's options: calls that name it, and
// ops made for it, are recorded, and no others. It lives as long as the runtime.
TANDEM_C_API tandem_status* tandem_recording_device(tandem_recording* recording, const char* device, const char** name);
// Makes a tensor, which may be pending, the next argument of the function: before it is used in calls. What calls take
// that is neither an argument nor given by a recorded call, such as the result of tandem_program_run, is a constant of
// the program.
TANDEM_C_API tandem_status* tandem_recording_add_input(tandem_recording* recording, const tandem_tensor* input);
// Ends the recording, and makes what it takes to compute `outputs`, which are the function's results, a program: the
// calls that they need, and those with effects, in their order. Waits for these and for constants. Fails with the error
// that an output or a constant is. May be called again, with other outputs.
TANDEM_C_API tandem_status* tandem_recording_finish(tandem_recording* recording, tandem_tensor* const* outputs,
                                                    size_t num_outputs, tandem_program** program);
// Ends it if it has not been finished.
TANDEM_C_API void tandem_recording_release(tandem_recording* recording);

// Op libraries: ops, kernels and devices from a shared library or the program itself, by tandem_plugin.h, which says
// more. They may come and go while others call.

struct tandem_plugin_api;
struct tandem_plugin;
// Fills an op library. Called once, on the thread that makes it; must not make or release op libraries.
typedef tandem_status* (*tandem_op_library_init)(const struct tandem_plugin_api* api, struct tandem_plugin* plugin,
                                                 void* user);

// Loads a shared library and adds what it has to the runtime; if the runtime has it already, another reference to that.
// If anything fails, nothing stays added or loaded. `location` is that of the call, for errors, or null.
// TANDEM_NOT_FOUND if there is no such file; TANDEM_FAILED_PRECONDITION if it may not be read, is no shared library,
// lacks a symbol, or is of another version of tandem_plugin.h; or the error of the library's own function.
TANDEM_C_API tandem_status* tandem_op_library_load(tandem_runtime* runtime, const char* path, const char* location,
                                                   tandem_op_library** library);
// The same for a function of the program. `plugin_abi_version` is TANDEM_PLUGIN_ABI_VERSION of tandem_plugin.h.
TANDEM_C_API tandem_status* tandem_op_library_create(tandem_runtime* runtime, uint32_t plugin_abi_version,
                                                     tandem_op_library_init init, void* user, const char* location,
                                                     tandem_op_library** library);
// Releases the reference, and waits for nothing; null is fine. The last one takes all that the library added away;
// calls that run or are pending end as they would have. `unloaded`, which may be null, is a chain for the caller to
// wait for: until that has happened and nothing of the library is used any more, at once if there are other references.
TANDEM_C_API tandem_status* tandem_op_library_unload(tandem_op_library* library, tandem_chain** unloaded);

// Functions compiled by TVM, or for its ABIs: tandem_runtime_add_tvm_ops defines the ops that call them. Not in
// WebAssembly.

// Loads a library as these ops do, to look at it before, and to keep it loaded: for the same file the same one, in the
// whole process. TANDEM_NOT_FOUND if there is no such file, TANDEM_FAILED_PRECONDITION with the system's reason if it
// is no library, lacks what it needs, or is for another version of tvm-ffi.
TANDEM_C_API tandem_status* tandem_tvm_library_load(const char* path, tandem_tvm_library** library);
TANDEM_C_API void tandem_tvm_library_release(tandem_tvm_library* library);
// Absolute, without links, as an attribute lib_path takes it.
TANDEM_C_API const char* tandem_tvm_library_path(const tandem_tvm_library* library);
// Success if it has the function, by either ABI; TANDEM_NOT_FOUND if not.
TANDEM_C_API tandem_status* tandem_tvm_library_check(const tandem_tvm_library* library, const char* function);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_H_
