#include "base/text.h"
#include "cli/completion.h"

namespace kymo::cli {
namespace {

using options::OptionManual;
using Takes = OptionManual::Takes;

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
    base::format_to(specs, " \\\n        {}", single_quoted(spec));
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
  return text + base::format(" \\\n        {} ;;\n", single_quoted(argument));
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

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string list, cases;
  for (const CompletedCommand& command : commands) {
    base::format_to(list, "    {}\n", single_quoted(base::format("{}:{}", command.name, zsh_text(command.summary))));
    cases += case_of(command);
  }
  return replaced(replaced(std::string(kZshScript), "@COMMANDS@\n", list), "@CASES@\n", cases);
}

}  // namespace kymo::cli
