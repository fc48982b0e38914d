#include "shader/preprocess/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace kymo::shader {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LexerTest : public ::testing::Test {
 protected:
  std::vector<Token> lex(std::string_view text) {
    const uint32_t file = files_.add("shader", text);
    Lexer lexer(files_.text(file), file, texts_, diagnostics_);
    std::vector<Token> tokens;
    for (Token token = lexer.next(); token.kind != TokenKind::End; token = lexer.next()) tokens.push_back(token);
    return tokens;
  }

  std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> words;
    for (const Token& token : lex(text)) words.emplace_back(token.text);
    return words;
  }

  // "x@1:5", …
  std::string places(std::string_view text) {
    std::string places;
    for (const Token& token : lex(text))
      places += base::format("{}@{}:{} ", token.text, token.at.line, token.at.column);
    return places;
  }

  std::string log() const { return diagnostics_.render(); }

  SourceFiles files_;
  Diagnostics diagnostics_{files_};
  std::deque<std::string> texts_;
};

TEST_F(LexerTest, DistinguishesKinds) {
  const auto tokens = lex("a_1 12u 1.5h .5 'c' \"s\" +");
  std::vector<TokenKind> kinds;
  for (const Token& token : tokens) kinds.push_back(token.kind);
  // Whether a number is a float is settled behind the macros, unless it begins with its point.
  EXPECT_THAT(kinds, ElementsAre(TokenKind::Identifier, TokenKind::Integer, TokenKind::Integer, TokenKind::Float,
                                 TokenKind::Character, TokenKind::String, TokenKind::Punctuator));
}

TEST_F(LexerTest, TakesTheLongestPunctuator) {
  EXPECT_THAT(words("a->b...<<=<<<=::++--+=-=*=/=%===!=&&&=|||=^=##"),
              ElementsAre("a", "->", "b", "...", "<<=", "<<", "<=", "::", "++", "--",
                          "+=", "-=", "*=", "/=", "%=", "==", "!=", "&&", "&=", "||", "|=", "^=", "##"));
}

TEST_F(LexerTest, AGreaterSignIsOneTokenUnlessItCompares) {
  EXPECT_THAT(words("a>>b>>=c>=d>>>e"), ElementsAre("a", ">", ">", "b", ">>=", "c", ">=", "d", ">", ">", ">", "e"));
  EXPECT_EQ(places(">> > >"), ">@1:1 >@1:2 >@1:4 >@1:6 ");
  const auto tokens = lex(">> >");
  EXPECT_FALSE(tokens[1].space_before);
  EXPECT_TRUE(tokens[2].space_before);
}

TEST_F(LexerTest, BracketsAreSeparateTokens) { EXPECT_THAT(words("[[x]]"), ElementsAre("[", "[", "x", "]", "]")); }

TEST_F(LexerTest, WordsOfOperatorsAreOperators) {
  EXPECT_THAT(words("not a and b or_eq c compl android"),
              ElementsAre("not", "a", "and", "b", "or_eq", "c", "compl", "android"));
  auto tokens = lex("not and or_eq android");
  std::string spelled;
  for (Token& token : tokens) {
    spell_operator(token);
    spelled += std::string(token.text) + " ";
  }
  EXPECT_EQ(spelled, "! && |= android ");
}

TEST_F(LexerTest, NumbersHaveSeparatorsExponentsAndSuffixes) {
  EXPECT_THAT(words("1'000u 0x1.8p-3f 1e+5 0b1'01 1.0bf 1.h .5e-1 1+2 3.x"),
              ElementsAre("1'000u", "0x1.8p-3f", "1e+5", "0b1'01", "1.0bf", "1.h", ".5e-1", "1", "+", "2", "3.x"));
}

TEST_F(LexerTest, TokensHaveTheirPosition) {
  EXPECT_EQ(places("ab c\n\n  d /* x\ny */ e // f\ng"), "ab@1:1 c@1:4 d@3:3 e@4:6 g@5:1 ");
}

TEST_F(LexerTest, CommentsAreSpaces) {
  const auto tokens = lex("a/**/b/*/ * //*/c//d\ne");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_TRUE(tokens[1].space_before);
  EXPECT_FALSE(tokens[2].line_start);
  EXPECT_TRUE(tokens[3].line_start);
  EXPECT_EQ(log(), "");
}

TEST_F(LexerTest, TheEndOfACommentIsNotTheStartOfALine) {
  const auto tokens = lex("a /*\n*/ b\n/* */ c");
  EXPECT_TRUE(tokens[0].line_start);
  EXPECT_FALSE(tokens[1].line_start);
  EXPECT_TRUE(tokens[2].line_start);
}

TEST_F(LexerTest, LinesAreJoinedInsideTokens) {
  EXPECT_EQ(places("ab\\\ncd e\\\r\n f \\  \n g\n\\\nh"), "abcd@1:1 e@2:4 f@3:2 g@4:2 h@6:1 ");
  EXPECT_THAT(words("\"a\\\nb\" // c\\\nd\n+\\\n+"), ElementsAre("\"ab\"", "++"));
  EXPECT_EQ(log(), "");
}

TEST_F(LexerTest, StringsKeepTheirEscapes) {
  EXPECT_THAT(words(R"("a\"b\\" '\'' "//" '"')"), ElementsAre(R"("a\"b\\")", R"('\'')", "\"//\"", "'\"'"));
}

TEST_F(LexerTest, ARawStringBecomesAnOrdinaryOne) {
  EXPECT_THAT(words("R\"(a\"\\b)\" R\"x(\n)\")x\" Rb"), ElementsAre(R"("a\"\\b")", R"("\n)\"")", "Rb"));
  EXPECT_EQ(places("R\"(a\nb)\" c\nd"), "\"a\\nb\"@1:1 c@2:5 d@3:1 ");
}

TEST_F(LexerTest, ARawStringJoinsNoLines) {
  EXPECT_EQ(places("a\\\n R\"(b\\\nc)\" d\\\n e\nf"), "a@1:1 \"b\\\\\\nc\"@2:2 d@3:5 e@4:2 f@5:1 ");
}

TEST_F(LexerTest, UnterminatedTextIsReportedOnce) {
  EXPECT_THAT(words("a /* b\nc"), ElementsAre("a"));
  EXPECT_THAT(log(), HasSubstr("shader:1:3: error: this comment does not end"));
}

TEST_F(LexerTest, AStringEndsInItsLine) {
  EXPECT_THAT(words("\"a\\\"\nb 'c\nd"), ElementsAre("\"\"", "b", "' '", "d"));
  EXPECT_EQ(diagnostics_.list().size(), 2u);
  EXPECT_THAT(log(), HasSubstr("shader:1:1: error: this string does not end in its line"));
  EXPECT_THAT(log(), HasSubstr("shader:2:3: error: this character does not end in its line"));
}

TEST_F(LexerTest, RawStringsMustBeginAndEnd) {
  EXPECT_THAT(words("R\"12345678901234567(a)\"\nb"), ElementsAre("\"\"", "b"));
  EXPECT_THAT(log(), HasSubstr("a raw string begins with"));
  EXPECT_THAT(words("R\"x(a)\"\nb"), ElementsAre(R"("a)\"\nb")"));
  EXPECT_THAT(log(), HasSubstr("this raw string does not end: )x\" is missing"));
}

TEST_F(LexerTest, InvalidBytesAreReportedTogether) {
  EXPECT_THAT(words("a\xc3\xa4"
                    "b @ c \\ d"),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(diagnostics_.list().size(), 3u);
  EXPECT_THAT(log(), HasSubstr("shader:1:2: error: the byte 0xc3"));
  EXPECT_THAT(log(), HasSubstr("the character '@' (byte 0x40)"));
  EXPECT_THAT(log(), HasSubstr("a backslash is allowed only at the end of a line"));
}

TEST_F(LexerTest, InvalidBytesAreAllowedInCommentsAndStrings) {
  lex("// \xc3\xa4\n/* \xff */ \"\x01\xc3\xa4\"");
  EXPECT_EQ(log(), "");
}

TEST_F(LexerTest, AZeroByteDoesNotEndTheText) {
  EXPECT_THAT(words(std::string_view("a\0b", 3)), ElementsAre("a", "b"));
  EXPECT_THAT(log(), HasSubstr("the byte 0x00"));
}

TEST_F(LexerTest, ACharacterIsNotEmpty) {
  EXPECT_THAT(words("''"), ElementsAre("' '"));
  EXPECT_THAT(log(), HasSubstr("there is no character between the quotes"));
}

TEST_F(LexerTest, AByteOrderMarkIsSkipped) {
  EXPECT_THAT(words("\xef\xbb\xbf#a"), ElementsAre("#", "a"));
  EXPECT_EQ(log(), "");
}

TEST_F(LexerTest, TheRestOfALineIsUnchanged) {
  Lexer lexer("error  don't \"do\" that  // no\nnext", 0, texts_, diagnostics_);
  lexer.next();
  EXPECT_EQ(lexer.rest_of_line(), "don't \"do\" that  // no");
  EXPECT_EQ(lexer.next().text, "next");
  EXPECT_EQ(log(), "");
}

TEST_F(LexerTest, NextInLineStopsAtTheLineEnd) {
  Lexer lexer("a b /*\n*/ c\n\nd", 0, texts_, diagnostics_);
  Token token;
  EXPECT_TRUE(lexer.next_in_line(token) && lexer.next_in_line(token) && lexer.next_in_line(token));
  EXPECT_EQ(token.text, "c");
  EXPECT_FALSE(lexer.next_in_line(token));
  EXPECT_FALSE(lexer.next_in_line(token));
  EXPECT_EQ(lexer.next().text, "d");
  EXPECT_EQ(lexer.next().kind, TokenKind::End);
  EXPECT_EQ(lexer.next().kind, TokenKind::End);
}

TEST_F(LexerTest, LexOneAcceptsExactlyOneToken) {
  Token token;
  EXPECT_TRUE(lex_one("+=", texts_, token));
  EXPECT_TRUE(lex_one("0xff", texts_, token));
  EXPECT_TRUE(lex_one("R\"(a b)\"", texts_, token));
  EXPECT_EQ(token.text, "\"a b\"");
  for (const std::string_view text : {"", "+-", "//", "/*", "a+", "\"a", ">>", "@"}) {
    EXPECT_FALSE(lex_one(text, texts_, token)) << text;
  }
}

TEST_F(LexerTest, AnyInputEnds) {
  for (int seed = 0; seed < 2000; ++seed) {
    std::string text;
    uint32_t state = seed * 2654435761u + 1;
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525u + 1013904223u;
      constexpr std::string_view kLetters = "aR\"'()\\\n\r/*#<>.:1e+x \xc3";
      text += kLetters[(state >> 16) % kLetters.size()];
    }
    for (const Token& token : lex(text)) {
      ASSERT_GE(token.at.line, 1u);
      ASSERT_GE(token.at.column, 1u);
      ASSERT_LE(token.at.column, files_.line(token.at).size()) << text;
    }
  }
}

}  // namespace
}  // namespace kymo::shader
