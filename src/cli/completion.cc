// `kymo completion`: scripts with which shells complete the commands and options of kymo.

#include "cli/completion.h"

#include <algorithm>
#include <iterator>

#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "options/command_line.h"

namespace kymo::cli {

std::vector<std::string> CompletedCommand::argument_choices() const {
  for (const options::OptionManual& option : manual.options)
    if (option.is_positional && !option.choices.empty()) return option.choices;
  return {};
}

std::vector<CompletedCommand> completed_commands() {
  std::vector<CompletedCommand> all;
  options::OptionManual of_help;
  of_help.is_positional = true;
  for (const Command& command : all_commands()) {
    all.push_back({command.name, command.summary, options::manual_of([&] { command.run({}); })});
    of_help.choices.push_back(command.name);
  }
  options::CommandManual help;
  help.options = {of_help};
  all.push_back({"help", "show the help of a command", help});
  return all;
}

bool takes_path(const options::OptionManual& option) {
  constexpr std::string_view kPaths[] = {"FILE", "FOLDER", "OUT", "PATH", "PATTERN"};
  return std::ranges::find(kPaths, option.form) != std::end(kPaths);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string single_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

int completion(const Arguments& arguments) {
  using Script = std::string (*)(const std::vector<CompletedCommand>&);
  Script script = nullptr;
  options::CommandLine line("completion", "kymo completion bash|zsh|fish",
                            "Prints a script that completes the commands and options of kymo in a shell. The package\n"
                            "installs all three.",
                            "source <(kymo completion bash)\nkymo completion fish | source");
  line.choice<Script>("SHELL", script, {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}},
                      "bash, zsh or fish");
  if (!line.read(arguments)) return kDone;
  if (script == nullptr)
    throw options::UsageError("completion", "no SHELL given. Usage: kymo completion bash|zsh|fish");
  print(script(completed_commands()));
  return kDone;
}

}  // namespace kymo::cli
