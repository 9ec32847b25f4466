// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tutorial, part 4: what ran when. The file that this writes is for Perfetto (ui.perfetto.dev) and chrome://tracing.
// usage: tutorial_tracing [FILE]    by default trace.json

#include <cstdio>
#include <string>

#include "tandem/ops.h"

using tandem::eager::Runtime;
using tandem::eager::Tensor;

static tandem::Status Run(const char* path) {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create());
  Runtime& rt = *runtime;
  const Tensor x = rt.FromValues<float>({1, 2, 3, 4}, {2, 2});

  // Off, tracing costs one load a call. It may be switched at any time.
  rt.host().StartTracing();
  const Tensor y = softmax(matMul(x, x, {.transpose_b = true}));
  TANDEM_RETURN_IF_ERROR(y.Await());
  rt.host().StopTracing();

  const std::string json = rt.host().tracer().ToJson();
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return tandem::InvalidArgument("expected a file to write to, got ", std::string_view(path));
  const bool written = std::fwrite(json.data(), 1, json.size(), file) == json.size();
  if (std::fclose(file) != 0 || !written) return tandem::Internal("could not write to ", std::string_view(path));
  std::printf("%lld events in %s\n", static_cast<long long>(rt.host().tracer().num_events()), path);
  return tandem::Status();
}

int main(int argc, char** argv) {
  const tandem::Status status = Run(argc > 1 ? argv[1] : "trace.json");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
