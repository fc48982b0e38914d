#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/fleet_output.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "fleet/answers.h"
#include "fleet/text_name.h"

namespace kymo::cli {

using Align = base::TextTable::Align;

int show_stragglers(fleet::Stragglers stragglers, uint64_t limit, std::optional<double> fail_above, const Notes& notes,
                    bool json) {
  std::vector<fleet::StragglerRow>& rows = stragglers.rows;
  std::erase_if(rows, [](const fleet::StragglerRow& row) { return row.others_waited_ns == 0; });
  const bool is_slow = fail_above && std::any_of(rows.begin(), rows.end(), [&](const fleet::StragglerRow& row) {
                         return row.share > *fail_above;
                       });
  // A job of which nothing can be compared is not below a limit.
  const bool is_enough = !stragglers.jobs.empty() && !(fail_above && stragglers.has_unknown_job());
  const int exit_code = is_slow ? kSlower : is_enough ? kFine : kTooFew;
  const bool has_jobs = stragglers.jobs.size() > 1 || stragglers.has_unknown_job();
  if (rows.size() > limit) rows.resize(limit);
  if (json) {
    print(json_of(
        rows,
        [](base::JsonWriter& out, const fleet::StragglerRow& row) {
          out.field("job", fleet::text_of_name(row.job));
          out.field("rank", row.rank);
          out.field("host", fleet::text_of_name(row.worst_host));
          out.field("times_last", row.times_last);
          out.field("others_waited_ns", row.others_waited_ns);
          out.field("share", row.share);
          out.field("worst_group", fleet::text_of_name(row.worst_group));
          out.field("worst_collective", fleet::text_of_name(row.worst_name));
          out.field("worst_iteration", row.worst_iteration);
          out.field("worst_trace", fleet::trace_text(row.worst_trace));
        },
        notes, exit_code));
    return exit_code;
  }
  base::TextTable table({{"rank", Align::Right},
                         {"last", Align::Right},
                         {"others waited", Align::Right},
                         {"of all time", Align::Right},
                         {"worst iteration", Align::Right},
                         {"its trace"},
                         {"collective"}});
  const bool has_groups =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.worst_group.empty(); });
  const bool has_hosts =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.worst_host.empty(); });
  if (has_groups) table.add_column({"process group"});
  if (has_hosts) table.add_column({"host"});
  if (has_jobs) table.add_column({"job"});
  for (const fleet::StragglerRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.rank),
                                   count_text(row.times_last),
                                   duration_text(row.others_waited_ns),
                                   base::format("{:.1f} %", 100 * row.share),
                                   std::to_string(row.worst_iteration),
                                   fleet::trace_text(row.worst_trace),
                                   base::printable(row.worst_name)};
    if (has_groups) cells.push_back(base::printable(row.worst_group));
    if (has_hosts) cells.push_back(row.worst_host.empty() ? "(unknown)" : base::printable(row.worst_host));
    if (has_jobs) cells.push_back(fleet::shown_name(row.job));
    table.add(std::move(cells));
  }
  print(shown(table));
  return exit_code;
}

}  // namespace kymo::cli
