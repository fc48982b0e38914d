#include "analyze/memory/profile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::memory {

namespace {

constexpr size_t kNever = SIZE_MAX;

// The sizes are not trusted. So a sum of them stops at its min or max instead of wrapping.
void add_clamped(uint64_t& sum, uint64_t more) { sum = more > UINT64_MAX - sum ? UINT64_MAX : sum + more; }
void subtract_clamped(uint64_t& sum, uint64_t less) { sum -= std::min(sum, less); }

uint64_t given_back(const Change& change) { return uint64_t{0} - static_cast<uint64_t>(change.bytes); }

void sort_by_size(std::vector<size_t>& which, std::span<const Change> changes) {
  std::stable_sort(which.begin(), which.end(),
                   [&](size_t one, size_t other) { return changes[one].bytes > changes[other].bytes; });
}

}  // namespace

Timeline make_timeline(std::span<const Change> changes) {
  Timeline timeline;
  timeline.in_use.reserve(changes.size());
  std::unordered_map<uint64_t, size_t, base::SeededHash> alive;  // by address: the change that allocated it
  std::vector<size_t> freed_at(changes.size(), kNever);          // by the change that allocated it
  uint64_t in_use = 0, anonymous = 0;

  for (size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    if (change.address == 0) {
      if (change.bytes > 0) {
        add_clamped(in_use, static_cast<uint64_t>(change.bytes));
        add_clamped(anonymous, static_cast<uint64_t>(change.bytes));
      } else if (change.bytes < 0) {
        timeline.unknown_frees += given_back(change) > anonymous;
        const uint64_t returned = std::min(given_back(change), anonymous);
        subtract_clamped(in_use, returned);
        anonymous -= returned;
      }
    } else if (change.bytes > 0) {
      const auto [found, is_new] = alive.try_emplace(change.address, at);
      if (!is_new) {
        ++timeline.lost_frees;
        freed_at[found->second] = at;
        subtract_clamped(in_use, static_cast<uint64_t>(changes[found->second].bytes));
        found->second = at;
      }
      add_clamped(in_use, static_cast<uint64_t>(change.bytes));
    } else if (change.bytes < 0) {
      const auto found = alive.find(change.address);
      if (found == alive.end()) {
        ++timeline.unknown_frees;
      } else {
        freed_at[found->second] = at;
        subtract_clamped(in_use, static_cast<uint64_t>(changes[found->second].bytes));
        alive.erase(found);
      }
    }
    timeline.in_use.push_back(in_use);
    if (in_use > timeline.peak_bytes) {
      timeline.peak_bytes = in_use;
      timeline.peak_at = at;
    }
  }

  for (size_t at = 0; at < changes.size(); ++at) {
    if (changes[at].bytes <= 0 || changes[at].address == 0) continue;
    if (at <= timeline.peak_at && freed_at[at] > timeline.peak_at) timeline.alive_at_peak.push_back(at);
    if (freed_at[at] == kNever) timeline.never_freed.push_back(at);
  }
  sort_by_size(timeline.alive_at_peak, changes);
  sort_by_size(timeline.never_freed, changes);
  return timeline;
}

namespace {

constexpr size_t kMostSizes = 65'536;
constexpr size_t kMostBlocks = 1'000;

// Divides the time into many equal spans. In each span, finds the change after which the most memory was in use.
class HighestMoments {
 public:
  HighestMoments(int64_t begin_ns, int64_t end_ns, size_t wanted)
      : begin_ns_(begin_ns),
        width_((static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin_ns)) / std::max<size_t>(wanted, 1) + 1),
        spans_(wanted) {}

  void add(int64_t time_ns, uint64_t in_use, uint64_t event) {
    last_event_ = event;
    if (spans_.empty()) return;
    const uint64_t since = time_ns > begin_ns_ ? static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(begin_ns_) : 0;
    Span& span = spans_[std::min<uint64_t>(since / width_, spans_.size() - 1)];
    if (span.event != 0 && span.in_use >= in_use) return;
    span = {in_use, event};
  }

  // The numbers of these changes, in order. If there are few changes, all of them.
  std::vector<uint64_t> events() const {
    std::vector<uint64_t> all;
    if (spans_.empty()) return all;
    if (last_event_ <= 2 * spans_.size()) {
      for (uint64_t event = 1; event <= last_event_; ++event) all.push_back(event);
      return all;
    }
    for (const Span& span : spans_)
      if (span.event != 0) all.push_back(span.event);
    if (all.empty() || all.back() != last_event_) all.push_back(last_event_);
    return all;
  }

 private:
  struct Span {
    uint64_t in_use = 0, event = 0;
  };
  int64_t begin_ns_;
  uint64_t width_, last_event_ = 0;
  std::vector<Span> spans_;
};

// The first pass: everything but the timeline.
class ProfileBuilder : public BlockVisitor {
 public:
  ProfileBuilder(Profile& profile, const ProfileOptions& options)
      : profile_(profile),
        only_alive_(options.only_alive),
        moments_(profile.begin_ns, profile.end_ns, options.timeline_points) {}

  void taken(const Block& block) override {
    ++event_;
    profile_.sampled |= block.sampled;
    profile_.taken.add(block.bytes);
    add_clamped(now_bytes_, block.bytes);
    MemoryUse& memory = memory_of(block);
    memory.taken.add(block.bytes);
    add_clamped(memory.in_use, block.bytes);
    if (memory.in_use > memory.peak_bytes) {
      memory.peak_bytes = memory.in_use;
      memory.peak_ns = block.taken_ns;
    }
    if (now_bytes_ > profile_.peak_bytes) {
      profile_.peak_bytes = now_bytes_;
      profile_.peak_ns = block.taken_ns;
      profile_.peak_memory = block.memory;
      peak_event_ = event_;
      returned_since_peak_.clear();
    }
    if (block.address != 0) {
      each_group(block, [&](Group& group) {
        group.taken.add(block.bytes);
        if (block.category == Category::Temporary) group.temporary.add(block.bytes);  // the allocation states it itself
      });
    }
    moments_.add(block.taken_ns, now_bytes_, event_);
  }

  void returned(const Block& block, const MemoryChange& by) override {
    ++event_;
    subtract_clamped(now_bytes_, block.bytes);
    MemoryUse& memory = memory_of(block);
    subtract_clamped(memory.in_use, block.bytes);
    if (by.is_return || by.address != 0) ++memory.returns;  // otherwise exec has freed it, and not the program
    moments_.add(by.time_ns, now_bytes_, event_);
    if (block.address == 0) return;
    Block known = block;
    if (block.category == Category::Unknown && by.is_return && block.outermost != 0 &&
        block.outermost == by.outermost) {
      known.category = Category::Temporary;
      if (block.number >= profile_.temporaries.size()) profile_.temporaries.resize(block.number + 1);
      profile_.temporaries[block.number] = true;
      each_group(block, [&](Group& group) { group.temporary.add(block.bytes); });
    }
    if (block.taken_at <= peak_event_) returned_since_peak_.push_back(known);
  }

  void ended(const Block& block, int64_t end_ns) override {
    ++event_;
    subtract_clamped(now_bytes_, block.bytes);
    moments_.add(end_ns, now_bytes_, event_);
    if (only_alive_)
      subtract_clamped(memory_of(block).in_use, block.bytes);
    else
      add_left(block);
    if (block.taken_at <= peak_event_) returned_since_peak_.push_back(block);
  }

  void remaining(const Block& block) override {
    add_left(block);
    if (block.taken_at <= peak_event_) add_at_peak(block);
  }

  void finish() {
    for (const Block& block : returned_since_peak_) add_at_peak(block);
    keep_largest(profile_.largest_left);
    keep_largest(profile_.largest_at_peak);
    // Memory of an allocator without addresses has no category.
    uint64_t known = 0;
    for (const uint64_t bytes : profile_.at_peak) add_clamped(known, bytes);
    add_clamped(profile_.at_peak[static_cast<size_t>(Category::Unknown)],
                profile_.peak_bytes - std::min(profile_.peak_bytes, known));
    profile_.memories.resize(profile_.tables.memories.size());
    for (const MemoryUse& memory : profile_.memories) add_clamped(profile_.end_bytes, memory.in_use);
    profile_.by_stack = sorted(stacks_);
    profile_.by_range = sorted(ranges_);
    for (const auto& [size, group] : sizes_) profile_.by_size.push_back(group);
    profile_.by_size = sorted(profile_.by_size);
  }

  std::vector<uint64_t> moments() const { return moments_.events(); }

 private:
  MemoryUse& memory_of(const Block& block) {
    if (block.memory >= profile_.memories.size()) profile_.memories.resize(block.memory + size_t{1});
    return profile_.memories[block.memory];
  }

  template <class Do>
  void each_group(const Block& block, Do&& with) {
    const auto at = [](std::vector<Group>& groups, uint32_t key) -> Group& {
      if (key >= groups.size()) groups.resize(std::max<size_t>(key + size_t{1}, groups.size() + groups.size() / 2));
      groups[key].key = key;
      return groups[key];
    };
    with(at(stacks_, block.stack));
    with(at(ranges_, block.range));
    const uint64_t size = sizes_.size() < kMostSizes || sizes_.contains(block.bytes) ? block.bytes : 0;
    Group& group = sizes_[size];
    group.key = size;
    with(group);
  }

  void add_left(const Block& block) {
    profile_.left.add(block.bytes);
    each_group(block, [&](Group& group) { group.left.add(block.bytes); });
    profile_.largest_left.push_back(block);
    if (profile_.largest_left.size() > 2 * kMostBlocks) keep_largest(profile_.largest_left);
  }

  void add_at_peak(const Block& block) {
    add_clamped(profile_.at_peak[static_cast<size_t>(block.category)], block.bytes);
    each_group(block, [&](Group& group) { group.at_peak.add(block.bytes); });
    profile_.largest_at_peak.push_back(block);
    if (profile_.largest_at_peak.size() > 2 * kMostBlocks) keep_largest(profile_.largest_at_peak);
  }

  static void keep_largest(std::vector<Block>& blocks) {
    std::sort(blocks.begin(), blocks.end(), [](const Block& one, const Block& other) {
      return one.bytes != other.bytes ? one.bytes > other.bytes : one.number < other.number;
    });
    if (blocks.size() > kMostBlocks) blocks.resize(kMostBlocks);
  }

  static std::vector<Group> sorted(const std::vector<Group>& all) {
    std::vector<Group> used;
    std::copy_if(all.begin(), all.end(), std::back_inserter(used),
                 [](const Group& one) { return one.taken.count != 0; });
    std::sort(used.begin(), used.end(), [](const Group& one, const Group& other) {
      if (one.at_peak.bytes != other.at_peak.bytes) return one.at_peak.bytes > other.at_peak.bytes;
      if (one.taken.bytes != other.taken.bytes) return one.taken.bytes > other.taken.bytes;
      return one.key < other.key;
    });
    return used;
  }

  Profile& profile_;
  const bool only_alive_;
  HighestMoments moments_;
  uint64_t now_bytes_ = 0;  // in use, by processes that have not ended
  uint64_t event_ = 0, peak_event_ = 0;
  std::vector<Block> returned_since_peak_;  // only blocks that were alive at the peak
  std::vector<Group> stacks_, ranges_;      // by key
  std::unordered_map<uint64_t, Group, base::SeededHash> sizes_;
};

// The second pass: what was in use after the selected changes.
class TimelineBuilder : public BlockVisitor {
 public:
  TimelineBuilder(Profile& profile, const std::vector<uint64_t>& events)
      : timeline_(profile.timeline), events_(events), stacks_(profile.by_stack), ranges_(profile.by_range) {}

  void taken(const Block& block) override {
    add_clamped(now_.bytes[static_cast<size_t>(block.category)], block.bytes);
    add_clamped(now_.by_stack[stacks_.place_of(block.stack)], block.bytes);
    add_clamped(now_.by_range[ranges_.place_of(block.range)], block.bytes);
    changed(block.taken_ns);
  }
  void returned(const Block& block, const MemoryChange& by) override {
    subtract_clamped(now_.bytes[static_cast<size_t>(block.category)], block.bytes);
    subtract_clamped(now_.by_stack[stacks_.place_of(block.stack)], block.bytes);
    subtract_clamped(now_.by_range[ranges_.place_of(block.range)], block.bytes);
    changed(by.time_ns);
  }
  void ended(const Block& block, int64_t end_ns) override {
    MemoryChange by;
    by.time_ns = end_ns;
    returned(block, by);
  }

 private:
  void changed(int64_t time_ns) {
    if (next_ == events_.size() || ++event_ != events_[next_]) return;
    ++next_;
    now_.time_ns = time_ns;
    timeline_.push_back(now_);
  }

  // Finds which of the largest groups a key belongs to.
  class Largest {
   public:
    explicit Largest(const std::vector<Group>& groups) {
      for (size_t i = 0; i < std::min(groups.size(), TimelinePoint::kMostHolders); ++i) keys_[i] = groups[i].key;
    }
    size_t place_of(uint64_t key) const {
      return static_cast<size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
    }

   private:
    static constexpr uint64_t kNoKey = UINT64_MAX;
    std::array<uint64_t, TimelinePoint::kMostHolders> keys_{kNoKey, kNoKey, kNoKey, kNoKey, kNoKey, kNoKey, kNoKey};
  };

  std::vector<TimelinePoint>& timeline_;
  const std::vector<uint64_t>& events_;
  const Largest stacks_, ranges_;
  uint64_t event_ = 0;
  size_t next_ = 0;
  TimelinePoint now_;
};

[[noreturn]] void refuse_device(const std::string& device, const Tables& tables) {
  std::string others;
  for (const std::string& other : tables.other_devices) others += (others.empty() ? "" : ", ") + other;
  throw InvalidArgument(base::format("nothing was allocated of '{}'; the trace has allocations of {}", device, others));
}

}  // namespace

Profile read_profile(const trace::Reader& reader, const ProfileOptions& options) {
  Profile profile;
  Changes changes(reader, options.device);
  profile.begin_ns = changes.begin_ns();
  profile.end_ns = changes.end_ns();
  ProfileBuilder builder(profile, options);
  profile.counts = replay(changes, builder);
  profile.tables = std::move(changes.tables());
  builder.finish();
  profile.problems = reader.problems();
  profile.problems.insert(profile.problems.end(), changes.problems().begin(), changes.problems().end());
  if (profile.counts.left_out != 0)
    profile.problems.push_back({0, reader.file_size(),
                                base::format("{} allocations were left out: a file of {} bytes cannot mean so many",
                                             profile.counts.left_out, reader.file_size())});
  if (profile.is_empty() && !profile.tables.other_devices.empty()) refuse_device(options.device, profile.tables);
  if (options.timeline_points != 0 && !profile.is_empty()) {
    const std::vector<uint64_t> events = builder.moments();
    TimelineBuilder timeline(profile, events);
    Changes again(reader, options.device);
    replay(again, timeline, &profile.temporaries);
  }
  return profile;
}

namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Holder describe_stack(Profile& profile, StackId stack) {
  Holder holder;
  holder.frames = profile.tables.stacks.frames(stack);
  if (holder.frames.empty()) {
    holder.name = "(no stack)";
    return holder;
  }
  const symbols::Frame& informative = holder.frames[first_informative_frame(holder.frames)];
  holder.name = informative.function.empty() ? "(no name)" : informative.function;
  holder.where = place_of(informative);
  return holder;
}

// Empty if there is no stack.
std::string text_of(Profile& profile, const Group& group) {
  std::string text;
  for (const symbols::Frame& frame : profile.tables.stacks.frames(static_cast<StackId>(group.key)))
    text += base::format("{}\n{}:{}\n{}\n", frame.function, frame.file, frame.line, frame.module);
  return text;
}

void add(Holding& to, const Holding& more) {
  to.bytes = more.bytes > UINT64_MAX - to.bytes ? UINT64_MAX : to.bytes + more.bytes;
  to.count += more.count;
}

void add(Group& to, const Group& more) {
  add(to.taken, more.taken);
  add(to.at_peak, more.at_peak);
  add(to.left, more.left);
  add(to.temporary, more.temporary);
}

}  // namespace

const std::vector<Group>& groups_by(const Profile& profile, GroupBy by) {
  switch (by) {
    case GroupBy::Range:
      return profile.by_range;
    case GroupBy::Size:
      return profile.by_size;
    case GroupBy::Stack:
      break;
  }
  return profile.by_stack;
}

std::vector<Group> largest(const std::vector<Group>& groups, Holding Group::*which, size_t most) {
  std::vector<Group> chosen;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(chosen),
               [&](const Group& group) { return (group.*which).count != 0; });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const Group& one, const Group& other) { return (one.*which).bytes > (other.*which).bytes; });
  if (chosen.size() > most) chosen.resize(most);
  return chosen;
}

std::vector<Group> distinct(Profile& profile, GroupBy by, Holding Group::*which, size_t most) {
  constexpr size_t kMostCompared = 2'000;
  std::vector<Group> all = largest(groups_by(profile, by), which, std::numeric_limits<size_t>::max());
  if (by == GroupBy::Stack) {
    std::map<std::string, size_t> places;  // index in `kept`, by the text of the stack
    std::vector<Group> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      std::string text = i < kMostCompared ? text_of(profile, all[i]) : "";
      const auto [place, is_new] = text.empty() ? std::pair(places.end(), true) : places.emplace(text, kept.size());
      if (is_new)
        kept.push_back(all[i]);
      else
        add(kept[place->second], all[i]);
    }
    all = largest(kept, which, std::numeric_limits<size_t>::max());
  }
  if (all.size() > most) all.resize(most);
  return all;
}

Holder describe(Profile& profile, const Group& group, GroupBy by) {
  Holder holder;
  switch (by) {
    case GroupBy::Stack:
      return describe_stack(profile, static_cast<StackId>(group.key));
    case GroupBy::Range:
      holder.name = group.key < profile.tables.ranges.size() ? profile.tables.ranges[group.key] : "";
      if (group.key == 0) holder.name = "(in no range)";
      if (holder.name.empty()) holder.name = "(no name)";
      break;
    case GroupBy::Size:
      holder.name = group.key == 0 && group.taken.bytes != 0 ? "(other sizes)"
                    : group.key == 1                         ? "1 byte"
                                                             : base::format("{} bytes", group.key);
      break;
  }
  return holder;
}

bool keeps_growing(const trace::Reader& reader, const Profile& profile) {
  constexpr uint64_t kFewestBytes = 1 << 20, kFewest = 16;
  const auto most = std::ranges::max_element(profile.memories, {}, &MemoryUse::in_use);
  if (most == profile.memories.end() || most->in_use < kFewestBytes || profile.left.count < kFewest) return false;
  if (most->in_use < profile.end_bytes - profile.end_bytes / 10 || most->in_use < profile.peak_bytes / 2) return false;
  const std::string& device = profile.tables.memories[static_cast<size_t>(most - profile.memories.begin())].device;
  const std::vector<TimelinePoint> timeline = read_profile(reader, {.device = device, .timeline_points = 64}).timeline;
  // The least in each quarter: blocks that live for a short time hide nothing. The last point is the end of a program,
  // which frees other things.
  std::array<uint64_t, 4> least{};
  least.fill(UINT64_MAX);
  if (timeline.size() < least.size()) return false;
  const auto begin = static_cast<double>(timeline.front().time_ns), end = static_cast<double>(timeline.back().time_ns);
  for (const TimelinePoint& point : std::span(timeline).first(timeline.size() - 1)) {
    const double part = (static_cast<double>(point.time_ns) - begin) / std::max(end - begin, 1.0);
    uint64_t& quarter = least[static_cast<size_t>(std::clamp(4 * part, 0.0, 3.0))];
    quarter = std::min(quarter, std::accumulate(point.bytes.begin(), point.bytes.end(), uint64_t{0}));
  }
  for (size_t i = 1; i < least.size(); ++i)
    if (least[i] == UINT64_MAX || least[i] < least[i - 1] || least[i] - least[i - 1] < most->in_use / 10) return false;
  return true;
}

size_t informative_frames_end(const std::vector<symbols::Frame>& frames) {
  constexpr std::string_view kStarting[] = {"__libc_start", "_start", "start_thread", "thread_start", "clone"};
  size_t end = frames.size();
  while (end > 1 && std::ranges::any_of(
                        kStarting, [&](std::string_view begin) { return frames[end - 1].function.starts_with(begin); }))
    --end;
  return end;
}

std::string place_of(const symbols::Frame& frame) {
  if (!frame.file.empty())
    return frame.line == 0 ? std::string(file_name(frame.file))
                           : base::format("{}:{}", file_name(frame.file), frame.line);
  const std::string_view module = file_name(frame.module);
  // A name like "libfoo.so+0x1234" already contains it
  return frame.function.starts_with(module) ? "" : std::string(module);
}

std::string memory_name(const Profile& profile, size_t memory) {
  const MemoryInfo& info = profile.tables.memories[memory];
  if (profile.tables.processes.size() < 2) return info.device;
  const ProcessInfo& process = profile.tables.processes[info.process];
  return base::format("{} of {} ({})", info.device, process.name, process.pid);
}

}  // namespace kymo::memory
