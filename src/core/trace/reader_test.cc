// Writer and Reader with a real file: everything that is written is read, however the file was created.
#include "trace/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include "kymo/error.h"
#include "trace/format.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::loop_batch;
using testing::same;
using ::testing::SizeIs;
using testing::TemporaryPath;
using testing::writer_id;

const WriterId kOne = writer_id(1), kTwo = writer_id(2);

std::vector<EventBatch> read_all(const Reader& reader) {
  std::vector<EventBatch> batches;
  for (const EventChunk& chunk : reader.event_chunks()) reader.read(chunk, batches.emplace_back());
  return batches;
}

void write_some(Writer& writer, const WriterId& id, size_t chunks = 3) {
  Origin origin;
  origin.pid = id.bytes[0];
  writer.origin(id, origin);
  writer.classes(id, std::vector{EventClass{1, "step {}", "test", 0, {{"", FieldType::Int}}}});
  writer.tracks(id, std::vector{Track{1, TrackKind::Thread, 1, 42, "main", "", 0, 0}});
  writer.clock(id, ClockDomain{1, ClockKind::Monotonic, "boot", 1, 1, 64, {{1, 2, 3, 4}}});
  for (size_t i = 0; i < chunks; ++i) writer.events(id, loop_batch(100, 1000 + 1000 * i));
}

std::string some_trace(size_t chunks = 3, const WriterId& id = kOne) {
  TemporaryPath path;
  Writer writer(path, Writer::Mode::Create);
  write_some(writer, id, chunks);
  writer.close();
  EXPECT_EQ(writer.bytes_written(), path.contents().size());
  return path.contents();
}

std::string why_not_read(const std::string& path) {
  try {
    Reader reader(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ReaderTest, WrittenRecordsAndEventsAreRead) {
  TemporaryPath path;
  std::mt19937_64 random(9);
  std::vector<EventBatch> batches;
  {
    Writer writer(path, Writer::Mode::Create);
    write_some(writer, kOne, 0);
    writer.stacks(kOne, std::vector{Module{1, "a.so", "id", 0, 10}}, std::vector{Frame{1, 1, 5, "f", "f.cc", 2}},
                  std::vector{Stack{1, {1}}});
    writer.losses(kOne, std::vector{Loss{LossCause::RingFull, 1, 2, 3, 4, ""}});
    writer.costs(kOne, std::vector{Cost{1, 2, 3, 4, 5}});
    for (int i = 0; i < 20; ++i) {
      batches.push_back(testing::wild_batch(random));
      batches.back().track = 1;
      writer.events(kOne, batches.back());
    }
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.indexed());
  EXPECT_EQ(reader.trace_size(), reader.file_size());
  EXPECT_THAT(reader.problems(), IsEmpty());
  const WriterInfo& writer = reader.writers().at(kOne);
  EXPECT_EQ(writer.id, kOne);
  EXPECT_EQ(writer.origin.pid, 1u);
  EXPECT_EQ(writer.classes.at(1).name, "step {}");
  EXPECT_EQ(writer.tracks.at(1).tid, 42u);
  EXPECT_EQ(writer.clocks.at(1).pairs.at(0), (ClockPair{1, 2, 3, 4}));
  EXPECT_EQ(writer.modules.at(1).path, "a.so");
  EXPECT_EQ(writer.frames.at(1).function, "f");
  EXPECT_EQ(writer.stacks.at(1).frames, std::vector<uint32_t>{1});
  EXPECT_EQ(writer.losses.at(0).count, 2u);
  EXPECT_EQ(writer.costs.at(1).events, 2u);
  const auto read = read_all(reader);
  ASSERT_EQ(read.size(), batches.size());
  for (size_t i = 0; i < read.size(); ++i) EXPECT_TRUE(same(read[i], batches[i]));
}

TEST(ReaderTest, ChunkIsDescribedByItsHeader) {
  TemporaryPath path;
  EventBatch batch = loop_batch(100, 1000, 3);
  batch.ring = 4;
  batch.sequence_begin = 50;
  batch.sequence_end = 250;
  Writer(path, Writer::Mode::Create).events(kOne, batch);
  const Reader reader(path);
  ASSERT_THAT(reader.event_chunks(), SizeIs(1));
  const EventChunk& chunk = reader.event_chunks()[0];
  EXPECT_EQ(chunk.writer, kOne);
  EXPECT_EQ(chunk.track, 3u);
  EXPECT_EQ(chunk.ring, 4u);
  EXPECT_EQ(chunk.sequence_begin, 50u);
  EXPECT_EQ(chunk.sequence_end, 250u);
  EXPECT_EQ(chunk.first, 1000u);
  EXPECT_EQ(chunk.last, 1997u);
  EXPECT_EQ(chunk.range_count, 100u);
  EXPECT_EQ(chunk.point_count, 0u);
  EXPECT_THAT(reader.summaries(chunk), ::testing::ElementsAre(DepthSummary{0, 1000, 1997, 100, 700, 7}));
}

TEST(ReaderTest, LongHeadsAreReadCompletely) {
  TemporaryPath path;
  EventBatch batch = loop_batch(3);
  batch.opening.resize(200);
  for (OpenRange& range : batch.opening) range.text.assign(100, 'x');
  Writer(path, Writer::Mode::Create).events(kOne, batch);
  const Reader reader(path);
  EXPECT_THAT(reader.summaries(reader.event_chunks()[0]), SizeIs(1));
  EventBatch read;
  reader.read(reader.event_chunks()[0], read, kOpenStacks);
  EXPECT_EQ(read.opening, batch.opening);
  EXPECT_THAT(read.ranges.end, IsEmpty());
}

TEST(ReaderTest, ConcatenatedTracesAreOneTrace) {
  TemporaryPath path;
  path.write(some_trace(3, kOne) + some_trace(2, kTwo));
  const Reader reader(path);
  EXPECT_TRUE(reader.indexed());
  EXPECT_THAT(reader.writers(), SizeIs(2));
  EXPECT_EQ(reader.writers().at(kTwo).origin.pid, 2u);
  EXPECT_THAT(reader.event_chunks(), SizeIs(5));
  EXPECT_THAT(read_all(reader), SizeIs(5));
}

TEST(ReaderTest, AppendingToATraceKeepsItIndexed) {
  TemporaryPath path;
  for (int i = 0; i < 3; ++i) {
    Writer writer(path, i == 0 ? Writer::Mode::Create : Writer::Mode::Append);
    write_some(writer, writer_id(static_cast<uint8_t>(i)));
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.indexed());
  EXPECT_THAT(reader.event_chunks(), SizeIs(9));
}

TEST(ReaderTest, TwoWritersOfOneFileAreBothRead) {
  TemporaryPath path;
  Writer(path, Writer::Mode::Create).close();
  const auto write = [&](uint8_t number) {
    Writer writer(path, Writer::Mode::Append);
    write_some(writer, writer_id(number), 100);
  };
  std::thread one(write, 1), two(write, 2);
  one.join();
  two.join();
  const Reader reader(path);
  EXPECT_THAT(reader.problems(), IsEmpty());
  EXPECT_THAT(reader.event_chunks(), SizeIs(200));
  EXPECT_THAT(read_all(reader), SizeIs(200));
}

TEST(ReaderTest, LongTraceOpensByItsIndexes) {
  TemporaryPath path;
  {
    Writer writer(path, Writer::Mode::Create);
    write_some(writer, kOne, 10'000);
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.indexed());
  EXPECT_THAT(reader.event_chunks(), SizeIs(10'000));
  EventBatch batch;
  reader.read(reader.event_chunks()[5000], batch);
  EXPECT_TRUE(same(batch, loop_batch(100, 1000 + 1000 * 5000)));
}

TEST(ReaderTest, FileWithoutAnIndexIsWalked) {
  TemporaryPath path;
  Writer writer(path, Writer::Mode::Create);
  write_some(writer, kOne);
  const Reader reader(path);
  EXPECT_FALSE(reader.indexed());
  EXPECT_THAT(reader.event_chunks(), SizeIs(3));
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(ReaderTest, GrowingFileIsFollowed) {
  TemporaryPath path;
  Writer writer(path, Writer::Mode::Create);
  write_some(writer, kOne, 1);
  Reader reader(path);
  EXPECT_FALSE(reader.refresh());
  writer.events(kOne, loop_batch(5));
  writer.losses(kOne, std::vector{Loss{LossCause::RingFull, 1, 2, 3, 4, ""}});
  EXPECT_TRUE(reader.refresh());
  EXPECT_THAT(reader.event_chunks(), SizeIs(2));
  EXPECT_THAT(reader.writers().at(kOne).losses, SizeIs(1));
  writer.close();
  EXPECT_TRUE(reader.refresh());
  EXPECT_THAT(reader.event_chunks(), SizeIs(2));
  EXPECT_FALSE(reader.refresh());
}

TEST(ReaderTest, UnfinishedChunkIsReadWhenItIsComplete) {
  const std::string whole = some_trace();
  TemporaryPath path;
  path.write(whole.substr(0, whole.size() - 20));
  Reader reader(path);
  EXPECT_LT(reader.trace_size(), reader.file_size());
  ASSERT_THAT(reader.problems(), SizeIs(1));
  EXPECT_THAT(reader.problems()[0].what, HasSubstr("unfinished chunk"));
  path.append(whole.substr(whole.size() - 20));
  EXPECT_TRUE(reader.refresh());
  EXPECT_EQ(reader.trace_size(), reader.file_size());
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(ReaderTest, TruncatedFileIsReadUpToTheCut) {
  const std::string whole = some_trace();
  TemporaryPath path;
  size_t chunks_before = 0;
  for (size_t size = 1; size < whole.size(); ++size) {
    path.write(whole.substr(0, size));
    try {
      const Reader reader(path);
      const size_t chunks = reader.event_chunks().size();
      EXPECT_GE(chunks, chunks_before);
      EXPECT_LE(reader.trace_size(), size);
      EXPECT_EQ(reader.problems().size(), reader.trace_size() < size ? 1u : 0u);
      EXPECT_THAT(read_all(reader), SizeIs(chunks));
      chunks_before = chunks;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("cut off"));
      EXPECT_EQ(chunks_before, 0u);
    }
  }
  EXPECT_EQ(chunks_before, 3u);
}

TEST(ReaderTest, DamagedByteLosesAtMostItsChunk) {
  const std::string whole = some_trace(5);
  TemporaryPath path;
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    path.write(damaged);
    const Reader reader(path);
    size_t readable = 0;
    EventBatch batch;
    for (const EventChunk& chunk : reader.event_chunks()) {
      try {
        reader.read(chunk, batch);
        ++readable;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(path.string()));
      }
    }
    EXPECT_GE(readable, 4u) << "byte " << at;
  }
}

TEST(ReaderTest, TornChunkBeforeOtherChunksLosesOnlyItself) {
  const std::string one = some_trace(2, kOne), two = some_trace(2, kTwo);
  TemporaryPath path;
  for (size_t cut : {8, 20, 100, 104, 150, 300}) {
    path.write(one.substr(0, one.size() - cut) + two.substr(0, two.size() - 16));  // without the last footer
    const Reader reader(path);
    EXPECT_EQ(reader.writers().at(kTwo).origin.pid, 2u) << cut;
    EXPECT_GE(reader.event_chunks().size(), 3u) << cut;
    EXPECT_THAT(reader.problems(), Not(IsEmpty())) << cut;
  }
}

TEST(ReaderTest, UnknownChunksAreSkipped) {
  std::string trace = some_trace(1);
  ChunkHeader header;
  header.type = static_cast<ChunkType>(999);
  header.version = 7;
  header.payload_length = 64;
  std::string chunk(kHeaderBytes + 64, '\x7e');
  store_header(header, reinterpret_cast<std::byte*>(chunk.data()));
  TemporaryPath path;
  path.write(chunk + trace);
  const Reader reader(path);
  EXPECT_THAT(reader.event_chunks(), SizeIs(1));
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(ReaderTest, OtherFileIsRefusedWithAReason) {
  TemporaryPath path;
  EXPECT_THAT(why_not_read(path), HasSubstr(path.string() + " is empty"));
  path.write("{\"traceEvents\": []}");
  EXPECT_THAT(why_not_read(path), HasSubstr("is not a Kymo trace: it looks like JSON"));
  path.write(some_trace().substr(0, 50));
  EXPECT_THAT(why_not_read(path), HasSubstr("cut off"));
  EXPECT_THAT(why_not_read("/nowhere.kymo"), HasSubstr("/nowhere.kymo: No such file"));
  EXPECT_THAT(why_not_read("/tmp"), HasSubstr("it is a folder"));
  EXPECT_THAT(why_not_read("/dev/zero"), HasSubstr("not a regular file"));
}

TEST(ReaderTest, FileTruncatedDuringReadingGivesErrors) {
  TemporaryPath path;
  path.write(some_trace());
  Reader reader(path);
  ASSERT_EQ(::truncate(path.string().c_str(), 200), 0);
  EventBatch batch;
  EXPECT_THROW(reader.read(reader.event_chunks()[0], batch), Error);
  EXPECT_THROW(reader.summaries(reader.event_chunks()[0]), Error);
  EXPECT_THROW(reader.refresh(), Error);
}

TEST(ReaderTest, ThreadsReadConcurrently) {
  TemporaryPath path;
  path.write(some_trace(200));
  const Reader reader(path);
  const auto read = [&] {
    EventBatch batch;
    for (size_t i = 0; i < 200; ++i) {
      reader.read(reader.event_chunks()[i], batch);
      EXPECT_TRUE(same(batch, loop_batch(100, 1000 + 1000 * i)));
    }
  };
  std::thread a(read), b(read);
  a.join();
  b.join();
}

TEST(ReaderTest, OnlyTheChosenWritersAreShown) {
  TemporaryPath path;
  Writer writer(path, Writer::Mode::Create);
  Origin session;  // without a process: it announces a recording that will have an end
  session.session = "of two";
  session.announces_ending = 1;
  writer.origin(writer_id(9), session);
  for (const WriterId& id : {kOne, kTwo}) {
    Origin origin;
    origin.pid = id.bytes[0];
    origin.session = id == kOne ? "of one" : "of two";
    writer.origin(id, origin);
    write_some(writer, id, id == kOne ? 2 : 3);
    writer.losses(id, std::vector{Loss{LossCause::RingFull, 1, 5, 0, 0, ""}});
  }
  writer.close();
  Reader reader(path);
  EXPECT_TRUE(reader.has_unended_session());
  reader.show_only({kOne, writer_id(8)});
  ASSERT_THAT(reader.writers(), SizeIs(1));
  EXPECT_EQ(reader.writers().at(kOne).origin.pid, 1u);
  EXPECT_THAT(reader.writers().at(kOne).losses, SizeIs(1));
  EXPECT_FALSE(reader.has_unended_session());
  EXPECT_THAT(read_all(reader), SizeIs(2));
  {
    Writer more(path, Writer::Mode::Append);
    write_some(more, kOne, 1);
    write_some(more, kTwo, 1);
    more.close();
  }
  EXPECT_TRUE(reader.refresh());
  EXPECT_THAT(read_all(reader), SizeIs(3));
  reader.narrow({{kOne, {.from_ns = 0, .to_ns = 1}}});
  EXPECT_THAT(reader.event_chunks(), IsEmpty());
  reader.show_only({kTwo});
  EXPECT_TRUE(reader.has_unended_session());
  EXPECT_THAT(read_all(reader), SizeIs(4));
  reader.show_only({});
  EXPECT_THAT(reader.writers(), SizeIs(2));
}

TEST(ReaderTest, EachReadIsReported) {
  TemporaryPath path;
  path.write(some_trace(3));
  const Reader reader(path);
  std::vector<uint64_t> offsets;
  reader.on_read([&](const EventChunk& chunk) { offsets.push_back(chunk.offset); });
  read_all(reader);
  ASSERT_EQ(offsets.size(), 3u);
  EXPECT_EQ(offsets[2], reader.event_chunks()[2].offset);
  reader.on_read({});
  read_all(reader);
  EXPECT_EQ(offsets.size(), 3u);
}

}  // namespace
}  // namespace kymo::trace
