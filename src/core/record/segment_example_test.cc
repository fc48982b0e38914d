// The example in docs/segment.md is what a thread writes, and the page names the version of the code.
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/test_tree.h"
#include "kymo/annotate.h"
#include "record/process.h"
#include "record/slots.h"

namespace kymo::record {
namespace {

std::string page() {
  std::ifstream file(base::in_tree("docs/segment.md"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// "0x13 | 1<<8", "epoch 1", "\"app\"", "3".
uint64_t value_of(std::string text) {
  if (const size_t quote = text.find('"'); quote != std::string::npos) {
    const std::string letters = text.substr(quote + 1, text.rfind('"') - quote - 1);
    uint64_t word = 0;
    std::memcpy(&word, letters.data(), letters.size());
    return word;
  }
  uint64_t value = 0;
  const std::regex term("(0x[0-9a-f]+|[0-9]+)(?:<<([0-9]+))?");
  for (std::sregex_iterator at(text.begin(), text.end(), term), end; at != end; ++at)
    value |= std::stoull((*at)[1], nullptr, 0) << ((*at)[2].matched ? std::stoul((*at)[2]) : 0);
  return value;
}

TEST(SegmentExampleTest, ThePageNamesTheVersion) {
  std::smatch version;
  const std::string text = page();
  ASSERT_TRUE(std::regex_search(text, version, std::regex("version ([0-9]+)")));
  EXPECT_EQ(std::stoul(version[1]), kSegmentVersion);
}

TEST(SegmentExampleTest, AThreadWritesTheCellsOfTheExample) {
  char pattern[] = "/tmp/kymo-example-test-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  setenv("KYMO_SHM_DIR", folder.c_str(), 1);
  Process& shared = *process();
  shared.options = {};
  const Outcome made = ensure_segment(shared);
  ASSERT_TRUE(made) << made.why();
  start_recording(shared);
  std::vector<std::array<uint64_t, 2>> cells;
  uint32_t tid = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "app");
    { KYMO_RANGE("load"); }
    const Slot& slot = *find_slot();
    for (uint64_t i = 0; i < slot.head.load(); ++i) cells.push_back({slot.cells[i].time, slot.cells[i].word});
    tid = slot.tid.load();
  }).join();
  stop_recording(shared);
  shared.segment = nullptr;
  unmap_segment(shared.mapping);
  unsetenv("KYMO_SHM_DIR");
  std::filesystem::remove_all(folder);

  const std::string text = page();
  const std::string example = text.substr(text.rfind("## Example"));
  std::smatch head;
  ASSERT_TRUE(std::regex_search(example, head, std::regex("head = ([0-9]+)")));
  ASSERT_EQ(cells.size(), std::stoul(head[1]));
  const std::regex cell("cell ([0-9]+) +\\{([^,}]*), ([^}]*)\\}");
  size_t compared = 0;
  for (std::sregex_iterator at(example.begin(), example.end(), cell), end; at != end; ++at, ++compared) {
    const size_t place = std::stoul((*at)[1]);
    ASSERT_LT(place, cells.size());
    const auto& words = cells[place];
    EXPECT_EQ(words[1], value_of((*at)[3])) << "cell " << place;
    const uint64_t first = value_of((*at)[2]);
    const bool is_time = first >= 1000;
    if (!is_time) {
      EXPECT_EQ(words[0], first == 77 ? tid : first) << "cell " << place;
    }
  }
  EXPECT_EQ(compared, 8u);
  for (size_t place = 6; place <= 8; ++place) EXPECT_EQ(cells[place][0] | cells[place][1], 0u) << "cell " << place;
}

}  // namespace
}  // namespace kymo::record
