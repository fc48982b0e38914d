#include "fleet/answers.h"

#include <map>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

using push::parse_i64;
using push::parse_real;
using push::parse_reals;
using push::parse_u64;

constexpr int64_t kMinute = 60;
constexpr uint64_t kIterationRows = 2;  // in the column of devices

void expect(const push::Rows& rows, size_t columns) {
  if (rows.columns.size() != columns)
    throw Error(base::format("the server's answer has {} columns instead of {}", rows.columns.size(), columns));
}

}  // namespace

std::string trace_text(uint64_t trace) { return base::format("0x{:016x}", trace); }

std::vector<TopRow> read_top(const push::Rows& rows) {
  expect(rows, 10);
  std::vector<TopRow> all;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return parse_u64(row[i], rows.columns[i]); };
    all.push_back({row[0], number(1) != 0, number(2), number(3), number(4), number(5), number(6), number(7), number(8),
                   parse_i64(row[9], rows.columns[9])});
  }
  return all;
}

std::vector<StragglerRow> read_stragglers(const push::Rows& rows) {
  expect(rows, 7);
  std::vector<StragglerRow> all;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return parse_u64(row[i], rows.columns[i]); };
    StragglerRow one{parse_i64(row[0], rows.columns[0]), number(1), number(2), row[3], number(4), number(5), 0};
    const uint64_t wall = number(6);
    one.share = wall == 0 ? 0 : static_cast<double>(one.others_waited_ns) / static_cast<double>(wall);
    all.push_back(std::move(one));
  }
  return all;
}

analyze::Diff read_diff(const push::Rows& rows) {
  expect(rows, 6);
  struct Sample {
    double iterations = 0, wall = 0;
    std::vector<analyze::KeySums> keys;
  };
  std::map<int64_t, Sample> sides[2];
  for (const auto& row : rows.rows) {
    auto& side = sides[parse_u64(row[0], "side") != 0 ? 1 : 0];
    const uint64_t device = parse_u64(row[2], "device");
    const auto samples = parse_reals(row[3], "samples"), sums = parse_reals(row[4], "sums"),
               counts = parse_reals(row[5], "counts");
    if (samples.size() != sums.size() || samples.size() != counts.size())
      throw Error("the server's answer has lists of different lengths");
    for (size_t i = 0; i < samples.size(); ++i) {
      Sample& sample = side[static_cast<int64_t>(samples[i])];
      if (device == kIterationRows) {
        sample.iterations += counts[i];
        sample.wall += sums[i];
      } else {
        sample.keys.push_back({row[1], device != 0, {sums[i]}, static_cast<uint64_t>(counts[i])});
      }
    }
  }
  std::vector<analyze::IterationSums> runs[2];
  for (size_t i = 0; i < 2; ++i) {
    for (auto& [minute, sample] : sides[i]) {
      if (sample.iterations == 0) continue;
      analyze::IterationSums& run = runs[i].emplace_back();
      run.wall_ns = {sample.wall / sample.iterations};
      for (analyze::KeySums& key : sample.keys) {
        key.ns[0] /= sample.iterations;
        run.keys.push_back(std::move(key));
      }
    }
  }
  return analyze::compare(runs[0], runs[1]);
}

History read_history(const push::Rows& rows) {
  expect(rows, 4);
  History history;
  std::vector<double> values;
  for (const auto& row : rows.rows) {
    const double iterations = parse_real(row[2], "iterations");
    if (iterations <= 0) continue;
    history.points.push_back({parse_i64(row[0], "sample") * kMinute, parse_real(row[1], "sum_ns") / iterations,
                              parse_u64(row[3], "shown_by")});
    values.push_back(history.points.back().ns);
  }
  history.changes = find_change_points(values);
  return history;
}

}  // namespace kymo::fleet
