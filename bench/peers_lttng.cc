// LTTng-UST: two tracepoints per range, with a session that records to a file and without one.
//
//   bench_peers_lttng FOLDER
//
// Needs a session daemon: a running one is used, otherwise one is started and stopped again.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "measure.h"
#include "report.h"

#if KYMO_HAVE_LTTNG_UST
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_range.h"

namespace {

constexpr useconds_t kMoment = 10'000;

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Stops only the daemon that it started.
class Daemon {
 public:
  explicit Daemon(const std::string& folder) : pid_file_(folder + "/lttng-sessiond.pid") {
    if (shell("lttng --no-sessiond list")) return;
    std::remove(pid_file_.c_str());
    if (!shell("lttng-sessiond --no-kernel --background --pidfile=" + pid_file_)) return;
    std::ifstream(pid_file_) >> pid_;
  }
  ~Daemon() {
    if (pid_ > 0) kill(pid_, SIGTERM);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

 private:
  std::string pid_file_;
  pid_t pid_ = 0;
};

class TracingSession {
 public:
  explicit TracingSession(const std::string& folder) : output_(folder + "/lttng") {
    running_ = shell("lttng create kymo-bench --output=" + output_) &&
               shell("lttng enable-channel -s kymo-bench -u big --subbuf-size=4M --num-subbuf=16") &&
               shell("lttng enable-event -s kymo-bench -u -c big 'kymo_bench:*'") && shell("lttng start kymo-bench");
    for (int i = 0; running_ && i < 300 && !lttng_ust_tracepoint_enabled(kymo_bench, range_end); ++i) usleep(kMoment);
    running_ = running_ && lttng_ust_tracepoint_enabled(kymo_bench, range_end);
  }
  ~TracingSession() {
    shell("lttng destroy kymo-bench");
    std::error_code ignored;
    std::filesystem::remove_all(output_, ignored);
  }
  TracingSession(const TracingSession&) = delete;
  TracingSession& operator=(const TracingSession&) = delete;
  bool running() const { return running_; }

 private:
  std::string output_;
  bool running_ = false;
};

uint64_t number = 0;
void tracepoint_pair() {
  lttng_ust_tracepoint(kymo_bench, range_begin, number);
  bench::keep();
  lttng_ust_tracepoint(kymo_bench, range_end, number);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  bench::Meter meter;
  const auto off = meter.cost(tracepoint_pair, bench::keep);
  bench::peer("guard_off", "LTTng-UST, no session", bench::text("%.2f ns", off.more_ns), {off.kept, off.discarded});
  const Daemon daemon(folder);
  const TracingSession session(folder);
  if (!session.running()) {
    bench::missing("LTTng-UST recording", "install lttng-tools, for lttng and lttng-sessiond");
    return 0;
  }
  const auto on = meter.cost(tracepoint_pair);
  bench::peer("range_on", "LTTng-UST, 2 tracepoints", bench::text("%.0f ns = %.1f x", on.ns, on.ratio),
              {on.kept, on.discarded});
}
#else
int main() { bench::missing("LTTng-UST", "install liblttng-ust-dev and lttng-tools"); }
#endif
