#include "shader/standard_library.h"

#include "shader/preprocess/headers.h"
#include "shader/preprocess/preprocessor.h"

namespace kymo::shader {
namespace {

struct ReadLibrary {
  ReadLibrary() {
    for (const std::string_view text : standard_library_texts()) {
      PreprocessorInput input;
      input.text = text;
      input.file = "metal_stdlib";
      parser.parse(preprocessor.run(input));
    }
  }

  SourceFiles files;
  Diagnostics diagnostics{files};
  Preprocessor preprocessor{files, diagnostics};
  ast::Tree tree;
  Parser parser{tree, diagnostics};
  StandardLibrary parts{files, tree, parser};
};

}  // namespace

const StandardLibrary& standard_library() {
  static const ReadLibrary* const kLibrary = new ReadLibrary();  // never destroyed: threads may translate at exit
  return kLibrary->parts;
}

}  // namespace kymo::shader
