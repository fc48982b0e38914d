#include "base/printable.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(PrintableTest, PlainTextAndUnicodeAreUnchanged) {
  EXPECT_EQ(printable("matmul [3, 4]"), "matmul [3, 4]");
  EXPECT_EQ(printable("größe → 測定 🙂"), "größe → 測定 🙂");
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_EQ(printable("two\nlines\tand\r"), "two\\nlines\\tand\\r");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("a\xE2\x80\xAEtxt"), "a\\xe2\\x80\\xaetxt");
}

TEST(PrintableTest, InvalidUtf8IsShownAsBytes) {
  EXPECT_EQ(printable("a\xFFz"), "a\\xffz");
  EXPECT_EQ(printable("cut \xE6\xB8"), "cut \\xe6\\xb8");
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(PrintableTest, WidthCountsCodePoints) {
  EXPECT_EQ(display_width("µs"), 2u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(PrintableTest, ShorteningCutsBetweenCodePointsAndMarksTheCut) {
  EXPECT_EQ(shorten("forward", 7), "forward");
  EXPECT_EQ(shorten("forward", 4), "for…");
  EXPECT_EQ(shorten("größer", 4), "grö…");
  EXPECT_EQ(shorten("ab", 1), "…");
  EXPECT_EQ(shorten("ab", 0), "");
}

TEST(PrintableTest, ShorteningInTheMiddleKeepsBothEnds) {
  EXPECT_EQ(shorten_middle("forward", 7), "forward");
  EXPECT_EQ(shorten_middle("forward", 6), "for…rd");
  EXPECT_EQ(shorten_middle("größer als", 6, "*"), "grö*ls");
  EXPECT_EQ(shorten_middle("abc", 2), "a…");
  EXPECT_EQ(shorten_middle("abc", 1), "…");
  EXPECT_EQ(shorten_middle("abc", 0), "");
}

using namespace std::string_view_literals;

TEST(Utf8Test, ValidTextIsNotCopied) {
  std::string buffer;
  const std::string_view text = "däta \U0001F600";
  EXPECT_EQ(valid_utf8(text, buffer).data(), text.data());
}

TEST(Utf8Test, ReadableTextHasNoInvalidBytesAndNoZeros) {
  EXPECT_EQ(readable_text("däta"), "däta");
  EXPECT_EQ(readable_text("a\0b"sv), "a\uFFFDb");
  EXPECT_EQ(readable_text("a\xFF"sv), "a\uFFFD");
  EXPECT_EQ(readable_text(""), "");
}

TEST(ShellWordTest, OnlyWhatNeedsQuotesHasThem) {
  EXPECT_EQ(shell_word("run.kymo"), "run.kymo");
  EXPECT_EQ(shell_word("/tmp/a-b_c:1.json.gz"), "/tmp/a-b_c:1.json.gz");
  EXPECT_EQ(shell_word("my run.kymo"), "'my run.kymo'");
  EXPECT_EQ(shell_word("step*"), "'step*'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace kymo::base
