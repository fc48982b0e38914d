#include "fleet/incomplete.h"

#include "base/text.h"
#include "fleet/answers.h"
#include "fleet/parquet_check.h"
#include "fleet/parquet_files.h"

namespace kymo::fleet {
namespace {

push::Rows list_of(const Target& target, const std::string& statement) {
  push::Rows rows = ask(target, statement);
  if (rows.columns.size() != 2) throw Error("the server's answer is not a list of traces");
  return rows;
}

// True if a server, or the folder, has operations and no table for calls.
bool lacks_calls(const Target& target) {
  if (!target.server)
    return has_files(target.folder, push::kOperations) && !has_files(target.folder, push::kCollectives);
  const push::Address& address = *target.server;
  const push::Rows rows =
      ask(target, base::format("SELECT name, count() AS servers FROM {} WHERE database = {} GROUP BY name",
                               address.cluster.empty()
                                   ? std::string("system.tables")
                                   : base::format("cluster({}, system, tables)", push::quoted_text(address.cluster)),
                               push::quoted_text(address.database)));
  if (rows.columns.size() != 2) throw Error("the server's answer is not a list of tables");
  uint64_t operations = 0, calls = 0;
  for (const auto& row : rows.rows) {
    if (row[0] == push::kOperations.name) operations = push::parse_u64(row[1], "servers");
    if (row[0] == push::kCollectives.name) calls = push::parse_u64(row[1], "servers");
  }
  return calls < operations;
}

}  // namespace

std::vector<std::string> incomplete_traces(const Selection& selection, bool uses_operations) {
  const Target& target = selection.target;
  if (!target.server) return incomplete_traces(target.folder);
  const push::Rows rows = list_of(target, lost_rows_statement(selection, uses_operations));
  if (rows.rows.empty()) return {};
  return {base::format("incomplete: {}; their iterations or operations are missing in {}: push these traces again",
                       trace_names(rows), target.text())};
}

std::vector<std::string> traces_without_calls(const Selection& selection) {
  const Target& target = selection.target;
  if (lacks_calls(target))
    throw Error(
        base::format("{} has no table {}, because an older kymo wrote it: push the traces again with this kymo, "
                     "and add the table to a database of Distributed tables",
                     target.text(), push::kCollectives.name));
  const push::Rows rows = list_of(target, without_calls_statement(selection));
  if (rows.rows.empty()) return {};
  return {
      base::format("not counted: {}; an older kymo pushed them to {}, without the calls of their collectives: push "
                   "them again",
                   trace_names(rows), target.text())};
}

}  // namespace kymo::fleet
