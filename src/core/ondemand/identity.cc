#include "ondemand/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string_view>

#include "base/clock.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"

namespace kymo::ondemand {
namespace {

constexpr size_t kLongestCommandLine = 1024;

std::string first_bytes(const std::string& path, size_t max) {
  std::ifstream file(path, std::ios::binary);
  std::string text(max, '\0');
  file.read(text.data(), static_cast<std::streamsize>(max));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// The fields after the name, which may hold anything: state, parent, …
std::string stat_fields(int32_t pid) {
  const std::string text = first_bytes(base::format("/proc/{}/stat", pid), 4096);
  const size_t name_end = text.rfind(')');
  return name_end == text.npos || name_end + 2 > text.size() ? std::string() : text.substr(name_end + 2);
}

uint64_t number_at(std::string_view fields, int index) {
  for (; index > 0 && !fields.empty(); --index) fields.remove_prefix(std::min(fields.find(' '), fields.size() - 1) + 1);
  uint64_t number = 0;
  std::from_chars(fields.data(), fields.data() + fields.size(), number);
  return number;
}

}  // namespace

std::string program_name() { return program_invocation_short_name; }

int64_t scheduler_job() {
  const char* text = base::environment("SLURM_JOB_ID");
  const std::string_view digits = text != nullptr ? text : "";
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

std::vector<int32_t> process_ancestry(size_t max) {
  constexpr int kParent = 1;
  std::vector<int32_t> pids{getpid()};
  while (pids.size() < max) {
    const auto parent = static_cast<int32_t>(number_at(stat_fields(pids.back()), kParent));
    if (parent <= 1) break;
    pids.push_back(parent);
  }
  return pids;
}

wire::Hello describe_process() {
  wire::Hello hello;
  hello.pid = getpid();
  hello.name = program_name().substr(0, wire::kLongestText);
  hello.command_line = first_bytes("/proc/self/cmdline", kLongestCommandLine);
  while (!hello.command_line.empty() && hello.command_line.back() == '\0') hello.command_line.pop_back();
  for (char& c : hello.command_line)
    if (c == '\0') c = ' ';
  if (const char* job = base::environment("SLURM_JOB_ID")) hello.job = std::string(job).substr(0, 256);
  hello.kymo_version = base::kVersion;
  return hello;
}

}  // namespace kymo::ondemand
