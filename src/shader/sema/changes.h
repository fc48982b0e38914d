// The effects of statements: which variables they assign, and whether they write other memory or wait for other
// threads.
#pragma once

#include <unordered_set>

#include "shader/sema/sema.h"

namespace kymo::shader {

class Meaning::Changes {
 public:
  Changes(const Meaning& meaning, size_t since);  // of the block being written

  std::unordered_set<const ir::Variable*> assigned;
  bool writes_memory = false;

 private:
  void add(const ir::Block& block);
  void add(const ir::Statement& statement);
  void add(const ir::Expression& expression);

  const Meaning& meaning_;
};

}  // namespace kymo::shader
