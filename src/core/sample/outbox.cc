#include "sample/outbox.h"

#include <utility>

namespace kymo::sample {

namespace {

constexpr uint64_t kMaxPoints = 1 << 23;

uint64_t points_of(const Chunk& chunk) {
  const auto* batch = std::get_if<trace::EventBatch>(&chunk.content);
  return batch == nullptr ? 0 : batch->points.size();
}

void write_chunk(trace::Writer& file, const Chunk& chunk) {
  struct Put {
    trace::Writer& file;
    const trace::WriterId& id;
    void operator()(const trace::Origin& origin) const { file.origin(id, origin); }
    void operator()(const trace::ClockDomain& clock) const { file.clock(id, clock); }
    void operator()(const std::vector<trace::EventClass>& classes) const { file.classes(id, classes); }
    void operator()(const std::vector<trace::Track>& tracks) const { file.tracks(id, tracks); }
    void operator()(const trace::EventBatch& batch) const { file.events(id, batch); }
    void operator()(const CodeNames& names) const { file.stacks(id, names.modules, names.frames, {}); }
    void operator()(const std::vector<trace::Loss>& losses) const { file.losses(id, losses); }
    void operator()(const trace::Ending& ending) const { file.ending(id, ending); }
  };
  std::visit(Put{file, chunk.writer}, chunk.content);
}

}  // namespace

void Outbox::add(Chunk chunk) {
  const std::lock_guard lock(mutex_);
  const uint64_t points = points_of(chunk);
  if (points != 0 && points_ + points > kMaxPoints) {
    dropped_ += points;
    const trace::Loss loss{
        trace::LossCause::WriteFailed, std::get<trace::EventBatch>(chunk.content).track, points, 0, 0, ""};
    chunks_.push_back({chunk.writer, std::vector{loss}});
    return;
  }
  points_ += points;
  chunks_.push_back(std::move(chunk));
}

void Outbox::write(trace::Writer& file) {
  {
    const std::lock_guard lock(mutex_);
    std::move(chunks_.begin(), chunks_.end(), std::back_inserter(taken_));
    chunks_.clear();
  }
  while (!taken_.empty()) {
    write_chunk(file, taken_.front());
    {
      const std::lock_guard lock(mutex_);
      points_ -= points_of(taken_.front());
    }
    taken_.pop_front();
  }
}

uint64_t Outbox::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace kymo::sample
