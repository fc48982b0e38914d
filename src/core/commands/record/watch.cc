#include "commands/record/watch.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace kymo::cli {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

uint64_t ns_of(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

uint64_t cpu_ns_of_children() {
  rusage usage{};
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return 0;
  return ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
}

uint64_t cpu_ns_of_process(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

std::string unsampled_text(uint64_t used_ns, const sample::SampleTotals& totals, uint64_t hertz, bool is_by_timers) {
  constexpr uint64_t kShortNs = 200'000'000;
  if (hertz == 0 || totals.lost != 0 || totals.throttled != 0) return {};
  // The time of a program that was killed is known only by its samples.
  const uint64_t known_ns = std::max(totals.on_ns, totals.samples * (kNanosecondsPerSecond / hertz));
  if (used_ns < known_ns || used_ns - known_ns < std::max(kShortNs, used_ns / 5)) return {};
  return base::format(
      "{} of the {} of CPU time was used by programs without samples: {}", base::duration_text(used_ns - known_ns),
      base::duration_text(used_ns),
      is_by_timers ? "they are static or setuid, or were started without LD_PRELOAD (env -i, sudo), which timers "
                     "need"
                   : "they are setuid, or the kernel ended their events");
}

std::string unknown_python_text(const sample::SampleTotals& totals) {
  std::string versions;
  for (const std::string& version : totals.unknown_pythons)
    versions += (versions.empty() ? "" : ", ") + base::printable(version);
  if (versions.empty()) return {};
  return base::format("the functions of Python {} are not in the samples: Kymo reads CPython 3.9 to 3.13 with a GIL",
                      versions);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStatusEvery = std::chrono::milliseconds(250);

// "kymo: 1,234,567 events, 800,000/s, 1.2 MB, 12 lost", four times a second.
class Growth {
 public:
  explicit Growth(bool wanted) : line_(wanted) {}

  void show(const collect::Recording& recording) {
    const auto now = Clock::now();
    if (!line_.shown() || now - shown_at_ < kStatusEvery) return;
    const collect::Progress progress = recording.progress();
    const double seconds = std::chrono::duration<double>(now - shown_at_).count();
    const double rate = static_cast<double>(progress.events - std::min(events_, progress.events)) / seconds;
    std::string text = base::format("kymo: {}, {}/s, {}", count_of(progress.events, "event"),
                                    count_text(static_cast<uint64_t>(rate)), bytes_text(progress.bytes));
    if (progress.lost > 0) text += base::format(", {} lost", count_text(progress.lost));
    if (!progress.error.empty()) text += base::format(", {}", base::printable(progress.error));
    line_.show(text);
    shown_at_ = now;
    events_ = progress.events;
  }

  void hide() { line_.clear(); }

 private:
  StatusLine line_;
  Clock::time_point shown_at_ = Clock::now();
  uint64_t events_ = 0;
};

}  // namespace

void dump_flight(collect::Recording& recording, const RecordOptions& options) {
  try {
    recording.dump(options.output);
    if (!options.quiet) say(base::format("the flight recording was written to {}", base::printable(options.output)));
  } catch (const Error& error) {
    say_warning(error.what());  // the program and the recording continue
  }
}

Ending watch(collect::Recording& recording, Program& program, SignalInbox& inbox, const RecordOptions& options) {
  // The terminal belongs to the program: a line of ours would overwrite what it asks its user.
  Growth growth(options.progress && !options.quiet);
  int interrupts = 0;
  while (true) {
    const auto message = inbox.wait(kStatusEvery);
    if (const auto ending = program.ended()) return *ending;
    growth.show(recording);
    if (!message || message->signal == SIGCHLD) continue;

    if (message->signal == SIGINT && ++interrupts > 1) {
      program.signal(SIGKILL);
    } else if (message->signal == SIGUSR2 && options.flight) {
      growth.hide();
      dump_flight(recording, options);
    } else if (message->from_process) {
      program.signal(message->signal);
    }
  }
}

}  // namespace kymo::cli
