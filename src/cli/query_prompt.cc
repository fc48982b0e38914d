#include "cli/query_prompt.h"

#include <unistd.h>

#include <chrono>
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "query/schema.h"
#include "query/statements.h"

namespace kymo::cli {
namespace {

constexpr std::string_view kWelcome =
    "Statements end with a semicolon. \"help\" lists the tables, \"exit\" or Ctrl-D ends.\n";
constexpr std::string_view kPrompt = "kymo> ", kMore = "  ... ";

// The word of a line that is a command of the prompt, also as ".exit" or "exit;".
std::string word_of(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t."), end = line.find_last_not_of(" \t\r;");
  return begin == line.npos || end == line.npos || end < begin ? std::string() : line.substr(begin, end + 1 - begin);
}

}  // namespace

QueryInterrupt::QueryInterrupt(query::Session& session)
    : inbox_({SIGINT}), session_(session), thread_([this] { wait(); }) {}

QueryInterrupt::~QueryInterrupt() {
  stopping_.store(true);
  thread_.join();
}

void QueryInterrupt::wait() {
  using namespace std::chrono_literals;
  while (!stopping_.load()) {
    if (!inbox_.wait(20ms)) continue;
    const bool is_typing = prompting_.load();  // before a statement ends because of the interrupt
    pressed_.store(true);
    session_.interrupt();
    if (is_typing) print("\n" + std::string(kPrompt));
  }
}

bool is_interactive() { return isatty(STDIN_FILENO) != 0; }

int read_statements(QueryInterrupt& interrupt, const std::function<int(const std::string&)>& run) {
  const bool interactive = is_interactive();
  query::StatementSplitter splitter;
  if (interactive) print(kWelcome);
  std::string line;
  while (true) {
    if (interactive) print(splitter.is_empty() ? kPrompt : kMore);
    interrupt.set_prompting(interactive);
    const bool has_line = static_cast<bool>(std::getline(std::cin, line));
    interrupt.set_prompting(false);
    if (interrupt.take()) splitter = {};  // the terminal has dropped the line that was being typed
    if (!has_line) break;
    if (interactive && splitter.is_empty()) {
      const std::string word = word_of(line);
      if (word == "exit" || word == "quit") return kDone;
      if (word == "help" || word == "schema") {
        print(query::schema_text());
        continue;
      }
    }
    for (const std::string& statement : splitter.add(line + "\n")) {
      const int code = run(statement);
      if (code != kDone && !interactive) return code;
    }
  }
  if (interactive) print("\n");
  const std::string rest = splitter.rest();
  return rest.empty() ? int{kDone} : run(rest);
}

}  // namespace kymo::cli
