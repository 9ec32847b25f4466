// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers over devices, and what they have found.

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "objects.h"
#include "tandem/layer_reports.h"

namespace tandem::c {

namespace {

struct Layers final : RunningPart {
  LayerReports reports;
};

// Null if the runtime has none.
LayerReports* FindReports(Running& runtime) {
  const std::lock_guard lock(runtime.adding);
  return runtime.layers == nullptr ? nullptr : &static_cast<Layers*>(runtime.layers.get())->reports;
}

StatusOr<LayerReports*> GetReports(Running& runtime) {
  if (LayerReports* const found = FindReports(runtime)) return found;
  std::unique_ptr<Layers> made(new (std::nothrow) Layers);
  if (made == nullptr || !made->reports.has_memory()) return Status::OutOfMemory();
  const std::lock_guard lock(runtime.adding);
  if (runtime.layers == nullptr) runtime.layers = std::move(made);
  return &static_cast<Layers*>(runtime.layers.get())->reports;
}

}  // namespace

StatusOr<OpHandler*> AddLayers(Running& runtime, std::string_view text) {
  TANDEM_ASSIGN_OR_RETURN(LayerReports* const reports, GetReports(runtime));
  StackedOpHandlerOptions options = reports->MakeOptions(runtime.host());
  options.substitutions = [&runtime](std::string_view name) -> StatusOr<RcRef<Substitutions>> {
    SubstitutionTables* tables;
    {
      const std::lock_guard lock(runtime.adding);
      tables = runtime.substitutions.get();
    }
    if (tables == nullptr) return MakeError(StatusCode::kNotFound, "expected a table of substitutions, got ", name);
    return tables->Find(name);
  };
  return GetOrMakeOpHandler(runtime.core, text, options);
}

namespace {

tandem_status* GiveJson(tandem_runtime* runtime, std::string (LayerReports::*to_json)(), std::string_view of_none,
                        char** json, size_t* size) {
  if (json == nullptr) return WrongArgument("expected a place for the text, got null");
  *json = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  LayerReports* const reports = FindReports(*rt);
  return GiveText(reports == nullptr ? std::string(of_none) : (reports->*to_json)(), json, size);
}

}  // namespace

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_layers_add(tandem_runtime* runtime, const char* text) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (text == nullptr) return WrongArgument("expected the text of layers over a device, got null");
  return ToC(AddLayers(*rt, text).status());
}

tandem_status* tandem_layers_profile(tandem_runtime* runtime, char** json, size_t* size) {
  return GiveJson(runtime, &tandem::LayerReports::ProfileJson, "[]", json, size);
}

tandem_status* tandem_layers_reset_profile(tandem_runtime* runtime) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (tandem::LayerReports* const reports = FindReports(*rt)) reports->ResetProfile();
  return nullptr;
}

tandem_status* tandem_layers_shadow(tandem_runtime* runtime, char** json, size_t* size) {
  return GiveJson(runtime, &tandem::LayerReports::ShadowJson,
                  R"({"equal": 0, "diverged": 0, "pending": 0, "skipped": {}, "divergences": []})", json, size);
}

tandem_status* tandem_layers_nan_guard(tandem_runtime* runtime, char** json, size_t* size) {
  return GiveJson(runtime, &tandem::LayerReports::NanGuardJson, "[]", json, size);
}

}  // extern "C"
