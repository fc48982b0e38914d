#include "cli/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

std::string grouped(std::string digits) {
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

// Three significant digits of a value below 1000 (after rounding).
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

struct Unit {
  std::string_view name;
  uint64_t size;
};

constexpr std::array kDurationUnits = {
    Unit{"ns", 1},      Unit{"us", 1000},   Unit{"µs", 1000},     Unit{"ms", 1'000'000},
    Unit{"s", kSecond}, Unit{"m", kMinute}, Unit{"min", kMinute}, Unit{"h", kHour},
};

constexpr std::array kByteUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"kB", 1000},
    Unit{"KB", 1000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
};

// A number, decimals allowed, and one of the units; nothing when it is not that, or too large to count.
std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [rest, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failure != std::errc() || number < 0) return std::nullopt;
  std::string_view name = text.substr(static_cast<size_t>(rest - text.data()));
  if (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const double scaled = std::round(number * static_cast<double>(unit.size));
    if (!(scaled < 0x1p63)) return std::nullopt;  // also what from_chars read of "inf" and "nan"
    return static_cast<uint64_t>(scaled);
  }
  return std::nullopt;
}

}  // namespace

std::string count_text(uint64_t count) { return grouped(std::to_string(count)); }

std::string count_of(uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  if (many.empty()) return fmt::format("{} {}s", count_text(count), one);
  return fmt::format("{} {}", count_text(count), many);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  for (const char* unit : {"kB", "MB", "GB", "TB", "PB"}) {
    value /= 1000;
    if (value < 99.95) return fmt::format("{:.1f} {}", value, unit);
    if (value < 999.5) return fmt::format("{:.0f} {}", value, unit);
  }
  return fmt::format("{:.1f} EB", value / 1000);
}

std::string duration_text(uint64_t ns) {
  if (ns < 1000) return fmt::format("{} ns", ns);
  const double value = static_cast<double>(ns);
  if (value < 999.5e3) return three_digits(value / 1e3) + " µs";
  if (value < 999.5e6) return three_digits(value / 1e6) + " ms";
  if (value < 59.95e9) return three_digits(value / 1e9) + " s";
  const uint64_t seconds = (ns + kSecond / 2) / kSecond;
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const uint64_t minutes = (seconds + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string offset_text(int64_t ns) {
  const uint64_t magnitude = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return (ns < 0 ? "-" : "+") + duration_text(magnitude);
}

std::string number_text(double value) {
  constexpr double kExactlyWhole = 0x1p53;
  if (value == std::trunc(value) && std::abs(value) < kExactlyWhole)
    return (value < 0 ? "-" : "") + count_text(static_cast<uint64_t>(std::abs(value)));
  return fmt::format("{:.6g}", value);
}

std::string date_text(uint64_t realtime_ns) {
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / kSecond);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "unknown";
  std::array<char, 64> text;
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &local);
  return {text.data(), length};
}

uint64_t parse_count(std::string_view text) {
  uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, count);
  if (failure == std::errc() && rest == end && count > 0) return count;
  throw InvalidArgument(fmt::format("'{}' is not a count: write a whole number from 1", text));
}

uint64_t parse_bytes(std::string_view text) {
  if (const auto bytes = parse(text, kByteUnits)) return *bytes;
  throw InvalidArgument(fmt::format("'{}' is not a size: write it like 512KiB, 1MB, 64MB or 1GiB", text));
}

uint64_t parse_duration_ns(std::string_view text) {
  if (const auto ns = parse(text, kDurationUnits)) return *ns;
  throw InvalidArgument(fmt::format("'{}' is not a time: write it like 500ms, 30s, 2m or 1h", text));
}

Flight parse_flight(std::string_view text) {
  Flight flight;
  if (const auto ns = parse(text, kDurationUnits)) {
    flight.seconds = static_cast<double>(*ns) / static_cast<double>(kSecond);
  } else if (const auto bytes = parse(text, kByteUnits)) {
    const bool has_unit = text.find_first_not_of("0123456789.") != std::string_view::npos;
    if (has_unit) flight.bytes = *bytes;  // a bare 30 could be meant as either
  }
  if (flight.seconds == 0 && flight.bytes == 0) {
    throw InvalidArgument(
        fmt::format("'{}' is neither a time nor a size to keep: write it like 30s, 2m, 500ms, 64MB or 1GiB", text));
  }
  return flight;
}

}  // namespace kymo::cli
