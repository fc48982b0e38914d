#include "profiler/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "base/quiet_thread.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

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

}  // namespace

void watch_interrupts(bool on) noexcept {
  if (on == handler_installed) return;
  on ? install() : remove();
}

void drop_interrupts_in_child() noexcept {
  remove();
  printer_started = false;  // a forked child does not have the thread
  interrupts = 0;
}

}  // namespace kymo::profiler
