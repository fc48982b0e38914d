// The command line of `kymo record`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/interfaces.h"
#include "kymo/session.h"

namespace kymo::cli {

struct RecordOptions {
  std::string output;
  SessionOptions session;
  bool flight = false;  // keeps only the latest events: --flight, or policy overwrite
  bool append = false;  // to an existing trace
  bool strict = false;
  bool quiet = false;
  bool json = false;
  InterfaceChoice interfaces;
  std::string memory;                // record the heap too: KYMO_MALLOC's text; empty: no
  std::vector<std::string> program;  // and its arguments; never empty
};

// The program follows "--", or starts at the first word that is not an option of kymo. Returns nothing if help was
// printed. Throws options::UsageError.
std::optional<RecordOptions> read_record_options(Arguments arguments);

}  // namespace kymo::cli
