#include "analyze/memory/holders.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace kymo::memory {

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
