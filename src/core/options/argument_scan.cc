#include "options/argument_scan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/suggest.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::options {
namespace {

// "--output=x" and "-ox" have a value; "--output" and "-o" have none.
struct Written {
  std::string name;
  std::optional<std::string> value;
};

bool is_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-' && argument != "--"; }

Written take_apart(const std::string& argument) {
  const bool is_long = argument.starts_with("--");
  const size_t end = is_long ? std::min(argument.find('='), argument.size()) : 2;
  Written written{argument.substr(0, end), std::nullopt};
  if (end == argument.size()) return written;
  written.value = argument.substr(argument[end] == '=' ? end + 1 : end);
  return written;
}

class Scan {
 public:
  explicit Scan(std::span<const OptionManual> options) : options_(options) {}

  ScannedArguments run(const std::vector<std::string>& arguments, Order order) {
    size_t at = 0;
    for (; at < arguments.size(); ++at) {
      const std::string& argument = arguments[at];
      if (argument == "--") {
        ++at;
        break;
      }
      if (!is_option(argument)) {
        if (order == Order::OptionsFirst) break;
        read_.arguments.push_back(argument);
      } else if (argument == "-h" || argument == "--help" || argument == "--version") {
        return {.options = {{&known(argument), std::nullopt}}, .arguments = {}};
      } else if (is_misspelt(argument)) {
        throw unknown(argument);
      } else if (option(take_apart(argument), at + 1 < arguments.size() ? &arguments[at + 1] : nullptr)) {
        ++at;
      }
    }
    read_.arguments.insert(read_.arguments.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
    return std::move(read_);
  }

 private:
  const OptionManual* find(const std::string& name) const {
    for (const OptionManual& option : options_)
      if (!option.is_positional && std::ranges::find(option.names, name) != option.names.end()) return &option;
    return nullptr;
  }

  const OptionManual& known(const std::string& name) const {
    if (const OptionManual* option = find(name)) return *option;
    throw unknown(name);
  }

  // If "-t" is not an option, "-top" is "--top" with one dash, not a group of letters.
  bool is_misspelt(const std::string& argument) const {
    return !argument.starts_with("--") && argument.size() > 2 && find(argument.substr(0, 2)) == nullptr;
  }

  InvalidArgument unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const OptionManual& option : options_)
      for (const std::string& each : option.names)
        if (each.starts_with("--")) names.push_back(each);
    const auto meant = base::nearest(name, names);
    return InvalidArgument(
        base::format("unknown option '{}'{}", name, meant ? base::format("; did you mean {}?", *meant) : ""));
  }

  // Another option is not a value, and "--", which ends the options, is not a value either.
  bool is_value(const std::string& argument) const {
    return argument != "--" && (!is_option(argument) || find(take_apart(argument).name) == nullptr);
  }

  // Returns true if the next argument is the value of this option.
  bool option(const Written& written, const std::string* next) {
    const OptionManual& option = known(written.name);
    switch (option.takes) {
      case OptionManual::Takes::Nothing:
        flag(written, option);
        return false;
      case OptionManual::Takes::MaybeValue:
        if (written.value && written.value->empty())
          throw InvalidArgument(base::format("{}: the value is empty; use {} or {}{}", written.name, written.name,
                                             written.name, option.form.substr(1, option.form.size() - 2)));
        read_.options.push_back({&option, written.value});
        return false;
      case OptionManual::Takes::Value:
        break;
    }
    const bool follows = !written.value && next != nullptr && is_value(*next);
    if (!written.value && !follows)
      throw InvalidArgument(base::format("{}: no value given; use {} {}", written.name, written.name, option.form));
    add_value(written.name, option, written.value ? *written.value : *next);
    return follows;
  }

  void flag(const Written& written, const OptionManual& manual) {
    if (written.value && written.name.starts_with("--"))
      throw InvalidArgument(
          base::format("{} takes no value, but has '{}'; use {}", written.name, *written.value, written.name));
    read_.options.push_back({&manual, std::nullopt});
    if (written.value) option(take_apart("-" + *written.value), nullptr);  // "-qv" means "-q -v"
  }

  void add_value(const std::string& name, const OptionManual& option, const std::string& value) {
    const auto [first, is_first] = values_.try_emplace(&option, value);
    if (!is_first && !option.is_repeatable)
      throw InvalidArgument(
          base::format("{} is given twice, with '{}' and '{}'; give it once", name, first->second, value));
    read_.options.push_back({&option, value});
  }

  std::span<const OptionManual> options_;
  std::map<const OptionManual*, std::string> values_;
  ScannedArguments read_;
};

}  // namespace

ScannedArguments scan_arguments(std::span<const OptionManual> options, const std::vector<std::string>& arguments,
                                Order order) {
  return Scan(options).run(arguments, order);
}

}  // namespace kymo::options
