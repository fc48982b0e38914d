#include "device/vulkan/glsl.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/text.h"
#include "device/vulkan/spirv_exact.h"

namespace kymo::device::vulkan {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Removes `word` and the blanks after it from the front. False: the text begins with something else.
bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

template <class Each>
void for_each_line(std::string_view text, Each&& each) {
  for (uint32_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool is_identifier(std::string_view name) {
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, letter) && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

[[noreturn]] void refuse_pragma(std::string_view file, uint32_t line, const std::string& text) {
  throw CompileError(base::format("{}:{}: error: {}", file, line, text), std::string(file), line, 0, text);
}

}  // namespace

std::vector<std::string> kernel_pragmas(std::string_view text, std::string_view file) {
  std::vector<std::string> names;
  for_each_line(text, [&](std::string_view line, uint32_t number) {
    line = trimmed(line);
    if (!skip(line, "#") || !skip(line, "pragma")) return;
    if (!line.starts_with("kernel") || (line.size() > 6 && kBlank.find(line[6]) == std::string_view::npos)) return;
    skip(line, "kernel");
    const std::string_view name = line.substr(0, std::min(line.find_first_of(" \t/"), line.size()));
    if (!is_identifier(name))
      refuse_pragma(file, number, base::format("`#pragma kernel {}` needs the name of a function", name));
    if (std::ranges::find(names, name) != names.end())
      refuse_pragma(file, number, base::format("the kernel {} is named twice", name));
    names.emplace_back(name);
  });
  return names;
}

GlslOptions parse_glsl_options(const std::vector<std::string>& options) {
  GlslOptions parsed;
  for (size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    if (option == "-O0") continue;
    if (option == "-O") {
      parsed.optimise = true;
    } else if (option == "-g") {
      parsed.debug = true;
    } else if (option.starts_with("-D")) {
      option.remove_prefix(2);
      if (option.empty() && i + 1 < options.size()) option = options[++i];
      const size_t equals = std::min(option.find('='), option.size());
      const std::string_view name = option.substr(0, equals);
      if (!is_identifier(name))
        throw InvalidArgument(base::format(
            "the option -D{} of a GLSL kernel has no valid macro name: use -DNAME or -DNAME=VALUE", option));
      parsed.macros.emplace_back(name, option.substr(std::min(equals + 1, option.size())));
    } else {
      throw InvalidArgument(
          base::format("unknown option {} for a GLSL kernel: use -DNAME, -DNAME=VALUE, -O, -O0 or -g", option));
    }
  }
  return parsed;
}

std::string tidy_glslang_log(std::string_view log, std::string_view path, std::string_view file) {
  std::string tidy;
  for_each_line(log, [&](std::string_view line, uint32_t) {
    std::string_view rest = trimmed(line);
    if (rest.empty() || rest == path || rest.starts_with("SPIR-V is not generated") ||
        rest.ends_with("No code generated.") || rest.ends_with("'' : compilation terminated"))
      return;
    const bool error = skip(rest, "ERROR:");
    if (error && !tidy.empty() && rest.starts_with("Linking")) return;  // only repeats an earlier error
    if (!error && !skip(rest, "WARNING:")) {
      tidy += base::format("{}\n", rest);
      return;
    }
    const std::string_view kind = error ? "error" : "warning";
    if (rest.starts_with(path) && rest.substr(path.size()).starts_with(":")) {
      const std::string_view place = rest.substr(path.size() + 1);
      const size_t colon = std::min(place.find(':'), place.size());
      tidy += base::format("{}:{}: {}: {}\n", file, place.substr(0, colon), kind,
                           trimmed(place.substr(std::min(colon + 1, place.size()))));
    } else {
      tidy += base::format("{}: {}: {}\n", file, kind, rest);
    }
  });
  return tidy;
}

CompileError glsl_error(std::string_view log, std::string_view file) {
  constexpr std::string_view kError = " error: ";
  std::string whole(log.substr(0, log.find_last_not_of(" \t\r\n") + 1));
  if (whole.empty()) whole = base::format("{}: error: the compiler does not say why", file);
  std::string text = whole;
  uint32_t line_number = 0;
  bool found = false;
  for_each_line(whole, [&](std::string_view line, uint32_t) {
    const size_t at = line.find(kError);
    if (found || at == std::string_view::npos) return;
    found = true;
    text = trimmed(line.substr(at + kError.size()));
    // "FILE:3:" or "FILE:"
    std::string_view place = line.substr(0, at);
    if (!place.ends_with(':')) return;
    place.remove_suffix(1);
    const std::string_view digits = place.substr(place.rfind(':') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), line_number);
  });
  return {whole, std::string(file), line_number, 0, text};
}

std::unique_ptr<GlslCompiler> find_glsl_compiler() {
  std::string why;
  try {
    return load_shaderc();
  } catch (const NotAvailable& error) {
    why = error.what();
  }
  try {
    return find_glslang_program();
  } catch (const NotAvailable& error) {
    throw NotAvailable(base::format("vulkan: no GLSL compiler found: {}; {}", why, error.what()));
  }
}

std::vector<ModuleCode> compile_glsl(GlslCompiler& compiler, const Source& source) {
  const GlslOptions options = parse_glsl_options(source.options);
  const std::vector<std::string> names = kernel_pragmas(source.text, source.file);
  std::vector<ModuleCode> modules;
  const auto compiled = [&](const GlslOptions& own) {
    return spirv::without_contraction(spirv::Module(compiler.compile(source.text, own, source.file)));
  };
  if (names.empty()) modules.push_back({"", compiled(options)});
  for (const std::string& name : names) {
    GlslOptions own = options;
    own.macros.emplace_back(name, "main");
    try {
      modules.push_back({name, compiled(own)});
    } catch (const CompileError& error) {
      if (error.text().find("Missing entry point") == std::string::npos) throw;
      throw glsl_error(
          base::format("{}: error: `#pragma kernel {}`: function not found: void {}()", source.file, name, name),
          source.file);
    }
  }
  return modules;
}

}  // namespace kymo::device::vulkan
