// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallDelayer: to whom element-wise kernels leave the commands of their calls.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_CALL_DELAYER_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_CALL_DELAYER_H_

#include <cstdint>
#include <span>

#include "kernels/elementwise/elementwise_composer.h"
#include "tandem/shader/shader_call.h"
#include "tandem/shader/shader_device.h"

namespace tandem::shader {

// An element-wise call, as long as its kernel runs.
struct EagerCall {
  const ShaderSource& function;
  const ElementwiseCall& form;
  std::span<GpuBuffer* const> arguments;
  GpuBuffer* result;  // one of the arguments, if it takes over its memory
};

// An interface, since its code is not a part of what a page loads first (EagerFuser). Thread-safe.
class CallDelayer {
 public:
  // Of fewer elements, a shader that is made takes longer than it saves for long.
  static constexpr int64_t kLeastElements = int64_t{1} << 12;

  // Lets go of results that nobody else holds. Before a call allocates memory.
  virtual void DropUnheld() = 0;
  // Takes the launch of `call` if it can be issued later. Fails the call if those before it cannot be issued.
  virtual void PutOff(ShaderCall& call, const EagerCall& late) = 0;

 protected:
  ~CallDelayer() = default;
};

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_ELEMENTWISE_CALL_DELAYER_H_
