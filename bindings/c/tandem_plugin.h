// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The C interface of op libraries: op definitions, metadata functions, kernels and op handlers from a shared library of
// any maker, or of a program, which come and go while a runtime runs.
//
// A shared library that is a plug-in includes this header, and links nothing of Tandem: all that it calls is in a table
// that it is given. It has TANDEM_PLUGIN_VERSION once, and the function tandem_plugin_init, which adds what there is to
// add by define_op, add_kernel and add_handler. If that fails, nothing stays added and the library is not loaded.
// tandem_op_library_load and tandem_op_library_create of tandem.h make op libraries of it.
//
// Errors. A function that can fail returns a tandem_status*: null is success. An error that a function of the table
// gave, or that make_error made, belongs to who got it: to be returned, which hands it over, or released by
// release_error. A message is lower case and says what was expected and what was given. Wrong arguments are
// TANDEM_INVALID_ARGUMENT; what cannot be detected is a pointer that is neither null nor of a living object.
//
// Ownership. Structs and texts that are passed in are copied. What is pointed to by results is borrowed, for as long as
// the function says; by default until the function of the plug-in that got it returns. `user` belongs to what it was
// given with, whose `destroy`, if not null, is called exactly once: when nothing calls with it any more, on any thread,
// also if adding failed. Code and static data of the plug-in are needed until all of these have been called, and no
// call is running or deferred; the library is unloaded then.
//
// Threads. Functions of the plug-in are called by several threads at once, but for tandem_plugin_init. A call, that is
// a tandem_plugin_call, is used by one thread at a time. No function of the plug-in may leave by longjmp or a C++
// exception.

#ifndef TANDEM_PLUGIN_H_
#define TANDEM_PLUGIN_H_

#include "tandem.h"

// The version of this interface: a plug-in is loaded by a runtime of the same one. Functions at the end of the table,
// and members at the end of structs with a `struct_size`, are added without a new one.
#define TANDEM_PLUGIN_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// An op library while it is filled.
typedef struct tandem_plugin tandem_plugin;
// One call of an op, as a metadata function or a kernel has it.
typedef struct tandem_plugin_call tandem_plugin_call;
// An attribute of a call: a value, or a list of values.
typedef struct tandem_plugin_attr tandem_plugin_attr;
// Attributes that are the value of an attribute.
typedef struct tandem_plugin_attrs tandem_plugin_attrs;
typedef struct tandem_plugin_api tandem_plugin_api;

// A tensor. Elements are row-major and without gaps, aligned to the size of an element; of TANDEM_BOOL bytes of 0 and 1
// alone.
typedef struct tandem_plugin_tensor {
  size_t struct_size;  // sizeof(tandem_plugin_tensor), set by the caller
  tandem_dtype dtype;  // 0: not known yet
  size_t rank;
  int64_t dims[TANDEM_MAX_RANK];
  int64_t num_elements;
  const void* data;  // null: without elements, not to be seen here, or strings, which input_string and attr_string show
  size_t size;       // bytes of `data`
} tandem_plugin_tensor;

// What computes dtype and shape of the results, by describe_result, from those of the inputs and from attributes, or
// says what is wrong with these.
typedef tandem_status* (*tandem_plugin_metadata)(const tandem_plugin_api* api, tandem_plugin_call* call, void* user);
// What computes the results: each is allocated and filled, or set, or made an error, unless the kernel fails.
typedef tandem_status* (*tandem_plugin_kernel)(const tandem_plugin_api* api, tandem_plugin_call* call, void* user);
typedef void (*tandem_plugin_destroy)(void* user);
// A part of a loop: the items from `begin` on and before `end`.
typedef void (*tandem_plugin_range)(void* user, int64_t begin, int64_t end);

// Calls need a chain, and happen in its order.
#define TANDEM_OP_SIDE_EFFECTS 1u

// An op, in the grammar of TensorFlow's op definitions (core/include/tandem/op_def.h has it): "x: T" is an argument,
// "xs: N * T" a sequence of them, "T: {float, int32}" or "axis: int = -1" an attribute. Lists of specs end with a null,
// and may be null. Zero is the default of each member but the first two.
typedef struct tandem_plugin_op_def {
  size_t struct_size;  // sizeof(tandem_plugin_op_def)
  const char* name;    // "mine.Scale"
  const char* const* inputs;
  const char* const* outputs;
  const char* const* attrs;
  const char* doc;       // the first sentence is the summary
  uint32_t flags;        // TANDEM_OP_SIDE_EFFECTS or 0
  uint32_t host_inputs;  // bit i: metadata functions see the elements of input spec i; it is on the host for any device
  tandem_plugin_metadata metadata;  // null: the kernel says by describe_result what its results are
  void* user;                       // the last argument of `metadata`
  tandem_plugin_destroy destroy;    // of `user`
} tandem_plugin_op_def;

#define TANDEM_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

// A kernel of an op, which need not be defined yet, nor by this library.
typedef struct tandem_plugin_kernel_def {
  size_t struct_size;   // sizeof(tandem_plugin_kernel_def)
  const char* handler;  // whose tensors are in the host's memory; null: "cpu"
  const char* op;
  uint64_t
      dtypes;  // TANDEM_DTYPE_BIT of each value of the op's type attribute T, else of its first one; 0: it has none
  float cost;  // nanoseconds an element of inputs and results takes, for choosing a thread; 0: 0.5
  tandem_plugin_kernel run;
  void* user;                     // the last argument of `run`
  tandem_plugin_destroy destroy;  // of `user`
} tandem_plugin_kernel_def;

// The kinds of attributes' values.
typedef int32_t tandem_attr_type;
enum {
  TANDEM_ATTR_BOOL = 1,
  TANDEM_ATTR_INT = 2,
  TANDEM_ATTR_FLOAT = 3,
  TANDEM_ATTR_DTYPE = 4,
  TANDEM_ATTR_STRING = 5,
  TANDEM_ATTR_SHAPE = 6,
  TANDEM_ATTR_TENSOR = 7,
  TANDEM_ATTR_FUNCTION = 8,
  TANDEM_ATTR_ATTRS = 9
};

// What a plug-in calls. It lives as long as the process. Indexes that are too large are TANDEM_INVALID_ARGUMENT.
struct tandem_plugin_api {
  uint32_t abi_version;  // TANDEM_PLUGIN_ABI_VERSION
  size_t struct_size;    // of the runtime's table: a function at or past it is not there

  // Errors. The text is copied; null if memory is exhausted is no success, but an error of its own.
  tandem_status* (*make_error)(tandem_code code, const char* message);
  void (*release_error)(tandem_status* error);
  tandem_code (*error_code)(const tandem_status* error);
  const char* (*error_message)(const tandem_status* error);

  // In tandem_plugin_init alone.

  // TANDEM_ALREADY_EXISTS if the name is taken; TANDEM_INVALID_ARGUMENT with all that is wrong with the specs.
  tandem_status* (*define_op)(tandem_plugin* plugin, const tandem_plugin_op_def* op);
  // TANDEM_NOT_FOUND if there is no such handler; TANDEM_UNIMPLEMENTED if its tensors are not in the host's memory (ops
  // without a kernel there run on its fallback), if it is a layer over another, and in WebAssembly if it is not a
  // library's own; TANDEM_ALREADY_EXISTS if it has a kernel of the op for a dtype.
  tandem_status* (*add_kernel)(tandem_plugin* plugin, const tandem_plugin_kernel_def* kernel);
  // A new op handler, which runs the kernels that this library adds to it, and all other ops on `fallback`; null:
  // "cpu". Calls may name it as their device when the library is loaded. It stays when the library goes, without
  // kernels, and loading again takes the same. TANDEM_ALREADY_EXISTS if the name is that of another handler.
  tandem_status* (*add_handler)(tandem_plugin* plugin, const char* name, const char* fallback);
  // Called once, when nothing of the library is in use any more and before it is unloaded, on a thread that is not the
  // plug-in's: ends and joins the threads that the plug-in has. For one such function.
  tandem_status* (*on_unload)(tandem_plugin* plugin, tandem_plugin_destroy unload, void* user);

  // Calls, of metadata functions and kernels.

  size_t (*num_inputs)(const tandem_plugin_call* call);
  // Metadata functions see the elements of host inputs alone.
  tandem_status* (*input)(tandem_plugin_call* call, size_t index, tandem_plugin_tensor* tensor);
  // The bytes of one string, without a NUL behind them.
  tandem_status* (*input_string)(tandem_plugin_call* call, size_t index, int64_t element, const char** data,
                                 size_t* size);
  size_t (*num_results)(const tandem_plugin_call* call);
  // What is known of a result.
  tandem_status* (*result)(tandem_plugin_call* call, size_t index, tandem_plugin_tensor* tensor);
  // Says what a result is. `dtype` 0: the one that the definition has. A kernel of an op with a metadata function need
  // not, and can say only the same. TANDEM_INTERNAL for another dtype or shape than what is known.
  tandem_status* (*describe_result)(tandem_plugin_call* call, size_t index, tandem_dtype dtype, const int64_t* dims,
                                    size_t rank);
  // The attribute of that name, the call's or its default; null if there is none. One that follows from the inputs is
  // there only if the call gives it.
  const tandem_plugin_attr* (*attr)(const tandem_plugin_call* call, const char* name);

  // Attributes. Each value has an index, below attr_count; a single one is a list of one. The error of another type
  // names the attribute; so does that of a null, for which there is nothing to name.

  tandem_attr_type (*attr_type)(const tandem_plugin_attr* attr);
  size_t (*attr_count)(const tandem_plugin_attr* attr);
  int (*attr_is_list)(const tandem_plugin_attr* attr);
  tandem_status* (*attr_bool)(const tandem_plugin_attr* attr, size_t index, int* value);
  tandem_status* (*attr_int)(const tandem_plugin_attr* attr, size_t index, int64_t* value);
  tandem_status* (*attr_float)(const tandem_plugin_attr* attr, size_t index, double* value);
  tandem_status* (*attr_dtype)(const tandem_plugin_attr* attr, size_t index, tandem_dtype* value);
  // Of a function the name. Without a NUL behind the bytes.
  tandem_status* (*attr_string)(const tandem_plugin_attr* attr, size_t index, const char** data, size_t* size);
  // `dims` has room for TANDEM_MAX_RANK of them.
  tandem_status* (*attr_shape)(const tandem_plugin_attr* attr, size_t index, int64_t* dims, size_t* rank);
  tandem_status* (*attr_tensor)(const tandem_plugin_attr* attr, size_t index, tandem_plugin_tensor* tensor);
  tandem_status* (*attr_tensor_string)(const tandem_plugin_attr* attr, size_t index, int64_t element, const char** data,
                                       size_t* size);
  tandem_status* (*attr_attrs)(const tandem_plugin_attr* attr, size_t index, const tandem_plugin_attrs** attrs);
  const tandem_plugin_attr* (*find_attr)(const tandem_plugin_attrs* attrs, const char* name);

  // Calls, of kernels alone: else TANDEM_FAILED_PRECONDITION.

  // The memory of a result that has been described, uninitialised, to be filled before the kernel returns; once for
  // each result. TANDEM_RESOURCE_EXHAUSTED if there is none.
  tandem_status* (*allocate_result)(tandem_plugin_call* call, size_t index, void** data);
  // The same, but in the memory of an input that nobody else refers to and that has the dtype size and shape of the
  // result: element i of the result must be written after the elements of all inputs that it is computed from have been
  // read.
  tandem_status* (*forward_or_allocate_result)(tandem_plugin_call* call, size_t index, size_t input, void** data);
  // The elements of a result of strings, which are copied: as many as its shape says. `sizes` may be null: then the
  // strings end in a NUL.
  tandem_status* (*set_result_strings)(tandem_plugin_call* call, size_t index, const char* const* strings,
                                       const size_t* sizes, size_t count);
  // Makes this result alone an error, which is handed over.
  tandem_status* (*fail_result)(tandem_plugin_call* call, size_t index, tandem_status* error);
  // Whether nobody wants the results any more, so that the kernel should end, with any results or an error: to be asked
  // about every millisecond of work.
  int (*is_cancelled)(tandem_plugin_call* call);
  // Whether results must be the same bits on every processor.
  int (*is_exact)(tandem_plugin_call* call);
  // Calls `range` for ranges that together are [0, count), on several threads at once if that is worth it: an item
  // takes about `cost` nanoseconds. Not 0 when all is done; 0 if the kernel is to end and ranges may have been left
  // out. Of a deferred call on this thread alone.
  int (*parallel_for)(tandem_plugin_call* call, int64_t count, double cost, tandem_plugin_range range, void* user);
  // Lets the results come after the kernel has returned, which should then return null. `later` is the same call, for
  // any one thread at a time: its inputs and attributes live, and its results are described and allocated, until
  // `finish`, which must be called exactly once, before the runtime is destroyed or soon after is_cancelled says that:
  // destroying a runtime waits for it. Before any result of `call` is described, allocated or set; what was borrowed of
  // `call` is to be borrowed of `later` again.
  tandem_status* (*defer)(tandem_plugin_call* call, tandem_plugin_call** later);
  // Ends a deferred call with its results, or makes these the error, which is handed over. Waiting calls may run on
  // this thread.
  void (*finish)(tandem_plugin_call* later, tandem_status* error);
};

#define TANDEM_PLUGIN_EXPORT TANDEM_C_API

// What a plug-in has: the version that it was compiled for, looked at first, and what fills the library. `user` is
// null, or what tandem_op_library_create was given.
TANDEM_PLUGIN_EXPORT extern const uint32_t tandem_plugin_abi_version;
TANDEM_PLUGIN_EXPORT tandem_status* tandem_plugin_init(const tandem_plugin_api* api, tandem_plugin* plugin, void* user);
#define TANDEM_PLUGIN_VERSION const uint32_t tandem_plugin_abi_version = TANDEM_PLUGIN_ABI_VERSION

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_PLUGIN_H_
