// For tests: from a source to its tokens as one line of text and its errors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/preprocessor.h"

namespace kymo::shader {

class Preprocessed {
 public:
  explicit Preprocessed(std::string_view text, std::vector<std::string> defines = {},
                        std::map<std::string, std::string, std::less<>> headers = {})
      : diagnostics_(files_), preprocessor_(files_, diagnostics_) {
    PreprocessorInput input;
    input.text = text;
    input.defines = std::move(defines);
    input.headers = std::move(headers);
    tokens_ = preprocessor_.run(input);
  }

  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<Report>& reports() const { return diagnostics_.list(); }
  std::string log() const { return diagnostics_.render(); }
  bool ok() const { return diagnostics_.list().empty(); }

  // Any white space is one space. The errors follow, if there are any: "a b | error: …".
  std::string text() const {
    std::string text;
    for (const Token& token : tokens_) {
      if (token.space_before && !text.empty() && token.kind != TokenKind::End) text += ' ';
      text += token.text;
    }
    for (const Report& diagnostic : diagnostics_.list()) {
      text += diagnostic.severity == Severity::Error     ? " | error: "
              : diagnostic.severity == Severity::Warning ? " | warning: "
                                                         : " | note: ";
      text += diagnostic.text;
    }
    return text;
  }

 private:
  SourceFiles files_;
  Diagnostics diagnostics_;
  Preprocessor preprocessor_;
  std::vector<Token> tokens_;
};

inline std::string preprocessed(std::string_view text, std::vector<std::string> defines = {},
                                std::map<std::string, std::string, std::less<>> headers = {}) {
  return Preprocessed(text, std::move(defines), std::move(headers)).text();
}

}  // namespace kymo::shader
