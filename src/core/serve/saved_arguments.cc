// The arguments of the events of a saved page.

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "kymo/error.h"
#include "serve/saved_content.h"

namespace kymo::serve {

namespace {

constexpr size_t kMaxArgumentBytes = size_t{16} << 20;

// Lists of arguments as JSON, each once. Number 0 is the empty list.
class ArgumentLists {
 public:
  uint32_t number(const trace::EventClass& event_class, const std::vector<trace::ValueCursor::Value>& row) {
    base::JsonWriter list(base::JsonWriter::Layout::OneLine);
    list.begin_array();
    for (size_t i = 0; i < std::min(row.size(), event_class.fields.size()); ++i) {
      const std::string& name = event_class.fields[i].name;
      list.value(name.empty() ? base::format("value {}", i + 1) : name);
      list.value(trace::to_text(row[i]));
    }
    list.end_array();
    const std::string text = list.text();
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    if (rows_.size() + text.size() > kMaxArgumentBytes) {
      ++left_out_;
      return 0;
    }
    rows_ += ", " + text;
    return numbers_.try_emplace(text, static_cast<uint32_t>(numbers_.size() + 1)).first->second;
  }

  std::string json() const { return base::format(R"({{"rows": [{}], "left_out": {}}})", rows_, left_out_); }

 private:
  std::string rows_ = "[]";
  std::unordered_map<std::string, uint32_t> numbers_;
  uint64_t left_out_ = 0;
};

// The arguments of the events of one file, by chunk and index.
class FileArguments {
 public:
  FileArguments(const Source& source, ArgumentLists& lists) : source_(source), lists_(lists) {
    trace::EventBatch batch;
    for (uint32_t chunk = 0; chunk < source.chunks().size(); ++chunk) {
      if (source.chunks()[chunk].track == Source::kNoTrack) continue;
      try {
        source.reader().read(
            source.reader().event_chunks()[chunk], batch,
            trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues | trace::kPoints | trace::kPointValues);
      } catch (const Error&) {
        continue;  // the tile says that it is damaged
      }
      add(chunk, 0, batch.ranges.class_id, batch.ranges.values);
      add(chunk, kPointIndex, batch.points.class_id, batch.points.values);
    }
  }

  uint32_t number(uint32_t chunk, uint32_t index) const {
    const auto found = numbers_.find(key(chunk, index));
    return found == numbers_.end() ? 0 : found->second;
  }

 private:
  static uint64_t key(uint32_t chunk, uint32_t index) { return uint64_t{chunk} << 32 | index; }

  void add(uint32_t chunk, uint32_t first_index, const std::vector<uint32_t>& class_ids, const trace::Values& values) {
    const trace::WriterId& writer = source_.reader().event_chunks()[chunk].writer;
    trace::ValueCursor cursor(values);
    for (uint32_t i = 0; i < class_ids.size(); ++i) {
      const Source::ClassName& known = source_.class_of(writer, class_ids[i]);
      if (known.event_class == nullptr && !known.is_inline) return;  // the values after it cannot be read
      const auto& row = cursor.next(known.event_class);
      if (known.event_class == nullptr || known.is_definition || known.event_class->fields.empty()) continue;
      const uint32_t number = lists_.number(*known.event_class, row);
      if (number != 0) numbers_.emplace(key(chunk, first_index + i), number);
    }
  }

  const Source& source_;
  ArgumentLists& lists_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
};

bool has_any(const std::vector<uint32_t>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](uint32_t number) { return number != 0; });
}

}  // namespace

std::string save_arguments(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  ArgumentLists lists;
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const FileArguments arguments(*view.sources()[file], lists);
    for (const Tile& tile : tiles) {
      const TrackRef ref = *view.find_track(tile.track);
      if (ref.file != file) continue;
      const bool is_functions =
          ref.kind == TrackRef::Kind::Derived && view.derived(ref.position)->kind == DerivedTrack::Kind::Functions;
      std::vector<uint32_t> of_items, of_instants;
      for (const Item& item : tile.items)
        of_items.push_back(is_functions ? 0 : arguments.number(item.chunk, item.index));
      for (const InstantBin& instant : tile.instants)
        of_instants.push_back(arguments.number(instant.chunk, instant.index));
      if (has_any(of_items)) columns.add(base::format("arguments.{}", tile.track), of_items);
      if (has_any(of_instants)) columns.add(base::format("instant_arguments.{}", tile.track), of_instants);
    }
  }
  return lists.json();
}

}  // namespace kymo::serve
