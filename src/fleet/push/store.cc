#include "push/store.h"

#include <chrono>
#include <random>

#include "base/text.h"
#include "push/clickhouse.h"

namespace kymo::push {

uint64_t new_attempt() {
  constexpr unsigned kRandomBits = 22;  // the others are milliseconds since 1970
  static thread_local std::mt19937_64 random{std::random_device{}()};
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto now = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
  return now << kRandomBits | (random() & ((uint64_t{1} << kRandomBits) - 1));
}

size_t SummaryBlocks::bytes() const {
  size_t sum = 0;
  for (const Block* block : all()) sum += block->bytes();
  return sum;
}
size_t SummaryBlocks::rows() const {
  size_t sum = 0;
  for (const Block* block : all()) sum += block == &traces ? 0 : block->rows();
  return sum;
}

void SummaryBlocks::append(const SummaryBlocks& other) {
  iterations.append(other.iterations);
  operations.append(other.operations);
  device_time.append(other.device_time);
  waits.append(other.waits);
  traces.append(other.traces);
}

KnownTraces Store::ask_known(const std::string& table, const std::vector<uint64_t>& traces, uint32_t from,
                             uint32_t to) {
  const Rows rows = ask(base::format(
      "SELECT trace, max(problems) AS its_problems FROM {} WHERE started BETWEEN toDateTime({}) AND toDateTime({}) AND "
      "trace IN ({}) GROUP BY trace",
      table, from, to, base::join(traces, ", ")));
  expect_columns(rows, 2);
  KnownTraces found;
  for (const auto& row : rows.rows) found[parse_u64(row[0], rows.columns[0])] = parse_u64(row[1], rows.columns[1]) != 0;
  return found;
}

void refuse_other_version(uint64_t version, const std::string& place) {
  if (version == kSchemaVersion) return;
  throw Refused(
      base::format("{} has tables of version {}, and this kymo has version {}: push the traces into a new database",
                   place, version, kSchemaVersion));
}

}  // namespace kymo::push
