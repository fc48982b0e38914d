#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>
#include <optional>
#include <span>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

std::string grouped(std::string digits) {
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

// Three significant digits of a value below 1000 (after rounding).
std::string three_digits(double value) {
  if (value < 9.995) return format("{:.2f}", value);
  if (value < 99.95) return format("{:.1f}", value);
  return format("{:.0f}", value);
}

}  // namespace

std::string count_text(uint64_t count) { return grouped(std::to_string(count)); }

std::string count_of(uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return format("1 {}", one);
  if (many.empty()) return format("{} {}s", count_text(count), one);
  return format("{} {}", count_text(count), many);
}

std::string percent_text(uint64_t part, uint64_t whole) {
  return whole == 0 ? "" : format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return format("{} B", bytes);
  double value = static_cast<double>(bytes);
  for (const char* unit : {"kB", "MB", "GB", "TB", "PB"}) {
    value /= 1000;
    if (value < 99.95) return format("{:.1f} {}", value, unit);
    if (value < 999.5) return format("{:.0f} {}", value, unit);
  }
  return format("{:.1f} EB", value / 1000);
}

std::string duration_text(uint64_t ns) {
  if (ns < 1000) return format("{} ns", ns);
  const double value = static_cast<double>(ns);
  if (value < 999.5e3) return three_digits(value / 1e3) + " µs";
  if (value < 999.5e6) return three_digits(value / 1e6) + " ms";
  if (value < 59.95e9) return three_digits(value / 1e9) + " s";
  const uint64_t seconds = (ns + kSecond / 2) / kSecond;
  if (seconds < 3600) return format("{} min {:02} s", seconds / 60, seconds % 60);
  const uint64_t minutes = (seconds + 30) / 60;
  return format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string offset_text(int64_t ns) {
  const uint64_t magnitude = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return (ns < 0 ? "-" : "+") + duration_text(magnitude);
}

std::string number_text(double value) {
  constexpr double kExactlyWhole = 0x1p53;
  if (value == std::trunc(value) && std::abs(value) < kExactlyWhole)
    return (value < 0 ? "-" : "") + count_text(static_cast<uint64_t>(std::abs(value)));
  return format("{:.6g}", value);
}

std::string date_text(uint64_t realtime_ns) {
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / kSecond);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "unknown";
  std::array<char, 64> text;
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &local);
  return {text.data(), length};
}

// ---- Parsing -------------------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

struct Unit {
  std::string_view name;
  uint64_t size;
};

constexpr std::array kDurationUnits = {
    Unit{"ns", 1},      Unit{"us", 1000},     Unit{"µs", 1000}, Unit{"ms", 1'000'000}, Unit{"s", kSecond},
    Unit{"m", kMinute}, Unit{"min", kMinute}, Unit{"h", kHour}, Unit{"d", 24 * kHour}, Unit{"w", 7 * 24 * kHour},
};

constexpr std::array kByteUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"kB", 1000},
    Unit{"KB", 1000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
    Unit{"TiB", 1ull << 40},
};

constexpr uint64_t kTooLarge = ~uint64_t{0};

// Reads a number, decimals allowed, followed by one of the units. nullopt: anything else. kTooLarge: 2^63 or more.
std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [rest, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const bool is_too_large = failure == std::errc::result_out_of_range && !text.starts_with("0.");
  if ((failure != std::errc() && !is_too_large) || number < 0) return std::nullopt;
  if (is_too_large) number = std::numeric_limits<double>::max();
  std::string_view name = text.substr(static_cast<size_t>(rest - text.data()));
  if (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (!std::isfinite(number)) return std::nullopt;  // from_chars accepts "inf" and "nan"
    const double scaled = std::round(number * static_cast<double>(unit.size));
    return scaled < 0x1p63 ? static_cast<uint64_t>(scaled) : kTooLarge;
  }
  return std::nullopt;
}

}  // namespace

uint64_t parse_count(std::string_view text) {
  uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, count);
  if (failure == std::errc() && rest == end && count > 0) return count;
  if (failure == std::errc::result_out_of_range && rest == end)
    throw InvalidArgument(base::format("'{}' is too large; the maximum is {}", text, UINT64_MAX));
  throw InvalidArgument(base::format("'{}' is not a count: write a whole number from 1", text));
}

uint64_t parse_bytes(std::string_view text, std::string_view forms, std::string_view max) {
  const auto bytes = parse(text, kByteUnits);
  if (bytes == kTooLarge) throw InvalidArgument(base::format("'{}' is too large; the maximum is {}", text, max));
  if (bytes) return *bytes;
  throw InvalidArgument(base::format("'{}' is not a size: write it like {}", text, forms));
}

uint64_t parse_duration_ns(std::string_view text, std::string_view forms) {
  const auto ns = parse(text, kDurationUnits);
  if (ns == kTooLarge) throw InvalidArgument(base::format("'{}' is too long; the maximum is 2500000h", text));
  if (ns) return *ns;
  throw InvalidArgument(base::format("'{}' is not a time: write it like {}", text, forms));
}

uint64_t parse_kept_bytes(std::string_view text, std::string_view forms) {
  const uint64_t bytes = parse_bytes(text, forms);
  if (bytes == 0) throw InvalidArgument(base::format("'{}' would keep nothing: write it like {}", text, forms));
  if (text.find_first_not_of("0123456789.") == std::string_view::npos)
    throw InvalidArgument(base::format("'{}' has no unit: write it like {}", text, forms));
  return bytes;
}

Flight parse_flight(std::string_view text) {
  const auto fail = [text](std::string_view problem) {
    return InvalidArgument(base::format("'{}' {}: write it like 30s, 2m, 500ms, 64MB or 1GiB", text, problem));
  };
  const auto ns = parse(text, kDurationUnits), bytes = parse(text, kByteUnits);
  const bool has_unit = text.find_first_not_of("0123456789.") != std::string_view::npos;
  // 30 without a unit could be either
  if (!ns && !(bytes && has_unit)) throw fail("is neither a time nor a size to keep");
  const uint64_t amount = ns ? *ns : *bytes;
  if (amount == 0) throw fail("would keep nothing");
  if (amount == kTooLarge) throw fail("is too large");
  if (ns) return {static_cast<double>(amount) / static_cast<double>(kSecond), 0};
  return {0, amount};
}

}  // namespace kymo::base
