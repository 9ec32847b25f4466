// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program in C99: loads plugin.c, calls its op, and unloads it.
// usage: load_plugin PLUGIN

#include <stdio.h>
#include <tandem.h>

// Prints and releases the error, if there is one; whether there was none.
static int ok(const char* what, tandem_status* status) {
  if (status == NULL) return 1;
  printf("%s: %s\n", what, tandem_status_message(status));
  tandem_status_release(status);
  return 0;
}

static int call(const char* what, tandem_runtime* runtime, tandem_tensor* x) {
  tandem_tensor* y = NULL;
  char* text = NULL;
  int good = ok("expected", tandem_execute(runtime, "mine.Scale", &x, 1, NULL, &y, 1)) &&
             ok("text", tandem_tensor_text(y, 3, &text));
  if (good) printf("%s: %s\n", what, text);
  tandem_free(text);
  tandem_tensor_release(y);
  return good;
}

int main(int argc, char** argv) {
  static const int64_t dims[] = {3};
  static const float values[] = {1, 2, -3};
  tandem_runtime* runtime = NULL;
  tandem_tensor* x = NULL;
  tandem_op_library* library = NULL;
  tandem_chain* unloaded = NULL;
  int good = argc == 2 && ok("runtime", tandem_runtime_create(TANDEM_ABI_VERSION, NULL, &runtime)) &&
             ok("tensor", tandem_tensor_create(runtime, TANDEM_F32, dims, 1, values, sizeof(values), &x)) &&
             ok("load", tandem_op_library_load(runtime, argv[1], NULL, &library)) && call("scaled", runtime, x) &&
             ok("unload", tandem_op_library_unload(library, &unloaded)) &&
             ok("await", tandem_chain_await(unloaded, TANDEM_FOREVER)) && !call("unloaded", runtime, x);
  tandem_chain_release(unloaded);
  tandem_tensor_release(x);
  return ok("destroy", tandem_runtime_destroy(runtime)) && good ? 0 : 1;
}
