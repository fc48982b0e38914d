// A source becomes tokens: comments and line joins gone, directives done, macros expanded.
//
// All of the C++ preprocessor that shaders use: object-like and function-like macros with variadics, # and ##,
// __VA_ARGS__, __VA_OPT__, #if with defined() and __has_include, #include, #pragma once, #error, #line ignored,
// __FILE__, __LINE__, __COUNTER__, __METAL__, __METAL_VERSION__ (320), __HAVE_BFLOAT__. Includes are found among the
// headers that are built in (headers.h) and those the caller brought, never on disk; an unknown one is an error that
// lists what there is. Each header is read once.
//
// Bad input is reported and gone over. The work is bounded: depth of includes and of #if, and the number of tokens a
// macro may grow to, have limits that are errors.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/token.h"

namespace kymo::shader {

struct PreprocessorInput {
  std::string_view text;
  std::string file = "shader";
  std::vector<std::string> defines;                         // "NAME" or "NAME=VALUE"
  std::map<std::string, std::string, std::less<>> headers;  // by the name between the quotes of an include
};

// Owns what its tokens' texts refer to.
class Preprocessor {
 public:
  Preprocessor(SourceFiles& files, Diagnostics& diagnostics) : files_(files), diagnostics_(diagnostics) {}
  Preprocessor(const Preprocessor&) = delete;
  Preprocessor& operator=(const Preprocessor&) = delete;

  std::vector<Token> run(const PreprocessorInput& input);  // ends with one of kind End

 private:
  SourceFiles& files_;
  Diagnostics& diagnostics_;
  std::deque<std::string> texts_;  // of tokens that # and ## made
};

}  // namespace kymo::shader
