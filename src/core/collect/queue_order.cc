#include "collect/queue_order.h"

#include <numeric>
#include <utility>

namespace kymo::collect {
namespace {

using Permutation = std::vector<uint32_t>;  // new index -> old index

template <class T>
void permute(std::vector<T>& column, const Permutation& order) {
  if (column.empty()) return;
  std::vector<T> moved(order.size());
  for (size_t i = 0; i < order.size(); ++i) moved[i] = column[order[i]];
  column = std::move(moved);
}

// Where the values of each range start in the streams, and one more entry for the end.
struct Place {
  size_t ints = 0, doubles = 0, text = 0;
};

std::vector<Place> places_of(const trace::Ranges& ranges, const ClassTable& classes) {
  std::vector<Place> places;
  places.reserve(ranges.size() + 1);
  Place at;
  const auto skip_string = [&] { at.text += ranges.values.ints[at.ints++]; };
  for (const uint32_t class_id : ranges.class_id) {
    places.push_back(at);
    if (class_id == trace::kInlineName) skip_string();
    const trace::EventClass* event_class = classes.find(class_id);
    if (event_class == nullptr) continue;
    for (const trace::Field& field : event_class->fields) {
      if (field.type == trace::FieldType::Double)
        ++at.doubles;
      else if (field.type == trace::FieldType::String)
        skip_string();
      else
        ++at.ints;
    }
  }
  places.push_back(at);
  return places;
}

void permute_values(trace::Ranges& ranges, const ClassTable& classes, const Permutation& order) {
  if (ranges.values.ints.empty() && ranges.values.doubles.empty()) return;
  const std::vector<Place> places = places_of(ranges, classes);
  trace::Values moved;
  const auto copy = [](auto& to, const auto& from, size_t begin, size_t end) {
    to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(begin), from.begin() + static_cast<ptrdiff_t>(end));
  };
  for (const uint32_t range : order) {
    const Place &begin = places[range], &end = places[range + 1];
    copy(moved.ints, ranges.values.ints, begin.ints, end.ints);
    copy(moved.doubles, ranges.values.doubles, begin.doubles, end.doubles);
    copy(moved.text, ranges.values.text, begin.text, end.text);
  }
  ranges.values = std::move(moved);
}

}  // namespace

void QueueOrder::arrange(trace::Ranges& ranges, const ClassTable& classes) {
  if (std::exchange(in_order_, true)) {
    if (ranges.size() != 0) lanes_.take(latest_, latest_);
    return;
  }
  const auto start = [&](uint32_t i) { return ranges.end[i] - ranges.duration[i]; };
  Permutation order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return start(a) < start(b); });
  ranges.lane.assign(ranges.size(), 0);
  for (const uint32_t i : order) ranges.lane[i] = lanes_.take(start(i), ranges.end[i]);

  std::iota(order.begin(), order.end(), 0);
  const auto ends_before = [&](uint32_t a, uint32_t b) { return ranges.end[a] < ranges.end[b]; };
  if (std::is_sorted(order.begin(), order.end(), ends_before)) return;
  std::stable_sort(order.begin(), order.end(), ends_before);
  permute_values(ranges, classes, order);
  permute(ranges.class_id, order);
  permute(ranges.end, order);
  permute(ranges.duration, order);
  permute(ranges.depth, order);
  permute(ranges.lane, order);
  permute(ranges.correlation, order);
}

void QueueOrder::clear() { *this = {}; }

}  // namespace kymo::collect
