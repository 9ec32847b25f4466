// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// HelpFormatter: the text of --help, in lines of at most 100 columns.

#ifndef TANDEM_NATIVE_TOOL_HELP_FORMATTER_H_
#define TANDEM_NATIVE_TOOL_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::tool {

// Commands that are made after an app has it have it, too.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace tandem::tool

#endif  // TANDEM_NATIVE_TOOL_HELP_FORMATTER_H_
