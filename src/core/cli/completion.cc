// `kymo completion`: scripts with which shells complete the commands and options of kymo. They are made from the
// options of all commands (options/manual.h), so they complete what `--help` shows.
//
// What is completed, in each shell: commands, options, the values of options that have only a few, arguments that have
// only a few values, and files for paths and other arguments. Values may follow a "=". After the program of
// `kymo record`, only files.

#include <algorithm>
#include <iterator>

#include "base/printable.h"
#include "base/text.h"
#include "cli/run.h"
#include "cli/shell_commands.h"
#include "cli/terminal.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using options::OptionManual;
using Takes = OptionManual::Takes;

struct CompletedCommand {
  std::string name, summary;
  options::CommandManual manual;

  // The values of its argument, if there are few.
  std::vector<std::string> argument_choices() const;
};

std::vector<std::string> CompletedCommand::argument_choices() const {
  for (const OptionManual& option : manual.options)
    if (option.is_positional && !option.choices.empty()) return option.choices;
  return {};
}

// All commands, in the order of the help, and `help`.
std::vector<CompletedCommand> completed_commands() {
  std::vector<CompletedCommand> all;
  OptionManual of_help;
  of_help.is_positional = true;
  for (const Command& command : all_commands()) {
    all.push_back({command.name, command.summary, manual_of_command(command.name)});
    of_help.choices.push_back(command.name);
  }
  options::CommandManual help;
  help.options = {of_help};
  all.push_back({"help", "show the help of a command", help});
  return all;
}

// The value of the option is a file or a folder.
bool takes_path(const OptionManual& option) {
  constexpr std::string_view kPaths[] = {"FILE", "FOLDER", "OUT", "PATH", "PATTERN"};
  return std::ranges::find(kPaths, option.form) != std::end(kPaths);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// @NAME@ stands for the lines of a case.
constexpr std::string_view kBashScript = R"(# Completion of kymo for bash: source it, or put it into
# /usr/share/bash-completion/completions/kymo.
_kymo() {
  local line=() words='' files='' option='' rest='' before='' i
  # bash makes a word of each "=" and ":", unless COMP_WORDBREAKS says otherwise.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if [[ $i -gt 1 && (${COMP_WORDS[i]} =~ ^[=:]+$ || ${COMP_WORDS[i - 1]} =~ ^[=:]+$) ]]; then
      line[-1]+=${COMP_WORDS[i]}
    else
      line+=("${COMP_WORDS[i]}")
    fi
  done
  local current=${line[-1]} command=${line[1]}
  COMPREPLY=()

  # The option whose value comes next, and whether options are over.
  for ((i = 2; i < ${#line[@]} - 1; ++i)); do
    if [[ $option ]]; then
      option=''
      continue
    fi
    case "$command ${line[i]}" in
@TAKES_VALUE@
    *' --') rest=1 ;;
    *' -'*) ;;
@RUNS_PROGRAM@
    esac
    [[ $rest ]] && break
  done
  if [[ ! $rest && ! $option && $current == --*=* ]]; then
    option=${current%%=*} current=${current#*=}
    [[ ${COMP_WORDS[COMP_CWORD]} == --*=* ]] && before=$option=
  fi

  if [[ ${#line[@]} -le 2 ]]; then
    words=@COMMANDS@
  elif [[ $rest ]]; then
    files=1
  elif [[ $option ]]; then
    case "$command $option" in
@VALUES@
    esac
  elif [[ $current == -* ]]; then
    case $command in
@OPTIONS@
    esac
  else
    case $command in
@ARGUMENTS@
    *) files=1 ;;
    esac
  fi
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -P "$before" -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$current")
  fi
}
complete -F _kymo kymo
)";

struct Cases {
  std::string takes_value, runs_program, values, options, arguments;
  std::string commands;

  void add(const CompletedCommand& command);
  void add_option(const CompletedCommand& command, const OptionManual& option, std::vector<std::string>& with_value);
};

std::string words_of(const std::vector<std::string>& words) { return base::shell_quoted(base::join(words, " ")); }

void Cases::add_option(const CompletedCommand& command, const OptionManual& option,
                       std::vector<std::string>& with_value) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(base::format("'{} {}'", command.name, name));
  const std::string pattern = base::join(patterns, " | ");
  if (option.takes == Takes::Value) with_value.push_back(pattern);
  if (takes_path(option)) base::format_to(values, "    {}) files=1 ;;\n", pattern);
  if (!option.choices.empty()) base::format_to(values, "    {}) words={} ;;\n", pattern, words_of(option.choices));
}

void Cases::add(const CompletedCommand& command) {
  commands += command.name + " ";
  std::vector<std::string> names, with_value;
  for (const OptionManual& option : command.manual.options) {
    if (option.is_positional) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
    add_option(command, option, with_value);
  }
  if (!with_value.empty())
    base::format_to(takes_value, "    {}) option=${{line[i]}} ;;\n", base::join(with_value, " | "));
  base::format_to(options, "    {}) words={} ;;\n", command.name, words_of(names));
  if (command.manual.runs_a_program) base::format_to(runs_program, "    '{} '*) rest=1 ;;\n", command.name);
  if (const auto choices = command.argument_choices(); !choices.empty())
    base::format_to(arguments, "    {}) words={} ;;\n", command.name, words_of(choices));
}

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  Cases cases;
  for (const CompletedCommand& command : commands) cases.add(command);
  std::string script(kBashScript);
  script = replaced(script, "@TAKES_VALUE@\n", cases.takes_value);
  script = replaced(script, "@RUNS_PROGRAM@\n", cases.runs_program);
  script = replaced(script, "@VALUES@\n", cases.values);
  script = replaced(script, "@OPTIONS@\n", cases.options);
  script = replaced(script, "@ARGUMENTS@\n", cases.arguments);
  return replaced(script, "@COMMANDS@", base::shell_quoted(cases.commands + "--help --version"));
}

std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

std::string choices_action(const std::vector<std::string>& choices) {
  return base::format("({})", base::join(choices, " "));
}

// Says to _arguments where the value of an option is: for "--by=" and "-o+" in the same word or in the next one, for
// "--memory=-" only in the same word.
std::string name_and_place(const std::string& name, Takes takes) {
  if (takes == Takes::Nothing) return name;
  if (takes == Takes::MaybeValue) return name + "=-";
  return name + (name.starts_with("--") ? "=" : "+");
}

std::string value_of(const OptionManual& option) {
  if (option.takes == Takes::Nothing) return "";
  if (option.takes == Takes::MaybeValue) return "::value: ";
  if (!option.choices.empty()) return ":value:" + choices_action(option.choices);
  return base::format(":{}:{}", zsh_text(option.form), takes_path(option) ? "_files" : " ");
}

// One for each name. An option that may not be repeated is not offered again, under either name.
std::string specs_of(const OptionManual& option) {
  const std::string prefix = option.is_repeatable ? "*" : base::format("({})", base::join(option.names, " "));
  std::string specs;
  for (const std::string& name : option.names) {
    const std::string spec =
        base::format("{}{}[{}]{}", prefix, name_and_place(name, option.takes), zsh_text(option.help), value_of(option));
    base::format_to(specs, " \\\n        {}", base::shell_quoted(spec));
  }
  return specs;
}

std::string case_of(const CompletedCommand& command) {
  // -A: no options after the first argument. -S: none after "--".
  std::string text =
      base::format("    {})\n      _arguments -s -S{}", command.name, command.manual.runs_a_program ? " -A '-*'" : "");
  for (const OptionManual& option : command.manual.options)
    if (!option.is_positional) text += specs_of(option);
  const std::vector<std::string> choices = command.argument_choices();
  const std::string argument = choices.empty() ? "*:file:_files" : "1:value:" + choices_action(choices);
  return text + base::format(" \\\n        {} ;;\n", base::shell_quoted(argument));
}

constexpr std::string_view kZshScript = R"(#compdef kymo
_kymo() {
  local -a commands=(
@COMMANDS@
  )
  local -a options=('--help:show the help' '--version:show the version')
  if (( CURRENT == 2 )); then
    if [[ $PREFIX == -* ]]; then
      _describe -o option options
    else
      _describe command commands
    fi
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
@CASES@
  esac
}
_kymo "$@"
)";

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string list, cases;
  for (const CompletedCommand& command : commands) {
    base::format_to(list, "    {}\n",
                    base::shell_quoted(base::format("{}:{}", command.name, zsh_text(command.summary))));
    cases += case_of(command);
  }
  return replaced(replaced(std::string(kZshScript), "@COMMANDS@\n", list), "@CASES@\n", cases);
}

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

}  // namespace

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
