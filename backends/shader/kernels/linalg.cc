// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/kernels.h"

namespace tandem::shader {

Status RegisterLinalgKernels(ShaderOpHandler& handler) {
  static_cast<void>(handler);
  return Status();
}

}  // namespace tandem::shader
