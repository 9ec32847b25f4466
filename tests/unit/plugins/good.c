// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A plug-in with ops of all kinds: sequences of arguments, attributes of every type, several results, shapes that
// depend on data, strings, effects, errors, results that come later, and an op handler.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tandem_plugin.h"

TANDEM_PLUGIN_VERSION;

// Returns the error that `expr` is, if it is one.
#define RETURN_IF_ERROR(expr)             \
  do {                                    \
    tandem_status* const failed = (expr); \
    if (failed != NULL) return failed;    \
  } while (0)

// What the library has besides its ops: threads, which it joins in the end.
struct job {
  pthread_t thread;
  const tandem_plugin_api* api;
  tandem_plugin_call* later;
  struct job* next;
};
struct state {
  pthread_mutex_t mutex;
  struct job* jobs;
  int64_t count;
};

static void end_state(void* user) {
  struct state* state = user;
  struct job* job = state->jobs;
  while (job != NULL) {
    struct job* const next = job->next;
    pthread_join(job->thread, NULL);
    free(job);
    job = next;
  }
  pthread_mutex_destroy(&state->mutex);
  free(state);
}

static tandem_plugin_tensor empty(void) {
  tandem_plugin_tensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.struct_size = sizeof(tensor);
  return tensor;
}

// A result with the dtype and shape of input 0.
static tandem_status* same(const tandem_plugin_api* api, tandem_plugin_call* call, size_t index) {
  tandem_plugin_tensor x = empty();
  RETURN_IF_ERROR(api->input(call, 0, &x));
  return api->describe_result(call, index, x.dtype, x.dims, x.rank);
}

// plug.AddN

static tandem_status* add_n_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor first = empty();
  size_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &first));
  for (i = 1; i < api->num_inputs(call); ++i) {
    tandem_plugin_tensor next = empty();
    RETURN_IF_ERROR(api->input(call, i, &next));
    if (next.data != NULL) return api->make_error(TANDEM_INTERNAL, "expected no elements, got some");
    if (next.rank != first.rank || memcmp(next.dims, first.dims, first.rank * sizeof(int64_t)) != 0) {
      char text[80];
      snprintf(text, sizeof(text), "shapes must agree, input %d has %d elements", (int)i, (int)next.num_elements);
      return api->make_error(TANDEM_INVALID_ARGUMENT, text);
    }
  }
  return same(api, call, 0);
}

struct add_n {
  const float* from;
  float* to;
};
static void add_range(void* user, int64_t begin, int64_t end) {
  const struct add_n* const add = user;
  int64_t i;
  for (i = begin; i < end; ++i) add->to[i] += add->from[i];
}

static tandem_status* add_n_f32(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  struct add_n add;
  void* to;
  size_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  RETURN_IF_ERROR(api->forward_or_allocate_result(call, 0, 0, &to));
  if (to != x.data) memcpy(to, x.data, x.size);
  add.to = to;
  for (i = 1; i < api->num_inputs(call); ++i) {
    RETURN_IF_ERROR(api->input(call, i, &x));
    add.from = x.data;
    api->parallel_for(call, x.num_elements, 1, add_range, &add);
  }
  return NULL;
}

static tandem_status* add_n_i64(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  void* to;
  size_t i;
  (void)user;
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  for (i = 0; i < api->num_inputs(call); ++i) {
    tandem_plugin_tensor x = empty();
    int64_t j;
    RETURN_IF_ERROR(api->input(call, i, &x));
    for (j = 0; j < x.num_elements; ++j) {
      ((int64_t*)to)[j] = (i == 0 ? 0 : ((int64_t*)to)[j]) + ((const int64_t*)x.data)[j];
    }
  }
  return NULL;
}

// plug.Describe: attributes as text.

struct text {
  char bytes[4096];
  size_t size;
};
static void append(struct text* text, const char* format, const char* bytes, size_t size) {
  text->size += (size_t)snprintf(text->bytes + text->size, sizeof(text->bytes) - text->size, format, (int)size, bytes);
}

static tandem_status* describe_value(const tandem_plugin_api* api, const tandem_plugin_attr* attr, size_t index,
                                     struct text* text) {
  char number[64];
  const char* bytes = number;
  size_t size = 0;
  switch (api->attr_type(attr)) {
    case TANDEM_ATTR_BOOL: {
      int value;
      RETURN_IF_ERROR(api->attr_bool(attr, index, &value));
      size = (size_t)snprintf(number, sizeof(number), "%s", value ? "true" : "false");
      break;
    }
    case TANDEM_ATTR_INT: {
      int64_t value;
      RETURN_IF_ERROR(api->attr_int(attr, index, &value));
      size = (size_t)snprintf(number, sizeof(number), "%d", (int)value);
      break;
    }
    case TANDEM_ATTR_FLOAT: {
      double value;
      RETURN_IF_ERROR(api->attr_float(attr, index, &value));
      size = (size_t)snprintf(number, sizeof(number), "%g", value);
      break;
    }
    case TANDEM_ATTR_DTYPE: {
      tandem_dtype value;
      RETURN_IF_ERROR(api->attr_dtype(attr, index, &value));
      size = (size_t)snprintf(number, sizeof(number), "dtype %d", (int)value);
      break;
    }
    case TANDEM_ATTR_SHAPE: {
      int64_t dims[TANDEM_MAX_RANK];
      size_t rank, i;
      RETURN_IF_ERROR(api->attr_shape(attr, index, dims, &rank));
      for (i = 0; i < rank; ++i) {
        size += (size_t)snprintf(number + size, sizeof(number) - size, i == 0 ? "%d" : "x%d", (int)dims[i]);
      }
      break;
    }
    case TANDEM_ATTR_TENSOR: {
      tandem_plugin_tensor value = empty();
      RETURN_IF_ERROR(api->attr_tensor(attr, index, &value));
      size = (size_t)snprintf(number, sizeof(number), "tensor of dtype %d, %d elements, first %g", (int)value.dtype,
                              (int)value.num_elements, (double)*(const float*)value.data);
      break;
    }
    case TANDEM_ATTR_ATTRS: {
      const tandem_plugin_attrs* value;
      RETURN_IF_ERROR(api->attr_attrs(attr, index, &value));
      append(text, "%.*s", "{", 1);
      RETURN_IF_ERROR(describe_value(api, api->find_attr(value, "inner"), 0, text));
      append(text, "%.*s", "}", 1);
      return NULL;
    }
    default:
      RETURN_IF_ERROR(api->attr_string(attr, index, &bytes, &size));
  }
  append(text, "%.*s", bytes, size);
  return NULL;
}

static const char* const kDescribed[] = {"a_bool",  "a_int",    "a_float", "a_dtype", "a_string",
                                         "a_shape", "a_tensor", "a_func",  "a_value", "bools",
                                         "ints",    "floats",   "dtypes",  "strings", "shapes"};

static tandem_status* describe(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  struct text text;
  const char* all = text.bytes;
  size_t i, j;
  (void)user;
  text.size = 0;
  for (i = 0; i < sizeof(kDescribed) / sizeof(kDescribed[0]); ++i) {
    const tandem_plugin_attr* const attr = api->attr(call, kDescribed[i]);
    if (attr == NULL) continue;
    append(&text, "%.*s=", kDescribed[i], strlen(kDescribed[i]));
    for (j = 0; j < api->attr_count(attr); ++j) {
      if (j > 0) append(&text, "%.*s", ",", 1);
      RETURN_IF_ERROR(describe_value(api, attr, j, &text));
    }
    append(&text, "%.*s", api->attr_is_list(attr) ? "[]; " : "; ", api->attr_is_list(attr) ? 4 : 2);
  }
  RETURN_IF_ERROR(api->describe_result(call, 0, 0, NULL, 0));
  return api->set_result_strings(call, 0, &all, &text.size, 1);
}

// plug.Split: the halves of a list of any dtype of fixed size.

static tandem_status* split_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  int64_t low, high;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  if (x.rank != 1) return api->make_error(TANDEM_INVALID_ARGUMENT, "expected a list");
  low = x.dims[0] / 2;
  high = x.dims[0] - low;
  RETURN_IF_ERROR(api->describe_result(call, 0, 0, &low, 1));
  return api->describe_result(call, 1, 0, &high, 1);
}

static tandem_status* split(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  const char* from;
  size_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  from = x.data;
  for (i = 0; i < 2; ++i) {
    tandem_plugin_tensor half = empty();
    size_t size;
    void* to;
    RETURN_IF_ERROR(api->result(call, i, &half));
    size = x.num_elements == 0 ? 0 : x.size / (size_t)x.num_elements * (size_t)half.num_elements;
    RETURN_IF_ERROR(api->allocate_result(call, i, &to));
    if (size > 0) {
      memcpy(to, from, size);
      from += size;
    }
  }
  return NULL;
}

// plug.Upper: strings.

static tandem_status* upper(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  char* copies[4];
  const char* strings[4];
  size_t sizes[4];
  int64_t i;
  size_t j;
  tandem_status* error;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  if (x.num_elements > 4) return api->make_error(TANDEM_UNIMPLEMENTED, "expected at most 4 strings");
  for (i = 0; i < x.num_elements; ++i) {
    const char* bytes;
    RETURN_IF_ERROR(api->input_string(call, 0, i, &bytes, &sizes[i]));
    strings[i] = copies[i] = malloc(sizes[i] + 1);
    for (j = 0; j < sizes[i]; ++j) copies[i][j] = (char)(bytes[j] >= 'a' && bytes[j] <= 'z' ? bytes[j] - 32 : bytes[j]);
  }
  error = api->set_result_strings(call, 0, strings, sizes, (size_t)x.num_elements);
  for (i = 0; i < x.num_elements; ++i) free(copies[i]);
  return error;
}

static tandem_status* same_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)user;
  return same(api, call, 0);
}

// plug.Repeat: the content of an input decides the shape.

static tandem_status* repeat_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor times = empty();
  int64_t dim;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 1, &times));
  if (times.num_elements != 1) return api->make_error(TANDEM_INVALID_ARGUMENT, "expected one number");
  dim = *(const int32_t*)times.data;
  return api->describe_result(call, 0, TANDEM_F32, &dim, 1);
}

static tandem_status* repeat(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty(), result = empty();
  void* to;
  int64_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  RETURN_IF_ERROR(api->result(call, 0, &result));
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  for (i = 0; i < result.num_elements; ++i) ((float*)to)[i] = *(const float*)x.data;
  return NULL;
}

// plug.NonZero: the content of the input decides the shape, and the kernel says which it is.

static tandem_status* non_zero(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  const float* from;
  void* to;
  int64_t i, count = 0;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  from = x.data;
  for (i = 0; i < x.num_elements; ++i) count += from[i] != 0;
  RETURN_IF_ERROR(api->describe_result(call, 0, TANDEM_F32, &count, 1));
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  for (i = 0, count = 0; i < x.num_elements; ++i) {
    if (from[i] != 0) ((float*)to)[count++] = from[i];
  }
  return NULL;
}

// plug.Later: x + 1, or an error, by a thread of the library.

static tandem_status* later_result(const tandem_plugin_api* api, tandem_plugin_call* later) {
  tandem_plugin_tensor x = empty();
  const char* fails;
  size_t size;
  int until_cancelled;
  void* to;
  int64_t i;
  RETURN_IF_ERROR(api->attr_bool(api->attr(later, "until_cancelled"), 0, &until_cancelled));
  while (until_cancelled && !api->is_cancelled(later)) {
  }
  if (until_cancelled) return api->make_error(TANDEM_CANCELLED, "stopped");
  RETURN_IF_ERROR(api->attr_string(api->attr(later, "fails"), 0, &fails, &size));
  if (size > 0) return api->make_error(TANDEM_UNAVAILABLE, "refused, later");
  RETURN_IF_ERROR(api->input(later, 0, &x));
  RETURN_IF_ERROR(api->allocate_result(later, 0, &to));
  for (i = 0; i < x.num_elements; ++i) ((float*)to)[i] = ((const float*)x.data)[i] + 1;
  return NULL;
}

static void* run_job(void* user) {
  const struct job job = *(const struct job*)user;
  job.api->finish(job.later, later_result(job.api, job.later));
  return NULL;
}

static tandem_status* later(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  struct state* const state = user;
  struct job* const job = malloc(sizeof(*job));
  tandem_status* error;
  job->api = api;
  error = api->defer(call, &job->later);
  if (error != NULL) {
    free(job);
    return error;
  }
  pthread_mutex_lock(&state->mutex);
  job->next = state->jobs;
  if (pthread_create(&job->thread, NULL, run_job, job) == 0) {
    state->jobs = job;
    pthread_mutex_unlock(&state->mutex);
    return NULL;
  }
  pthread_mutex_unlock(&state->mutex);
  api->finish(job->later, api->make_error(TANDEM_RESOURCE_EXHAUSTED, "no thread"));
  free(job);
  return NULL;
}

// plug.Halves: one result is an error.

static tandem_status* halves_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)user;
  RETURN_IF_ERROR(same(api, call, 0));
  return same(api, call, 1);
}

static tandem_status* halves(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  void* to;
  int64_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  for (i = 0; i < x.num_elements; ++i) ((float*)to)[i] = ((const float*)x.data)[i] / 2;
  return api->fail_result(call, 1, api->make_error(TANDEM_OUT_OF_RANGE, "there is no second half"));
}

// plug.Count: an effect.

static tandem_status* count(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  struct state* const state = user;
  void* to;
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  pthread_mutex_lock(&state->mutex);
  *(int64_t*)to = ++state->count;
  pthread_mutex_unlock(&state->mutex);
  return NULL;
}
static tandem_status* count_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)user;
  return api->describe_result(call, 0, TANDEM_I64, NULL, 0);
}

// What is wrong, by its name.

static tandem_status* wrong_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)user;
  return api->describe_result(call, 0, TANDEM_I32, NULL, 0);
}
static tandem_status* wrong_dtype(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)user;
  return api->describe_result(call, 0, TANDEM_I32, NULL, 0);
}
static tandem_status* wrong_shape(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  static const int64_t dim = 77;
  (void)user;
  return api->describe_result(call, 0, TANDEM_F32, &dim, 1);
}
static tandem_status* no_result(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)api;
  (void)call;
  (void)user;
  return NULL;
}
static tandem_status* wrong_attr(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  int64_t value;
  (void)user;
  return api->attr_int(api->attr(call, "text"), 0, &value);
}

// On a handler of its own: x + 100.
static tandem_status* add_hundred(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = empty();
  void* to;
  int64_t i;
  (void)user;
  RETURN_IF_ERROR(api->input(call, 0, &x));
  RETURN_IF_ERROR(api->allocate_result(call, 0, &to));
  for (i = 0; i < x.num_elements; ++i) ((float*)to)[i] = ((const float*)x.data)[i] + 100;
  return NULL;
}

struct op {
  const char* name;
  const char* inputs[4];
  const char* outputs[3];
  const char* attrs[16];
  uint32_t flags, host_inputs;
  tandem_plugin_metadata metadata;
  tandem_plugin_kernel kernel;
  uint64_t dtypes;
};

#define FIXED (TANDEM_DTYPE_BIT(TANDEM_STRING) - 2)
#define F32 TANDEM_DTYPE_BIT(TANDEM_F32)

static const struct op kOps[] = {
    {"plug.AddN",
     {"xs: N * T"},
     {"sum: T"},
     {"N: int >= 1", "T: {float, int64, int32}"},
     0,
     0,
     add_n_metadata,
     add_n_f32,
     F32},
    {"plug.Describe",
     {NULL},
     {"text: string"},
     {"a_bool: bool = true", "a_int: int = -3", "a_float: float = 0.5", "a_dtype: type = DT_HALF",
      "a_string: string = 'none'", "a_shape: shape = [2, 3]", "a_tensor: tensor", "a_func: func = 'main'",
      "a_value: any", "bools: list(bool) = []", "ints: list(int) = [1, 2]", "floats: list(float) = []",
      "dtypes: list(type) = []", "strings: list(string) = []", "shapes: list(shape) = []"},
     0,
     0,
     NULL,
     describe,
     FIXED},
    {"plug.Split", {"x: T"}, {"low: T", "high: T"}, {"T: type"}, 0, 0, split_metadata, split, FIXED},
    {"plug.Upper", {"x: string"}, {"y: string"}, {NULL}, 0, 0, same_metadata, upper, 0},
    {"plug.Repeat", {"x: float", "times: int32"}, {"y: float"}, {NULL}, 0, 2, repeat_metadata, repeat, 0},
    {"plug.NonZero", {"x: float"}, {"y: float"}, {NULL}, 0, 0, NULL, non_zero, 0},
    {"plug.Later",
     {"x: float"},
     {"y: float"},
     {"until_cancelled: bool = false", "fails: string = ''"},
     0,
     0,
     same_metadata,
     later,
     0},
    {"plug.Halves", {"x: float"}, {"a: float", "b: float"}, {NULL}, 0, 0, halves_metadata, halves, 0},
    {"plug.Count", {NULL}, {"n: int64"}, {NULL}, TANDEM_OP_SIDE_EFFECTS, 0, count_metadata, count, 0},
    {"plug.WrongMetadata", {"x: float"}, {"y: float"}, {NULL}, 0, 0, wrong_metadata, no_result, 0},
    {"plug.WrongDType", {"x: float"}, {"y: float"}, {NULL}, 0, 0, NULL, wrong_dtype, 0},
    {"plug.WrongShape", {"x: float"}, {"y: float"}, {NULL}, 0, 0, same_metadata, wrong_shape, 0},
    {"plug.NoResult", {"x: float"}, {"y: float"}, {NULL}, 0, 0, same_metadata, no_result, 0},
    {"plug.WrongAttr", {"x: float"}, {"y: float"}, {"text: string = 'a'"}, 0, 0, same_metadata, wrong_attr, 0},
};

static tandem_status* add_op(const tandem_plugin_api* api, tandem_plugin* plugin, const struct op* op,
                             struct state* state) {
  tandem_plugin_op_def def;
  tandem_plugin_kernel_def kernel;
  memset(&def, 0, sizeof(def));
  def.struct_size = sizeof(def);
  def.name = op->name;
  def.inputs = op->inputs;
  def.outputs = op->outputs;
  def.attrs = op->attrs;
  def.doc = "An op of a plug-in.";
  def.flags = op->flags;
  def.host_inputs = op->host_inputs;
  def.metadata = op->metadata;
  RETURN_IF_ERROR(api->define_op(plugin, &def));
  memset(&kernel, 0, sizeof(kernel));
  kernel.struct_size = sizeof(kernel);
  kernel.op = op->name;
  kernel.dtypes = op->dtypes;
  kernel.run = op->kernel;
  kernel.user = state;
  return api->add_kernel(plugin, &kernel);
}

tandem_status* tandem_plugin_init(const tandem_plugin_api* api, tandem_plugin* plugin, void* user) {
  struct state* const state = calloc(1, sizeof(*state));
  tandem_plugin_kernel_def kernel;
  size_t i;
  if (user != NULL || api->abi_version != TANDEM_PLUGIN_ABI_VERSION || api->struct_size < sizeof(*api)) {
    free(state);
    return api->make_error(TANDEM_INTERNAL, "expected the table of this version");
  }
  pthread_mutex_init(&state->mutex, NULL);
  RETURN_IF_ERROR(api->on_unload(plugin, end_state, state));
  for (i = 0; i < sizeof(kOps) / sizeof(kOps[0]); ++i) RETURN_IF_ERROR(add_op(api, plugin, &kOps[i], state));
  memset(&kernel, 0, sizeof(kernel));
  kernel.struct_size = sizeof(kernel);
  kernel.op = "plug.AddN";
  kernel.dtypes = TANDEM_DTYPE_BIT(TANDEM_I64);
  kernel.run = add_n_i64;
  RETURN_IF_ERROR(api->add_kernel(plugin, &kernel));
  RETURN_IF_ERROR(api->add_handler(plugin, "plug", NULL));
  kernel.handler = "plug";
  kernel.op = "plug.Repeat";
  kernel.dtypes = 0;
  kernel.run = repeat;
  RETURN_IF_ERROR(api->add_kernel(plugin, &kernel));
  kernel.op = "tf.Relu";
  kernel.dtypes = F32;
  kernel.run = add_hundred;
  return api->add_kernel(plugin, &kernel);
}
