/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The Tandem Authors */

/* Stands for libtvm_ffi: what keeps the error that a library linked with it raises. Of version MAJOR. */

#include <stdlib.h>
#include <string.h>

#include "published.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  TVMFFIObject header;
  TVMFFIErrorCell cell;
  char kind[64];
  char message[192];
} Error;

static Error* raised = NULL;
int num_live_errors = 0;

void TVMFFIGetVersion(TVMFFIVersion* out_version) {
  out_version->major = MAJOR;
  out_version->minor = 1;
  out_version->patch = 14;
}

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  raised = (Error*)calloc(1, sizeof(Error));
  raised->header.combined_ref_count = 1;
  raised->header.type_index = kTVMFFIError;
  strcpy(raised->kind, kind);
  strcpy(raised->message, message);
  raised->cell.kind.data = raised->kind;
  raised->cell.kind.size = strlen(kind);
  raised->cell.message.data = raised->message;
  raised->cell.message.size = strlen(message);
  ++num_live_errors;
}

void TVMFFIErrorMoveFromRaised(void** result) {
  *result = raised;
  raised = NULL;
}

static void* stream = NULL;

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void* next, void** before) {
  (void)device_type, (void)device_id;
  if (before != NULL) *before = stream;
  stream = next;
  return 0;
}

void* TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  (void)device_type, (void)device_id;
  return stream;
}

int TVMFFIObjectDecRef(void* object) {
  if (--((Error*)object)->header.combined_ref_count == 0) {
    free(object);
    --num_live_errors;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
