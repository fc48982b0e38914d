// Records libtorch in a trace that is requested from outside: implements the calls of kymo::ondemand for the operations
// and the memory of libtorch.
//
// Nothing is installed while no trace runs. Between prepare() and start(), only the scopes that the program named are
// received, and no operators: a trace of some iterations must see one begin before it records.
#include <ATen/record_function.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>

#include "allocations.h"
#include "call_ranges.h"
#include "cpp_stacks.h"
#include "kymo/annotate.h"
#include "kymo/ondemand.h"
#include "kymo/torch.h"

namespace kymo::libtorch {

namespace {

using Clock = std::chrono::steady_clock;

// A trace that is prepared and never started leaves the scopes' callback installed; it is removed when nothing has
// listened to it for this time.
constexpr auto kUnusedTime = std::chrono::seconds(1);

std::unique_ptr<at::ObserverContext> scope_begins(const at::RecordFunction& call);

class Callbacks {
 public:
  void hear_scopes() {
    const std::lock_guard lock(mutex_);
    prepared_ = Clock::now();
    add_scopes();
  }

  void start(const CallOptions& options) {
    const std::lock_guard lock(mutex_);
    record_calls(options);
    add_scopes();
    remove(operators_);
    const Changing changing(*this);
    operators_ = at::addGlobalCallback(at::RecordFunctionCallback(call_begins, call_ends)
                                           .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                                    at::RecordScope::TORCHSCRIPT_FUNCTION})
                                           .needsInputs(options.inputs())
                                           .needsIds(true));
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stop_all();
  }

  // Called inside the callback itself: if another thread has the mutex, that thread removes the callback.
  void remove_unused() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && operators_ == 0 && Clock::now() - prepared_ > kUnusedTime) remove(scopes_);
  }

  // In a forked child nothing records. If the fork happened during a change, libtorch's own lock may be held forever.
  // Then the callbacks stay installed and do nothing.
  void after_fork_in_child() {
    new (&mutex_) std::mutex;
    if (is_changing_.exchange(false, std::memory_order_relaxed)) {
      record_calls({});
      scopes_ = operators_ = 0;
      return;
    }
    stop_all();
  }

 private:
  struct Changing {
    explicit Changing(Callbacks& of) : callbacks(of) { callbacks.is_changing_.store(true, std::memory_order_seq_cst); }
    ~Changing() { callbacks.is_changing_.store(false, std::memory_order_seq_cst); }
    Callbacks& callbacks;
  };

  void add_scopes() {
    if (scopes_ != 0) return;
    const Changing changing(*this);
    scopes_ = at::addGlobalCallback(
        at::RecordFunctionCallback(scope_begins, call_ends).scopes({at::RecordScope::USER_SCOPE}).needsIds(true));
  }
  void remove(at::CallbackHandle& callback) {
    if (callback == 0) return;
    const Changing changing(*this);
    at::removeCallback(std::exchange(callback, 0));
  }
  void stop_all() {
    record_calls({});
    remove(operators_);
    remove(scopes_);
  }

  std::mutex mutex_;
  std::atomic<bool> is_changing_{false};
  Clock::time_point prepared_;
  at::CallbackHandle scopes_ = 0, operators_ = 0;
};

// Never destroyed: libtorch's threads may call until the process ends.
Callbacks& callbacks() {
  static auto* const all = new Callbacks;
  return *all;
}

std::unique_ptr<at::ObserverContext> scope_begins(const at::RecordFunction& call) {
  if (detail::receiver_bits() == 0 && !calls_are_recorded()) callbacks().remove_unused();
  return call_begins(call);
}

class TorchClient final : public ondemand::Client {
 public:
  void init() override { follow_forks(); }

  void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops,
               bool with_modules) override {
    options_ = {true, report_input_shapes, with_flops, with_modules, with_stack};
    memory_ = profile_memory;
    callbacks().hear_scopes();
  }

  void start() override { start(options_, memory_, options_.stacks); }
  void stop() override { stop_all(); }
  void start_memory_profile() override { start({.operators = true}, true, true); }
  void stop_memory_profile() override { stop_all(); }
  // export_memory_profile() is not overridden: Kymo's own memory profile contains everything.

 private:
  static void start(const CallOptions& options, bool memory, bool allocation_stacks) {
    follow_forks();
    if (options.stacks) prepare_cpp_stacks();
    if (memory) {
      record_allocation_stacks(allocation_stacks);
      watch_allocator();
    }
    callbacks().start(options);
  }
  static void stop_all() {
    stop_watching_allocator();
    record_allocation_stacks(false);
    callbacks().stop();
  }
  static void follow_forks() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
      stop_watching_allocator();
      record_allocation_stacks(false);
      callbacks().after_fork_in_child();
    });
    static_cast<void>(registered);
  }

  CallOptions options_{.operators = true};
  bool memory_ = false;
};

const ondemand::Registration<TorchClient> registration;

}  // namespace

}  // namespace kymo::libtorch

extern "C" void kymo_link_torch(void) {}
