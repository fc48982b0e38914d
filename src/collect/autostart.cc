// KYMO_TRACE=run.kymo records any program that links Kymo, and the programs it starts, from the first instruction on.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/say.h"
#include "collect/folders.h"
#include "collect/own_session.h"
#include "kymo/kymo.h"

namespace kymo::collect {
namespace {

// Set by the first process, so that those it starts add to its file instead of beginning it anew.
constexpr const char* kRootVariable = "KYMO_TRACE_SESSION";

std::string with_pid(std::string path) {
  for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

std::optional<SessionId> parent_session() {
  const char* text = base::environment(kRootVariable);
  if (text == nullptr || std::strlen(text) != 32) return std::nullopt;
  SessionId id;
  for (size_t i = 0; i < sizeof id.bytes; ++i) {
    unsigned byte = 0;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) return std::nullopt;
    id.bytes[i] = static_cast<uint8_t>(byte);
  }
  return id;
}

__attribute__((constructor(102))) void autostart() {
  // Not in a program that has more rights than whoever starts it: it would write where they say.
  const char* wanted = base::environment("KYMO_TRACE");
  if (wanted == nullptr || *wanted == '\0' || base::environment("KYMO_SESSION") != nullptr) return;
  if (session_taken()) return;  // by another copy of the library in this process
  try {
    // Once for all: this program, and those it starts, may go to another folder first.
    const std::string pattern = absolute_path(wanted);
    setenv("KYMO_TRACE", pattern.c_str(), 1);
    const std::string path = with_pid(pattern);
    const auto parent = path == pattern ? parent_session() : std::nullopt;
    const SessionId id = start_session_by_environment(path, options_from_environment(), parent ? &*parent : nullptr);
    if (!parent) setenv(kRootVariable, to_hex(id.bytes).c_str(), 1);
  } catch (const std::exception& error) {
    // Asked for in so many words, and not to be had: the program runs on, and whoever asked is told.
    base::say_to_user("not recording: ", error.what());
  }
}

}  // namespace
}  // namespace kymo::collect

extern "C" void kymo_link_collector(void) { kymo_link_sinks(); }
