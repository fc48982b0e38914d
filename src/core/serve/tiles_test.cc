#include "serve/tiles.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::open_view;
using testing::TemporaryFolder;
using testing::TestRecorder;
using testing::write_random_trace;

// Tiles that never run out of time.
ViewLimits patient() {
  ViewLimits limits;
  limits.budget = std::chrono::minutes(10);
  limits.build_ahead = false;
  return limits;
}

using RowKey = std::tuple<uint16_t, uint16_t>;                            // lane, depth
using Shown = std::tuple<int64_t, int64_t, uint32_t, int64_t, uint32_t>;  // start, end, count, total, name

// The tiles of one track at one level, each rectangle once.
std::map<RowKey, std::set<Shown>> shown(View& view, uint32_t track, unsigned level, int64_t duration) {
  std::map<RowKey, std::set<Shown>> rows;
  const uint64_t last = static_cast<uint64_t>(duration) >> (level + TileSpan::kBinsLog2);
  for (uint64_t first = 0; first <= last; first += TileRequest::kMaxTiles) {
    const TileRequest request{level, first, std::min(last, first + TileRequest::kMaxTiles - 1), {track}};
    for (const Tile& tile : make_tiles(view, request)) {
      EXPECT_EQ(tile.flags, 0u);
      const TileSpan span = TileSpan::of(level, tile.number);
      for (const Item& item : tile.items) {
        const bool is_new =
            rows[{item.lane, item.depth}].insert({item.start, item.end, item.count, item.total, item.name}).second;
        if (is_single(item, level)) {
          EXPECT_TRUE(item.start < span.to && item.end > span.from);
        } else {
          EXPECT_TRUE(is_new);
          EXPECT_TRUE(item.start >= span.from && item.start < span.to);
        }
      }
    }
  }
  return rows;
}

// The same by brute force, from all ranges of the track.
std::map<RowKey, std::set<Shown>> expected(View& view, uint32_t track, unsigned level) {
  const Source& source = *view.sources()[0];
  std::map<std::tuple<uint16_t, uint16_t, int64_t>, std::vector<Item>> short_ranges;
  std::map<RowKey, std::set<Shown>> rows;
  const auto add = [&](const Item& item, const std::vector<std::string>& texts) {
    if ((item.end - item.start) >= int64_t{1} << level) {
      const uint32_t name = item.text == kNoText ? item.name : view.names().of_text(texts[item.text], item.name);
      rows[{item.lane, item.depth}].insert({item.start, item.end, 1, item.end - item.start, name});
    } else {
      short_ranges[{item.lane, item.depth, item.start / (int64_t{1} << level)}].push_back(item);
    }
  };
  for (const uint32_t chunk : source.tracks()[track].chunks) {
    const DecodedChunk decoded = source.decode(chunk);
    for (size_t i = 0; i < decoded.range_count(); ++i) add(decoded.range(i), decoded.texts);
  }
  for (const Item& item : source.unfinished(track)) add(item, {});
  for (const auto& [key, items] : short_ranges) {
    int64_t start = INT64_MAX, end = 0, total = 0, longest = -1;
    uint32_t name = 0;
    for (const Item& item : items) {
      start = std::min(start, item.start);
      end = std::max(end, item.end);
      total += item.end - item.start;
      if (item.end - item.start > longest) {
        longest = item.end - item.start;
        name = item.name;
      }
    }
    rows[{std::get<0>(key), std::get<1>(key)}].insert({start, end, static_cast<uint32_t>(items.size()), total, name});
  }
  return rows;
}

// Only the name of a run may differ, if several ranges are the longest.
std::map<RowKey, std::set<Shown>> without_names_of_runs(std::map<RowKey, std::set<Shown>> rows, unsigned level) {
  for (auto& [row, items] : rows) {
    std::set<Shown> kept;
    for (Shown item : items) {
      if (std::get<2>(item) > 1 || std::get<3>(item) >> level == 0) std::get<4>(item) = 0;
      kept.insert(item);
    }
    items = std::move(kept);
  }
  return rows;
}

TEST(TilesTest, EveryLevelMatchesABruteForceComputation) {
  const TemporaryFolder folder;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    write_random_trace(folder / "random.kymo", seed, 2000);
    const auto view = open_view(folder / "random.kymo", patient());
    const int64_t duration = view->sources()[0]->duration_ns() + 1000;
    for (unsigned level = 0; level <= 34; level += level < 8 ? 4 : 3) {
      if (duration >> (level + 10) > 4000) continue;
      for (uint32_t track = 0; track < 4; ++track) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " level " + std::to_string(level) + " track " +
                     std::to_string(track));
        EXPECT_EQ(without_names_of_runs(shown(*view, track, level, duration), level),
                  without_names_of_runs(expected(*view, track, level), level));
      }
    }
  }
}

TEST(TilesTest, CountsOfEveryLevelAddUpToTheRangesOfTheTrace) {
  const TemporaryFolder folder;
  write_random_trace(folder / "random.kymo", 77, 3000);
  const auto view = open_view(folder / "random.kymo", patient());
  const Source& source = *view->sources()[0];
  for (unsigned level = 12; level <= 40; ++level) {
    for (uint32_t track = 0; track < 4; ++track) {
      uint64_t count = 0;
      for (const auto& [row, items] : shown(*view, track, level, source.duration_ns() + 1000))
        for (const Shown& item : items) count += std::get<2>(item);
      EXPECT_EQ(count, source.tracks()[track].ranges + source.unfinished(track).size()) << level << " " << track;
    }
  }
}

TEST(TilesTest, WithoutTimeForDecodingCountsComeFromTheSummaries) {
  const TemporaryFolder folder;
  write_random_trace(folder / "random.kymo", 5, 3000);
  ViewLimits limits = patient();
  limits.budget = std::chrono::milliseconds(0);
  const auto view = open_view(folder / "random.kymo", limits);
  const Source& source = *view->sources()[0];
  const std::vector<Tile> tiles = make_tiles(*view, {40, 0, 0, {0, 3}});
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(tiles[0].flags, Tile::kPreliminary);
  uint64_t count = 0;
  for (const Item& item : tiles[0].items) count += item.count;
  EXPECT_EQ(count, source.tracks()[0].ranges + source.unfinished(0).size());
}

TEST(TilesTest, CountersHaveTheirExtremesInEachBinAndTheValueBeforeTheTile) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "counter.kymo");
    recorder.add_class(1, "length", "", {{"value", trace::FieldType::Int}});
    recorder.add_class(2, "length", "", {{"value", trace::FieldType::Double}});
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i < 4096; ++i) {
      const auto value = static_cast<int64_t>(i % 7) - 3;
      if (i % 3 == 0)
        recorder.point(1, i * 4, trace::PointKind::Counter, 2, 0, {static_cast<double>(value)});
      else
        recorder.point(1, i * 4, trace::PointKind::Counter, 1, 0, {value});
      if (i % 1000 == 999) recorder.cut(1);
    }
    recorder.close();
  }
  ViewLimits limits = patient();
  limits.build_ahead = true;
  const auto view = open_view(folder / "counter.kymo", limits);
  view->wait_until_built();
  ASSERT_EQ(view->counters().size(), 1u);
  const Counter counter = view->counters()[0];
  EXPECT_EQ(counter.name, "length");
  EXPECT_EQ(counter.values, 4096u);
  for (unsigned level = 0; level <= 5; ++level) {
    const uint64_t last = (4096 * 4) >> (level + 10);
    for (const Tile& tile : make_tiles(*view, {level, 0, std::min<uint64_t>(last, 15), {counter.id}})) {
      std::map<int64_t, CounterBin> bins;
      const TileSpan span = TileSpan::of(level, tile.number);
      for (int64_t i = 0; i < 4096; ++i) {
        const int64_t time = i * 4;
        if (time < span.from || time >= span.to) continue;
        const double value = static_cast<double>(i % 7 - 3);
        const CounterBin one{time, time, value, value, value, 1, 1};
        const auto [known, is_new] = bins.try_emplace(time >> level, one);
        if (!is_new) known->second.merge(one);
      }
      const size_t before = tile.number > 0 ? 1 : 0;
      ASSERT_EQ(tile.counters.size(), bins.size() + before);
      if (before != 0) {
        EXPECT_EQ(tile.counters[0].time, span.from - 4);
        EXPECT_EQ(tile.counters[0].last, static_cast<double>((span.from / 4 - 1) % 7 - 3));
      }
      size_t i = before;
      for (const auto& [bin, value] : bins) {
        EXPECT_EQ(tile.counters[i].time, value.time);
        EXPECT_EQ(tile.counters[i].min, value.min);
        EXPECT_EQ(tile.counters[i].max, value.max);
        EXPECT_EQ(tile.counters[i].last, value.last);
        ++i;
      }
    }
  }
}

TEST(TilesTest, InstantsOfABinAreCounted) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "instants.kymo");
    recorder.add_class(1, "mark");
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i < 3000; ++i) recorder.point(1, i, trace::PointKind::Instant, 1);
    recorder.close();
  }
  const auto view = open_view(folder / "instants.kymo", patient());
  for (unsigned level = 0; level < 12; ++level) {
    uint64_t count = 0;
    for (const Tile& tile : make_tiles(*view, {level, 0, 2, {0}})) {
      for (const InstantBin& bin : tile.instants) {
        EXPECT_LE(bin.count, 1u << level);
        count += bin.count;
      }
    }
    EXPECT_EQ(count, 3000u);
  }
}

TEST(TilesTest, EndsOfRangesAcrossThreadsAreInstants) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "async.kymo");
    recorder.add_class(1, "request");
    recorder.add_thread(1, 1, "main");
    recorder.point(1, 10, trace::PointKind::AsyncBegin, 1, 5);
    recorder.point(1, 500, trace::PointKind::AsyncEnd, 1, 5);
    recorder.close();
  }
  const auto view = open_view(folder / "async.kymo", patient());
  const std::vector<Tile> tiles = make_tiles(*view, {0, 0, 0, {0}});
  ASSERT_EQ(tiles[0].instants.size(), 2u);
  EXPECT_EQ(tiles[0].instants[0].kind, trace::PointKind::AsyncBegin);
  EXPECT_EQ(tiles[0].instants[1].kind, trace::PointKind::AsyncEnd);
}

TEST(TilesTest, ARangeOfAYearIsBesideAMillionOfANanosecond) {
  constexpr uint64_t kYear = 31'556'952'000'000'000;
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "year.kymo");
    recorder.add_class(1, "short");
    recorder.add_class(2, "year");
    recorder.add_thread(1, 1, "main");
    recorder.begin(1, 0, 2);
    for (uint64_t i = 0; i < 1'000'000; ++i) {
      recorder.begin(1, 10 + 2 * i, 1);
      recorder.end(1, 11 + 2 * i);
      if (i % 32'768 == 32'767) recorder.cut(1);
    }
    recorder.end(1, kYear);
    recorder.close();
  }
  const auto view = open_view(folder / "year.kymo", patient());
  for (const unsigned level : {0u, 10u, 20u, 30u, 45u, 52u}) {
    uint64_t count = 0;
    const uint64_t last = std::min<uint64_t>(15, kYear >> (level + 10));
    for (const Tile& tile : make_tiles(*view, {level, 0, last, {0}})) {
      EXPECT_FALSE(tile.items.empty());
      for (const Item& item : tile.items) {
        if (item.depth == 0) {
          EXPECT_EQ(item.end - item.start, static_cast<int64_t>(kYear));
        } else {
          count += item.count;
        }
      }
    }
    if (level >= 10)
      EXPECT_EQ(count, 1'000'000u) << level;
    else
      EXPECT_EQ(count, 16u * 1024 / 2 - 5);
  }
  // Far from the short ranges there is only the long one.
  const std::vector<Tile> far = make_tiles(*view, {0, kYear / 2048, kYear / 2048, {0}});
  ASSERT_EQ(far[0].items.size(), 1u);
  EXPECT_EQ(far[0].items[0].end, static_cast<int64_t>(kYear));
}

TEST(TilesTest, TenThousandTracksAreOneRequestForEachThousand) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "tracks.kymo");
    recorder.add_class(1, "work");
    for (uint32_t track = 1; track <= 10'000; ++track) {
      recorder.add_thread(track, track, "worker");
      recorder.complete(track, track, track + 100, 1);
    }
    recorder.close();
  }
  const auto view = open_view(folder / "tracks.kymo", patient());
  ASSERT_EQ(view->sources()[0]->tracks().size(), 10'000u);
  TileRequest request{10, 0, 0, {}};
  for (uint32_t i = 0; i < TileRequest::kMaxTracks; ++i) request.tracks.push_back(i * 9);
  for (const Tile& tile : make_tiles(*view, request)) EXPECT_EQ(tile.items.size(), 1u);
}

TEST(TilesTest, ADamagedChunkIsMarkedAndTheRestIsShown) {
  const TemporaryFolder folder;
  const std::string path = folder / "damaged.kymo";
  write_random_trace(path, 3, 2000);
  std::vector<trace::EventChunk> chunks = trace::Reader(path).event_chunks();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(chunks[0].offset + chunks[0].length - 9));
    file.put('\x55');
    file.put('\xaa');
  }
  const auto view = open_view(path, patient());
  uint32_t flags = 0;
  size_t items = 0;
  for (const Tile& tile : make_tiles(*view, {24, 0, 0, {0, 1, 2, 3}})) {
    flags |= tile.flags;
    items += tile.items.size();
  }
  EXPECT_EQ(flags, Tile::kDamaged);
  EXPECT_GT(items, 0u);
}

TEST(TilesTest, AFileWithoutEventsHasNoTracks) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "empty.kymo");
    recorder.close();
  }
  const auto view = open_view(folder / "empty.kymo");
  view->wait_until_built();
  EXPECT_TRUE(view->sources()[0]->tracks().empty());
  const std::vector<Tile> tiles = make_tiles(*view, {10, 0, 0, {0}});
  ASSERT_EQ(tiles.size(), 1u);
  EXPECT_TRUE(tiles[0].items.empty());
}

TEST(TilesTest, MemoryStaysWithinItsLimits) {
  const TemporaryFolder folder;
  write_random_trace(folder / "random.kymo", 11, 5000);
  ViewLimits limits = patient();
  limits.sketch_bytes = limits.decoded_bytes = 20'000;
  const auto view = open_view(folder / "random.kymo", limits);
  const auto roomy = open_view(folder / "random.kymo", patient());
  for (const unsigned level : {4u, 12u, 24u, 30u}) {
    for (uint32_t track = 0; track < 4; ++track) {
      const auto few = make_tiles(*view, {level, 0, 3, {track}});
      const auto many = make_tiles(*roomy, {level, 0, 3, {track}});
      ASSERT_EQ(encode_tiles(few, 0), encode_tiles(many, 0));
    }
  }
}

TEST(TilesTest, ManyThreadsMayAskAtTheSameTime) {
  const TemporaryFolder folder;
  write_random_trace(folder / "random.kymo", 12, 3000);
  ViewLimits limits;
  limits.sketch_bytes = limits.decoded_bytes = 50'000;
  limits.budget = std::chrono::minutes(10);
  const auto view = open_view(folder / "random.kymo", limits);
  const std::string once = encode_tiles(make_tiles(*view, {20, 0, 3, {0, 1, 2, 3}}), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) EXPECT_EQ(encode_tiles(make_tiles(*view, {20, 0, 3, {0, 1, 2, 3}}), 0), once);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kymo::serve
