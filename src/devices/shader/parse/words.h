// Tokens as numbers. Every spelling gets one number. The spellings of the grammar are constants, so that the parser
// compares numbers and can switch on them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shader/preprocess/lexer.h"

namespace kymo::shader {

// clang-format off
#define KYMO_SHADER_WORDS(X)                                                                                           \
  X(LeftParen, "(") X(RightParen, ")") X(LeftBracket, "[") X(RightBracket, "]") X(LeftBrace, "{") X(RightBrace, "}")   \
  X(Semicolon, ";") X(Comma, ",") X(Colon, ":") X(Scope, "::") X(Dot, ".") X(Arrow, "->") X(Ellipsis, "...")           \
  X(Question, "?") X(Plus, "+") X(Minus, "-") X(Star, "*") X(Slash, "/") X(Percent, "%") X(Amp, "&") X(Pipe, "|")      \
  X(Caret, "^") X(Tilde, "~") X(Not, "!") X(AmpAmp, "&&") X(PipePipe, "||") X(Less, "<") X(Greater, ">")               \
  X(LessEqual, "<=") X(GreaterEqual, ">=") X(EqualEqual, "==") X(NotEqual, "!=") X(ShiftLeft, "<<")                    \
  X(PlusPlus, "++") X(MinusMinus, "--") X(Equal, "=") X(PlusEqual, "+=") X(MinusEqual, "-=") X(StarEqual, "*=")        \
  X(SlashEqual, "/=") X(PercentEqual, "%=") X(AmpEqual, "&=") X(PipeEqual, "|=") X(CaretEqual, "^=")                   \
  X(ShiftLeftEqual, "<<=") X(ShiftRightEqual, ">>=")                                                                   \
  /* Keywords: never a name. */                                                                                        \
  X(Alignas, "alignas") X(Alignof, "alignof") X(Asm, "asm") X(Auto, "auto") X(Break, "break") X(Case, "case")          \
  X(Catch, "catch") X(Char, "char") X(Class, "class") X(Concept, "concept") X(Const, "const")                          \
  X(ConstCast, "const_cast") X(Constant, "constant") X(Constexpr, "constexpr") X(Continue, "continue")                 \
  X(Decltype, "decltype") X(Default, "default") X(Delete, "delete") X(Device, "device") X(Do, "do")                    \
  X(Double, "double") X(DynamicCast, "dynamic_cast") X(Else, "else") X(Enum, "enum") X(Explicit, "explicit")           \
  X(Extern, "extern") X(False, "false") X(For, "for") X(Friend, "friend") X(Goto, "goto") X(If, "if")                  \
  X(Inline, "inline") X(Int, "int") X(Long, "long") X(Mutable, "mutable") X(Namespace, "namespace") X(New, "new")      \
  X(Noexcept, "noexcept") X(Nullptr, "nullptr") X(Operator, "operator") X(Private, "private")                          \
  X(Protected, "protected") X(Public, "public") X(Register, "register") X(ReinterpretCast, "reinterpret_cast")         \
  X(Requires, "requires") X(Restrict, "__restrict") X(Return, "return") X(Short, "short") X(Signed, "signed")          \
  X(Sizeof, "sizeof") X(Static, "static") X(StaticAssert, "static_assert") X(StaticCast, "static_cast")                \
  X(Struct, "struct") X(Switch, "switch") X(Template, "template") X(This, "this") X(Thread, "thread")                  \
  X(Threadgroup, "threadgroup") X(ThreadLocal, "thread_local") X(Throw, "throw") X(True, "true") X(Try, "try")         \
  X(Typedef, "typedef") X(Typeid, "typeid") X(Typename, "typename") X(Union, "union") X(Unsigned, "unsigned")          \
  X(Using, "using") X(Virtual, "virtual") X(Volatile, "volatile") X(While, "while") X(Attribute, "__attribute__")      \
  /* Names that mean something in one place. */                                                                        \
  X(AsType, "as_type") X(Coherent, "coherent") X(Final, "final") X(Fragment, "fragment") X(Kernel, "kernel") X(Override, "override")           \
  X(Vertex, "vertex")

enum class Word : uint32_t {
  End, Integer, Float, Character, String,  // the text of the token is needed
  Other,                                   // a punctuator that is not in the grammar
#define KYMO_SHADER_WORD(name, spelling) name,
  KYMO_SHADER_WORDS(KYMO_SHADER_WORD)
#undef KYMO_SHADER_WORD
  FirstName,  // all others: names
};
// clang-format on

// Whether the word can be a name.
inline bool is_name(Word word) { return word >= Word::AsType; }
// Names and keywords, but not punctuators and literals.
inline bool is_alphabetic(Word word) { return word >= Word::Alignas; }

std::string_view spelling(Word word);  // of the words in the grammar; else empty

// Not thread-safe. The texts must live as long as the table is used.
class WordTable {
 public:
  WordTable();
  Word word(const Token& token);
  Word word(std::string_view text);
  size_t size() const { return texts_.size(); }  // all words are less than this

 private:
  void grow();
  size_t find(std::string_view text, size_t hash) const;  // the slot that has it, or a free one for it

  struct Slot {
    uint32_t hash = 0;
    Word word = Word::End;  // End: free
  };
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;  // by word
};

}  // namespace kymo::shader
