// The options of a program or of one of its commands, its help, and the messages when they are wrong.
//
//   CommandLine line("stats", "kymo stats FILE [options]", "Shows where the time went.", "kymo stats run.kymo");
//   line.argument("FILE", path, "the trace");
//   line.choice("--by", by, {{"name", By::Name}, {"thread", By::Thread}}, "what a row is");
//   line.flag("--json", json, "as JSON");
//   if (!line.read(arguments)) return 0;  // help was printed
//
// Targets are written by read() and must live until then. A message says what is wrong, then the value, then what to
// do; where an option was misspelt, it has the nearest one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kymo/error.h"
#include "options/manual.h"

namespace kymo::options {

// The command line was wrong: exit code 2 and a hint at the command's help.
class UsageError : public Error {
 public:
  UsageError(std::string command, const std::string& message) : Error(message), command_(std::move(command)) {}
  const std::string& command() const { return command_; }

 private:
  std::string command_;  // empty: no command was given
};

class CommandLine {
 public:
  // `description` and `example` may have several lines; `example` may be empty.
  CommandLine(const std::string& name, const std::string& usage, const std::string& description,
              const std::string& example);
  CommandLine(CommandLine&&) = delete;

  // In these, `flag` is "--long" or "-s,--long", and `form` is what the help shows for the value: "FILE".

  void flag(const std::string& flag, bool& target, const std::string& help);
  // Not empty, and given only once.
  void value(const std::string& flag, const std::string& form, std::string& target, const std::string& help);
  void required_value(const std::string& flag, const std::string& form, std::string& target, const std::string& help);
  // May be repeated; each time adds one.
  void values(const std::string& flag, const std::string& form, std::vector<std::string>& target,
              const std::string& help);
  // --flag or --flag=VALUE, where --flag alone means --flag=`otherwise`.
  void optional_value(const std::string& flag, const std::string& form, const std::string& otherwise,
                      std::string& target, const std::string& help);
  // A required positional argument, not empty.
  void argument(const std::string& name, std::string& target, const std::string& help);
  // One or more of them.
  void arguments(const std::string& name, std::vector<std::string>& target, const std::string& help);
  // Any number of them, for a command with options that need none.
  void optional_arguments(const std::string& name, std::vector<std::string>& target, const std::string& help);

  // An option whose text `take` reads: the message of an InvalidArgument that it throws is reported with the option's
  // name. May be given repeatedly, and may be empty. A `flag` without dashes is an optional positional argument.
  // `choices` are the values that a shell completes.
  void text(const std::string& flag, const std::string& form, std::function<void(const std::string&)> take,
            const std::string& help, std::vector<std::string> choices = {});

  // An option with a few valid values.
  template <typename Value>
  using Choices = std::vector<std::pair<std::string, Value>>;
  template <typename Value>
  void choice(const std::string& flag, Value& target, const Choices<Value>& choices, const std::string& help) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    text(
        flag, choice_names(choices),
        [&target, choices](const std::string& given) {
          for (const auto& [name, value] : choices) {
            if (name == given) return void(target = value);
          }
          throw InvalidArgument("'" + given + "' is not one of " + choice_names(choices, ", "));
        },
        help, std::move(names));
  }

  // --version prints this line.
  void version(const std::string& line);
  // The first argument that is not an option ends the options: remaining() has it and all that follow.
  void stop_at_first_argument() { manual_.runs_a_program = true; }

  // Reads the arguments; false if help or the version was printed. Values are taken in the order in which the options
  // were added. Throws UsageError.
  bool read(const std::vector<std::string>& arguments);
  const std::vector<std::string>& remaining() const { return remaining_; }

 private:
  using Take = std::function<void(const std::string&)>;
  // What happens with the values of an option.
  struct Reader {
    Take take;
    std::string otherwise = {};  // the value if it is given without one
    bool is_required = false, takes_all = false;
    std::vector<std::string> given = {};
  };

  Reader& add(const std::string& flag, const std::string& form, const std::string& help, OptionManual::Takes takes,
              Take take);
  void add_value(const std::string& flag, const std::string& form, const std::string& help, Take take);
  std::string help() const;
  std::string unexpected(const std::string& argument) const;
  std::string missing() const;
  template <typename Value>
  static std::string choice_names(const Choices<Value>& choices, std::string_view separator = "|") {
    std::string names;
    for (const auto& [name, value] : choices) names.append(names.empty() ? "" : separator).append(name);
    return names;
  }

  CommandManual manual_;         // the help of its options may have several lines
  std::vector<Reader> readers_;  // by option
  std::string version_;
  std::vector<std::string> remaining_;
};

}  // namespace kymo::options
