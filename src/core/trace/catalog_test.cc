#include "trace/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"
#include "trace/columns.h"
#include "trace/records.h"
#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const WriterId kWriter = testing::writer_id(1);

template <typename T>
void add(Catalog& catalog, ChunkType type, const std::vector<T>& records, const WriterId& writer = kWriter) {
  ChunkHeader header;
  header.type = type;
  header.writer = writer;
  base::ByteWriter payload;
  write_records<T>(payload, records);
  payload.pad_to_multiple_of(kAlignment);
  catalog.add(header, payload.bytes());
}

const WriterInfo& merged(Catalog& catalog) {
  catalog.finish();
  return catalog.writers().at(kWriter);
}

TEST(CatalogTest, NewestRecordOfAnIdIsUsed) {
  Catalog catalog;
  add<EventClass>(catalog, ChunkType::Classes, {{1, "one", "", 0, {}}, {2, "two", "", 0, {}}});
  add<EventClass>(catalog, ChunkType::Classes, {{2, "zwei", "", 0, {}}});
  add<Cost>(catalog, ChunkType::Costs, {{1, 10, 0, 0, 0}});
  add<Cost>(catalog, ChunkType::Costs, {{1, 20, 0, 0, 0}});
  EXPECT_EQ(merged(catalog).classes.at(1).name, "one");
  EXPECT_EQ(merged(catalog).classes.at(2).name, "zwei");
  EXPECT_EQ(merged(catalog).costs.at(1).events, 20u);
}

// A few bytes must not become many records.
TEST(CatalogTest, CompressedStacksAreLimited) {
  base::ByteWriter records;
  write_records<Module>(records, {});
  write_records<Frame>(records, std::vector<Frame>(10'000, {1, 1, 5, "function", "file.cc", 2}));
  write_records<Stack>(records, {});
  base::ByteWriter packed;
  ASSERT_EQ(PlaneWriter().write(records.bytes(), packed), PlaneStorage::Zstd);
  ASSERT_GT(records.size(), packed.size() * kMaxPackedRatio);
  ChunkHeader header;
  header.type = ChunkType::Stacks;
  header.version = kPackedVersion;
  for (const size_t size : {records.size(), records.size() + 1, size_t{16}, size_t{UINT32_MAX}}) {
    base::ByteWriter payload;
    payload.fixed(static_cast<uint32_t>(size));
    payload.fixed(static_cast<uint32_t>(packed.size()));
    payload.append(packed.bytes());
    Catalog catalog;
    EXPECT_THROW(catalog.add(header, payload.bytes()), Error) << size;
  }
}

TEST(CatalogTest, IdsOfTwoWritersAreSeparate) {
  Catalog catalog;
  add<Track>(catalog, ChunkType::Tracks, {{1, TrackKind::Thread, 0, 0, "mine", "", 0, 0}});
  add<Track>(catalog, ChunkType::Tracks, {{1, TrackKind::Thread, 0, 0, "other", "", 0, 0}}, testing::writer_id(2));
  EXPECT_EQ(merged(catalog).tracks.at(1).name, "mine");
}

TEST(CatalogTest, LossesAddUpByCauseTrackAndDetail) {
  Catalog catalog;
  add<Loss>(catalog, ChunkType::Losses, {{LossCause::RingFull, 1, 5, 100, 200, ""}});
  add<Loss>(catalog, ChunkType::Losses,
            {{LossCause::RingFull, 1, 7, 50, 150, ""}, {LossCause::RingFull, 2, 1, 0, 0, ""}});
  EXPECT_THAT(merged(catalog).losses,
              ElementsAre(Loss{LossCause::RingFull, 1, 12, 50, 200, ""}, Loss{LossCause::RingFull, 2, 1, 0, 0, ""}));
}

TEST(CatalogTest, ClockPairsAreMerged) {
  Catalog catalog;
  const auto with_pairs = [](std::vector<ClockPair> pairs) {
    return std::vector{ClockDomain{1, ClockKind::Tsc, "boot", 1, 3, 64, std::move(pairs)}};
  };
  add(catalog, ChunkType::Clock, with_pairs({{300, 3, 3, 0}}));
  add(catalog, ChunkType::Clock, with_pairs({{100, 1, 1, 0}, {300, 3, 3, 0}}));
  EXPECT_THAT(merged(catalog).clocks.at(1).pairs, ElementsAre(ClockPair{100, 1, 1, 0}, ClockPair{300, 3, 3, 0}));
}

TEST(CatalogTest, FirstOriginIsUsedWithTheMetadataOfAll) {
  Catalog catalog;
  Origin first, second;
  first.pid = 1;
  first.metadata = {{"a", "1"}};
  second.pid = 2;
  second.metadata = {{"a", "2"}, {"b", "3"}};
  add<Origin>(catalog, ChunkType::Origin, {first});
  add<Origin>(catalog, ChunkType::Origin, {second});
  EXPECT_EQ(merged(catalog).origin.pid, 1u);
  EXPECT_THAT(merged(catalog).origin.metadata, ElementsAre(Pair("a", "1"), Pair("b", "3")));
}

TEST(CatalogTest, OriginWithoutAProcessOnlyAnnouncesItsSession) {
  Origin announcement;
  announcement.session = "5e55";
  Catalog catalog;
  add<Origin>(catalog, ChunkType::Origin, {announcement});
  catalog.finish();
  EXPECT_TRUE(catalog.writers().empty());
  EXPECT_THAT(catalog.sessions(), ElementsAre("5e55"));
}

TEST(CatalogTest, WriterOfEventsIsKeptWhateverItsOriginSays) {
  Catalog catalog;
  add<Origin>(catalog, ChunkType::Origin, {Origin{}});
  catalog.see(kWriter);
  EXPECT_EQ(merged(catalog).id, kWriter);
}

TEST(CatalogTest, FinishingTwiceChangesNothing) {
  Catalog catalog;
  add<Loss>(catalog, ChunkType::Losses, {{LossCause::RingFull, 1, 5, 100, 200, ""}});
  catalog.finish();
  EXPECT_EQ(merged(catalog).losses.size(), 1u);
}

}  // namespace
}  // namespace kymo::trace
