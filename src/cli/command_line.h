// One command's options, its help, and what is said when they are wrong.
//
//   CommandLine line("stats", "kymo stats FILE [options]", "Shows where the time went.", "kymo stats run.kymo");
//   line.add_option("FILE", path, "the trace")->required();
//   line.choice("--by", by, {{"name", By::Name}, {"thread", By::Thread}}, "what a row is");
//   if (!line.read(arguments)) return 0;  // help was asked for, and given
//
// A CLI11 app with a manual's layout and messages that name the value, the forms that would be good, and the nearest
// option where one was misspelt.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kymo/error.h"

namespace kymo::cli {

// The command line was wrong: exit code 2 and a hint at the command's help.
class UsageError : public Error {
 public:
  UsageError(std::string command, const std::string& message) : Error(message), command_(std::move(command)) {}
  const std::string& command() const { return command_; }

 private:
  std::string command_;  // empty: before there was one
};

class CommandLine : public CLI::App {
 public:
  // `description` and `example` may have several lines.
  CommandLine(const std::string& name, const std::string& usage, const std::string& description,
              const std::string& example);

  // An option with a few good values.
  template <typename Value>
  using Choices = std::vector<std::pair<std::string, Value>>;
  template <typename Value>
  CLI::Option* choice(const std::string& flag, Value& target, const Choices<Value>& choices, const std::string& help) {
    return text(
        flag, choice_names(choices),
        [&target, choices](const std::string& given) {
          for (const auto& [name, value] : choices) {
            if (name == given) return void(target = value);
          }
          throw InvalidArgument("'" + given + "' is not one of " + choice_names(choices, ", "));
        },
        help);
  }

  // An option whose text `take` reads; what that throws is reported with the option's name. May be given repeatedly.
  CLI::Option* text(const std::string& flag, const std::string& form, std::function<void(const std::string&)> take,
                    const std::string& help);

  // Reads the arguments; false when help was asked for and printed. Throws UsageError.
  bool read(std::vector<std::string> arguments);

  // What to say about an argument that was not expected: "unknown option '--jsn'; did you mean --json?".
  std::string unexpected(const std::string& argument) const;

 private:
  template <typename Value>
  static std::string choice_names(const Choices<Value>& choices, std::string_view separator = "|") {
    std::string names;
    for (const auto& [name, value] : choices) names.append(names.empty() ? "" : separator).append(name);
    return names;
  }
};

}  // namespace kymo::cli
