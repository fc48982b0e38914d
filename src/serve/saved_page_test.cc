#include "serve/saved_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::open_view;
using testing::TemporaryFolder;
using testing::TestRecorder;

TEST(SavedPageTest, IsOneFileThatAsksForNothing) {
  const TemporaryFolder folder;
  testing::write_random_trace(folder / "run.kymo", 1, 500);
  const std::string page = saved_page(*open_view(folder / "run.kymo"), {});
  EXPECT_EQ(page.find("src="), page.npos);
  EXPECT_EQ(page.find("rel=\"stylesheet\""), page.npos);
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  EXPECT_NE(page.find("id=\"kymo-data\">H4sI"), page.npos);
}

TEST(SavedPageTest, NamesWithMarkupStayInsideTheData) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "run.kymo");
    recorder.add_class(1, "</script><script>alert(1)</script>");
    recorder.add_thread(1, 1, "<img src=x onerror=alert(1)>");
    recorder.complete(1, 10, 20, 1);
    recorder.close();
  }
  const std::string page = saved_page(*open_view(folder / "run.kymo"), {});
  EXPECT_EQ(page.find("alert(1)"), page.npos);
}

TEST(SavedPageTest, ATraceThatIsTooLargeNamesTheRemedy) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "large.kymo");
    recorder.add_class(1, "work");
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i <= kMaxSavedEvents; ++i) recorder.complete(1, 10 * i, 10 * i + 5, 1);
    recorder.close();
  }
  try {
    saved_page(*open_view(folder / "large.kymo"), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kymo cut"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1000001"), std::string::npos);
  }
}

// The script of the page must give the same tiles as the server. It needs node, which developers of the page have.
TEST(SavedPageTest, ItsScriptMakesTheTilesOfTheServer) {
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
  const TemporaryFolder folder;
  testing::write_random_trace(folder / "run.kymo", 8, 1500);
  ViewLimits limits;
  limits.budget = std::chrono::minutes(10);
  const auto opened = open_view(folder / "run.kymo", limits);
  View& view = *opened;
  const std::string page = saved_page(view, {});
  const auto part = [&](const std::string& begin, const std::string& end) {
    const size_t from = page.find(begin) + begin.size();
    return page.substr(from, page.find(end, from) - from);
  };
  std::ofstream(folder / "data.txt") << part("id=\"kymo-data\">", "</script>");
  std::ofstream(folder / "saved.js") << part("</script>\n<script>\n", "</script>\n<script>");
  std::vector<std::string> queries;
  for (const char* level : {"0", "8", "14", "20", "26", "40"})
    queries.push_back(std::string("w=") + level + "&from=0&to=3&tracks=0,1,2,3,4,5");
  std::ofstream script(folder / "run.js");
  script
      << "const fs = require('fs'); globalThis.window = globalThis;\n"
         "globalThis.document = { getElementById: () => ({ textContent: fs.readFileSync(process.argv[2] + '/data.txt', "
         "'utf8') }) };\n"
         "require(process.argv[2] + '/saved.js');\n(async () => { let i = 0;\nfor (const query of [";
  for (const std::string& query : queries) script << "'" << query << "',";
  script << "]) fs.writeFileSync(`${process.argv[2]}/out${i++}`, Buffer.from(await (await window.fetch('api/tiles?' + "
            "query)).arrayBuffer())); })();\n";
  script.close();
  const std::string place = folder / "";
  ASSERT_EQ(std::system(("node " + (folder / "run.js") + " " + place.substr(0, place.size() - 1)).c_str()), 0);
  for (size_t i = 0; i < queries.size(); ++i) {
    std::ifstream file(folder / ("out" + std::to_string(i)), std::ios::binary);
    std::string made{std::istreambuf_iterator<char>(file), {}};
    std::string expected = tiles_bytes(view, Query::parse(queries[i]));
    ASSERT_EQ(made.size(), expected.size()) << queries[i];
    // Of a run, several ranges may be the longest: the name, chunk and index may differ. Times and counts may not.
    uint32_t tiles = 0;
    memcpy(&tiles, expected.data() + 4, 4);
    size_t at = 16;
    for (uint32_t k = 0; k < tiles; ++k) {
      uint32_t counts[4];
      memcpy(counts, expected.data() + at, sizeof counts);
      EXPECT_EQ(made.substr(at, 32 + 16 * counts[1]), expected.substr(at, 32 + 16 * counts[1])) << queries[i];
      const size_t count_column = at + 32 + 20 * counts[1];
      EXPECT_EQ(made.substr(count_column, 4 * counts[1]), expected.substr(count_column, 4 * counts[1])) << queries[i];
      const auto padded = [](size_t bytes) { return (bytes + 7) / 8 * 8; };
      at += 32 + padded(40 * counts[1]) + padded(28 * counts[2]) + 32 * counts[3];
    }
    EXPECT_EQ(at, expected.size());
  }
}

}  // namespace
}  // namespace kymo::serve
