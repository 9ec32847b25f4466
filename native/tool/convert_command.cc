// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem convert`: programs from one form to the other.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/command.h"
#include "tool/content.h"

namespace tandem::tool {

namespace {

struct ConvertOptions {
  std::string input;
  std::string output;
  std::string form;  // "text", "binary"; empty: by the name of the output
};

bool IsText(const ConvertOptions& options) {
  if (!options.form.empty()) return options.form == "text";
  const std::string extension = ExtensionOf(options.output);
  return options.output == "-" || extension == ".mlir" || extension == ".txt";
}

Status Convert(const ConvertOptions& options, Console& console) {
  const bool is_text = IsText(options);
  const bool to_output = options.output == "-";
  if (to_output && !is_text && console.output_is_terminal()) {
    return InvalidArgument("expected a file or a pipe for the binary form, got a terminal");
  }
  TANDEM_ASSIGN_OR_RETURN(const RcRef<const Program> program, ReadProgram(options.input));
  const std::string text = is_text ? program->ToText() : std::string();
  const std::vector<std::byte> bytes = is_text ? std::vector<std::byte>() : program->ToBytes();
  const std::span<const std::byte> content = is_text ? std::as_bytes(std::span(text)) : std::span(bytes);
  if (!to_output) return WriteContent(options.output, content);
  console.Print({reinterpret_cast<const char*>(content.data()), content.size()});
  return Status();
}

}  // namespace

Command MakeConvertCommand(CLI::App& tool) {
  CLI::App& app = *tool.add_subcommand("convert", "convert a program to text or to the binary form")->group("Commands");
  const auto options = std::make_shared<ConvertOptions>();
  app.add_option("IN", options->input, "the program, in either form; - is standard input")->required();
  app.add_option("OUT", options->output,
                 "what to write: text to .mlir, .txt and -, which is standard output, the binary form to .tdp and all "
                 "else")
      ->required();
  app.add_option("--to", options->form, "text or binary, whatever OUT is called")
      ->option_text("FORM")
      ->check(CLI::IsMember({"text", "binary"}));
  app.footer(
      "The binary form has no names of values.\n\n"
      "Examples:\n"
      "  tandem convert digits.mlir digits.tdp\n"
      "  tandem convert digits.tdp -    # print it");
  return {&app, [options](Console& console) { return ExitWith(Convert(*options, console), console); }};
}

}  // namespace tandem::tool
