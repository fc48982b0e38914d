// The cost of a daemon with a thousand programs, how soon the programs record, and whether they record what was
// requested.
//
//   bench_ondemand FOLDER [PROCESSES]      the socket and the traces go into the folder
//
// kymod, the commands and the programs are the real ones. The programs are forked from one (bench_served), each with
// its own agent, its own connection and its own trace. If that is allowed, all of them have priority over other work of
// the machine (SCHED_FIFO). So the result is the time that they need, and not the time that other programs leave to
// them.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon_peer.h"
#include "measure.h"
#include "report.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace {

using namespace kymo;
using bench::DaemonPeer;
using bench::fail;
using bench::realtime_ns;
using bench::text;

constexpr int kProcesses = 1000;
constexpr unsigned kCommands = 300, kMaxCommands = 1500;
constexpr double kQuietStart = 1.5;  // times the shortest start of a process so far
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kSpanNs = kNsPerSecond / 2;
constexpr int kIdleSeconds = 5;
constexpr const char* kLongRange = "100000";  // us: long, so that a thousand programs do not fill the machine
constexpr const char* kShortRange = "100";    // us: the time between events
constexpr double kEdgeNs = 10'000;            // max distance of the begin or end of a span from the requested time

std::string own_folder() { return std::filesystem::canonical("/proc/self/exe").parent_path(); }

// A child process. It is killed with its group at the end.
class Started {
 public:
  Started(std::vector<std::string> words, const std::string& daemon = {}) {
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!daemon.empty()) setenv("KYMO_DAEMON", daemon.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Started() {
    kill(-pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

uint64_t status_of(const std::string& folder, const std::string& key) {
  std::ifstream file(folder + "/status");
  uint64_t sum = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) sum += std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
  return sum;
}

uint64_t wake_ups(const std::string& folder) {
  return status_of(folder, "voluntary_ctxt_switches") + status_of(folder, "nonvoluntary_ctxt_switches");
}

// /proc/PID/task/TID of the agent of each program.
std::vector<std::string> agents(const std::vector<wire::ProcessEntry>& programs) {
  std::vector<std::string> found;
  for (const wire::ProcessEntry& program : programs) {
    std::error_code ignored;
    const std::string tasks = "/proc/" + std::to_string(program.pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
      std::ifstream file(task.path() / "comm");
      std::string name;
      if (std::getline(file, name) && name == "kymo-agent") found.push_back(task.path());
    }
  }
  return found;
}

uint64_t sum_of_wake_ups(const std::vector<std::string>& folders) {
  uint64_t sum = 0;
  for (const std::string& folder : folders) sum += wake_ups(folder);
  return sum;
}

void measure_idle(pid_t daemon, const std::vector<wire::ProcessEntry>& programs) {
  const std::string folder = "/proc/" + std::to_string(daemon);
  const std::vector<std::string> threads = agents(programs);
  sleep(1);
  const uint64_t before = wake_ups(folder), agents_before = sum_of_wake_ups(threads);
  sleep(kIdleSeconds);
  const uint64_t woken = wake_ups(folder) - before, agents_woken = sum_of_wake_ups(threads) - agents_before;
  bench::row("ondemand_idle",
             text("wake-ups in %d s with %zu programs and nothing asked: of the daemon, of all agents", kIdleSeconds,
                  threads.size()),
             text("%llu, %llu", static_cast<unsigned long long>(woken), static_cast<unsigned long long>(agents_woken)),
             "0, 0", woken == 0 && agents_woken == 0 && threads.size() == programs.size());
}

// The contents of one trace: the times of its first and last event, and whether recording began late.
struct Span {
  double first_ns = 0, last_ns = 0;  // CLOCK_REALTIME
  bool late = false;
  uint64_t losses = 0;
};

std::optional<Span> span_of(const std::string& path) {
  try {
    const trace::Reader reader(path);
    Span span{1e30, 0, false, 0};
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const trace::WriterInfo& writer = reader.writers().at(chunk.writer);
      const trace::ClockMap clock = trace::clock_map(writer.clocks.at(writer.tracks.at(chunk.track).clock));
      span.first_ns = std::min(span.first_ns, static_cast<double>(clock.to_realtime_ns(chunk.first)));
      span.last_ns = std::max(span.last_ns, static_cast<double>(clock.to_realtime_ns(chunk.last)));
    }
    for (const auto& [id, writer] : reader.writers()) {
      for (const trace::Loss& loss : writer.losses) {
        if (loss.cause == trace::LossCause::LateStart)
          span.late = true;
        else
          span.losses += loss.count;
      }
    }
    if (span.last_ns == 0) return std::nullopt;
    return span;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_ondemand: %s\n", error.what());
    return std::nullopt;
  }
}

struct Outcomes {
  std::vector<wire::TriggerUpdate> ended;
  double seconds = 0;  // from the trigger to the last event
};

Outcomes trigger_all(DaemonPeer& command, uint64_t start_at_ns, const std::string& output) {
  wire::Trigger asked;
  asked.options.start_at_ns = start_at_ns;
  asked.options.duration_ns = kSpanNs;
  asked.options.output = output;
  const uint64_t before = realtime_ns();
  command.send(asked);
  size_t targets = 0;
  for (bool more = true; more;) {
    const auto reply = command.expect<wire::TriggerReply>();
    targets += reply.targets.size();
    more = reply.more;
  }
  Outcomes outcomes;
  while (outcomes.ended.size() < targets) {
    auto update = command.expect<wire::TriggerUpdate>();
    if (wire::is_final(update.state)) outcomes.ended.push_back(std::move(update));
  }
  outcomes.seconds = static_cast<double>(realtime_ns() - before) / 1e9;
  return outcomes;
}

void measure_all(DaemonPeer& command, pid_t daemon, const std::string& folder, size_t processes) {
  const uint64_t start = realtime_ns() + kNsPerSecond;
  const Outcomes outcomes = trigger_all(command, start, folder + "/{pid}.kymo");
  const auto from = static_cast<double>(start), to = static_cast<double>(start + kSpanNs);
  size_t finished = 0, exact = 0, late = 0, lossy = 0;
  std::vector<double> late_ms, off_ns;
  std::map<std::string, int> reasons;
  for (const wire::TriggerUpdate& ended : outcomes.ended) {
    const auto span = ended.state == wire::RequestState::Finished ? span_of(ended.path) : std::nullopt;
    if (!span) {
      ++reasons[ended.text.empty() ? "a trace with nothing in it" : ended.text];
      continue;
    }
    ++finished;
    late_ms.push_back(static_cast<double>(ended.late_ns) / 1e6);
    off_ns.push_back(std::max(std::abs(span->first_ns - from), std::abs(span->last_ns - to)));
    exact += off_ns.back() <= kEdgeNs && !span->late;
    late += span->late;
    lossy += span->losses != 0;
  }
  for (const auto& [reason, count] : reasons)
    std::fprintf(stderr, "bench_ondemand: %d programs: %s\n", count, reason.c_str());
  bench::row("ondemand_all",
             text("%zu programs, one trigger for all a second ahead: traces of exactly the span that was asked for",
                  processes),
             text("%zu of %zu; edges off by %.2f us, at most %.2f us; %zu late, by up to %.1f ms; %zu with losses",
                  exact, finished, bench::median(off_ns) / 1e3, bench::percentile(off_ns, 1) / 1e3, late,
                  bench::percentile(late_ms, 1), lossy),
             text("%zu of %zu", processes, processes), exact == processes);
  bench::row("ondemand_all_time", text("from that trigger to the last of %zu outcomes", processes),
             text("%.2f s, of which 1.5 s is the wait and the span", outcomes.seconds), "", true);
  const double mb = static_cast<double>(status_of("/proc/" + std::to_string(daemon), "VmHWM")) * 1024 / 1e6;
  bench::row("ondemand_memory", text("memory of the daemon with %zu programs, at its peak", processes),
             text("%.1f MB", mb), "< 20 MB", mb < 20);
}

// Runs a command. Returns the time it took, in ms.
double run_command(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t command = -1;
  int status = 0;
  const uint64_t before = realtime_ns();
  if (posix_spawn(&command, arguments[0], &actions, nullptr, arguments.data(), environ) != 0 ||
      waitpid(command, &status, 0) != command || status != 0)
    fail("a command failed: kymo " + words[1]);
  posix_spawn_file_actions_destroy(&actions);
  return static_cast<double>(realtime_ns() - before) / 1e6;
}

// The time from before the command's process is created until the first event of the trace that it requested. Others
// use the machine too. So a round counts only if a command that does nothing took about its usual time, before and
// after it.
void measure_command(const char* id, const std::string& with, const std::string& socket, pid_t program,
                     const std::string& folder) {
  const std::string kymo = own_folder() + "/kymo", pid = std::to_string(program);
  const std::string output = folder + "/one-" + pid + ".kymo";
  std::vector<double> ms, all;
  std::vector<std::pair<double, double>> rounds;  // the time of the command that does nothing, and the measured time
  double nothing = run_command({kymo, "--version"}), least = nothing;
  while (rounds.size() < kMaxCommands) {
    const uint64_t before = realtime_ns();
    run_command(
        {kymo, "trigger", "--socket", socket, "--pid", pid, "--duration", "20ms", "-o", folder + "/one-{pid}.kymo"});
    const auto span = span_of(output);
    if (!span) fail("a trace has nothing in it");
    unlink(output.c_str());
    const double after = run_command({kymo, "--version"});
    rounds.emplace_back(std::max(nothing, after), (span->first_ns - static_cast<double>(before)) / 1e6);
    nothing = after;
    least = std::min(least, nothing);
    const auto quiet = std::ranges::count_if(rounds, [&](const auto& one) { return one.first < kQuietStart * least; });
    if (quiet >= kCommands) break;
  }
  for (const auto& [beside, took] : rounds) {
    all.push_back(took);
    if (beside < kQuietStart * least) ms.push_back(took);
  }
  const bench::Rounds counted{static_cast<unsigned>(ms.size()), static_cast<unsigned>(all.size() - ms.size())};
  const double tail = bench::percentile(ms, 0.99);
  bench::row(id, text("`kymo trigger`, its start included, to the first event of the trace, %s", with.c_str()),
             text("%.2f ms, p99 %.2f ms (all rounds: %.2f, p99 %.2f; a command that does nothing: %.2f)",
                  bench::median(ms), tail, bench::median(all), bench::percentile(all, 0.99), least),
             "< 10 ms, median and p99", tail < 10, counted);
}

std::vector<wire::ProcessEntry> wait_for_programs(DaemonPeer& command, size_t count) {
  for (int i = 0; i < 1200; ++i) {
    auto programs = command.list();
    if (programs.size() == count) return programs;
    usleep(50'000);
  }
  fail(text("%zu programs did not come up", count));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) fail("give a folder");
  const sched_param first{1};
  sched_setscheduler(0, SCHED_FIFO, &first);
  const rlimit many{8192, 8192};
  setrlimit(RLIMIT_NOFILE, &many);
  const size_t processes = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : kProcesses;
  const std::string folder = std::filesystem::absolute(argv[1]).string() + "/ondemand";
  const std::string socket = folder + "/kymod.sock";
  std::filesystem::create_directories(folder);
  {
    const Started daemon({own_folder() + "/kymod", "--quiet", "--socket", socket});
    {
      const Started one({own_folder() + "/bench_served", "1", kShortRange}, socket);
      DaemonPeer command(socket, wire::Role::Tool);
      wait_for_programs(command, 1);
      measure_command("ondemand_start", "one program", socket, one.pid(), folder);
    }
    {
      const Started all({own_folder() + "/bench_served", std::to_string(processes), kLongRange}, socket);
      DaemonPeer command(socket, wire::Role::Tool);
      const auto programs = wait_for_programs(command, processes);
      measure_idle(daemon.pid(), programs);
      measure_all(command, daemon.pid(), folder, processes);
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
