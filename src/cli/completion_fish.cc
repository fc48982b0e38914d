#include "base/text.h"
#include "cli/completion.h"

namespace kymo::cli {
namespace {

using options::OptionManual;
using Takes = OptionManual::Takes;

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// `__kymo_is COMMAND` is true while COMMAND and its options are typed. If COMMAND runs a program, this ends with the
// program: the names that follow COMMAND are of options with a value in the next word.
constexpr std::string_view kFishFunctions =
    R"(# Completion of kymo for fish: /usr/share/fish/vendor_completions.d/kymo.fish.
function __kymo_is
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test "$words[2]" = $argv[1]
end
function __kymo_is_before_program
  __kymo_is $argv[1]; or return 1
  set -l words (commandline -opc)
  set -l takes_value ''
  for word in $words[3..-1]
    if test -n "$takes_value"
      set takes_value ''
    else if test "$word" = --
      return 1
    else if contains -- $word $argv[2..-1]
      set takes_value $word
    else if not string match -q -- '-*' $word
      return 1
    end
  end
  return 0
end
complete -c kymo -f -n __fish_use_subcommand -l help -d 'show the help'
complete -c kymo -f -n __fish_use_subcommand -l version -d 'show the version'
)";

std::string condition_of(const CompletedCommand& command) {
  if (!command.manual.runs_a_program) return "__kymo_is " + command.name;
  std::string condition = "__kymo_is_before_program " + command.name;
  for (const OptionManual& option : command.manual.options)
    if (!option.is_positional && option.takes == Takes::Value)
      for (const std::string& name : option.names) condition += " " + name;
  return condition;
}

std::string line_of(const OptionManual& option, const std::string& condition) {
  std::string line = base::format("complete -c kymo -n {}", fish_quoted(condition));
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.choices.empty())
    line += " -x -a " + fish_quoted(base::join(option.choices, " "));
  else if (option.takes == Takes::Value)
    line += takes_path(option) ? " -r" : " -x";
  return line + base::format(" -d {}\n", fish_quoted(option.help));
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string text(kFishFunctions);
  for (const CompletedCommand& command : commands) {
    base::format_to(text, "complete -c kymo -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                    fish_quoted(command.summary));
    const std::string condition = condition_of(command);
    for (const OptionManual& option : command.manual.options)
      if (!option.is_positional) text += line_of(option, condition);
    if (const auto choices = command.argument_choices(); !choices.empty())
      base::format_to(text, "complete -c kymo -f -n {} -a {}\n", fish_quoted(condition),
                      fish_quoted(base::join(choices, " ")));
  }
  return text;
}

}  // namespace kymo::cli
