#include <algorithm>
#include <unordered_map>

#include "edge/inputs.h"
#include "edge/result_data.h"
#include "edge/tree.h"
#include "kymo/edge_result.h"

namespace kymo {

namespace {

// The key by which events are combined. Texts are compared by content: two results do not share texts.
struct AverageKey {
  std::string_view name, backend, module_hierarchy;
  uint32_t shapes = 0;  // a number for the text
  EdgeKind kind = EdgeKind::Operator;
  bool operator==(const AverageKey&) const = default;
};
struct AverageKeyHash {
  size_t operator()(const AverageKey& key) const {
    const std::hash<std::string_view> hash;
    constexpr size_t kOdd = 0x9e3779b97f4a7c15u;
    size_t mixed = hash(key.name) * kOdd + static_cast<size_t>(key.kind) + (size_t{key.shapes} << 8);
    if (!key.backend.empty()) mixed = mixed * kOdd + hash(key.backend);
    if (!key.module_hierarchy.empty()) mixed = mixed * kOdd + hash(key.module_hierarchy);
    return mixed * kOdd >> 8;
  }
};

// The shapes of inputs as text, and a number for each text. Equal inputs have the same position, which is looked up
// first.
class ShapeNumbers {
 public:
  explicit ShapeNumbers(const edge::ResultData& data) : data_(data) { number_of_text("[]"); }

  uint32_t of(const EdgeEvent& event) {
    if (event.inputs_size == 0) return 0;
    const auto [found, is_new] = by_place_.try_emplace(event.inputs_at);
    if (is_new) found->second = number_of_text(edge::shapes_text(data_.inputs_of(event)));
    return found->second;
  }
  const std::string& text(uint32_t number) const { return *texts_[number]; }

 private:
  uint32_t number_of_text(std::string text) {
    const auto [found, is_new] = by_text_.try_emplace(std::move(text), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }

  const edge::ResultData& data_;
  std::unordered_map<uint32_t, uint32_t> by_place_;
  std::unordered_map<std::string, uint32_t> by_text_;
  std::vector<const std::string*> texts_;
};

// Sizes are untrusted: a sum that does not fit wraps around, which is defined for unsigned numbers.
void add_bytes(int64_t& sum, int64_t bytes) {
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(bytes));
}

class AverageMaker {
 public:
  AverageMaker(const edge::ResultData& data, EdgeGroup by)
      : data_(data),
        by_shape_((static_cast<uint8_t>(by) & static_cast<uint8_t>(EdgeGroup::Shape)) != 0),
        by_module_((static_cast<uint8_t>(by) & static_cast<uint8_t>(EdgeGroup::Module)) != 0),
        shapes_(data),
        group_of_(data.events.size()) {}

  std::vector<EdgeAverage> make() {
    for (uint32_t at = 0; at < data_.events.size(); ++at) group_of_[at] = group(data_.events[at]);
    open_.resize(averages_.size());
    for (uint32_t root = 0; root < data_.events.size(); ++root) {
      if (data_.events[root].parent != EdgeEvent::kNone) continue;
      for (uint32_t at = root; at != EdgeEvent::kNone;) {
        enter(at);
        at = edge::next_in_tree(data_.events, at, [&](uint32_t done) { --open_[group_of_[done]]; });
      }
    }
    std::stable_sort(averages_.begin(), averages_.end(),
                     [](const EdgeAverage& one, const EdgeAverage& other) { return one.self_ns > other.self_ns; });
    return std::move(averages_);
  }

 private:
  uint32_t group(const EdgeEvent& event) {
    AverageKey key;
    key.name = event.name;
    key.backend = event.backend;
    key.kind = event.kind;
    if (by_module_) key.module_hierarchy = event.module_hierarchy;
    if (by_shape_) key.shapes = shapes_.of(event);
    const auto [found, is_new] = groups_.try_emplace(key, static_cast<uint32_t>(averages_.size()));
    if (is_new) {
      EdgeAverage& made = averages_.emplace_back();
      made.name = event.name;
      made.kind = event.kind;
      made.backend = event.backend;
      made.module_hierarchy = key.module_hierarchy;
      if (by_shape_) made.shapes = shapes_.text(key.shapes);
      made.counts.resize(data_.event_names.size());
    }
    return found->second;
  }

  void enter(uint32_t at) {
    const EdgeEvent& event = data_.events[at];
    EdgeAverage& average = averages_[group_of_[at]];
    const bool outermost = open_[group_of_[at]]++ == 0;
    ++average.calls;
    average.self_ns += event.self_ns;
    add_bytes(average.self_memory_bytes, event.self_memory_bytes);
    average.flops += event.flops;
    const std::span<const EdgeCount> counts = data_.counts_of(event);
    for (size_t which = 0; which < counts.size(); ++which) {
      EdgeCount& sum = average.counts[which];
      sum.exclusive += counts[which].exclusive;
      if (outermost) sum.inclusive += counts[which].inclusive;
      sum.scaled = sum.scaled || counts[which].scaled;
      sum.known = sum.known || counts[which].known;
    }
    if (!outermost) return;
    average.total_ns += event.duration_ns();
    add_bytes(average.memory_bytes, event.memory_bytes);
  }

  const edge::ResultData& data_;
  const bool by_shape_, by_module_;
  ShapeNumbers shapes_;
  std::unordered_map<AverageKey, uint32_t, AverageKeyHash> groups_;
  std::vector<EdgeAverage> averages_;
  std::vector<uint32_t> group_of_;  // the group of each event
  std::vector<uint32_t> open_;      // for each group: how many of its events contain the current one
};

}  // namespace

std::vector<EdgeAverage> EdgeResult::key_averages(EdgeGroup by) const {
  return data_ ? AverageMaker(*data_, by).make() : std::vector<EdgeAverage>{};
}

}  // namespace kymo
