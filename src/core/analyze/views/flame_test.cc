#include "analyze/views/flame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/test_tree.h"
#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::views {
namespace {

// main: outer (10 ns, of which inner has 4); a queue: work (30 ns).
Paths small_paths() {
  Paths paths;
  paths.frames = {{"all", FrameKind::All, 0, 0, 40, 0},           {"GPU 0", FrameKind::Process, 1, 0, 30, 0},
                  {"queue 0", FrameKind::Track, 2, 0, 30, 0},     {"work", FrameKind::Work, 3, 1, 30, 30},
                  {"train (7)", FrameKind::Process, 1, 0, 10, 0}, {"main", FrameKind::Track, 2, 0, 10, 0},
                  {"outer", FrameKind::Range, 3, 1, 10, 6},       {"inner", FrameKind::Range, 4, 2, 4, 4}};
  return paths;
}

Paths paths_named(std::string_view name) {
  Paths paths = small_paths();
  for (PathFrame& frame : paths.frames) frame.name = name;
  return paths;
}

std::string text_of(const Paths& paths, FlameFormat format, const std::string& title = "run.kymo") {
  convert::StringStream out;
  write_flame(paths, format, title, out);
  return out.text();
}

using namespace std::string_literals;
const std::string kWildName = "a;b\nc\x1b[2J <&>\"' ]]> \xff\xfe \xEF\xBF\xBF \0 z"s;

TEST(FlameTest, ExtensionSelectsTheFormat) {
  EXPECT_EQ(flame_format_of("x.svg"), FlameFormat::Svg);
  EXPECT_EQ(flame_format_of("a/x.folded"), FlameFormat::Folded);
  EXPECT_EQ(flame_format_of("x.speedscope.json"), FlameFormat::Speedscope);
  EXPECT_THROW(flame_format_of("x.json"), InvalidArgument);
  EXPECT_THROW(flame_format_of("x"), InvalidArgument);
}

TEST(FlameTest, FoldedHasALineForEachPathWithSelfTime) {
  EXPECT_EQ(text_of(small_paths(), FlameFormat::Folded),
            "GPU 0;queue 0;work 30\ntrain (7);main;outer 6\ntrain (7);main;outer;inner 4\n");
}

// outer became shorter, inner longer; GPU 0 is new, and "gone" is not there any more.
Paths compared_paths() {
  Paths before;
  before.frames = {{"all", FrameKind::All, 0, 0, 30, 0},           {"gone", FrameKind::Process, 1, 0, 5, 5},
                   {"train (7)", FrameKind::Process, 1, 0, 25, 0}, {"main", FrameKind::Track, 2, 0, 25, 0},
                   {"outer", FrameKind::Range, 3, 1, 25, 22},      {"inner", FrameKind::Range, 4, 2, 3, 3}};
  return compare_paths(before, small_paths());
}

TEST(FlameTest, ComparedPathsHaveTheTimesBeforeAndAfter) {
  EXPECT_EQ(text_of(compared_paths(), FlameFormat::Folded),
            "GPU 0;queue 0;work 0 30\ngone 5 0\ntrain (7);main;outer 22 6\ntrain (7);main;outer;inner 3 4\n");
  EXPECT_THROW(text_of(compared_paths(), FlameFormat::Speedscope), InvalidArgument);
}

TEST(FlameTest, ComparedFramesHaveTheColourOfTheirChange) {
  const std::string text = text_of(compared_paths(), FlameFormat::Svg);
  const auto colour_of = [&](const std::string& name) {
    const size_t at = text.find("fill=\"#", text.find("<title>" + name + ":"));
    return at == text.npos ? std::string() : text.substr(at + 6, 7);
  };
  EXPECT_EQ(colour_of("work"), "#f03c3c");  // the largest change
  EXPECT_EQ(colour_of("outer").substr(5), "f0");
  EXPECT_EQ(colour_of("inner").substr(0, 3), "#f0");
  EXPECT_EQ(colour_of("main"), "#e6e6ea");
  EXPECT_EQ(colour_of("gone"), "");
  EXPECT_NE(text.find("outer: 10 ns (25.00 %), before 25 ns, -15 ns; self 6 ns, before 22 ns, -16 ns"), text.npos);
}

TEST(FlameTest, FoldedNamesNeverSplitALine) {
  const std::string text = text_of(paths_named("a;b\nc"), FlameFormat::Folded);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.substr(0, text.find('\n')), "a\\x3bb\\nc;a\\x3bb\\nc;a\\x3bb\\nc 30");
}

TEST(FlameTest, SpeedscopeHasAProfileForEachTrack) {
  const std::string text = text_of(small_paths(), FlameFormat::Speedscope);
  EXPECT_NE(text.find(R"("frames":[
{"name":"work"},
{"name":"outer"},
{"name":"inner"}
])"),
            std::string::npos);
  EXPECT_NE(
      text.find(
          R"({"type":"sampled","name":"GPU 0, queue 0","unit":"nanoseconds","startValue":0,"endValue":30,"samples":[
[0]
],"weights":[
30
]})"),
      std::string::npos);
  EXPECT_NE(
      text.find(
          R"({"type":"sampled","name":"train (7), main","unit":"nanoseconds","startValue":0,"endValue":10,"samples":[
[1],
[1,2]
],"weights":[
6,
4
]})"),
      std::string::npos);
}

TEST(FlameTest, SvgPlacesChildrenBelowTheirParent) {
  const std::string text = text_of(small_paths(), FlameFormat::Svg);
  // 1180 pixels for 40 ns: the queue has the first 885, and outer begins after it.
  EXPECT_NE(
      text.find(R"(<title>work: 30 ns (75.00 %), self 30 ns, 1 range</title><rect x="10.00" y="106" width="885.00")"),
      std::string::npos);
  EXPECT_NE(
      text.find(R"(<title>outer: 10 ns (25.00 %), self 6 ns, 1 range</title><rect x="895.00" y="106" width="295.00")"),
      std::string::npos);
  EXPECT_NE(
      text.find(R"(<title>inner: 4 ns (10.00 %), self 4 ns, 2 ranges</title><rect x="895.00" y="124" width="118.00")"),
      std::string::npos);
  EXPECT_EQ(text, text_of(small_paths(), FlameFormat::Svg));
}

TEST(FlameTest, SvgColourDependsOnlyOnNameAndKind) {
  Paths paths = small_paths();
  paths.frames[7].name = "outer";
  const std::string text = text_of(paths, FlameFormat::Svg);
  const auto colour_after = [&](size_t from) { return text.substr(text.find("fill=\"#", from) + 6, 7); };
  const size_t first = text.find("<title>outer"), second = text.find("<title>outer", first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(colour_after(first), colour_after(second));
  EXPECT_NE(colour_after(first), colour_after(text.find("<title>work")));
}

// A reader of the part of XML that the pictures use: tags that match, known entities, and only characters of XML.
bool is_well_formed(std::string_view text) {
  std::vector<std::string> open;
  text.remove_prefix(text.find("?>") + 2);
  while (!text.empty()) {
    if (text.starts_with("<![CDATA[")) {
      const size_t end = text.find("]]>");
      if (end == text.npos) return false;
      text.remove_prefix(end + 3);
    } else if (text[0] == '<') {
      const size_t end = text.find('>');
      if (end == text.npos) return false;
      const std::string tag(text.substr(1, end - 1));
      if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != tag.npos) return false;
      if (tag[0] == '/') {
        if (open.empty() || open.back() != tag.substr(1)) return false;
        open.pop_back();
      } else if (tag.back() != '/') {
        open.push_back(tag.substr(0, tag.find(' ')));
      }
      text.remove_prefix(end + 1);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      if (byte < 0x20 && byte != '\n') return false;
      if (text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") || byte == 0xFF || byte == 0xFE)
        return false;
      if (byte == '&' && !text.starts_with("&amp;") && !text.starts_with("&lt;") && !text.starts_with("&gt;") &&
          !text.starts_with("&quot;") && !text.starts_with("&#39;"))
        return false;
      if (text.starts_with("]]>")) return false;
      text.remove_prefix(1);
    }
  }
  return open.empty();
}

TEST(FlameTest, SvgIsValidForAnyName) {
  EXPECT_TRUE(is_well_formed(text_of(small_paths(), FlameFormat::Svg)));
  const std::string text = text_of(paths_named(kWildName), FlameFormat::Svg, kWildName);
  EXPECT_TRUE(is_well_formed(text)) << text;
}

TEST(FlameTest, ScriptOfTheSvgEnlargesAndSearches) {
  if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no node here";
  const trace::testing::TemporaryFolder folder;
  std::ofstream(folder / "x.svg") << text_of(small_paths(), FlameFormat::Svg);
  const std::string command = "node " + base::in_tree("src/core/analyze/views/test_flame.js") + " " +
                              (folder / "x.svg") + " >" + (folder / "said");
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream said(folder / "said");
  const std::string queue = "GPU 0 10 885, queue 0 10 885, work 10 885, ";
  const std::string start = "all 10 1180, " + queue + "train (7) 895 295, main 895 295, outer 895 295, inner 895 118";
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}),
            "start: " + start +
                "\nouter enlarged: all 10 1180 around, train (7) 10 1180 around, main 10 1180 around, outer 10 1180, "
                "inner 10 472\nall: " +
                start + "\nsearch: " + start +
                " found\n1 frame contains 'INN'. Press / to search again.\n"
                "inner: 4 ns (10.00 %), self 4 ns, 2 ranges\nescape: " +
                start + "\n");
}

TEST(FlameTest, NarrowFramesAreCountedNotDrawn) {
  Paths paths = small_paths();
  paths.frames[0].total_ns = 30'000'010;
  paths.frames[1].total_ns = paths.frames[2].total_ns = paths.frames[3].total_ns = 30'000'000;
  const std::string text = text_of(paths, FlameFormat::Svg);
  EXPECT_EQ(text.find("outer"), std::string::npos);
  EXPECT_NE(text.find("4 frames are too narrow to be drawn"), std::string::npos);
}

TEST(FlameTest, TraceWithoutRangesIsAValidFile) {
  Paths paths;
  paths.frames = {{"all", FrameKind::All, 0, 0, 0, 0}};
  EXPECT_EQ(text_of(paths, FlameFormat::Folded), "");
  EXPECT_TRUE(is_well_formed(text_of(paths, FlameFormat::Svg)));
  EXPECT_NE(text_of(paths, FlameFormat::Speedscope).find(R"("shared":{"frames":[]},"profiles":[]})"),
            std::string::npos);
}

}  // namespace
}  // namespace kymo::views
