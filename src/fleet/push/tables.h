// The tables of many traces, in ClickHouse. docs/fleet-database.md describes them.
//
// Inserts are not atomic. So every row has its trace and the attempt that wrote it, and the row in `traces` is written
// last: a row counts only if `traces` has its trace and attempt, and there is no later attempt.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "push/block.h"

namespace kymo::push {

// 1 had no calls of collectives, 2 had them in a table `collectives` without the members of their groups, 3 had no
// runs.
inline constexpr uint32_t kSchemaVersion = 4;

// The times of `started`, in seconds since 1970. A clock that began at 0 is before kFirstDate: such a trace does not
// say when it was recorded. Traces from kEndOfDates on, 2042-11-19, are not taken: importers have no later times, and
// the dates of ClickHouse end in 2106. Until then such a date is that of a wrong clock.
inline constexpr uint32_t kFirstDate = 365 * 86'400, kEndOfDates = 2'300'000'000;

extern const TableSpec kTraces, kIterations, kOperations, kCollectives, kDeviceTime, kMemory, kRuns, kEvents,
    kRowCounts, kSchema;

// The rows of `operations` that have rows in `collective_calls`: one for each call. A trace with such operations and
// without calls was pushed by a version that did not write them, or they were lost.
inline constexpr std::string_view kIsCommunication = "kind = 'communication' AND on_device = 1";

// The `part` of `device_time` that is not in an iteration. The others sum to the iterations.
inline constexpr std::string_view kOutside = "outside of iterations";

// The column `numbered`: whether `iteration` is the place in the trace, or the number that the program gave. A program
// that begins again within a trace has several runs of a number, of which only the last one is comparable.
enum Numbered : uint8_t { kPlace, kNumber, kRepeatedLater };

// All of them; `traces` is not the first.
std::span<const TableSpec* const> all_tables();

// CREATE TABLE IF NOT EXISTS `database`.`name` …
std::string create_statement(const std::string& database, const TableSpec& table);

// `name`, for SQL: any bytes.
std::string quoted_name(std::string_view name);
// 'text', for SQL: any bytes.
std::string quoted_text(std::string_view text);

}  // namespace kymo::push
