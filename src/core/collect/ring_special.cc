// The records of a ring that are about the recording itself: owners of the ring, clocks, losses.
#include <algorithm>
#include <utility>

#include "collect/ring_decoder.h"

namespace kymo::collect {
namespace {

using record::Kind;
using trace::LossCause;

}  // namespace

void RingDecoder::damaged(uint64_t time) {
  if (clock_ != nullptr) time = clock_->last_time();
  losses_.push_back({LossCause::DamagedRecord, track_.id, 1, time, time, ""});
}

void RingDecoder::lose_cells(uint64_t count, uint32_t tid, std::string name) {
  count += stack_.size();
  forget_open_ranges();
  cells_lost_ = begins_lost_ = true;
  if (tid == 0) {
    overwritten_ += count;
    return;
  }
  if (track_.id == 0 || track_.tid != tid) {
    trace::Track track;
    track.tid = tid;
    track.name = std::move(name);
    begin_track(std::move(track));
  }
  losses_.push_back({LossCause::Overwritten, track_.id, count, 0, 0, kCellsLost});
}

void RingDecoder::begin_track(trace::Track track) {
  track_ = std::move(track);
  track_.id = next_track_++;
  track_changed_ = true;
  blocked_ticks_ = 0;
  clock_ = nullptr;
  order_.clear();
  lanes_.clear();
  ended_before_ = 0;
  new_owner_ = cells_lost_ = false;
}

void RingDecoder::special(Kind kind, uint64_t time) {
  switch (kind) {
    case Kind::Pad:
    case Kind::ThreadEnd:
      break;
    case Kind::Sync:
      forget_open_ranges();
      batch_.opening.clear();
      begins_lost_ = false;
      new_owner_ = true;
      break;
    case Kind::ThreadBegin: {
      trace::Track track;
      track.tid = word_at(0);
      begin_track(std::move(track));
      break;
    }
    case Kind::QueueBegin:
      begin_queue(time);
      break;
    case Kind::ClockPair:
      if (clock_ == nullptr || words_.size() < 5) return damaged(time);
      clock_->add_pair({words_[0], words_[1], words_[2], words_[3], words_[4]});
      break;
    case Kind::ThreadName:
      if (words_.empty()) break;
      track_.name.assign(reinterpret_cast<const char*>(words_.data() + 1),
                         std::min<uint64_t>(words_[0], (words_.size() - 1) * 8));
      track_changed_ = true;
      break;
    case Kind::Blocked:
      if (words_.empty()) return damaged(time);
      blocked_ticks_ += time - word_at(0);
      if (clock_ == nullptr) add_range(word_at(0), time, kBlockedClass);  // the device did not wait
      break;
    case Kind::Loss: {
      trace::Loss loss{static_cast<LossCause>(word_at(0)), track_.id, word_at(1), word_at(2), word_at(3), ""};
      if (clock_ != nullptr && loss.last != 0) {  // 0: the time is not known
        loss.first = clock_->extend(loss.first);
        loss.last = clock_->extend(loss.last);
      }
      losses_.push_back(loss);
      break;
    }
    default:
      damaged(time);
      break;
  }
}

}  // namespace kymo::collect
