// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that call compiled functions (DL-2): by the names that a call gives, or each an op of its own.

#ifndef TANDEM_TVM_TVM_OPS_H_
#define TANDEM_TVM_TVM_OPS_H_

#include <string_view>
#include <vector>

#include "tandem/core_runtime.h"
#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/op_library.h"
#include "tandem/substitution_op_handler.h"
#include "tandem/tensor_shape.h"
#include "tandem/tvm/packed_function.h"

namespace tandem::tvm {

// Defines tandem.TvmDso and tandem.TvmDsoDynamic, if they are not there, and gives them kernels of `handler`, once:
// which is the runtime's handler of the host's device, or of a device whose memory others can use (FindDlpackDevice).
// Not among the ops of every runtime, since whoever may name ops and attributes, such as the author of a program, may
// then run any code of this machine's files. Libraries stay loaded as long as the runtime, whose calls find them
// without a lock.
//
//   tandem.TvmDso(inputs...)   lib_path: string       the file, see Library::Load
//                              func_name: string      the function
//                              output_dtype: list(type)       one dtype for each result
//                              output_shape: list(shape) = [] one shape for each; none: all have that of input 0
//   tandem.TvmDsoDynamic(output_shape: i32 or i64, inputs...)   the same, but the values of a tensor are the shape of
//                              each result; if it has two dimensions, row i is that of result i
//
// The function gets DLTensors of the host: the memory of the tensors themselves where that is aligned to 64 bytes, else
// (tensors of up to 64 bytes among them) that of copies. On a device they are of that, with its own memory, which for
// bools is an error; what the function launches is to be in the stream that its runtime library was told of
// (TVMFFIEnvSetStream, TVMSetStream), or if it is linked with none, in the default stream.
TANDEM_EXPORT Status RegisterOps(CoreRuntime& runtime, KernelOpHandler& handler);

// The results of an op that calls one function.
struct OpOutputs {
  std::vector<DType> dtypes = {};        // of each result; empty: there is one, of the dtype of input 0
  std::vector<TensorShape> shapes = {};  // of each result; empty: all have the shape of input 0
};

// Defines the op `name` of `num_inputs` inputs (at most 16), of any dtypes that are not strings, without attributes of
// its own, which calls `function`; with a kernel of `cpu`. It goes when `library` goes.
TANDEM_EXPORT Status DefineOp(OpLibrary& library, KernelOpHandler& cpu, std::string_view name, int num_inputs,
                              const PackedFunction& function, const OpOutputs& outputs = {});

// The function of a library as a kernel of `cpu` in place of that of an op (substitution_op_handler.h): it gets the
// op's inputs and results, none of them strings, as DLTensors, and no attributes. For ops that have a metadata
// function.
TANDEM_EXPORT StatusOr<SubstituteKernel> LoadSubstitute(KernelOpHandler& cpu, std::string_view path,
                                                        std::string_view function);

// The rules that a library of compiled functions brings itself, as metadata: the JSON text that ParseSubstitutions
// reads, in the symbol `const char tandem_substitutions[]`, which ends in a NUL. Its functions need no "library":
//
//   const char tandem_substitutions[] =
//       "{\"substitutions\": [{\"op\": \"tf.MatMul\", \"inputs\": [\"f32[64,64]\", \"f32[64,64]\"],"
//       "                      \"use\": {\"function\": \"matmul_64\"}}]}";
//
// NotFound for a library without; errors of the text begin with "PATH:line:column: ".
TANDEM_EXPORT StatusOr<std::vector<Substitution>> LoadSubstitutions(CoreRuntime& runtime, KernelOpHandler& cpu,
                                                                    std::string_view path);

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_TVM_OPS_H_
