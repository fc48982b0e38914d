// The effects of statements: which variables they assign, and whether they write other memory or wait for other
// threads.
#pragma once

#include <unordered_set>

#include "shader/sema/lowering/code_writer.h"

namespace kymo::shader {

class CodeWriter::Changes {
 public:
  Changes(const CodeWriter& writer, size_t since);  // of the block being written

  std::unordered_set<const ir::Variable*> assigned;
  bool writes_memory = false;

 private:
  void add(const ir::Block& block);
  void add(const ir::Statement& statement);
  void add(const ir::Expression& expression);

  const CodeWriter& writer_;
};

}  // namespace kymo::shader
