#include "push/tables.h"

#include "base/text.h"

namespace kymo::push {
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
