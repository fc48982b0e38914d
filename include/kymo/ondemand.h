// A running program is asked for a trace, from outside: by `kymo trigger` through kymod, or by dynolog's `dyno`.
//
//   KYMO_DAEMON=1 ./serve                    # any program that links kymo::ondemand
//   kymo trigger --name serve --duration 2s  # from anywhere on the host, as the same user or root
//
// The library starts an agent, one thread, when it is loaded and only if KYMO_DAEMON (or KINETO_USE_DAEMON, for the
// peers' protocol) is set. It sleeps until it is spoken to, prints nothing unless something is wrong, and never touches
// the program's other threads. What the program annotates is recorded then, and what frameworks tell through a Client.
//
// KYMO_DAEMON is 1 for the daemon of this user ($XDG_RUNTIME_DIR/kymo) or else of the host (/run/kymo), or the path of
// a socket. KYMO_FLIGHT=64MB (or 30s) keeps the last part in memory all the time, for `kymo trigger --last`.
// KYMO_TRACE_DIR names the folders that traces may go to, separated by colons; without it any that the user may write.
//
// A forked child has an agent of its own; a program with more rights than whoever starts it (setuid) has none. When the
// program ends a running trace is completed, which takes at most two seconds. Where the program starts a kymo::Session
// itself, that one wins and the trace that was asked for ends.
#pragma once

#include <cstdint>
#include <string>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo {

// One more iteration of the program's main loop has begun. Any thread; some ns. `--iterations` counts these, from 0;
// without them, ranges whose name begins with "step", "iteration" or "ProfilerStep".
KYMO_API void step() noexcept;
KYMO_API uint64_t steps() noexcept;  // so far

namespace ondemand {

// What a framework does when a trace is asked for. Calls come from the agent's thread, or from the one that asks in
// code, one at a time; one that throws ends that trace, and whoever asked is told what it said. Kymo's own recording is
// on between start() and stop().
class KYMO_API Client {
 public:
  virtual ~Client() = default;
  virtual void init() {}  // once, when the agent has started
  // The options of the coming trace.
  virtual void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops,
                       bool with_modules);
  virtual void start() {}
  virtual void stop() {}
  virtual void start_memory_profile() {}
  virtual void stop_memory_profile() {}
  // In the form that the extension names, beside Kymo's own profile: `path` is "NAME_client1.EXTENSION" where that is
  // "NAME.EXTENSION". False: it has nothing of its own.
  virtual bool export_memory_profile(const std::string& path);
};

// Adds a client. Any time; from static initialisers by a static `kymo::ondemand::Registration<MyClient>`.
KYMO_API void register_client(Client& client);
// Ends a trace that is running, as when the program ends, and calls the client no more.
KYMO_API void unregister_client(Client& client);
template <class T>
struct Registration {
  T client;
  Registration() { register_client(client); }
  ~Registration() { unregister_client(client); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
};

// Starts the agent where KYMO_DAEMON or KINETO_USE_DAEMON asks for it. Called when the library is loaded; calling it
// again does nothing, unless the variables were set meanwhile.
KYMO_API void init() noexcept;

// The same calls from code: what the agent does when it is asked. They throw kymo::Error, and what a client throws.
KYMO_API void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops,
                      bool with_modules);
// Refused where something records already. By extension: .kymo, .json, .json.gz, .pftrace, .csv.
KYMO_API void start(const std::string& path);
KYMO_API void stop();  // the file is there when it returns
KYMO_API void start_memory_profile();
KYMO_API void stop_memory_profile();
// After stop_memory_profile(), or while it runs. By extension: .kymo, .json, .raw.json (each also .gz), .pickle, .html.
KYMO_API void export_memory_profile(const std::string& path);

}  // namespace ondemand
}  // namespace kymo

// Makes sure that a program that links Kymo statically has the agent too; called by nobody.
extern "C" KYMO_API void kymo_link_ondemand(void);
namespace kymo::detail {
[[gnu::used]] inline constexpr auto* kLinkOnDemand = &kymo_link_ondemand;
}
