// On-demand traces of a running program: `kymo trigger` requests one through kymod, or dynolog's `dyno` does.
//
//   KYMO_DAEMON=1 ./serve                    # any program that links kymo::ondemand
//   kymo trigger --name serve --duration 2s  # from anywhere on the host, as the same user or root
//
// When the library is loaded it starts an agent, which is one thread. It does so only if KYMO_DAEMON is set (or
// KINETO_USE_DAEMON, for the protocol of Kineto and dynolog). The agent sleeps until it receives a message. It prints
// nothing unless something is wrong, and never touches the program's other threads. A trace contains what the program
// annotates, and what frameworks report through a Client.
//
// KYMO_DAEMON is 1, or the path of a socket. 1 means the daemon of this user ($XDG_RUNTIME_DIR/kymo), otherwise the
// daemon of the host (/run/kymo). KYMO_FLIGHT=64MB (or 30s) always keeps the last part of the recording in memory, for
// `kymo trigger --last`. KYMO_TRACE_DIR lists the folders where traces may be written, separated by colons; without it,
// any folder that the user may write to.
//
// A forked child has its own agent. A setuid program, which has more rights than the user who starts it, has none. When
// the program ends, a running trace is completed; this takes at most two seconds. If the program itself starts a
// kymo::Session, the session wins and the requested trace ends.
#pragma once

#include <cstdint>
#include <string>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo {

// Marks the start of one more iteration of the program's main loop, also in the trace ("step 0", "step 1", …). Any
// thread may call it; it costs a few ns.
// `--iterations` counts these calls, from 0. Without them it counts ranges whose name begins with "step", "iteration"
// or "ProfilerStep".
KYMO_API void step() noexcept;
KYMO_API uint64_t steps() noexcept;  // the number of calls so far

namespace ondemand {

// What a framework does for a requested trace. Calls come one at a time, from the agent's thread or from the thread
// that requests a trace in code. If a call throws, that trace ends and the requester gets the message. Kymo's own
// recording is active between start() and stop().
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
  // Writes the format that the extension names, next to Kymo's own profile: if that is "NAME.EXTENSION", `path` is
  // "NAME_client1.EXTENSION". Returns false if the client has no data of its own.
  virtual bool export_memory_profile(const std::string& path);
};

// Adds a client, at any time. For static initialisation, define a static `kymo::ondemand::Registration<MyClient>`.
KYMO_API void register_client(Client& client);
// Ends a running trace, as at the end of the program, and never calls the client again.
KYMO_API void unregister_client(Client& client);
template <class T>
struct Registration {
  T client;
  Registration() { register_client(client); }
  ~Registration() { unregister_client(client); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
};

// Starts the agent if KYMO_DAEMON or KINETO_USE_DAEMON is set. Called when the library is loaded. Another call does
// nothing, unless the variables have been set in the meantime.
KYMO_API void init() noexcept;

// The same from code: what the agent does on a request. They throw kymo::Error, and everything that a client throws.
KYMO_API void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops,
                      bool with_modules);
// Throws if something records already. The extension selects the format: .kymo, .json, .pftrace, .csv; .gz after
// one of the last three compresses the file.
KYMO_API void start(const std::string& path);
KYMO_API void stop();  // the file is complete when it returns
KYMO_API void start_memory_profile();
KYMO_API void stop_memory_profile();
// Call it after stop_memory_profile(), or while the profile runs. The extension selects the format: .kymo, .json,
// .raw.json (each also with .gz), .pickle, .html.
KYMO_API void export_memory_profile(const std::string& path);

}  // namespace ondemand
}  // namespace kymo

// Makes a program that links Kymo statically also link the agent. Nobody calls it.
extern "C" KYMO_API void kymo_link_ondemand(void);
namespace kymo::detail {
[[gnu::used]] inline constexpr auto* kLinkOnDemand = &kymo_link_ondemand;
}
