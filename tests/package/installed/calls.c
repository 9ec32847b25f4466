// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program in C99: adds, multiplies, gets an error, is called back, and cancels.

#include <stdio.h>
#include <string.h>
#include <tandem.h>

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define HERE __FILE__ ":" STRING(__LINE__)

// Prints and releases the error, if there is one; whether there was none.
static int ok(const char* what, tandem_status* status) {
  if (status == NULL) return 1;
  printf("%s: %s\n", what, tandem_status_text(status));
  tandem_status_release(status);
  return 0;
}

static int print_tensor(const char* what, const tandem_tensor* tensor) {
  char* text = NULL;
  if (!ok(what, tandem_tensor_text(tensor, 16, &text))) return 0;
  printf("%s: %s\n", what, text);
  tandem_free(text);
  return 1;
}

static int add_and_multiply(tandem_runtime* runtime, tandem_tensor* x) {
  tandem_call_options call = {0};
  tandem_tensor* args[2];
  tandem_tensor* sum = NULL;
  tandem_tensor* product = NULL;
  tandem_attrs* attrs = NULL;
  int good;
  args[0] = args[1] = x;
  good = ok("attrs", tandem_attrs_create(&attrs)) && tandem_attrs_set_bool(attrs, "transpose_b", 1) == TANDEM_OK;
  call.struct_size = sizeof(call);
  call.attrs = attrs;
  good = good && ok("add", tandem_execute(runtime, "tf.AddV2", args, 2, NULL, &sum, 1)) &&
         ok("multiply", tandem_execute(runtime, "tf.MatMul", args, 2, &call, &product, 1)) &&
         print_tensor("sum", sum) && print_tensor("product", product);
  tandem_tensor_release(sum);
  tandem_tensor_release(product);
  tandem_attrs_release(attrs);
  return good;
}

// The wrong call must fail, and say where it was made.
static int fail(tandem_runtime* runtime, tandem_tensor* x) {
  static const int64_t dims[] = {3, 1};
  static const float values[] = {1, 2, 3};
  tandem_call_options call = {0};
  tandem_tensor* args[2] = {NULL, NULL};
  tandem_tensor* result = NULL;
  tandem_status* status;
  int good;
  args[0] = x;
  if (!ok("create", tandem_tensor_create(runtime, TANDEM_F32, dims, 2, values, sizeof(values), &args[1]))) return 0;
  call.struct_size = sizeof(call);
  call.location = HERE;
  status = tandem_execute(runtime, "tf.MatMul", args, 2, &call, &result, 1);
  good = tandem_status_code(status) == TANDEM_INVALID_ARGUMENT &&
         strcmp(tandem_status_location(status), call.location) == 0 && result == NULL;
  if (status == NULL) tandem_tensor_release(result);
  ok("expected", status);
  tandem_tensor_release(args[1]);
  return good;
}

static void note(void* user, const tandem_status* error) { *(tandem_code*)user = tandem_status_code(error); }

// Of a cancelled request nothing runs, and who waits is told.
static int cancel(tandem_runtime* runtime, tandem_tensor* x) {
  tandem_call_options call = {0};
  tandem_request* request = NULL;
  tandem_tensor* before = NULL;
  tandem_tensor* after = NULL;
  tandem_status* status;
  tandem_code told = -1;
  int good;
  if (!ok("request", tandem_request_create(runtime, TANDEM_FOREVER, &request))) return 0;
  call.struct_size = sizeof(call);
  call.request = request;
  good = ok("negate", tandem_execute(runtime, "tf.Neg", &x, 1, &call, &before, 1)) &&
         ok("await", tandem_tensor_await(before, TANDEM_FOREVER)) &&
         ok("callback", tandem_tensor_on_ready(before, note, &told)) && told == TANDEM_OK &&
         ok("cancel", tandem_request_cancel(request, "no longer needed"));
  status = tandem_execute(runtime, "tf.Neg", &x, 1, &call, &after, 1);
  good = good && tandem_status_code(status) == TANDEM_CANCELLED;
  ok("expected", status);
  tandem_tensor_release(before);
  tandem_tensor_release(after);
  tandem_request_release(request);
  return good;
}

int main(void) {
  static const int64_t dims[] = {2, 2};
  static const float values[] = {1, 2, 3, 4};
  tandem_runtime* runtime = NULL;
  tandem_tensor* x = NULL;
  int good;
  if (tandem_abi_version() != TANDEM_ABI_VERSION) return 1;
  if (!ok("runtime", tandem_runtime_create(TANDEM_ABI_VERSION, NULL, &runtime))) return 1;
  good = ok("create", tandem_tensor_create(runtime, TANDEM_F32, dims, 2, values, sizeof(values), &x)) &&
         add_and_multiply(runtime, x) && fail(runtime, x) && cancel(runtime, x);
  tandem_tensor_release(x);
  good = ok("destroy", tandem_runtime_destroy(runtime)) && good;
  if (good) printf("calls: ok, with Tandem %s\n", tandem_version());
  return good ? 0 : 1;
}
