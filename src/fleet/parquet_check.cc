#include "fleet/parquet_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "fleet/answers.h"
#include "fleet/parquet_files.h"
#include "fleet/parquet_store.h"
#include "push/attempt.h"
#include "query/engine.h"
#include "query/session.h"

namespace kymo::fleet {
namespace {

constexpr std::chrono::minutes kLongestPush{10};

// The traces in these files that have no mark, by name; empty if that cannot be read.
std::string traces_only_in(const query::Engine& engine, const std::vector<std::string>& files,
                           const std::string& folder) {
  std::vector<std::string> literals;
  for (const std::string& file : files) literals.push_back(query::sql_literal(file));
  try {
    return trace_names(
        rows_of(engine, base::format("SELECT DISTINCT trace FROM read_parquet([{}], union_by_name = true)\n"
                                     "WHERE trace NOT IN (SELECT trace FROM {})\nORDER BY trace",
                                     base::join(literals, ", "), parquet_table(folder, push::kTraces))));
  } catch (const query::QueryError&) {
    return {};
  }
}

// The traces whose newest attempt is this one, by name; empty if that cannot be read.
std::string traces_of(const query::Engine& engine, const std::string& folder, uint64_t attempt) {
  try {
    return trace_names(rows_of(
        engine, base::format("SELECT trace, argMax(file, attempt) FROM {} GROUP BY trace HAVING max(attempt) = {}\n"
                             "ORDER BY 2, trace",
                             parquet_table(folder, push::kTraces), attempt)));
  } catch (const query::QueryError&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> incomplete_traces(const std::string& folder) {
  const query::Engine engine(0, query::FileAccess::On);
  std::vector<std::string> lines, unmarked;
  const uint64_t running = push::attempt_of(std::chrono::system_clock::now() - kLongestPush);
  for (const auto& [number, attempt] : attempts_of(folder)) {
    if (!attempt.mark && number < running)
      for (const auto& [place, file] : attempt.files) unmarked.push_back(file);
    if (attempt.missing_count() == 0) continue;
    const std::string traces = traces_of(engine, folder, number);
    if (traces.empty()) continue;
    const std::vector<std::string> missing = attempt.missing(number);
    const uint64_t more = attempt.missing_count() - missing.size();
    lines.push_back(base::format("incomplete: {}; {}{} of {} {} missing: push these traces again", traces,
                                 base::join(missing, ", "), more > 0 ? base::format(" and {} more", more) : "",
                                 base::printable(folder), attempt.missing_count() == 1 ? "is" : "are"));
  }
  if (const std::string traces = unmarked.empty() ? "" : traces_only_in(engine, unmarked, folder); !traces.empty())
    lines.push_back(
        base::format("not counted: {}; their push did not end, or their file in {}/{} was removed: push them again",
                     traces, base::printable(folder), push::kTraces.name));
  return lines;
}

std::string foreign_file(const std::string& folder) {
  const std::vector<std::string> files = foreign_files(folder);
  if (files.empty()) return {};
  return base::format("{}{} not written by kymo push: move {} out of {}", base::printable(files[0]),
                      files.size() == 1 ? " was" : base::format(" and {} more were", files.size() - 1),
                      files.size() == 1 ? "it" : "them", base::printable(folder));
}

std::string damaged_file(const std::string& folder) {
  const query::Engine engine(0, query::FileAccess::On);
  for (const push::TableSpec* table : push::all_tables()) {
    for (const std::string& file : table_files(folder, *table)) {
      try {
        (void)rows_of(engine, base::format("SELECT max(hash(t)) FROM read_parquet({}) AS t", query::sql_literal(file)));
      } catch (const query::QueryError&) {
        if (::access(file.c_str(), R_OK) != 0) return base::file_error("read", file, errno).what();
        const auto attempt = attempt_in(std::filesystem::path(file).filename().string());
        if (!attempt || table == &push::kSchema)
          return base::format("{} is damaged: delete it, the next kymo push writes it again", base::printable(file));
        const std::string traces = traces_of(engine, folder, *attempt);
        return base::format("{} is damaged: delete it, and push its traces again{}{}", base::printable(file),
                            traces.empty() ? "" : ": ", traces);
      }
    }
  }
  return {};
}

}  // namespace kymo::fleet
