// Writes the code of the function that is being lowered: values, places, temporaries, and their order.
//
// Expressions of the IR have no effects. An assignment, or a call that writes memory, becomes a statement in the block
// before the expression. An expression that was lowered earlier stays a tree until it is used. If a statement that was
// written in between changes what it reads, it is first stored in a temporary:
//
//   const size_t since = mark();
//   Value right = …;             // may write statements
//   protect(left, since);        // stores `left` in a temporary before these statements, if they affect it
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "shader/ir/build.h"
#include "shader/sema/context.h"
#include "shader/sema/entity.h"

namespace kymo::shader {

class CodeWriter {
 protected:
  explicit CodeWriter(Context& context)
      : context_(context), module_(context.module), table_(context.table), build_(context.builder) {}
  ~CodeWriter() = default;
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  // The function being lowered.
  struct Body {
    FunctionInstance* instance = nullptr;
    ir::Block* block = nullptr;  // receives the statements
    std::optional<Value> self;   // *this
    const Type* result = nullptr;
    bool is_kernel = false;
    bool is_unevaluated = false;         // decltype, sizeof: emitted code is dropped
    bool has_effects = false;            // it writes memory that is not its own, or works together with other threads
    bool is_constructor = false;         // `self` is a local that is returned
    bool deduces_result = false;         // from its first return
    int breakable = 0, continuable = 0;  // number of loops and switches around
  };

  // While one of these lives, statements go into another block.
  class Into {
   public:
    Into(CodeWriter& writer, ir::Block& block) : writer_(writer), before_(writer.body_.block) {
      writer.body_.block = &block;
    }
    ~Into() { writer_.body_.block = before_; }
    Into(const Into&) = delete;
    Into& operator=(const Into&) = delete;

   private:
    CodeWriter& writer_;
    ir::Block* before_;
  };

  ir::Builder& build(Location at) { return context_.build(at); }  // for objects at this position
  void emit(ir::Statement* statement) { body_.block->push_back(statement); }

  // ---- Values and places
  const Type* plain(const Type* type);  // of a packed vector: the vector
  Value rvalue(const ir::Expression* ir, const Type* type = nullptr);
  const ir::Expression* read(const Value& value);  // as a value: packed vectors unpacked, pointers loaded
  Value load(const Value& value);                  // the same, as a Value
  Value decayed(const Value& value);               // an array becomes a pointer to its first element
  const ir::Expression* address(const Value& place, Location at);
  Value place_at(const ir::Expression* pointer, bool is_const);  // *pointer
  Value variable_place(const ir::Variable& variable, Location at);
  void assign(const Value& place, const ir::Expression* value, Location at);
  ir::Variable& local(std::string_view name, const Type* type, const ir::Expression* value, Location at);
  Value keep(const Value& value, std::string_view name);  // in a temporary

  // ---- Members of unions that are stored in words
  Value view_part(const Value& view, const Type* type, uint64_t offset);
  Value view_or_word(const Value& view);  // what a name or an index denotes
  Value view_element(const Value& view, const ir::Expression* position, Location at);  // of an array or a vector
  const ir::Expression* read_view(const Value& view);
  void write_view(const Value& view, const ir::Expression* value, Location at);

  // ---- Order
  size_t mark() const;                               // of the block being written
  void protect(Value& earlier, size_t since);        // stores it in a temporary if statements since then affect it
  void protect_place(Value& earlier, size_t since);  // the same, but a place stays a place
  void protect_places(std::span<Value> earlier, size_t since);
  void settle_all(std::vector<const ir::Expression*>& earlier, size_t since);
  class Changes;
  // Stored in a temporary, unless it is settled, or the changes do not affect it.
  const ir::Expression* settle(const ir::Expression* value, const Changes* changes = nullptr);
  bool is_settled(const ir::Expression& expression) const;             // nothing after it can change it
  Value freeze(const Value& place, const Changes* changes = nullptr);  // a place whose indices and pointers are settled
  Value reusable(const Value& place);                                  // a place that can be read and then written

  Context& context_;
  ir::Module& module_;
  TypeTable& table_;
  ir::Builder& build_;
  Body body_;
  // Written once, at the declaration: references, `this`, temporaries.
  std::unordered_set<const ir::Variable*> settled_;
  // Pointers that are parameters of a kernel which callers do not pass: what they point to reads as 0.
  std::unordered_set<const ir::Variable*> absent_;
  std::unordered_set<const ir::Function*> with_effects_;

 private:
  bool is_absent(const Value& place) const;
  const ir::Expression* view_address(const Value& view);
  const ir::Expression* view_offset(const Value& view, uint32_t byte);
  const ir::Expression* view_word(const Value& view, uint32_t byte);
  const ir::Expression* view_shift(const Value& view);
  bool is_stable(const ir::Expression& expression, const Changes* changes) const;
  template <typename Making>
  void before(size_t since, Making making);
  static bool is_cheap(const ir::Expression& expression, int& budget);
};

}  // namespace kymo::shader
