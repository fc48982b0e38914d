// The text while it is written: the data that the functions of a module share.
//
// A text is compiled once for each of its kernels, with the kernel's name defined. Code that only some kernels need is
// between #if and #endif.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "shader/emit/c_prelude.h"
#include "shader/emit/glsl_resolve.h"
#include "shader/emit/glsl_types.h"
#include "shader/emit/names.h"
#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

enum class Extension : uint8_t { Bytes, Shorts, Scopes, WideAtomics, LoopWishes };

class Unit {
 public:
  explicit Unit(const ir::Module& module);
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const ir::Module& module;
  Names names;
  Types types;
  Resolver resolver;
  CPrelude prelude;
  std::vector<std::string> kernel_names;
  Location at;  // the position of the current code: for errors

  [[noreturn]] void refuse(std::string text) const { throw Rejected{at, std::move(text)}; }

  // Operations among the threads of a simdgroup or a group, which have their own shared memory.
  CPrelude& simdgroups(const KernelSet& kernels) {
    simd_kernels_.add(kernels);
    return simd_;
  }

  // Accesses a buffer: `float_at(address).v`. `type` is GLSL's.
  std::string reference(const std::string& type, uint32_t align);
  void need(Extension extension) { extensions_ |= 1U << static_cast<uint32_t>(extension); }
  bool needs(Extension extension) const { return (extensions_ >> static_cast<uint32_t>(extension) & 1) != 0; }
  // Barriers also apply to buffers: threads must see what other threads wrote to them.
  void share_buffers() { is_coherent_ = true; }

  // A variable that pointers point to, or that threads share.
  void declare(const Cell& cell, const KernelSet& kernels);
  // In the order of the calls; `kernels` null: for all.
  void add_global(std::string text, const KernelSet* kernels);
  void add_function(std::string text, const KernelSet* kernels);

  // A helper that is created when it is first needed: its name is `wanted` or similar. `make` returns its text for a
  // name, and may request other helpers.
  template <class Make>
  const std::string& helper(const std::string& key, std::string_view wanted, Make&& make,
                            const KernelSet* kernels = nullptr) {
    const auto found = helpers_.find(key);
    if (found != helpers_.end()) return found->second;
    const std::string name = names.take_outermost(wanted);
    add_function(make(name), kernels);
    return helpers_[key] = name;
  }

  // A helper that accesses a variable, so it exists only in kernels that have this variable.
  template <class Make>
  const std::string& accessor(const Cell& cell, const KernelSet& kernels, const std::string& key,
                              std::string_view wanted, Make&& make) {
    accessor_kernels_[&cell].add(kernels);
    const auto found = helpers_.find(key);
    if (found != helpers_.end()) return found->second;
    const std::string name = names.take_outermost(wanted);
    std::string text = make(name);
    accessors_.emplace_back(&cell, std::move(text));
    return helpers_[key] = name;
  }

  // The condition of an endless loop.
  std::string goes_on();

  // Whether this is the first call with this key: for overloads of a name.
  bool is_new(const std::string& key) { return seen_.insert(key).second; }

  std::string type_of(const Cell& cell);
  std::string declaration(const Cell& cell);  // "shared float tile"

  std::string text();

 private:
  struct Piece {
    std::string text;
    KernelSet kernels;
    bool is_for_all = true;
  };
  std::string references() const;
  std::vector<Piece> cells();
  std::vector<Piece> accessors() const;
  void write(std::string& out, const std::vector<Piece>& pieces) const;
  bool is_for_all(const KernelSet& kernels) const;
  std::string condition(const KernelSet& kernels) const;
  std::string extensions() const;

  CPrelude simd_;
  KernelSet simd_kernels_;
  std::vector<Piece> globals_, functions_;
  std::vector<std::pair<const Cell*, KernelSet>> cells_;
  std::unordered_map<const Cell*, size_t> cell_numbers_;
  std::vector<std::pair<const Cell*, std::string>> accessors_;
  std::unordered_map<const Cell*, KernelSet> accessor_kernels_;
  std::unordered_set<std::string> seen_;
  struct Reference {
    std::string name, type;
    uint32_t align = 1;
  };
  std::unordered_map<std::string, std::string> helpers_;
  std::vector<Reference> references_;  // few
  uint32_t extensions_ = 0, loops_ = 0;
  bool is_coherent_ = false;
};

}  // namespace kymo::shader::glsl
