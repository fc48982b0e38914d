// A Chrome trace is read by several threads, in pieces. The result is the same for any number of threads and any size
// of pieces.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/test_tree.h"
#include "import/chrome.h"
#include "import/import.h"
#include "import/test_import.h"

namespace kymo::import {
namespace {

using testing::Shown;

Shown read_with(std::string_view bytes, unsigned threads, size_t piece_bytes) {
  return Shown([&](TraceBuilder& builder) {
    ByteSource source = ByteSource::of_memory(bytes);
    return read_chrome_with(source, builder, {.threads = threads, .piece_bytes = piece_bytes});
  });
}

void expect_equal(const Shown& shown, const Shown& expected, const std::string& what) {
  EXPECT_EQ(shown.events, expected.events) << what;
  EXPECT_EQ(shown.base_ns, expected.base_ns) << what;
  EXPECT_EQ(shown.losses, expected.losses) << what;
  ASSERT_EQ(shown.lines.size(), expected.lines.size()) << what;
  for (size_t i = 0; i < shown.lines.size(); ++i) ASSERT_EQ(shown.lines[i], expected.lines[i]) << what << " line " << i;
}

void expect_same_for_all_threads(const std::string& text, const std::string& name) {
  const Shown expected = read_with(text, 1, 0);
  for (const size_t piece_bytes : {size_t{0}, size_t{2} << 10, size_t{40} << 10})
    for (const unsigned threads : {1u, 2u, 3u, 8u})
      expect_equal(read_with(text, threads, piece_bytes), expected,
                   base::format("{}: {} threads, pieces of {}", name, threads, piece_bytes));
}

TEST(ChromeThreadsTest, RealTracesAreTheSame) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base::in_tree("tests/data/kineto"))) {
    if (entry.path().extension() == ".md" || format_of(entry.path()) != Format::Chrome) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    expect_same_for_all_threads(bytes, entry.path().filename());
    ++count;
  }
  EXPECT_GT(count, 0u);
}

// Events of all kinds in any order, some of them not valid, with arguments that look like events.
class RandomFile {
 public:
  explicit RandomFile(uint64_t seed) : random_(seed) {}

  std::string text(size_t events, bool first_key_varies) {
    std::string all = R"({"schemaVersion": 1, "baseTimeNanoseconds": 5, "traceEvents": [)";
    for (size_t i = 0; i < events; ++i) {
      if (i > 0) all += pick({",", ",\n  ", " , "});
      all += event(first_key_varies);
    }
    return all + R"(], "traceName": "x"})";
  }

 private:
  uint64_t number(uint64_t below) { return random_() % below; }
  std::string pick(const std::vector<std::string>& choices) { return choices[number(choices.size())]; }

  std::string event(bool first_key_varies) {
    if (number(200) == 0)
      return pick({"5", "null", "[]", "{}", R"({"ph": nonsense})", R"({"ph":"X","name":NaN,"ts":1})"});
    const std::string phase = pick({"X", "X", "X", "B", "E", "i", "C", "s", "t", "f", "b", "e", "M", "?"});
    std::string text = base::format(
        R"("name": "{}{}", "cat": "{}", "pid": {}, "tid": {}, "ts": {}.{}, "dur": {}, "id": {}, "args": {})",
        pick({"op", "aten::mm", "a\\\"b", "\\u00e9", "[memory]", "ac2g"}), number(20),
        pick({"cpu_op", "kernel", "cuda_runtime", "", "fwdbwd"}), pick({"0", "7", "\"p\"", "-3"}),
        pick({"0", "7", "8", "\"t\""}), number(10'000), number(1000), pick({"1.5", "20", "-1", "\"2\""}), number(10),
        arguments());
    if (phase == "M")
      text = base::format(R"("name": "{}", "pid": 7, "tid": 8, "args": {{"name": "{}", "sort_index": {}}})",
                          pick({"process_name", "thread_name", "thread_sort_index"}), number(5), number(3));
    const std::string ph = base::format(R"("ph": "{}")", phase);
    return first_key_varies && number(2) == 0 ? "{" + text + ", " + ph + "}" : "{" + ph + ", " + text + "}";
  }

  std::string arguments() {
    return pick({"{}", R"({"correlation": 5, "device": 0, "stream": 7})", R"({"device": 0, "stream": 7, "context": 1})",
                 R"({"stream": 9, "x": 1.25, "y": "text"})", R"({"list": [{"ph": "X"}, {"ph": "Y", "name": 1}]})",
                 R"({"Bytes": -64, "Addr": 4096})", R"({"finished": false})", R"({"value": 3, "other": true})",
                 R"({"kymo": "sample", "stack": "inner < outer"})",
                 R"({"kymo": "allocation 0x1000", "stack": "a < b"})", R"({"kymo": "flow begin 17", "flow": "f"})"});
  }

  std::mt19937_64 random_;
};

TEST(ChromeThreadsTest, RandomFilesAreTheSame) {
  for (uint64_t seed = 1; seed <= 6; ++seed)
    expect_same_for_all_threads(RandomFile(seed).text(1200, seed % 3 == 0), base::format("seed {}", seed));
}

TEST(ChromeThreadsTest, DamagedFilesAreTheSameForAllThreads) {
  std::mt19937_64 random(5);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::string text = RandomFile(seed).text(800, false);
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = "\"{}[],\\x"[random() % 8];
    if (seed % 2 == 0) text.resize(text.size() - random() % (text.size() / 2));
    // What a bad event takes with it depends on the size of the pieces, but not on the threads.
    const Shown expected = read_with(text, 1, 4096);
    for (const unsigned threads : {2u, 5u})
      expect_equal(read_with(text, threads, 4096), expected, base::format("seed {}: {} threads", seed, threads));
  }
}

// The piece that says what a row is may not be parsed yet when the next one is.
TEST(ChromeThreadsTest, TheFirstEventOfAStreamSaysItsNumberForAll) {
  std::string text = "[";
  for (int i = 0; i < 3000; ++i)
    text += base::format(
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":1,"args":{{"device":0,"stream":{}}}}},)",
        i * 2, i == 0 ? 3 : i % 5);
  text += "]";
  expect_same_for_all_threads(text, "streams");
  EXPECT_EQ(read_with(text, 4, 1024).lines[1], "/ range k [kernel] 2000+1000 d0 {stream=1}");
}

TEST(ChromeThreadsTest, WithoutValuesRangesHaveTheSameNamesAndTimes) {
  const std::string text = RandomFile(3).text(2000, false);
  const auto ranges = [&](bool range_values) {
    const Shown shown([&](TraceBuilder& builder) {
      ByteSource source = ByteSource::of_memory(text);
      return read_chrome_with(source, builder, {.threads = 2, .piece_bytes = 4096, .range_values = range_values});
    });
    std::vector<std::string> lines;
    for (const std::string& line : shown.lines)
      if (line.find(" range ") != line.npos) lines.push_back(line.substr(0, line.find(" {")));
    EXPECT_GT(lines.size(), 100u);
    return lines;
  };
  EXPECT_EQ(ranges(false), ranges(true));
}

}  // namespace
}  // namespace kymo::import
