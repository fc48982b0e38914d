// Writes one function of the text, from the IR.
//
// Expressions become text directly. If the text of an expression is not possible at its position, a line with a
// temporary is written before the current statement.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shader/emit/glsl_memory.h"
#include "shader/emit/glsl_resolve.h"
#include "shader/emit/glsl_text.h"
#include "shader/emit/glsl_unit.h"
#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

// Where a value is.
struct Place {
  enum class Kind : uint8_t {
    Here,     // `text` can be read, and written if it is a place
    Buffer,   // at `text` plus `offset` bytes
    Bytes,    // in `cell`, which is reinterpreted, at `text` plus `offset` bytes
    Nowhere,  // behind a pointer that is always null
  };
  Kind kind = Kind::Here;
  const Type* type = nullptr;  // before components are selected
  Text text = {};
  uint64_t offset = 0;
  std::string picked = {};       // components of a vector that is not here: "xz"
  const Type* really = nullptr;  // its real type, if it is used as another type of the same size
  const Cell* cell = nullptr;
};

// A static pointer: the known part, and the ints for run time.
struct Pointer {
  Shape shape;
  std::vector<Text> ints;  // as many as shape.ints()
};

class Writer {
 public:
  Writer(Unit& unit, Memory& memory, Instance& instance) : unit_(unit), memory_(memory), instance_(instance) {}

  // The whole text of a function.
  std::string function();

  // For kernels, which begin and are called differently: statements, and the body, appended to the text.
  void line(std::string_view text);
  void body();
  void enter() { unit_.names.enter(); }
  void leave() { unit_.names.leave(); }
  Cell& cell(const ir::Variable& variable) { return unit_.resolver.cell(instance_, variable); }
  // Declares a variable with a value; if pointers point to it, sets its global.
  void begin(Cell& cell, const Text& value);
  std::string take_text() { return std::move(out_); }

  Text value(const ir::Expression& expression);

 private:
  // Within braces.
  class Inside {
   public:
    explicit Inside(Writer& writer) : writer_(writer) {
      ++writer_.indent_;
      writer_.enter();
    }
    Inside(const Inside&) = delete;
    ~Inside() {
      writer_.leave();
      --writer_.indent_;
    }

   private:
    Writer& writer_;
  };

  // ---- Statements
  void block(const ir::Block& block);
  void braced(const ir::Block& block);  // the block and its closing brace
  void statement(const ir::Statement& statement);
  void declare(const ir::Statement& statement);
  void assign(const ir::Statement& statement);
  bool assign_compound(const ir::Statement& statement);
  void store(const Place& place, const ir::Expression& value);
  void evaluate(const ir::Expression& expression);
  void branch(const ir::Statement& statement);
  void loop(const ir::Statement& statement);
  void do_loop(const ir::Statement& statement);
  void general_loop(const ir::Statement& statement, const std::optional<std::string>& step);
  void switch_(const ir::Statement& statement);
  void return_(const ir::Statement& statement);
  void open_loop(std::string_view head, std::string_view step, uint16_t wish = 0);  // no head: endless
  void leave_unless(const ir::Expression& condition);
  // The condition for the head of a loop; empty if it needs its own lines.
  std::optional<std::string> inline_condition(const ir::Expression* condition);
  std::optional<std::string> inline_step(const ir::Block& step);

  // ---- Expressions
  std::string temporary(std::string_view type, const Text& value, std::string_view wanted = "t");
  Text guarded(const ir::Expression& expression);  // an expression that is not always evaluated
  Text unary(const ir::Expression& expression);
  Text binary_chain(const ir::Expression& expression);
  Text binary(const ir::Expression& expression, const Text& left, const Text& right);
  Text compare_pointers(const ir::Expression& expression);
  Text pointer_difference(const ir::Expression& expression);
  Text convert(const ir::Expression& expression);
  Text construct(const ir::Expression& expression);
  Text conditional(const ir::Expression& expression);
  Text call(const ir::Expression& expression);
  Text address(const ir::Expression& expression);  // a pointer into a buffer
  // Calls a scalar function for each component.
  Text componentwise(std::string_view function, const Type* result, const std::vector<Text>& arguments,
                     const std::vector<const Type*>& types);

  // ---- Places
  Place place(const ir::Expression& expression);
  Place member(const ir::Expression& expression);
  Place element(const Place& whole, const ir::Expression* index);
  Place dereference(const ir::Expression& expression);
  Place plain(const Place& place);
  Text read(const Place& place);
  Text read_memory(const Type* type, const Place& place, uint64_t more);  // `more` bytes behind it
  std::string write_memory(const Type* type, const Place& place, uint64_t more, const Text& value);
  Text index(const ir::Expression& expression);                       // an int or uint
  Text int_index(const ir::Expression& expression);                   // an int
  Text index_bytes(const ir::Expression& expression, uint64_t size);  // a uint64_t

  // ---- Static pointers
  Pointer pointer(const ir::Expression& expression);
  Pointer pointer_to(const ir::Expression& place);
  Pointer null_pointer();
  Pointer kept_pointer(const ir::Expression& expression);
  Pointer choose_pointer(const ir::Expression& expression);
  Text target(const Pointer& pointer);  // what it points to
  std::vector<Text> fit(const Pointer& pointer, const Shape& shape);
  Text whole(const std::vector<Text>& ints);
  Text as_value(const ir::Expression& pointer);  // the form in which it is stored
  void add_element(Pointer& pointer, uint32_t count, const Text& index);

  // ---- Intrinsics
  Text intrinsic(const ir::Expression& expression);
  Text math(const ir::Expression& expression);
  Text integer_math(const ir::Expression& expression);
  Text select(const ir::Expression& expression);
  Text position(const ir::Expression& expression);
  Text barrier(const ir::Expression& expression);
  Text simdgroup(const ir::Expression& expression);
  Text atomic(const ir::Expression& expression);
  Text atomic_loop(const ir::Expression& expression);
  Text float_combined(ir::Intrinsic intrinsic, const Text& left, const Text& right);

  Unit& unit_;
  Memory& memory_;
  Instance& instance_;
  std::string out_;
  uint32_t indent_ = 1;
  uint32_t guards_ = 0;  // around the current expression
};

}  // namespace kymo::shader::glsl
