// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Plug-ins that cannot be loaded: BAD_KIND says why.

#include <string.h>

#include "tandem_plugin.h"

#define BAD_FAILS 1    // half-way
#define BAD_VERSION 2  // compiled for another version
#define BAD_NO_VERSION 3
#define BAD_NO_INIT 4

#if BAD_KIND == BAD_VERSION
const uint32_t tandem_plugin_abi_version = TANDEM_PLUGIN_ABI_VERSION + 98;
#elif BAD_KIND != BAD_NO_VERSION
TANDEM_PLUGIN_VERSION;
#endif

#if BAD_KIND != BAD_NO_INIT
static tandem_status* no_kernel(const tandem_plugin_api* api, tandem_plugin_call* call, void* user) {
  (void)call;
  (void)user;
  return api->make_error(TANDEM_INTERNAL, "a library that failed has been called");
}

tandem_status* tandem_plugin_init(const tandem_plugin_api* api, tandem_plugin* plugin, void* user) {
  static const char* const kOutputs[] = {"y: float", NULL};
  tandem_plugin_op_def def;
  tandem_plugin_kernel_def kernel;
  tandem_status* error;
  (void)user;
  memset(&def, 0, sizeof(def));
  def.struct_size = sizeof(def);
  def.name = "plug.Half";
  def.outputs = kOutputs;
  memset(&kernel, 0, sizeof(kernel));
  kernel.struct_size = sizeof(kernel);
  kernel.op = "plug.Half";
  kernel.handler = "half";
  kernel.run = no_kernel;
  error = api->define_op(plugin, &def);
  if (error == NULL) error = api->add_handler(plugin, "half", "cpu");
  if (error == NULL) error = api->add_kernel(plugin, &kernel);
  if (error != NULL) return error;
  return api->make_error(TANDEM_UNAVAILABLE, "expected a licence, got none");
}
#endif
