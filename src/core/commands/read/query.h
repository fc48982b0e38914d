// What `kymo query` prints, and its prompt.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cli/signals.h"
#include "query/result.h"
#include "query/session.h"

namespace kymo::cli {

// Prints what is missing in each of the traces that were read. True if something is.
bool show_ledgers(const query::Session& session);

// Calls add() with the cells of each of the first `most` rows, as texts that can be shown. True if there are more rows.
// Throws query::QueryError.
bool each_row(query::Result& result, size_t most, const std::function<void(std::vector<std::string>)>& add);

// Prints the rows of a query.

enum class RowFormat : uint8_t { Table, Csv, Json, Markdown };

// Prints to standard output. CSV and JSON are written while rows arrive; the others have at most 10,000 rows, and a
// note says if there are more. Ends early if the reader of standard output has ended. Throws query::QueryError.
void print_rows(query::Result& result, RowFormat format);

// The prompt of `kymo query`: statements from standard input, and Ctrl-C.

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
