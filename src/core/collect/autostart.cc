// KYMO_TRACE=run.kymo records any program that links Kymo, and the programs it starts, from the first instruction on.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/say.h"
#include "base/text.h"
#include "collect/folders.h"
#include "collect/own_session.h"
#include "kymo/kymo.h"
#include "record/refusal.h"
#include "record/segment.h"

// Defined in the programs `kymo` and `kymod`, which do not record themselves.
extern "C" __attribute__((weak)) const char kymo_is_kymo_itself;

namespace kymo::collect {
namespace {

// Set by the first process, for the processes that it starts. They append to its file.
constexpr const char* kRootVariable = "KYMO_TRACE_SESSION";
constexpr size_t kSessionDigits = 32;

std::string with_pid(std::string path) {
  for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

// SESSION:DEVICE:INODE of the trace, then the home of the first process (record::Home).
std::string text_of(const EnvironmentSession& session) {
  const record::Home& home = session.home;
  return base::format("{}:{}:{}:{}:{}:{}:{}:{}:{}", to_hex(session.id.bytes), session.file_device, session.file_inode,
                      home.device, home.inode, home.root_device, home.root_inode, home.mounts, home.network);
}

std::optional<EnvironmentSession> parent_session() {
  const char* text = base::environment(kRootVariable);
  if (text == nullptr || std::strlen(text) < kSessionDigits) return std::nullopt;
  EnvironmentSession session{};
  for (size_t i = 0; i < sizeof session.id.bytes; ++i) {
    unsigned byte = 0;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) return std::nullopt;
    session.id.bytes[i] = static_cast<uint8_t>(byte);
  }
  record::Home& home = session.home;
  const int read =
      sscanf(text + kSessionDigits,
             ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64,
             &session.file_device, &session.file_inode, &home.device, &home.inode, &home.root_device, &home.root_inode,
             &home.mounts, &home.network);
  if (read != 8) return std::nullopt;
  return session;
}

// False if the trace was moved or replaced and the first process has ended. Then this process starts its own trace.
bool can_join(const std::string& path, const EnvironmentSession& first) {
  const bool may_have_ended = first.home.network != 0 && first.home.network == record::network_namespace();
  return is_file(path, first.file_device, first.file_inode) || !may_have_ended ||
         record::recorder_listens(first.id.bytes);
}

__attribute__((constructor(102))) void autostart() {
  // Not in a program with more rights than the user who starts it: it would write to any path that the user sets.
  const char* wanted = base::environment("KYMO_TRACE");
  if (wanted == nullptr || *wanted == '\0' || base::environment("KYMO_SESSION") != nullptr) return;
  if (&kymo_is_kymo_itself != nullptr) return;
  if (session_taken()) return;  // by another copy of the library in this process
  try {
    // The path is made absolute once: this program and the programs it starts may change the folder before they use it.
    const std::string pattern = absolute_path(wanted);
    setenv("KYMO_TRACE", pattern.c_str(), 1);
    const std::string path = with_pid(pattern);
    const auto parent = path == pattern ? parent_session() : std::nullopt;
    if (parent && can_join(path, *parent)) {
      join_environment_session(path, options_from_environment(), *parent);
    } else {
      setenv(kRootVariable, text_of(start_environment_session(path, options_from_environment())).c_str(), 1);
    }
  } catch (const std::exception& error) {
    // The user asked for this recording and it is not available. The program continues, and the user gets a message.
    base::say_to_user("not recording: ", error.what());
  }
}

}  // namespace
}  // namespace kymo::collect

extern "C" void kymo_link_collector(void) { kymo_link_sinks(); }
