#include "collect/queue_clocks.h"

#include <algorithm>

namespace kymo::collect {
namespace {

constexpr size_t kMaxClocks = 4096;  // a damaged ring must not fill the memory with clocks

uint64_t mask_of(uint32_t bits) { return bits > 0 && bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0}; }

bool by_ticks(const trace::ClockPair& a, const trace::ClockPair& b) { return a.ticks < b.ticks; }

// The pairs are for writing the clock again. One pair per second for a day must not accumulate.
void keep_first_and_newest(std::vector<trace::ClockPair>& pairs) {
  const auto [first, newest] = std::minmax_element(pairs.begin(), pairs.end(), by_ticks);
  pairs = first == newest ? std::vector{*first} : std::vector{*first, *newest};
}

// The number nearest to `near` with these low bits.
uint64_t nearest(uint64_t ticks, uint64_t near, uint64_t mask) {
  const uint64_t ahead = (ticks - near) & mask;
  const uint64_t extended = near + ahead;
  return ahead > mask / 2 && extended > mask ? extended - mask - 1 : extended;
}

}  // namespace

QueueClock::QueueClock(uint32_t id, const ClockKey& key) {
  domain_.id = id;
  domain_.kind = trace::ClockKind::Device;
  domain_.period_numerator = key.period_numerator;
  domain_.period_denominator = std::max<uint64_t>(key.period_denominator, 1);
  wraps_after(key.wrap_bits);
}

QueueClock::QueueClock(const trace::ClockDomain& known) : domain_(known), new_(false) {
  if (domain_.pairs.empty()) return;
  keep_first_and_newest(domain_.pairs);
  last_ = domain_.pairs.back().ticks;
  seen_ = true;
}

void QueueClock::wraps_after(uint32_t bits) { mask_ = mask_of(bits); }

uint64_t QueueClock::extend(uint64_t ticks) {
  if (mask_ == ~uint64_t{0}) return last_ = ticks;
  last_ = seen_ ? nearest(ticks, last_, mask_) : ticks & mask_;
  seen_ = true;
  return last_;
}

void QueueClock::add_pair(trace::ClockPair pair) {
  const std::vector<trace::ClockPair>& earlier = fresh_.empty() ? domain_.pairs : fresh_;
  const trace::ClockPair* before = earlier.empty() ? nullptr : &earlier.back();
  if (mask_ != ~uint64_t{0} && before != nullptr && domain_.period_numerator != 0 &&
      pair.monotonic_ns > before->monotonic_ns) {
    __extension__ using Wide = unsigned __int128;
    const Wide passed =
        Wide{pair.monotonic_ns - before->monotonic_ns} * domain_.period_denominator / domain_.period_numerator;
    last_ = before->ticks + static_cast<uint64_t>(passed);
    seen_ = true;
  }
  pair.ticks = extend(pair.ticks);
  const auto place = std::lower_bound(fresh_.begin(), fresh_.end(), pair, by_ticks);
  if (place != fresh_.end() && place->ticks == pair.ticks) return;
  for (const trace::ClockPair& known : domain_.pairs)
    if (known.ticks == pair.ticks) return;
  fresh_.insert(place, pair);
}

bool QueueClock::changes(trace::ClockDomain& into) const {
  if (!new_ && fresh_.empty()) return false;
  into = domain_;
  into.pairs = fresh_;
  return true;
}

void QueueClock::mark_written() {
  new_ = false;
  if (fresh_.empty()) return;
  domain_.pairs.insert(domain_.pairs.end(), fresh_.begin(), fresh_.end());
  keep_first_and_newest(domain_.pairs);
  fresh_.clear();
}

trace::ClockDomain QueueClock::whole() const {
  trace::ClockDomain domain = domain_;
  domain.pairs.insert(domain.pairs.end(), fresh_.begin(), fresh_.end());
  return domain;
}

QueueClock& QueueClocks::find(const ClockKey& key) {
  QueueClock*& found = by_key_[key];
  if (found == nullptr) {
    if (clocks_.size() >= kMaxClocks) {
      by_key_.erase(key);
      return clocks_.back();
    }
    found = &clocks_.emplace_back(next_id_++, key);
  }
  return *found;
}

QueueClock* QueueClocks::find(uint32_t id) {
  const auto found =
      std::find_if(clocks_.begin(), clocks_.end(), [id](const QueueClock& clock) { return clock.id() == id; });
  return found != clocks_.end() ? &*found : nullptr;
}

void QueueClocks::resume(const std::map<uint32_t, trace::ClockDomain>& known) {
  for (const auto& [id, domain] : known) {
    next_id_ = std::max(next_id_, id + 1);
    if (domain.kind == trace::ClockKind::Device) clocks_.emplace_back(domain);
  }
}

void QueueClocks::recognize(uint32_t id, const std::string& device_uuid, uint64_t clock, uint32_t wrap_bits) {
  QueueClock* known = find(id);
  if (known == nullptr) return;
  known->wraps_after(wrap_bits);
  const trace::ClockDomain& domain = known->domain();
  by_key_.emplace(ClockKey{device_uuid, clock, domain.period_numerator, domain.period_denominator, wrap_bits}, known);
}

}  // namespace kymo::collect
