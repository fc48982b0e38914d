#include "analyze/functions/functions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analyze/views/paths.h"
#include "base/text.h"
#include "base/wildcard.h"
#include "symbols/short_name.h"

namespace kymo::functions {

namespace {

class Rows {
 public:
  explicit Rows(bool are_lines) : are_lines_(are_lines) {}

  FunctionRow& of(const symbols::Frame& frame) {
    std::string key = frame.function + '\n' + frame.module;
    if (are_lines_) key += base::format("\n{}:{}", frame.file, frame.line);
    const auto [known, is_new] = numbers_.try_emplace(std::move(key), rows_.size());
    if (is_new) {
      FunctionRow& row = rows_.emplace_back();
      row.function = frame.function;
      row.module = frame.module;
      if (are_lines_) row.file = frame.file, row.line = frame.line;
    }
    return rows_[known->second];
  }
  std::vector<FunctionRow> take() { return std::move(rows_); }

 private:
  const bool are_lines_;
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<FunctionRow> rows_;
};

const char* name_of_no_stack(const Samples& samples) {
  return samples.what == What::Waits ? "(no stack)" : "(unknown)";
}

void fold_inlines(std::vector<symbols::Frame>& frames) {
  std::erase_if(frames, [](const symbols::Frame& frame) { return frame.inlined; });
}

// Innermost first. At least one.
std::vector<symbols::Frame> frames_of(Samples& samples, memory::StackId stack, Inlines inlines) {
  std::vector<symbols::Frame> frames = samples.stacks->frames(stack);
  if (inlines == Inlines::Fold) fold_inlines(frames);
  if (frames.empty()) frames.emplace_back().function = name_of_no_stack(samples);
  return frames;
}

// One of the words of a list that begins and ends with a space.
bool is_in(std::string_view all, std::string_view one) {
  return one.find(' ') == one.npos && all.find(" " + std::string(one) + " ") != all.npos;
}

// Of Python: the interpreter, and the libraries that come with it.
bool is_python_itself(std::string_view module, std::string_view file) {
  if (file.starts_with("python3") || file.starts_with("libpython3")) return !file.ends_with(".py");
  return module.starts_with("<frozen") ||
         (module.find("/lib/python3") != module.npos && module.find("-packages/") == module.npos);
}

// What Kymo loads into a program: "/usr/lib/kymo/libkymo_malloc.so".
bool is_recorder(std::string_view module) { return module.substr(module.rfind('/') + 1).starts_with("libkymo_"); }

// Of the kernel, of what all programs have, and of what Kymo puts before it: "[kernel]", "libc.so.6", "libc-2.31.so",
// "ld-linux-x86-64.so.2".
bool is_standard_library(std::string_view module) {
  const std::string_view file = module.substr(module.rfind('/') + 1);
  if (file.starts_with("[") || file.starts_with("ld-") || is_python_itself(module, file)) return true;
  const size_t end = std::min(file.find(".so"), file.find("-2."));
  return is_recorder(module) ||
         (end != file.npos &&
          is_in(" libc libpthread librt libm libstdc++ libc++ libc++abi libgcc_s ", file.substr(0, end)));
}

// The functions of the C library that wait. No action: for what, their callers know.
struct Calls {
  std::string_view action;
  std::string_view names;  // begin and end with a space
};
constexpr Calls kCalls[] = {
    {kSleep, " nanosleep clock_nanosleep usleep sleep thrd_sleep "},
    {kMutex, " pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock mtx_lock lll_lock_wait "},
    {kReadWrite,
     " pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock "
     "pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock "},
    {kCondition, " pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait "},
    {kPythonLock, " PyThread_acquire_lock_timed "},
    {"waits for a semaphore", " sem_wait sem_timedwait sem_clockwait "},
    {kJoin, " pthread_join pthread_clockjoin_np pthread_timedjoin_np thrd_join pthread_clockjoin_ex "},
    {kChild, " wait3 wait4 waitpid waitid wait "},
    {"waits for input",
     " read readv pread64 preadv recv recvfrom recvmsg recvmmsg accept accept4 poll ppoll select "
     "pselect epoll_wait epoll_pwait epoll_pwait2 io_getevents "},
    {"waits for a connection", " connect "},
    {"waits for a disk", " fsync fdatasync sync_file_range syncfs sync msync "},
    {"waits until output is taken", " write writev pwrite64 pwritev send sendto sendmsg sendmmsg sendfile "},
    {"", " _start futex_wait pause sched_yield sigsuspend sigwait syscall "},
};

const Calls* find_call(std::string_view function) {
  const auto found = std::ranges::find_if(kCalls, [&](const Calls& calls) { return is_in(calls.names, function); });
  return found != std::end(kCalls) ? found : nullptr;
}

// Of the libraries of C and C++ in a static program, and of the stubs through which a file calls them. Names that begin
// with two underscores are reserved for them.
bool is_standard_name(std::string_view function) {
  return function.starts_with("__") || function.starts_with("std::") || function.ends_with("@plt") ||
         find_call(function) != nullptr;
}

// The operator() of the function object that a std::thread runs: "main::{lambda()#1}::operator()". Empty: `function` is
// not what runs one.
std::string body_of_thread(std::string_view function) {
  constexpr std::string_view kBegin = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";
  const size_t end = function.rfind(">::_M_run");
  if (!function.starts_with(kBegin) || end == function.npos) return {};
  function = function.substr(kBegin.size(), end - std::min(end, kBegin.size()));
  size_t length = 0;
  for (int depth = 0; length < function.size(); ++length) {
    const char one = function[length];
    depth += one == '<' || one == '(' || one == '{' ? 1 : one == '>' || one == ')' || one == '}' ? -1 : 0;
    if (depth < 0 || (depth == 0 && one == ',')) break;
  }
  while (length != 0 && function[length - 1] == ' ') --length;
  function = function.substr(0, length);
  if (function.empty() || function.find("(*)") != function.npos) return {};
  return std::string(function) + "::operator()";
}

// Innermost first. Leaves out what is the same for all waits of a kind. If the compiler put all functions of the
// program into a function of the C++ library that its file contains, that one is left: the outermost, which runs the
// program's.
void leave_out_system(std::vector<symbols::Frame>& frames) {
  if (const auto own = innermost_own(frames); own != frames.end()) {
    frames.erase(frames.begin(), own);
    return;
  }
  const auto library = std::find_if(frames.rbegin(), frames.rend(), [](const symbols::Frame& frame) {
    return frame.function.starts_with("std::") && !is_standard_library(frame.module);
  });
  if (library == frames.rend()) return;
  frames.erase(frames.begin(), std::prev(library.base()));
  if (std::string body = body_of_thread(frames.front().function); !body.empty())
    frames.front().function = std::move(body);
}

struct Sum {
  uint64_t count = 0, ns = 0;
};
using StackSums = std::unordered_map<memory::StackId, Sum>;

// The same stack on several threads is looked up once.
StackSums sums_of_stacks(const Samples& samples) {
  StackSums stacks;
  for (const SampledThread& thread : samples.threads)
    for (const SampledStack& one : thread.stacks) {
      Sum& sum = stacks[one.stack];
      sum.count += one.count;
      sum.ns += one.weight;
    }
  return stacks;
}

// The functions with a name, with or without its namespaces and parameters, or with names of a pattern.
class NamedFunctions {
 public:
  explicit NamedFunctions(const std::string& pattern) : pattern_(pattern) {}

  bool contain(const symbols::Frame& frame) {
    const auto [known, is_new] = known_.try_emplace(frame.function, false);
    if (is_new) known->second = is_named(frame.function);
    return known->second;
  }
  // The innermost one on a stack, if its code is that of the innermost frame. Otherwise the end.
  std::vector<symbols::Frame>::const_iterator running(const std::vector<symbols::Frame>& frames) {
    const auto first = std::ranges::find_if(frames, [&](const symbols::Frame& frame) { return contain(frame); });
    const bool is_here = std::all_of(frames.begin(), first, [](const symbols::Frame& frame) { return frame.inlined; });
    return is_here ? first : frames.end();
  }

 private:
  bool is_named(const std::string& function) const {
    if (base::matches(pattern_, function)) return true;
    const std::string name = symbols::short_name(function, symbols::kAnyWidth);
    return base::matches(pattern_, name) || base::matches("*::" + pattern_, name);
  }

  const std::string& pattern_;
  std::unordered_map<std::string, bool> known_;
};

// With `only`, the rows of these functions, each with what was inlined in it.
FunctionTable count_rows(Samples& samples, Inlines inlines, bool are_lines, NamedFunctions* only = nullptr) {
  FunctionTable table;
  table.what = samples.what;
  bool is_cpu_known = !samples.is_part;
  std::set<std::pair<const convert::Group*, uint64_t>> threads;  // a process that runs another program is two writers
  for (const SampledThread& thread : samples.threads) {
    threads.emplace(thread.place->group, thread.place->tid);
    table.period_ns = std::max(table.period_ns, thread.period_ns);
    table.cpu_ns += thread.on_ns;
    is_cpu_known = is_cpu_known && (thread.on_ns != 0 || thread.samples == 0);
    table.off_ns += thread.off_ns;
    table.preempted_ns += thread.preempted_ns;
  }
  table.cpu_ns += table.lost_cpu_ns = samples.lost_cpu_ns;
  table.unknown_ns = samples.unknown_ns;
  table.threads = threads.size();
  if (!is_cpu_known && samples.lost_cpu_ns == 0) table.cpu_ns = 0;  // else it is what the kernel counted
  Rows rows(are_lines);
  for (const auto& [stack, sum] : sums_of_stacks(samples)) {
    table.samples += sum.count;
    table.time_ns += sum.ns;
    std::vector<symbols::Frame> frames = frames_of(samples, stack, inlines);
    if (samples.what == What::Waits && stack == 0) table.without_stack += sum.count;
    if (samples.what == What::Waits) leave_out_system(frames);
    using memory::Stacks;
    if (Stacks::is_cut(frames.back())) table.incomplete += sum.count;
    if (Stacks::is_cut(frames.back(), Stacks::Cut::CopyTooShort)) table.longer_than_copy += sum.count;
    size_t self = 0;  // the frame to which the sample itself belongs
    if (only != nullptr) {
      if (only->running(frames) == frames.end()) self = frames.size();
      std::erase_if(frames, [&](const symbols::Frame& frame) { return !only->contain(frame); });
    }
    std::unordered_set<FunctionRow*> seen;
    // The rows may move while rows are added, so all are created first.
    for (const symbols::Frame& frame : frames) rows.of(frame);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i != 0 && Stacks::is_cut(frames[i])) continue;
      FunctionRow& row = rows.of(frames[i]);
      if (i == self) {
        row.self_samples += sum.count;
        row.self_ns += sum.ns;
      }
      if (!seen.insert(&row).second) continue;  // it called itself
      row.total_samples += sum.count;
      row.total_ns += sum.ns;
    }
  }
  table.missing_files.assign(samples.stacks->missing_files().begin(), samples.stacks->missing_files().end());
  table.rows = rows.take();
  std::erase_if(table.rows, [](const FunctionRow& row) { return row.total_samples == 0; });
  std::ranges::sort(table.rows, [](const FunctionRow& a, const FunctionRow& b) {
    return std::tie(b.self_ns, b.total_ns, a.function, a.module, a.file, a.line) <
           std::tie(a.self_ns, a.total_ns, b.function, b.module, b.file, b.line);
  });
  return table;
}

}  // namespace

std::string_view action_of_call(std::string_view function) {
  while (function.starts_with("_")) function.remove_prefix(1);
  if (function.starts_with("GI_")) function.remove_prefix(3);
  while (function.starts_with("_")) function.remove_prefix(1);
  const Calls* const calls = find_call(function.substr(0, function.find('@')));
  return calls != nullptr ? calls->action : std::string_view();
}

bool is_own(const symbols::Frame& frame) {
  return !is_standard_library(frame.module) && !is_standard_name(frame.function) && !memory::Stacks::is_cut(frame);
}

std::vector<symbols::Frame>::const_iterator innermost_own(const std::vector<symbols::Frame>& frames) {
  return std::ranges::find_if(frames, is_own);
}

std::string own_function(std::vector<symbols::Frame> frames) {
  fold_inlines(frames);
  leave_out_system(frames);
  const auto named = std::ranges::find_if(frames, [](const symbols::Frame& frame) {
    return is_own(frame) && frame.function.find("+0x") == frame.function.npos;
  });
  if (named != frames.end()) return named->function;
  return frames.empty() ? std::string() : frames.front().function;
}

FunctionTable count_functions(Samples& samples, Inlines inlines) { return count_rows(samples, inlines, false); }

FunctionTable count_lines(Samples& samples) { return count_rows(samples, Inlines::Show, true); }

FunctionTable count_lines_of(Samples& samples, const std::string& name) {
  NamedFunctions only(name);
  return count_rows(samples, Inlines::Show, true, &only);
}

std::vector<SampledInstruction> count_instructions(Samples& samples, const std::string& name) {
  NamedFunctions wanted(name);
  std::map<memory::Stacks::Code, Sum> sums;
  for (const auto& [stack, sum] : sums_of_stacks(samples)) {
    const std::vector<symbols::Frame> frames = samples.stacks->frames(stack);
    if (wanted.running(frames) == frames.end()) continue;
    const std::optional<memory::Stacks::Code> code = samples.stacks->code(stack);
    if (!code) continue;
    Sum& one = sums[*code];
    one.count += sum.count;
    one.ns += sum.ns;
  }
  std::vector<SampledInstruction> all;
  for (const auto& [code, sum] : sums) all.push_back({code, sum.count, sum.ns});
  return all;
}

std::vector<OwnFunction> own_functions(Samples& samples) {
  std::map<std::string, uint64_t> sums;
  for (const auto& [stack, sum] : sums_of_stacks(samples)) {
    const std::vector<symbols::Frame> frames = frames_of(samples, stack, Inlines::Fold);
    if (!is_recorder(frames.front().module)) sums[own_function(frames)] += sum.ns;
  }
  std::vector<OwnFunction> all;
  for (const auto& [function, ns] : sums) all.push_back({function, ns});
  std::ranges::stable_sort(all, std::ranges::greater(), &OwnFunction::ns);
  return all;
}

std::vector<std::string> function_names(Samples& samples) {
  std::set<std::string> names;
  for (const auto& [stack, sum] : sums_of_stacks(samples))
    for (symbols::Frame& frame : samples.stacks->frames(stack))
      if (!memory::Stacks::is_cut(frame) && frame.function.find("+0x") == frame.function.npos)
        names.insert(std::move(frame.function));
  return {names.begin(), names.end()};
}

void add_times(FunctionTable& lines, const FunctionTable& other, uint64_t FunctionRow::*from,
               uint64_t FunctionRow::*to) {
  const auto key_of = [](const FunctionRow& row) { return std::tie(row.function, row.module, row.file, row.line); };
  std::map<decltype(key_of(lines.rows[0])), uint64_t> numbers;
  lines.rows.reserve(lines.rows.size() + other.rows.size());  // keys refer to rows
  for (size_t i = 0; i < lines.rows.size(); ++i) numbers[key_of(lines.rows[i])] = i;
  for (const FunctionRow& row : other.rows) {
    if (row.*from == 0) continue;
    const auto known = numbers.find(key_of(row));
    FunctionRow& into = known != numbers.end() ? lines.rows[known->second] : lines.rows.emplace_back();
    if (known == numbers.end()) std::tie(into.function, into.module, into.file, into.line) = key_of(row);
    into.*to = row.*from;
  }
  std::ranges::stable_sort(lines.rows, std::ranges::greater(),
                           [](const FunctionRow& row) { return row.self_ns + row.waiting_ns + row.device_ns; });
}

CallTree call_tree(Samples& samples, const CallTreeOptions& options) {
  CallTree tree;
  std::unordered_map<std::string, uint32_t> numbers;  // of functions
  std::vector<std::pair<std::string, std::string>> functions;
  std::vector<bool> is_root;
  NamedFunctions wanted(options.function);
  views::PathTrie trie;
  for (const auto& [stack, sum] : sums_of_stacks(samples)) {
    tree.samples += sum.count;
    tree.time_ns += sum.ns;
    std::vector<uint32_t> path;  // outermost first
    const std::vector<symbols::Frame> frames = frames_of(samples, stack, options.inlines);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const auto [known, is_new] =
          numbers.try_emplace(frame->function + '\n' + frame->module, static_cast<uint32_t>(functions.size()));
      path.push_back(known->second);
      if (!is_new) continue;
      functions.emplace_back(frame->function, frame->module);
      is_root.push_back(options.shape == CallTree::Shape::All || wanted.contain(*frame));
    }
    const auto root = std::ranges::find_if(path, [&](uint32_t number) { return is_root[number]; });
    if (root == path.end()) continue;
    if (options.shape == CallTree::Shape::Callers)
      path.erase(root + 1, path.end()), std::ranges::reverse(path);
    else
      path.erase(path.begin(), root);
    uint32_t node = views::PathTrie::kRoot;
    constexpr size_t kMaxNodes = 1 << 20;  // beyond it, time is counted in the function around
    for (const uint32_t number : path)
      if (trie.nodes().size() < kMaxNodes) node = trie.child(node, number);
    trie[node].count += sum.count;
    trie[node].ticks += sum.ns;
  }
  // A parent comes before its children.
  const size_t count = trie.nodes().size();
  std::vector<CallTree::Row> nodes(count);
  std::vector<std::vector<uint32_t>> children(count);
  for (size_t i = count; i-- > 1;) {
    const views::PathTrie::Node& node = trie.nodes()[i];
    nodes[i].self_ns = node.ticks;
    nodes[i].total_ns += node.ticks;
    nodes[i].samples += node.count;
    nodes[node.parent].total_ns += nodes[i].total_ns;
    nodes[node.parent].samples += nodes[i].samples;
    children[node.parent].push_back(static_cast<uint32_t>(i));
    std::tie(nodes[i].function, nodes[i].module) = functions[node.number];
  }
  struct Next {
    uint32_t node, depth, parent;
  };
  std::vector<Next> left{{views::PathTrie::kRoot, 0, 0}};
  while (!left.empty()) {
    const Next next = left.back();
    left.pop_back();
    const auto row = static_cast<uint32_t>(tree.rows.size());
    if (next.node != views::PathTrie::kRoot) {
      tree.rows.push_back(std::move(nodes[next.node]));
      tree.rows.back().depth = next.depth - 1;
      tree.rows.back().parent = next.depth == 1 ? row : next.parent;
    }
    std::vector<uint32_t>& inside = children[next.node];
    std::ranges::sort(inside, [&](uint32_t a, uint32_t b) {
      return std::tie(nodes[a].total_ns, nodes[b].function, nodes[b].module) <
             std::tie(nodes[b].total_ns, nodes[a].function, nodes[a].module);
    });
    for (const uint32_t child : inside) left.push_back({child, next.depth + 1, row});
  }
  return tree;
}

views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options) {
  using views::FrameKind;
  views::Paths result;
  result.problems = samples.problems;
  result.of = samples.what == What::Cpu ? "of samples" : "of waits";
  views::MergedPaths merged;
  symbols::ShortNames names(symbols::kAnyWidth);
  const auto name_of = [&](const std::string& function) { return options.full_text ? function : names.of(function); };
  for (const SampledThread& thread : samples.threads) {
    if (thread.stacks.empty()) continue;
    const uint32_t process =
        merged.child(views::PathTrie::kRoot, views::process_label(*thread.place->group, options), FrameKind::Process);
    const uint32_t track = merged.child(process, thread.place->name, FrameKind::Track);
    for (const SampledStack& one : thread.stacks) {
      uint32_t node = track;
      if (one.range != 0) node = merged.child(node, samples.ranges[one.range], FrameKind::Range);
      const std::vector<symbols::Frame> frames = samples.stacks->frames(one.stack);
      size_t depth = 0;
      bool is_cut = false;
      for (size_t i = frames.size(); i-- > 0 && !is_cut;) {
        is_cut = ++depth > options.max_depth || merged.size() > options.max_paths;
        if (!is_cut) node = merged.child(node, name_of(frames[i].function), FrameKind::Function);
      }
      if (frames.empty()) node = merged.child(node, name_of_no_stack(samples), FrameKind::Function);
      if (is_cut) result.over_limit += one.count;
      merged.count(node, one.count, one.weight);
    }
  }
  merged.finish(result);
  return result;
}

}  // namespace kymo::functions
