#include "shader/preprocess/preprocessor.h"

#include <algorithm>
#include <utility>

#include "shader/preprocess/lexer.h"
#include "shader/preprocess/numbers.h"
#include "shader/preprocess/source_reader.h"
#include "shader/preprocess/unroll_wish.h"

namespace kymo::shader {

namespace {

// A number may be put together by macros, so only now it must be one.
void settle_number(Token& token, Diagnostics& diagnostics) {
  NumberSpelling spelling = spelling_of_number(token.text);
  token.kind = spelling.kind;
  if (spelling.fault.empty()) return;
  diagnostics.error(token.at, std::move(spelling.fault));
  token.text = spelling.kind == TokenKind::Integer ? "0" : "0.0";
}

// The rest of _Pragma("unroll"), whose text may come from macros.
uint16_t read_pragma(Expander& expander, Location at) {
  MacroToken open, text, close;
  const bool is_complete = expander.next(open) && open.is("(") && expander.next(text) &&
                           text.kind == TokenKind::String && expander.next(close) && close.is(")");
  if (!is_complete) throw Rejected{at, "_Pragma needs a text in parentheses, such as _Pragma(\"unroll\")"};
  return unroll_wish(text.text.substr(1, text.text.size() - 2));
}

}  // namespace

std::vector<Token> Preprocessor::run(const PreprocessorInput& input) {
  constexpr size_t kBytesPerToken = 3, kMaxReserved = size_t{1} << 16;
  std::vector<Token> tokens;
  tokens.reserve(std::min(input.text.size() / kBytesPerToken, kMaxReserved));
  SourceReader reader(files_, input, texts_, diagnostics_);
  MacroToken token;
  uint16_t unroll = kNoUnrollWish;  // of a pragma directly before the next token
  try {
    for (const std::string& option : input.defines) reader.define(option);
    reader.open(input.file, input.text);
    Expander& expander = reader.expander();
    while (expander.next(token) && token.kind != TokenKind::End && !diagnostics_.is_full()) {
      if (token.kind == TokenKind::Pragma || token.is_name("_Pragma")) {
        unroll = token.kind == TokenKind::Pragma ? token.unroll : read_pragma(expander, token.at);
        continue;
      }
      token.unroll = std::exchange(unroll, kNoUnrollWish);
      if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) settle_number(token, diagnostics_);
      spell_operator(token);
      tokens.push_back(token);
    }
  } catch (const Overrun& overrun) {
    diagnostics_.report(overrun.why);
  } catch (const Rejected& rejected) {
    diagnostics_.report(rejected);
  }
  Token end;
  end.at = token.at;
  end.line_start = true;
  tokens.push_back(end);
  return tokens;
}

}  // namespace kymo::shader
