#include "base/text.h"
#include "cli/completion.h"

namespace kymo::cli {
namespace {

using options::OptionManual;
using Takes = OptionManual::Takes;

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

std::string words_of(const std::vector<std::string>& words) { return single_quoted(base::join(words, " ")); }

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

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  Cases cases;
  for (const CompletedCommand& command : commands) cases.add(command);
  std::string script(kBashScript);
  script = replaced(script, "@TAKES_VALUE@\n", cases.takes_value);
  script = replaced(script, "@RUNS_PROGRAM@\n", cases.runs_program);
  script = replaced(script, "@VALUES@\n", cases.values);
  script = replaced(script, "@OPTIONS@\n", cases.options);
  script = replaced(script, "@ARGUMENTS@\n", cases.arguments);
  return replaced(script, "@COMMANDS@", single_quoted(cases.commands + "--help --version"));
}

}  // namespace kymo::cli
