// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include <algorithm>

#include "tandem/cuda.h"
#include "tandem/op_handler_module.h"

namespace tandem {

StatusOr<OpHandler*> LoadCudaOpHandler(CoreRuntime& runtime, const CudaHandlerOptions& options) {
  // More than the largest i64 is no limit either.
  const auto limit = [](uint64_t bytes) { return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)); };
  OpAttrs settings;
  settings.Set("device", std::string_view(options.device));
  settings.Set("cache_folder", std::string_view(options.cache_folder));
  if (options.synchronous) settings.Set("synchronous", true);
  if (options.graphs) settings.Set("graphs", true);
  settings.Set("memory_limit", limit(options.memory_limit));
  settings.Set("cache_limit", limit(options.cache_limit));
  return LoadOpHandler(runtime, "cuda", options.fallback, settings);
}

}  // namespace tandem
