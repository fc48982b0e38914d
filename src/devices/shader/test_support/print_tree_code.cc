// Expressions and statements.

#include "base/text.h"
#include "shader/test_support/tree_printer.h"

namespace kymo::shader::ast {

void Printer::in_quotes(std::string_view content) {
  text += '"';
  for (const char c : content) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c < ' ' || c > '~') {
      text += base::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  text += '"';
}

void Printer::operands(const Expression& expression, size_t first) {
  for (size_t i = first; i < expression.operands.size(); ++i) {
    if (i > first) text += ", ";
    this->expression(*expression.operands[i]);
  }
}

void Printer::expression(const Expression& expression) {
  const auto operand = [&](size_t i) { this->expression(*expression.operands[i]); };
  switch (expression.kind) {
    case ExpressionKind::Integer:
    case ExpressionKind::Float:
    case ExpressionKind::Character:
      text += expression.text;
      break;
    case ExpressionKind::String:
      in_quotes(expression.text);
      break;
    case ExpressionKind::Bool:
      text += expression.flag ? "true" : "false";
      break;
    case ExpressionKind::Nullptr:
      text += "nullptr";
      break;
    case ExpressionKind::Name:
    case ExpressionKind::TypeTrait:
      name(expression.name);
      break;
    case ExpressionKind::Unary:
    case ExpressionKind::Postfix:
      text += '(';
      if (expression.kind == ExpressionKind::Unary) text += expression.op;
      operand(0);
      if (expression.kind == ExpressionKind::Postfix) text += expression.op;
      text += ')';
      break;
    case ExpressionKind::Binary:
    case ExpressionKind::Assign:
      text += '(';
      operand(0);
      text += expression.op == "," ? "" : " ";
      text += expression.op;
      text += ' ';
      operand(1);
      text += ')';
      break;
    case ExpressionKind::Conditional:
      text += '(';
      operand(0);
      text += " ? ";
      operand(1);
      text += " : ";
      operand(2);
      text += ')';
      break;
    case ExpressionKind::Call:
      operand(0);
      text += '(';
      operands(expression, 1);
      text += ')';
      break;
    case ExpressionKind::Index:
      operand(0);
      text += '[';
      operand(1);
      text += ']';
      break;
    case ExpressionKind::Member:
      operand(0);
      text += expression.flag ? "->" : ".";
      name(expression.name);
      break;
    case ExpressionKind::Cast:
      cast(expression);
      break;
    case ExpressionKind::Braces:
      if (expression.type != nullptr) type(*expression.type);
      text += '{';
      operands(expression, 0);
      text += '}';
      break;
    case ExpressionKind::Indexed:
      text += '[';
      operands(expression, 1);
      text += "] = ";
      operand(0);
      break;
    case ExpressionKind::Lambda:
      lambda(*expression.lambda);
      break;
    case ExpressionKind::SizeofType:
    case ExpressionKind::SizeofValue:
      text += expression.text.empty() ? "sizeof" : expression.text;
      text += expression.type != nullptr ? "<" : "(";
      if (expression.type != nullptr) type(*expression.type);
      operands(expression, 0);
      text += expression.type != nullptr ? ">" : ")";
      break;
    case ExpressionKind::SizeofPack:
      text += "sizeof...(";
      name(expression.name);
      text += ')';
      break;
    case ExpressionKind::Fold:
      fold(expression);
      break;
  }
  if (expression.is_expansion) text += "...";
}

void Printer::cast(const Expression& expression) {
  text += expression.text;
  text += '<';
  type(*expression.type);
  text += ">(";
  operands(expression, 0);
  text += ')';
}

void Printer::fold(const Expression& expression) {
  const bool has_init = expression.operands.size() > 1;
  const std::string dots =
      expression.fold_left ? base::format("... {} ", expression.op) : base::format(" {} ...", expression.op);
  const Expression& pack = *expression.operands.back();
  text += '(';
  if (has_init && expression.fold_left) {
    this->expression(*expression.operands[0]);
    text += base::format(" {} ", expression.op);
  }
  if (expression.fold_left) text += dots;
  this->expression(pack);
  if (!expression.fold_left) text += dots;
  if (has_init && !expression.fold_left) {
    text += base::format(" {} ", expression.op);
    this->expression(*expression.operands[0]);
  }
  text += ')';
}

void Printer::lambda(const Lambda& lambda) {
  text += '[';
  std::string_view separator;
  if (lambda.capture_default != CaptureDefault::None) {
    text += lambda.capture_default == CaptureDefault::Copy ? "=" : "&";
    separator = ", ";
  }
  for (const Capture& capture : lambda.captures) {
    text += separator;
    separator = ", ";
    if (capture.name == "this") {
      text += capture.by_reference ? "" : "*";
    } else if (capture.by_reference) {
      text += '&';
    }
    text += capture.name;
    if (capture.value != nullptr) {
      text += " = ";
      expression(*capture.value);
    }
    if (capture.is_expansion) text += "...";
  }
  text += ']';
  template_parameters(*lambda.function);
  signature(*lambda.function);
  if (lambda.is_mutable) text += " mutable";
  body(*lambda.function);
}

// ---- Statements ----------------------------------------------------------------------------------------------------

void Printer::condition(const Statement& statement) {
  text += '(';
  if (statement.init != nullptr) {
    this->statement(*statement.init);
    text += ' ';
  }
  list(statement.declarations, [this](const Declaration* each) { declaration(*each); });
  if (statement.expression != nullptr) expression(*statement.expression);
  text += ") ";
}

void Printer::statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::Empty:
      text += ';';
      break;
    case StatementKind::Block:
      text += '{';
      for (const Statement* each : statement.statements) {
        text += ' ';
        this->statement(*each);
      }
      text += " }";
      break;
    case StatementKind::Expression:
      expression(*statement.expression);
      text += ';';
      break;
    case StatementKind::Declare:
      list(statement.declarations, [this](const Declaration* each) { declaration(*each); });
      text += ';';
      break;
    case StatementKind::If:
      text += statement.is_constexpr ? "if constexpr " : "if ";
      condition(statement);
      this->statement(*statement.body);
      if (statement.otherwise != nullptr) {
        text += " else ";
        this->statement(*statement.otherwise);
      }
      break;
    case StatementKind::While:
    case StatementKind::Switch:
      text += statement.kind == StatementKind::While ? "while " : "switch ";
      condition(statement);
      this->statement(*statement.body);
      break;
    case StatementKind::DoWhile:
      text += "do ";
      this->statement(*statement.body);
      text += " while (";
      expression(*statement.expression);
      text += ");";
      break;
    case StatementKind::For:
      text += "for (";
      if (statement.init != nullptr) {
        this->statement(*statement.init);
      } else {
        text += ';';
      }
      text += ' ';
      if (statement.expression != nullptr) expression(*statement.expression);
      text += "; ";
      if (statement.step != nullptr) expression(*statement.step);
      text += ") ";
      this->statement(*statement.body);
      break;
    case StatementKind::RangeFor:
      text += "for (";
      declaration(*statement.declarations.front());
      text += " : ";
      expression(*statement.expression);
      text += ") ";
      this->statement(*statement.body);
      break;
    case StatementKind::Case:
      text += "case ";
      expression(*statement.expression);
      text += ':';
      break;
    case StatementKind::Default:
      text += "default:";
      break;
    case StatementKind::Break:
      text += "break;";
      break;
    case StatementKind::Continue:
      text += "continue;";
      break;
    case StatementKind::Return:
      text += "return";
      if (statement.expression != nullptr) {
        text += ' ';
        expression(*statement.expression);
      }
      text += ';';
      break;
  }
}

}  // namespace kymo::shader::ast
