// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Breaks lines at words; CLI11 indents what comes behind a newline.

#include "tool/help_formatter.h"

#include <string_view>

namespace tandem::tool {

namespace {

constexpr size_t kColumn = 24;            // where descriptions begin
constexpr size_t kWidth = 100 - kColumn;  // of descriptions

std::string Wrap(std::string_view text) {
  std::string wrapped;
  while (text.size() > kWidth) {
    const size_t space = text.substr(0, kWidth + 1).rfind(' ');
    if (space == text.npos) break;
    wrapped.append(text.substr(0, space)).append("\n");
    text.remove_prefix(space + 1);
  }
  return wrapped.append(text);
}

}  // namespace

HelpFormatter::HelpFormatter() {
  column_width(kColumn);
  label("OPTIONS", "OPTION...");
  label("SUBCOMMAND", "COMMAND");
  label("Positionals", "Arguments");
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const { return Wrap(option->get_description()); }

// What the usage says of arguments is enough.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_positional() ? std::string() : CLI::Formatter::make_option_opts(option);
}

}  // namespace tandem::tool
