// The clients that a program's frameworks have registered (kymo/ondemand.h), and the calls to all of them.
//
// Called from the agent's thread, and from the program's where it asks for a trace in code: one call at a time.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "kymo/ondemand.h"

namespace kymo::ondemand {

// What a trace is to hold besides times.
struct TraceFlags {
  bool shapes = false, memory = false, stack = false, flops = false, modules = false;
};

class Clients {
 public:
  void add(Client& client);
  // When it returns no call to the client runs, and none follows.
  void remove(Client& client);
  bool any() const;

  void init_new();  // init() of those that have not been told yet

  // All throw what a client throws. What was started by then is stopped.
  void prepare(const TraceFlags& flags);
  void start();
  void start_memory_profile();
  // All of them are stopped, whatever one throws; the first is thrown on.
  void stop();
  void stop_memory_profile();
  // Each writes beside `path`, which is Kymo's own: "snapshot_client1.pickle". Returns what was written.
  std::vector<std::string> export_memory_profile(const std::string& path);

  // In a forked child: nothing has been started there.
  void after_fork_in_child() noexcept;

 private:
  struct Entry {
    Client* client;
    bool initialised = false, started = false, memory_started = false;
  };
  template <class Call>
  void stop_all(bool Entry::*started, Call call);

  mutable std::recursive_mutex mutex_;  // a client may register another
  std::vector<Entry> entries_;
};

// Never destroyed: clients come and go with the objects they are in.
Clients& all_clients();

// "dir/snapshot.raw.json" and 1: "dir/snapshot_client1.raw.json".
std::string client_path(const std::string& path, size_t number);

}  // namespace kymo::ondemand
