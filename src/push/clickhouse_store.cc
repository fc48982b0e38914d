#include "push/clickhouse_store.h"

#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "push/attempt.h"
#include "push/block_sender.h"

namespace kymo::push {
namespace {

class ClickHouseEvents : public EventSink {
 public:
  ClickHouseEvents(Client& client, uint64_t attempt) : attempt_(attempt), sender_(client, kEvents.name) {}
  void add(const Block& block) override { sender_.send(block.encode(attempt_)); }
  void finish() override { sender_.finish(); }

 private:
  uint64_t attempt_;
  BlockSender sender_;
};

}  // namespace

std::string ClickHouseStore::name_of(const TableSpec& table) const {
  return base::format("{}.{}", quoted_name(client_.address().database), quoted_name(table.name));
}

// The table of all servers of the cluster, if there is one.
std::string ClickHouseStore::everywhere(const TableSpec& table) const {
  const Address& address = client_.address();
  if (address.cluster.empty()) return name_of(table);
  return base::format("cluster({}, {}, {})", quoted_text(address.cluster), quoted_name(address.database),
                      quoted_name(table.name));
}

bool ClickHouseStore::prepare() {
  const std::string& database = client_.address().database;
  client_.execute(base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(database)));
  const bool had_all = has_all_tables();
  for (const TableSpec* table : all_tables()) client_.execute(create_statement(database, *table));
  check_columns();
  check_version();
  return !had_all;
}

// A table of another engine may take rows later, or in another order, and then the mark would not be the last one.
bool ClickHouseStore::has_all_tables() {
  const Rows rows = client_.query(base::format("SELECT name, engine FROM system.tables WHERE database = {}",
                                               quoted_text(client_.address().database)));
  if (rows.columns.size() != 2) throw Error(base::format("{}: the list of tables is not readable", text()));
  size_t found = 0;
  for (const TableSpec* table : all_tables()) {
    for (const auto& row : rows.rows) {
      if (row[0] != table->name) continue;
      ++found;
      if (!row[1].ends_with("MergeTree"))
        throw Error(
            base::format("{}: the table {} has the engine {} instead of MergeTree; push to the database of a "
                         "server that has the rows itself",
                         text(), table->name, base::printable(row[1])));
    }
  }
  return found == all_tables().size();
}

void ClickHouseStore::check_columns() {
  const Rows rows = client_.query(base::format("SELECT table, name, type FROM system.columns WHERE database = {}",
                                               quoted_text(client_.address().database)));
  if (rows.columns.size() != 3) throw Error(base::format("{}: the list of columns is not readable", text()));
  std::map<std::pair<std::string, std::string>, std::string> types;
  for (const auto& row : rows.rows) types[{row[0], row[1]}] = row[2];
  for (const TableSpec* table : all_tables()) {
    for (const ColumnSpec& column : table->columns) {
      const auto found = types.find({std::string(table->name), std::string(column.name)});
      const std::string_view wanted = clickhouse_type(column.type);
      if (found != types.end() && found->second == wanted) continue;
      throw Error(base::format("{}: the table {} is not Kymo's: {}; use another database, or rename that table", text(),
                               table->name,
                               found == types.end() ? base::format("it has no column {}", column.name)
                                                    : base::format("its column {} is {} instead of {}", column.name,
                                                                   base::printable(found->second), wanted)));
    }
  }
}

void ClickHouseStore::check_version() {
  const Rows rows = client_.query(base::format("SELECT max(version) AS version FROM {}", name_of(kSchema)));
  if (rows.rows.size() != 1) throw Error(base::format("{}: the version of the tables is not readable", text()));
  const uint64_t version = parse_u64(rows.rows[0][0], "version");
  if (version > kSchemaVersion)
    throw Error(base::format("{}: the tables have version {}, and this kymo knows version {}: update kymo", text(),
                             version, kSchemaVersion));
  if (version == kSchemaVersion) return;
  Block block(kSchema);
  block.number(kSchemaVersion);
  block.end_row();
  client_.insert(kSchema.name, block.encode(new_attempt()));
}

std::map<uint64_t, KnownTrace> ClickHouseStore::known(const std::vector<uint64_t>& traces) {
  const Rows rows = client_.query(base::format(
      "SELECT trace, max(attempt) AS newest, argMax(has_events, attempt) AS events,\n  argMax(CAST(job AS String), "
      "attempt) AS its_job, argMax(rank, attempt) AS its_rank,\n  argMax(toUnixTimestamp(started), attempt) AS began, "
      "argMax(iterations, attempt) AS its_iterations,\n  argMax(problems, attempt) AS its_problems\nFROM {} WHERE "
      "trace IN ({}) GROUP BY trace",
      everywhere(kTraces), base::join(traces, ", ")));
  if (rows.columns.size() != 8) throw Error(base::format("{}: the list of traces is not readable", text()));
  std::map<uint64_t, KnownTrace> found;
  if (rows.rows.empty()) return found;
  const auto iterations = rows_of(kIterations, rows), operations = rows_of(kOperations, rows);
  const auto communication = rows_of(kOperations, rows, kIsCommunication), collectives = rows_of(kCollectives, rows);
  for (const auto& row : rows.rows) {
    const Attempt its{parse_u64(row[0], "trace"), parse_u64(row[1], "attempt")};
    KnownTrace& trace = found[its.first];
    trace = {parse_u64(row[2], "events") != 0, row[3], parse_i64(row[4], "rank"), its.second};
    const auto counted = iterations.find(its);
    trace.lost_rows = (counted == iterations.end() ? 0 : counted->second) < parse_u64(row[6], "iterations");
    trace.lost_rows |= communication.contains(its) && !collectives.contains(its);
    trace.lacks_operations = !operations.contains(its);
    trace.is_damaged = parse_u64(row[7], "problems") != 0;
  }
  return found;
}

// How many rows of a table the attempts of these marks have. Job and time are for the sorting key: without them the
// server would read the whole table.
std::map<ClickHouseStore::Attempt, uint64_t> ClickHouseStore::rows_of(const TableSpec& table, const Rows& marks,
                                                                      std::string_view condition) {
  std::set<std::string> jobs, times, traces;
  for (const auto& row : marks.rows) {
    traces.insert(std::to_string(parse_u64(row[0], "trace")));
    jobs.insert(quoted_text(row[3]));
    times.insert(base::format("toDateTime({})", parse_u64(row[5], "began")));
  }
  const Rows rows = client_.query(
      base::format("SELECT trace, attempt, count() AS n FROM {}\nWHERE job IN ({}) AND started IN ({}) AND trace IN "
                   "({}){}{}\nGROUP BY trace, attempt",
                   everywhere(table), base::join(jobs, ", "), base::join(times, ", "), base::join(traces, ", "),
                   condition.empty() ? "" : " AND ", condition));
  if (rows.columns.size() != 3) throw Error(base::format("{}: the numbers of rows are not readable", text()));
  std::map<Attempt, uint64_t> counts;
  for (const auto& row : rows.rows)
    counts[{parse_u64(row[0], "trace"), parse_u64(row[1], "attempt")}] = parse_u64(row[2], "count");
  return counts;
}

void ClickHouseStore::insert(const Block& block, uint64_t attempt) {
  client_.insert(block.table().name, block.encode(attempt));
}

std::unique_ptr<EventSink> ClickHouseStore::events(uint64_t attempt) {
  return std::make_unique<ClickHouseEvents>(client_, attempt);
}

Content ClickHouseStore::content() {
  const Rows rows = client_.query(
      base::format("SELECT table, sum(rows) AS n FROM system.parts WHERE active AND database = {} GROUP BY table",
                   quoted_text(client_.address().database)));
  if (rows.columns.size() != 2) throw Error(base::format("{}: the sizes of tables are not readable", text()));
  Content content;
  for (const auto& row : rows.rows) content[row[0]] = parse_u64(row[1], "rows");
  return content;
}

void ClickHouseStore::remove_orphans(uint64_t before) {
  for (const TableSpec* table : all_tables()) {
    if (table == &kTraces || table == &kSchema) continue;
    client_.execute(base::format(
        "ALTER TABLE {} DELETE WHERE attempt < {} AND (trace, attempt) NOT IN (SELECT trace, max(attempt) FROM {} "
        "GROUP BY trace)",
        name_of(*table), before, name_of(kTraces)));
  }
}

}  // namespace kymo::push
