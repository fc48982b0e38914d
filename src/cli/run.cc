// The entry point: finds the command, runs it, and reports what it throws.

#include <exception>

#include "base/text.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "collect/version.h"
#include "options/command_line.h"
#include "options/suggest.h"

namespace kymo::cli {
namespace {

std::string help() {
  std::string text =
      "Kymo records what programs and their accelerators do, and shows it.\n\n"
      "Usage: kymo COMMAND [options]\n\nCommands:\n";
  for (const Command& command : all_commands()) text += base::format("  {:<14}{}\n", command.name, command.summary);
  text +=
      "\nOptions:\n"
      "  -h,--help   show this help; 'kymo COMMAND --help' shows a command's options\n"
      "  --version   show the version\n"
      "\nExample:\n"
      "  kymo record -o run.kymo -- ./train --epochs 2\n"
      "  kymo stats run.kymo --top 10\n";
  return text;
}

const Command& find_command(const std::string& name) {
  for (const Command& command : all_commands())
    if (name == command.name) return command;
  if (name.starts_with('-')) throw options::UsageError("", base::format("unknown option '{}'", name));
  Arguments names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  const auto meant = options::nearest(name, names);
  throw options::UsageError(
      "", base::format("unknown command '{}'{}", name, meant ? base::format("; did you mean {}?", *meant) : ""));
}

void expect_at_most(size_t count, const Arguments& arguments) {
  if (arguments.size() > count)
    throw options::UsageError("", base::format("unexpected argument '{}'", arguments[count]));
}

int dispatch(Arguments arguments) {
  if (arguments.empty()) throw options::UsageError("", "no command given. Usage: kymo COMMAND [options]");
  const std::string first = arguments.front();
  arguments.erase(arguments.begin());
  if (first == "--version") {
    expect_at_most(0, arguments);
    return print(base::format("kymo {}\n", collect::kVersion)), kDone;
  }
  if (first == "remote") return remote_command(arguments);
  if (first != "-h" && first != "--help" && first != "help") return find_command(first).run(arguments);
  expect_at_most(1, arguments);
  if (arguments.empty()) return print(help()), kDone;
  return find_command(arguments.front()).run({"--help"});
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
