// The stacks of CPU samples, and the threads of ranges across threads, of a saved page.

#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "serve/saved_content.h"

namespace kymo::serve {

namespace {

// Stacks that share their outermost functions share their nodes.
class StackTree {
 public:
  // Innermost first.
  uint32_t add(const std::vector<symbols::Frame>& frames) {
    uint32_t node = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const uint32_t number = frame_number(*frame);
      const auto [known, is_new] = nodes_.try_emplace({node, number}, static_cast<uint32_t>(callers_.size()));
      if (is_new) {
        callers_.push_back(node);
        frames_of_.push_back(number);
      }
      node = known->second;
    }
    return node;
  }

  std::string save(SavedColumns& columns) {
    columns.add("stack.caller", callers_);
    columns.add("stack.frame", frames_of_);
    json_.end_array();
    return json_.text();
  }

  StackTree() { json_.begin_array(); }

 private:
  uint32_t frame_number(const symbols::Frame& frame) {
    const auto [known, is_new] = frames_.try_emplace({frame.function, frame.file, frame.line, frame.module},
                                                     static_cast<uint32_t>(frames_.size()));
    if (is_new) {
      json_.begin_array();
      json_.value(frame.function);
      json_.value(frame.file);
      json_.value(frame.line);
      json_.value(frame.module);
      json_.end_array();
    }
    return known->second;
  }

  std::vector<uint32_t> callers_{0}, frames_of_{0};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;  // by caller and frame
  std::map<std::tuple<std::string, std::string, uint32_t, std::string>, uint32_t> frames_;
  base::JsonWriter json_{base::JsonWriter::Layout::OneLine};
};

// The nodes of the samples of one file.
class FileStacks {
 public:
  FileStacks(const trace::Reader& reader, StackTree& tree) {
    std::unordered_map<memory::StackId, uint32_t> nodes;
    each_sample_stack(
        reader,
        [&](uint32_t chunk, uint32_t point, memory::StackId stack) { samples_.emplace(key(chunk, point), stack); },
        [&](memory::StackId stack, const std::vector<symbols::Frame>& frames) { nodes[stack] = tree.add(frames); });
    for (auto& [place, stack] : samples_) stack = nodes[stack];
  }

  uint32_t node(uint32_t chunk, uint32_t point) const {
    const auto found = samples_.find(key(chunk, point));
    return found == samples_.end() ? 0 : found->second;
  }
  bool empty() const { return samples_.empty(); }

 private:
  static uint64_t key(uint32_t chunk, uint32_t point) { return uint64_t{chunk} << 32 | point; }
  std::unordered_map<uint64_t, uint32_t> samples_;
};

}  // namespace

std::string save_stacks(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  StackTree tree;
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const FileStacks stacks(view.sources()[file]->reader(), tree);
    if (stacks.empty()) continue;
    for (const Tile& tile : tiles) {
      const TrackRef ref = *view.find_track(tile.track);
      if (ref.file != file) continue;
      std::vector<uint32_t> nodes;
      if (ref.kind == TrackRef::Kind::Track) {
        for (const InstantBin& instant : tile.instants)
          nodes.push_back(instant.index == kNoIndex ? 0 : stacks.node(instant.chunk, instant.index - kPointIndex));
        columns.add(base::format("samples.{}", tile.track), nodes);
      } else if (ref.kind == TrackRef::Kind::Derived) {
        const auto derived = view.derived(ref.position);
        if (derived->kind != DerivedTrack::Kind::Functions) continue;
        for (const Item& item : tile.items) nodes.push_back(stacks.node(item.chunk, derived->points[item.index]));
        columns.add(base::format("functions.{}", tile.track), nodes);
      }
    }
  }
  return tree.save(columns);
}

void save_ends(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  for (const Tile& tile : tiles) {
    const TrackRef ref = *view.find_track(tile.track);
    if (ref.kind != TrackRef::Kind::Derived) continue;
    const auto derived = view.derived(ref.position);
    if (derived->kind != DerivedTrack::Kind::AcrossThreads) continue;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> ends;  // by chunk and index
    for (size_t i = 0; i < derived->items.size(); ++i)
      ends[{derived->items[i].chunk, derived->items[i].index}] = derived->end_tracks[i];
    std::vector<uint32_t> begin_ids, end_ids;
    for (const Item& item : tile.items) {
      begin_ids.push_back(view.track_id(ref.file, view.sources()[ref.file]->chunks()[item.chunk].track));
      end_ids.push_back(view.track_id(ref.file, ends.at({item.chunk, item.index})));
    }
    columns.add(base::format("across.{}.begins", tile.track), begin_ids);
    columns.add(base::format("across.{}.ends", tile.track), end_ids);
  }
}

}  // namespace kymo::serve
