#include "cli/signals.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <ctime>

#include "cli/command.h"

namespace kymo::cli {

bool is_request_to_end(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

void die_by(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(kDiedOfSignal + signal);  // somebody else blocks it
}

SignalInbox::SignalInbox(std::initializer_list<int> signals) {
  sigemptyset(&awaited_);
  for (const int signal : signals) sigaddset(&awaited_, signal);
  pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
}

SignalInbox::~SignalInbox() {
  while (wait(std::chrono::milliseconds(0))) continue;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

sigset_t SignalInbox::program_mask() const {
  sigset_t mask = before_;
  for (const int signal :
       {SIGPIPE, SIGXFSZ})  // blocked by main() for kymo's own writes; programs expect to die of them
    sigdelset(&mask, signal);
  return mask;
}

std::optional<SignalInbox::Message> SignalInbox::wait(std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec timeout{seconds.count(), std::chrono::nanoseconds(limit - seconds).count()};
  siginfo_t info{};
  const int signal = ::sigtimedwait(&awaited_, &info, &timeout);
  if (signal < 0) return std::nullopt;  // timeout, or interrupted by another signal: the caller calls again
  return Message{signal, info.si_code <= 0};
}

}  // namespace kymo::cli
