// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem ops`: the ops that there are, and what each of them is.

#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/program.h"
#include "tool/command.h"
#include "tool/content.h"
#include "tool/devices.h"
#include "tool/kernels.h"
#include "tool/op_libraries.h"
#include "tool/quantities.h"

namespace tandem::tool {

namespace {

struct OpsOptions {
  std::string pattern;
  bool json = false;
  std::vector<std::string> programs;
  std::vector<std::string> op_libraries;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view SummaryOf(const OpDef& def) {
  const std::string_view doc = def.doc;
  return doc.substr(0, doc.find('\n'));
}

// Whether the pattern, in lower case, describes the op: a part of its name or summary, or with * and ? its name.
bool Matches(const OpDef& def, const std::string& pattern) {
  const std::string name = Lower(def.name);
  if (pattern.find_first_of("*?") != pattern.npos) return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  return name.find(pattern) != name.npos || Lower(SummaryOf(def)).find(pattern) != std::string::npos;
}

std::string TypeOf(const OpDef& def, const ArgDef& arg) {
  const auto attr_name = [&](int attr) -> const std::string& { return def.attrs[static_cast<size_t>(attr)].name; };
  std::string type;
  if (arg.number_attr >= 0) type = attr_name(arg.number_attr) + " * ";
  if (arg.any_dtype) return type + "any";
  if (arg.type_attr >= 0) return type + attr_name(arg.type_attr);
  if (arg.type_list_attr >= 0) return type + attr_name(arg.type_list_attr);
  return type + std::string(DTypeName(arg.dtype));
}

std::string ArgsText(const OpDef& def, std::span<const ArgDef> args) {
  std::string text = "(";
  for (const ArgDef& arg : args) {
    if (text.size() > 1) text += ", ";
    text += arg.name + ": " + TypeOf(def, arg) + (arg.host_input ? " (host)" : "");
  }
  return text + ")";
}

// As it is written behind the name.
std::string SpecOf(const AttrDef& attr) {
  const size_t begin = attr.spec.find_first_not_of(": ", attr.spec.find(':'));
  return begin == std::string::npos ? attr.spec : attr.spec.substr(begin);
}

std::string AccuracyOf(const OpDef& def) {
  if (def.max_ulp < 0) return {};
  if (def.max_ulp == 0) return "accuracy: exact, rounded once\n";
  return "accuracy: " + std::to_string(def.max_ulp) + " ULP of the exact result, rounded; 1 of f16 and bf16\n";
}

// Of a device, as far as it is there.
std::string KernelsText(Devices& devices, std::string_view device, const OpDef& def) {
  const StatusOr<OpHandler*> handler = devices.Find(device);
  if (!handler.ok()) return "the device is not there, as `tandem devices` tells";
  const std::vector<DType> dtypes = KernelDTypes(**handler, def);
  if (dtypes.empty()) return device == "cpu" ? "none" : "none: the CPU runs it";
  if (dtypes[0] == DType::kInvalid) return "one, for all dtypes that it takes";
  std::string text;
  for (const DType dtype : dtypes) text.append(text.empty() ? "" : " ").append(DTypeName(dtype));
  return text;
}

void PrintOp(const OpDef& def, Devices& devices, Console& console) {
  console.Print(console.Bold(def.name) + ArgsText(def, def.inputs) + " -> " + ArgsText(def, def.outputs) + "\n\n");
  console.Print(def.doc + (def.doc.ends_with('\n') ? "\n" : "\n\n"));
  if (def.has_side_effects) console.Print("It has side effects, which a chain orders.\n\n");
  if (def.has_host_inputs) console.Print("What is marked (host) decides the shape of the result by its content.\n\n");
  std::vector<std::vector<std::string>> attrs = {{"attribute", "type"}};
  for (const AttrDef& attr : def.attrs) {
    attrs.push_back({attr.name, SpecOf(attr) + (attr.inferred ? " (follows from the inputs)" : "")});
  }
  if (attrs.size() > 1) console.Print(FormatTable(console, attrs, 2) + "\n");
  std::vector<std::vector<std::string>> kernels = {{"device", "kernels"}};
  for (const std::string_view device : kDeviceNames) {
    kernels.push_back({std::string(device), KernelsText(devices, device, def)});
  }
  console.Print(FormatTable(console, kernels, 2));
  if (const std::string accuracy = AccuracyOf(def); !accuracy.empty()) console.Print("\n" + accuracy);
}

void PrintList(const std::vector<const OpDef*>& defs, Console& console) {
  size_t widest = 0;
  for (const OpDef* def : defs) widest = std::max(widest, def->name.size());
  const auto width = static_cast<size_t>(console.OutputWidth());
  for (const OpDef* def : defs) {
    std::string line = std::string(widest - def->name.size() + 2, ' ').append(SummaryOf(*def));
    // Cut at the terminal's edge; in a pipe it is whole.
    const size_t room = width - std::min(width, def->name.size());
    if (width > 0 && line.size() > room) line = line.substr(0, room < 3 ? 0 : room - 3) + "...";
    console.Print(console.Bold(def->name) + line + "\n");
  }
}

// The registry's own JSON, which has an op a line, with the lines of these ops.
void PrintJson(OpRegistry& registry, const std::vector<const OpDef*>& defs, Console& console) {
  const std::string json = registry.ToJson();
  std::vector<std::string> lines;
  for (const OpDef* def : defs) {
    const std::string begin = "\n{\"name\": \"" + std::string(def->name) + "\",";
    const size_t at = json.find(begin);
    if (at == json.npos) continue;
    std::string_view line = std::string_view(json).substr(at + 1);
    line = line.substr(0, line.find('\n'));
    if (line.ends_with(',')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  std::string text = json.substr(0, json.find('\n') + 1);
  for (const std::string& line : lines) text.append(line).append(&line == &lines.back() ? "\n" : ",\n");
  console.Print(text + "]}\n");
}

// The ops that programs call, one a line: a list for a build that has them alone (TANDEM_OPS).
Status PrintUsedOps(const std::vector<std::string>& files, Console& console) {
  std::set<std::string> names;
  for (const std::string& file : files) {
    TANDEM_ASSIGN_OR_RETURN(const RcRef<const Program> program, ReadProgram(file));
    for (const ProgramFunction& function : program->functions()) {
      for (const ProgramInstruction& instruction : function.instructions) {
        const ProgramKernel kernel = instruction.kernel;
        if (kernel == ProgramKernel::kExecuteOp || kernel == ProgramKernel::kExecuteOpSeq) {
          names.insert(instruction.name);
        }
      }
    }
  }
  std::string text;
  for (const std::string& name : names) text.append(name).append("\n");
  console.Print(text);
  return Status();
}

Status ShowOps(const OpsOptions& options, Console& console) {
  if (!options.programs.empty()) return PrintUsedOps(options.programs, console);
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<eager::Runtime> runtime, eager::Runtime::Create({.num_threads = 1}));
  TANDEM_ASSIGN_OR_RETURN(const std::vector<LoadedOpLibrary> libraries,
                          LoadOpLibraries(*runtime, options.op_libraries));
  OpRegistry& registry = runtime->core().registry();
  const OpDef* const named = registry.Find(options.pattern);
  std::vector<const OpDef*> defs;
  if (named != nullptr) {
    defs.push_back(named);
  } else {
    const std::string pattern = Lower(options.pattern);
    for (const OpDef* def : registry.List()) {
      if (Matches(*def, pattern)) defs.push_back(def);
    }
  }
  if (defs.empty()) return registry.NotFoundError(options.pattern);
  if (options.json) {
    PrintJson(registry, defs, console);
  } else if (named != nullptr) {
    Devices devices(*runtime, console, {});
    PrintOp(*named, devices, console);
  } else {
    PrintList(defs, console);
  }
  return Status();
}

}  // namespace

Command MakeOpsCommand(CLI::App& tool) {
  CLI::App& app = *tool.add_subcommand("ops", "list the ops, look for some, or describe one")->group("Commands");
  const auto options = std::make_shared<OpsOptions>();
  app.add_option("PATTERN", options->pattern,
                 "the name of an op, which is described; or a part of names and summaries, in any case; or a name "
                 "with * and ?");
  app.add_flag("--json", options->json, "print the definitions as JSON");
  AddOpLibraryOption(app, options->op_libraries);
  app.add_option("--used-by", options->programs,
                 "print the ops that these programs call, one a line, as TANDEM_OPS takes them to build a runtime that "
                 "has no others")
      ->type_name("PROGRAM")
      ->excludes("PATTERN")
      ->excludes("--json");
  app.footer(
      "Examples:\n"
      "  tandem ops\n"
      "  tandem ops matmul\n"
      "  tandem ops 'tf.Resize*'\n"
      "  tandem ops tf.MatMul\n"
      "  tandem ops --used-by net.tdp >ops.txt\n"
      "  tandem ops --json | jq '.ops[].name'");
  return {&app, [options](Console& console) { return ExitWith(ShowOps(*options, console), console); }};
}

}  // namespace tandem::tool
