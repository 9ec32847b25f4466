// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What JavaScript needs for programs and recordings, beside tandem_js.h and under the same rules. It is apart since few
// pages use it. With the functions of tandem.h that exports_programs.txt lists.

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

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TANDEM_BINDINGS_WASM_TANDEM_PROGRAMS_H_
