// The capture of this process: the functions of kymo/profiler.h, and those that the runtime calls.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/environment.h"
#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/format.h"
#include "capture/session.h"
#include "device/devices.h"
#include "kymo/profiler.h"

namespace kymo::capture {
namespace {

constexpr size_t kLongestName = 200;
constexpr uint32_t kMaxNumbersTried = 100'000;

std::string folder_name(uint32_t number, std::string_view name) {
  return base::format("{:04}-{}{}", number, name, kSuffix);
}

bool is_allowed_by(const char* variable) {
  const char* value = base::environment(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::string wrong_with(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.size() > kLongestName) return base::format("the name is longer than {} characters", kLongestName);
  if (name.find('/') != std::string_view::npos)
    return "the name contains '/': the folder is always created in the current one";
  if (std::ranges::any_of(name, is_control)) return "the name contains control characters";
  return {};
}

std::string printable(std::string text) {
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

// Everything that is captured takes one lock. The capture contains the calls in the order in which they took it.
class Recorder final : public device::WorkCapture {
 public:
  static Recorder& instance() {
    static auto& one = *new Recorder;
    return one;
  }

  void start(std::string_view name) {
    std::lock_guard lock(mutex_);
    std::string folder = folder_name(number_++, name);
    const auto refuse = [&](std::string_view reason) {
      throw Error(base::format("cannot capture into {}: {}", printable(folder), reason));
    };
    if (const std::string wrong = wrong_with(name); !wrong.empty()) refuse(wrong);
    if (!profiler::is_capture_enabled())
      refuse("capturing is not enabled: set KYMO_CAPTURE_ENABLED=1 in the environment of the program");
    if (is_capturing()) refuse("a capture is already running, into " + folder_);
    watch_forks();
    const uint32_t last = number_ + kMaxNumbersTried;
    while (session_ == nullptr) {
      try {
        session_ = std::make_unique<Session>(folder, std::string(name));
      } catch (const FolderExists& error) {
        if (number_ == last) refuse(error.what());
        folder = folder_name(number_++, name);
      } catch (const Error& error) {
        refuse(error.what());
      }
    }
    folder_ = folder;
    failed_.clear();
    is_capturing_ = true;
    CallTimer::instance().start();
    device::set_work_capture(this);
  }

  void stop() {
    std::lock_guard lock(mutex_);
    if (!is_capturing()) return;
    const device::CaptureScope own;
    CallTimer::instance().wait_until_queued();
    std::string wrong;
    for (device::DeviceState* device : device::open_devices()) {
      try {
        if (!device::forked_with_devices) device->synchronize();
      } catch (const Error& error) {
        if (session_ != nullptr) session_->note_problem(error.what());
        wrong = error.what();
      }
    }
    const auto times = CallTimer::instance().stop();
    is_capturing_ = false;
    const std::unique_ptr<Session> session = std::move(session_);
    try {
      if (session != nullptr) {
        session->finish(times);
        if (wrong.empty()) wrong = session->problem();
      }
    } catch (const std::exception& error) {
      failed_ = error.what();
    }
    // Not earlier: a buffer that is freed in the meantime waits until its result is stored.
    device::set_work_capture(nullptr);
    if (!failed_.empty()) throw Error(base::format("the capture into {} failed and was removed: {}", folder_, failed_));
    if (!wrong.empty()) throw DeviceError(base::format("while {} was captured: {}", folder_, wrong));
  }

  std::string folder() const {
    std::lock_guard lock(mutex_);
    return folder_;
  }

  bool is_capturing() const noexcept { return is_capturing_.load(std::memory_order_relaxed); }

  void launch(const device::KernelState& kernel, const device::Launch& launch,
              std::span<const device::KernelArgument> given, device::StreamState& stream) override {
    record([&](Session& session) { session.launch(kernel, launch, given, stream); });
  }
  void fill(const device::Tensor& to, double value) override {
    record([&](Session& session) { session.fill(to, value); });
  }
  void fill_random(const device::Tensor& to, const device::RandomFill& fill) override {
    record([&](Session& session) { session.fill_random(to, fill); });
  }
  void copy(const device::Tensor& from, const device::Tensor& to) override {
    record([&](Session& session) { session.copy(from, to); });
  }
  void upload(const device::Tensor& to, std::span<const std::byte> from) override {
    record([&](Session& session) { session.upload(to, from); });
  }
  void download(const device::Tensor& from) override {
    record([&](Session& session) { session.download(from); });
  }
  void freed(device::Storage& storage) noexcept override {
    record([&](Session& session) { session.freed(storage); });
  }
  void begin_operation(std::string_view name, double flops) override {
    record([&](Session& session) { session.begin_operation(name, flops); });
  }
  void end_operation() noexcept override {
    record([&](Session& session) { session.end_operation(); });
  }

 private:
  // The program must not notice errors: an error ends the capture, and stop() reports it.
  template <class Write>
  void record(Write&& write) noexcept {
    std::lock_guard lock(mutex_);
    if (session_ == nullptr) return;
    const device::CaptureScope own;
    try {
      write(*session_);
    } catch (const std::exception& error) {
      failed_ = error.what();
      session_.reset();
      CallTimer::instance().end_call();
    }
  }

  static void watch_forks() {
    static std::once_flag once;
    std::call_once(once, [] {
      pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                     [] {
                       instance().leave_to_parent();
                       instance().after_fork();
                     });
    });
  }

  void before_fork() {
    mutex_.lock();
    CallTimer::instance().before_fork();
  }
  void after_fork() {
    CallTimer::instance().after_fork();
    mutex_.unlock();
  }

  void leave_to_parent() noexcept {
    if (!is_capturing()) return;
    device::set_work_capture(nullptr);
    CallTimer::instance().abandon();
    is_capturing_ = false;
    if (session_ != nullptr) session_->abandon();
    session_.reset();
  }

  mutable std::mutex mutex_;
  std::unique_ptr<Session> session_;  // null during a capture: the capture failed
  std::atomic<bool> is_capturing_{false};
  std::string folder_, failed_;
  uint32_t number_ = 0;  // of the next folder
};

}  // namespace
}  // namespace kymo::capture

namespace kymo::profiler {

bool is_capture_enabled() noexcept {
  return capture::is_allowed_by("KYMO_CAPTURE_ENABLED") || capture::is_allowed_by("MTL_CAPTURE_ENABLED");
}

bool is_capturing() noexcept { return capture::Recorder::instance().is_capturing(); }
void start_capture(std::string_view name) { capture::Recorder::instance().start(name); }
std::string capture_folder() { return capture::Recorder::instance().folder(); }
void stop_capture() { capture::Recorder::instance().stop(); }

Capture::~Capture() {
  try {
    close();
  } catch (const std::exception&) {
    // Callers that need the error call close().
  }
}

void Capture::close() {
  if (!open_) return;
  open_ = false;
  stop_capture();
}

}  // namespace kymo::profiler
