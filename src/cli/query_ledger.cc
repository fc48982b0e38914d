#include "cli/query_ledger.h"

#include <set>

#include "analyze/summary.h"
#include "cli/ledger.h"

namespace kymo::cli {

bool show_ledgers(const query::Session& session) {
  bool missing = false;
  std::set<std::string> shown;  // a file may be read twice, under its name and as one of several
  for (const auto& traces : session.traces()) {
    for (const query::LoadedTrace& trace : traces->all()) {
      if (!shown.insert(trace.path).second) continue;
      const Ledger ledger(analyze::summarise(trace.reader), traces->problems(trace));
      ledger.show();
      missing |= !ledger.empty();
    }
  }
  return missing;
}

}  // namespace kymo::cli
