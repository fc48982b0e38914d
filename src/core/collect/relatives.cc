#include "collect/relatives.h"

#include <unistd.h>

#include <cstring>
#include <memory>

#include "collect/source.h"
#include "kymo/error.h"
#include "record/segment.h"
#include "trace/reader.h"

namespace kymo::collect {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds kLookEvery = 1s, kLookAgain = 50ms;

}  // namespace

Relatives::~Relatives() {
  for (Adopted& adopted : adopted_) record::unmap_segment(adopted.segment.mapping);
}

void Relatives::look(Collector& collector, bool now) {
  const auto time = std::chrono::steady_clock::now();
  if (!now && time - last_ < pause_) return;
  last_ = time;
  release(collector);
  const size_t before = collected_;
  auto found = find_segments([this](const record::SegmentHeader& header) {
    return header.pid != static_cast<uint32_t>(getpid()) && header.closed.load() == 0 &&
           std::memcmp(header.session, session_.bytes, sizeof header.session) == 0;
  });
  if (reader_) reader_->refresh();
  for (FoundSegment& segment : found) look_at(collector, segment);
  // If processes start and end quickly, their segments must not accumulate.
  pause_ = collected_ != before ? kLookAgain : kLookEvery;
}

void Relatives::look_at(Collector& collector, FoundSegment& segment) {
  record::SegmentHeader& header = *segment.mapping.header;
  const bool is_alive = record::owner_is_alive(segment.mapping.fd, header);
  const bool wants_us = header.needs_collector.load() != 0;
  const bool is_ours = is_alive ? wants_us && record::lock_segment(segment.mapping.fd, record::Holder::Collector)
                                : claim(segment.mapping);
  if (!is_ours) return record::unmap_segment(segment.mapping);
  auto source = std::make_unique<Source>(header, origin_of(header), Source::From::Beginning, segment.mapping.geometry);
  if (!wants_us) {
    try {  // its own collector may have written more than the segment says
      if (!reader_) reader_.emplace(path_, path_, trace::Extent::Recorded);
      source->resume(resume_of(*reader_, source->id()));
    } catch (const Error&) {
    }
  }
  Source& added = *source;
  collector.add(std::move(source));
  if (is_alive) {
    adopted_.push_back({segment, &added});
    return;
  }
  collector.remove(added);
  unlink(segment.path.c_str());
  record::unmap_segment(segment.mapping);
  ++collected_;
}

void Relatives::release(Collector& collector) {
  std::erase_if(adopted_, [&](Adopted& adopted) {
    if (record::owner_is_alive(adopted.segment.mapping.fd, *adopted.segment.mapping.header)) {
      adopted.source->saw_alive();
      return false;
    }
    collector.remove(*adopted.source);
    unlink(adopted.segment.path.c_str());
    record::unmap_segment(adopted.segment.mapping);
    return true;
  });
}

}  // namespace kymo::collect
