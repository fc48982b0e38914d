#include "import/snapshot.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_tree.h"
#include "import/import.h"
#include "import/pickle_reader.h"
#include "import/test_import.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

using testing::Shown;
using ValueType = PickleValue::Type;
using namespace std::string_literals;

std::string failure_of(const std::string& bytes) {
  try {
    const Pickle pickle(bytes);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PickleReaderTest, ReadsAllPlainValues) {
  // {'a': (1, -2, 300), 'b': [None, True, 1.5], 'c': 2**63, 'd': shared 'a'}
  const std::string bytes =
      "\x80\x04\x95\0\0\0\0\0\0\0\0}\x94("
      "\x8c\x01"
      "a\x94K\x01J\xfe\xff\xff\xffM\x2c\x01\x87"
      "X\x01\0\0\0b](N\x88G\x3f\xf8\0\0\0\0\0\0e"
      "\x8c\x01"
      "c\x8a\x09\0\0\0\0\0\0\0\x80\0"
      "\x8c\x01"
      "dh\x01u."s;
  const Pickle pickle(bytes);
  const auto tuple = pickle.items(pickle.member(pickle.top(), "a"));
  ASSERT_EQ(tuple.size(), 3u);
  EXPECT_EQ(tuple[1].as_number(), -2);
  EXPECT_EQ(tuple[2].as_number(), 300);
  const auto list = pickle.items(pickle.member(pickle.top(), "b"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list[0].is(ValueType::None));
  EXPECT_TRUE(list[1].is(ValueType::Bool));
  EXPECT_EQ(list[2].real, 1.5);
  EXPECT_EQ(static_cast<uint64_t>(pickle.member(pickle.top(), "c").as_number()), uint64_t{1} << 63);
  EXPECT_EQ(pickle.member(pickle.top(), "d").as_text(), "a");
  EXPECT_TRUE(pickle.member(pickle.top(), "none").is(ValueType::None));
}

TEST(PickleReaderTest, CodeIsRefused) {
  // os.system("x"), as protocols 0 and 4 write it.
  for (const std::string& bytes :
       {"\x80\x02"
        "cos\nsystem\nq\0X\x01\0\0\0x\x85R."s,
        "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R."s, "\x80\x02}b."s, "\x80\x02Q."s})
    EXPECT_NE(failure_of(bytes).find("nothing of it was executed"), std::string::npos) << failure_of(bytes);
}

TEST(PickleReaderTest, DamagedPicklesAreRefused) {
  for (const std::string& bytes : {""s,
                                   "\x80\x02"s,
                                   "\x80\x02."s,
                                   "\x80\x02("s,
                                   "\x80\x02(."s,
                                   "\x80\x02"
                                   "e."s,
                                   "\x80\x02(e."s,
                                   "\x80\x02N(K\x01"
                                   "e."s,
                                   "\x80\x02](K\x01u."s,
                                   "\x80\x02}(K\x01u."s,
                                   "\x80\x02h\x05."s,
                                   "\x80\x02Nr\xff\xff\xff\xff."s,
                                   "\x80\x02(q\0."s,
                                   "\x80\x02X\xff\xff\xff\xff"
                                   "abc."s,
                                   "\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s,
                                   "\x80\x02\x8b\xff\xff\xff\xff."s,
                                   "\x80\x02\x87."s,
                                   "\x80\x02(N\x85\x86."s,
                                   "\x80\x06N."s,
                                   "\x80\x02(N1."s,
                                   "\x80\x02(a."s,
                                   "\x80\x02s."s,
                                   "\x80\x02(d"s})
    EXPECT_FALSE(failure_of(bytes).empty()) << bytes;
}

std::string text(const std::string& value) { return "\x8c"s + static_cast<char>(value.size()) + value; }
std::string number(uint64_t value) {
  std::string bytes = "\x8a\x08";
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string frame(const std::string& name, const std::string& file, uint64_t line) {
  return "}(" + text("name") + text(name) + text("filename") + text(file) + text("line") + number(line) + "u";
}
std::string event(const std::string& action, uint64_t address, uint64_t size, uint64_t time,
                  const std::string& frames = "") {
  return "}(" + text("action") + text(action) + text("addr") + number(address) + text("size") + number(size) +
         text("stream") + number(0) + text("time_us") + number(time) + text("frames") + "](" + frames + "eu";
}

TEST(SnapshotImportTest, HistoryAndWhatWasThereBefore) {
  const std::string block = "}(" + text("address") + number(0x3000) + text("size") + number(64) + text("state") +
                            text("active_allocated") + text("frames") + "](" + frame("init", "a.py", 1) + "eu";
  const std::string inactive = "}(" + text("address") + number(0x4000) + text("size") + number(64) + text("state") +
                               text("inactive") + text("frames") + "]u";
  const std::string segment = "}(" + text("device") + number(0) + text("address") + number(0x3000) +
                              text("total_size") + number(4096) + text("blocks") + "](" + block + inactive + "eu";
  const std::string bytes = "\x80\x04}(" + text("segments") + "](" + segment + "e" + text("device_traces") + "](](" +
                            event("alloc", 0x1000, 512, 10, frame("inner", "a.py", 3) + frame("outer", "??", 0)) +
                            event("free_requested", 0x2000, 128, 11) + event("free_completed", 0x2000, 128, 12) +
                            event("oom", 5, 1 << 20, 13) + event("new_action", 5, 1, 14) + "eeu.";
  const Shown shown(bytes, read_snapshot);
  EXPECT_EQ(shown.base_ns, 10'000);
  EXPECT_EQ(
      shown.lines,
      (std::vector<std::string>{
          "PyTorch/cuda:0 point8 alloc [memory] 0 #8192 {bytes=128 B device=cuda:0 stream=0}",
          "PyTorch/cuda:0 point2 cuda:0 allocated [memory] 0 #0 {value=128 B}",
          "PyTorch/cuda:0 point1 segment_alloc [segment] 0 #0 {bytes=4.1 kB device=cuda:0 stream=0 address=0x3000}",
          "PyTorch/cuda:0 point2 cuda:0 reserved [memory] 0 #0 {value=4.1 kB}",
          "PyTorch/cuda:0 point8 alloc [memory] 0 #12288 {bytes=64 B device=cuda:0 stream=0 stack_id=1}",
          "PyTorch/cuda:0 point2 cuda:0 allocated [memory] 0 #0 {value=192 B}",
          "PyTorch/cuda:0 point8 alloc [memory] 0 #4096 {bytes=512 B device=cuda:0 stream=0 stack_id=2}",
          "PyTorch/cuda:0 point2 cuda:0 allocated [memory] 0 #0 {value=704 B}",
          "PyTorch/cuda:0 point1 free_requested [memory] 1000 #0 {bytes=128 B device=cuda:0 stream=0 address=0x2000}",
          "PyTorch/cuda:0 point9 free_completed [memory] 2000 #8192 {bytes=128 B device=cuda:0 stream=0}",
          "PyTorch/cuda:0 point2 cuda:0 allocated [memory] 2000 #0 {value=576 B}",
          "PyTorch/cuda:0 point1 oom [memory] 3000 #0 {bytes=1.0 MB device=cuda:0 stream=0 address=0x5}",
          "PyTorch/cuda:0 point1 new_action [memory] 4000 #0 {bytes=1 B device=cuda:0 stream=0 address=0x5}"}));
  EXPECT_EQ(shown.losses, std::vector<std::string>{"1 events of actions that Kymo does not know"});
}

TEST(PickleReaderTest, MemoryIsBounded) {
  constexpr size_t kMost = 1 << 20;
  std::string lists = "\x80\x04(";
  lists.append(100'000, ']').append("l.");
  EXPECT_THROW(Pickle(lists, kMost), Error);
  EXPECT_NO_THROW(Pickle(lists, 16 * kMost));
  std::string memo = "\x80\x04";
  memo.append(200'000, 'N').append("r\x00\x00\x03\x00.", 6);
  EXPECT_THROW(Pickle(memo, 4 * kMost), Error);
}

TEST(SnapshotImportTest, EventsAndBlocksWithoutAValidSizeAreCounted) {
  const auto with = [](const std::string& addr, const std::string& size, const std::string& time) {
    return "}(" + text("action") + text("alloc") + text("addr") + addr + text("size") + size + text("time_us") + time +
           "u";
  };
  const std::string none = "N", minus = number(static_cast<uint64_t>(-5));
  const std::string events = with(number(1), number(2), number(3)) + with(number(1), minus, number(3)) +
                             with(number(1), none, number(3)) + with(none, number(2), number(3)) +
                             with(number(1), number(2), minus);
  const std::string block = "}(" + text("size") + none + text("state") + text("active_allocated") + "u";
  const std::string segment = "}(" + text("device") + number(0) + text("address") + number(4096) + text("total_size") +
                              number(4096) + text("blocks") + "](" + block + "eu";
  const std::string bytes = "\x80\x04}(" + text("segments") + "](" + segment + "K\x01" + "e" + text("device_traces") +
                            "](](" + events + "eeu.";
  const Shown shown(bytes, read_snapshot);
  EXPECT_EQ(shown.losses, (std::vector<std::string>{"4 events without a valid time, size or address",
                                                    "2 segments and blocks without a valid size"}));
  EXPECT_EQ(shown.events, 4u);  // an allocation and a segment, each with a value of a counter
}

TEST(SnapshotImportTest, AListOfOtherThingsIsNotASnapshot) {
  EXPECT_THROW(Shown("\x80\x04](K\x01"
                     "e.",
                     read_snapshot),
               Error);
  EXPECT_THROW(Shown("\x80\x04](}e.", read_snapshot), Error);
  EXPECT_EQ(Shown("\x80\x04].", read_snapshot).events, 0u);
}

TEST(SnapshotImportTest, ReadsARealSnapshot) {
  const std::string path = base::in_tree("tests/data/torch/memory-snapshot.pickle");
  EXPECT_EQ(format_of(path), Format::Snapshot);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Shown shown(bytes, read_snapshot);
  EXPECT_EQ(shown.events, 19u);
  EXPECT_EQ(shown.lost, 0u);
}

TEST(SnapshotImportTest, HostileShapesAreBounded) {
  // A thousand times the same history of a thousand times the same event.
  std::string same = "\x80\x04}(" + text("device_traces") + "](](" + event("alloc", 1, 2, 3) + "q\x01";
  for (int i = 0; i < 1000; ++i) same += "h\x01";
  same += "eq\x02";
  for (int i = 0; i < 1000; ++i) same += "h\x02";
  same += "eu.";
  const Shown shown(same, read_snapshot);
  EXPECT_LT(shown.events, 2 * same.size());
  EXPECT_GT(shown.lost, 0u);
  // A list that contains itself, a device with a huge number, and another pickle.
  EXPECT_EQ(Shown("\x80\x04}(" + text("device_traces") + "]q\x01h\x01" + "au.", read_snapshot).events, 0u);
  const std::string far = "}(" + text("device") + number(UINT64_MAX) + "u";
  EXPECT_EQ(Shown("\x80\x04}(" + text("segments") + "](" + far + "eu.", read_snapshot).lost, 1u);
  EXPECT_THROW(Shown("\x80\x04}.", read_snapshot), Error);
}

}  // namespace
}  // namespace kymo::import
