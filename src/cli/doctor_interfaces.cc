#include "cli/doctor_interfaces.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "cli/interfaces.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

using wire::Finding;
using wire::Verdict;

std::string contents(pid_t pid, const char* name) {
  std::ifstream file(base::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The value of a variable in an environment as the kernel shows it.
std::optional<std::string> value_of(const std::string& environment, const std::string& name) {
  const std::string start = name + "=";
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, start.size(), start) == 0)
      return environment.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  return std::nullopt;
}

Finding examine(const InterfaceDescription& one) {
  const std::string name(record::name_of(one.interface));
  try {
    const Variables variables = interface_environment({one.interface});
    std::string text =
        base::format("programs that use {} are recorded{}", one.title, one.by_default ? "" : " with --with " + name);
    for (const auto& [variable, value] : variables)
      if (variable == one.displaced) text += base::format("; {} receives everything too", value);
    return {name, Verdict::Good, text, {}};
  } catch (const NotAvailable& error) {
    return {name, Verdict::Bad, base::format("{} is not recorded", one.title), error.what()};
  }
}

constexpr const char* kStartAgain = "start the program by 'kymo record', or after eval \"$(kymo env)\"";

// Empty: the process was started without the variable.
std::optional<Finding> examine(const InterfaceDescription& one, const std::string& environment) {
  const std::string name(record::name_of(one.interface));
  const auto value = value_of(environment, one.variable);
  if (!value || value->empty()) return std::nullopt;
  if (value->find(one.value) != std::string::npos)
    return Finding{name, Verdict::Good, base::format("the program loads Kymo's library if it uses {}", one.title), {}};
  return Finding{name, Verdict::Doubtful, base::format("{} names another tool: {}", one.variable, *value),
                 base::format("{}: both keep the other tool", kStartAgain)};
}

}  // namespace

Findings examine_interfaces() {
  Findings findings;
  for (const InterfaceDescription& one : interface_descriptions()) findings.push_back(examine(one));
  return findings;
}

Findings examine_interfaces(pid_t pid, bool is_connected) {
  const std::string environment = contents(pid, "environ");
  if (environment.empty()) return {};  // it has ended, or belongs to another user
  if (contents(pid, "maps").find(kInjectedLibrary) != std::string::npos)
    return {{"interfaces", Verdict::Good, base::format("the program has loaded {}", kInjectedLibrary), {}}};
  Findings findings;
  for (const InterfaceDescription& one : interface_descriptions())
    if (auto finding = examine(one, environment)) findings.push_back(std::move(*finding));
  if (findings.empty() && !is_connected)
    findings.push_back({"interfaces", Verdict::Doubtful,
                        "the program was started without Kymo's environment: interfaces such as NVTX are not recorded",
                        kStartAgain});
  return findings;
}

}  // namespace kymo::cli
