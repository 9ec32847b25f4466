// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Late values: what a kernel gave as an async value of its own, passed on to the result or the chain of its op (DI-5).

#ifndef TANDEM_CORE_LIB_EXECUTE_LATE_VALUE_H_
#define TANDEM_CORE_LIB_EXECUTE_LATE_VALUE_H_

#include "tandem/chain.h"
#include "tandem/execution_context.h"
#include "tandem/op_def.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// The call that a late value belongs to.
struct LateOrigin {
  const ExecutionContext& exec;
  const OpDef& op;
  // Whether the value is a result of another call, whose errors the diagnostic handler knows. Those of a kernel's own
  // value get op and location and are told.
  bool is_of_call;
};

// Makes `to`, which has content without payload, what `from` becomes, sharing the tensor's storage. `metadata`, if not
// null, is resolved first; otherwise the tensor must have the metadata that `to` has. While `from` is pending this
// counts as a pending op: it is cancelled with its host and its request. A value that nobody is left to end is an error
// (AV-8).
void ForwardTensor(const LateOrigin& origin, AsyncValueRef<Tensor> from, RcRef<TensorValue> to,
                   RcRef<ConcreteAsyncValue<TensorMetadata>> metadata);
// The same for chains.
void ForwardChain(const LateOrigin& origin, AsyncValueRef<Chain> from, RcRef<ConcreteAsyncValue<Chain>> to);

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_LATE_VALUE_H_
