#include "commands/ondemand/on_hosts.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/ondemand/commands.h"
#include "daemon/triggers.h"
#include "hosts/connection.h"
#include "hosts/host_list.h"
#include "json/document.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "trace/reader.h"

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

namespace {

constexpr size_t kConnectingAtATime = 32;  // sshd refuses some of many connections that begin at the same time
constexpr auto kLongestCommand = std::chrono::hours(24 * 8);  // longer than the longest trace

void block_pipe_signal() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

std::string indented(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    made.append("  ").append(base::printable(text.substr(0, end))).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return made;
}

bool is_json(std::string_view text) {
  try {
    const json::Document document(text, json::RepeatedNames::LastCounts);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

OnHosts::OnHosts(const HostsOptions& options) : options_(options) {
  for (const std::string& host : options.hosts) hosts_.emplace_back().host = host;
}

void OnHosts::run_all(const std::function<void(HostRun&)>& work, size_t at_a_time) {
  SignalInbox inbox({SIGINT, SIGTERM, SIGHUP});  // before the threads, which inherit its mask
  std::atomic<size_t> next{0}, running{0};
  const auto run = [&] {
    block_pipe_signal();  // a host that goes away is an error, not a signal
    for (size_t i = next++; i < hosts_.size(); i = next++) {
      HostRun& host = hosts_[i];
      try {
        if (host.error.empty()) work(host);
      } catch (const std::exception& error) {
        host.error = error.what();
        host.connection.reset();
      }
    }
    --running;
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(at_a_time, hosts_.size()); ++i) {
    ++running;
    threads.emplace_back(run);
  }
  while (running != 0)
    if (inbox.wait(std::chrono::milliseconds(20))) ++stops_;
  for (std::thread& thread : threads) thread.join();
}

void OnHosts::connect() {
  run_all(
      [&](HostRun& host) {
        if (stops_ != 0) throw Error("interrupted");
        host.connection = std::make_unique<hosts::Connection>(options_.ssh, host.host, stops_);
        host.clock = host.connection->measure_clock();
      },
      kConnectingAtATime);
}

void OnHosts::each(const std::function<void(HostRun&)>& work) { run_all(work, hosts_.size()); }

int run_on_hosts(const std::string& command, const Arguments& arguments, const HostsOptions& options, bool json) {
  OnHosts run(options);
  run.connect();
  Arguments words = without_hosts(arguments);
  words.insert(words.begin(), command);
  int code = kDone;
  run.each([&](HostRun& host) {
    host.result = host.connection->run(words, kLongestCommand);
    const std::lock_guard lock(run.printing());
    code = std::max(code, host.result.exit_code);
    if (!json) print(base::format("{}\n{}{}", host.host, indented(host.result.output), indented(host.result.errors)));
  });
  base::JsonWriter results;
  results.begin_object();
  results.begin_array("hosts");
  for (const HostRun& host : run.hosts()) {
    if (!host.error.empty()) code = kFailed;  // also if it matched nothing on others, which is a larger number
    if (!host.error.empty() && !json) say_error(base::format("{}: {}", host.host, host.error));
    results.begin_object();
    results.field("host", host.host);
    if (host.error.empty()) {
      results.field("exit_code", host.result.exit_code);
      if (is_json(host.result.output))
        results.json_field("output", host.result.output);
      else
        results.field("output", host.result.output);
      if (!host.result.errors.empty()) results.field("errors", host.result.errors);
      results.field("clock_offset_ns", host.clock.offset_ns);
      results.field("clock_error_ns", host.clock.error_ns);
    } else {
      results.field("error", host.error);
    }
    results.end_object();
  }
  results.end_array();
  results.end_object();
  if (json) print(results.text());
  return code;
}

void check_fetched(const std::string& file, const std::string& boot_id, uint64_t trigger) {
  const trace::Reader reader(file);
  for (const auto& [id, writer] : reader.writers()) {
    const trace::Origin& origin = writer.origin;
    if (!origin.boot_id.empty() && origin.boot_id != boot_id)
      throw Error(
          base::format("it is a trace of another host, {}: use {{host}} in the name", base::printable(origin.host)));
    uint64_t request = 0;
    for (const auto& [name, value] : origin.metadata)
      if (name == "request") std::from_chars(value.data(), value.data() + value.size(), request);
    if (request != 0 && daemon::trigger_of(request) != trigger)
      throw Error(base::format("it is the trace of trigger {} and not of {}: use {{time}} in the name",
                               daemon::trigger_of(request), trigger));
  }
}

// `kymo remote`: what ssh starts on a host. Not in the list of commands: nobody types it.
int remote_command(const Arguments& arguments) {
  if (!arguments.empty())
    throw options::UsageError("remote", "it takes no arguments; 'kymo trigger --hosts' starts it");
  return hosts::serve_far_end(STDIN_FILENO, STDOUT_FILENO, std::filesystem::read_symlink("/proc/self/exe").string());
}

}  // namespace kymo::cli
