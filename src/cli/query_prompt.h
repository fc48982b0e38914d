// The prompt of `kymo query`: statements from standard input, and Ctrl-C.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "cli/signals.h"
#include "query/session.h"

namespace kymo::cli {

// Ctrl-C ends the running statement. Create it before the first statement, so that no thread of DuckDB gets the signal.
class QueryInterrupt {
 public:
  explicit QueryInterrupt(query::Session& session);
  ~QueryInterrupt();
  QueryInterrupt(const QueryInterrupt&) = delete;
  QueryInterrupt& operator=(const QueryInterrupt&) = delete;

  // Whether Ctrl-C came since the last call.
  bool take() { return pressed_.exchange(false); }

  // While a line is being typed, Ctrl-C drops it and shows the prompt again.
  void set_prompting(bool prompting) { prompting_.store(prompting); }

 private:
  void wait();

  SignalInbox inbox_;
  query::Session& session_;
  std::atomic<bool> pressed_{false}, stopping_{false}, prompting_{false};
  std::thread thread_;
};

// Standard input is a terminal.
bool is_interactive();

// Reads statements from standard input until its end or until "exit", and calls `run` for each, which returns an exit
// code. On a terminal it shows a prompt, a statement may have several lines and ends with a semicolon, Ctrl-C drops it,
// and an error does not end the prompt. Otherwise the first error ends it. Returns the exit code.
int read_statements(QueryInterrupt& interrupt, const std::function<int(const std::string&)>& run);

}  // namespace kymo::cli
