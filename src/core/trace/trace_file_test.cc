#include "trace/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A chunk of an unknown type. Its header states `length` bytes of payload, and `there` bytes are present.
std::string chunk(uint64_t length, uint64_t there) {
  ChunkHeader header;
  header.type = static_cast<ChunkType>(999);
  header.payload_length = length;
  std::string bytes(kHeaderBytes + there, 'x');
  store_header(header, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}
std::string chunk(uint64_t length) { return chunk(length, length); }

Walk walk(const std::string& contents) {
  testing::TemporaryPath path;
  path.write(contents);
  return walk_chunks(TraceFile(path, path), 0, contents.size());
}

std::vector<uint64_t> offsets(const Walk& walk) {
  std::vector<uint64_t> result;
  for (const FoundChunk& found : walk.chunks) result.push_back(found.offset);
  return result;
}

TEST(WalkTest, GoesFromHeaderToHeader) {
  const Walk found = walk(chunk(8) + chunk(0) + chunk(800));
  EXPECT_THAT(offsets(found), ElementsAre(0, 112, 216));
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_FALSE(found.tail);
  EXPECT_EQ(found.end, 216u + 904);
}

TEST(WalkTest, SkipsOtherBytesWhereverTheNextChunkBegins) {
  for (size_t junk : {1, 7, 8, 103, 104, 5000, 300'000}) {
    const Walk found = walk(chunk(8) + std::string(junk, '\x93') + chunk(16));
    EXPECT_THAT(offsets(found), ElementsAre(0, 112 + junk));
    ASSERT_THAT(found.problems, SizeIs(1));
    EXPECT_EQ(found.problems[0].offset, 112u);
    EXPECT_EQ(found.problems[0].length, junk);
  }
}

TEST(WalkTest, ChunkThatWasCutOffBeforeOtherChunksIsSkipped) {
  const Walk found = walk(chunk(8) + chunk(400, 50) + chunk(16) + chunk(800));
  EXPECT_THAT(offsets(found), ElementsAre(0, 266, 386));
  ASSERT_THAT(found.problems, SizeIs(1));
  EXPECT_EQ(found.problems[0].offset, 112u);
  EXPECT_EQ(found.problems[0].length, 154u);
}

TEST(WalkTest, TornChunkEndsTheTrace) {
  const Walk cut_payload = walk(chunk(8) + chunk(400, 50));
  EXPECT_EQ(cut_payload.end, 112u);
  EXPECT_EQ(cut_payload.tail->length, 154u);
  const Walk cut_header = walk(chunk(8) + chunk(400).substr(0, 60));
  EXPECT_EQ(cut_header.end, 112u);
  EXPECT_EQ(cut_header.tail->length, 60u);
}

TEST(WalkTest, ForgedLengthsDoNotTakeTooLong) {
  std::string contents;
  for (int i = 0; i < 20'000; ++i) contents += chunk(kMaxPayloadBytes, 0);
  const Walk found = walk(contents);
  EXPECT_THAT(found.chunks, IsEmpty());
  EXPECT_THAT(found.problems, SizeIs(19'999));
}

using ::testing::HasSubstr;

std::string describe(std::string_view beginning) { return describe_foreign(base::as_bytes(beginning)); }

TEST(ForeignTest, StatesWhatTheFileLooksLikeAndWhatToDo) {
  EXPECT_THAT(describe("\x1f\x8b\x08"), HasSubstr("gzip -d"));
  EXPECT_THAT(describe("\x28\xb5\x2f\xfd..."), HasSubstr("zstd -d"));
  EXPECT_THAT(describe("\x7f"
                       "ELF\x02"),
              HasSubstr("kymo record"));
  EXPECT_THAT(describe("\n  {\"traceEvents\": ["), HasSubstr("JSON"));
  EXPECT_THAT(describe("[{\"ph\": \"X\""), HasSubstr("JSON"));
  EXPECT_THAT(describe(std::string_view("\n\x05\x08\x01\x00\x00\x00", 7)), HasSubstr("Perfetto"));
  EXPECT_THAT(describe("\n\nDear diary"), HasSubstr("text"));
  EXPECT_THAT(describe("Dear diary"), HasSubstr("text"));
  EXPECT_THAT(describe(std::string(100, '\0')), HasSubstr("zeros"));
  EXPECT_THAT(describe("\x01\x02\x03"), HasSubstr("no kind"));
}

}  // namespace
}  // namespace kymo::trace
