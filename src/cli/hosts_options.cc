#include "cli/hosts_options.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "hosts/host_list.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

// Each takes one value.
constexpr std::string_view kHosts = "--hosts", kHostsFrom = "--hosts-from", kSlurm = "--slurm", kSsh = "--ssh",
                           kRemoteKymo = "--remote-kymo", kTimeout = "--host-timeout", kFetch = "--fetch";

void add_all(HostsOptions& options, std::vector<std::string> hosts) {
  options.is_given = true;
  for (std::string& host : hosts)
    if (std::ranges::find(options.hosts, host) == options.hosts.end()) options.hosts.push_back(std::move(host));
}

std::vector<std::string> hosts_in_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidArgument(
        base::format("'{}' is a folder: give a file with one list of hosts per line", base::printable(path)));
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file && !file.eof()) throw InvalidArgument(base::format("cannot read '{}'", base::printable(path)));
  auto hosts = hosts::expand_lines(text);
  if (hosts.empty()) throw InvalidArgument(base::format("'{}' names no host", base::printable(path)));
  return hosts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.empty()) throw InvalidArgument("the command is empty; write 'ssh -F FILE', for example");
  return words;
}

}  // namespace

void add_hosts(options::CommandLine& line, HostsOptions& options) {
  line.text(
      std::string(kHosts), "LIST", [&](const std::string& text) { add_all(options, hosts::expand(text)); },
      "on these hosts, by ssh: node[001-128],login");
  line.text(
      std::string(kHostsFrom), "FILE", [&](const std::string& text) { add_all(options, hosts_in_file(text)); },
      "on the hosts in this file, one list per line");
  line.text(
      std::string(kSlurm), "JOB", [&](const std::string& text) { add_all(options, hosts::hosts_of_slurm_job(text)); },
      "on the hosts of this Slurm job");
  line.text(
      std::string(kSsh), "COMMAND",
      [&](const std::string& text) {
        options.needs_hosts = kSsh;
        options.ssh.command = words_of(text);
      },
      "the ssh to use: 'ssh -F config'");
  line.text(
      std::string(kRemoteKymo), "PATH",
      [&](const std::string& text) {
        options.needs_hosts = kRemoteKymo;
        options.ssh.remote_kymo = text;
      },
      "where kymo is on the hosts; default: in their PATH");
  line.text(
      std::string(kTimeout), "TIME",
      [&](const std::string& text) {
        options.needs_hosts = kTimeout;
        options.ssh.timeout = std::chrono::milliseconds(base::parse_duration_ns(text) / 1'000'000);
        if (options.ssh.timeout.count() == 0) throw InvalidArgument("it is less than 1ms");
      },
      "how long to wait for a host; default: 5s");
}

bool is_for_hosts(const char* command, const HostsOptions& options) {
  if (!options.is_given && !options.needs_hosts.empty())
    throw options::UsageError(command, base::format("{} is for other hosts: give them with {}, {} or {}",
                                                    options.needs_hosts, kHosts, kHostsFrom, kSlurm));
  return options.is_given;
}

Arguments without_hosts(const Arguments& arguments) {
  static constexpr std::string_view kAll[] = {kHosts, kHostsFrom, kSlurm, kSsh, kRemoteKymo, kTimeout, kFetch};
  Arguments rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = std::string_view(arguments[i]).substr(0, arguments[i].find('='));
    if (std::ranges::find(kAll, name) == std::end(kAll))
      rest.push_back(arguments[i]);
    else if (name.size() == arguments[i].size())
      ++i;  // its value
  }
  return rest;
}

}  // namespace kymo::cli
