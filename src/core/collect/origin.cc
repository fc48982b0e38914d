// Describes the process that recorded: from the segment's header, which outlives the process, and from /proc while it
// runs.
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include "base/host.h"
#include "base/run_variables.h"
#include "collect/folders.h"
#include "collect/source.h"
#include "collect/version.h"

namespace kymo::collect {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return pieces;
}

// NAME=VALUE each. A segment has none of them if its command line is long, or if an earlier version made it.
std::vector<std::string> variables_of(const record::SegmentHeader& header, uint32_t begin) {
  std::string_view stored(header.origin + begin, record::kOriginBytes - begin);
  stored = stored.substr(0, stored.find(std::string_view("\0", 2)));
  if (stored.starts_with('\0')) stored = {};
  if (!stored.empty()) return split_at_nul(stored);
  return split_at_nul(read_text("/proc/" + std::to_string(header.pid) + "/environ"));
}

std::string processor_name() {
  const std::string text = read_text("/proc/cpuinfo");
  for (const std::string_view key : {"model name", "CPU part"}) {
    const size_t at = text.find(key);
    if (at == std::string::npos) continue;
    const size_t begin = text.find(": ", at), end = text.find('\n', at);
    if (begin == std::string::npos || begin > end) continue;
    const std::string name = text.substr(begin + 2, end - begin - 2);
    return key == "CPU part" ? "ARM part " + name : name;
  }
  return {};
}

const char* policy_name(uint32_t policy) {
  switch (static_cast<record::RingPolicy>(policy)) {
    case record::RingPolicy::Drop:
      return "drop";
    case record::RingPolicy::Overwrite:
      return "overwrite";
    default:
      return "block";
  }
}

}  // namespace

trace::Origin origin_of(const record::SegmentHeader& header) {
  trace::Origin origin;
  origin.session = to_hex(header.session);
  origin.pid = header.pid;
  origin.parent_pid = header.parent_pid;
  origin.start_realtime_ns = header.start_realtime_ns;
  origin.policy = policy_name(header.policy.load(std::memory_order_relaxed));
  origin.kymo_version = kVersion;
  const uint32_t bytes = std::min(header.origin_bytes, record::kOriginBytes);
  auto pieces = split_at_nul(std::string_view(header.origin, bytes));
  if (!pieces.empty()) {
    origin.executable = pieces.front();
    pieces.erase(pieces.begin());
  }
  origin.command_line = std::move(pieces);
  origin.host = base::host_name();
  utsname system;
  if (uname(&system) == 0) {
    origin.metadata.emplace_back("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  }
  origin.boot_id = base::boot_id();
  if (auto name = processor_name(); !name.empty()) origin.metadata.emplace_back("processor", name);
  origin.metadata.emplace_back("processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const std::string& variable : variables_of(header, bytes)) {
    if (!base::describes_run(variable)) continue;
    const size_t equals = variable.find('=');
    origin.metadata.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return origin;
}

}  // namespace kymo::collect
