#include "analyze/memory/replay.h"

#include <algorithm>
#include <optional>
#include <span>

namespace kymo::memory {

namespace {

constexpr size_t kMostUntangled = 64;

class Replay {
 public:
  Replay(BlockVisitor& visitor, const Temporaries* temporaries, uint64_t most_alive)
      : visitor_(visitor), temporaries_(temporaries), most_alive_(most_alive) {}

  // Changes with the same tick on several threads have no order. The first consistent change is applied first: an
  // address is allocated if it is free, and freed if it is not.
  void apply(std::span<const MemoryChange> moment) {
    if (moment.size() == 1 || moment.size() > kMostUntangled) {
      for (const MemoryChange& change : moment) apply(change);
      return;
    }
    waiting_.clear();
    for (const MemoryChange& change : moment) waiting_.push_back(&change);
    while (!waiting_.empty()) {
      auto next = waiting_.begin();
      for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
        const bool is_first_of_thread = std::none_of(
            waiting_.begin(), one, [&](const MemoryChange* earlier) { return earlier->thread == (*one)->thread; });
        if (!is_first_of_thread || !fits(**one)) continue;
        next = one;
        break;
      }
      apply(**next);
      waiting_.erase(next);
    }
  }

  // Called before the changes at `now_ns`. Processes that ended earlier lose their memory.
  void end_processes(const Tables& tables, int64_t now_ns) {
    for (uint32_t process = 0; process < tables.processes.size(); ++process) {
      const int64_t end_ns = tables.processes[process].end_ns;
      if (end_ns >= now_ns) continue;
      if (process >= has_ended_.size()) has_ended_.resize(process + size_t{1});
      if (has_ended_[process]) continue;
      has_ended_[process] = true;
      std::vector<Block> left;
      living_.each([&](const Block& block) {
        if (tables.memories[block.memory].process == process) left.push_back(block);
      });
      for (const Block& block : left) {
        if (tables.processes[process].ran_another) {
          give_back_by_exec(block, end_ns);
          continue;
        }
        living_.remove(block.memory, block.address);
        ++events_;
        visitor_.ended(block, end_ns);
      }
    }
  }

  ReplayCounts finish(const Tables& tables) {
    std::vector<Block> left;
    const auto process_of = [&](const Block& block) -> const ProcessInfo& {
      return tables.processes[tables.memories[block.memory].process];
    };
    living_.each([&](const Block& block) {
      if (process_of(block).ran_another) left.push_back(block);
    });
    for (const Block& block : left) give_back_by_exec(block, process_of(block).end_ns);
    living_.each([&](const Block& block) { visitor_.remaining(block); });
    return counts_;
  }

 private:
  bool fits(const MemoryChange& change) const {
    return change.address == 0 || (living_.find(change.memory, change.address) != nullptr) == change.is_return;
  }

  void apply(const MemoryChange& change) {
    if (change.is_return)
      give_back(change);
    else
      take(change);
  }

  void take(const MemoryChange& change) {
    if (const Block* there = change.address != 0 ? living_.find(change.memory, change.address) : nullptr) {
      ++counts_.lost_returns;
      give_back(*there, change);
    }
    if (living_.size() >= most_alive_) {
      ++counts_.left_out;
      return;
    }
    Block block;
    block.address = change.address;
    block.bytes = change.bytes;
    block.taken_ns = change.time_ns;
    block.point = change.point;
    block.number = counts_.allocations++;
    block.taken_at = ++events_;
    block.stack = change.stack;
    block.memory = change.memory;
    block.thread = change.thread;
    block.range = change.range;
    block.outermost = change.outermost;
    block.sampled = change.sampled;
    if (change.address != 0) {
      block.category =
          change.category == Category::Unknown && is_temporary(block.number) ? Category::Temporary : change.category;
      living_.insert(block);
    } else {  // belongs to no stack or range, because it is unknown whose bytes are returned
      block.stack = 0;
      block.range = block.outermost = 0;
      uint64_t& sum = sum_of(change.memory);
      block.bytes = std::min(block.bytes, UINT64_MAX - sum);
      sum += block.bytes;
    }
    visitor_.taken(block);
  }

  void give_back(const MemoryChange& change) {
    ++counts_.returns;
    if (change.address == 0) {
      uint64_t& sum = sum_of(change.memory);
      if (change.bytes > sum) ++counts_.unknown_returns;
      Block block;
      block.bytes = std::min(change.bytes, sum);
      block.memory = change.memory;
      block.thread = change.thread;
      if (block.bytes == 0) return;
      sum -= block.bytes;
      ++events_;
      visitor_.returned(block, change);
      return;
    }
    if (const Block* there = living_.find(change.memory, change.address)) {
      give_back(*there, change);
    } else {
      ++counts_.unknown_returns;
      visitor_.unknown_return(change);
    }
  }

  void give_back(const Block& there, const MemoryChange& by) {
    const Block block = there;
    living_.remove(block.memory, block.address);
    ++events_;
    visitor_.returned(block, by);
  }

  void give_back_by_exec(const Block& block, int64_t time_ns) {
    MemoryChange by;
    by.time_ns = time_ns;
    by.thread = block.thread;
    give_back(block, by);
  }

  bool is_temporary(uint64_t number) const {
    return temporaries_ != nullptr && number < temporaries_->size() && (*temporaries_)[number];
  }
  uint64_t& sum_of(uint32_t memory) {
    if (memory >= sums_.size()) sums_.resize(memory + size_t{1});
    return sums_[memory];
  }

  BlockVisitor& visitor_;
  const Temporaries* temporaries_;
  const uint64_t most_alive_;
  Living living_;
  std::vector<uint64_t> sums_;  // of allocators without addresses, by memory
  std::vector<const MemoryChange*> waiting_;
  std::vector<bool> has_ended_;  // by process
  ReplayCounts counts_;
  uint64_t events_ = 0;
};

}  // namespace

ReplayCounts replay(Changes& changes, BlockVisitor& visitor, const Temporaries* temporaries) {
  Replay all(visitor, temporaries, changes.most_alive());
  for (std::span<const MemoryChange> moment = changes.next(); !moment.empty(); moment = changes.next()) {
    if (changes.tables().processes.size() > 1) all.end_processes(changes.tables(), moment.front().time_ns);
    all.apply(moment);
  }
  return all.finish(changes.tables());
}

}  // namespace kymo::memory
