#include "cli/doctor_interfaces.h"

#include <fstream>
#include <iterator>

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

Finding examine(const InterfaceDescription& one, pid_t pid) {
  const std::string name(record::name_of(one.interface));
  if (contents(pid, "maps").find(kInjectedLibrary) != std::string::npos)
    return {name, Verdict::Good, base::format("process {} has loaded {}", pid, kInjectedLibrary), {}};
  const auto path = value_of(contents(pid, "environ"), one.variable);
  if (path && path->find(kInjectedLibrary) != std::string::npos)
    return {name, Verdict::Good, base::format("process {} loads Kymo's library if it uses {}", pid, one.title), {}};
  if (path)
    return {name, Verdict::Doubtful, base::format("{} of process {} names another tool: {}", one.variable, pid, *path),
            "start the program by 'kymo record', or after eval \"$(kymo env)\": both keep the other tool"};
  return {name, Verdict::Doubtful, base::format("process {} was started without {}", pid, one.variable),
          "start the program by 'kymo record', or after eval \"$(kymo env)\""};
}

}  // namespace

Findings examine_interfaces(std::optional<pid_t> pid) {
  Findings findings;
  for (const InterfaceDescription& one : interface_descriptions()) {
    if (pid)
      findings.push_back(examine(one, *pid));
    else
      findings.push_back(examine(one));
  }
  return findings;
}

}  // namespace kymo::cli
