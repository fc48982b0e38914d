#include "options/manual.h"

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::options {
namespace {

// ASCII's own separators, from large to small parts: options, their fields, the items of a list.
constexpr char kRecord = '\x1e', kField = '\x1f', kItem = '\x1d';

std::string joined(const std::vector<std::string>& items, char separator) {
  return base::join(items, std::string_view(&separator, 1));
}

std::vector<std::string> items(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : base::split(text, kItem);
}

}  // namespace

std::string packed(const CommandManual& manual) {
  std::vector<std::string> records = {joined(
      {manual.name, manual.usage, manual.description, manual.example, manual.runs_a_program ? "1" : "0"}, kField)};
  for (const OptionManual& option : manual.options)
    records.push_back(joined({joined(option.names, kItem), option.form, joined(option.choices, kItem), option.help,
                              std::to_string(static_cast<int>(option.takes)), option.is_positional ? "1" : "0",
                              option.is_repeatable ? "1" : "0"},
                             kField));
  return joined(records, kRecord);
}

CommandManual unpacked(std::string_view text) {
  CommandManual manual;
  const auto fields_of = [](const std::string& record, size_t count) {
    auto fields = base::split(record, kField);
    if (fields.size() != count)
      throw Error("a program of Kymo is of another version than kymo: install all of one version");
    return fields;
  };
  const std::vector<std::string> records = base::split(text, kRecord);
  const auto head = fields_of(records.front(), 5);
  manual.name = head[0];
  manual.usage = head[1];
  manual.description = head[2];
  manual.example = head[3];
  manual.runs_a_program = head[4] == "1";
  for (size_t i = 1; i < records.size(); ++i) {
    const auto fields = fields_of(records[i], 7);
    manual.options.push_back({.names = items(fields[0]),
                              .form = fields[1],
                              .choices = items(fields[2]),
                              .help = fields[3],
                              .takes = static_cast<OptionManual::Takes>(fields[4].front() - '0'),
                              .is_positional = fields[5] == "1",
                              .is_repeatable = fields[6] == "1"});
  }
  return manual;
}

}  // namespace kymo::options
