// The names of kernels as the trace shows them: C++ names are demangled, each name once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kymo/annotate.h"

namespace kymo::inject::cuda {

class KernelNames {
 public:
  // The site of a kernel's executions. It lives as long as the process: recordings refer to it. Null if there are too
  // many kernels: a program that generates its code may have any number of them.
  Site* site_of(std::string_view mangled);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Named {
    std::string name;
    Site site{Label("")};
  };
  std::unordered_map<std::string, std::unique_ptr<Named>, Hash, std::equal_to<>> names_;
};

// Demangled, and short enough to be stored once.
std::string readable_name(std::string_view mangled);

}  // namespace kymo::inject::cuda
