// `kymo completion`: scripts that complete commands, options and values, made from the same source as `--help`.

#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "options/command_line.h"
#include "options/manual.h"

namespace kymo::cli {
namespace {

using options::CommandManual;
using options::OptionManual;

struct Described {
  const Command* command;
  CommandManual manual;
};

std::vector<Described> describe_all() {
  std::vector<Described> all;
  for (const Command& command : all_commands()) all.push_back({&command, options::manual_of([&] { command.run({}); })});
  return all;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string single_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string option_names(const CommandManual& manual) {
  std::vector<std::string> names;
  for (const OptionManual& option : manual.options)
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return base::join(names, " ");
}

bool takes_value(const OptionManual& option) {
  return !option.is_positional && !option.form.empty() && !option.form.starts_with('[');
}

std::string bash(const std::vector<Described>& all) {
  std::string commands, values, options;
  for (const auto& [command, manual] : all) {
    commands += base::format("{}{}", commands.empty() ? "" : " ", command->name);
    options += base::format("    {}) words={} ;;\n", command->name, single_quoted(option_names(manual)));
    for (const OptionManual& option : manual.options) {
      if (!takes_value(option)) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(base::format("'{} {}'", command->name, name));
      values += base::format("    {}) {} ;;\n", base::join(patterns, " | "),
                             option.choices.empty()
                                 ? "files=1"
                                 : base::format("words={}", single_quoted(base::join(option.choices, " "))));
    }
  }
  return base::format(
      "# Completion of kymo for bash: source it, or put it into /usr/share/bash-completion/completions/kymo.\n"
      "_kymo() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words= files=\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='{} help --help --version'\n"
      "  else\n"
      "    case \"${{COMP_WORDS[1]}} $previous\" in\n{}"
      "    *)\n"
      "      if [[ $current != -* ]]; then files=1; else\n"
      "    case ${{COMP_WORDS[1]}} in\n{}"
      "    esac\n"
      "      fi ;;\n"
      "    esac\n"
      "  fi\n"
      "  if [[ $files ]]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  fi\n"
      "}}\n"
      "complete -F _kymo kymo\n",
      commands, values, options);
}

std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

std::string zsh(const std::vector<Described>& all) {
  std::string commands, cases;
  for (const auto& [command, manual] : all) {
    commands += base::format("    {}\n", single_quoted(base::format("{}:{}", command->name, command->summary)));
    cases += base::format("    {})\n      _arguments -s", command->name);
    for (const OptionManual& option : manual.options) {
      if (option.is_positional) continue;
      std::string value;
      if (takes_value(option)) {
        value = option.choices.empty() ? base::format(":{}:_files", zsh_text(option.form))
                                       : base::format(":value:({})", base::join(option.choices, " "));
      }
      for (const std::string& name : option.names)
        cases += base::format(" \\\n        {}",
                              single_quoted(base::format("*{}[{}]{}", name, zsh_text(option.help), value)));
    }
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return base::format(
      "#compdef kymo\n"
      "_kymo() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{}"
      "  esac\n"
      "}}\n"
      "_kymo \"$@\"\n",
      commands, cases);
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish(const std::vector<Described>& all) {
  std::string text = "# Completion of kymo for fish: /usr/share/fish/vendor_completions.d/kymo.fish.\n";
  for (const auto& [command, manual] : all) {
    base::format_to(text, "complete -c kymo -f -n __fish_use_subcommand -a {} -d {}\n", command->name,
                    fish_quoted(command->summary));
    for (const OptionManual& option : manual.options) {
      if (option.is_positional) continue;
      base::format_to(text, "complete -c kymo -n '__fish_seen_subcommand_from {}'", command->name);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty())
        text += " -x -a " + fish_quoted(base::join(option.choices, " "));
      else if (takes_value(option))
        text += " -r";
      base::format_to(text, " -d {}\n", fish_quoted(option.help));
    }
  }
  return text;
}

}  // namespace

int completion(const Arguments& arguments) {
  enum class Shell { None, Bash, Zsh, Fish } shell = Shell::None;
  options::CommandLine line("completion", "kymo completion bash|zsh|fish",
                            "Prints a script that completes the commands and options of kymo in a shell. The package\n"
                            "installs all three.",
                            "source <(kymo completion bash)\nkymo completion fish | source");
  line.text(
      "SHELL", "",
      [&](const std::string& name) {
        shell = name == "bash"   ? Shell::Bash
                : name == "zsh"  ? Shell::Zsh
                : name == "fish" ? Shell::Fish
                                 : throw InvalidArgument(base::format("'{}' is not one of bash, zsh, fish", name));
      },
      "bash, zsh or fish");
  if (!line.read(arguments)) return kDone;
  if (shell == Shell::None)
    throw options::UsageError("completion", "no shell given. Usage: kymo completion bash|zsh|fish");
  const std::vector<Described> all = describe_all();
  print(shell == Shell::Bash ? bash(all) : shell == Shell::Zsh ? zsh(all) : fish(all));
  return kDone;
}

}  // namespace kymo::cli
