#include "push/clickhouse_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/printable.h"
#include "base/text.h"
#include "push/store.h"

namespace kymo::push {
namespace {

// Sends blocks of events from a thread of its own, so that the next block is made meanwhile. At most two blocks wait: a
// slow server makes the reader wait.
class BlockSender {
 public:
  BlockSender(Client& client, std::string_view table) : client_(client), table_(table), thread_([this] { work(); }) {}
  // What waits is dropped.
  ~BlockSender() {
    close(true);
    if (thread_.joinable()) thread_.join();
  }
  BlockSender(const BlockSender&) = delete;
  BlockSender& operator=(const BlockSender&) = delete;

  // Both throw what the insert of a block threw.
  void send(std::string native) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ != nullptr || waiting_.size() < kMostWaiting; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    waiting_.push_back(std::move(native));
    changed_.notify_all();
  }
  void finish() {
    close(false);
    thread_.join();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  static constexpr size_t kMostWaiting = 2;

  void close(bool drop) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (drop) waiting_.clear();
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string native = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      std::exception_ptr failure;
      try {
        client_.insert(table_, native);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure == nullptr) continue;
      failure_ = failure;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }

  Client& client_;
  std::string table_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::exception_ptr failure_;
  bool closed_ = false;
  std::thread thread_;
};

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
      "argMax(problems, attempt) AS its_problems\nFROM {} WHERE trace IN ({}) GROUP BY trace",
      table_everywhere(client_.address(), kTraces), base::join(traces, ", ")));
  if (rows.columns.size() != 7) throw Error(base::format("{}: the list of traces is not readable", text()));
  std::map<uint64_t, KnownTrace> found;
  for (const auto& row : rows.rows) {
    KnownTrace& trace = found[parse_u64(row[0], "trace")];
    trace.attempt = parse_u64(row[1], "attempt");
    trace.has_events = parse_u64(row[2], "events") != 0;
    trace.job = row[3];
    trace.rank = parse_i64(row[4], "rank");
    trace.started = parse_u64(row[5], "began");
    trace.is_damaged = parse_u64(row[6], "problems") != 0;
  }
  return found;
}

void ClickHouseStore::check_rows(std::map<uint64_t, KnownTrace>& traces) {
  if (traces.empty()) return;
  find_complete(traces);
  find_unmarked(traces);
}

// Without the job, which may be another one.
void ClickHouseStore::find_unmarked(std::map<uint64_t, KnownTrace>& traces) {
  std::set<std::string> times;
  std::vector<uint64_t> numbers;
  for (const auto& [number, trace] : traces) {
    numbers.push_back(number);
    times.insert(base::format("toDateTime({})", trace.started));
  }
  Rows rows;
  try {
    rows =
        client_.query(base::format("SELECT trace, max(attempt) AS newest, argMax(CAST(job AS String), attempt) AS "
                                   "its_job,\n  argMax(rank, attempt) "
                                   "AS its_rank, max(CAST(of_table AS String) = {}) AS events\nFROM {} PREWHERE trace "
                                   "IN ({}) WHERE started IN ({}) "
                                   "AND attempt < {} GROUP BY trace",
                                   quoted_text(kEvents.name), table_everywhere(client_.address(), kRowCounts),
                                   base::join(numbers, ", "), base::join(times, ", "), unmarked_before()));
  } catch (const TryAgain&) {
    throw;
  } catch (const Error&) {
    return;  // counts that cannot be read are a damage, which is known by now
  }
  if (rows.columns.size() != 5) throw Error(base::format("{}: the counts of rows are not readable", text()));
  for (const auto& row : rows.rows) {
    KnownTrace& trace = traces.at(parse_u64(row[0], "trace"));
    const uint64_t newest = parse_u64(row[1], "attempt");
    if (newest <= trace.attempt) continue;
    trace.lost_rows = true;
    trace.attempt = newest;
    trace.job = row[2];
    trace.rank = parse_i64(row[3], "rank");
    trace.has_events |= parse_u64(row[4], "events") != 0;
  }
}

// If the server cannot read the rows of all of them, each is asked for alone.
void ClickHouseStore::find_complete(std::map<uint64_t, KnownTrace>& traces) {
  const auto check = [&](std::map<uint64_t, KnownTrace>& some) {
    const std::set<Attempt> complete = complete_attempts(some);
    for (auto& [number, trace] : some) trace.lost_rows = !complete.contains({number, trace.attempt});
  };
  try {
    return check(traces);
  } catch (const TryAgain&) {
    throw;
  } catch (const Error&) {
  }
  for (auto& [number, trace] : traces) {
    std::map<uint64_t, KnownTrace> one{{number, trace}};
    try {
      check(one);
      trace = one.at(number);
    } catch (const TryAgain&) {
      throw;
    } catch (const Error& error) {
      trace.lost_rows = true;
      trace.damage = error.what();
    }
  }
}

namespace {

// Reads all columns: the server checks the checksum of what it reads.
std::string hash_of(const TableSpec& table) {
  std::vector<std::string> values;
  for (const ColumnSpec& column : table.columns)
    values.push_back(column.type == ColumnType::Name ? base::format("CAST({} AS String)", quoted_name(column.name))
                                                     : quoted_name(column.name));
  return base::format("max(cityHash64({}))", base::join(values, ", "));
}

}  // namespace

// Of these, the attempts that have as many rows in each table as they were written with. Older versions did not write
// counts, and had other tables. Job and time are for the sorting key: without them the server would read whole tables.
// PREWHERE: of rows of other attempts, which may be damaged, only these two columns are read. A count may be there
// twice.
std::set<ClickHouseStore::Attempt> ClickHouseStore::complete_attempts(const std::map<uint64_t, KnownTrace>& traces) {
  std::set<std::string> jobs, times;
  std::vector<uint64_t> numbers, attempts;
  for (const auto& [number, trace] : traces) {
    numbers.push_back(number);
    attempts.push_back(trace.attempt);
    jobs.insert(quoted_text(trace.job));
    times.insert(base::format("toDateTime({})", trace.started));
  }
  const std::string chosen = base::format(
      "PREWHERE trace IN ({}) AND attempt IN ({}) WHERE job IN ({}) AND started IN ({})", base::join(numbers, ", "),
      base::join(attempts, ", "), base::join(jobs, ", "), base::join(times, ", "));
  std::string counts = base::format(
      "SELECT trace, attempt, CAST(of_table AS String) AS name, toInt64(max(row_count)) AS n, {} AS hash\nFROM {} {}\n"
      "GROUP BY trace, attempt, name",
      hash_of(kRowCounts), table_everywhere(client_.address(), kRowCounts), chosen);
  for (const TableSpec* table : all_tables()) {
    if (table == &kTraces || table == &kRowCounts || table == &kSchema) continue;
    base::format_to(counts,
                    "\nUNION ALL SELECT trace, attempt, {} AS name, -toInt64(count()) AS n, {} AS hash\nFROM {} {}\n"
                    "GROUP BY trace, attempt",
                    quoted_text(table->name), hash_of(*table), table_everywhere(client_.address(), *table), chosen);
  }
  (void)client_.query(base::format("SELECT {} AS hash FROM {} {}", hash_of(kTraces),
                                   table_everywhere(client_.address(), kTraces), chosen));
  // What is not selected would not be read.
  const Rows rows = client_.query(
      base::format("SELECT trace, attempt, max(differs) AS has_lost, max(hash) AS hash\nFROM (SELECT trace, attempt, "
                   "name, sum(n) != 0 AS differs, max(n) AS counted, max(hash) AS hash FROM (\n{})\n"
                   "GROUP BY trace, attempt, name)\nGROUP BY trace, attempt HAVING max(counted) >= 0",
                   counts));
  if (rows.columns.size() != 4) throw Error(base::format("{}: the numbers of rows are not readable", text()));
  std::set<Attempt> complete;
  for (const auto& row : rows.rows)
    if (row[2] == "0") complete.emplace(parse_u64(row[0], "trace"), parse_u64(row[1], "attempt"));
  return complete;
}

void ClickHouseStore::insert(const Block& block, uint64_t attempt) {
  client_.insert(block.table().name, block.encode(attempt));
}

std::unique_ptr<EventSink> ClickHouseStore::events(uint64_t attempt) {
  return std::make_unique<ClickHouseEvents>(client_, attempt);
}

// A table without rows counts too.
Content ClickHouseStore::content() {
  const Rows rows = client_.query(
      base::format("SELECT table, sum(rows) AS n FROM (\n"
                   "  SELECT table, toUInt64(rows) AS rows FROM system.parts WHERE active AND database = {0}\n"
                   "  UNION ALL SELECT name AS table, toUInt64(1) AS rows FROM system.tables WHERE database = {0})\n"
                   "GROUP BY table",
                   quoted_text(client_.address().database)));
  if (rows.columns.size() != 2) throw Error(base::format("{}: the sizes of tables are not readable", text()));
  Content content;
  for (const auto& row : rows.rows) content[row[0]] = parse_u64(row[1], "rows");
  return content;
}

uint64_t ClickHouseStore::remove_orphans(uint64_t before) {
  const std::string orphans =
      base::format("WHERE attempt < {} AND (trace, attempt) NOT IN (SELECT trace, max(attempt) FROM {} GROUP BY trace)",
                   before, name_of(kTraces));
  std::vector<std::string> tables, attempts;
  for (const TableSpec* table : all_tables()) {
    if (table == &kTraces || table == &kSchema) continue;
    tables.push_back(name_of(*table));
    attempts.push_back(base::format("SELECT attempt FROM {} {} GROUP BY attempt", tables.back(), orphans));
  }
  const Rows rows = client_.query(
      base::format("SELECT count(DISTINCT attempt) AS n FROM (\n{})", base::join(attempts, "\nUNION ALL ")));
  if (rows.rows.size() != 1) throw Error(base::format("{}: the number of attempts is not readable", text()));
  const uint64_t count = parse_u64(rows.rows[0][0], "attempts");
  if (count == 0) return 0;
  for (const std::string& table : tables) client_.execute(base::format("ALTER TABLE {} DELETE {}", table, orphans));
  return count;
}

// The mark first: without it the rows do not count. The server deletes later; it is enough to wait for the mark, and
// for the counts, which would look like those of an attempt that lost its mark. Such ones are deleted too.
bool ClickHouseStore::remove(uint64_t trace) {
  const auto before = known({trace});
  uint64_t newest = unmarked_before();
  if (!before.empty())
    newest = std::max(newest, before.at(trace).attempt);
  else if (!has_counts(trace, newest))
    return false;
  const auto remove_from = [&](const TableSpec& table) {
    client_.execute(
        base::format("ALTER TABLE {} DELETE WHERE trace = {} AND attempt <= {}", name_of(table), trace, newest));
  };
  remove_from(kTraces);
  wait_for_deletions(kTraces);
  if (const auto after = known({trace}); !after.empty() && after.at(trace).attempt <= newest)
    throw Error(
        base::format("{}: the trace is on another server of the cluster: give the address of that one", text()));
  for (const TableSpec* table : all_tables())
    if (table != &kTraces && table != &kSchema) remove_from(*table);
  wait_for_deletions(kRowCounts);
  return true;
}

// An attempt that was interrupted, or lost its mark.
bool ClickHouseStore::has_counts(uint64_t trace, uint64_t before) {
  const Rows rows = client_.query(base::format("SELECT count() AS n FROM {} WHERE trace = {} AND attempt < {}",
                                               name_of(kRowCounts), trace, before));
  return rows.rows.size() == 1 && rows.rows[0][0] != "0";
}

void ClickHouseStore::wait_for_deletions(const TableSpec& table) {
  constexpr std::chrono::milliseconds kBetween{50};
  constexpr int kMostTimes = 1'200;  // a minute
  for (int i = 0; i < kMostTimes; ++i) {
    const Rows rows = client_.query(
        base::format("SELECT count() AS n FROM system.mutations WHERE database = {} AND table = {} AND is_done = 0",
                     quoted_text(client_.address().database), quoted_text(table.name)));
    if (rows.rows.size() == 1 && rows.rows[0][0] == "0") return;
    std::this_thread::sleep_for(kBetween);
  }
  throw Error(
      base::format("{}: the server has not deleted the rows of {} after a minute; it may do so later: see "
                   "system.mutations there",
                   text(), table.name));
}

}  // namespace kymo::push
