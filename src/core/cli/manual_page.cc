// `kymo manual`: manual pages in man's format, made from the same source as `--help`.

#include <string>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "base/variables.h"
#include "base/version.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using options::CommandManual;
using options::OptionManual;

// Escapes a text for roff, so that no line of it is read as a roff request.
std::string roff(const std::string& text) {
  std::string out;
  bool at_line_start = true;
  for (const char letter : text) {
    if (at_line_start && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else
      out += letter;
    at_line_start = letter == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

std::string verbatim(const std::string& lines) { return base::format(".nf\n{}\n.fi\n", roff(lines)); }

std::string heading(const std::string& name, const std::string& summary) {
  return base::format(".TH {} 1 \"\" \"Kymo {}\" \"Kymo\"\n.SH NAME\n{} \\- {}\n", upper(name), base::kVersion,
                      roff(name), roff(summary));
}

std::string option_items(const CommandManual& manual, bool positional) {
  std::string text;
  for (const OptionManual& option : manual.options) {
    if (option.is_positional != positional) continue;
    std::string names;
    for (const std::string& name : option.names)
      names += base::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
    const std::string form = option.form.empty()            ? ""
                             : option.form.starts_with('[') ? roff(option.form)
                                                            : base::format(" \\fI{}\\fR", roff(option.form));
    base::format_to(text, ".TP\n{}{}\n{}\n", names, form, roff(option.help));
  }
  return text;
}

std::string page_of(const Command& command) {
  const CommandManual manual = manual_of_command(command.name);
  std::string text = heading(base::format("kymo-{}", command.name), command.summary);
  text += ".SH SYNOPSIS\n" + verbatim(manual.usage);
  text += ".SH DESCRIPTION\n" + roff(manual.description) + "\n";
  if (const std::string items = option_items(manual, true); !items.empty()) text += ".SH ARGUMENTS\n" + items;
  text += ".SH OPTIONS\n" + option_items(manual, false);
  if (!manual.example.empty()) text += ".SH EXAMPLES\n" + verbatim(manual.example);
  return text + ".SH SEE ALSO\n.BR kymo (1)\n";
}

std::string overview() {
  std::string text = heading("kymo", "record what programs and their accelerators do, and show it");
  text += ".SH SYNOPSIS\n" + verbatim("kymo COMMAND [options]");
  text += ".SH COMMANDS\n";
  for (const Command& command : all_commands())
    base::format_to(text, ".TP\n.BR kymo\\-{} (1)\n{}\n", roff(command.name), roff(command.summary));
  text += ".SH EXAMPLES\n" + verbatim("kymo record -o run.kymo -- ./train --epochs 2\nkymo stats run.kymo --top 10");
  return text + ".SH SEE ALSO\n.BR kymod (1)\n";
}

// The daemon is available as a program and as a command, with the same options.
std::string daemon_page() {
  const CommandManual manual = manual_of_command("daemon");
  return heading("kymod", "the daemon for traces on demand") + ".SH SYNOPSIS\n" + verbatim("kymod [options]") +
         ".SH DESCRIPTION\n" + roff(manual.description) + "\n.SH OPTIONS\n" + option_items(manual, false) +
         ".SH SEE ALSO\n.BR kymo (1)\n";
}

// docs/environment.md.
std::string environment_page() {
  std::string text =
      "# Environment variables\n\n"
      "`kymo manual environment` prints this page. Programs with more rights than their user (setuid) ignore all of "
      "them.\n";
  for (const base::VariableTopic& topic : base::kVariableTopics) {
    if (topic.begin->help.empty()) continue;  // what programs of Kymo set for each other
    text += base::format("\n## {}\n\n| variable | values | |\n| --- | --- | --- |\n", topic.title);
    for (const base::VariableDescription* one = topic.begin; one != topic.end; ++one)
      text += base::format("| `{}` | {} | {} |\n", one->name, one->value, one->help);
  }
  return text;
}

}  // namespace

int manual(const Arguments& arguments) {
  std::string name;
  options::CommandLine line(
      "manual", "kymo manual [COMMAND]",
      "Prints the manual page of a command, of kymod, or of kymo, in the format of man; or the list of the\n"
      "environment variables, as Markdown.",
      "kymo manual record | man -l -");
  std::vector<std::string> pages{"kymod", "environment"};
  for (const Command& command : all_commands()) pages.push_back(command.name);
  line.text(
      "COMMAND", "", [&](const std::string& given) { name = given; }, "a command of kymo, kymod, or environment",
      pages);
  if (!line.read(arguments)) return kDone;
  if (name.empty() || name == "kymo" || name == "help") return print(overview()), kDone;
  if (name == "environment") return print(environment_page()), kDone;
  if (name == "kymod") return print(daemon_page()), kDone;
  for (const Command& command : all_commands())
    if (name == command.name) return print(page_of(command)), kDone;
  const auto meant = base::nearest(name, pages);
  throw options::UsageError(
      "manual", base::format("unknown command '{}'{}", name, meant ? base::format("; did you mean {}?", *meant) : ""));
}

}  // namespace kymo::cli
