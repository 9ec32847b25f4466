// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Loads what a text names before its layers are made.

#include "tool/devices.h"

#include <algorithm>
#include <utility>

#include "tandem/cuda.h"
#include "tandem/op_handler_module.h"
#include "tandem/vulkan.h"
#include "tool/content.h"
#ifdef TANDEM_TOOL_HAS_TVM
#include "tandem/tvm/tvm_ops.h"
#endif

namespace tandem::tool {

namespace {

constexpr int64_t kMaxReports = 10;  // results that differ

std::string DivergenceText(const ShadowDivergence& divergence) {
  MessageBuilder text;
  text.Append("call ", divergence.call, ": ", divergence.message);
  const DecodedLocation location = divergence.location.Decode();
  std::string line(text.view());
  if (!location.file.empty()) {
    line.append(" (").append(location.file);
    if (location.line > 0) line += ":" + std::to_string(location.line) + ":" + std::to_string(location.column);
    line += ")";
  }
  return line;
}

}  // namespace

Devices::Devices(eager::Runtime& runtime, Console& console, Options options)
    : runtime_(runtime), options_(std::move(options)) {
  stack_.logging.sink = [&console](std::string_view line) {
    console.Log(line.ends_with('\n') ? std::string(line) : std::string(line) + "\n");
  };
  stack_.profile = MakeRef<Profile>();
  stack_.shadow.counts = MakeRef<ShadowCounts>();
  stack_.shadow.max_reports = kMaxReports;
  stack_.shadow.sink = [&console](const ShadowDivergence& divergence) {
    console.PrintError(DivergenceText(divergence));
  };
  stack_.substitutions = [this](std::string_view table) { return FindTable(table); };
}

StatusOr<RcRef<Substitutions>> Devices::FindTable(std::string_view table) {
  CoreRuntime& core = runtime_.core();
  const std::lock_guard lock(tables_mutex_);
  if (const auto found = tables_.find(table); found != tables_.end()) return found->second;
  TANDEM_ASSIGN_OR_RETURN(const std::vector<std::byte> content, ReadContent(std::string(table)));
  SubstituteLoader load;
#ifdef TANDEM_TOOL_HAS_TVM
  auto* const cpu = static_cast<KernelOpHandler*>(core.FindHandler("cpu"));
  load = [cpu](std::string_view library, std::string_view function) {
    return tvm::LoadSubstitute(*cpu, library, function);
  };
#endif
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  StatusOr<std::vector<Substitution>> rules = std::vector<Substitution>();
#ifdef TANDEM_TOOL_HAS_TVM
  constexpr std::string_view kLibrary = "\177ELF";
  const bool is_library = text.starts_with(kLibrary);
  rules = is_library ? tvm::LoadSubstitutions(core, *cpu, table) : ParseSubstitutions(core, text, table, load);
#else
  rules = ParseSubstitutions(core, text, table, load);
#endif
  TANDEM_RETURN_IF_ERROR(rules.status());
  RcRef<Substitutions> made = MakeRef<Substitutions>(core);
  if (!made) return Status::OutOfMemory();
  TANDEM_RETURN_IF_ERROR(made->Add(std::move(*rules)).status());
  tables_.emplace(table, made);
  return made;
}

Status Devices::LoadNamed(std::string_view text) {
  constexpr std::string_view kSpecial = ":|()";
  CoreRuntime& core = runtime_.core();
  OpHandler* const cpu = core.FindHandler("cpu");
  bool is_table = false;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find_first_of(kSpecial));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    if (std::exchange(is_table, name == "substitute" && !is_table)) continue;
    OpHandler* handler = core.FindHandler(name);
    if (handler == nullptr && name == "vulkan") {
      TANDEM_ASSIGN_OR_RETURN(handler, LoadVulkanOpHandler(core, {.fallback = cpu}));
    } else if (handler == nullptr && name == "cuda") {
      TANDEM_ASSIGN_OR_RETURN(handler, LoadCudaOpHandler(core, {.fallback = cpu}));
    } else if (handler == nullptr && name.find('/') != name.npos) {
      TANDEM_ASSIGN_OR_RETURN(handler, LoadOpHandler(core, name, cpu));
      core.AddHandlerName(name, *handler);
    }
  }
  return Status();
}

StatusOr<OpHandler*> Devices::FindBare(std::string_view text) {
  TANDEM_RETURN_IF_ERROR(LoadNamed(text));
  return GetOrMakeOpHandler(runtime_.core(), text, stack_);
}

StatusOr<OpHandler*> Devices::Find(std::string_view text) {
  TANDEM_ASSIGN_OR_RETURN(OpHandler* const bare, FindBare(text));
  std::string layered(text);
  if (!options_.substitute.empty()) {
    if (options_.substitute.find_first_of(":|()") != std::string::npos) {
      return InvalidArgument("expected a file without any of \":|()\" in its name for --substitute, got ",
                             std::string_view(options_.substitute));
    }
    layered = "substitute:" + options_.substitute + "|" + layered;
  }
  if (options_.profile) layered = "profile:(" + layered + ")";
  if (!options_.shadow.empty()) {
    // First by itself, so that an error tells a place in what was given.
    TANDEM_RETURN_IF_ERROR(FindBare(options_.shadow).status());
    layered = "shadow:(" + layered + ")|(" + options_.shadow + ")";
  }
  if (layered == text) return bare;
  return GetOrMakeOpHandler(runtime_.core(), layered, stack_);
}

void Devices::Drain() {
  HostContext& host = runtime_.host();
  host.Quiesce();
  const AsyncValueRef<Chain> compared = stack_.shadow.counts->WhenDone();
  const AsyncValue* const values[] = {compared.value()};
  // What has failed is counted as skipped.
  (void)host.Await(values);
}

Status Devices::ShadowStatus() const {
  const int64_t diverged = stack_.shadow.counts->diverged();
  if (diverged == 0) return Status();
  return MakeError(StatusCode::kDataLoss, "expected the results of both handlers to agree, got ", diverged,
                   diverged == 1 ? " that differs" : " that differ");
}

std::string Devices::ShadowSummary() const {
  const ShadowCounts& counts = *stack_.shadow.counts;
  if (counts.equal() + counts.diverged() + counts.skipped() == 0) return {};
  MessageBuilder text;
  text.Append(counts.equal(), counts.equal() == 1 ? " result agrees, " : " results agree, ", counts.diverged(),
              counts.diverged() == 1 ? " differs, " : " differ, ", counts.skipped(), " not compared");
  const char* before = ": ";
  for (size_t i = 0; i < kNumShadowSkips; ++i) {
    const auto reason = static_cast<ShadowSkip>(i);
    if (counts.skipped(reason) == 0) continue;
    text.Append(std::exchange(before, ", "), ShadowSkipText(reason), " (", counts.skipped(reason), ")");
  }
  return std::string(text.view());
}

}  // namespace tandem::tool
