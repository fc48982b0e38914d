#include "sample/python_functions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "python_code/frames.h"
#include "sample/preload/packets.h"

namespace kymo::sample {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
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
