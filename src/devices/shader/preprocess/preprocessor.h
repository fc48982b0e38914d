// Converts a source to tokens: comments and line joins are removed, directives executed, macros expanded.
//
// Supports all features of the C++ preprocessor that shaders use: object-like and function-like macros with variadics,
// # and ##, __VA_ARGS__, #if with defined() and __has_include, #include, #pragma once, #error, #line
// ignored, __FILE__, __LINE__, __COUNTER__, __METAL__, __METAL_VERSION__ (320), __HAVE_BFLOAT__. Includes are looked up
// among the headers of the caller and the built-in ones (headers.h); an unknown one is an error that lists the known
// ones. A header with #pragma once is read once.
//
// Invalid input is reported and skipped. The work is bounded: the depth of includes and of #if, and the number of
// tokens of an expansion, have limits; exceeding one is an error.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {

struct PreprocessorInput {
  std::string_view text;
  std::string file = "shader";
  std::vector<std::string> defines;                         // "NAME" or "NAME=VALUE"
  std::map<std::string, std::string, std::less<>> headers;  // by the name between the quotes of an include
  decltype(Options::include) include;                       // may be empty
};

// Owns the texts of its tokens.
class Preprocessor {
 public:
  Preprocessor(SourceFiles& files, Diagnostics& diagnostics) : files_(files), diagnostics_(diagnostics) {}
  Preprocessor(const Preprocessor&) = delete;
  Preprocessor& operator=(const Preprocessor&) = delete;

  std::vector<Token> run(const PreprocessorInput& input);  // the last token has the kind End

 private:
  SourceFiles& files_;
  Diagnostics& diagnostics_;
  std::deque<std::string> texts_;  // of tokens that # and ## created
};

}  // namespace kymo::shader
