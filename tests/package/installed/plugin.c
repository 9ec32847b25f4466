// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's op library in C99: mine.Scale gives x times a factor.

#include <stdint.h>
#include <string.h>
#include <tandem_plugin.h>

TANDEM_PLUGIN_VERSION;

static tandem_status* scale_metadata(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = {sizeof(x), 0, 0, {0}, 0, NULL, 0};
  tandem_status* error = api->input(call, 0, &x);
  (void)user;
  return error != NULL ? error : api->describe_result(call, 0, x.dtype, x.dims, x.rank);
}

static tandem_status* scale(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  tandem_plugin_tensor x = {sizeof(x), 0, 0, {0}, 0, NULL, 0};
  double factor = 0;
  void* result = NULL;
  int64_t i;
  tandem_status* error = api->input(call, 0, &x);
  (void)user;
  if (error == NULL) error = api->attr_float(api->attr(call, "factor"), 0, &factor);
  if (error == NULL) error = api->forward_or_allocate_result(call, 0, 0, &result);
  for (i = 0; error == NULL && i < x.num_elements; ++i) {
    ((float*)result)[i] = ((const float*)x.data)[i] * (float)factor;
  }
  return error;
}

tandem_status* tandem_plugin_init(const tandem_plugin_api* api, tandem_plugin* plugin, void* user) {
  static const char* const inputs[] = {"x: float", NULL};
  static const char* const outputs[] = {"y: float", NULL};
  static const char* const attrs[] = {"factor: float = 2.5", NULL};
  tandem_plugin_op_def op;
  tandem_plugin_kernel_def kernel;
  tandem_status* error;
  (void)user;
  memset(&op, 0, sizeof(op));
  op.struct_size = sizeof(op);
  op.name = "mine.Scale";
  op.inputs = inputs;
  op.outputs = outputs;
  op.attrs = attrs;
  op.doc = "Gives x times a factor.";
  op.metadata = scale_metadata;
  memset(&kernel, 0, sizeof(kernel));
  kernel.struct_size = sizeof(kernel);
  kernel.op = "mine.Scale";
  kernel.run = scale;
  error = api->define_op(plugin, &op);
  return error != NULL ? error : api->add_kernel(plugin, &kernel);
}
