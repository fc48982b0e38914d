#include "commands/read/query.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "options/command_line.h"
#include "query/schema.h"
#include "query/session.h"

namespace kymo::cli {

bool show_ledgers(const query::Session& session) {
  bool missing = false;
  std::set<std::string> shown;  // a file may be read twice, under its name and as one of several
  for (const auto& traces : session.traces()) {
    for (const query::LoadedTrace& trace : traces->all()) {
      if (!shown.insert(trace.path).second) continue;
      const Ledger ledger(analyze::summarise(trace.reader), traces->problems(trace));
      ledger.show();
      missing |= !ledger.empty();
    }
  }
  return missing;
}

bool each_row(query::Result& result, size_t most, const std::function<void(std::vector<std::string>)>& add) {
  for (size_t rows = 0; result.next(); ++rows) {
    if (rows == most) return true;
    std::vector<std::string> cells;
    for (size_t i = 0; i < result.columns().size(); ++i)
      cells.push_back(result.is_null(i) ? "NULL" : base::printable(result.text(i)));
    add(std::move(cells));
  }
  return false;
}

namespace {

using base::TextBuffer;
using query::CellKind;

constexpr size_t kMaxTableRows = 10'000;
constexpr size_t kFlushAt = 1 << 16;

// `kymo query … | head`: the rest of a large result need not be computed.
bool has_reader_ended() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

// Prints what was collected if it is enough. False: nobody reads it.
bool flush(TextBuffer& out, bool all) {
  if (!all && out.size() < kFlushAt) return true;
  print(out.view());
  out.clear();
  return !has_reader_ended();
}

// As in RFC 4180: quoted if necessary. NULL is an empty field, so an empty text has quotes.
void append_csv(TextBuffer& out, std::string_view text) {
  const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  if (!text.empty() && std::none_of(text.begin(), text.end(), is_special)) return out.append(text);
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void print_csv(query::Result& result) {
  const auto& columns = result.columns();
  TextBuffer out, cell;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i != 0) out.push_back(',');
    append_csv(out, columns[i].name);
  }
  out.push_back('\n');
  while (result.next()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != 0) out.push_back(',');
      if (result.is_null(i)) continue;
      cell.clear();
      result.append(cell, i);
      append_csv(out, cell.view());
    }
    out.push_back('\n');
    if (!flush(out, false)) return;
  }
  flush(out, true);
}

// A number as JSON writes it. It has no NaN, which is null, and no infinity, for which a number that is too large for a
// double stands: readers make an infinity of it.
std::string_view json_number(std::string_view text) {
  if (text.find('N') != text.npos) return "null";
  if (text.find('I') == text.npos) return text;
  return text.starts_with('-') ? "-1e999" : "1e999";
}

// The names of the columns, each once: the second "n" is "n_1", as in DuckDB.
std::vector<std::string> unique_names(const std::vector<query::Result::ColumnInfo>& columns) {
  std::set<std::string> taken;
  for (const auto& column : columns) taken.insert(column.name);
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const auto& column : columns) {
    std::string name = column.name;
    if (!seen.insert(name).second)
      for (size_t i = 1; !taken.insert(name).second; ++i) name = base::format("{}_{}", column.name, i);
    names.push_back(std::move(name));
  }
  return names;
}

void print_json(query::Result& result) {
  const auto& columns = result.columns();
  std::vector<std::string> keys;
  for (const std::string& name : unique_names(columns)) keys.push_back(base::json_string(name) + ":");
  TextBuffer out, cell;
  base::JsonArray rows(out);
  while (result.next()) {
    base::JsonObject row(rows.next());
    for (size_t i = 0; i < columns.size(); ++i) {
      TextBuffer& to = row.escaped_key(keys[i]);
      if (result.is_null(i)) {
        to.append("null");
        continue;
      }
      cell.clear();
      result.append(cell, i);
      if (columns[i].kind == CellKind::Text)
        append_json_string(to, cell.view());
      else
        to.append(columns[i].kind == CellKind::Number ? json_number(cell.view()) : cell.view());
    }
    row.close();
    if (!flush(out, false)) return;
  }
  rows.close();
  out.push_back('\n');
  flush(out, true);
}

std::string note_of(size_t rows, bool has_more) {
  return has_more ? base::format("(only the first {} shown: --csv and --json have all)\n", count_of(rows, "row"))
                  : base::format("({})\n", count_of(rows, "row"));
}

// Calls add(cells) for each row that is shown. Returns the note below the table.
template <typename Add>
std::string collect(query::Result& result, Add&& add) {
  size_t rows = 0;
  const bool has_more = each_row(result, kMaxTableRows, [&](std::vector<std::string> cells) {
    add(std::move(cells));
    ++rows;
  });
  return note_of(rows, has_more);
}

// Reduces the widest columns of text until a row fits into a line of `line_width`. Columns of numbers stay complete.
std::vector<size_t> fitting_widths(std::vector<size_t> widths, const std::vector<query::Result::ColumnInfo>& columns,
                                   size_t line_width) {
  constexpr size_t kGap = 2, kNarrowest = 8;
  size_t total = kGap * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > line_width) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i)
      if (columns[i].kind != CellKind::Number && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    if (widest == nullptr || *widest <= kNarrowest) break;
    --*widest;
    --total;
  }
  return widths;
}

void print_table(query::Result& result) {
  const auto& columns = result.columns();
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> widths;
  for (const auto& column : columns) widths.push_back(base::display_width(base::printable(column.name)));
  const std::string note = collect(result, [&](std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], base::display_width(cells[i]));
    rows.push_back(std::move(cells));
  });
  if (const auto line_width = terminal_width(Stream::Output)) widths = fitting_widths(widths, columns, *line_width);
  base::TextTable table;
  for (size_t i = 0; i < columns.size(); ++i)
    table.add_column(
        {base::printable(columns[i].name),
         columns[i].kind == CellKind::Number ? base::TextTable::Align::Right : base::TextTable::Align::Left,
         widths[i]});
  for (std::vector<std::string>& cells : rows) table.add(std::move(cells));
  print(shown(table) + note);
}

// A line of a Markdown table.
std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
    line += " |";
  }
  return line + "\n";
}

void print_markdown(query::Result& result) {
  std::vector<std::string> names, rules;
  for (const auto& column : result.columns()) {
    names.push_back(base::printable(column.name));
    rules.push_back(column.kind == CellKind::Number ? "---:" : "---");
  }
  std::string text = markdown_line(names) + markdown_line(rules);
  const std::string note =
      collect(result, [&](const std::vector<std::string>& cells) { text += markdown_line(cells); });
  print(text + (note.starts_with("(only") ? "\n" + note : ""));
}

}  // namespace

void print_rows(query::Result& result, RowFormat format) {
  if (result.columns().empty()) return;  // CREATE TABLE and others
  switch (format) {
    case RowFormat::Table:
      return print_table(result);
    case RowFormat::Csv:
      return print_csv(result);
    case RowFormat::Json:
      return print_json(result);
    case RowFormat::Markdown:
      return print_markdown(result);
  }
}

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

namespace {

// `kymo query`: SQL over traces.

struct Options {
  std::vector<std::string> files;
  std::string statements;
  RowFormat format = RowFormat::Table;
  bool strict = false;

  bool is_prompt() const { return statements.empty() && is_interactive(); }
};

// The last argument is the statement if it is not a file and has spaces, or does not look like the name of a file.
void take_statement(Options& options) {
  const std::string& last = options.files.back();
  std::error_code ignored;
  const bool has_spaces = last.find_first_of(" \t\n") != last.npos;
  const bool is_word = options.files.size() > 1 && last.find_first_of("./") == last.npos;
  if (!(has_spaces || is_word) || std::filesystem::exists(last, ignored)) return;
  options.statements = last;
  options.files.pop_back();
  if (options.files.empty())
    throw options::UsageError("query", "no trace given. Usage: kymo query FILE... ['STATEMENT'] [options]");
}

// Runs one statement; reports its error. `results` counts the results that were printed.
int run_statement(query::Session& session, QueryInterrupt& interrupt, const std::string& statement,
                  const Options& options, size_t& results) {
  try {
    interrupt.take();
    query::Result result = session.run(statement);
    // Two JSON arrays are not a JSON document. At a prompt, people read them one by one.
    if (options.format == RowFormat::Json && results > 0 && !result.columns().empty() && !options.is_prompt()) {
      say_error(
          "--json prints one result, and this is the second one: run the statements one by one, or without --json");
      return kWrongUsage;
    }
    results += result.columns().empty() ? 0 : 1;
    print_rows(result, options.format);
    return kDone;
  } catch (const query::QueryError& error) {
    if (error.interrupted() || interrupt.take()) {
      say("interrupted");
      return kDiedOfSignal + SIGINT;
    }
    say_error(error.what());
    const std::string_view message = error.what();
    if (message.starts_with("Catalog Error")) say("kymo query --schema lists the tables and their columns");
    if (message.starts_with("Permission Error"))
      say("SQL cannot read or write files; FROM ranges('FILE') reads a trace of any format");
    return kFailed;
  }
}

}  // namespace

int query_command(const Arguments& arguments) {
  Options options;
  bool csv = false, json = false, markdown = false, schema = false;
  options::CommandLine line(
      "query", "kymo query FILE... ['STATEMENT'] [options]",
      "Runs SQL over traces, with DuckDB. The tables are ranges, events, counters, allocations, flows, states,\n"
      "threads, devices, processes, losses and names; --schema describes them. FROM ranges reads all FILEs, FROM "
      "'x.kymo' one.\n"
      "Without a statement it reads statements from standard input; on a terminal it shows a prompt.\n"
      "SQL cannot read or write other files.",
      "kymo query run.kymo 'SELECT name, sum(duration_ns) FROM ranges GROUP BY name ORDER BY 2 DESC'\n"
      "kymo query run.kymo\n"
      "kymo query --schema");
  line.optional_arguments("FILE", options.files, "the traces; the last argument may be the statement");
  line.flag("--csv", csv, "as CSV");
  line.flag("--json", json, "as JSON: an array of objects");
  line.flag("--markdown", markdown, "as a Markdown table");
  line.flag("--schema", schema, "describe the tables, with examples");
  line.flag("--strict", options.strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  if (schema) {
    print(query::schema_text());
    return kDone;
  }
  if (csv + json + markdown > 1) throw options::UsageError("query", "--csv, --json and --markdown exclude each other");
  options.format = csv ? RowFormat::Csv : json ? RowFormat::Json : markdown ? RowFormat::Markdown : RowFormat::Table;
  if (options.files.empty())
    throw options::UsageError("query", "no trace given. Usage: kymo query FILE... ['STATEMENT'] [options]");
  take_statement(options);

  query::Session session({.files = options.files, .open = open_trace});
  QueryInterrupt interrupt(session);
  size_t results = 0;
  const auto run = [&](const std::string& statement) {
    return run_statement(session, interrupt, statement, options, results);
  };
  int code = kDone;
  if (options.statements.empty()) {
    code = read_statements(interrupt, run);
  } else {
    for (const std::string& statement : query::split_statements(options.statements))
      if (code = run(statement); code != kDone) break;
  }
  const bool missing = show_ledgers(session);
  return code == kDone && options.strict && missing ? int{kIncomplete} : code;
}

}  // namespace kymo::cli
