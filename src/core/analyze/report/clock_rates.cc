#include "analyze/report/clock_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "analyze/report/known_names.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostClocks = 4'096;

// Of one counter on one track.
struct Sums {
  ClockRate rate;
  int64_t since = 0;  // the last value, and when it came
  double value = 0, area = 0;
  uint64_t covered = 0;

  void hold_until(int64_t time, const Intervals& window) {
    const uint64_t part = window.covered(since, time);
    if (part == 0) return;
    rate.min = covered == 0 ? value : std::min(rate.min, value);
    rate.max = covered == 0 ? value : std::max(rate.max, value);
    area += value * static_cast<double>(part);
    covered += part;
  }
};

}  // namespace

bool names_clock_rate(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kFollow = {"mhz", "ghz", "khz", "hz", "rate", "speed"};
  const std::vector<std::string> words = words_of(name);
  if (std::find(words.begin(), words.end(), "wall") != words.end()) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "cpufreq" || word == "gpufreq" || word == "freq" || word == "frequency" || word == "frequencies")
      return true;
    if (word != "clock" && word != "clocks" && word != "clk" && !word.ends_with("clk")) continue;
    const bool is_last = i + 1 == words.size();
    if (is_last ? i > 0 || word != "clock" : std::find(kFollow.begin(), kFollow.end(), words[i + 1]) != kFollow.end())
      return true;
  }
  return false;
}

std::vector<ClockRate> clock_rates(EventWalk& walk, const Intervals& window) {
  std::set<std::pair<uint32_t, uint32_t>> wanted;  // by writer and class
  std::set<uint32_t> writers;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!writers.insert(track.writer_number).second) continue;
    for (const auto& [id, event_class] : track.writer->classes)
      if (!event_class.fields.empty() && names_clock_rate(event_class.name)) wanted.emplace(track.writer_number, id);
  }
  if (wanted.empty()) return {};
  std::map<std::pair<uint32_t, uint32_t>, Sums> clocks;  // by track and class
  walk.each(
      trace::kPoints | trace::kPointValues,
      [&](const TrackOfTrace& track) {
        return wanted.lower_bound({track.writer_number, 0}) != wanted.end();
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const trace::Points& points = batch.points;
        trace::ValueCursor cursor(points.values);
        for (size_t i = 0; i < points.size(); ++i) {
          const trace::EventClass* const known = track.writer->find_class(points.class_id[i]);
          const auto& row = cursor.next(known);
          if (points.kind[i] != trace::PointKind::Counter || row.empty()) continue;
          if (wanted.count({track.writer_number, points.class_id[i]}) == 0) continue;
          if (clocks.size() >= kMostClocks && clocks.count({track.number, points.class_id[i]}) == 0) continue;
          const double value = row[0].number();
          if (!std::isfinite(value) || row[0].type == trace::FieldType::String) continue;
          const int64_t time = track.ns(points.time[i]);
          Sums& sums = clocks[{track.number, points.class_id[i]}];
          if (sums.rate.count++ == 0) {
            sums.rate.name = known->name;
            sums.rate.where = track.name();
          } else {
            sums.hold_until(time, window);
          }
          sums.since = time;
          sums.value = value;
        }
      });
  std::vector<ClockRate> rates;
  for (auto& [key, sums] : clocks) {
    sums.hold_until(window.empty() ? sums.since : window.all().back().end, window);
    if (sums.covered == 0) continue;
    sums.rate.mean = sums.area / static_cast<double>(sums.covered);
    rates.push_back(std::move(sums.rate));
  }
  return rates;
}

}  // namespace kymo::analyze
