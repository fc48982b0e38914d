// `kymo stats --by lock`: the locks that threads waited for, and who held them.
#include "analyze/functions/locks.h"

#include <algorithm>
#include <span>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/read/stats.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using functions::WaitedLock;
using functions::WaitedLocks;

std::string name_of(const std::string& function, bool full_text) {
  if (function.empty()) return "not known";
  return base::printable(full_text ? function : symbols::short_name(function));
}

// "worker 3 in write_line 51 %, worker 1 in write_line 43 %, and 2 more"
std::string holders(const WaitedLock& lock, bool full_text) {
  constexpr size_t kMostShown = 2;
  std::string text;
  for (size_t i = 0; i < std::min(kMostShown, lock.holding.size()); ++i) {
    const WaitedLock::Place& one = lock.holding[i];
    const std::string where = name_of(one.function, full_text);
    text += base::format("{}{}{} {:.0f} %", i == 0 ? "" : ", ", base::printable(one.thread),
                         one.thread.empty()     ? where
                         : one.function.empty() ? ", place " + where
                                                : " in " + where,
                         100 * static_cast<double>(one.ns) / static_cast<double>(std::max<uint64_t>(lock.total_ns, 1)));
  }
  if (lock.holding.size() > kMostShown) text += base::format(", and {} more", lock.holding.size() - kMostShown);
  return text;
}

std::string as_text(const WaitedLocks& all, size_t rows, bool full_text) {
  if (all.locks.empty())
    return all.were_recorded ? "no waits for locks: no thread waited 10 µs or more for one\n"
                             : "no waits for locks: record them with kymo record --with waits\n";
  base::TextTable table({"total", "waits", "max", "pid"}, {{"lock"}, {"waits in"}, {"held by"}});
  for (size_t i = 0; i < rows; ++i) {
    const WaitedLock& lock = all.locks[i];
    const std::string open = lock.unfinished == 0 ? "" : base::format(" ({} not ended)", count_text(lock.unfinished));
    table.add({duration_text(lock.total_ns), count_text(lock.count) + open, duration_text(lock.longest_ns),
               base::format("{}", lock.pid), base::format("{} {:#x}", lock.kind, lock.object),
               name_of(lock.waiting.front().function, full_text), holders(lock, full_text)});
  }
  std::string text = shown(table);
  if (rows < all.locks.size()) text += base::format("({} not shown)\n", count_of(all.locks.size() - rows, "more row"));
  return text;
}

void write(base::JsonWriter& json, const char* name, const std::vector<WaitedLock::Place>& places) {
  json.objects(name, places, [&](const WaitedLock::Place& one) {
    if (!one.thread.empty()) json.field("thread", one.thread);
    if (!one.function.empty()) json.field("function", one.function);
    json.field("ns", one.ns);
  });
}

std::string as_json(const WaitedLocks& all, size_t rows, const std::string& path, const Ledger& ledger) {
  return ledger.document(path, [&](base::JsonWriter& json) {
    json.objects("locks", std::span(all.locks).first(rows), [&](const WaitedLock& lock) {
      json.field("kind", lock.kind);
      json.field("object", base::format("{:#x}", lock.object));
      json.field("pid", lock.pid);
      json.field("count", lock.count);
      json.field("unfinished", lock.unfinished);
      json.field("total_ns", lock.total_ns);
      json.field("max_ns", lock.longest_ns);
      write(json, "waiting", lock.waiting);
      write(json, "holding", lock.holding);
    });
    json.field("rows_not_shown", all.locks.size() - rows);
  });
}

}  // namespace

int show_locks(const trace::Reader& reader, const FunctionOptions& options) {
  WaitedLocks all;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    all = functions::read_locks(reader);
  }
  const size_t rows = options.top == 0 ? all.locks.size() : std::min(options.top, all.locks.size());
  const Ledger ledger(analyze::summarise(reader), all.problems);
  print(options.json ? as_json(all, rows, options.path, ledger) : as_text(all, rows, options.full_text));
  return ledger.finish(options.strict);
}

}  // namespace kymo::cli
