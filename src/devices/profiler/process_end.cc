#include "profiler/process_end.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/quiet_thread.h"
#include "device/watcher.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

// ---- SIGINT ---------------------------------------------------------------------------------------------------------

// The data of the handler: nothing that could be destroyed, allocated or locked.
struct sigaction handled_before;  // changed only while the handler is not installed
constinit std::atomic<bool> dies_of_it{false};
constinit std::atomic<uint32_t> interrupts{0};
constinit std::atomic<uint32_t> prints{0};
sem_t interrupted;

// Used while the profiler's lock is held, like the functions that install and remove the handler.
bool handler_installed = false;
bool printer_started = false;

void die_of_interrupt() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGINT, &usual, nullptr);
  raise(SIGINT);  // takes effect at once; within a handler, when it returns
}

// A handler that is installed for one call usually ends the process: LLVM installs one in every program with PoCL. The
// tables are printed before it, unless the interrupted thread holds a lock that printing needs.
void wait_for_print(uint32_t prints_before) {
  constexpr timespec kStep{0, 1'000'000};
  constexpr int kMaxSteps = 500;
  for (int step = 0; step < kMaxSteps && prints.load() == prints_before; ++step) nanosleep(&kStep, nullptr);
}

void on_interrupt(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (!dies_of_it.load()) {
    const uint32_t prints_before = prints.load();
    sem_post(&interrupted);
    if ((handled_before.sa_flags & SA_RESETHAND) != 0) {
      dies_of_it = true;
      wait_for_print(prints_before);
    }
    if ((handled_before.sa_flags & SA_SIGINFO) != 0)
      handled_before.sa_sigaction(number, info, context);
    else
      handled_before.sa_handler(number);
  } else if (interrupts.fetch_add(1) == 0) {
    sem_post(&interrupted);
  } else {
    die_of_interrupt();
  }
  errno = error;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_interrupt;
}

void print_when_interrupted() {
  while (true) {
    while (sem_wait(&interrupted) != 0) continue;
    the_profiler().print_at_end();
    prints.fetch_add(1);
    if (interrupts.load() == 0) continue;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    die_of_interrupt();
  }
}

// Starts the thread once per process. The thread does not receive the program's signals.
bool start_printer() {
  if (printer_started) return true;
  if (sem_init(&interrupted, 0, 0) != 0) return false;
  try {
    base::quiet_thread("kymo-interrupt", print_when_interrupted).detach();
    printer_started = true;
  } catch (const std::system_error&) {
    // No thread could be created: the tables are printed when the process ends.
  }
  return printer_started;
}

void install() {
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || is_ours(now)) return;
  const bool is_function = (now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  if (!is_function && now.sa_handler == SIG_IGN) return;
  if (!start_printer()) return;
  handled_before = now;
  dies_of_it = !is_function;
  struct sigaction ours = now;
  ours.sa_flags = SA_SIGINFO | (is_function ? now.sa_flags & ~SA_RESETHAND : SA_RESTART | SA_ONSTACK);
  ours.sa_sigaction = on_interrupt;
  handler_installed = sigaction(SIGINT, &ours, nullptr) == 0;
}

void remove() {
  struct sigaction now {};
  if (handler_installed && sigaction(SIGINT, nullptr, &now) == 0 && is_ours(now))
    sigaction(SIGINT, &handled_before, nullptr);
  handler_installed = false;
}

// Restores the parent's previous handler in the child.
void drop_interrupts_in_child() noexcept {
  remove();
  printer_started = false;  // a forked child does not have the thread
  interrupts = 0;
}

// ---- exit() and fork() ---------------------------------------------------------------------------------------------

constinit std::atomic<Profiler*> this_profiler{nullptr};
constinit Profiler* parents_profiler = nullptr;  // in a forked child: the profiler of its parent
constinit std::atomic<bool> exit_reached{false};
thread_local constinit const device::StreamState *last_stream_used = nullptr, *last_stream_ran = nullptr;

struct NotedStreams {
  std::mutex mutex;
  std::vector<const device::StreamState*> streams;
};
constinit std::atomic<NotedStreams*> streams_used{nullptr}, streams_ran{nullptr};

// For objects that are created once and replaced in a forked child.
template <class T>
T& made_once(std::atomic<T*>& place) {
  T* there = place.load(std::memory_order_acquire);
  if (__builtin_expect(there != nullptr, 1)) return *there;
  auto made = std::make_unique<T>();
  if (place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *there;
}

// The handler that was registered last runs first, and does the work: later ones may run when drivers are unloaded.
void at_exit() {
  if (exit_reached.exchange(true)) return;
  if (Profiler* profiler = the_profiler_or_null()) profiler->print_at_end();
}

void note_in(std::atomic<NotedStreams*>& place, const device::StreamState& stream) noexcept {
  try {
    NotedStreams& noted = made_once(place);
    std::lock_guard lock(noted.mutex);
    if (std::ranges::find(noted.streams, &stream) != noted.streams.end()) return;
    noted.streams.push_back(&stream);
  } catch (const std::exception&) {
    return;
  }
  atexit(at_exit);
}

// Threads that the child does not have may hold locks, so the locked objects are not used and are created again.
void in_child() {
  device::set_watcher(device::WatcherRole::Profiler, nullptr);
  parents_profiler = this_profiler.exchange(nullptr);
  streams_used.store(nullptr, std::memory_order_release);
  streams_ran.store(nullptr, std::memory_order_release);
  last_stream_used = last_stream_ran = nullptr;
  forget_scopes();
  drop_interrupts_in_child();
}

}  // namespace

Profiler& the_profiler() { return made_once(this_profiler); }
Profiler* the_profiler_or_null() noexcept { return this_profiler.load(std::memory_order_acquire); }

void note_stream_used(const device::StreamState& stream) noexcept {
  if (__builtin_expect(std::exchange(last_stream_used, &stream) != &stream, 0)) note_in(streams_used, stream);
}

void note_stream_ran(const device::StreamState& stream) noexcept {
  if (__builtin_expect(std::exchange(last_stream_ran, &stream) != &stream, 0)) note_in(streams_ran, stream);
}

void print_at_exit() noexcept { atexit(at_exit); }

void watch_forks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, in_child); });
}

void watch_interrupts(bool on) noexcept {
  if (on == handler_installed) return;
  on ? install() : remove();
}

}  // namespace kymo::profiler
