// Translates whatever text: any input must end in a translation or in an error that says where.
//
// The first byte chooses the target, and whether the text is translated as it would be for a device, or, ten times
// faster, without the standard library, its IR verified after every stage. The rest is the source.
//
// Half of the mutations are libFuzzer's, of bytes; the others move, repeat, drop and replace whole words, as few random
// bytes get past a parser.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/translate.h"
#include "shader/emit/emit.h"
#include "shader/ir/ir.h"
#include "shader/ir/predicate.h"
#include "shader/parse/parser.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/sema/sema.h"
#include "shader/test_support/verify_ir.h"

namespace {

using namespace kymo::shader;

void check(bool is_so, std::string_view what) {
  if (is_so) return;
  std::fprintf(stderr, "translate_fuzz: %s\n", std::string(what).c_str());
  std::abort();
}

void check_module(const ir::Module& module, std::string_view after) {
  const std::string fault = ir::verify(module);
  check(fault.empty(), "after " + std::string(after) + ": " + fault);
}

void translate_with_library(std::string_view source, const Options& options) {
  const Translation translation = translate(source, options);
  if (translation.ok()) return;
  check(translation.first_error() != nullptr, "neither a translation nor an error");
  check(!translation.log.empty(), "an error that is not in the log");
}

void translate_in_stages(std::string_view source, const Options& options) {
  SourceFiles files;
  Diagnostics diagnostics(files);
  Preprocessor preprocessor(files, diagnostics);
  ast::Tree tree;
  Parser parser(tree, diagnostics);
  PreprocessorInput input;
  input.text = source;
  input.file = options.file;
  parser.parse(preprocessor.run(input));
  ir::Module module;
  if (!diagnostics.has_errors()) analyze(tree, options, diagnostics, module, 0);
  if (!diagnostics.has_errors()) {
    check_module(module, "analyze()");
    try {
      ir::make_collectives_uniform(module);
      check_module(module, "make_collectives_uniform()");
      if (options.target == Target::OpenCl) emit_opencl(module);
      if (options.target == Target::Cuda) emit_cuda(module);
      if (options.target == Target::Glsl) emit_glsl(module);
    } catch (const Rejected& rejected) {
      diagnostics.report(rejected);
    }
  }
  check(!diagnostics.has_errors() || !diagnostics.render().empty(), "an error that is not in the log");
}

// ---- Mutations of words

// What sources are made of, apart by blanks.
constexpr std::string_view kVocabulary =
    R"(kernel device constant thread threadgroup const constexpr static inline volatile template<typename template<int
typename class struct enum union using namespace operator this auto decltype( sizeof( alignas( static_assert(
static_cast< as_type< reinterpret_cast< if else for(;;) while do switch case default: break; continue; return
void bool char uchar short ushort int uint long ulong half bfloat float float2 float3 float4 packed_float3 half4
int3 uint2 bool4 char4 size_t vec<T,N> array< metal:: atomic_int atomic<uint> simd_sum( simd_ballot(
simd_shuffle_down( threadgroup_barrier(mem_flags::mem_threadgroup) atomic_fetch_add_explicit(
memory_order_relaxed [[thread_position_in_grid]] [[buffer(0)]] [[host_name("h")]] [[function_constant(0)]]
[[maybe_unused]] METAL_FUNC _Pragma("unroll") __attribute__((always_inline)) coherent(system) __is_empty(
__is_convertible( __is_same( decltype(x):: (*f)(T) using F=void(*)(int); &f {.x=1} union{int i;float4 v;char c[8];}
threadgroup int t[4]={0}; operator T()const device; typename template auto... and or_eq template<>
S(T)->S<T>; S<int>::f( namespace{namespace metal{ metal::precise:: os_log __builtin_ctz( __UINT32_MAX__
#define #if #else #endif #include<metal_stdlib> ## ... [&] [=] () ( ) { } [ ] < > -> :: ; , : ?
= == + - * / % & | ^ ~ ! && || << >> ++ -- += . .xyzw .x 0 1 -1 2147483647 0xffffffffffffffff 1e38f 1.5h nullptr
true false T N x i a b simdgroup_matrix<float,8,8> simdgroup_half8x8 simdgroup_load( simdgroup_store(
simdgroup_multiply_accumulate( make_filled_simdgroup_matrix<float,8>( thread_elements() simd_shuffle( quad_sum(
uniform<int> __metal_fma( __metal_simd_sum( __METAL_MAYBE_FAST_MATH__ atomic_ulong atomic_max_explicit(
#include<simd/simd.h> #include<c10/metal/indexing.h> REGISTER_UNARY_OP( REGISTER_BINARY_OP( REGISTER_TERNARY_OP(
vector_float4 matrix_float4x4 simd:: c10::metal:: memory_order_seq_cst atomic_thread_fence( decltype(f<int>) f<int>
texture1d<half> texture2d<float> texture2d<uint,access::write> texture2d_array<int,access::read> texture3d<T>
[[texture(0)]] [[sampler(0)]] sampler sampler( coord::pixel address::repeat address::clamp_to_border filter::linear
.read( .write( .sample( .gather( .get_width() level( constant A&... a a... uint:3; int:0; a:5,b:27; :N; ulong:40;
struct{uint:3;int:7;}; {[0...3]=1} [N-1]= half2x4 float2x4( atomic_bool alignas(16)
(threadgroup half*) (threadgroup float4*) (thread uchar*)& (thread S*) atomic<bool> threadgroup char* [[threadgroup(0)]])";

// Words, numbers and signs, each with the space before it.
std::vector<std::string_view> words_of(std::string_view text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_space(text[end])) ++end;
    if (end < text.size() && is_word(text[end])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else {
      end = std::min(end + 1, text.size());
    }
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

class WordMutation {
 public:
  WordMutation(std::string_view text, unsigned seed) : words_(words_of(text)), random_(seed) {}

  // Some words of another text, put in somewhere.
  void insert_from(const std::vector<std::string_view>& other) {
    const auto [begin, end] = some(other.size());
    words_.insert(words_.begin() + static_cast<ptrdiff_t>(below(words_.size() + 1)), other.begin() + begin,
                  other.begin() + end);
  }

  void step() {
    if (words_.empty()) words_.push_back(word());
    const auto [begin, end] = some(words_.size());
    const auto from = words_.begin() + begin, to = words_.begin() + end;
    switch (below(5)) {
      case 0:
        words_.erase(from, to);
        break;
      case 1: {
        const std::vector<std::string_view> piece(from, to);
        insert_from(piece);
        break;
      }
      case 2:
        std::swap(*from, words_[below(words_.size())]);
        break;
      case 3:
        *from = word();
        break;
      default:
        words_.insert(from, word());
    }
  }

  std::string text() const {
    std::string text;
    for (const std::string_view each : words_) {
      const bool is_open = !text.empty() && std::isspace(static_cast<unsigned char>(each.front())) == 0 &&
                           std::isalnum(static_cast<unsigned char>(each.front())) != 0;
      if (is_open && std::isalnum(static_cast<unsigned char>(text.back())) != 0) text += ' ';
      text += each;
    }
    return text;
  }

  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  std::string_view word() {
    static const std::vector<std::string_view> vocabulary = split_at_blanks(kVocabulary);
    return below(2) == 0 || words_.empty() ? vocabulary[below(vocabulary.size())] : words_[below(words_.size())];
  }
  // Mostly few words, sometimes many.
  std::pair<ptrdiff_t, ptrdiff_t> some(size_t size) {
    constexpr size_t kFew = 12;
    const size_t begin = below(size), most = below(8) == 0 ? size : kFew;
    return {begin, std::min(size, begin + 1 + below(most))};
  }

  std::vector<std::string_view> words_;
  std::minstd_rand random_;
};

size_t put_back(const std::string& text, uint8_t* data, size_t most) {
  const size_t size = std::min(text.size(), most - 1);
  std::memcpy(data + 1, text.data(), size);
  return size + 1;
}

std::string_view source_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data) + 1, size - 1};
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (size == 0 || seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  WordMutation mutation(source_of(data, size), seed);
  for (size_t left = 1 + mutation.below(4); left > 0; --left) mutation.step();
  return put_back(mutation.text(), data, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other, size_t other_size,
                                            uint8_t* out, size_t most, unsigned seed) {
  if (size == 0 || other_size == 0) return 0;
  WordMutation mutation(source_of(data, size), seed);
  mutation.insert_from(words_of(source_of(other, other_size)));
  out[0] = data[0];
  return put_back(mutation.text(), out, most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr uint8_t kTargets = 3;
  Options options;
  options.target = static_cast<Target>(data[0] % kTargets);
  options.tensor_cores = data[0] >= 128;
  const std::string_view source = source_of(data, size);
  if (data[0] / kTargets % 2 == 0) {
    translate_with_library(source, options);
  } else {
    translate_in_stages(source, options);
  }
  return 0;
}
