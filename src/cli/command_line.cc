#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/suggest.h"
#include "cli/terminal.h"

namespace kymo::cli {
namespace {

constexpr size_t kOptionColumn = 30;

// CLI11's layout, with a usage line that shows the command as it is typed.
class Manual : public CLI::Formatter {
 public:
  explicit Manual(std::string usage) : usage_(std::move(usage)) {
    column_width(kOptionColumn);
    label("REQUIRED", "");
    label("Positionals", "Arguments");
  }
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: " + usage_ + "\n"; }
  // Without CLI11's "{value}" behind a flag that may have one: its type says the forms.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    if (const size_t brace = name.find('{'); brace != std::string::npos) name.erase(brace, name.find('}') + 1 - brace);
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return {};
    const std::string type = option->get_type_name();
    return type.empty() || type.starts_with('[') ? type : " " + type;
  }

 private:
  std::string usage_;
};

std::string indented(const std::string& lines) {
  std::string text = "  " + lines;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) text.insert(at + 1, "  ");
  return text;
}

}  // namespace

CommandLine::CommandLine(const std::string& name, const std::string& usage, const std::string& description,
                         const std::string& example)
    : CLI::App(description, name) {
  formatter(std::make_shared<Manual>(usage));
  set_help_flag("-h,--help", "show this");
  footer("Example:\n" + indented(example));
}

CLI::Option* CommandLine::text(const std::string& flag, const std::string& form,
                               std::function<void(const std::string&)> take, const std::string& help) {
  const auto take_all = [this, flag, take = std::move(take)](const std::vector<std::string>& given) {
    try {
      for (const std::string& one : given) take(one);
    } catch (const InvalidArgument& error) {
      throw UsageError(get_name(), fmt::format("{}: {}", flag, error.what()));
    }
  };
  // One value each time it is given: a vector would otherwise swallow the arguments behind it.
  return add_option_function<std::vector<std::string>>(flag, take_all, help)->allow_extra_args(false)->type_name(form);
}

bool CommandLine::read(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // the order CLI11 takes them in
  try {
    parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    print(help());
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(get_name(), unexpected(remaining().front()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(get_name(), error.what());
  }
  return true;
}

std::string CommandLine::unexpected(const std::string& argument) const {
  if (!argument.starts_with('-')) {
    const bool is_number = argument.find_first_not_of("0123456789") == std::string::npos;
    const char* selects = is_number ? "--pid" : "--name";  // where the command has them
    const bool has_it = get_option_no_throw(selects) != nullptr;
    return fmt::format("unexpected argument '{}'{}", argument,
                       has_it ? fmt::format("; did you mean {} {}?", selects, argument) : "");
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  const auto meant = nearest(argument, flags);
  return fmt::format("unknown option '{}'{}", argument, meant ? fmt::format("; did you mean {}?", *meant) : "");
}

}  // namespace kymo::cli
