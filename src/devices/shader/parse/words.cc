#include "shader/parse/words.h"

#include <array>
#include <functional>
#include <utility>

namespace kymo::shader {

namespace {

constexpr size_t kKnownWords = static_cast<size_t>(Word::FirstName);

constexpr std::array<std::string_view, kKnownWords> kSpellings = {"",
                                                                  "",
                                                                  "",
                                                                  "",
                                                                  "",
                                                                  "",
#define KYMO_SHADER_WORD(name, spelling) spelling,
                                                                  KYMO_SHADER_WORDS(KYMO_SHADER_WORD)
#undef KYMO_SHADER_WORD
};

// Other spellings of the same words.
constexpr std::pair<std::string_view, Word> kSynonyms[] = {
    {"and", Word::AmpAmp},
    {"or", Word::PipePipe},
    {"not", Word::Not},
    {"__restrict__", Word::Restrict},
    {"restrict", Word::Restrict},
    {"__inline__", Word::Inline},
    {"__inline", Word::Inline},
    {"_Static_assert", Word::StaticAssert},
    {"__volatile__", Word::Volatile},
    {"__attribute", Word::Attribute},
    {"__asm__", Word::Asm},
    {"__alignof__", Word::Alignof},
};

constexpr size_t kFirstWordSlots = 4096;  // enough for the standard library and a kernel or two

}  // namespace

std::string_view spelling(Word word) {
  const auto index = static_cast<size_t>(word);
  return index < kKnownWords ? kSpellings[index] : std::string_view();
}

WordTable::WordTable() : slots_(kFirstWordSlots) {
  texts_.reserve(kFirstWordSlots / 2);
  texts_.resize(static_cast<size_t>(Word::Other) + 1);
  for (size_t i = texts_.size(); i < kKnownWords; ++i) word(kSpellings[i]);
  for (const auto& [text, same] : kSynonyms) {
    const size_t hash = std::hash<std::string_view>()(text);
    slots_[find(text, hash)] = {static_cast<uint32_t>(hash), static_cast<Word>(texts_.size())};
    texts_.push_back(text);
  }
}

Word WordTable::word(const Token& token) {
  switch (token.kind) {
    case TokenKind::End:
    case TokenKind::Pragma:  // there is none any more
      return Word::End;
    case TokenKind::Integer:
      return Word::Integer;
    case TokenKind::Float:
      return Word::Float;
    case TokenKind::Character:
      return Word::Character;
    case TokenKind::String:
      return Word::String;
    case TokenKind::Identifier:
      return word(token.text);
    case TokenKind::Punctuator: {
      const Word found = word(token.text);
      return is_alphabetic(found) ? Word::Other : found;
    }
  }
  return Word::Other;
}

Word WordTable::word(std::string_view text) {
  const size_t hash = std::hash<std::string_view>()(text);
  Slot& slot = slots_[find(text, hash)];
  if (slot.word == Word::End) {
    slot = {static_cast<uint32_t>(hash), static_cast<Word>(texts_.size())};
    texts_.push_back(text);
    const Word made = slot.word;
    if (texts_.size() * 2 > slots_.size()) grow();
    return made;
  }
  const size_t synonym = static_cast<size_t>(slot.word) - kKnownWords;
  return synonym < std::size(kSynonyms) ? kSynonyms[synonym].second : slot.word;
}

size_t WordTable::find(std::string_view text, size_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.word == Word::End) return i;
    if (slot.hash == static_cast<uint32_t>(hash) && texts_[static_cast<size_t>(slot.word)] == text) return i;
  }
}

void WordTable::grow() {
  std::vector<Slot> before(slots_.size() * 2);
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.word != Word::End) {
      const std::string_view text = texts_[static_cast<size_t>(slot.word)];
      slots_[find(text, std::hash<std::string_view>()(text))] = slot;
    }
  }
}

}  // namespace kymo::shader
