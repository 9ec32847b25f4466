// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Failure: what went wrong, as a value that needs no memory.

#ifndef TANDEM_MPI_FAILURE_H_
#define TANDEM_MPI_FAILURE_H_

#include <cstdarg>
#include <cstdio>

#include "tandem_plugin.h"

namespace tandem::mpi {

struct Failure {
  tandem_code code = TANDEM_OK;
  char text[400] = "";

  bool ok() const { return code == TANDEM_OK; }
};

// The text is that of printf, cut off where it is too long.
[[gnu::format(printf, 2, 3)]] inline Failure Fail(tandem_code code, const char* format, ...) {
  Failure failure;
  failure.code = code;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(failure.text, sizeof(failure.text), format, arguments);
  va_end(arguments);
  return failure;
}

// Returns the failure that `expr` is, if it is one.
#define TANDEM_MPI_RETURN_IF_FAILED(expr)                                          \
  do {                                                                             \
    if (const ::tandem::mpi::Failure failed = (expr); !failed.ok()) return failed; \
  } while (0)

}  // namespace tandem::mpi

#endif  // TANDEM_MPI_FAILURE_H_
