#include "options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/print.h"
#include "base/text.h"
#include "options/manual.h"
#include "options/suggest.h"

namespace kymo::options {
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
  // Without CLI11's "{value}" after a flag with an optional value: the type name already shows the forms.
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

struct CommandLine::Impl {
  Impl(const std::string& name, const std::string& description) : app(description, name) {}
  CLI::App app;
  std::string usage, example;
};

namespace {

// If set, read() stores the options here instead of reading arguments: see manual_of.
thread_local CommandManual* wanted_manual = nullptr;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (letter == separator)
      words.emplace_back();
    else
      words.back() += letter;
  }
  return words;
}

OptionManual manual_of_option(const CLI::Option& option) {
  OptionManual manual;
  manual.is_positional = option.get_positional();
  for (const std::string& name : option.get_snames()) manual.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) manual.names.push_back("--" + name);
  if (manual.is_positional) manual.names = {option.get_name(true)};
  // A flag has a form only if it may have a value: "[=VALUE]".
  const bool is_flag = option.get_expected_min() == 0;
  const std::string form = option.get_type_name();
  if (!manual.is_positional && (!is_flag || form.starts_with('['))) manual.form = form;
  const auto is_literal = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '|' || letter == '-';
  };
  if (manual.form.find('|') != std::string::npos && std::all_of(manual.form.begin(), manual.form.end(), is_literal))
    manual.choices = split(manual.form, '|');
  manual.help = option.get_description();
  std::replace(manual.help.begin(), manual.help.end(), '\n', ' ');
  return manual;
}

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
    : impl_(std::make_unique<Impl>(name, description)) {
  impl_->usage = usage;
  impl_->example = example;
  impl_->app.formatter(std::make_shared<Manual>(usage));
  impl_->app.set_help_flag("-h,--help", "show this help");
  if (!example.empty()) impl_->app.footer("Example:\n" + indented(example));
}

CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& flag, bool& target, const std::string& help) {
  impl_->app.add_flag(flag, target, help);
}

void CommandLine::value(const std::string& flag, const std::string& form, std::string& target,
                        const std::string& help) {
  impl_->app.add_option(flag, target, help)->type_name(form);
}

void CommandLine::required_value(const std::string& flag, const std::string& form, std::string& target,
                                 const std::string& help) {
  impl_->app.add_option(flag, target, help)->required()->type_name(form);
}

void CommandLine::values(const std::string& flag, const std::string& form, std::vector<std::string>& target,
                         const std::string& help) {
  impl_->app.add_option(flag, target, help)->type_name(form)->allow_extra_args(false);
}

void CommandLine::optional_value(const std::string& flag, const std::string& form, const std::string& otherwise,
                                 std::string& target, const std::string& help) {
  impl_->app.add_flag(flag + "{" + otherwise + "}", target, help)->type_name(form);
}

void CommandLine::argument(const std::string& name, std::string& target, const std::string& help) {
  impl_->app.add_option(name, target, help)->required();
}

void CommandLine::text(const std::string& flag, const std::string& form, std::function<void(const std::string&)> take,
                       const std::string& help) {
  const auto take_all = [this, flag, take = std::move(take)](const std::vector<std::string>& given) {
    try {
      for (const std::string& one : given) take(one);
    } catch (const InvalidArgument& error) {
      throw UsageError(impl_->app.get_name(), base::format("{}: {}", flag, error.what()));
    }
  };
  // One value per occurrence: otherwise a vector would also take the arguments after it.
  impl_->app.add_option_function<std::vector<std::string>>(flag, take_all, help)
      ->allow_extra_args(false)
      ->type_name(form);
}

void CommandLine::version(const std::string& line) {
  impl_->app.set_version_flag("--version", line, "show the version");
}

void CommandLine::stop_at_first_argument() { impl_->app.prefix_command(); }

bool CommandLine::read(std::vector<std::string> arguments) {
  CLI::App& app = impl_->app;
  if (wanted_manual != nullptr) {
    *wanted_manual = {app.get_name(), impl_->usage, app.get_description(), impl_->example, {}};
    for (const CLI::Option* option : std::as_const(app).get_options())
      wanted_manual->options.push_back(manual_of_option(*option));
    return false;
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects them in reverse order
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    base::print(app.help());
    return false;
  } catch (const CLI::CallForVersion&) {
    base::print(app.version() + "\n");
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(app.get_name(), unexpected(app.remaining().front()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(app.get_name(), error.what());
  }
  return true;
}

bool CommandLine::was_given(const std::string& flag) const { return impl_->app.count(flag) != 0; }

std::vector<std::string> CommandLine::remaining() const { return impl_->app.remaining(); }

std::string CommandLine::unexpected(const std::string& argument) const {
  if (!argument.starts_with('-')) {
    const bool is_number = argument.find_first_not_of("0123456789") == std::string::npos;
    const char* selects = is_number ? "--pid" : "--name";  // if the command has it
    const bool has_it = impl_->app.get_option_no_throw(selects) != nullptr;
    return base::format("unexpected argument '{}'{}", argument,
                        has_it ? base::format("; did you mean {} {}?", selects, argument) : "");
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : std::as_const(impl_->app).get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  const auto meant = nearest(argument, flags);
  return base::format("unknown option '{}'{}", argument, meant ? base::format("; did you mean {}?", *meant) : "");
}

}  // namespace kymo::options
