#include "fleet/incomplete.h"

#include "base/text.h"
#include "fleet/answers.h"
#include "fleet/parquet_check.h"

namespace kymo::fleet {

std::vector<std::string> incomplete_traces(const Selection& selection) {
  const Target& target = selection.target;
  if (!target.server) return incomplete_traces(target.folder);
  const push::Rows rows = ask(target, lost_rows_statement(selection));
  if (rows.columns.size() != 2) throw Error("the server's answer is not a list of traces");
  if (rows.rows.empty()) return {};
  return {base::format("incomplete: {} without iterations or operations in {}: push again what has some",
                       trace_names(rows), target.text())};
}

}  // namespace kymo::fleet
