#include "options/command_line.h"

#include <algorithm>

#include "base/print.h"
#include "base/text.h"
#include "options/argument_scan.h"

namespace kymo::options {
namespace {

using Takes = OptionManual::Takes;

constexpr size_t kOptionColumn = 30;

// If set, read() stores the options here instead of reading arguments: see manual_of.
thread_local CommandManual* wanted_manual = nullptr;

std::string indented(std::string lines, size_t columns) {
  for (size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 1))
    lines.insert(at + 1, columns, ' ');
  return lines;
}

// "-o,--output FILE", and the help beside it, or below it if there is no room.
std::string help_line(const OptionManual& option) {
  std::string line = "  " + base::join(option.names, ",");
  if (!option.form.empty() && !option.form.starts_with('[')) line += " ";
  line += option.form;
  if (line.size() < kOptionColumn)
    line.resize(kOptionColumn, ' ');
  else
    line.append(1, '\n').append(kOptionColumn, ' ');
  return line + indented(option.help, kOptionColumn) + "\n";
}

// Returns "--output" for "-o,--output".
std::string long_name(const std::string& flag) { return flag.substr(flag.find(',') + 1); }

}  // namespace

CommandManual manual_of(const std::function<void()>& command) {
  CommandManual manual;
  struct Scope {
    explicit Scope(CommandManual* into) { wanted_manual = into; }
    ~Scope() { wanted_manual = nullptr; }
  } scope(&manual);
  command();
  return manual;
}

CommandLine::CommandLine(const std::string& name, const std::string& usage, const std::string& description,
                         const std::string& example)
    : manual_{name, usage, description, example, {}, false} {
  add("-h,--help", "", "show this help", Takes::Nothing, {});
}

// `flag` without dashes is a positional argument.
CommandLine::Reader& CommandLine::add(const std::string& flag, const std::string& form, const std::string& help,
                                      Takes takes, Take take) {
  const bool is_positional = !flag.starts_with('-');
  manual_.options.push_back({.names = base::split(flag, ','),
                             .form = is_positional ? "" : form,
                             .choices = {},
                             .help = help,
                             .takes = takes,
                             .is_positional = is_positional});
  return readers_.emplace_back(Reader{.take = std::move(take)});
}

void CommandLine::flag(const std::string& flag, bool& target, const std::string& help) {
  add(flag, "", help, Takes::Nothing, [&target](const std::string&) { target = true; });
}

void CommandLine::add_value(const std::string& flag, const std::string& form, const std::string& help, Take take) {
  const std::string name = long_name(flag);
  text(
      flag, form,
      [name, form, take = std::move(take)](const std::string& given) {
        if (given.empty()) throw InvalidArgument(base::format("the value is empty; use {} {}", name, form));
        take(given);
      },
      help);
}

void CommandLine::value(const std::string& flag, const std::string& form, std::string& target,
                        const std::string& help) {
  add_value(flag, form, help, [&target](const std::string& given) { target = given; });
  manual_.options.back().is_repeatable = false;
}

void CommandLine::required_value(const std::string& flag, const std::string& form, std::string& target,
                                 const std::string& help) {
  value(flag, form, target, help);
  readers_.back().is_required = true;
}

void CommandLine::values(const std::string& flag, const std::string& form, std::vector<std::string>& target,
                         const std::string& help) {
  add_value(flag, form, help, [&target](const std::string& given) { target.push_back(given); });
}

void CommandLine::optional_value(const std::string& flag, const std::string& form, const std::string& otherwise,
                                 std::string& target, const std::string& help) {
  const auto take = [&target](const std::string& given) { target = given; };
  add(flag, form, help, Takes::MaybeValue, take).otherwise = otherwise;
}

void CommandLine::argument(const std::string& name, std::string& target, const std::string& help) {
  const auto take = [this, &target](const std::string& given) {
    if (given.empty()) throw UsageError(manual_.name, missing());
    target = given;
  };
  add(name, "", help, Takes::Value, take).is_required = true;
}

void CommandLine::arguments(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  optional_arguments(name, target, help);
  readers_.back().is_required = true;
}

void CommandLine::optional_arguments(const std::string& name, std::vector<std::string>& target,
                                     const std::string& help) {
  const auto take = [this, &target](const std::string& given) {
    if (given.empty()) throw UsageError(manual_.name, missing());
    target.push_back(given);
  };
  add(name, "", help, Takes::Value, take).takes_all = true;
  manual_.options.back().is_repeatable = true;
}

void CommandLine::text(const std::string& flag, const std::string& form, std::function<void(const std::string&)> take,
                       const std::string& help, std::vector<std::string> choices) {
  const auto checked = [this, name = long_name(flag), take = std::move(take)](const std::string& given) {
    try {
      take(given);
    } catch (const InvalidArgument& error) {
      throw UsageError(manual_.name, base::format("{}: {}", name, error.what()));
    }
  };
  add(flag, form, help, Takes::Value, checked);
  manual_.options.back().is_repeatable = true;
  manual_.options.back().choices = std::move(choices);
}

void CommandLine::version(const std::string& line) {
  version_ = line;
  add("--version", "", "show the version", Takes::Nothing, {});
}

std::string CommandLine::help() const {
  std::string text = base::format("{}\n\nUsage: {}\n", manual_.description, manual_.usage);
  for (const bool are_arguments : {true, false}) {
    std::string lines;
    for (const OptionManual& option : manual_.options)
      if (option.is_positional == are_arguments) lines += help_line(option);
    if (!lines.empty()) text += base::format("\n{}:\n{}", are_arguments ? "Arguments" : "Options", lines);
  }
  if (!manual_.example.empty()) text += base::format("\nExample:\n  {}\n", indented(manual_.example, 2));
  return text;
}

bool CommandLine::read(const std::vector<std::string>& arguments) {
  if (wanted_manual != nullptr) {
    *wanted_manual = manual_;
    for (OptionManual& option : wanted_manual->options) std::ranges::replace(option.help, '\n', ' ');
    return false;
  }
  try {
    const ScannedArguments given =
        scan_arguments(manual_.options, arguments, manual_.runs_a_program ? Order::OptionsFirst : Order::Mixed);
    for (const auto& [option, value] : given.options) {
      Reader& reader = readers_[static_cast<size_t>(option - manual_.options.data())];
      if (option->names.back() == "--help") return base::print(help()), false;
      if (option->names.back() == "--version") return base::print(version_ + "\n"), false;
      reader.given.push_back(value.value_or(reader.otherwise));
    }
    remaining_ = given.arguments;
  } catch (const InvalidArgument& error) {
    throw UsageError(manual_.name, error.what());
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (!manual_.options[i].is_positional || remaining_.empty()) continue;
    const auto end = readers_[i].takes_all ? remaining_.end() : remaining_.begin() + 1;
    readers_[i].given.assign(remaining_.begin(), end);
    remaining_.erase(remaining_.begin(), end);
  }
  for (const Reader& reader : readers_)
    for (const std::string& one : reader.given) reader.take(one);
  if (std::ranges::any_of(readers_, [](const Reader& one) { return one.is_required && one.given.empty(); }))
    throw UsageError(manual_.name, missing());
  if (!manual_.runs_a_program && !remaining_.empty()) throw UsageError(manual_.name, unexpected(remaining_.front()));
  return true;
}

std::string CommandLine::unexpected(const std::string& argument) const {
  const bool is_number = argument.find_first_not_of("0123456789") == std::string::npos;
  const char* const selects = is_number ? "--pid" : "--name";  // if the command has it
  const bool has_it =
      std::ranges::any_of(manual_.options, [&](const OptionManual& option) { return option.names.back() == selects; });
  return base::format("unexpected argument '{}'{}", argument,
                      has_it ? base::format("; did you mean {} {}?", selects, argument) : "");
}

// Reports the first required argument or option that is missing or empty.
std::string CommandLine::missing() const {
  for (size_t i = 0; i < readers_.size(); ++i) {
    const Reader& reader = readers_[i];
    if (!reader.is_required || (!reader.given.empty() && !reader.given.front().empty())) continue;
    return base::format("no {} given. Usage: {}", manual_.options[i].names.back(), manual_.usage);
  }
  return base::format("an argument is missing. Usage: {}", manual_.usage);
}

}  // namespace kymo::options
