#include "commands/ondemand/stack_groups.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyze/functions/functions.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using sample::ProcessStacks;
using sample::ThreadStack;

enum class Of : uint8_t { OneProcess, ManyProcesses };

std::string thread_text(const ThreadStack& thread) {
  return base::format("{} \"{}\"", thread.tid, base::printable(thread.name));
}

std::string state_text(const ProcessStacks& process, const ThreadStack& thread, Of of) {
  if (thread.state == 'R') return "runs";
  if (thread.state == 'Z' || thread.state == 'X') return "has ended";
  const bool is_stopped = thread.state == 'T' || thread.state == 't';
  std::string text = is_stopped ? "is stopped" : thread.state == 'D' ? "waits for a device or a disk" : "waits";
  if (!thread.blocked) return text;
  text += " in " + base::printable(thread.blocked->call);
  // "mutex 0x7f01…", "socket:[4711]": the kind is the same in all processes.
  const std::string& object = thread.blocked->object;
  const size_t end = of == Of::OneProcess ? object.npos : std::min(object.find(" 0x"), object.find(":["));
  if (!object.empty()) text += ": " + base::printable(object.substr(0, end));
  if (!thread.blocked->of || of == Of::ManyProcesses) return text;
  const auto other = std::ranges::find(process.threads, *thread.blocked->of, &ThreadStack::tid);
  const bool is_join = thread.blocked->object == "end of a thread";
  return text +
         base::format("{}{}", is_join ? ", thread " : ", held by thread ",
                      other == process.threads.end() ? std::to_string(*thread.blocked->of) : thread_text(*other));
}

std::string place_text(const symbols::Frame& frame, Of of) {
  const std::string& path = frame.file.empty() ? frame.module : frame.file;
  std::string place = path.substr(path.rfind('/') + 1);
  if (!frame.file.empty() && of == Of::OneProcess) place += base::format(":{}", frame.line);
  return place;
}

// Functions that call themselves, or each other in turn: the same lines again and again.
struct Repeated {
  size_t lines = 1, more = 0;  // more: how many times they follow themselves
};
using Lines = std::vector<std::string>::const_iterator;
Repeated repeated_from(Lines first, Lines end) {
  constexpr ptrdiff_t kMostLines = 8;
  constexpr size_t kFewestSaved = 3;
  for (ptrdiff_t lines = 1; lines <= std::min(kMostLines, (end - first) / 2); ++lines) {
    size_t more = 0;
    for (Lines next = first + lines; end - next >= lines && std::equal(first, first + lines, next); next += lines)
      ++more;
    if (more * static_cast<size_t>(lines) >= kFewestSaved) return {static_cast<size_t>(lines), more};
  }
  return {};
}

std::string frames_text(const ThreadStack& thread, Of of) {
  std::vector<std::string> lines;
  for (const symbols::Frame& frame : thread.frames) {
    const std::string place = place_text(frame, of);
    // Code in no file is somewhere else in each process.
    const bool is_address = frame.module.empty() && frame.function.starts_with("0x");
    lines.push_back(
        base::format("    {}{}{}",
                     is_address && of == Of::ManyProcesses ? "(code without a name)"
                                                           : base::printable(symbols::short_name(frame.function)),
                     place.empty() || frame.function.starts_with(place) ? "" : "  " + base::printable(place),
                     frame.inlined ? " (inlined)" : ""));
  }
  std::string text;
  for (auto line = lines.begin(); line != lines.end();) {
    const Repeated repeated = repeated_from(line, lines.end());
    for (size_t i = 0; i < repeated.lines; ++i) text += *line++ + "\n";
    if (repeated.more == 0) continue;
    line += static_cast<ptrdiff_t>(repeated.more * repeated.lines);
    text += repeated.lines == 1 ? base::format("    … the same, {} more\n", count_of(repeated.more, "time"))
                                : base::format("    … the same {} functions, {} more\n", repeated.lines,
                                               count_of(repeated.more, "time"));
  }
  if (thread.frames.empty()) return thread.state == 'Z' ? "" : "    (the stack is not known)\n";
  if (!thread.is_complete) text += "    (what called this is not known)\n";
  return text;
}

// ", in ncclAllReduce": what the program does there. The stack begins with the system's functions for it.
std::string function_text(const ThreadStack& thread) {
  const auto own = functions::innermost_own(thread.frames);
  return own == thread.frames.end() ? "" : ", in " + base::printable(symbols::short_name(own->function));
}

// "0-16, 18-63"
std::string ranges_text(const std::set<uint64_t>& numbers) {
  std::vector<std::string> ranges;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    ranges.push_back(first == last ? base::format("{}", *first) : base::format("{}-{}", *first, *last));
    first = std::next(last);
  }
  return base::join(ranges, ", ");
}

std::optional<uint64_t> rank_of(const SeenProcess& process) {
  uint64_t rank = 0;
  const char* const end = process.rank.data() + process.rank.size();
  const auto [rest, error] = std::from_chars(process.rank.data(), end, rank);
  return error == std::errc() && rest == end ? std::optional(rank) : std::nullopt;
}

// Threads at the same place.
struct SamePlace {
  const std::string* what = nullptr;  // their state and their stack
  bool is_main = false;
  std::vector<const SeenProcess*> processes;  // each once
  std::vector<const ThreadStack*> threads;
};

std::string threads_text(const SamePlace& group) {
  const auto& threads = group.threads;
  if (threads.size() == 1) return "thread " + thread_text(*threads.front());
  std::string names = base::format("{} threads {}", threads.size(), thread_text(*threads.front()));
  constexpr size_t kShown = 4;
  for (size_t i = 1; i < std::min(kShown, threads.size()); ++i) names += ", " + thread_text(*threads[i]);
  return names + (threads.size() > kShown ? ", …" : "");
}

// Of several processes.
std::string members_text(const SamePlace& group) {
  std::string text = processes_text(group.processes);
  if (group.is_main) return text;
  std::set<std::string> names;
  for (const ThreadStack* thread : group.threads) names.insert("\"" + base::printable(thread->name) + "\"");
  constexpr size_t kShown = 3;
  const std::vector<std::string> first(names.begin(), std::next(names.begin(), std::min(kShown, names.size())));
  return text + base::format(", {} {}{}", count_of(group.threads.size(), "thread"), base::join(first, ", "),
                             names.size() > kShown ? ", …" : "");
}

std::string head_text(std::span<const SeenProcess> processes) {
  const ProcessStacks& first = processes.front().stacks;
  const auto on_host = [](const std::string& host) { return host.empty() ? "" : " on " + base::printable(host); };
  if (processes.size() == 1)
    return base::format("{} ({}{}): {}, stopped for {}\n", base::printable(first.program), first.pid,
                        on_host(processes.front().host), count_of(first.threads.size(), "thread"),
                        duration_text(first.stopped_ns));
  std::set<std::string> programs, hosts;
  uint64_t stopped_ns = 0;
  for (const SeenProcess& process : processes) {
    programs.insert(base::printable(process.stacks.program));
    hosts.insert(process.host);
    stopped_ns = std::max(stopped_ns, process.stacks.stopped_ns);
  }
  return base::format("{}: {}{}, each stopped for at most {}\n", base::join(programs, ", "),
                      count_of(processes.size(), "process", "processes"),
                      hosts.size() == 1 ? on_host(*hosts.begin()) : base::format(" on {} hosts", hosts.size()),
                      duration_text(stopped_ns));
}

}  // namespace

std::string processes_text(const std::vector<const SeenProcess*>& processes) {
  const auto number = [](const SeenProcess& process) {
    return base::format("{}{}{}", process.stacks.pid, process.host.empty() ? "" : " on ",
                        base::printable(process.host));
  };
  std::set<uint64_t> ranks;
  bool all_have_one = true;
  for (const SeenProcess* process : processes) {
    const auto rank = rank_of(*process);
    all_have_one &= rank.has_value();
    if (rank) ranks.insert(*rank);
  }
  if (processes.size() == 1) {
    const std::string program = base::printable(processes.front()->stacks.program);
    return all_have_one ? base::format("rank {} ({} {})", *ranks.begin(), program, number(*processes.front()))
                        : base::format("{} {}", program, number(*processes.front()));
  }
  if (all_have_one && ranks.size() == processes.size())
    return base::format("{} ranks ({})", ranks.size(), ranges_text(ranks));
  const std::string count = base::format("{} processes", processes.size());
  if (all_have_one) return base::format("{} of {} ({})", count, count_of(ranks.size(), "rank"), ranges_text(ranks));
  constexpr size_t kShown = 8;
  std::vector<std::string> numbers;
  for (size_t i = 0; i < std::min(kShown, processes.size()); ++i) numbers.push_back(number(*processes[i]));
  return base::format("{} ({}{})", count, base::join(numbers, ", "), processes.size() > kShown ? ", …" : "");
}

std::string stacks_text(std::span<const SeenProcess> processes) {
  if (processes.empty()) return {};
  const Of of = processes.size() == 1 ? Of::OneProcess : Of::ManyProcesses;
  std::map<std::pair<bool, std::string>, SamePlace> by_place;
  std::vector<SamePlace*> groups;
  for (const SeenProcess& process : processes) {
    for (const ThreadStack& thread : process.stacks.threads) {
      std::string what = state_text(process.stacks, thread, of);
      if (of == Of::ManyProcesses) what += function_text(thread);
      what += "\n" + frames_text(thread, of);
      const bool is_main = of == Of::ManyProcesses && thread.tid == process.stacks.pid;
      const auto [place, is_new] = by_place.try_emplace({is_main, std::move(what)});
      SamePlace& group = place->second;
      group.what = &place->first.second;
      group.is_main = is_main;
      if (group.processes.empty() || group.processes.back() != &process) group.processes.push_back(&process);
      group.threads.push_back(&thread);
      if (is_new) groups.push_back(&group);
    }
  }
  if (of == Of::ManyProcesses)
    std::ranges::stable_sort(groups, [](const SamePlace* one, const SamePlace* other) {
      return std::pair(one->is_main, one->processes.size()) > std::pair(other->is_main, other->processes.size());
    });
  std::string text = head_text(processes);
  for (const SamePlace* const group : groups) {
    const bool is_one = group->threads.size() == 1;
    const std::string names = of == Of::OneProcess ? threads_text(*group) : members_text(*group);
    text += "\n" + coloured(names, Colour::Bold, Stream::Output) + (is_one ? " " : ": each ") + *group->what;
  }
  return text;
}

}  // namespace kymo::cli
