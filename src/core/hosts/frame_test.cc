#include "hosts/frame.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::hosts {
namespace {

TEST(FrameTest, ArriveWholeFromPiecesOfAnyLength) {
  const std::string bytes = encoded(FrameType::Output, "hello") + encoded(FrameType::Clock, "") +
                            encoded(FrameType::Part, std::string(100'000, 'x'));
  for (const size_t piece : {1u, 2u, 7u, 4096u, 1'000'000u}) {
    FrameReader reader(FrameReader::Expect::Frames);
    std::vector<Frame> frames;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.add(std::string_view(bytes).substr(at, piece));
      while (auto frame = reader.next()) frames.push_back(std::move(*frame));
    }
    ASSERT_EQ(frames.size(), 3u) << piece;
    EXPECT_EQ(frames[0].type, FrameType::Output);
    EXPECT_EQ(frames[0].body, "hello");
    EXPECT_EQ(frames[1].body, "");
    EXPECT_EQ(frames[2].body.size(), 100'000u);
  }
}

TEST(FrameTest, WhatAShellPrintsBeforeTheGreetingIsSkipped) {
  FrameReader reader(FrameReader::Expect::Greeting);
  reader.add("Welcome to node001\nno mail");
  EXPECT_FALSE(reader.next());
  reader.add(kGreeting);
  reader.add(encoded(FrameType::Hello, "x"));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->body, "x");
}

TEST(FrameTest, OtherBytesAreRefused) {
  FrameReader endless(FrameReader::Expect::Greeting);
  endless.add(std::string(kMaxNoise + 1, 'a'));
  EXPECT_THROW(endless.next(), Error);
  FrameReader long_one(FrameReader::Expect::Frames);
  long_one.add("\xff\xff\xff\xff\x05");
  EXPECT_THROW(long_one.next(), Error);
  FrameReader unknown(FrameReader::Expect::Frames);
  unknown.add(std::string("\0\0\0\0\x63", 5));
  EXPECT_THROW(unknown.next(), Error);
}

}  // namespace
}  // namespace kymo::hosts
