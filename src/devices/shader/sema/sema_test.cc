#include <cctype>

#include "shader/parse/parser.h"
#include "shader/preprocess/headers.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/sema/test_sema.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader {

namespace {

// name.12 becomes name
std::string without_numbers(const std::string& text) {
  std::string result;
  bool in_name = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    const bool is_word = std::isalnum(letter) != 0 || letter == '_' || letter >= 0x80;
    if (in_name && letter == '.' && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) {
      while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) ++i;
      in_name = false;
      continue;
    }
    // operator+.3 and lambda.4 have numbers too
    if (!is_word && letter != '.' && i + 2 < text.size() && text[i + 1] == '.' &&
        std::isdigit(static_cast<unsigned char>(text[i + 2])) != 0 && letter != ' ' && letter != '(') {
      result += text[i++];
      while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) ++i;
      continue;
    }
    if (!is_word) in_name = false;
    if (is_word && !in_name)
      in_name = std::isdigit(letter) == 0 && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
    result += text[i];
  }
  return result;
}

std::string kernel_of(std::string_view body, std::string_view before) {
  return std::string(before) +
         "\nkernel void f(device float* a, device int* b, uint i [[thread_position_in_grid]]) {\n" + std::string(body) +
         "\n}\n";
}

std::string analyzed_ir(const AnalyzedSource& source) {
  EXPECT_EQ(source.faults, "");
  return source.ir;
}

}  // namespace

AnalyzedSource analyzed(std::string_view source, const Options& options, bool with_library) {
  SourceFiles files;
  Diagnostics diagnostics(files);
  Preprocessor preprocessor(files, diagnostics);
  ast::Tree tree;
  Parser parser(tree, diagnostics);
  const auto read = [&](std::string_view text) {
    PreprocessorInput input;
    input.text = text;
    input.defines = options.defines;
    parser.parse(preprocessor.run(input));
  };
  if (with_library) {
    for (const std::string_view text : standard_library_texts()) read(text);
  }
  const auto user_file = static_cast<uint32_t>(files.size());
  read(source);
  ir::Module module;
  AnalyzedSource result;
  if (!diagnostics.has_errors()) analyze(tree, options, diagnostics, module, user_file);
  for (const Report& each : diagnostics.list()) {
    const std::string_view severity = each.severity == Severity::Error  ? "error"
                                      : each.severity == Severity::Note ? "note"
                                                                        : "warning";
    result.faults += std::to_string(each.at.line) + ": " + std::string(severity) + ": " + each.text + "\n";
  }
  if (!diagnostics.has_errors()) {
    EXPECT_EQ(ir::verify(module), "");
    result.ir = without_numbers(ir::print(module));
  }
  return result;
}

std::string lowered(std::string_view source, const Options& options) { return analyzed_ir(analyzed(source, options)); }

std::string lowered_with_library(std::string_view source, const Options& options) {
  return analyzed_ir(analyzed(source, options, true));
}

std::string lines(std::string_view body, std::string_view before) {
  const std::string whole = lowered(kernel_of(body, before));
  const size_t kernel = whole.find("kernel \"f\"");
  if (kernel == std::string::npos) return whole;
  std::string result;
  size_t at = whole.find('\n', kernel) + 1;
  while (at < whole.size()) {
    const size_t end = whole.find('\n', at);
    std::string_view line = std::string_view(whole).substr(at, end - at);
    at = end == std::string::npos ? whole.size() : end + 1;
    if (line == "}") break;
    if (line.starts_with("  uint i = grid_position()")) continue;
    result += std::string(line.substr(2)) + "\n";
  }
  return result;
}

std::string faults(std::string_view source, const Options& options) { return analyzed(source, options).faults; }

std::string faults_of(std::string_view body, std::string_view before, const Options& options) {
  const std::string all = faults(kernel_of(body, before), options);
  std::string result;
  size_t at = 0;
  while (at < all.size()) {
    const size_t end = all.find('\n', at);
    const std::string_view line = std::string_view(all).substr(at, end - at);
    result += std::string(line.substr(line.find(": ") + 2)) + "\n";
    at = end + 1;
  }
  return result;
}

TEST(SemaTest, AKernelBecomesAFunctionWithBindings) {
  EXPECT_EQ(lowered(R"(
kernel void scale(device float* a [[buffer(2)]], constant float& by, uint i [[thread_position_in_grid]]) {
  a[i] = a[i] * by + 1.0;
})"),
            R"(kernel "scale" void scale([[buffer(2)]] device float* a, [[value(0) const]] float by) {
  uint i = grid_position()[0]
  (*(a + long(i))) = (((*(a + long(i))) * by) + 1.0f)
}
)");
}

TEST(SemaTest, OneRunFindsSeveralErrors) {
  EXPECT_EQ(faults(R"(kernel void f(device float* a) {
  a[0] = nothing;
  a[1] = 2;
  a[2] = nofunction(3);
  undeclared = 4;
})"),
            "2: error: there is no name \"nothing\" here\n"
            "4: error: there is no function \"nofunction\" here\n"
            "5: error: there is no name \"undeclared\" here\n");
}

TEST(SemaTest, AMisspeltNameIsNotedWithTheRightOne) {
  EXPECT_EQ(faults(R"(struct Sizes { uint width, height; };
kernel void f(device float* input, constant Sizes& sizes, uint index [[thread_position_in_gird]]) {
  inptu[index] = sqtr(input[0]) + sizes.widht;
  flaot x = 1;
})"),
            "2: error: the attribute [[thread_position_in_gird]] of parameter \"index\" is not supported; did you mean "
            "[[thread_position_in_grid]]?\n");
  EXPECT_EQ(faults(R"(struct Sizes { uint width, height; };
kernel void f(device float* input, constant Sizes& sizes) {
  inptu[0] = 1;
  input[0] = sqtr(input[0]);
  input[1] = sizes.widht;
  Size x;
})"),
            "3: error: there is no name \"inptu\" here; did you mean \"input\"?\n"
            "4: error: there is no function \"sqtr\" here; did you mean \"sqrt\"?\n"
            "5: error: there is no member \"widht\" in \"Sizes\"; did you mean \"width\"?\n"
            "6: error: there is no type \"Size\" here; did you mean \"Sizes\"?\n");
}

TEST(SemaTest, AVariableWhoseDeclarationFailedIsNotReportedAgain) {
  EXPECT_EQ(faults_of("int x = nothing; x = 3; b[0] = x + 1;"), "error: there is no name \"nothing\" here\n");
}

TEST(SemaTest, FunctionsThatNoKernelUsesAreCheckedToo) {
  EXPECT_EQ(faults("int unused() { return nothing; }\nkernel void f(device int* a) { a[0] = 1; }"),
            "1: error: there is no name \"nothing\" here\n");
}

}  // namespace kymo::shader
