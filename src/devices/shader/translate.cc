// The stages of a translation, in the order of the folders:
//
//   preprocess/    characters become tokens
//   parse/         tokens become a syntax tree
//   sema/          names, types, overloads, templates: the tree becomes functions of the IR
//   ir/            a small typed language, and the passes that all targets need
//   emit/          writes OpenCL C, CUDA C++ or GLSL
//   library/       namespace metal and the c10/metal headers, written in Metal
//   test_support/  printers and verifiers, for tests and fuzzers only

#include "kymo/translate.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "shader/emit/emit.h"
#include "shader/ir/ir.h"
#include "shader/ir/predicate.h"
#include "shader/ir/uniform.h"
#include "shader/ir/uses.h"
#include "shader/parse/parser.h"
#include "shader/preprocess/headers.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/sema/sema.h"

namespace kymo::shader {

uint64_t fingerprint();  // of all files of the translator: cmake/KymoFingerprint.cmake makes it

namespace {

struct StandardLibrary {
  const SourceFiles& files;
  const ast::Tree& tree;
  const Parser& parser;  // knows the names
};

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

// The standard library of Metal, parsed. It is read once in a process; each translation continues from here. Nothing of
// it changes any more, so any thread may use it. It exists to the end of the process.
const StandardLibrary& standard_library() {
  static const ReadLibrary* const kLibrary = new ReadLibrary();  // never destroyed: threads may translate at exit
  return kLibrary->parts;
}

// ---- Warnings about sources that translate, but may not do what their author expects --------------------------------

constexpr uint32_t kMaxGroupMemory = 32 << 10;  // Metal's own limit

// Those that the translator uses, and those that change no result.
bool is_known_attribute(std::string_view name) {
  constexpr std::string_view kKnown =
      " alignas always_inline buffer clang::always_inline clang::noinline deprecated fallthrough flatten "
      "function_constant gnu::always_inline gnu::noinline gnu::unused host_name id kernel likely "
      "max_total_threads_per_threadgroup maybe_unused nodiscard noinline unlikely unroll unused visible ";
  const size_t begin = std::min(name.find_first_not_of('_'), name.size());
  const size_t end = name.find_last_not_of('_') + 1;
  const std::string_view plain = begin < end ? name.substr(begin, end - begin) : name;
  return kKnown.find(base::format(" {} ", plain)) != std::string_view::npos;
}

void look_at_attributes(const ast::Declaration& declaration, uint32_t user_file, Diagnostics& diagnostics) {
  if (declaration.at.file >= user_file) {
    for (const ast::Attribute& attribute : declaration.attributes) {
      if (!is_known_attribute(attribute.name))
        diagnostics.warning(attribute.at, base::format("the attribute [[{}]] is ignored", attribute.name));
    }
  }
  // Those of parameters are checked when the kernel is lowered.
  for (const ast::Declaration* member : declaration.members) look_at_attributes(*member, user_file, diagnostics);
}

// Attributes of the source that the translator does not know: they have no effect.
void warn_about_attributes(const ast::Tree& tree, uint32_t user_file, Diagnostics& diagnostics) {
  for (const ast::Declaration* declaration : tree.declarations) {
    if (declaration->at.file < user_file && declaration->kind == ast::DeclarationKind::Namespace) continue;
    look_at_attributes(*declaration, user_file, diagnostics);
  }
}

// Barriers that some threads of a group may not reach: on some devices the others wait for them forever. The module is
// as analyze() made it.
void warn_about_barriers(const ir::Module& module, Diagnostics& diagnostics) {
  const ir::Uses uses(module);
  const bool has_barriers = std::ranges::any_of(
      module.functions, [&](const ir::Function* function) { return uses.of(*function).has_barriers(); });
  if (!has_barriers) return;
  const ir::Uniformity uniformity(module, uses, ir::Uniformity::ConstMemory::Stays);
  const auto& apart = uniformity.barriers_apart();
  std::vector<const ir::Expression*> barriers(apart.begin(), apart.end());
  const auto key = [](const ir::Expression* e) { return std::tuple(e->at.file, e->at.line, e->at.column); };
  std::ranges::sort(barriers, {}, key);
  const auto is_same = [&](const ir::Expression* a, const ir::Expression* b) { return key(a) == key(b); };
  barriers.erase(std::unique(barriers.begin(), barriers.end(), is_same), barriers.end());
  for (const ir::Expression* each : barriers) {
    const bool is_call = each->kind == ir::ExpressionKind::Call;
    diagnostics.warning(each->at,
                        base::format("some threads of the group may not reach {}: move {} out of the branch or loop "
                                     "whose condition differs between threads, and return only after it",
                                     is_call ? base::format("the barrier in \"{}\"", each->function->name)
                                             : std::string("this barrier"),
                                     is_call ? "the call" : "it"));
  }
}

// Kernels that declare more group memory than Metal allows, and than many devices have.
void warn_about_group_memory(const ir::Module& module, const std::vector<Kernel>& kernels, Diagnostics& diagnostics) {
  for (const Kernel& kernel : kernels) {
    if (kernel.group_memory <= kMaxGroupMemory) continue;
    Location at;
    for (const ir::Function* function : module.kernels())
      if (function->host_name == kernel.name) at = function->at;
    diagnostics.warning(at,
                        base::format("the kernel \"{}\" declares {} bytes of threadgroup memory: Metal allows {}, and "
                                     "it cannot be launched on devices that have less",
                                     kernel.name, kernel.group_memory, kMaxGroupMemory));
  }
}

// ---- The stages ----------------------------------------------------------------------------------------------------

constexpr std::string_view kTargetNames[] = {"opencl", "cuda", "glsl"};

Emitted emit_for(Target target, ir::Module& module, const SourceFiles* lines) {
  // Operations of simdgroups need all of their threads: on CUDA those of a warp, elsewhere of a group.
  ir::CollectiveRules rules;
  rules.may_be_in_branches = rules.may_leave_pointers_unset = target != Target::OpenCl;
  ir::make_collectives_uniform(module, rules);
  switch (target) {
    case Target::OpenCl:
      return emit_opencl(module);
    case Target::Cuda:
      return emit_cuda(module, lines);
    case Target::Glsl:
      break;
  }
  return emit_glsl(module);
}

}  // namespace

const Diagnostic* Translation::first_error() const {
  const auto found =
      std::ranges::find_if(diagnostics, [](const Diagnostic& each) { return each.severity == Severity::Error; });
  return found == diagnostics.end() ? nullptr : &*found;
}

uint64_t translator_version() { return fingerprint(); }

std::string_view target_name(Target target) { return kTargetNames[static_cast<size_t>(target)]; }

std::optional<Target> target_named(std::string_view name) {
  for (const Target target : {Target::OpenCl, Target::Cuda, Target::Glsl})
    if (target_name(target) == name) return target;
  return std::nullopt;
}

Translation translate(std::string_view source, const Options& options) {
  const StandardLibrary& library = standard_library();
  SourceFiles files(&library.files);
  Diagnostics diagnostics(files);
  Preprocessor preprocessor(files, diagnostics);
  ast::Tree tree;
  tree.declarations = library.tree.declarations;
  Parser parser(tree, diagnostics, library.parser);
  const auto user_file = static_cast<uint32_t>(files.size());
  PreprocessorInput input;
  input.text = source;
  input.file = options.file;
  input.defines = options.defines;
  input.headers = options.headers;
  input.include = options.include;
  const std::vector<Token> tokens = preprocessor.run(input);
  if (options.target == Target::Cuda) {
    tree.names_thread_elements =
        std::ranges::any_of(tokens, [](const Token& token) { return token.is_name("thread_elements"); });
  }
  parser.parse(tokens);

  Translation translation;
  ir::Module module;
  warn_about_attributes(tree, user_file, diagnostics);
  if (!diagnostics.has_errors()) analyze(tree, options, diagnostics, module, user_file);
  if (!diagnostics.has_errors()) {
    try {
      warn_about_barriers(module, diagnostics);
      Emitted emitted = emit_for(options.target, module, options.lines ? &files : nullptr);
      warn_about_group_memory(module, emitted.kernels, diagnostics);
      translation.text = std::move(emitted.text);
      translation.kernels = std::move(emitted.kernels);
      if (translation.text.empty()) translation.text = "// There are no kernels.\n";
    } catch (const Rejected& rejected) {
      diagnostics.report(rejected);
    }
  }
  for (const Report& report : diagnostics.list()) {
    const auto shown = report.at.file < files.size() ? files.shown(report.at) : SourceFiles::Shown{"", report.at.line};
    translation.diagnostics.push_back(
        {report.severity, std::string(shown.name), shown.line, report.at.column, report.text});
  }
  translation.log = diagnostics.render();
  return translation;
}

std::vector<uint32_t> argument_order(const Kernel& kernel) {
  const std::vector<KernelParameter>& parameters = kernel.parameters;
  std::vector<uint32_t> order(parameters.size());
  using Kind = KernelParameter::Kind;
  const auto counted_as = [&](uint32_t i) {
    return parameters[i].kind == Kind::Value ? Kind::Buffer : parameters[i].kind;
  };
  for (const Kind kind : {Kind::Buffer, Kind::Threadgroup, Kind::Texture, Kind::Sampler}) {
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < parameters.size(); ++i)
      if (counted_as(i) == kind) places.push_back(i);
    std::vector<uint32_t> sorted = places;
    std::ranges::stable_sort(sorted, {}, [&](uint32_t i) { return parameters[i].index; });
    for (size_t i = 0; i < places.size(); ++i) order[places[i]] = sorted[i];
  }
  return order;
}

}  // namespace kymo::shader
