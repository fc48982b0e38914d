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

#include "shader/emit/emit.h"
#include "shader/ir/ir.h"
#include "shader/ir/predicate.h"
#include "shader/parse/parser.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/sema/sema.h"
#include "shader/standard_library.h"
#include "shader/warnings.h"

namespace kymo::shader {

uint64_t fingerprint();  // of all files of the translator: cmake/KymoFingerprint.cmake makes it

namespace {

constexpr std::string_view kTargetNames[] = {"opencl", "cuda", "glsl"};

Emitted emit_for(Target target, ir::Module& module) {
  // Operations of simdgroups need all of their threads: on CUDA those of a warp, elsewhere of a group.
  ir::CollectiveRules rules;
  rules.may_be_in_branches = rules.may_leave_pointers_unset = target != Target::OpenCl;
  ir::make_collectives_uniform(module, rules);
  switch (target) {
    case Target::OpenCl:
      return emit_opencl(module);
    case Target::Cuda:
      return emit_cuda(module);
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
      Emitted emitted = emit_for(options.target, module);
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
