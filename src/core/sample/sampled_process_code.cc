// The part of a sampled process that is about its code: what is loaded where, and the stacks in it.
#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "sample/event_classes.h"
#include "sample/lost_files.h"
#include "sample/sampled_process.h"

namespace kymo::sample {

namespace {

using trace::PointKind;
using unwind::Node;

constexpr size_t kMaxModulePath = 4096;

}  // namespace

void SampledProcess::map(const Record& record) {
  if (!record.is_code) return;
  std::string build_id;
  for (const std::byte byte : record.build_id) build_id += base::format("{:02x}", static_cast<unsigned>(byte));
  map_code({record.begin, record.begin + record.length, record.file_offset, record.inode, std::string(record.text),
            std::move(build_id)},
           record.time);
}

bool SampledProcess::is_stated_between(uint64_t begin, uint64_t end) const {
  return std::ranges::any_of(stated_files_, [&](const auto& file) { return file.first < end && begin < file.second; });
}

void SampledProcess::hand_over_all() {
  for (auto& [tid, one] : threads_) hand_over(tid, one);
}

void SampledProcess::map_code(MappedFile mapped, uint64_t time) {
  const uint64_t begin = mapped.begin, end = mapped.end;
  if (!is_stated_between(begin, end) || threads_.empty() || !code_.is_other_code(mapped)) {
    code_.map(std::move(mapped));
    return;
  }
  end_code(begin, end, time);
  stated_names_.erase(stated_names_.upper_bound(begin), stated_names_.upper_bound(end));
  hand_over_all();
  std::erase_if(stated_files_, [&](const auto& file) { return file.first < end && begin < file.second; });
  code_.map(std::move(mapped));
  // Now, and not with the first sample in it, which another thread may have too.
  const LoadedFile* const file = code_.file_at(static_cast<pid_t>(pid_), begin + 1);
  const LoadedFile memory{begin, end - begin, "", ""};  // from now on, no file is there
  state_module(threads_.begin()->second, file != nullptr ? *file : memory, time);
  hand_over_all();
}

// The names in files that are lost can be read only as long as the code is known.
void SampledProcess::end_code(uint64_t begin, uint64_t end, uint64_t time) {
  const auto first = addresses_.upper_bound(begin), last = addresses_.upper_bound(end);  // they are return addresses
  if (!threads_.empty()) state_lost_names(threads_.begin()->second, time, {first, last});
  addresses_.erase(first, last);
}

void SampledProcess::unload(uint64_t time) {
  const std::vector<MappedFile> mapped = mapped_code(static_cast<pid_t>(pid_));
  if (mapped.empty()) return;  // it has ended
  for (const MappedFile& gone : code_.missing_in(mapped)) {
    end_code(gone.begin, gone.end, time);
    code_.unmap(gone);
  }
  map_new_code(mapped, time);
  maps_read_ns_ = 0;
}

bool SampledProcess::map_new_code(const std::vector<MappedFile>& mapped, uint64_t time) {
  bool is_changed = false;
  for (const MappedFile& one : mapped) {
    if (code_.is_known(one)) continue;
    is_changed = true;
    map_code(one, time);
  }
  return is_changed;
}

// Code may have been loaded since.
bool SampledProcess::read_maps_again(uint64_t time) {
  constexpr uint64_t kEveryNs = 200'000'000;
  const uint64_t now = base::monotonic_ns();
  if (shared_.is_complete || now - maps_read_ns_ < kEveryNs) return false;
  maps_read_ns_ = now;
  return map_new_code(mapped_code(static_cast<pid_t>(pid_)), time);
}

void SampledProcess::state_lost_names(Thread& one, uint64_t time, const std::set<uint64_t>& addresses) {
  for (const auto& [address, name] : names_in_lost_files(code_, static_cast<pid_t>(pid_), addresses))
    state_symbol(one, time, address, name);
}

void SampledProcess::state_symbol(Thread& one, uint64_t time, uint64_t address, std::string_view name) {
  if (!stated_names_.insert(address).second) return;
  point(one, time, PointKind::Instant, kSymbol, {address, name.size()});
  one.batch.points.values.text += name;
}

void SampledProcess::state_file(Thread& one, uint64_t address, uint64_t time) {
  if (address >= kFirstKernelAddress) {
    const KernelNames::Function function = shared_.kernel.at(address);
    if (function.begin == address) state_symbol(one, time, address, function.name);
    return;
  }
  addresses_.insert(address);
  const LoadedFile* const file = code_.file_at(static_cast<pid_t>(pid_), address);
  if (file != nullptr) state_module(one, *file, time);
}

void SampledProcess::state_module(Thread& one, const LoadedFile& file, uint64_t time) {
  const uint64_t end = file.base + file.size;
  if (stated_files_.contains(file.base)) return;
  // A reader takes the meaning of an address from the last file that was stated there. So whatever was recorded before
  // comes before the new file, and the new file comes before all that is recorded in it, on any thread.
  const bool takes_a_place = is_stated_between(file.base, end);
  if (takes_a_place) hand_over_all();
  stated_files_.emplace(file.base, end);
  const std::string path = file.path.substr(0, kMaxModulePath);
  point(one, time, PointKind::Instant, kModule, {path.size(), file.base, file.size, file.build_id.size()});
  one.batch.points.values.text += path + file.build_id;
  if (takes_a_place) hand_over_all();
}

// Valid until the next call.
std::span<const uint64_t> SampledProcess::stack_of(const Record& record, Node& root) {
  root = unwind::kNoStack;
  const auto pid = static_cast<pid_t>(pid_);
  const std::span<const uint64_t> addresses = shared_.stacks.find(record, code_, pid, root);
  if (root != unwind::kCutNoRule || !read_maps_again(record.time)) return addresses;
  return shared_.stacks.find(record, code_, pid, root);
}

// States what is not known of it.
Node SampledProcess::node_of(Thread& one, std::span<const uint64_t> stack, Node root, uint64_t time) {
  Node node = root;
  for (size_t i = stack.size(); i-- > 0;) {
    bool is_new = false;
    const Node parent = node;
    node = one.tree.child(parent, code_.meaning_of(stack[i]), is_new);
    if (!is_new) continue;
    state_file(one, stack[i], time);
    point(one, time, PointKind::Instant, kNode, {node, parent, stack[i]});
  }
  return node;
}

}  // namespace kymo::sample
