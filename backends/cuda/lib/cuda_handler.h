// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op handler on a queue that is there, for tests that emulate the driver.

#ifndef TANDEM_BACKENDS_CUDA_LIB_CUDA_HANDLER_H_
#define TANDEM_BACKENDS_CUDA_LIB_CUDA_HANDLER_H_

#include <memory>

#include "cuda_queue.h"
#include "tandem/core_runtime.h"
#include "tandem/cuda/cuda_op_handler.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/status.h"

namespace tandem::cuda {

// Makes the handler "cuda" and adds it to the runtime. Of the options, those for the op handler.
StatusOr<shader::ShaderOpHandler*> AddCudaOpHandler(CoreRuntime& runtime, std::unique_ptr<CudaQueue> queue,
                                                    const CudaOptions& options);

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_CUDA_HANDLER_H_
