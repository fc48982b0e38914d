// Textures and samplers as parameters of a kernel. library/stdlib_texture.metal defines the types.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMaxTextures = 128;

TextureShape texture_shape(std::string_view symbol) {
  constexpr std::pair<std::string_view, TextureShape> kShapes[] = {{"texture1d", TextureShape::Line},
                                                                   {"texture2d", TextureShape::Plane},
                                                                   {"texture2d_array", TextureShape::Layers},
                                                                   {"texture3d", TextureShape::Volume}};
  for (const auto& [name, shape] : kShapes)
    if (symbol == name) return shape;
  return TextureShape::None;
}

}  // namespace

// The name of a struct of the standard library; empty for other types. A source may have its own types of these names.
std::string_view Lowering::library_name(const Type* type) {
  const Class* made = type->is_struct() ? types_.class_of(type) : nullptr;
  if (made == nullptr || made->symbol == nullptr || made->symbol->declaration->at.file >= context_.user_file) return {};
  return made->symbol->name;
}

bool Lowering::is_texture_or_sampler(const Type* type, ir::Binding& binding) {
  const std::string_view name = library_name(type);
  binding.kind = ir::BindingKind::Value;
  binding.is_const = true;
  binding.is_sampler = name == "sampler";
  binding.texture = texture_shape(name);
  if (binding.texture == TextureShape::None) return binding.is_sampler;
  const TemplateArguments& arguments = class_named(type)->arguments;  // the component, and the access
  binding.texture_component = arguments[0].type.type;
  binding.access = static_cast<TextureAccess>(arguments[1].value->bits & 3);
  return true;
}

void Lowering::bind_texture(FunctionInstance& instance, const Parameter& parameter, const ast::Attribute* numbered,
                            ir::Binding binding, Scope& locals) {
  const ast::Declaration& written = *parameter.declaration;
  const std::string_view kind = binding.is_sampler ? "sampler" : "texture";
  if (numbered != nullptr && numbered->name != kind)
    throw Rejected{numbered->at, base::format("parameter \"{}\" is a {}: it takes [[{}(n)]], not [[{}]]",
                                              parameter.name, kind, kind, numbered->name)};
  const auto is_like = [&](const ir::Binding& each) {
    return binding.is_sampler ? each.is_sampler : each.texture != TextureShape::None;
  };
  const std::vector<ir::Binding>& others = instance.function->bindings;
  const auto is_taken = [&](uint64_t index) {
    return std::ranges::any_of(others, [&](const ir::Binding& each) { return is_like(each) && each.index == index; });
  };
  uint64_t index = 0;
  if (numbered != nullptr && numbered->arguments.size() == 1)
    index = constant_integer(*numbered->arguments[0], *instance.scope, "the number of a texture");
  else
    while (is_taken(index)) ++index;
  if (index >= kMaxTextures)
    throw Rejected{written.at, base::format("{}s are numbered from 0 to {}, not {}", kind, kMaxTextures - 1,
                                            static_cast<int64_t>(index))};
  if (is_taken(index)) throw Rejected{written.at, base::format("two parameters have [[{}({})]]", kind, index)};
  binding.index = static_cast<uint32_t>(index);

  ir::Variable& variable = module_.make_variable(std::string(parameter.name), parameter.type.type);
  variable.is_parameter = true;
  binding.variable = &variable;
  instance.function->parameters.push_back(&variable);
  instance.function->bindings.push_back(binding);
  settled_.insert(&variable);
  Value value = rvalue(build(written.at).variable(variable), parameter.type.type);
  value.is_place = true;
  value.is_const = true;
  make_parameter(parameter, value, locals);
}

// A texture of no pixels.
void Lowering::bind_null_texture(const Parameter& parameter, Scope& locals) {
  const Location at = parameter.declaration->at;
  const Type* type = parameter.type.type;
  Value value = rvalue(build(at).variable(local(parameter.name, type, build(at).zero(type), at)), type);
  value.is_place = true;
  value.is_const = true;
  make_parameter(parameter, value, locals);
}

// Only the runtime makes textures, and only for parameters: in a buffer they would be any bytes.
void Lowering::refuse_textures_in(const Type* type, Location at) {
  while (type->inner != nullptr && !type->is_vector()) type = type->inner;
  if (!type->is_struct()) return;
  if (library_name(type) == "kymo_texture")
    throw Rejected{at, "textures in structures, arrays and buffers are not supported: pass each as a parameter"};
  for (const Field& field : type->fields)
    if (!field.type->is_pointer()) refuse_textures_in(field.type, at);
}

}  // namespace kymo::shader
