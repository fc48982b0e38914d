// `kymo stats --by function`, `wait` and `fault`: the functions that used the CPU, waited or caused page faults.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analyze/functions/samples.h"
#include "trace/reader.h"

namespace kymo::cli {

struct FunctionOptions {
  std::string path;
  functions::What what = functions::What::Cpu;
  std::string range;  // only samples in ranges with this name or pattern; empty: all
  bool by_total = false;
  size_t top = 0;  // 0: all
  bool json = false;
  bool strict = false;
};

// Why a trace has none; `was_recorded`: it was recorded with them.
std::string_view nothing_text(functions::What what, bool was_recorded);

// Returns the exit code.
int show_functions(const trace::Reader& reader, const FunctionOptions& options);

}  // namespace kymo::cli
