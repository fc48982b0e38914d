#include "push/tables.h"

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {

TypeNames names_of(ColumnType type) {
  static constexpr TypeNames kNames[] = {
      {"UInt8", "UTINYINT"}, {"UInt32", "UINTEGER"}, {"Int32", "INTEGER"},  {"UInt64", "UBIGINT"},
      {"Int64", "BIGINT"},   {"DateTime", "BIGINT"}, {"String", "VARCHAR"}, {"LowCardinality(String)", "VARCHAR"},
  };
  return kNames[static_cast<size_t>(type)];
}

void Block::skip_attempt() {
  if (at_ >= table_.columns.size() || table_.columns[at_].name != kAttemptColumn) return;
  if (at_++ > 0) csv_ += ',';
  attempts_.push_back(csv_.size());
}

void Block::begin_value(bool is_text) {
  skip_attempt();
  if (at_ >= table_.columns.size()) throw Error(base::format("table {}: more values than columns", table_.name));
  const ColumnSpec& column = table_.columns[at_];
  const bool takes_text = column.type == ColumnType::Text || column.type == ColumnType::Name;
  if (takes_text != is_text)
    throw Error(base::format("table {}: a value of another type for column {}", table_.name, column.name));
  if (at_++ > 0) csv_ += ',';
}

void Block::number(uint64_t value) {
  begin_value(false);
  switch (table_.columns[at_ - 1].type) {
    case ColumnType::I32:
    case ColumnType::I64:
      base::format_to(csv_, "{}", static_cast<int64_t>(value));
      break;
    case ColumnType::Date:  // with fewer digits it may be taken for a year
      base::format_to(csv_, "{:010}", value);
      break;
    default:
      base::format_to(csv_, "{}", value);
  }
}

void Block::text(std::string_view value) {
  begin_value(true);
  csv_ += '"';
  for (const char c : value) csv_.append(c == '"' ? 2 : 1, c);
  csv_ += '"';
}

void Block::end_row() {
  skip_attempt();
  if (at_ != table_.columns.size())
    throw Error(base::format("table {}: no value for column {}", table_.name, table_.columns[at_].name));
  at_ = 0;
  csv_ += '\n';
}

void Block::append(const Block& other) {
  if (other.table_.name != table_.name)
    throw Error(base::format("table {}: rows of table {}", table_.name, other.table_.name));
  for (const size_t place : other.attempts_) attempts_.push_back(csv_.size() + place);
  csv_ += other.csv_;
}

std::string Block::encode(uint64_t attempt) const {
  const std::string value = std::to_string(attempt);
  std::string out;
  out.reserve(csv_.size() + attempts_.size() * value.size());
  size_t from = 0;
  for (const size_t place : attempts_) {
    out.append(csv_, from, place - from).append(value);
    from = place;
  }
  return out.append(csv_, from);
}

namespace {

using enum ColumnType;

constexpr std::string_view kOrder = "job, started, trace", kOrderByName = "job, name, started, trace";

constexpr ColumnSpec kTraceColumns[] = {
    {"trace", U64},    {"attempt", U64}, {"started", Date},   {"job", Name},    {"rank", I32},           {"host", Name},
    {"file", Text},    {"run", Name},    {"iterations", U32}, {"wall_ns", U64}, {"median_wall_ns", U64}, {"lost", U64},
    {"problems", U32}, {"complete", U8}, {"recording", U64},  {"whole", U8},
};
constexpr ColumnSpec kIterationColumns[] = {
    {"trace", U64},     {"attempt", U64}, {"started", Date}, {"job", Name},    {"rank", I32},
    {"iteration", U64}, {"numbered", U8}, {"begin_ns", I64}, {"wall_ns", U64},
};
constexpr ColumnSpec kOperationColumns[] = {
    {"trace", U64},   {"attempt", U64},  {"started", Date},  {"job", Name},   {"rank", I32},
    {"name", Name},   {"on_device", U8}, {"kind", Name},     {"count", U64},  {"total_ns", U64},
    {"self_ns", U64}, {"min_ns", U64},   {"median_ns", U64}, {"p99_ns", U64}, {"max_ns", U64},
};
constexpr ColumnSpec kWaitColumns[] = {
    {"trace", U64},          {"attempt", U64}, {"started", Date}, {"job", Name},    {"rank", I32},
    {"iteration", U64},      {"numbered", U8}, {"begin_ns", I64}, {"wall_ns", U64}, {"run", Name},
    {"process_group", Name}, {"members", U32}, {"calls", U32},    {"ns", U64},      {"first_sequence", I64},
    {"name", Name},          {"host", Name},
};
constexpr ColumnSpec kDeviceTimeColumns[] = {
    {"trace", U64}, {"attempt", U64}, {"started", Date}, {"job", Name},
    {"rank", I32},  {"device", Name}, {"part", Name},    {"ns", U64},
};
constexpr ColumnSpec kSchemaColumns[] = {{"version", U32}, {"attempt", U64}};

}  // namespace

const TableSpec kTraces{"traces", kOrder, kTraceColumns};
const TableSpec kIterations{"iterations", kOrder, kIterationColumns};
const TableSpec kOperations{"operations", kOrderByName, kOperationColumns};
const TableSpec kWaits{"waits", kOrder, kWaitColumns};
const TableSpec kDeviceTime{"device_time", kOrder, kDeviceTimeColumns};
const TableSpec kSchema{"kymo_schema", "version", kSchemaColumns};

namespace {

constexpr const TableSpec* kAll[] = {&kIterations, &kOperations, &kDeviceTime, &kWaits, &kTraces, &kSchema};

}  // namespace

std::span<const TableSpec* const> all_tables() { return kAll; }

std::string create_statement(const std::string& database, const TableSpec& table) {
  std::string columns;
  bool has_date = false;
  for (const ColumnSpec& column : table.columns) {
    base::format_to(columns, "{}{} {}", columns.empty() ? "" : ", ", column.name, names_of(column.type).clickhouse);
    has_date |= column.type == ColumnType::Date;
  }
  return base::format("CREATE TABLE IF NOT EXISTS {}.{} ({}) ENGINE = MergeTree(){} ORDER BY ({})",
                      quoted_name(database), quoted_name(table.name), columns,
                      has_date ? " PARTITION BY toYYYYMMDD(started)" : "", table.order);
}

namespace {

// Backslashes and quotes are escaped, and so are bytes that are not printable ASCII: the statement is plain text.
std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote)
      (out += '\\') += c;
    else if (byte < 0x20 || byte >= 0x7f)
      base::format_to(out, "\\x{:02X}", byte);
    else
      out += c;
  }
  return out + quote;
}

}  // namespace

std::string quoted_name(std::string_view name) { return quoted(name, '`'); }
std::string quoted_text(std::string_view text) { return quoted(text, '\''); }

}  // namespace kymo::push
