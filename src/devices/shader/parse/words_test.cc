#include "shader/parse/words.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace kymo::shader {
namespace {

Token words_token(TokenKind kind, std::string_view text) {
  Token token;
  token.kind = kind;
  token.text = text;
  return token;
}

TEST(WordsTest, WordsOfTheGrammarAreConstants) {
  WordTable table;
  EXPECT_EQ(table.word(words_token(TokenKind::Identifier, "struct")), Word::Struct);
  EXPECT_EQ(table.word(words_token(TokenKind::Punctuator, "<<=")), Word::ShiftLeftEqual);
  EXPECT_EQ(table.word(words_token(TokenKind::Integer, "struct")), Word::Integer);
  EXPECT_EQ(table.word(words_token(TokenKind::Punctuator, "@")), Word::Other);
  EXPECT_EQ(spelling(Word::Threadgroup), "threadgroup");
  EXPECT_EQ(spelling(Word::Other), "");
}

TEST(WordsTest, OtherSpellingsAreTheSameWord) {
  WordTable table;
  EXPECT_EQ(table.word("and"), Word::AmpAmp);
  EXPECT_EQ(table.word("__restrict__"), Word::Restrict);
}

TEST(WordsTest, ContextualKeywordsAreNames) {
  EXPECT_FALSE(is_name(Word::While));
  EXPECT_TRUE(is_name(Word::Kernel));
  EXPECT_TRUE(is_alphabetic(Word::While));
  EXPECT_FALSE(is_alphabetic(Word::Equal));
}

TEST(WordsTest, NamesKeepTheirNumber) {
  WordTable table;
  std::deque<std::string> texts;
  std::vector<Word> words;
  for (int i = 0; i < 10000; ++i) {
    texts.push_back("name" + std::to_string(i));
    words.push_back(table.word(texts.back()));
    EXPECT_GE(words.back(), Word::FirstName);
  }
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(table.word(texts[i]), words[i]);
  EXPECT_NE(words[0], words[1]);
}

}  // namespace
}  // namespace kymo::shader
