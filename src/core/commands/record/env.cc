// `kymo env`: prints the environment that makes programs load Kymo, dormant, until `kymo trigger` asks for a trace.
#include <algorithm>
#include <iterator>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "commands/record/commands.h"
#include "commands/record/interfaces.h"
#include "options/command_line.h"

namespace kymo::cli {
int env_command(const Arguments& arguments) {
  InterfaceChoice choice;
  std::string socket = "1";
  options::CommandLine line(
      "env", "kymo env [options]",
      "Prints lines for a shell. Programs that are started in it later can be traced on demand, even if they\n"
      "do not know Kymo: a program that uses one of the interfaces loads Kymo's library, which does nothing\n"
      "until 'kymo trigger' asks for a trace. 'kymo ps' lists the program then. Other programs are not changed.",
      "eval \"$(kymo env)\"\n"
      "./train &\n"
      "kymo trigger --name train --duration 2s");
  add_interface_options(line, choice);
  line.value("--socket", "PATH", socket,
             "the socket of the daemon; default: the daemon of this\nuser, otherwise of the host");
  if (!line.read(arguments)) return kDone;

  Variables variables = interface_environment(choice.selected());
  std::ranges::copy(settings_environment(choice), std::back_inserter(variables));
  std::ranges::copy(compiler_environment(choice.compilers), std::back_inserter(variables));
  // A tool that may be needed later costs a program with OpenMP something from its start: only on request.
  if (std::ranges::find(choice.with, record::Interface::OpenMp) != choice.with.end() &&
      std::ranges::find(choice.without, record::Interface::OpenMp) == choice.without.end())
    variables.emplace_back("KYMO_OPENMP", "on");
  variables.emplace_back("KYMO_DAEMON", socket);
  std::string text;
  for (const auto& [name, value] : variables) text += base::format("export {}={}\n", name, base::shell_quoted(value));
  print(text);
  return kDone;
}

}  // namespace kymo::cli
