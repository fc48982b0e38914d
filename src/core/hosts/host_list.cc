#include "hosts/host_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "hosts/process.h"
#include "kymo/error.h"

namespace kymo::hosts {
namespace {

InvalidArgument bad(std::string_view list, std::string_view why) {
  return InvalidArgument(
      base::format("'{}' is not a list of hosts: {}; write node[001-128],login", base::printable(list), why));
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == '@' || c == ':' || c == '%';
}

// "node[1-2,7]x" is three parts: "node", the numbers, "x". Commas inside brackets do not end a host.
std::vector<std::string_view> split_hosts(std::string_view list) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool is_inside = false;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[' && is_inside) throw bad(list, "a bracket inside a bracket");
    if (c == ']' && !is_inside) throw bad(list, "a bracket is not opened");
    if (c == '[' || c == ']') is_inside = c == '[';
    if (i == list.size() && is_inside) throw bad(list, "a bracket is not closed");
    if (c != ',' || is_inside) continue;
    parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

uint64_t number(std::string_view text, std::string_view list) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_too_large = error == std::errc::result_out_of_range || value > UINT32_MAX;
  if (text.empty() || end != text.data() + text.size() || (error != std::errc{} && !is_too_large))
    throw bad(list, base::format("'{}' is not a number", base::printable(text)));
  if (is_too_large) throw bad(list, base::format("{} is larger than {}", text, UINT32_MAX));
  return value;
}

// "001-128,200" between brackets.
std::vector<std::string> numbers(std::string_view text, std::string_view list) {
  std::vector<std::string> all;
  for (const std::string& item : base::split(text, ',')) {
    const std::string_view one = item;
    const size_t dash = one.find('-');
    const std::string_view first = one.substr(0, dash), last = dash == one.npos ? first : one.substr(dash + 1);
    const uint64_t from = number(first, list), to = number(last, list);
    if (to < from) throw bad(list, base::format("{} is after {}", first, last));
    if (to - from >= kMaxHosts) throw bad(list, base::format("more than {} hosts", kMaxHosts));
    for (uint64_t i = from; i <= to; ++i) {
      std::string digits = std::to_string(i);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      all.push_back(std::move(digits));
    }
  }
  return all;
}

// All hosts of one item of the list.
std::vector<std::string> expand_one(std::string_view item, std::string_view list) {
  std::vector<std::string> made = {""};
  while (!item.empty()) {
    const size_t open = std::min(item.find('['), item.size());
    for (std::string& one : made) one += item.substr(0, open);
    if (open == item.size()) break;
    const size_t close = item.find(']', open);
    std::vector<std::string> longer;
    const auto endings = numbers(item.substr(open + 1, close - open - 1), list);
    if (made.size() * endings.size() > kMaxHosts) throw bad(list, base::format("more than {} hosts", kMaxHosts));
    for (const std::string& one : made)
      for (const std::string& ending : endings) longer.push_back(one + ending);
    made = std::move(longer);
    item.remove_prefix(close + 1);
  }
  return made;
}

void add_once(std::vector<std::string>& hosts, std::set<std::string>& known, std::string_view list) {
  for (std::string_view item : split_hosts(list)) {
    const size_t begin = std::min(item.find_first_not_of(" \t\r"), item.size());
    item = item.substr(begin, item.find_last_not_of(" \t\r") + 1 - begin);
    if (item.empty()) throw bad(list, "a name is empty");
    for (std::string& host : expand_one(item, list)) {
      if (host.starts_with('-')) throw bad(list, base::format("'{}' begins with a dash", base::printable(host)));
      // One user at most, and a name on both sides.
      const size_t at = host.find('@');
      const bool is_user_wrong = at != host.npos && (at == 0 || at + 1 == host.size() || host.rfind('@') != at);
      if (is_user_wrong || !std::ranges::all_of(host, is_name_character))
        throw bad(list, base::format("'{}' is not a name of a host", base::printable(host)));
      if (known.insert(host).second) hosts.push_back(std::move(host));
      if (hosts.size() > kMaxHosts) throw bad(list, base::format("more than {} hosts", kMaxHosts));
    }
  }
}

}  // namespace

std::vector<std::string> expand(std::string_view list) {
  std::vector<std::string> hosts;
  std::set<std::string> known;
  add_once(hosts, known, list);
  return hosts;
}

std::vector<std::string> expand_lines(std::string_view text) {
  std::vector<std::string> hosts;
  std::set<std::string> known;
  for (const std::string& line : base::split(text, '\n')) {
    const std::string_view list = std::string_view(line).substr(0, line.find('#'));
    if (list.find_first_not_of(" \t\r") != list.npos) add_once(hosts, known, list);
  }
  return hosts;
}

std::vector<std::string> hosts_of_slurm_job(const std::string& job) {
  const bool is_id =
      !job.empty() && std::ranges::all_of(job, [](char c) { return (c >= '0' && c <= '9') || c == '_' || c == '+'; });
  if (!is_id) throw InvalidArgument(base::format("'{}' is not the number of a Slurm job", base::printable(job)));
  const Outcome outcome = run_to_end({"squeue", "--noheader", "--jobs", job, "--states", "RUNNING", "--format", "%N"});
  if (outcome.exit_code == 127)
    throw Error("Slurm is not installed here (squeue was not found): give the hosts with --hosts");
  if (outcome.exit_code != 0)
    throw Error(base::format("Slurm does not know job {}: {}", job, base::printable(last_line(outcome.errors))));
  std::vector<std::string> hosts = expand_lines(outcome.output);  // a line for each part of the job
  if (hosts.empty())
    throw Error(base::format("Slurm job {} does not run on any host now; 'squeue' shows its state", job));
  return hosts;
}

}  // namespace kymo::hosts
