#include "push/clickhouse_store.h"

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

void ClickHouseStore::prepare() {
  const std::string& database = client_.address().database;
  client_.execute(base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(database)));
  check_engines();
  for (const TableSpec* table : all_tables()) client_.execute(create_statement(database, *table));
  check_columns();
  check_version();
}

// A table of another engine may take rows later, or in another order, and then the mark would not be the last one.
void ClickHouseStore::check_engines() {
  const Rows rows = client_.query(base::format("SELECT name, engine FROM system.tables WHERE database = {}",
                                               quoted_text(client_.address().database)));
  if (rows.columns.size() != 2) throw Error(base::format("{}: the list of tables is not readable", text()));
  for (const TableSpec* table : all_tables())
    for (const auto& row : rows.rows)
      if (row[0] == table->name && !row[1].ends_with("MergeTree"))
        throw Error(
            base::format("{}: the table {} has the engine {} instead of MergeTree; push to the database of a "
                         "server that has the rows itself",
                         text(), table->name, base::printable(row[1])));
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
  const Address& address = client_.address();
  const std::string table = address.cluster.empty()
                                ? name_of(kTraces)
                                : base::format("cluster({}, {}, {})", quoted_text(address.cluster),
                                               quoted_name(address.database), quoted_name(kTraces.name));
  const Rows rows = client_.query(
      base::format("SELECT trace, argMax(has_events, attempt) AS events, argMax(CAST(job AS String), attempt) AS "
                   "its_job,\n  argMax(rank, attempt) AS its_rank FROM {} WHERE trace IN ({}) GROUP BY trace",
                   table, base::join(traces, ", ")));
  if (rows.columns.size() != 4) throw Error(base::format("{}: the list of traces is not readable", text()));
  std::map<uint64_t, KnownTrace> found;
  for (const auto& row : rows.rows)
    found[parse_u64(row[0], "trace")] = {parse_u64(row[1], "events") != 0, row[2], parse_i64(row[3], "rank")};
  return found;
}

void ClickHouseStore::insert(const Block& block, uint64_t attempt) {
  client_.insert(block.table().name, block.encode(attempt));
}

std::unique_ptr<EventSink> ClickHouseStore::events(uint64_t attempt) {
  return std::make_unique<ClickHouseEvents>(client_, attempt);
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
