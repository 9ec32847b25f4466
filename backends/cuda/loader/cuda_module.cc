// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The CUDA module's entry; see tandem/cuda.h for its settings.

#include <string_view>

#include "tandem/cuda/cuda_op_handler.h"
#include "tandem/op_handler_module.h"

namespace tandem::cuda {
namespace {

StatusOr<OpHandler*> Create(CoreRuntime& runtime, OpHandler* fallback, const OpAttrsRef& settings) {
  std::string_view device, cache_folder;
  int64_t memory_limit = INT64_MAX, cache_limit = INT64_MAX;
  bool synchronous = false, graphs = false;
  CudaOptions options;
  TANDEM_RETURN_IF_ERROR(HandlerSettings(settings)
                             .Read("device", device)
                             .Read("cache_folder", cache_folder)
                             .Read("synchronous", synchronous)
                             .Read("graphs", graphs)
                             .Read("memory_limit", memory_limit)
                             .Read("cache_limit", cache_limit)
                             .Finish());
  if (memory_limit < 0 || cache_limit < 0) {
    return InvalidArgument("expected limits of 0 bytes or more, got memory_limit ", memory_limit, ", cache_limit ",
                           cache_limit);
  }
  options.device = device;
  options.cache_folder = cache_folder;
  if (synchronous) options.synchronous = true;
  if (graphs) options.graphs = true;
  options.fallback = fallback;
  options.memory.memory_limit = static_cast<uint64_t>(memory_limit);
  options.memory.cache_limit = static_cast<uint64_t>(cache_limit);
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const handler, CreateCudaOpHandler(runtime, options));
  return handler;
}

}  // namespace
}  // namespace tandem::cuda

TANDEM_OP_HANDLER_MODULE(&tandem::cuda::Create);
