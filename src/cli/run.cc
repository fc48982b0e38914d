// The way in: finds the command, reports what it throws.

#include <array>
#include <exception>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "collect/version.h"
#include "options/command_line.h"
#include "options/suggest.h"

namespace kymo::cli {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

constexpr std::array kCommands = {
    Command{"record", "run a program and record what it does", record},
    Command{"info", "show what a trace holds", info},
    Command{"stats", "show where the time went", stats},
    Command{"memory", "show where the memory went, and what was never given back", memory_command},
    Command{"export", "convert a trace for other viewers", export_command},
    Command{"recover", "bring what crashed programs left into their trace", recover},
    Command{"ps", "list the running programs that can be asked for a trace", ps},
    Command{"trigger", "ask running programs for a trace", trigger},
    Command{"cancel", "take back what trigger asked for", cancel},
    Command{"doctor", "say why a program cannot be asked", doctor},
    Command{"daemon", "serve programs that can be asked for a trace", daemon_command},
    Command{"devices", "list the accelerators of this machine", devices},
    Command{"sinks", "list the other tools that can hear programs", sinks},
    Command{"shader", "translate a Metal shader, or list its kernels", shader_command},
    Command{"replay", "run the device work of a capture again", replay_command},
    Command{"capture-info", "show what a capture of device work holds", capture_info},
};

std::string help() {
  std::string text =
      "Kymo records what programs and their accelerators do, and shows it.\n\n"
      "Usage: kymo COMMAND [options]\n\nCommands:\n";
  for (const Command& command : kCommands) text += base::format("  {:<14}{}\n", command.name, command.summary);
  text +=
      "\nOptions:\n"
      "  -h,--help   show this; 'kymo COMMAND --help' shows a command's options\n"
      "  --version   show the version\n"
      "\nExample:\n"
      "  kymo record -o run.kymo -- ./train --epochs 2\n"
      "  kymo stats run.kymo --top 10\n";
  return text;
}

const Command& find_command(const std::string& name) {
  for (const Command& command : kCommands)
    if (name == command.name) return command;
  if (name.starts_with('-')) throw options::UsageError("", base::format("unknown option '{}'", name));
  Arguments names;
  for (const Command& command : kCommands) names.push_back(command.name);
  const auto meant = options::nearest(name, names);
  throw options::UsageError(
      "", base::format("there is no command '{}'{}", name, meant ? base::format("; did you mean {}?", *meant) : ""));
}

int dispatch(Arguments arguments) {
  if (arguments.empty()) throw options::UsageError("", "which command?");
  const std::string first = arguments.front();
  arguments.erase(arguments.begin());
  if (first == "--version") return print(base::format("kymo {}\n", collect::kVersion)), kDone;
  if (first == "-h" || first == "--help" || (first == "help" && arguments.empty())) return print(help()), kDone;
  if (first == "help") return find_command(arguments.front()).run({"--help"});
  return find_command(first).run(arguments);
}

}  // namespace

int run(const Arguments& arguments) {
  try {
    return dispatch(arguments);
  } catch (const options::UsageError& error) {
    say_error(error.what());
    print_error(base::format("Try 'kymo {}{}--help'.\n", error.command(), error.command().empty() ? "" : " "));
    return kWrongUsage;
  } catch (const std::exception& error) {
    say_error(error.what());
    return kFailed;
  }
}

}  // namespace kymo::cli
