// `kymo query`: SQL over traces.
#include <filesystem>

#include "cli/commands.h"
#include "cli/query_ledger.h"
#include "cli/query_output.h"
#include "cli/query_prompt.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "options/command_line.h"
#include "query/schema.h"
#include "query/session.h"
#include "query/statements.h"

namespace kymo::cli {
namespace {

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
      "Runs SQL over traces, with DuckDB. The tables are ranges, events, counters, allocations, flows, threads,\n"
      "devices, processes, losses and names; --schema describes them. FROM ranges reads all FILEs, FROM 'x.kymo' one.\n"
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
  return code == kDone && options.strict && missing ? int{kLossOrDamage} : code;
}

}  // namespace kymo::cli
