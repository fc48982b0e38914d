// `kymo stats --by function`, `line` and `wait`: the functions that used the CPU or waited.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/functions/samples.h"
#include "base/text_table.h"
#include "trace/reader.h"

namespace kymo::cli {

struct FunctionOptions {
  std::string path;
  functions::What what = functions::What::Cpu;
  std::string range = {};  // only samples in ranges with this name, text or pattern; empty: all
  bool by_total = false;
  size_t top = 0;  // 0: all
  bool json = false;
  bool strict = false;
  bool full_text = false;  // names as they are, with all template arguments
  functions::Inlines inlines = functions::Inlines::Fold;
  std::optional<functions::CallTree::Shape> tree = {};
  std::string function = {};          // of Callers and Callees
  std::vector<std::string> own = {};  // folders of the user's code
  bool lines = false;                 // a row for each source line, with its CPU time and waiting time
};

// The names of the first rows, as a table shows them, and the column for them.
std::vector<std::string> function_names(const functions::FunctionTable& table, size_t rows, bool full_text = false);
base::TextTable::Column function_column(bool full_text = false);

// Why a trace has none; `was_recorded`: it was recorded with them.
std::string_view nothing_text(functions::What what, bool was_recorded);

// The samples that the options select. Throws if no range has the name.
functions::Samples read_samples(const trace::Reader& reader, const FunctionOptions& options);

// No function on the stacks of the samples has this name.
[[noreturn]] void refuse_function(functions::Samples& samples, const std::string& name);

// Return the exit code. The second one is for options with `tree`.
int show_functions(const trace::Reader& reader, const FunctionOptions& options);
int show_call_tree(const trace::Reader& reader, const FunctionOptions& options);
int show_locks(const trace::Reader& reader, const FunctionOptions& options);   // locks.cc
int show_stalls(const trace::Reader& reader, const FunctionOptions& options);  // stalls.cc

}  // namespace kymo::cli
