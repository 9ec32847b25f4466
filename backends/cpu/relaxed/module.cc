// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A module by itself, of relaxed SIMD: RelaxedKernels. It has neither data nor a stack, so that it needs nothing of the
// program in whose memory it computes.

#include "relaxed/exponentials-inl.h"
#include "relaxed/product-inl.h"
#include "relaxed/relaxed_calls.h"

namespace tandem::cpu {

extern "C" __attribute__((export_name("f"))) void ComputeRelaxed(const RelaxedCall& call) {
  switch (call.kind) {
    case RelaxedCall::kProduct:
      return Multiply(static_cast<const RelaxedProduct&>(call));
    case RelaxedCall::kExponentials:
      return ComputeExponentials(static_cast<const RelaxedExponentials&>(call));
    case RelaxedCall::kSoftmax:
      return ComputeSoftmax(static_cast<const RelaxedSoftmax&>(call));
  }
}

}  // namespace tandem::cpu
