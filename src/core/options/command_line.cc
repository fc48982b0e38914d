#include "options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/print.h"
#include "base/text.h"
#include "options/argument_scan.h"
#include "options/manual.h"

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
  // Leaves out CLI11's "{value}" after a flag with an optional value, because the type name already shows the forms.
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
  std::map<const CLI::Option*, std::vector<std::string>> choices;

  CommandManual manual() const;
  CLI::Option* add_text(const std::string& flag, const std::string& form, std::string& target, const std::string& help);
};

namespace {

// If set, read() stores the options here instead of reading arguments: see manual_of.
thread_local CommandManual* wanted_manual = nullptr;

// Returns "--output" for "-o,--output".
std::string long_name(const std::string& flag) { return flag.substr(flag.find(',') + 1); }

OptionManual manual_of_option(const CLI::Option& option) {
  OptionManual manual;
  manual.is_positional = option.get_positional();
  for (const std::string& name : option.get_snames()) manual.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) manual.names.push_back("--" + name);
  if (manual.is_positional) manual.names = {option.get_name(true)};
  // A flag has a form only if it may take a value: "[=VALUE]".
  using Takes = OptionManual::Takes;
  const bool is_flag = option.get_expected_min() == 0;
  const std::string form = option.get_type_name();
  manual.takes = !is_flag ? Takes::Value : form.starts_with('[') ? Takes::MaybeValue : Takes::Nothing;
  if (!manual.is_positional && manual.takes != Takes::Nothing) manual.form = form;
  manual.is_repeatable = option.get_expected_max() > 1;
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

// An empty value is an error. CLI11 would accept it.
CLI::Option* CommandLine::Impl::add_text(const std::string& flag, const std::string& form, std::string& target,
                                         const std::string& help) {
  const auto take = [this, flag, form, &target](const std::string& given) {
    const std::string name = long_name(flag);
    if (given.empty())
      throw UsageError(app.get_name(), base::format("{}: the value is empty; use {} {}", name, name, form));
    target = given;
  };
  return app.add_option_function<std::string>(flag, take, help)->type_name(form);
}

void CommandLine::value(const std::string& flag, const std::string& form, std::string& target,
                        const std::string& help) {
  impl_->add_text(flag, form, target, help);
}

void CommandLine::required_value(const std::string& flag, const std::string& form, std::string& target,
                                 const std::string& help) {
  impl_->add_text(flag, form, target, help)->required();
}

void CommandLine::values(const std::string& flag, const std::string& form, std::vector<std::string>& target,
                         const std::string& help) {
  text(
      flag, form,
      [&target, flag, form](const std::string& given) {
        if (given.empty()) throw InvalidArgument(base::format("the value is empty; use {} {}", long_name(flag), form));
        target.push_back(given);
      },
      help);
}

void CommandLine::optional_value(const std::string& flag, const std::string& form, const std::string& otherwise,
                                 std::string& target, const std::string& help) {
  impl_->app.add_flag(flag + "{" + otherwise + "}", target, help)->type_name(form);
}

void CommandLine::argument(const std::string& name, std::string& target, const std::string& help) {
  const auto take = [this, &target](const std::string& given) {
    if (given.empty()) throw UsageError(impl_->app.get_name(), missing());
    target = given;
  };
  impl_->app.add_option_function<std::string>(name, take, help)->required();
}

std::function<void(const std::vector<std::string>&)> CommandLine::into(std::vector<std::string>& target) const {
  return [this, &target](const std::vector<std::string>& given) {
    for (const std::string& one : given)
      if (one.empty()) throw UsageError(impl_->app.get_name(), missing());
    target = given;
  };
}

void CommandLine::arguments(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  impl_->app.add_option_function<std::vector<std::string>>(name, into(target), help)->required();
}

void CommandLine::optional_arguments(const std::string& name, std::vector<std::string>& target,
                                     const std::string& help) {
  impl_->app.add_option_function<std::vector<std::string>>(name, into(target), help);
}

void CommandLine::text(const std::string& flag, const std::string& form, std::function<void(const std::string&)> take,
                       const std::string& help, std::vector<std::string> choices) {
  const auto take_all = [this, flag, take = std::move(take)](const std::vector<std::string>& given) {
    try {
      for (const std::string& one : given) take(one);
    } catch (const InvalidArgument& error) {
      throw UsageError(impl_->app.get_name(), base::format("{}: {}", long_name(flag), error.what()));
    }
  };
  // One value per occurrence: otherwise a vector would also take the arguments after it.
  const CLI::Option* option = impl_->app.add_option_function<std::vector<std::string>>(flag, take_all, help)
                                  ->allow_extra_args(false)
                                  ->type_name(form);
  if (!choices.empty()) impl_->choices[option] = std::move(choices);
}

void CommandLine::version(const std::string& line) {
  impl_->app.set_version_flag("--version", line, "show the version");
}

void CommandLine::stop_at_first_argument() { impl_->app.prefix_command(); }

CommandManual CommandLine::Impl::manual() const {
  CommandManual manual{app.get_name(), usage, app.get_description(), example, {}, app.get_prefix_command()};
  for (const CLI::Option* option : app.get_options()) {
    manual.options.push_back(manual_of_option(*option));
    if (const auto known = choices.find(option); known != choices.end()) manual.options.back().choices = known->second;
  }
  return manual;
}

std::vector<std::string> CommandLine::scanned(const std::vector<std::string>& arguments) const try {
  const CommandManual manual = impl_->manual();
  return scan_arguments(manual.options, arguments, manual.runs_a_program ? Order::OptionsFirst : Order::Mixed);
} catch (const InvalidArgument& error) {
  throw UsageError(impl_->app.get_name(), error.what());
}

bool CommandLine::read(std::vector<std::string> arguments) {
  CLI::App& app = impl_->app;
  if (wanted_manual != nullptr) {
    *wanted_manual = impl_->manual();
    return false;
  }
  arguments = scanned(arguments);
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
    const std::vector<std::string> extras = app.remaining();
    const auto extra = std::ranges::find_if(extras, [](const std::string& text) { return text != "--"; });
    throw UsageError(app.get_name(), unexpected(extra == extras.end() ? "--" : *extra));
  } catch (const CLI::RequiredError&) {
    throw UsageError(app.get_name(), missing());
  } catch (const CLI::ParseError& error) {
    throw UsageError(app.get_name(), error.what());
  }
  return true;
}

std::vector<std::string> CommandLine::remaining() const { return impl_->app.remaining(); }

std::string CommandLine::unexpected(const std::string& argument) const {
  const bool is_number = argument.find_first_not_of("0123456789") == std::string::npos;
  const char* selects = is_number ? "--pid" : "--name";  // if the command has it
  const bool has_it = impl_->app.get_option_no_throw(selects) != nullptr;
  return base::format("unexpected argument '{}'{}", argument,
                      has_it ? base::format("; did you mean {} {}?", selects, argument) : "");
}

// Reports the first required argument or option that is missing or empty.
std::string CommandLine::missing() const {
  for (const CLI::Option* option : std::as_const(impl_->app).get_options()) {
    if (!option->get_required() || (option->count() != 0 && !option->results().front().empty())) continue;
    return base::format("no {} given. Usage: {}", option->get_name(), impl_->usage);
  }
  return base::format("an argument is missing. Usage: {}", impl_->usage);
}

}  // namespace kymo::options
