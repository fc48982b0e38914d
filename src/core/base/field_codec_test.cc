#include "base/field_codec.h"

#include <gtest/gtest.h>

namespace kymo::base {

enum class Colour : uint8_t { Red, Green, Blue };

struct Item {
  uint32_t number = 0;
  std::string text;
  uint64_t since = 0;  // newer than the others
  bool operator==(const Item&) const = default;
};

struct Sample {
  bool is_set = false, is_first = false, is_last = false;
  Colour colour = Colour::Red;
  double real = 0;
  uint64_t id = 0;
  std::vector<std::byte> bytes;
  std::vector<Item> items;
  std::map<std::string, double> by_name;
  bool operator==(const Sample&) const = default;
};

static void fields(auto& io, MaybeConst<Item> auto& item) { io(item.number, item.text); }

static void fields(auto& io, MaybeConst<Sample> auto& sample) {
  io(sample.is_set);
  io.flags(sample.is_first, sample.is_last);
  io.one_of(sample.colour, Colour::Red, Colour::Blue, "colour");
  io(sample.real);
  io.fixed(sample.id);
  io(sample.bytes);
  io.list(sample.items, 3, "items");
  io(sample.by_name);
  io.when_read(sample, [](const auto& read) {
    if (read.id == 13) throw Error("13 is never an id");
  });
  io.later(sample.items, &Item::since);
}

namespace {

Sample sample() {
  return {.is_set = true,
          .is_last = true,
          .colour = Colour::Blue,
          .real = -0.5,
          .id = 7,
          .bytes = {std::byte{1}, std::byte{2}},
          .items = {{300, "a", 1}, {0, "", 2}},
          .by_name = {{"x", 1}, {"y", 2}}};
}

ByteWriter written(const Sample& value) {
  ByteWriter out;
  FieldWriter{out}(value);
  return out;
}

Sample read(Bytes bytes) {
  ByteReader in(bytes);
  Sample value;
  FieldReader{in}(value);
  EXPECT_EQ(in.left(), 0u);
  return value;
}

std::string error_of(Bytes bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FieldCodecTest, EveryKindOfFieldComesBack) { EXPECT_EQ(read(written(sample()).bytes()), sample()); }

TEST(FieldCodecTest, FlagsShareAByteAndNumbersAreVarints) {
  const ByteWriter out = written(sample());
  EXPECT_EQ(out.bytes()[0], std::byte{1});  // is_set
  EXPECT_EQ(out.bytes()[1], std::byte{2});  // the second of two flags
  EXPECT_EQ(out.bytes()[2], std::byte{static_cast<uint8_t>(Colour::Blue)});
}

TEST(FieldCodecTest, FieldsThatAnOlderRecordLacksStayAsTheyAre) {
  Sample old = sample();
  const size_t newer = 1 + old.items.size();  // the count and a byte each
  const ByteWriter out = written(old);
  for (Item& item : old.items) item.since = 0;
  EXPECT_EQ(read(out.bytes().first(out.size() - newer)), old);
}

TEST(FieldCodecTest, RecordsThatEndTooEarlyAreRefused) {
  Sample plain = sample();
  for (Item& item : plain.items) item.since = 0;
  const ByteWriter out = written(plain);
  const size_t whole = out.size() - 1 - plain.items.size();
  for (size_t size = 0; size < whole; ++size) EXPECT_NE(error_of(out.bytes().first(size)), "") << size;
}

TEST(FieldCodecTest, ValuesOutOfRangeAreNamed) {
  ByteWriter out = written(sample());
  out.data()[2] = std::byte{3};
  EXPECT_EQ(error_of(out.bytes()), "3 is not a valid colour");
  out.data()[0] = std::byte{2};
  EXPECT_EQ(error_of(out.bytes()), "2 is not a valid flag");
  Sample many = sample();
  many.items.resize(4);
  EXPECT_EQ(error_of(written(many).bytes()), "there are 4 items; the max is 3");
  Sample wrong = sample();
  wrong.id = 13;
  EXPECT_EQ(error_of(written(wrong).bytes()), "13 is never an id");
}

}  // namespace
}  // namespace kymo::base
