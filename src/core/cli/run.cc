#include "cli/run.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <exception>

#include "base/suggest.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/programs.h"
#include "cli/terminal.h"
#include "options/command_line.h"

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

namespace kymo::cli {
namespace {

// What this program and the programs beside it contain.
struct Tables {
  std::span<const Command> listed = {};
  std::span<const Implementation> own = {};
  std::span<const PartProgram> others = {};
};
Tables tables;

constexpr const char* kDescribe = "--describe";  // what a program beside `kymo` prints about a command

// Ends the process as the signal does, but leaves no temporary files behind: that of a large trace is large.
void remove_files_and_end(int signal) {
  base::remove_unfinished_files();
  std::signal(signal, SIG_DFL);  // only now: timeout(1) sends a signal twice, and the second one must not be first
  raise(signal);                 // takes effect when the handler returns
}

void prepare_signals() {
  // If the reader has closed the pipe, print() gets EPIPE and handles it quietly. If a file would exceed its size limit
  // (ulimit -f), whoever writes it gets EFBIG. The signals are blocked, not ignored, because the programs that `kymo
  // record` starts would inherit that they are ignored.
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &of_writes, nullptr);
  // A signal that is ignored (nohup) stays so. The programs that `kymo record` starts have the default action.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_files_and_end;
    sigaction(signal, &action, nullptr);
  }
}

const char* title(Group group) {
  switch (group) {
    case Group::Record:
      return "Record programs";
    case Group::Read:
      return "Read traces";
    case Group::Convert:
      return "Convert traces";
    case Group::OnDemand:
      return "Traces of running programs, on demand";
    case Group::Devices:
      return "Accelerators";
    case Group::Fleet:
      return "Many traces in a database";
    case Group::Shell:
      return "Shell and manual";
  }
  return "";
}

std::string help() {
  std::string text =
      "Kymo records what programs and their accelerators do, and shows it.\n\n"
      "Usage: kymo COMMAND [options]\n";
  const std::vector<Command> commands = all_commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i == 0 || commands[i].group != commands[i - 1].group) text += base::format("\n{}:\n", title(commands[i].group));
    text += base::format("  {:<12}{}\n", commands[i].name, commands[i].summary);
  }
  text +=
      "\nOptions:\n"
      "  -h,--help   show this help; 'kymo COMMAND --help' shows a command's options\n"
      "  --version   show the version\n"
      "\nExample:\n"
      "  kymo record -o run.kymo -- ./train --epochs 2\n"
      "  kymo report run.kymo\n";
  return text;
}

const Implementation* find_own(const std::string& name) {
  const auto found = std::ranges::find_if(tables.own, [&](const Implementation& one) { return name == one.command; });
  return found == tables.own.end() ? nullptr : &*found;
}

const PartProgram* find_other(const std::string& name) {
  for (const PartProgram& program : tables.others)
    for (const Command& command : program.commands)
      if (name == command.name) return &program;
  return nullptr;
}

[[noreturn]] void refuse_command(const std::string& name) {
  if (name.starts_with('-')) throw options::UsageError("", base::format("unknown option '{}'", name));
  Arguments names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  const auto meant = base::nearest(name, names);
  throw options::UsageError(
      "", base::format("unknown command '{}'{}", name, meant ? base::format("; did you mean {}?", *meant) : ""));
}

int run_command(const std::string& name, const Arguments& arguments) {
  if (const Implementation* own = find_own(name)) return own->run(arguments);
  const PartProgram* other = find_other(name);
  if (other == nullptr) refuse_command(name);
  Arguments words{name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  become_program(other->file, words);
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
    return print(base::format("kymo {}\n", base::kVersion)), kDone;
  }
  if (first == kDescribe && arguments.size() == 1) {
    const Implementation* own = find_own(arguments.front());
    if (own == nullptr) return kFailed;
    return print(options::packed(options::manual_of([&] { own->run({}); }))), kDone;
  }
  if (first != "-h" && first != "--help" && first != "help") return run_command(first, arguments);
  expect_at_most(1, arguments);
  if (arguments.empty()) return print(help()), kDone;
  return run_command(arguments.front(), {"--help"});
}

int run_tables(int argc, char** argv, const Tables& all) {
  prepare_signals();
  tables = all;
  try {
    return dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const options::UsageError& error) {
    say_error(error.what());
    print_error(base::format("Try 'kymo {}{}--help'.\n", error.command(), error.command().empty() ? "" : " "));
    return kWrongUsage;
  } catch (const std::exception& error) {
    say_error(error.what());
    return kFailed;
  }
}

}  // namespace

int run_program(int argc, char** argv, std::span<const Implementation> own) {
  return run_tables(argc, argv, {.own = own});
}

int run_kymo(int argc, char** argv, std::span<const Command> listed, std::span<const Implementation> own,
             std::span<const PartProgram> others) {
  return run_tables(argc, argv, {listed, own, others});
}

std::vector<Command> all_commands() {
  std::vector<Command> all(tables.listed.begin(), tables.listed.end());
  for (const PartProgram& program : tables.others)
    all.insert(all.end(), program.commands.begin(), program.commands.end());
  std::ranges::stable_sort(all, {}, &Command::group);
  return all;
}

std::span<const PartProgram> other_programs() { return tables.others; }

options::CommandManual manual_of_command(const std::string& name) {
  if (const Implementation* own = find_own(name)) return options::manual_of([&] { own->run({}); });
  const PartProgram* other = find_other(name);
  if (other == nullptr) refuse_command(name);
  return options::unpacked(run_beside(other->file, {kDescribe, name}).output);
}

}  // namespace kymo::cli
