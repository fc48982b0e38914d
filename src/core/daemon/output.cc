#include "daemon/output.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/output_path.h"
#include "daemon/proc.h"
#include "wire/output_pattern.h"

namespace kymo::daemon {
namespace {

constexpr std::string_view kTimePlace = "{time}";

bool leads_upwards(const std::string& path) { return path.find("/../") != path.npos || path.ends_with("/.."); }

}  // namespace

base::Check check_output(const std::string& pattern, const std::vector<std::string>& folders) {
  using base::Refusal;
  const auto path = wire::output_from_pattern(pattern, {.pid = 1, .name = "name", .host = "host", .time = "time"});
  if (!path) return Refusal{path.reason()};
  if (pattern.size() > wire::kLongestText || path->size() > wire::kLongestText)
    return Refusal{base::format("the output path is too long: {} characters", path->size())};
  if (!path->starts_with('/')) return Refusal{base::format("the output must be an absolute path, not \"{}\"", pattern)};
  if (leads_upwards(*path) || leads_upwards(pattern))
    return Refusal{base::format("the output must not contain \"..\": {}", pattern)};
  if (path->ends_with('/')) return Refusal{base::format("the output must be a file, not a folder: {}", pattern)};
  if (folders.empty() || std::ranges::any_of(folders, [&](const auto& folder) {
        return *path != folder && base::is_below(*path, folder);
      }))
    return {};
  return Refusal{base::format("traces are allowed only below {}, not at {}", base::join(folders, " or "), pattern)};
}

std::string with_time(const std::string& pattern, uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / kNsPerSecond);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char whole[32];
  std::strftime(whole, sizeof whole, "%Y%m%d-%H%M%S", &utc);
  // Two triggers in one second must give two files.
  const std::string time = base::format("{}.{:03}", whole, realtime_ns / kNsPerMs % 1000);
  std::string filled;
  for (size_t at = 0; at < pattern.size();) {
    const std::string_view rest = std::string_view(pattern).substr(at);
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      filled.append(rest.substr(0, 2));
      at += 2;
    } else if (rest.starts_with(kTimePlace)) {
      filled.append(time);
      at += kTimePlace.size();
    } else {
      filled += rest[0];
      ++at;
    }
  }
  return filled;
}

uint64_t end_of(const wire::TraceOptions& options) {
  if (options.iterations != 0) return 0;
  const uint64_t begin = options.start_at_ns != 0 ? options.start_at_ns : base::realtime_ns();
  return begin + options.duration_ns;  // a recording of the past (last) has no duration: it ends at once
}

namespace {

constexpr std::chrono::seconds kLongestLook{1};
constexpr int kMaxChecks = 4;  // max checks that hang

std::atomic<int> looks_running{0};

// Shared by the caller and the thread; it exists until both are done with it.
struct Look {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::optional<struct stat> found;
};

void look(Look& shared, const std::string& path) {
  struct stat status {};
  const bool is_there = lstat(path.c_str(), &status) == 0;
  --looks_running;
  const std::lock_guard lock(shared.mutex);
  if (is_there) shared.found = status;
  shared.is_over = true;
  shared.changed.notify_one();
}

}  // namespace

std::optional<struct stat> look_at(const std::string& path) {
  if (looks_running >= kMaxChecks) return std::nullopt;
  const auto shared = std::make_shared<Look>();
  ++looks_running;
  try {
    std::thread([shared, path] { look(*shared, path); }).detach();  // it may never return
  } catch (const std::system_error&) {
    --looks_running;
    return std::nullopt;
  }
  std::unique_lock lock(shared->mutex);
  shared->changed.wait_for(lock, kLongestLook, [&] { return shared->is_over; });
  return shared->found;
}

wire::Done died_outcome(uint64_t request_id, const std::string& path, uint32_t uid) {
  wire::Done done{{.state = wire::RequestState::Failed}, request_id};
  const std::string part = path + ".part";
  const auto status = path.empty() ? std::nullopt : look_at(part);
  if (!status || !S_ISREG(status->st_mode) || status->st_uid != uid) {
    done.text = "it died during the recording; there is no trace";
    return done;
  }
  done.path = part;
  done.bytes = static_cast<uint64_t>(status->st_size);
  done.text = base::format("it died; what it recorded before is in {}", part);
  return done;
}

}  // namespace kymo::daemon
