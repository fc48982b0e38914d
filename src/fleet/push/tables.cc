#include "push/tables.h"

#include <cstring>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {
namespace {

// The header of a column with names: the version of the layout, then its flags. The names of a block are in the block
// (additional keys), and there is no dictionary for several blocks.
constexpr uint64_t kDictionaryVersion = 1;
constexpr uint64_t kHasAdditionalKeys = 1 << 9, kUpdatesDictionary = 1 << 10;
enum IndexWidth : uint64_t { kBytes = 0, kWords = 1, kDoubleWords = 2 };

void add_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void add_text(std::string& out, std::string_view text) {
  add_varint(out, text.size());
  out += text;
}
void add_fixed(std::string& out, uint64_t value, size_t width) {
  char bytes[8];
  std::memcpy(bytes, &value, sizeof bytes);
  out.append(bytes, width);
}

// Keys are stored with as few bytes as possible.
void add_names(std::string& out, const std::string& names, size_t count, const std::vector<uint32_t>& keys) {
  const IndexWidth width = count <= 0x100 ? kBytes : count <= 0x10000 ? kWords : kDoubleWords;
  add_fixed(out, kDictionaryVersion, 8);
  add_fixed(out, kHasAdditionalKeys | kUpdatesDictionary | width, 8);
  add_fixed(out, count, 8);
  out += names;
  add_fixed(out, keys.size(), 8);
  for (const uint32_t key : keys) add_fixed(out, key, size_t{1} << width);
}

}  // namespace

size_t width_of(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return 1;
    case ColumnType::U16:
      return 2;
    case ColumnType::U32:
    case ColumnType::I32:
    case ColumnType::Date:
      return 4;
    default:
      return 8;
  }
}

std::string_view clickhouse_type(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return "UInt8";
    case ColumnType::U16:
      return "UInt16";
    case ColumnType::U32:
      return "UInt32";
    case ColumnType::I32:
      return "Int32";
    case ColumnType::U64:
      return "UInt64";
    case ColumnType::I64:
      return "Int64";
    case ColumnType::Date:
      return "DateTime";
    case ColumnType::Text:
      return "String";
    case ColumnType::Name:
      return "LowCardinality(String)";
  }
  return "String";
}

Block::Block(const TableSpec& table) : table_(table), columns_(table.columns.size()) {}

Block::Column& Block::next(bool is_text) {
  if (at_ < columns_.size() && table_.columns[at_].name == kAttemptColumn) ++at_;
  if (at_ >= columns_.size()) throw Error(base::format("table {}: more values than columns", table_.name));
  const ColumnType type = table_.columns[at_].type;
  const bool takes_text = type == ColumnType::Text || type == ColumnType::Name;
  if (takes_text != is_text)
    throw Error(base::format("table {}: a value of another type for column {}", table_.name, table_.columns[at_].name));
  return columns_[at_++];
}

void Block::number(uint64_t value) {
  Column& column = next(false);
  const size_t width = width_of(table_.columns[at_ - 1].type);
  add_fixed(column.data, value, width);
  bytes_ += width;
}

void Block::text(std::string_view value) {
  Column& column = next(true);
  if (table_.columns[at_ - 1].type == ColumnType::Name) {
    column.keys.push_back(key(at_ - 1, value));
    bytes_ += 2;
  } else {
    add_text(column.data, value);
    bytes_ += value.size() + 1;
  }
}

uint32_t Block::key(size_t index, std::string_view name) {
  Column& column = columns_.at(index);
  const auto [entry, is_new] = column.names.try_emplace(std::string(name), static_cast<uint32_t>(column.names.size()));
  if (is_new) {
    add_text(column.data, name);
    bytes_ += name.size() + 1;
  }
  return entry->second;
}

void Block::by_key(uint32_t key) {
  next(true).keys.push_back(key);
  bytes_ += 2;
}

void Block::end_row() {
  if (at_ < columns_.size() && table_.columns[at_].name == kAttemptColumn) ++at_;
  if (at_ != columns_.size())
    throw Error(base::format("table {}: no value for column {}", table_.name, table_.columns[at_].name));
  at_ = 0;
  ++rows_;
  bytes_ += sizeof(uint64_t);
}

void Block::clear() {
  for (Column& column : columns_) {
    column.data.clear();
    column.names.clear();
    column.keys.clear();
  }
  at_ = rows_ = bytes_ = 0;
}

void Block::append(const Block& other) {
  if (other.table_.name != table_.name)
    throw Error(base::format("table {}: rows of table {}", table_.name, other.table_.name));
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& from = other.columns_[i];
    if (table_.columns[i].type != ColumnType::Name) {
      columns_[i].data += from.data;
      continue;
    }
    std::vector<uint32_t> keys;
    for (const std::string_view name : other.texts(i)) keys.push_back(key(i, name));
    for (const uint32_t one : from.keys) columns_[i].keys.push_back(keys[one]);
  }
  rows_ += other.rows_;
  bytes_ += other.bytes_;  // at least: a name that both have counts twice
}

std::vector<std::string_view> Block::texts(size_t index) const {
  std::vector<std::string_view> all;
  std::string_view rest = columns_[index].data;
  while (!rest.empty()) {
    size_t length = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      length |= size_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    all.push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return all;
}

std::string Block::encode(uint64_t attempt) const {
  std::string out;
  out.reserve(bytes_ + bytes_ / 4 + 1'024);
  add_varint(out, columns_.size());
  add_varint(out, rows_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnSpec& spec = table_.columns[i];
    add_text(out, spec.name);
    add_text(out, clickhouse_type(spec.type));
    if (spec.name == kAttemptColumn)
      for (size_t row = 0; row < rows_; ++row) add_fixed(out, attempt, sizeof attempt);
    else if (spec.type == ColumnType::Name)
      add_names(out, columns_[i].data, columns_[i].names.size(), columns_[i].keys);
    else
      out += columns_[i].data;
  }
  return out;
}

namespace {

using enum ColumnType;

constexpr std::string_view kOrder = "job, started, trace";

constexpr ColumnSpec kTraceColumns[] = {
    {"trace", U64},     {"attempt", U64},     {"started", Date},   {"job", Name},           {"rank", I32},
    {"host", Name},     {"program", Name},    {"file", Text},      {"kymo_version", Name},  {"devices", Name},
    {"begin_ns", I64},  {"duration_ns", U64}, {"iterations", U32}, {"median_wall_ns", U64}, {"events", U64},
    {"bytes", U64},     {"lost", U64},        {"problems", U32},   {"complete", U8},        {"clock_error_ns", U64},
    {"has_events", U8},
};
constexpr ColumnSpec kIterationColumns[] = {
    {"trace", U64},     {"attempt", U64}, {"started", Date}, {"job", Name},    {"rank", I32},
    {"iteration", U64}, {"numbered", U8}, {"begin_ns", I64}, {"wall_ns", U64},
};
constexpr ColumnSpec kOperationColumns[] = {
    {"trace", U64},   {"attempt", U64}, {"started", Date},  {"job", Name},   {"rank", I32},   {"iteration", U64},
    {"numbered", U8}, {"name", Name},   {"on_device", U8},  {"kind", Name},  {"count", U64},  {"total_ns", U64},
    {"self_ns", U64}, {"min_ns", U64},  {"median_ns", U64}, {"p99_ns", U64}, {"max_ns", U64},
};
constexpr ColumnSpec kCollectiveColumns[] = {
    {"trace", U64},         {"attempt", U64},  {"started", Date},       {"job", Name},    {"rank", I32},
    {"iteration", U64},     {"numbered", U8},  {"process_group", Name}, {"members", U32}, {"name", Name},
    {"point_to_point", U8}, {"sequence", I64}, {"call", U32},           {"calls", U32},   {"same_call", U64},
    {"begin_ns", I64},      {"ns", U64},       {"clock_error_ns", U64},
};
constexpr ColumnSpec kDeviceTimeColumns[] = {
    {"trace", U64}, {"attempt", U64}, {"started", Date}, {"job", Name},
    {"rank", I32},  {"device", Name}, {"part", Name},    {"ns", U64},
};
constexpr ColumnSpec kMemoryColumns[] = {
    {"trace", U64},   {"attempt", U64},    {"started", Date}, {"job", Name},      {"rank", I32},
    {"memory", Name}, {"peak_bytes", U64}, {"peak_ns", I64},  {"end_bytes", U64}, {"allocations", U64},
};
constexpr ColumnSpec kRunColumns[] = {
    {"trace", U64}, {"attempt", U64}, {"started", Date}, {"job", Name}, {"rank", I32}, {"run", Name},
};
constexpr ColumnSpec kEventColumns[] = {
    {"trace", U64},  {"attempt", U64}, {"started", Date}, {"job", Name},     {"rank", I32},        {"kind", Name},
    {"track", Name}, {"name", Name},   {"text", Text},    {"begin_ns", I64}, {"duration_ns", U64}, {"depth", U16},
};
constexpr ColumnSpec kRowCountColumns[] = {
    {"trace", U64}, {"attempt", U64},   {"started", Date},  {"job", Name},
    {"rank", I32},  {"of_table", Name}, {"row_count", U64},
};
constexpr ColumnSpec kSchemaColumns[] = {{"version", U32}, {"attempt", U64}};

}  // namespace

const TableSpec kTraces{"traces", kOrder, kTraceColumns};
const TableSpec kIterations{"iterations", kOrder, kIterationColumns};
const TableSpec kOperations{"operations", kOrder, kOperationColumns};
const TableSpec kCollectives{"collective_calls", kOrder, kCollectiveColumns};
const TableSpec kDeviceTime{"device_time", kOrder, kDeviceTimeColumns};
const TableSpec kMemory{"memory", kOrder, kMemoryColumns};
const TableSpec kRuns{"runs", kOrder, kRunColumns};
const TableSpec kEvents{"events", kOrder, kEventColumns};
const TableSpec kRowCounts{"row_counts", kOrder, kRowCountColumns};
const TableSpec kSchema{"kymo_schema", "version", kSchemaColumns};

std::span<const TableSpec* const> all_tables() {
  static constexpr const TableSpec* kAll[] = {&kIterations, &kOperations, &kDeviceTime, &kMemory, &kCollectives,
                                              &kRuns,       &kEvents,     &kRowCounts,  &kTraces, &kSchema};
  return kAll;
}

std::string create_statement(const std::string& database, const TableSpec& table) {
  std::string columns;
  bool has_date = false;
  for (const ColumnSpec& column : table.columns) {
    base::format_to(columns, "{}{} {}", columns.empty() ? "" : ", ", column.name, clickhouse_type(column.type));
    has_date |= column.type == ColumnType::Date;
  }
  return base::format("CREATE TABLE IF NOT EXISTS {}.{} ({}) ENGINE = MergeTree(){} ORDER BY ({})",
                      quoted_name(database), quoted_name(table.name), columns,
                      has_date ? " PARTITION BY toYYYYMM(started)" : "", table.order);
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
