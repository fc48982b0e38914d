// Names of functions that people can read.
//
//   std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int,
//       std::less<std::__cxx11::basic_string<…> >, std::allocator<std::pair<…> > >::operator[](std::__cxx11::…&)
//   std::map<std::string, int>::operator[]                       width 40
//   std::map<…>::operator[]                                      width 30
//
// Removes what a reader does not need: the result, the parameters, default arguments of templates, versioned
// namespaces, the hash of Rust. Then, if the name is wider than asked for, template arguments become "…", the innermost
// first, and last the namespaces in the middle. The end of a name stays. A name that is no function of C++, Rust or Go
// stays as it is, as far as it fits. Names are untrusted; the time is proportional to the length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kymo::symbols {

inline constexpr size_t kShownNameWidth = 100;  // without a terminal
inline constexpr size_t kAnyWidth = ~size_t{0};

std::string short_name(std::string_view name, size_t width = kShownNameWidth);

// Short names that are needed again and again.
class ShortNames {
 public:
  explicit ShortNames(size_t width = kShownNameWidth) : width_(width) {}
  const std::string& of(const std::string& name) {
    const auto [known, is_new] = known_.try_emplace(name);
    if (is_new) known->second = short_name(name, width_);
    return known->second;
  }

 private:
  size_t width_;
  std::unordered_map<std::string, std::string> known_;
};

// The same for the rows of a table. Different names stay different: if two of them have one short name, more is shown.
std::vector<std::string> short_names(const std::vector<std::string>& names, size_t width = kShownNameWidth);

}  // namespace kymo::symbols
