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

}  // namespace
}  // namespace kymo::base
