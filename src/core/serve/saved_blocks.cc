// The blocks of memory of a saved page: what is alive at any time can be computed from them.

#include <limits>
#include <map>
#include <unordered_map>

#include "analyze/memory/holders.h"
#include "analyze/memory/replay.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "serve/saved_content.h"

namespace kymo::serve {

namespace {

using Json = base::JsonWriter;

// Names of functions are looked up for so many stacks, those with most bytes first. The others are one row.
constexpr size_t kMaxStacks = 20'000;

// The blocks in the order in which they are allocated.
class Blocks : public memory::BlockVisitor {
 public:
  Blocks(const memory::Tables& tables, const FilePlaces& places) : tables_(tables), places_(places) {}

  void taken(const memory::Block& block) override {
    const auto place = places_.processes.find(tables_.processes[tables_.memories[block.memory].process].pid);
    if (place == places_.processes.end()) return;
    rows_[block.number] = static_cast<uint32_t>(taken_.size());
    taken_.push_back(static_cast<double>(place->second.clock.of_realtime(block.taken_ns)));
    freed_.push_back(std::numeric_limits<double>::infinity());
    bytes_.push_back(static_cast<double>(block.bytes));
    memory_.push_back(block.memory);
    range_.push_back(block.range);
    stack_.push_back(block.stack);
  }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override { end(block, by.time_ns); }
  void ended(const memory::Block& block, int64_t end_ns) override { end(block, end_ns); }

  // `stacks` are the rows of stacks; row 0 is for those that have none.
  void save(uint32_t file, const std::unordered_map<memory::StackId, uint32_t>& stacks, SavedColumns& columns) {
    for (uint32_t& stack : stack_) {
      const auto row = stacks.find(stack);
      stack = row == stacks.end() ? 0 : row->second;
    }
    const auto add = [&](const char* name, const auto& values) {
      columns.add(base::format("blocks.{}.{}", file, name), values);
    };
    add("taken", taken_);
    add("freed", freed_);
    add("bytes", bytes_);
    add("memory", memory_);
    add("range", range_);
    add("stack", stack_);
  }

 private:
  void end(const memory::Block& block, int64_t realtime_ns) {
    const auto row = rows_.find(block.number);
    if (row == rows_.end()) return;
    const auto pid = tables_.processes[tables_.memories[block.memory].process].pid;
    freed_[row->second] = static_cast<double>(places_.processes.at(pid).clock.of_realtime(realtime_ns));
    rows_.erase(row);
  }

  const memory::Tables& tables_;
  const FilePlaces& places_;
  std::unordered_map<uint64_t, uint32_t> rows_;  // of the blocks that are alive, by number
  std::vector<double> taken_, freed_, bytes_;
  std::vector<uint32_t> memory_, range_, stack_;
};

// Writes the texts of stacks, each once, and returns the row of each stack.
std::unordered_map<memory::StackId, uint32_t> write_stacks(Json& json, memory::Profile& profile) {
  std::unordered_map<memory::StackId, uint32_t> rows;
  std::map<std::pair<std::string, std::string>, uint32_t> texts;
  json.begin_array("stacks");
  const auto row_of = [&](const std::string& name, const std::string& where) {
    const auto [known, is_new] = texts.try_emplace({name, where}, static_cast<uint32_t>(texts.size()));
    if (is_new) {
      json.begin_array();
      json.value(name);
      json.value(where);
      json.end_array();
    }
    return known->second;
  };
  row_of("other stacks", "");
  for (const memory::Group& group : memory::largest(profile.by_stack, &memory::Group::taken, kMaxStacks)) {
    const memory::Holder holder = memory::describe(profile, group, memory::GroupBy::Stack);
    rows[static_cast<memory::StackId>(group.key)] = row_of(holder.name, holder.where);
  }
  json.end_array();
  return rows;
}

// False if the file has no allocations.
bool save_file(View& view, uint32_t file, Json& json, SavedColumns& columns) {
  const Source& source = *view.sources()[file];
  memory::Profile profile = memory::read_profile(source.reader());
  if (profile.counts.allocations == 0) return false;
  json.begin_object();
  json.field("sampled", profile.sampled);
  json.begin_array("memories");
  for (size_t i = 0; i < profile.memories.size(); ++i) json.value(memory::memory_name(profile, i));
  json.end_array();
  json.begin_array("ranges");
  for (size_t i = 0; i < profile.tables.ranges.size(); ++i) {
    memory::Group group;
    group.key = i;
    json.value(memory::describe(profile, group, memory::GroupBy::Range).name);
  }
  json.end_array();
  const std::unordered_map<memory::StackId, uint32_t> stacks = write_stacks(json, profile);
  json.end_object();
  memory::Changes changes(source.reader());  // another pass gives the same numbers
  const FilePlaces places = FilePlaces::of(source);
  Blocks blocks(changes.tables(), places);
  memory::replay(changes, blocks);
  blocks.save(file, stacks, columns);
  return true;
}

}  // namespace

std::string save_blocks(View& view, SavedColumns& columns) {
  std::string all;
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    Json json(Json::Layout::OneLine);
    all += file == 0 ? "[" : ", ";
    all += save_file(view, file, json, columns) ? json.text() : "null";
  }
  return all + "]";
}

}  // namespace kymo::serve
