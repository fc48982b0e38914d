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

void Block::begin_row(size_t values) {
  if (values + 1 != table_.columns.size())
    throw Error(base::format("table {}: {} values for {} columns", table_.name, values, table_.columns.size() - 1));
  rows_.push_back(csv_.size());
}

void Block::add_number(const ColumnSpec& column, uint64_t value) {
  csv_ += ',';
  if (column.type == ColumnType::I32 || column.type == ColumnType::I64)
    base::format_to(csv_, "{}", static_cast<int64_t>(value));
  else if (column.type == ColumnType::Date)  // with fewer digits it may be taken for a year
    base::format_to(csv_, "{:010}", value);
  else
    base::format_to(csv_, "{}", value);
}

void Block::add_text(const ColumnSpec& column, std::string_view value) {
  if (column.type != ColumnType::Text && column.type != ColumnType::Name)
    throw Error(base::format("table {}: a text for column {}", table_.name, column.name));
  csv_ += ",\"";
  for (const char c : value) csv_.append(c == '"' ? 2 : 1, c);
  csv_ += '"';
}

void Block::append(const Block& other) {
  for (const size_t begin : other.rows_) rows_.push_back(csv_.size() + begin);
  csv_ += other.csv_;
}

std::string Block::encode(uint64_t attempt) const {
  const std::string value = std::to_string(attempt);
  std::string out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const size_t end = i + 1 < rows_.size() ? rows_[i + 1] : csv_.size();
    out.append(value).append(csv_, rows_[i], end - rows_[i]);
  }
  return out;
}

namespace {

using enum ColumnType;

constexpr std::string_view kOrder = "job, started, trace", kOrderByName = "job, name, started, trace";

constexpr ColumnSpec kTraceColumns[] = {
    {"attempt", U64},  {"trace", U64},   {"started", Date},   {"job", Name},    {"rank", I32},           {"host", Name},
    {"file", Text},    {"run", Name},    {"iterations", U32}, {"wall_ns", U64}, {"median_wall_ns", U64}, {"lost", U64},
    {"problems", U32}, {"complete", U8}, {"recording", U64},  {"whole", U8},
};
constexpr ColumnSpec kIterationColumns[] = {
    {"attempt", U64},   {"trace", U64},   {"started", Date}, {"job", Name},    {"rank", I32},
    {"iteration", U64}, {"numbered", U8}, {"begin_ns", I64}, {"wall_ns", U64},
};
constexpr ColumnSpec kOperationColumns[] = {
    {"attempt", U64}, {"trace", U64},    {"started", Date},  {"job", Name},   {"rank", I32},
    {"name", Name},   {"on_device", U8}, {"kind", Name},     {"count", U64},  {"total_ns", U64},
    {"self_ns", U64}, {"min_ns", U64},   {"median_ns", U64}, {"p99_ns", U64}, {"max_ns", U64},
};
constexpr ColumnSpec kWaitColumns[] = {
    {"attempt", U64},        {"trace", U64},   {"started", Date}, {"job", Name},    {"rank", I32},
    {"iteration", U64},      {"numbered", U8}, {"begin_ns", I64}, {"wall_ns", U64}, {"run", Name},
    {"process_group", Name}, {"members", U32}, {"calls", U32},    {"ns", U64},      {"first_sequence", I64},
    {"name", Name},          {"host", Name},
};
constexpr ColumnSpec kDeviceTimeColumns[] = {
    {"attempt", U64}, {"trace", U64},   {"started", Date}, {"job", Name},
    {"rank", I32},    {"device", Name}, {"part", Name},    {"ns", U64},
};
constexpr ColumnSpec kSchemaColumns[] = {{"attempt", U64}, {"version", U32}};

}  // namespace

const TableSpec kTraces{"traces", kOrder, kTraceColumns};
const TableSpec kIterations{"iterations", kOrder, kIterationColumns};
const TableSpec kOperations{"operations", kOrderByName, kOperationColumns};
const TableSpec kWaits{"waits", kOrder, kWaitColumns};
const TableSpec kDeviceTime{"device_time", kOrder, kDeviceTimeColumns};
const TableSpec kSchema{"kymo_schema", "version", kSchemaColumns};

std::span<const TableSpec* const> all_tables() {
  static constexpr const TableSpec* kAll[] = {&kIterations, &kOperations, &kDeviceTime, &kWaits, &kTraces, &kSchema};
  return kAll;
}

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
