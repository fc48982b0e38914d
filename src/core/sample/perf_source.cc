#include "sample/perf_source.h"

#include <queue>
#include <vector>

#include "base/clock.h"

namespace kymo::sample {

namespace {

// A record gets its time a moment before it is in the ring. Newer records than this wait for the next round.
constexpr uint64_t kSettledNs = 1'000'000;

Record damaged_record(uint64_t count) {
  Record record;
  record.kind = RecordKind::Damaged;
  record.lost = count;
  return record;
}

}  // namespace

void PerfSource::read(bool is_last, const Handle& handle) {
  const uint64_t settled = is_last ? ~uint64_t{0} : base::monotonic_ns() - kSettledNs;
  struct Next {
    uint64_t time;
    size_t ring;
    Record record;
    bool operator<(const Next& other) const { return time > other.time; }  // the top of the queue is the earliest
  };
  std::priority_queue<Next> queue;
  std::vector<PerfRing>& rings = events_.rings();
  const auto push_front = [&](size_t ring) {
    RingReader& reader = rings[ring].records();
    const uint64_t damaged = reader.damaged();
    for (base::Bytes bytes = reader.front(); !bytes.empty(); reader.pop(), bytes = reader.front()) {
      if (const std::optional<Record> record = decode_record(bytes, events_.layout())) {
        if (record->time <= settled) queue.push({record->time, ring, *record});
        return;
      }
      handle(damaged_record(1));
    }
    if (reader.damaged() != damaged) handle(damaged_record(reader.damaged() - damaged));
  };
  for (size_t ring = 0; ring < rings.size(); ++ring) {
    rings[ring].refresh();
    push_front(ring);
  }
  while (!queue.empty()) {
    const Next next = queue.top();
    queue.pop();
    handle(next.record);
    rings[next.ring].records().pop();
    push_front(next.ring);
  }
  for (PerfRing& ring : rings) ring.release();
}

}  // namespace kymo::sample
