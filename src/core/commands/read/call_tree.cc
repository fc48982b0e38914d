// `kymo stats --tree`, `--callers` and `--callees`: who called the functions of samples.
#include <algorithm>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/stats.h"
#include "kymo/error.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using functions::CallTree;
using functions::What;

// The rows to show: the largest ones, or those with at least 1 % of the tree. With a row, all rows around it are shown.
std::vector<bool> shown_rows(const CallTree& tree, size_t top) {
  constexpr uint64_t kLeastShare = 100;
  std::vector<bool> is_shown(tree.rows.size());
  if (top == 0) {
    uint64_t all_ns = 0;
    for (const CallTree::Row& row : tree.rows) all_ns += row.depth == 0 ? row.total_ns : 0;
    for (size_t i = 0; i < tree.rows.size(); ++i) is_shown[i] = tree.rows[i].total_ns >= all_ns / kLeastShare;
    return is_shown;
  }
  std::vector<size_t> largest(tree.rows.size());
  for (size_t i = 0; i < largest.size(); ++i) largest[i] = i;
  std::ranges::stable_sort(largest, std::ranges::greater(), [&](size_t row) { return tree.rows[row].total_ns; });
  for (size_t i = 0; i < std::min(top, largest.size()); ++i) is_shown[largest[i]] = true;
  return is_shown;
}

std::string as_text(const CallTree& tree, const FunctionOptions& options) {
  const bool has_self = *options.tree != CallTree::Shape::Callers;
  base::TextTable::Column name{"function"};
  if (!options.full_text)
    name.shorten = [](std::string_view text, size_t width) {
      const size_t indent = std::min(text.find_first_not_of(' '), text.size());
      return std::string(indent, ' ') + symbols::short_name(text.substr(indent), width > indent ? width - indent : 1);
    };
  base::TextTable table(has_self ? base::TextTable::columns({"total", "", "self"}, {{"module"}, name})
                                 : base::TextTable::columns({"total", ""}, {{"module"}, name}));
  const std::vector<bool> is_shown = shown_rows(tree, options.top);
  symbols::ShortNames names;
  size_t hidden = 0;
  for (size_t i = 0; i < tree.rows.size(); ++i) {
    const CallTree::Row& row = tree.rows[i];
    if (!is_shown[i]) {
      ++hidden;
      continue;
    }
    std::vector<std::string> cells{duration_text(row.total_ns), percent_text(row.total_ns, tree.time_ns)};
    if (has_self) cells.push_back(row.self_ns == 0 ? "" : duration_text(row.self_ns));
    cells.push_back(base::printable(row.module.substr(row.module.rfind('/') + 1)));
    cells.push_back(std::string(row.depth, ' ') +
                    base::printable(options.full_text ? row.function : names.of(row.function)));
    table.add(std::move(cells));
  }
  std::string text = shown(table);
  if (hidden != 0)
    text += base::format("({} not shown{})\n", count_of(hidden, "more row"),
                         options.top == 0 ? ": below 1 %; --top N shows the N largest" : "");
  return text;
}

std::string as_json(const CallTree& tree, const FunctionOptions& options, const Ledger& ledger) {
  return ledger.document(options.path, [&](base::JsonWriter& json) {
    json.objects("calls", tree.rows, [&](const CallTree::Row& row) {
      json.field("function", row.function);
      json.field("module", row.module);
      json.field("depth", row.depth);
      if (row.depth != 0) json.field("parent", row.parent);
      json.field("samples", row.samples);
      json.field("total_ns", row.total_ns);
      if (*options.tree != CallTree::Shape::Callers) json.field("self_ns", row.self_ns);
    });
    json.field("samples", tree.samples);
    json.field("time_ns", tree.time_ns);
  });
}

}  // namespace

int show_call_tree(const trace::Reader& reader, const FunctionOptions& options) {
  functions::Samples samples;
  CallTree tree;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    samples = read_samples(reader, options);
    tree = functions::call_tree(samples, {*options.tree, options.function, options.inlines});
  }
  if (tree.rows.empty() && tree.samples != 0) refuse_function(samples, options.function);
  const Ledger ledger(analyze::summarise(reader), samples.problems);
  if (options.json)
    print(as_json(tree, options, ledger));
  else if (tree.rows.empty())
    print(base::format("{}\n", nothing_text(options.what, functions::was_requested(reader, options.what))));
  else
    print(as_text(tree, options));
  return ledger.finish(options.strict);
}

}  // namespace kymo::cli
