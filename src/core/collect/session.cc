// The Session of a program: one scope that is recorded. The work is in own_session.h.
#include "kymo/session.h"

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "collect/own_session.h"
#include "kymo/kymo.h"

namespace kymo {
namespace {
constinit std::atomic<void (*)(int)> give_way{nullptr};

// Active while a session of the program starts.
class GiveWay {
 public:
  GiveWay() {
    if (call_ != nullptr) call_(1);
  }
  ~GiveWay() {
    if (call_ != nullptr) call_(0);
  }
  GiveWay(const GiveWay&) = delete;
  GiveWay& operator=(const GiveWay&) = delete;

 private:
  void (*const call_)(int) = give_way.load(std::memory_order_acquire);
};

}  // namespace

struct Session::Impl {
  bool open = true;
};

Session::Session(const std::string& path, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  if (collect::recorded_from_outside()) {
    impl_->open = false;
    return;
  }
  const GiveWay others;
  collect::start_session(path, options, collect::StartMode::Create);
}

Session::~Session() {
  try {
    close();
  } catch (const std::exception&) {  // a caller that needs the error calls close()
  }
}

void Session::close() {
  if (!std::exchange(impl_->open, false)) return;
  const std::string path = collect::session_path();
  if (!collect::close_session()) throw Error(collect::kNotThere + path);
}

bool is_recording() noexcept { return kymo_is_recording() != 0; }

void dump(const std::string& path) { collect::dump_session(path); }

}  // namespace kymo

extern "C" void kymo_set_give_way(void (*give_way)(int)) { kymo::give_way.store(give_way, std::memory_order_release); }
