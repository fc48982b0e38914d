// The helpers that a generated text needs and its language lacks, from a file of pieces.
//
//   //# simd_sum TYPE: simd_memory, bits_TYPE      a piece, the words that are replaced in it, the pieces it needs
//
// The text contains only the pieces that were requested, each once for each set of words. Not thread-safe; the texts
// are.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kymo::shader {

struct CPiece {
  std::vector<std::string_view> words;
  std::vector<std::string_view> needs;
  std::string_view text;
};
using CPieces = std::unordered_map<std::string_view, CPiece>;

CPieces read_pieces(std::string_view file);  // the result refers to the file's text

class CPrelude {
 public:
  explicit CPrelude(const CPieces& pieces) : pieces_(pieces) {}

  // A piece that does not exist, or that takes another number of words, is a bug of the emitter: std::logic_error.
  void use(std::string_view piece, std::initializer_list<std::string_view> words = {}) {
    use(piece, std::vector<std::string_view>(words));
  }
  void use(std::string_view piece, const std::vector<std::string_view>& words);

  const std::string& text() const { return text_; }

 private:
  const CPieces& pieces_;
  std::unordered_set<std::string> used_;
  std::string text_;
};

}  // namespace kymo::shader
