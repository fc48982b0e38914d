#include "sample/python_functions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "sample/preload/packets.h"
#include "sample/preload/python.h"

namespace kymo::sample {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// The tables are those that CPython made for
//   def f(n):        # line 10
//     x = 0          # line 11
//     (two empty lines)
//     return x + n   # line 14
TEST(PythonLineTest, Python39CountsDistances) {
  const auto table = bytes_of({0, 1, 4, 3});
  EXPECT_EQ(python_line(9, table, 10, 0), 11u);
  EXPECT_EQ(python_line(9, table, 10, 3), 11u);
  EXPECT_EQ(python_line(9, table, 10, 4), 14u);
  EXPECT_EQ(python_line(9, table, 10, -1), 10u);  // not started
}

TEST(PythonLineTest, Python39LinesGoBack) { EXPECT_EQ(python_line(9, bytes_of({0, 5, 4, 256 - 3}), 10, 6), 12u); }

TEST(PythonLineTest, Python310HasRangesAndInstructionsWithoutLine) {
  const auto table = bytes_of({4, 1, 2, 128, 8, 3});
  EXPECT_EQ(python_line(10, table, 10, 0), 11u);
  EXPECT_EQ(python_line(10, table, 10, 4), 11u);  // without its own line: the one before
  EXPECT_EQ(python_line(10, table, 10, 6), 14u);
}

TEST(PythonLineTest, Python311HasLocations) {
  // One instruction of the definition (no columns), two with short columns, one in the next line, three far behind, and
  // a loop back by the long form.
  const auto table = bytes_of({0x80 | 13 << 3, 0, 0x80 | 1, 0x22, 0x80 | 11 << 3, 1, 2, 0x80 | 14 << 3 | 2, 0x40 | 40,
                               3, 0, 1, 2, 0x80 | 14 << 3, 9, 0, 1, 2, 0x80 | 15 << 3});
  EXPECT_EQ(python_line(11, table, 10, 0), 10u);
  EXPECT_EQ(python_line(11, table, 10, 2), 10u);
  EXPECT_EQ(python_line(11, table, 10, 6), 11u);
  EXPECT_EQ(python_line(11, table, 10, 8), 11u + (40 + (3 << 6)) / 2);
  EXPECT_EQ(python_line(11, table, 10, 14), 11u + (40 + (3 << 6)) / 2 - 4);
}

TEST(PythonLineTest, AnyBytesGiveSomeLineAndReadNothingElse) {
  uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> table(random >> 40 & 31);
    for (std::byte& one : table) one = static_cast<std::byte>((random = random * 6364136223846793005u + 1) >> 56);
    for (const unsigned minor : {9u, 10u, 11u, 13u}) python_line(minor, table, 3, static_cast<int64_t>(random >> 58));
    random += table.size();
  }
}

TEST(PythonTextTest, WidthsBecomeUtf8) {
  EXPECT_EQ(python_text(bytes_of({'a', 0xe9}), 1), "a\u00e9");
  EXPECT_EQ(python_text(bytes_of({0x42, 0x04, 0x00, 0xd8}), 2), "\u0442\ufffd");  // a surrogate is no character
  EXPECT_EQ(python_text(bytes_of({0x80, 0xf6, 0x01, 0x00}), 4), "\U0001f680");
  EXPECT_EQ(python_text(bytes_of({'a', 'b', 'c'}), 2).size(), 3u);  // half a character is left out
}

std::vector<std::byte> definition(uint64_t identity, const std::string& name, const std::string& file,
                                  const std::vector<std::byte>& lines, uint32_t begin, uint32_t all) {
  const kymo_python_definition head{
      identity, 9,   10,    static_cast<uint32_t>(name.size()),  1, static_cast<uint32_t>(file.size()),
      1,        all, begin, static_cast<uint32_t>(lines.size()), 0};
  std::vector<std::byte> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  for (const char one : name + file) bytes.push_back(static_cast<std::byte>(one));
  bytes.insert(bytes.end(), lines.begin(), lines.end());
  return bytes;
}

class PythonFunctionsTest : public ::testing::Test {
 protected:
  std::string names(const std::vector<uint64_t>& natives, const std::vector<uint64_t>& ends,
                    const PythonStack& python) {
    std::string text;
    for (const uint64_t address : functions_.put_into(natives, ends, python, root_is_known_)) {
      text += text.empty() ? "" : " ";
      if (!PythonFunctions::is_python(address)) {
        text += std::to_string(address);
        continue;
      }
      const PythonFunctions::Place& place = functions_.at(address);
      text += place.function + ":" + std::to_string(place.line);
    }
    return text;
  }
  void know(uint64_t identity, const std::string& name) {
    functions_.add_code(definition(identity, name, "a.py", {}, 0, 0));
  }

  PythonFunctions functions_;
  bool root_is_known_ = false;
};

TEST_F(PythonFunctionsTest, FunctionsReplaceTheNativeOneThatHasTheirMark) {
  know(1, "inner"), know(2, "middle"), know(3, "outer");
  const PythonStack python{0, 0, false, {{1, 0}, {2, 0}, {0, 250}, {3, 0}, {0, 450}}};
  // The frames of the natives end at 100, 200, …
  EXPECT_EQ(names({11, 12, 13, 14, 15, 16}, {100, 200, 300, 400, 500, 600}, python),
            "11 12 inner:10 middle:10 14 outer:10 16");
  EXPECT_FALSE(root_is_known_);
}

TEST_F(PythonFunctionsTest, WithoutMarksEachFunctionReplacesOneCallOfTheInterpreter) {
  know(1, "inner"), know(3, "outer");
  const PythonStack python{1000, 1100, false, {{1, 0}, {0, 0}, {3, 0}, {0, 0}}};
  EXPECT_EQ(names({11, 1050, 12, 1051, 13}, {}, python), "11 inner:10 12 outer:10 13");
}

TEST_F(PythonFunctionsTest, AStackThatIsLongerThanItsCopyIsCompletedByPython) {
  know(1, "inner"), know(3, "outer");
  const PythonStack python{0, 0, false, {{1, 0}, {0, 150}, {3, 0}, {0, 900}}};
  EXPECT_EQ(names({11, 12}, {100, 200}, python), "11 inner:10 outer:10");
  EXPECT_TRUE(root_is_known_);
}

TEST_F(PythonFunctionsTest, TheInnermostFunctionsOfADeepRecursionAreThere) {
  know(1, "inner"), know(3, "again");
  const PythonStack python{1000, 1100, true, {{1, 0}, {0, 150}, {3, 0}, {3, 0}}};
  EXPECT_EQ(names({11, 1050, 12, 1051, 13}, {100, 200, 300, 400, 500}, python), "11 inner:10 12 again:10 again:10 13");
}

TEST_F(PythonFunctionsTest, ALongTableArrivesInParts) {
  functions_.add_code(definition(1, "f", "a.py", bytes_of({0, 1, 4, 3}), 0, 6));
  functions_.add_code(definition(1, "f", "a.py", bytes_of({4, 7}), 4, 6));
  functions_.add_code(definition(1, "f", "a.py", bytes_of({4, 9}), 4, 6));  // again: it has it already
  EXPECT_EQ(names({}, {}, {0, 0, false, {{1, 8}, {0, 1}}}), "f:21");
}

TEST_F(PythonFunctionsTest, DamagedDefinitionsAndStacksAddNothing) {
  std::vector<std::byte> whole = definition(1, "name", "a.py", bytes_of({0, 1}), 0, 2);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) functions_.add_code(base::Bytes(whole).first(bytes));
  EXPECT_EQ(names({}, {}, {0, 0, false, {{1, 0}, {0, 1}}}), "(a Python function that could not be read):0");
  kymo_python_begin begin{0, 0, 100, 0};
  std::vector<std::byte> frames(sizeof begin + 32);
  std::memcpy(frames.data(), &begin, sizeof begin);
  EXPECT_FALSE(PythonFunctions::read_stack(frames));
  EXPECT_FALSE(PythonFunctions::read_stack(base::Bytes(frames).first(7)));
}

// A process as words at addresses.
using Memory = std::map<uintptr_t, uint64_t>;
bool load(void* memory, uintptr_t from, uint64_t* into) {
  const auto& words = *static_cast<const Memory*>(memory);
  const auto found = words.find(from);
  if (found == words.end()) return false;
  *into = found->second;
  return true;
}

TEST(PythonReaderTest, UnknownVersionsAreNotGuessed) {
  Memory words;
  kymo_python found{};
  for (const char* const version : {"2.7.18", "3.8.18 (default)", "3.14.0", "3.12.0a1", "3.13.0", "3", "", "3.11"})
    EXPECT_FALSE(kymo_find_python(version, 4096, 0, {load, &words}, &found)) << version;
  EXPECT_TRUE(kymo_find_python("3.11.2 (main)", 4096, 0, {load, &words}, &found));
}

TEST(PythonReaderTest, FramesThatPointToThemselvesEnd) {
  Memory words;
  kymo_python python{};
  ASSERT_TRUE(kymo_find_python("3.10.0", 4096, 0, {load, &words}, &python));
  words[4096 + python.at.interpreters] = 8192;
  words[8192 + python.at.threads] = 16384;
  words[16384 + python.at.thread_next] = 16384;  // and a list of threads without an end
  words[16384 + python.at.thread_id] = 7;
  words[16384 + python.at.current] = 32768;
  words[32768 + python.at.code] = 65536;
  words[32768 + python.at.previous] = 32768;
  const kymo_memory memory{load, &words};
  EXPECT_EQ(kymo_python_thread(&python, memory, 0, 8, 0), 0u);
  ASSERT_EQ(kymo_python_thread(&python, memory, 0, 7, 0), 16384u);
  kymo_python_frame frames[64];
  bool is_cut = false;
  EXPECT_EQ(kymo_python_frames(&python, memory, 16384, frames, 64, &is_cut), 64u);
  EXPECT_TRUE(is_cut);
}

}  // namespace
}  // namespace kymo::sample
