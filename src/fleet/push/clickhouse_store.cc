#include "push/clickhouse_store.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace kymo::push {
void ClickHouseStore::prepare() {
  const Address& address = client_.address();
  client_.execute(base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(address.database)));
  const Rows rows =
      client_.query(base::format("SELECT name FROM system.tables WHERE database = {}", quoted_text(address.database)));
  std::set<std::string> names;
  for (const auto& row : rows.rows) names.insert(row.at(0));
  const auto is_there = [&](const TableSpec* table) { return names.contains(std::string(table->name)); };
  const auto other = std::find_if(all_tables().begin(), all_tables().end(), is_there);
  if (other != all_tables().end() && !is_there(&kSchema))
    throw Error(
        base::format("{} has a table {} that is not Kymo's: use another database", address.text(), (*other)->name));
  // The version is written when all tables are there.
  client_.execute(create_statement(address.database, kSchema));
  const Rows found = client_.query(base::format("SELECT max(version) AS version FROM {}.{}",
                                                quoted_name(address.database), quoted_name(kSchema.name)));
  const uint64_t version = parse_u64(found.rows.at(0).at(0), "version");
  if (version != 0) refuse_other_version(version, address.text());
  for (const TableSpec* table : all_tables()) client_.execute(create_statement(address.database, *table));
  if (version == kSchemaVersion) return;
  Block block(kSchema);
  block.number(kSchemaVersion);
  block.end_row();
  insert(block, new_attempt());
}

KnownTraces ClickHouseStore::known(const std::vector<uint64_t>& traces) {
  const Rows rows = client_.query(base::format(
      R"(SELECT trace, argMax(CAST(job AS String), attempt) AS its_job, argMax(problems, attempt) AS its_problems
FROM {} WHERE trace IN ({}) GROUP BY trace)",
      table_everywhere(client_.address(), kTraces), base::join(traces, ", ")));
  expect_columns(rows, 3);
  KnownTraces found;
  for (const auto& row : rows.rows)
    found[parse_u64(row[0], rows.columns[0])] = {row[1], parse_u64(row[2], rows.columns[2]) != 0};
  return found;
}

void ClickHouseStore::insert(const Block& block, uint64_t attempt) {
  client_.insert(block.table(), block.encode(attempt));
}

}  // namespace kymo::push
