#include "cli/selection_options.h"

#include <charconv>
#include <cstdint>

#include "base/printable.h"
#include "base/quantity.h"
#include "kymo/error.h"
#include "wire/message_type.h"

namespace kymo::cli {
namespace {

template <class Value>
void add_value(std::vector<Value>& values, Value value) {
  if (values.size() >= wire::kMaxItems)
    throw InvalidArgument("more than " + std::to_string(wire::kMaxItems) +
                          " values are given; use --name, --job or --all");
  values.push_back(std::move(value));
}

std::string checked_text(const std::string& text) {
  if (text.size() > wire::kLongestText) throw InvalidArgument("the text is too long; max: 4096 bytes");
  return text;
}

std::string checked_name(const std::string& text) {
  if (text.empty()) throw InvalidArgument("'' is not a program name; 'kymo ps' lists the names");
  return checked_text(text);
}

}  // namespace

int32_t parse_pid(const std::string& text) {
  int32_t pid = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (failure != std::errc() || rest != text.data() + text.size() || pid <= 0)
    throw InvalidArgument("'" + text + "' is not a process id; give a number, such as 4711");
  return pid;
}

uint64_t parse_trigger(const std::string& text) {
  try {
    return base::parse_count(text);
  } catch (const InvalidArgument&) {
    throw InvalidArgument("'" + text + "' is not the number of a trigger; 'kymo status' lists them");
  }
}

bool SelectionOptions::is_empty() const {
  return !all && selection.pids.empty() && selection.names.empty() && !selection.job;
}

void add_selection(options::CommandLine& line, SelectionOptions& options, bool offers_all) {
  wire::Selection& selection = options.selection;
  line.text(
      "--pid", "PID", [&selection](const std::string& text) { add_value(selection.pids, parse_pid(text)); },
      "this process and its descendants; can be repeated");
  line.text(
      "--name", "NAME", [&selection](const std::string& text) { add_value(selection.names, checked_name(text)); },
      "programs with this name or pattern, such as 'train*';\ncan be repeated");
  line.text(
      "--job", "ID", [&selection](const std::string& text) { selection.job = checked_text(text); },
      "programs of this scheduler job; '' for programs\nwithout a job");
  if (offers_all) line.flag("--all", options.all, "all your connected programs");
}

void add_socket(options::CommandLine& line, std::string& socket) {
  line.value("--socket", "PATH", socket, "only the daemon with this socket; default: your own\nand the host's");
}

std::string selection_text(const SelectionOptions& options) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const int32_t pid : options.selection.pids) add("pid " + std::to_string(pid));
  for (const std::string& name : options.selection.names) add("name '" + base::printable(name) + "'");
  if (options.selection.job)
    add(options.selection.job->empty() ? "no job" : "job '" + base::printable(*options.selection.job) + "'");
  return text;
}

}  // namespace kymo::cli
