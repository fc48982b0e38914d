// Signals as messages: blocked on the calling thread and those it starts later, and read one at a time.
//
// Nothing runs in a signal handler, so the reaction to a signal is ordinary code.
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <optional>

namespace kymo::cli {

// Ctrl-C, Ctrl-\, and what a system or a user ends programs with. Not a crash.
bool is_request_to_end(int signal);
// Ends this process as the signal would have: a shell that sees this ends its script too. No core is written.
[[noreturn]] void die_by(int signal);

class SignalInbox {
 public:
  explicit SignalInbox(std::initializer_list<int> signals);
  ~SignalInbox();  // restores the mask; signals that were not read are dropped
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  struct Message {
    int signal = 0;
    bool from_process = false;  // sent by kill(); false: by the kernel, for example Ctrl-C on the terminal
  };
  // The next signal, or nothing if none arrives in time.
  std::optional<Message> wait(std::chrono::milliseconds limit);

  // The signal mask for programs started from here: the mask that kymo itself was started with.
  sigset_t program_mask() const;

 private:
  sigset_t awaited_;
  sigset_t before_;
};

}  // namespace kymo::cli
