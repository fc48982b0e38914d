#include "push/pusher.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "base/printable.h"
#include "base/text.h"
#include "push/block_sender.h"
#include "push/event_rows.h"
#include "push/tables.h"

namespace kymo::push {
namespace {

constexpr unsigned kRandomBits = 22;  // of an attempt; the others are milliseconds since 1970
constexpr size_t kBytesOfBatch = 64 << 20;
constexpr std::chrono::hours kOrphanAge{24};

uint64_t milliseconds_now() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace

uint64_t new_attempt() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return milliseconds_now() << kRandomBits | (random() & ((uint64_t{1} << kRandomBits) - 1));
}

struct Pusher::Impl {
  Impl(Address given, PushOptions chosen, Open open_file, Report on_file, Warn on_retry)
      : address(std::move(given)),
        options(std::move(chosen)),
        open(std::move(open_file)),
        report(std::move(on_file)),
        warn(std::move(on_retry)),
        client(address) {}

  // Runs `action` until it succeeds, at most `retries` more times.
  template <typename Action>
  void with_retries(Action&& action) {
    auto wait = options.first_wait;
    for (int left = options.retries;; --left) {
      try {
        return action();
      } catch (const TryAgain& problem) {
        if (left <= 0) throw Error(base::format("{}; gave up after {} retries", problem.what(), options.retries));
        if (warn) warn(base::format("{}; next try in {} ms", problem.what(), wait.count()));
        ++counts.retries;
      }
      if (!options.wait)
        std::this_thread::sleep_for(wait);
      else if (!options.wait(wait))
        throw Error("interrupted");
      wait = std::min(wait * 2, options.longest_wait);
    }
  }

  std::string table_name(const TableSpec& table) const {
    return address.cluster.empty() ? base::format("{}.{}", quoted_name(address.database), quoted_name(table.name))
                                   : base::format("cluster({}, {}, {})", quoted_text(address.cluster),
                                                  quoted_name(address.database), quoted_name(table.name));
  }

  void prepare();
  void check_columns();
  void check_version();
  std::map<uint64_t, bool> known(const std::vector<uint64_t>& traces);
  void push_batch(const std::vector<std::string>& files);
  void push_events(const std::string& file, uint64_t trace);
  void flush();

  Address address;
  PushOptions options;
  Open open;
  Report report;
  Warn warn;
  Client client;
  bool prepared = false;
  Counts counts;
  SummaryBlocks blocks;
  std::vector<std::string> in_blocks;  // the files
  uint32_t month = 0;                  // of the blocks
};

void Pusher::Impl::prepare() {
  if (prepared) return;
  with_retries([&] {
    client.execute(base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(address.database)));
    for (const TableSpec* table : all_tables()) client.execute(create_statement(address.database, *table));
    check_columns();
    check_version();
  });
  prepared = true;
}

void Pusher::Impl::check_columns() {
  const Rows rows = client.query(
      base::format("SELECT table, name, type FROM system.columns WHERE database = {}", quoted_text(address.database)));
  if (rows.columns.size() != 3) throw Error(base::format("{}: the list of columns is not readable", address.text()));
  std::map<std::pair<std::string, std::string>, std::string> types;
  for (const auto& row : rows.rows) types[{row[0], row[1]}] = row[2];
  for (const TableSpec* table : all_tables()) {
    for (const ColumnSpec& column : table->columns) {
      const auto found = types.find({std::string(table->name), std::string(column.name)});
      const std::string_view wanted = clickhouse_type(column.type);
      if (found != types.end() && found->second == wanted) continue;
      throw Error(base::format("{}: the table {} is not Kymo's: {}; use another database, or rename that table",
                               address.text(), table->name,
                               found == types.end() ? base::format("it has no column {}", column.name)
                                                    : base::format("its column {} is {} instead of {}", column.name,
                                                                   base::printable(found->second), wanted)));
    }
  }
}

void Pusher::Impl::check_version() {
  const std::string table = quoted_name(address.database) + "." + quoted_name(kSchema.name);
  const Rows rows = client.query(base::format("SELECT max(version) AS version FROM {}", table));
  if (rows.rows.size() != 1) throw Error(base::format("{}: the version of the tables is not readable", address.text()));
  const uint64_t version = parse_u64(rows.rows[0][0], "version");
  if (version > kSchemaVersion)
    throw Error(base::format("{}: the tables have version {}, and this kymo knows version {}: update kymo",
                             address.text(), version, kSchemaVersion));
  if (version == kSchemaVersion) return;
  Block block(kSchema);
  block.number(kSchemaVersion);
  block.end_row();
  client.insert(kSchema.name, block.encode(new_attempt()));
}

// The traces that the server has, and whether it has their events.
std::map<uint64_t, bool> Pusher::Impl::known(const std::vector<uint64_t>& traces) {
  std::map<uint64_t, bool> found;
  with_retries([&] {
    found.clear();
    const Rows rows = client.query(
        base::format("SELECT trace, argMax(has_events, attempt) AS events FROM {} WHERE trace IN ({}) GROUP BY trace",
                     table_name(kTraces), base::join(traces, ", ")));
    if (rows.columns.size() != 2) throw Error(base::format("{}: the list of traces is not readable", address.text()));
    for (const auto& row : rows.rows) found[parse_u64(row[0], "trace")] = parse_u64(row[1], "events") != 0;
  });
  return found;
}

void Pusher::Impl::flush() {
  if (in_blocks.empty()) return;
  uint64_t attempt = 0;
  with_retries([&] {
    attempt = new_attempt();
    for (const Block* block : {&blocks.iterations, &blocks.operations, &blocks.device_time, &blocks.memory})
      if (block->rows() > 0) client.insert(block->table().name, block->encode(attempt));
  });
  // A mark may be there twice: that has no effect.
  with_retries([&] { client.insert(kTraces.name, blocks.traces.encode(attempt)); });
  counts.traces += in_blocks.size();
  counts.rows += blocks.rows();
  for (const std::string& file : in_blocks) report({file, Outcome::Pushed, {}});
  in_blocks.clear();
  blocks.clear();
}

// Events are too many to keep: a new attempt reads them again.
void Pusher::Impl::push_events(const std::string& file, uint64_t trace) {
  flush();
  const trace::Reader reader = open(file);
  const RowHead head = add_summary(blocks, reader, trace, {options.job, options.rank, file}, true);
  uint64_t attempt = 0, rows = 0;
  with_retries([&] {
    attempt = new_attempt();
    for (const Block* block : {&blocks.iterations, &blocks.operations, &blocks.device_time, &blocks.memory})
      if (block->rows() > 0) client.insert(block->table().name, block->encode(attempt));
    BlockSender sender(client, kEvents.name);
    rows = add_events(reader, head, [&](const Block& block) { sender.send(block.encode(attempt)); });
    sender.finish();
  });
  with_retries([&] { client.insert(kTraces.name, blocks.traces.encode(attempt)); });
  counts.traces += 1;
  counts.rows += blocks.rows();
  counts.events += rows;
  blocks.clear();
  report({file, Outcome::Pushed, {}});
}

void Pusher::Impl::push_batch(const std::vector<std::string>& files) {
  std::vector<uint64_t> numbers;
  std::vector<std::string> readable;
  for (const std::string& file : files) {
    try {
      // Opened first: that adds what dead processes left to the file, which changes its content.
      const trace::Reader reader = open(file);
      if (reader.is_being_written()) {
        report({file, Outcome::StillRecording, {}});
        continue;
      }
      numbers.push_back(trace_number(file));
      readable.push_back(file);
    } catch (const Error& error) {
      report({file, Outcome::Unreadable, error.what()});
    }
  }
  if (readable.empty()) return;
  std::map<uint64_t, bool> there = known(numbers);
  for (size_t i = 0; i < readable.size(); ++i) {
    const auto found = there.find(numbers[i]);
    if (found != there.end() && (found->second || !options.events)) {
      report({readable[i], Outcome::AlreadyThere, {}});
      continue;
    }
    there[numbers[i]] = options.events;  // the same content may be in two files
    if (options.events) {
      push_events(readable[i], numbers[i]);
      continue;
    }
    try {
      const trace::Reader reader = open(readable[i]);
      const uint32_t its_month = month_of(reader);
      if (its_month != month) flush();
      month = its_month;
      add_summary(blocks, reader, numbers[i], {options.job, options.rank, readable[i]}, false);
    } catch (const Error& error) {
      if (dynamic_cast<const TryAgain*>(&error) != nullptr) throw;
      report({readable[i], Outcome::Unreadable, error.what()});
      continue;
    }
    in_blocks.push_back(readable[i]);
    if (blocks.bytes() >= kBytesOfBatch) flush();
  }
  flush();
}

Pusher::Pusher(Address address, PushOptions options, Open open, Report report, Warn warn)
    : impl_(std::make_unique<Impl>(std::move(address), std::move(options), std::move(open), std::move(report),
                                   std::move(warn))) {}
Pusher::~Pusher() = default;
void Pusher::prepare() { impl_->prepare(); }
const Pusher::Counts& Pusher::counts() const { return impl_->counts; }

void Pusher::push(const std::vector<std::string>& files) {
  impl_->prepare();
  for (size_t at = 0; at < files.size(); at += impl_->options.traces_of_batch) {
    const size_t count = std::min(impl_->options.traces_of_batch, files.size() - at);
    const auto begin = files.begin() + static_cast<std::ptrdiff_t>(at);
    impl_->push_batch({begin, begin + static_cast<std::ptrdiff_t>(count)});
  }
}

void Pusher::remove_orphans() {
  impl_->prepare();
  const auto age = static_cast<uint64_t>(std::chrono::milliseconds(kOrphanAge).count());
  const uint64_t before = (milliseconds_now() - age) << kRandomBits;
  const std::string traces = quoted_name(impl_->address.database) + "." + quoted_name(kTraces.name);
  for (const TableSpec* table : all_tables()) {
    if (table == &kTraces || table == &kSchema) continue;
    impl_->with_retries([&] {
      impl_->client.execute(base::format(
          "ALTER TABLE {}.{} DELETE WHERE attempt < {} AND (trace, attempt) NOT IN (SELECT trace, max(attempt) FROM {} "
          "GROUP BY trace)",
          quoted_name(impl_->address.database), quoted_name(table->name), before, traces));
    });
  }
}

}  // namespace kymo::push
