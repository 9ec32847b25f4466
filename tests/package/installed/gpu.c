// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program in C99 on a GPU: chooses Vulkan by name, has the CPU beside it, and gets an error of each kind.
// Says so where there is no device to do that with.

#include <stdio.h>
#include <string.h>
#include <tandem.h>

static int ok(const char* what, tandem_status* status) {
  if (status == NULL) return 1;
  printf("%s: %s\n", what, tandem_status_text(status));
  tandem_status_release(status);
  return 0;
}

// Calls an op of one argument on a device, or, if that is null, where the runtime's calls run.
static tandem_status* call(tandem_runtime* runtime, const char* op, const char* device, tandem_tensor* x,
                           tandem_tensor** y) {
  tandem_call_options options = {0};
  options.struct_size = sizeof(options);
  options.device = device;
  options.location = "gpu.c:27";
  return tandem_execute(runtime, op, &x, 1, &options, y, 1);
}

static int has_values(const tandem_tensor* tensor, const char* expected) {
  char* text = NULL;
  int good = ok("text", tandem_tensor_text(tensor, 16, &text)) && strcmp(text, expected) == 0;
  if (!good && text != NULL) printf("expected %s, got %s\n", expected, text);
  tandem_free(text);
  return good;
}

// Whether `status` is an error whose text has all of these; releases it.
static int is_error(tandem_status* status, tandem_code code, const char* a, const char* b) {
  const char* text = tandem_status_text(status);
  const int good = tandem_status_code(status) == code && strstr(text, a) != NULL && strstr(text, b) != NULL;
  if (!good) printf("expected an error with '%s' and '%s', got '%s'\n", a, b, text);
  tandem_status_release(status);
  return good;
}

static int run(tandem_runtime* runtime, tandem_tensor* x, tandem_tensor** kept) {
  tandem_tensor *there = NULL, *here = NULL, *back = NULL, *twice = NULL, *none = NULL;
  const void* data = NULL;
  size_t size = 0;
  // On the GPU, which takes tensors of the host; then what is there to the CPU, where it has to be brought.
  int good = ok("neg", call(runtime, "tf.Neg", NULL, x, &there)) && has_values(there, "f32[4] = [-1, -2, -3, -4]") &&
             ok("data", tandem_tensor_data(there, &data, &size)) && size == 16 && ((const float*)data)[3] == -4 &&
             ok("cpu", call(runtime, "tf.Neg", "cpu", x, &here)) && has_values(here, "f32[4] = [-1, -2, -3, -4]") &&
             is_error(call(runtime, "tf.Neg", "cpu", there, &none), TANDEM_INVALID_ARGUMENT, "vulkan", "gpu.c:27") &&
             ok("transfer", tandem_tensor_transfer(there, "cpu", &back)) &&
             ok("cpu", call(runtime, "tf.Neg", "cpu", back, &twice)) && has_values(twice, "f32[4] = [1, 2, 3, 4]") &&
             is_error(call(runtime, "tf.Neg", "abacus", x, &none), TANDEM_NOT_FOUND,
                      "[tf.Neg] expected a device of this runtime, cpu, vulkan, got abacus", "gpu.c:27");
  tandem_tensor_release(here);
  tandem_tensor_release(back);
  tandem_tensor_release(twice);
  *kept = there;
  return good;
}

int main(void) {
  static const int64_t dim = 4;
  static const float values[] = {1, 2, 3, 4};
  tandem_runtime_options options = {0};
  tandem_runtime* runtime = NULL;
  tandem_tensor *x = NULL, *kept = NULL;
  tandem_status* status;
  int good;
  options.struct_size = sizeof(options);
  options.device = "abacus";
  status = tandem_runtime_create(TANDEM_ABI_VERSION, &options, &runtime);
  if (!is_error(status, TANDEM_NOT_FOUND, "expected one of the devices cpu, vulkan, cuda", "got abacus")) return 1;
  options.device = "vulkan";
  status = tandem_runtime_create(TANDEM_ABI_VERSION, &options, &runtime);
  if (tandem_status_code(status) == TANDEM_NOT_FOUND) {
    printf("gpu: not run: %s\n", tandem_status_message(status));
    tandem_status_release(status);
    return 0;
  }
  if (!ok("runtime", status)) return 1;
  good = ok("added", tandem_runtime_add_device(runtime, "vulkan")) &&
         ok("create", tandem_tensor_create(runtime, TANDEM_F32, &dim, 1, values, sizeof(values), &x)) &&
         run(runtime, x, &kept);
  tandem_tensor_release(x);
  good = ok("destroy", tandem_runtime_destroy(runtime)) && good;
  tandem_tensor_release(kept);
  if (good) printf("gpu: ok\n");
  return good ? 0 : 1;
}
