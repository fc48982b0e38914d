// Whole functions, and the program's constants.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/emit/glsl_constants.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {

std::string Writer::function() {
  const ir::Function& function = *instance_.function;
  unit_.at = function.at;
  enter();
  std::string parameters;
  std::vector<std::pair<Cell*, Text>> copies;
  size_t next = 0;
  for (const ir::Variable* parameter : function.parameters) {
    Cell& known = cell(*parameter);
    std::string type;
    if (is_static_pointer(parameter->type)) {
      const uint32_t ints = instance_.arguments[next++].ints();
      if (ints == 0) {
        if (known.shapes[0].ints() != 0) copies.emplace_back(&known, Text{"0"});
        continue;
      }
      type = unit_.types.vector_name(TypeKind::Int, ints);
    } else {
      next += unit_.types.static_pointers(parameter->type);
      type = unit_.types.name(parameter->type);
    }
    const std::string name = unit_.names.take(parameter->name);
    (parameters += parameters.empty() ? "" : ", ") += base::format("{} {}", type, name);
    if (known.is_rooted)
      copies.emplace_back(&known, Text{name});
    else
      known.name = name;
  }
  std::string result = unit_.types.name(function.result);
  if (is_static_pointer(function.result) && !instance_.result.empty())
    result = unit_.types.vector_name(TypeKind::Int, std::max(1U, instance_.result[0].ints()));
  for (const auto& [known, text] : copies) begin(*known, text);
  body();
  leave();
  return base::format("{} {}({}) {{\n{}}}\n", result, instance_.name, parameters, take_text());
}

void write_constants(Unit& unit, Memory& memory) {
  Instance nobody;
  Writer writer(unit, memory, nobody);
  for (const ir::Variable* constant : unit.module.constants) {
    const Cell& cell = unit.resolver.cell(nobody, *constant);
    if (cell.name.empty()) continue;  // no kernel reaches it
    if (cell.is_words) {
      unit.add_global(base::format("const uint[{}] {} = {};\n", words_of(cell.type), cell.name, words_text(*constant)),
                      nullptr);
      continue;
    }
    const Text value = constant->value == nullptr ? memory.zero(constant->type) : writer.value(*constant->value);
    unit.add_global(base::format("const {} {} = {};\n", unit.types.name(constant->type), cell.name, value.text),
                    nullptr);
  }
}

}  // namespace kymo::shader::glsl
