// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The command-line tool `tandem`: reads the command line, and has its command do the work.

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "tandem/version.h"
#include "tool/command.h"
#include "tool/console.h"
#include "tool/help_formatter.h"

namespace tandem::tool {
namespace {

constexpr char kAbout[] = "Runs, checks, converts and measures Tandem's programs, and tells of its ops and devices.";
constexpr char kFooter[] =
    "`tandem COMMAND --help` tells more of a command, with examples.\n\n"
    "Exit codes: 0 ok; 1 the work failed, or what was checked is wrong; 2 the command line is wrong.\n"
    "Colours are for terminals alone, and not where NO_COLOR is set.";

// What comes first is no command.
std::string UnknownCommandText(const std::vector<Command>& commands, const std::string& given) {
  std::string names, nearest;
  int least = 3;
  for (const Command& command : commands) {
    const std::string& name = command.app->get_name();
    names += (names.empty() ? "" : ", ") + name;
    const int distance = given.size() > internal::kMaxCompared ? least : internal::EditDistance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  const std::string hint = nearest.empty() ? "; `tandem --help` tells more" : "; did you mean " + nearest + "?";
  return "expected a command (" + names + "), got " + (given.empty() ? "none" : given) + hint;
}

// Reads the command line and does the work.
ExitCode Run(int argc, char** argv, Console& console) {
  CLI::App app(kAbout, "tandem");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "tandem " TANDEM_VERSION_STRING, "print the version");
  app.footer(kFooter);
  app.require_subcommand(1);
  std::vector<Command> commands = {MakeRunCommand(app),       MakeCheckCommand(app), MakeConvertCommand(app),
                                   MakeBenchCommand(app),     MakeOpsCommand(app),   MakeDevicesCommand(app),
                                   MakeCompletionCommand(app)};
  const std::string first = argc > 1 ? argv[1] : "";
  const bool is_known = first == "-h" || first == "--help" || first == "--version" ||
                        std::any_of(commands.begin(), commands.end(),
                                    [&](const Command& command) { return command.app->get_name() == first; });
  if (!is_known) {
    console.PrintError(UnknownCommandText(commands, first));
    return ExitCode::kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    console.Print(app.help());
    return ExitCode::kOk;
  } catch (const CLI::CallForVersion& version) {
    console.Print(std::string(version.what()) + "\n");
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    console.PrintError(first + ": " + error.what() + "; `tandem " + first + " --help` tells more");
    return ExitCode::kUsage;
  }
  const auto chosen =
      std::find_if(commands.begin(), commands.end(), [](const Command& command) { return command.app->parsed(); });
  return chosen->run(console);
}

// Where one of the first three descriptors is closed, a file that is opened would take its place.
void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) (void)open("/dev/null", O_RDWR);
  }
}

int Main(int argc, char** argv) {
  OpenStandardStreams();
  // Writing to a pipe without a reader is an error then, and not the end.
  std::signal(SIGPIPE, SIG_IGN);
  Console console;
  ExitCode code = ExitCode::kFailed;
  try {
    code = Run(argc, argv, console);
  } catch (const std::bad_alloc&) {
    console.PrintError("out of memory");
  } catch (const std::exception& error) {
    console.PrintError(error.what());
  }
  const Status written = console.Finish();
  if (!written.ok()) {
    console.PrintError(written);
    if (code == ExitCode::kOk) code = ExitCode::kFailed;
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace tandem::tool

int main(int argc, char** argv) { return tandem::tool::Main(argc, argv); }
