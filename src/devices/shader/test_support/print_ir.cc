#include "shader/test_support/print_ir.h"

#include <cmath>
#include <string>

#include "base/text.h"
#include "shader/ir/scalar.h"
#include "shader/test_support/ir_names.h"

namespace kymo::shader::ir {
namespace {

constexpr int kDeepestPrinted = 500;  // an expression that nests deeper is cut off there

std::string print_float(float value, std::string_view suffix) {
  if (!std::isfinite(value)) return base::format("bits<{}>({:#x})", suffix, static_cast<uint32_t>(bits_of(value)));
  std::string text = base::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + std::string(suffix);
}

std::string print_constant(const Expression& constant) {
  switch (constant.type->kind) {
    case TypeKind::Bool:
      return constant.bits != 0 ? "true" : "false";
    case TypeKind::Int:
      return base::format("{}", static_cast<int64_t>(constant.bits));
    case TypeKind::UInt:
      return base::format("{}u", constant.bits);
    case TypeKind::Long:
      return base::format("{}l", static_cast<int64_t>(constant.bits));
    case TypeKind::ULong:
      return base::format("{}ul", constant.bits);
    case TypeKind::Half:
      return print_float(float_of(constant.bits), "h");
    case TypeKind::BFloat:
      return print_float(float_of(constant.bits), "bf");
    case TypeKind::Float:
      return print_float(float_of(constant.bits), "f");
    default:
      return base::format("{}({})", TypeTable::name(constant.type), static_cast<int64_t>(constant.bits));
  }
}

std::string print_variable(const Variable& variable) { return base::format("{}.{}", variable.name, variable.id); }

class ExpressionPrinter {
 public:
  std::string text(const Expression& e) {
    if (depth_ == kDeepestPrinted) return "…";
    ++depth_;
    std::string made = inner(e);
    --depth_;
    return made;
  }

 private:
  std::string operand(const Expression& e, size_t i) { return text(*e.operands[i]); }

  std::string list(const Expression& e) {
    std::string joined;
    for (size_t i = 0; i < e.operands.size(); ++i) joined += (i == 0 ? "" : ", ") + operand(e, i);
    return joined;
  }

  std::string typed(const Expression& e) { return TypeTable::name(e.type) + "(" + list(e) + ")"; }

  std::string named(const Expression& e) {
    return base::format("{}<{}>({})", kind_name(e.kind), TypeTable::name(e.type), list(e));
  }

  std::string joined(const Expression& e, std::string_view op) {
    return "(" + operand(e, 0) + " " + std::string(op) + " " + operand(e, 1) + ")";
  }

  std::string swizzled(const Expression& e) {
    std::string made = operand(e, 0) + ".";
    for (uint32_t i = 0; i < e.index && i < 4; ++i) made += "xyzw"[e.swizzle[i] & 3];
    return made;
  }

  std::string member(const Expression& e) {
    const Type* structure = e.operands[0]->type;
    if (e.index >= structure->fields.size()) return operand(e, 0) + base::format(".<{}>", e.index);
    const std::string& name = structure->fields[e.index].name;
    return operand(e, 0) + (name.empty() ? base::format(".<{}>", e.index) : "." + name);
  }

  std::string intrinsic(const Expression& e) {
    const std::string number = e.index == 0 ? "" : base::format("<{}>", e.index);
    return std::string(intrinsic_name(e.intrinsic)) + number + "(" + list(e) + ")";
  }

  std::string inner(const Expression& e) {
    switch (e.kind) {
      case ExpressionKind::Constant:
        return print_constant(e);
      case ExpressionKind::Variable:
        return print_variable(*e.variable);
      case ExpressionKind::Dereference:
        return "(*" + operand(e, 0) + ")";
      case ExpressionKind::Member:
        return member(e);
      case ExpressionKind::Index:
        return operand(e, 0) + "[" + operand(e, 1) + "]";
      case ExpressionKind::Swizzle:
        return swizzled(e);
      case ExpressionKind::AddressOf:
        return "(&" + operand(e, 0) + ")";
      case ExpressionKind::PointerAdd:
        return joined(e, "+");
      case ExpressionKind::PointerDifference:
        return joined(e, "-");
      case ExpressionKind::Unary:
        return "(" + std::string(operator_name(e.op)) + operand(e, 0) + ")";
      case ExpressionKind::Binary:
        return joined(e, operator_name(e.op));
      case ExpressionKind::LogicalAnd:
        return joined(e, "&&");
      case ExpressionKind::LogicalOr:
        return joined(e, "||");
      case ExpressionKind::Conditional:
        return "(" + operand(e, 0) + " ? " + operand(e, 1) + " : " + operand(e, 2) + ")";
      case ExpressionKind::Convert:
      case ExpressionKind::Splat:
        return typed(e);
      case ExpressionKind::Construct:
        return TypeTable::name(e.type) + "{" + list(e) + "}";
      case ExpressionKind::Zero:
        return TypeTable::name(e.type) + "{}";
      case ExpressionKind::Decay:
        return "decay(" + list(e) + ")";
      case ExpressionKind::Null:
      case ExpressionKind::PointerCast:
      case ExpressionKind::Bitcast:
        return named(e);
      case ExpressionKind::Call:
        return base::format("{}.{}({})", e.function->name, e.function->id, list(e));
      case ExpressionKind::Intrinsic:
        return intrinsic(e);
    }
    return "?";
  }

  int depth_ = 0;
};

class FunctionPrinter {
 public:
  std::string text(const Function& function) {
    out_ = head(function);
    if (!function.is_defined) return out_ + ";\n";
    out_ += " {\n";
    block(function.body, 1);
    return out_ + "}\n";
  }

 private:
  static std::string binding(const Binding& bound) {
    static constexpr std::string_view kKinds[] = {"buffer", "value", "threadgroup"};
    return base::format("[[{}({}){}{}]] ", kKinds[static_cast<size_t>(bound.kind)], bound.index,
                        bound.is_const ? " const" : "", bound.reports_errors ? " errors" : "");
  }

  static std::string head(const Function& function) {
    std::string made = function.is_kernel ? base::format("kernel \"{}\" ", function.host_name) : "";
    if (function.max_threads != 0) made += base::format("[[max_threads({})]] ", function.max_threads);
    made += base::format("{} {}.{}(", TypeTable::name(function.result), function.name, function.id);
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      if (i != 0) made += ", ";
      if (i < function.bindings.size()) made += binding(function.bindings[i]);
      made += declared(*function.parameters[i]);
    }
    return made + ")";
  }

  static std::string declared(const Variable& variable) {
    const std::string space = variable.space == Space::Thread ? "" : std::string(space_name(variable.space)) + " ";
    return space + TypeTable::name(variable.type) + " " + print_variable(variable) +
           (variable.address_taken ? " [[address_taken]]" : "");
  }

  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void block(const Block& statements, int depth) {
    for (const Statement* statement : statements) one(*statement, depth);
  }

  void part(const char* word, const Block& statements, int depth) {
    if (statements.empty()) return;
    line(depth, std::string(word) + " {");
    block(statements, depth + 1);
    line(depth, "}");
  }

  void loop(const Statement& s, int depth, const std::string& head) {
    line(depth, head);
    part("before", s.before, depth + 1);
    block(s.body, depth + 1);
    part("step", s.step, depth + 1);
  }

  void cases(const Statement& s, int depth) {
    for (const Case& one_case : s.cases) {
      std::string label;
      for (const int64_t value : one_case.values) label += base::format("case {}: ", value);
      if (one_case.is_default || one_case.values.empty()) label += "default: ";
      label.pop_back();
      line(depth, label);
      block(one_case.body, depth + 1);
    }
  }

  void one(const Statement& s, int depth) {
    const std::string value = s.value == nullptr ? "" : print(*s.value);
    switch (s.kind) {
      case StatementKind::Declare:
        return line(depth, declared(*s.variable) + (s.value == nullptr ? "" : " = " + value));
      case StatementKind::Assign:
        return line(depth, print(*s.place) + " = " + value);
      case StatementKind::Evaluate:
        return line(depth, value);
      case StatementKind::Block:
        line(depth, "{");
        block(s.body, depth + 1);
        return line(depth, "}");
      case StatementKind::If:
        line(depth, "if " + value + " {");
        block(s.body, depth + 1);
        if (!s.otherwise.empty()) {
          line(depth, "} else {");
          block(s.otherwise, depth + 1);
        }
        return line(depth, "}");
      case StatementKind::Loop:
        loop(s, depth, "loop " + (s.value == nullptr ? "" : value + " ") + "{");
        return line(depth, "}");
      case StatementKind::DoLoop:
        loop(s, depth, "do {");
        return line(depth, "} while " + value);
      case StatementKind::Switch:
        line(depth, "switch " + value + " {");
        cases(s, depth);
        return line(depth, "}");
      case StatementKind::Break:
        return line(depth, "break");
      case StatementKind::Continue:
        return line(depth, "continue");
      case StatementKind::Return:
        return line(depth, s.value == nullptr ? "return" : "return " + value);
    }
  }

  std::string out_;
};

}  // namespace

std::string print(const Expression& expression) { return ExpressionPrinter().text(expression); }

std::string print(const Function& function) { return FunctionPrinter().text(function); }

std::string print(const Module& module) {
  std::string out;
  for (const Variable* constant : module.constants)
    out += base::format("constant {} {}{} = {}\n", TypeTable::name(constant->type), print_variable(*constant),
                        constant->address_taken ? " [[address_taken]]" : "",
                        constant->value == nullptr ? "?" : print(*constant->value));
  for (const Function* function : module.functions) out += print(*function);
  return out;
}

}  // namespace kymo::shader::ir
