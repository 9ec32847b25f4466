// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// `tandem completion`: scripts by which shells complete the tool's command lines, made of its own options.

#include <string>
#include <string_view>
#include <vector>

#include "tool/command.h"
#include "tool/devices.h"

namespace tandem::tool {

namespace {

// An option of a command, or an argument without a name.
struct Word {
  std::string name;  // "--device"; empty: an argument
  std::string about;
  std::string values;  // to choose from, with spaces between; empty: a file
  bool takes_value = false;
};

struct CommandWords {
  std::string name;
  std::string about;
  std::vector<Word> options;
  std::vector<Word> arguments;
};

std::string DeviceValues() {
  std::string values;
  for (const std::string_view name : kDeviceNames) values.append(values.empty() ? "" : " ").append(name);
  return values;
}

// What a value is one of.
std::string ValuesOf(const std::string& command, const std::string& option) {
  if (option == "--device" || option == "--shadow") return DeviceValues();
  if (option == "--to") return "text binary";
  return command == "completion" && option.empty() ? "bash zsh fish" : "";
}

std::vector<CommandWords> WordsOf(CLI::App& tool) {
  std::vector<CommandWords> commands;
  for (const CLI::App* app : tool.get_subcommands(nullptr)) {
    CommandWords& command = commands.emplace_back();
    command.name = app->get_name();
    command.about = app->get_description();
    for (const CLI::Option* option : app->get_options()) {
      const std::vector<std::string>& names = option->get_lnames();
      Word word;
      word.name = names.empty() ? "" : "--" + names[0];
      // The beginning, which a shell has room for.
      word.about = option->get_description();
      word.about = word.about.substr(0, word.about.find_first_of(":;"));
      word.values = ValuesOf(command.name, word.name);
      word.takes_value = option->get_expected_max() > 0;
      (word.name.empty() ? command.arguments : command.options).push_back(std::move(word));
    }
  }
  return commands;
}

// The text with a backslash before each of `special`.
std::string Escape(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != special.npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// In single quotes for bash and zsh.
std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string BashScript(const std::vector<CommandWords>& commands) {
  std::string names, options, values;
  for (const CommandWords& command : commands) {
    names += " " + command.name;
    options += "      " + command.name + ") words='";
    for (const Word& word : command.options) {
      options += word.name + " ";
      if (!word.takes_value) continue;
      values += "    " + command.name + ":" + word.name + ") ";
      values += word.values.empty() ? "return ;;\n" : "words='" + word.values + "' ;;\n";
    }
    options.back() = '\'';
    options += " ;;\n";
    for (const Word& word : command.arguments) {
      if (!word.values.empty())
        values += "    " + command.name + ":" + command.name + ") words='" + word.values + "' ;;\n";
    }
  }
  return "# Completes command lines of tandem in bash: source <(tandem completion bash)\n"
         "_tandem() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
         "words=\n"
         "  COMPREPLY=()\n"
         "  ((COMP_CWORD > 1)) || command=\n"
         "  case $command:$before in\n" +
         values +
         "  esac\n"
         "  if [[ -z $words && ( -z $command || $current == -* ) ]]; then\n"
         "    case $command in\n"
         "      '') words='" +
         names.substr(1) + " --help --version' ;;\n" + options +
         "    esac\n"
         "  fi\n"
         "  [[ -z $words ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _tandem tandem\n";
}

// An argument of zsh's _arguments.
std::string ZshSpec(const Word& word) {
  std::string spec = word.name.empty() ? "*" : word.name + "[" + Escape(word.about, "[]\\") + "]";
  if (!word.takes_value && !word.name.empty()) return Quote(spec);
  spec += ":value:" + (word.values.empty() ? std::string("_files") : "(" + word.values + ")");
  return Quote((word.name.empty() ? "" : "*") + spec);
}

std::string ZshScript(const std::vector<CommandWords>& commands) {
  std::string names, cases;
  for (const CommandWords& command : commands) {
    names += "    " + Quote(Escape(command.name, ":") + ":" + command.about) + "\n";
    cases += "    " + command.name + ")\n      _arguments";
    for (const Word& word : command.options) cases += " \\\n        " + ZshSpec(word);
    if (!command.arguments.empty()) cases += " \\\n        " + ZshSpec(command.arguments[0]);
    cases += "\n      ;;\n";
  }
  return "#compdef tandem\n"
         "# Completes command lines of tandem in zsh: source <(tandem completion zsh)\n"
         "_tandem() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         names +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe -t commands command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=${words[2]}\n"
         "  shift words\n"
         "  ((CURRENT -= 1))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "compdef _tandem tandem\n";
}

// In single quotes for fish.
std::string FishQuote(std::string_view text) { return "'" + Escape(text, "'\\") + "'"; }

std::string FishScript(const std::vector<CommandWords>& commands) {
  std::string script = "# Completes command lines of tandem in fish: tandem completion fish | source\n";
  for (const CommandWords& command : commands) {
    script +=
        "complete -c tandem -f -n __fish_use_subcommand -a " + command.name + " -d " + FishQuote(command.about) + "\n";
    const std::string line = "complete -c tandem -n '__fish_seen_subcommand_from " + command.name + "' ";
    for (const Word& word : command.options) {
      script += line + "-l " + word.name.substr(2);
      if (word.takes_value) script += word.values.empty() ? " -r -F" : " -x -a '" + word.values + "'";
      script += " -d " + FishQuote(word.about) + "\n";
    }
    for (const Word& word : command.arguments) {
      if (!word.values.empty()) script += line + "-f -a '" + word.values + "'\n";
    }
  }
  return script;
}

}  // namespace

Command MakeCompletionCommand(CLI::App& tool) {
  CLI::App& app =
      *tool.add_subcommand("completion", "print a script that completes command lines in a shell")->group("Commands");
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer(
      "Examples:\n"
      "  source <(tandem completion bash)     # in ~/.bashrc\n"
      "  source <(tandem completion zsh)      # in ~/.zshrc, after compinit\n"
      "  tandem completion fish | source      # in ~/.config/fish/config.fish");
  return {&app, [&tool, shell](Console& console) {
            const std::vector<CommandWords> commands = WordsOf(tool);
            console.Print(*shell == "bash"  ? BashScript(commands)
                          : *shell == "zsh" ? ZshScript(commands)
                                            : FishScript(commands));
            return ExitCode::kOk;
          }};
}

}  // namespace tandem::tool
