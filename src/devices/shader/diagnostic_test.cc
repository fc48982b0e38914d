#include "shader/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::shader {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string diagnostic_rendered(std::string_view text, const Location& at, std::string message = "wrong") {
  SourceFiles files;
  files.add("shader", text);
  Diagnostics diagnostics(files);
  diagnostics.error(at, std::move(message));
  return diagnostics.render();
}

TEST(SourceFilesTest, LinesHaveNoLineEnd) {
  SourceFiles files;
  const uint32_t file = files.add("a", "one\ntwo\r\n\nlast");
  EXPECT_EQ(files.line({file, 1, 1}), "one");
  EXPECT_EQ(files.line({file, 2, 1}), "two");
  EXPECT_EQ(files.line({file, 3, 1}), "");
  EXPECT_EQ(files.line({file, 4, 1}), "last");
}

TEST(SourceFilesTest, AMissingLineIsEmpty) {
  SourceFiles files;
  const uint32_t file = files.add("a", "one\n");
  EXPECT_EQ(files.line({file, 0, 0}), "");
  EXPECT_EQ(files.line({file, 2, 1}), "");
  EXPECT_EQ(files.line({file, 3, 1}), "");
  EXPECT_EQ(files.line({file + 1, 1, 1}), "");
}

TEST(SourceFilesTest, TextsDoNotMoveWhenFilesAreAdded) {
  SourceFiles files;
  const std::string_view first = files.text(files.add("a", "ab"));
  for (int i = 0; i < 100; ++i) files.add("b", "cd");
  EXPECT_EQ(files.text(0).data(), first.data());
  EXPECT_EQ(first, "ab");
}

TEST(DiagnosticsTest, ShowsTheLineAndMarksTheColumn) {
  EXPECT_EQ(diagnostic_rendered("kernel\n  out[i] = foo;\n", {0, 2, 12}, "there is no name \"foo\" here"),
            "shader:2:12: error: there is no name \"foo\" here\n"
            "    out[i] = foo;\n"
            "             ^\n");
}

TEST(DiagnosticsTest, TabsAndOddBytesTakeOneColumn) {
  EXPECT_EQ(diagnostic_rendered("\ta\xc3\xa4 = \x01;", {0, 1, 8}),
            "shader:1:8: error: wrong\n"
            "   a?? = ?;\n"
            "         ^\n");
}

TEST(DiagnosticsTest, LongLinesAreCutAroundTheMark) {
  std::string line(1000, '.');
  line[500] = 'X';
  const std::string text = diagnostic_rendered(line, {0, 1, 501});
  const std::string dots(80, '.');
  EXPECT_EQ(text, "shader:1:501: error: wrong\n  ..." + dots + "X" + std::string(79, '.') + "...\n     " +
                      std::string(80, ' ') + "^\n");
  EXPECT_THAT(diagnostic_rendered(line, {0, 1, 1}), EndsWith("\n  " + std::string(160, '.') + "...\n  ^\n"));
  EXPECT_THAT(diagnostic_rendered(line, {0, 1, 1000}), EndsWith("\n     " + std::string(159, ' ') + "^\n"));
}

TEST(DiagnosticsTest, AColumnAfterTheLineIsMarkedAtItsEnd) {
  EXPECT_THAT(diagnostic_rendered("ab", {0, 1, 4'000'000'000u}), EndsWith("  ab\n    ^\n"));
}

TEST(DiagnosticsTest, AnErrorWithoutAPositionHasNoLine) {
  EXPECT_EQ(diagnostic_rendered("ab", {}), "error: wrong\n");
  EXPECT_EQ(diagnostic_rendered("ab", {7, 1, 1}), "error: wrong\n");
}

TEST(DiagnosticsTest, TextsAreOnePrintableLine) {
  const std::string text = diagnostic_rendered("", {}, "a\nb\x80" + std::string(5000, 'c'));
  EXPECT_THAT(text, HasSubstr("error: a?b?ccc"));
  EXPECT_THAT(text, EndsWith("ccc...\n"));
  EXPECT_LT(text.size(), 1100u);
}

TEST(DiagnosticsTest, ErrorsBeyondTheLimitAreCounted) {
  SourceFiles files;
  Diagnostics diagnostics(files);
  for (int i = 0; i < 19; ++i) diagnostics.error({}, "e");
  EXPECT_FALSE(diagnostics.is_full());
  diagnostics.error({}, "e");
  EXPECT_TRUE(diagnostics.is_full());
  EXPECT_THAT(diagnostics.render(), Not(HasSubstr("more")));
  diagnostics.error({}, "beyond");
  EXPECT_THAT(diagnostics.render(), EndsWith("e\n1 more error is not shown\n"));
  diagnostics.error({}, "beyond");
  diagnostics.note({}, "beyond");
  EXPECT_THAT(diagnostics.render(), EndsWith("e\n2 more errors are not shown\n"));
  EXPECT_THAT(diagnostics.list(), SizeIs(20));
}

TEST(DiagnosticsTest, WarningsAndNotesAreNotErrors) {
  SourceFiles files;
  files.add("a", "x");
  Diagnostics diagnostics(files);
  diagnostics.warning({0, 1, 1}, "odd");
  diagnostics.note({0, 1, 1}, "here");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.render(), "a:1:1: warning: odd\n  x\n  ^\na:1:1: note: here\n  x\n  ^\n");
}

TEST(DiagnosticsTest, PositionsFollowLineDirectives) {
  SourceFiles files;
  files.add("a", "x\n#line 100 \"b\"\ny\nz");
  files.renumber(0, 2, 100, "b");
  Diagnostics diagnostics(files);
  for (const uint32_t line : {1u, 3u, 4u}) diagnostics.error({0, line, 1}, "odd");
  EXPECT_EQ(diagnostics.render(),
            "a:1:1: error: odd\n  x\n  ^\nb:100:1: error: odd\n  y\n  ^\nb:101:1: error: odd\n  z\n  ^\n");
}

TEST(DiagnosticsTest, WarningsHaveALimitToo) {
  SourceFiles files;
  Diagnostics diagnostics(files);
  for (int i = 0; i < 1000; ++i) diagnostics.warning({}, "w");
  diagnostics.error({}, "e");
  EXPECT_THAT(diagnostics.list(), SizeIs(101));
  EXPECT_EQ(diagnostics.list().back().text, "e");
}

}  // namespace
}  // namespace kymo::shader
