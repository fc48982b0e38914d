// The command line of `kymo record`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "kymo/session.h"

namespace kymo::cli {

struct RecordOptions {
  std::string output;
  SessionOptions session;
  bool flight = false;  // only the last part is kept: --flight, or a policy of overwriting
  bool append = false;  // to the trace that is there
  bool strict = false;
  bool quiet = false;
  bool json = false;
  std::string memory;                // record the heap too: KYMO_MALLOC's text; empty: no
  std::vector<std::string> program;  // and its arguments; never empty
};

// The program is what follows "--", or what begins with the first word that is no option of kymo's. Nothing: help was
// asked for, and given. Throws options::UsageError.
std::optional<RecordOptions> read_record_options(Arguments arguments);

}  // namespace kymo::cli
