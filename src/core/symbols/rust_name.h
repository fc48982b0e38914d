// Rust's names, as its compiler writes them since 2025 (RFC 2603): "_RNvCs1234_7mycrate3foo" is "mycrate::foo". The
// older ones look like names of C++, which short_name() completes.
#pragma once

#include <string>
#include <string_view>

namespace kymo::symbols {

// Without hashes. Empty: it is no such name, or is longer than 64 KiB. A name is untrusted.
std::string demangled_rust(std::string_view name);

}  // namespace kymo::symbols
