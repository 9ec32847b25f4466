// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelRehearsal: how kernels of calls that wait for their arguments ask ahead for what takes time to make, such as
// compiled shaders.

#ifndef TANDEM_KERNEL_REHEARSAL_H_
#define TANDEM_KERNEL_REHEARSAL_H_

#include "tandem/export.h"
#include "tandem/kernel_frame.h"
#include "tandem/tensor.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// What a handler provides whose kernels take part in it. When a call of one of them has to wait for arguments whose
// metadata is known, the kernel is run once or twice with stand-ins for these; its results and its errors are dropped.
// The call itself runs as ever. Thread-safe.
class TANDEM_EXPORT KernelRehearsal {
 public:
  static const KernelContext kKernelContext;

  // A tensor of this metadata, without content, of a type that only kernels know which take part: others refuse it. The
  // kernel may have to find out what it does if it can take the argument's memory over (TH-5), `is_taken_over`, or not.
  // Without storage if memory is exhausted.
  virtual Tensor StandIn(const TensorMetadata& metadata, bool is_taken_over) const = 0;

 protected:
  ~KernelRehearsal() = default;
};

}  // namespace tandem

#endif  // TANDEM_KERNEL_REHEARSAL_H_
