#include "edge/device_watcher.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "device/watcher.h"
#include "edge/adjust.h"

namespace kymo::edge {
namespace {

constexpr uint64_t kLongestWaitNs = 10'000'000'000;
constexpr unsigned kRecordBits = 40;  // of an execution's number; the rest is the number of the watch
constexpr uint64_t kRecordMask = (uint64_t{1} << kRecordBits) - 1;

DeviceId device_id(const device::StreamPlace& place) {
  constexpr std::pair<std::string_view, int32_t> kTypes[] = {{"cuda", 1}, {"opencl", 4}, {"vulkan", kVulkan}};
  for (const auto& [backend, type] : kTypes)
    if (place.backend == backend) return {type, place.device};
  return {-1, place.device};
}

// The text lives until the process ends.
std::string_view device_operation_name(const device::Operation& operation) {
  switch (operation.kind) {
    case device::OperationKind::CopyHostToDevice:
      return "copy host to device";
    case device::OperationKind::CopyDeviceToHost:
      return "copy device to host";
    case device::OperationKind::CopyOnDevice:
      return "copy on device";
    case device::OperationKind::Fill:
      return "fill";
    case device::OperationKind::Kernel:
      break;
  }
  return operation.name;
}

}  // namespace

struct DeviceWatch::State {
  struct Record {
    Place place;
    std::string_view name;
    RawDeviceOperation operation;
    bool ran = false;
  };
  Log* log = nullptr;
  Devices devices = Devices::All;
  uint64_t number = 0;
  std::deque<Record> records;
  uint64_t not_kept = 0;      // operations that were dropped: no memory
  uint64_t given_a_part = 0;  // operations that got a part of a time that they share

  uint64_t note(const device::StreamState& stream, const device::Operation& operation) {
    const device::StreamPlace where = device::place_of(stream);
    const DeviceId device = device_id(where);
    if (devices == Devices::Vulkan && device.type != kVulkan) return 0;
    const Place place = log->here();
    if (place.thread == nullptr) return 0;
    try {
      Record& record = records.emplace_back();
      record.place = place;
      record.name = device_operation_name(operation);
      record.operation.device = device;
      record.operation.queue = where.stream;
      record.operation.operation = place.operation;
      record.operation.queued_ns = base::monotonic_ns();
    } catch (const std::bad_alloc&) {
      ++not_kept;
      return 0;
    }
    return number << kRecordBits | (records.size() & kRecordMask);
  }
};

// The only watcher that is registered in the runtime; it serves all watches. Its lock is taken while a stream's lock is
// held.
class DeviceWatch::Shared final : public device::Watcher {
 public:
  // Never destroyed: a call of the runtime may still be running.
  static Shared& instance() {
    static auto& one = *new Shared;
    return one;
  }

  void add(std::shared_ptr<State> state) {
    std::lock_guard lock(mutex_);
    state->number = ++last_number_;
    states_.push_back(std::move(state));
    device::set_watcher(device::WatcherRole::Edge, this);
  }

  void remove(const std::shared_ptr<State>& state) noexcept {
    std::lock_guard lock(mutex_);
    std::erase(states_, state);
    if (states_.empty()) device::set_watcher(device::WatcherRole::Edge, nullptr);
  }

  uint64_t queued(const device::StreamState& stream, const device::Operation& operation) noexcept override {
    Log* const log = current_log();
    if (log == nullptr) return 0;
    std::lock_guard lock(mutex_);
    for (const auto& state : states_)
      if (state->log == log) return state->note(stream, operation);
    return 0;
  }

  void completed(const device::StreamState&, const device::Operation&, uint64_t execution,
                 const device::OperationTimes& times) noexcept override {
    std::lock_guard lock(mutex_);
    const auto [state, record] = find(execution);
    if (record == nullptr) return;
    record->operation.start_ns = times.start_ns;
    record->operation.end_ns = times.end_ns;
    record->ran = true;
    if (times.operations > 1) ++state->given_a_part;
  }

  void lost(const device::StreamState&, const device::Operation&, uint64_t) noexcept override {}  // it never ran

  bool wants_own_times() const noexcept override { return true; }

 private:
  Shared() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  std::pair<State*, State::Record*> find(uint64_t execution) {
    const uint64_t number = execution >> kRecordBits, record = execution & kRecordMask;
    for (const auto& state : states_)
      if (state->number == number && record >= 1 && record <= state->records.size())
        return {state.get(), &state->records[record - 1]};
    return {nullptr, nullptr};
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<State>> states_;
  uint64_t last_number_ = 0;
};

DeviceWatch::DeviceWatch(Log& log, Devices devices) : state_(std::make_shared<State>()) {
  state_->log = &log;
  state_->devices = devices;
  Shared::instance().add(state_);
}

DeviceWatch::~DeviceWatch() { stop(); }

void DeviceWatch::stop() noexcept { Shared::instance().remove(state_); }

void DeviceWatch::finish() noexcept {
  device::report_completed(kLongestWaitNs);
  stop();
}

std::vector<std::string> DeviceWatch::deliver() {
  stop();
  uint64_t without_times = 0, not_kept = state_->not_kept;
  for (const State::Record& record : state_->records) {
    if (!record.ran) {
      ++without_times;
      continue;
    }
    ThreadLog& thread = *record.place.thread;
    const uint32_t name = thread.names.number_of(record.name);
    RawDeviceOperation* const kept = name == Names::kNone ? nullptr : thread.device_operations.append();
    if (kept == nullptr) {
      ++not_kept;
      continue;
    }
    *kept = record.operation;
    kept->name = name;
  }
  state_->records.clear();

  std::vector<std::string> losses;
  const auto add_loss = [&](uint64_t count, std::string_view what) {
    if (count != 0) losses.push_back(base::format("{} device operation{} {}", count, count == 1 ? "" : "s", what));
  };
  add_loss(without_times, "without times");
  add_loss(not_kept, "dropped: out of memory");
  add_loss(state_->given_a_part, "got an equal part of a submission's time (KYMO_VULKAN_TIMES=submission)");
  return losses;
}

}  // namespace kymo::edge
