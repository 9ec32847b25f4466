// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What JavaScript needs for programs, recordings and ops of its own, beside tandem_js.h and under the same rules. It is
// apart since few pages use it. With the functions of tandem.h that exports_programs.txt lists.

#ifndef TANDEM_BINDINGS_WASM_TANDEM_PROGRAMS_H_
#define TANDEM_BINDINGS_WASM_TANDEM_PROGRAMS_H_

#include "tandem_js.h"

#ifdef __cplusplus
extern "C" {
#endif

// Programs.

// What a program of tandem_js_program_load is made ready with.
typedef struct tandem_js_program_options {
  // Runs all ops, whatever devices the program names; one of tandem_layers_add, too. Null: those that it names.
  const char* device;
  uint32_t fuse;            // whether element-wise ops that follow each other may be computed as one
  uint32_t num_weights;     // tensors that it may take from outside
  const char** names;       // theirs
  tandem_tensor** weights;  // the caller's, who may release them when the program is loaded
} tandem_js_program_options;
// As tandem_program_load.
TANDEM_C_API tandem_status* tandem_js_program_load(tandem_js* js, const void* data, size_t size, const char* name,
                                                   const tandem_js_program_options* options, tandem_program** program);
// Whether the function takes or gives chains, so that a call of it is to be given one; 0 if there is none of this name.
TANDEM_C_API uint32_t tandem_js_program_has_chains(const tandem_program* program, const char* function);

// Recordings, which need not wait.

// As tandem_recording_start. Constants of more bytes than `max_inline_bytes`, which is not negative, are weights; see
// tandem_js_recording_weight.
TANDEM_C_API tandem_status* tandem_js_recording_start(tandem_js* js, const char* function, double max_inline_bytes,
                                                      tandem_recording** recording);
// Ends the recording, and sends the event TANDEM_JS_READY with this id once tandem_js_recording_finish, given the same
// outputs, does not have to wait.
TANDEM_C_API tandem_status* tandem_js_recording_ready(tandem_js* js, tandem_recording* recording,
                                                      tandem_tensor* const* outputs, uint32_t num_outputs, uint32_t id);
// As tandem_recording_finish, with the program's ops on `device` as in tandem_js_program_options.
TANDEM_C_API tandem_status* tandem_js_recording_finish(tandem_recording* recording, tandem_tensor* const* outputs,
                                                       uint32_t num_outputs, const char* device,
                                                       tandem_program** program);
// A weight of the program that was given last: its name, borrowed until the recording is released or finished again,
// and the tensor, on the host. Null, both, if `index` is not below their number.
TANDEM_C_API tandem_status* tandem_js_recording_weight(const tandem_recording* recording, uint32_t index,
                                                       const char** name, tandem_tensor** tensor);

// Ops that are defined, and may be computed, in JavaScript.

// An op in the grammar of core/include/tandem/op_def.h. Texts and lists are copied; lists may be null if they are
// empty.
typedef struct tandem_js_op_def {
  const char* name;
  const char** inputs;
  uint32_t num_inputs;
  const char** outputs;
  uint32_t num_outputs;
  const char** attrs;
  uint32_t num_attrs;
  const char* doc;
  uint32_t side_effects;  // whether calls take a chain
  // Of each output, by core/include/tandem/shape_rule.h. Without any, shapes come with the results.
  const char** shapes;
  uint32_t num_shapes;
  // Whether JavaScript computes it where the CPU's ops run, by events TANDEM_JS_CALL with this id.
  uint32_t has_kernel;
  uint32_t id;
  // A shader, or null, by core/include/tandem/shader_op.h; of no use to a runtime without WebGPU.
  const char* wgsl;
  uint32_t workgroup[3];
  const char** invocations;
  uint32_t num_invocations;
  const char** parameters;  // declaration and value by turns
  uint32_t num_parameters;  // such pairs
} tandem_js_op_def;
// Defines the op for as long as the runtime lives. If that fails, nothing of it is left.
TANDEM_C_API tandem_status* tandem_js_op_register(tandem_js* js, const tandem_js_op_def* def);

// A call of a kernel in JavaScript, until tandem_js_call_finish, which comes exactly once; not after the end of the
// runtime. Indexes are right.
typedef struct tandem_js_call tandem_js_call;
TANDEM_C_API uint32_t tandem_js_call_num_inputs(const tandem_js_call* call);
TANDEM_C_API uint32_t tandem_js_call_num_results(const tandem_js_call* call);
// An available tensor, dense or of strings, for the caller to release.
TANDEM_C_API tandem_status* tandem_js_call_input(tandem_js_call* call, uint32_t index, tandem_tensor** tensor);
// What is known of a result: its dtype, 0 if it is not known, and rank and dimensions, -1 if they are not.
TANDEM_C_API void tandem_js_call_known(const tandem_js_call* call, uint32_t index, tandem_js_description* description);
// As AttrsToJson of core/include/tandem/attrs_json.h has them; the caller frees it with tandem_free.
TANDEM_C_API tandem_status* tandem_js_call_attrs(const tandem_js_call* call, char** text, size_t* size);
// Makes an available tensor of the host the result, unless it is of another dtype or shape than what is known.
TANDEM_C_API tandem_status* tandem_js_call_set_result(tandem_js_call* call, uint32_t index,
                                                      const tandem_tensor* tensor);
// Whether nobody wants the results any more.
TANDEM_C_API uint32_t tandem_js_call_is_cancelled(tandem_js_call* call);
// Ends the call with the results that were set, or with an error unless `code` is TANDEM_OK.
TANDEM_C_API void tandem_js_call_finish(tandem_js_call* call, tandem_code code, const char* message);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_BINDINGS_WASM_TANDEM_PROGRAMS_H_
