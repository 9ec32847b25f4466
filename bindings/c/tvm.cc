// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that call functions compiled by TVM.

#include "objects.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/tvm/tvm_ops.h"

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the function below is outside of any

extern "C" tandem_status* tandem_runtime_add_tvm_ops(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  // CreateCpuOpHandler has made it.
  return ToC(tandem::tvm::RegisterOps(rt->core, *rt->cpu));
}
