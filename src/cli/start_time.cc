#include "cli/start_time.h"

#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kFarthestSecond = 1ull << 33;  // the year 2242

// Removes `count` digits from the front; returns nothing if there are other characters.
std::optional<int> take_digits(std::string_view& text, size_t count) {
  int value = 0;
  if (text.size() < count) return std::nullopt;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + count, value);
  if (failure != std::errc() || rest != text.data() + count || text[0] == '-') return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// ".25" as ns; 0 if there is no fraction.
std::optional<uint64_t> take_fraction(std::string_view& text) {
  if (!take_char(text, '.')) return 0;
  uint64_t ns = 0, scale = kSecondNs;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && scale > 1) {
    scale /= 10;
    ns += static_cast<uint64_t>(text[0] - '0') * scale;
    text.remove_prefix(1);
  }
  if (scale == kSecondNs) return std::nullopt;
  return ns;
}

std::optional<uint64_t> unix_time(std::string_view text) {
  uint64_t seconds = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failure != std::errc() || seconds > kFarthestSecond) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  const auto fraction = take_fraction(text);
  if (!fraction || !text.empty()) return std::nullopt;
  return seconds * kSecondNs + *fraction;
}

// Reads "2026-01-31" before a time. Returns true if there is no date, and leaves the day unchanged.
bool take_date(std::string_view& text, std::tm& moment) {
  constexpr size_t kDateEnds = 10;
  if (text.size() <= kDateEnds || text[4] != '-') return true;
  const auto year = take_digits(text, 4);
  if (!year || !take_char(text, '-')) return false;
  const auto month = take_digits(text, 2);
  if (!month || !take_char(text, '-')) return false;
  const auto day = take_digits(text, 2);
  if (!day || (!take_char(text, 'T') && !take_char(text, ' '))) return false;
  if (*month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  moment.tm_year = *year - 1900;
  moment.tm_mon = *month - 1;
  moment.tm_mday = *day;
  return true;
}

std::optional<uint64_t> clock_time(std::string_view text, uint64_t now_ns) {
  const bool is_utc = text.ends_with('Z');
  if (is_utc) text.remove_suffix(1);
  const auto now = static_cast<std::time_t>(now_ns / kSecondNs);
  std::tm moment{};
  if ((is_utc ? ::gmtime_r(&now, &moment) : ::localtime_r(&now, &moment)) == nullptr) return std::nullopt;
  if (!take_date(text, moment)) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take_char(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  std::optional<int> second = 0;
  if (take_char(text, ':')) second = take_digits(text, 2);
  const auto fraction = take_fraction(text);
  if (!minute || !second || !fraction || !text.empty()) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  moment.tm_hour = *hour;
  moment.tm_min = *minute;
  moment.tm_sec = *second;
  moment.tm_isdst = -1;
  const int day = moment.tm_mday;
  const std::time_t seconds = is_utc ? ::timegm(&moment) : ::mktime(&moment);
  if (seconds < 0 || moment.tm_mday != day) return std::nullopt;  // "2026-02-30" would become the 2nd of March
  return static_cast<uint64_t>(seconds) * kSecondNs + *fraction;
}

}  // namespace

uint64_t parse_start_time(std::string_view text, uint64_t now_ns) {
  if (text.starts_with('+')) return now_ns + base::parse_duration_ns(text.substr(1));
  const auto at = text.starts_with('@') ? unix_time(text.substr(1)) : clock_time(text, now_ns);
  if (!at)
    throw InvalidArgument(
        base::format("'{}' is not a time; use +10s, 14:30:05, '2026-01-31 14:30:05' or @UNIX-SECONDS", text));
  if (*at <= now_ns)
    throw InvalidArgument(
        base::format("'{}' is in the past; give a future time, with its date if it is not today", text));
  return *at;
}

}  // namespace kymo::cli
