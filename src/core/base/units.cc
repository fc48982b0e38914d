#include "base/units.h"

#include <array>
#include <cmath>
#include <ctime>

#include "base/text.h"

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

}  // namespace kymo::base
