#include "counters/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace kymo::counters {

namespace {

std::optional<long> perf_event_paranoid() {
  const int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[32] = {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return std::nullopt;
  return std::strtol(text, nullptr, 10);
}

// If even cycles are unsupported, there are no counters at all.
bool has_processor_counters() noexcept {
  Event cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  const int error = try_event(cycles);
  return error != ENOENT && error != ENODEV && error != EOPNOTSUPP;
}

std::string forbidden(const Event& event) {
  const auto paranoid = perf_event_paranoid();
  if (!paranoid) return "the kernel was built without performance events (there is no kernel.perf_event_paranoid)";
  if (event.type == PERF_TYPE_TRACEPOINT)
    return base::format("tracepoints need root, or kernel.perf_event_paranoid=-1, which is {}", *paranoid);
  const int wanted = event.exclude_kernel ? 2 : 1;
  if (*paranoid > wanted)
    return base::format(
        "kernel.perf_event_paranoid is {}, and {} needs {} or less: sudo sysctl "
        "kernel.perf_event_paranoid={}, or CAP_PERFMON",
        *paranoid, event.exclude_kernel ? "this" : "what happens inside the kernel", wanted, wanted);
  return "perf_event_open is forbidden here, as by the seccomp profile of a container: allow it, or run outside";
}

}  // namespace

int open_event(const Event& event, int leader) noexcept {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.config1 = event.config1;
  attributes.config2 = event.config2;
  attributes.exclude_kernel = event.exclude_kernel;
  attributes.exclude_user = event.exclude_user;
  attributes.exclude_hv = 1;
  attributes.disabled = leader < 0;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int kThisThread = 0, kAnyProcessor = -1;
  const long file = syscall(SYS_perf_event_open, &attributes, kThisThread, kAnyProcessor, leader, PERF_FLAG_FD_CLOEXEC);
  return file < 0 ? -errno : static_cast<int>(file);
}

int try_event(const Event& event) noexcept {
  const int file = open_event(event, -1);
  if (file < 0) return -file;
  close(file);
  return 0;
}

bool is_hardware(const Event& event) noexcept {
  return event.type != PERF_TYPE_SOFTWARE && event.type != PERF_TYPE_TRACEPOINT && event.type != PERF_TYPE_BREAKPOINT;
}

std::string refusal(const Event& event, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return forbidden(event);
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      if (!is_hardware(event)) return "this kernel does not count it";
      return has_processor_counters() ? "the processor does not count it"
                                      : "this machine has no performance counters; a virtual machine often hides them";
    case EINVAL:
      return "the kernel does not count it for a single thread, or not in this form";
    case EBUSY:
      return "another program has the processor's counters for itself";
    case ENOSYS:
      return "the kernel was built without performance events";
    case EMFILE: {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      return base::format(
          "the process has as many files open as it may ({}); each thread takes one an event: raise it by "
          "`ulimit -n`, or ask for fewer events",
          limit.rlim_cur);
    }
    case ENFILE:
      return "the system has as many files open as it may: raise fs.file-max";
    default:
      return std::strerror(error);
  }
}

}  // namespace kymo::counters
