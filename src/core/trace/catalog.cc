#include "trace/catalog.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"
#include "trace/columns.h"
#include "trace/records.h"

namespace kymo::trace {

namespace {

// The newest record of an id replaces older ones.
template <typename T>
void restate(base::ByteReader& in, std::map<uint32_t, T>& known, uint32_t T::*id) {
  for (T& record : read_records<T>(in)) {
    const uint32_t key = record.*id;
    known.insert_or_assign(key, std::move(record));
  }
}

base::Bytes unpacked(base::ByteReader& in, std::vector<std::byte>& scratch) {
  const uint32_t size = in.fixed<uint32_t>();
  const base::Bytes packed = in.take(in.fixed<uint32_t>());
  if (size > kMaxPayloadBytes || size > packed.size() * kMaxPackedRatio)
    throw Error(base::format("it announces {} bytes of records in {}", size, packed.size()));
  return PlaneReader().read(PlaneStorage::Zstd, packed, size, scratch);
}

// Sorts the pairs by ticks and keeps one pair per tick.
void put_in_order(std::vector<ClockPair>& pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const ClockPair& a, const ClockPair& b) { return a.ticks < b.ticks; });
  pairs.erase(std::unique(pairs.begin(), pairs.end(),
                          [](const ClockPair& a, const ClockPair& b) { return a.ticks == b.ticks; }),
              pairs.end());
}

}  // namespace

bool is_catalog(ChunkType type) {
  return type == ChunkType::Ending || type == ChunkType::Window ||
         (type != ChunkType::Events && type >= ChunkType::Origin && type <= ChunkType::Costs);
}

void Catalog::see(const WriterId& id) {
  writers_[id].id = id;
  loose_[id].recorded = true;
}

void Catalog::add(const ChunkHeader& header, base::Bytes payload) {
  WriterInfo& writer = writers_[header.writer];
  Loose& loose = loose_[header.writer];
  writer.id = header.writer;
  const bool only_announces = header.type == ChunkType::Origin || header.type == ChunkType::Ending;
  if (!only_announces && header.type != ChunkType::Window) loose.recorded = true;
  base::ByteReader in(payload);
  switch (header.type) {
    case ChunkType::Origin:
      for (Origin& origin : read_records<Origin>(in)) add_origin(writer, loose, std::move(origin));
      break;
    case ChunkType::Classes:
      return restate(in, writer.classes, &EventClass::id);
    case ChunkType::Tracks:
      return restate(in, writer.tracks, &Track::id);
    case ChunkType::Clock:
      for (ClockDomain& clock : read_records<ClockDomain>(in)) add_clock(writer, std::move(clock));
      break;
    case ChunkType::Stacks: {
      std::vector<std::byte> scratch;
      if (header.version == kPackedVersion) in = base::ByteReader(unpacked(in, scratch));
      restate(in, writer.modules, &Module::id);
      restate(in, writer.frames, &Frame::id);
      restate(in, writer.stacks, &Stack::id);
      break;
    }
    case ChunkType::Losses:
      for (Loss& loss : read_records<Loss>(in)) add_loss(loose, std::move(loss));
      break;
    case ChunkType::Costs:
      return restate(in, writer.costs, &Cost::track);
    case ChunkType::Ending:
      for (const Ending& ending : read_records<Ending>(in)) writer.ending = ending;
      break;
    case ChunkType::Window:
      for (const Window& window : read_records<Window>(in)) writer.window = window;
      break;
    case ChunkType::Events:
    case ChunkType::Index:
    case ChunkType::Tiles:
      break;
  }
}

void Catalog::add_origin(WriterInfo& writer, Loose& loose, Origin origin) {
  auto metadata = std::move(origin.metadata);
  if (!std::exchange(loose.has_origin, true)) {
    writer.origin = std::move(origin);
    writer.origin.metadata.clear();
  }
  for (auto& item : metadata) {
    if (loose.metadata_keys.insert(item.first).second) writer.origin.metadata.push_back(std::move(item));
  }
}

void Catalog::add_clock(WriterInfo& writer, ClockDomain clock) {
  const auto [known, is_new] = writer.clocks.try_emplace(clock.id, clock);
  if (is_new) return;
  std::vector<ClockPair> pairs = std::move(known->second.pairs);
  pairs.insert(pairs.end(), clock.pairs.begin(), clock.pairs.end());
  clock.pairs = std::move(pairs);
  known->second = std::move(clock);
}

void Catalog::add_loss(Loose& loose, Loss loss) {
  const auto [known, is_new] = loose.losses.try_emplace({loss.cause, loss.track, loss.detail}, loss);
  if (is_new) return;
  Loss& sum = known->second;
  sum.count += loss.count;
  sum.first = std::min(sum.first, loss.first);
  sum.last = std::max(sum.last, loss.last);
}

void Catalog::forget_losses(const WriterId& id) { loose_[id].losses.clear(); }

void Catalog::add_losses(const WriterId& id, base::Bytes payload, const std::function<bool(const Loss&)>& counts) {
  base::ByteReader in(payload);
  for (Loss& loss : read_records<Loss>(in))
    if (counts(loss)) add_loss(loose_[id], std::move(loss));
}

void Catalog::limit_ending(const WriterId& id, uint64_t alive_until) {
  std::optional<Ending>& ending = writers_.at(id).ending;
  if (ending) ending->alive_until = std::min(ending->alive_until, alive_until);
}

void Catalog::narrow(const WriterId& id, const Window& window) {
  std::optional<Window>& stated = writers_.at(id).window;
  if (!stated) stated.emplace();
  stated->from_ns = std::max(stated->from_ns, window.from_ns);
  if (stated->to_ns == 0 || (window.to_ns != 0 && window.to_ns < stated->to_ns)) stated->to_ns = window.to_ns;
}

void Catalog::finish() {
  for (const auto& [id, writer] : writers_) {
    if (!writer.origin.session.empty()) sessions_.insert(writer.origin.session);
  }
  // An origin without a process only announces a session. It is not a writer, unless the file has other data from it.
  std::erase_if(writers_, [this](auto& entry) {
    const auto loose = loose_.find(entry.first);
    const bool announces = !loose->second.recorded && entry.second.origin.pid == 0;
    if (announces) {
      Announced& session = announced_[entry.first];
      if (session.session.empty()) session.session = entry.second.origin.session;
      session.has_ended |= entry.second.ending.has_value();
      session.announces_ending |= entry.second.origin.announces_ending != 0;
      loose_.erase(loose);
    }
    return announces;
  });
  unended_sessions_.clear();
  for (const auto& [id, session] : announced_)
    if (session.announces_ending && !session.has_ended) unended_sessions_.insert(session.session);
  for (auto& [id, writer] : writers_) {
    for (auto& [clock_id, clock] : writer.clocks) put_in_order(clock.pairs);
    writer.losses.clear();
    for (const auto& [key, loss] : loose_[id].losses) writer.losses.push_back(loss);
  }
}

}  // namespace kymo::trace
