// Finds kymod and talks to it: the paths where it may listen, whether the listener can be trusted, questions and
// answers.
//
// client/connect.h connects and decides; this file has the messages for the user.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "wire/message.h"

namespace kymo::cli {

// Absolute paths, in the order in which they are tried: only `given` if it is set; else the path in KYMO_DAEMON; else
// this user's own, then the host's.
std::vector<std::string> daemon_sockets(const std::string& given);

struct SocketProbe {
  enum class Outcome {
    Connected,
    Absent,         // there is no such file
    NobodyListens,  // a leftover of a daemon that has ended
    NotAllowed,     // this user may not connect
    OtherUser,      // the listener is neither this user nor root
    Unusable,       // something else
  };
  std::string path;
  Outcome outcome = Outcome::Unusable;
  std::string reason;           // one line, if not connected
  std::string remedy;           // what to do about it
  base::FileDescriptor socket;  // if connected
  uid_t daemon_uid = 0;         // the user of the daemon
};

// Tries to connect; sends nothing yet. If too many clients are waiting for the daemon, waits for up to five seconds.
SocketProbe probe_daemon(const std::string& path);

// A conversation with kymod: a command asks, the daemon answers.
//
//   for (DaemonLink& kymod : connect_daemons(socket_option))  // throws NotAvailable, and says what to do
//     for (const auto& part : kymod.ask<wire::ListReply>(wire::List{})) …
//
// Every wait is bounded. Received messages are checked (wire/message.h). An answer that does not fit the request is an
// error.

class DaemonLink {
 public:
  // Sends Hello. Throws Error if the daemon refuses the connection.
  explicit DaemonLink(SocketProbe connected);

  const std::string& path() const { return path_; }
  const wire::Welcome& welcome() const { return welcome_; }

  // The whole answer: a reply that does not fit into one message comes in several.
  template <class Reply>
  std::vector<Reply> ask(const wire::Message& request) {
    return answer_to<Reply>(send(request));
  }
  template <class Reply>
  std::vector<Reply> answer_to(uint32_t serial) {
    std::vector<Reply> parts;
    do {
      check_size(parts.size());
      wire::Message message = answer(serial);
      Reply* part = std::get_if<Reply>(&message);
      if (part == nullptr) throw unexpected(message);
      parts.push_back(std::move(*part));
    } while (parts.back().more);
    return parts;
  }

  // Returns the serial that answers carry.
  uint32_t send(const wire::Message& message);
  // The next message for `serial`, or nothing if none arrives in time. Throws Error when the daemon refuses the request
  // and ConnectionLost when the connection is closed.
  std::optional<wire::Message> next(uint32_t serial, std::chrono::milliseconds limit);

 private:
  void greet();
  wire::Message answer(uint32_t serial);
  static void check_size(size_t parts);
  static Error unexpected(const wire::Message& message);

  std::string path_;
  base::FileDescriptor socket_;
  wire::Welcome welcome_;
  uint32_t last_serial_ = 0;
};

// All daemons of daemon_sockets(given): a program may be connected to the user's own or to the host's. Throws
// NotAvailable if there is none, and Error if none accepts the connection. If only some of them do not, prints a
// warning.
std::vector<DaemonLink> connect_daemons(const std::string& given);

class ConnectionLost : public Error {
 public:
  using Error::Error;
};

}  // namespace kymo::cli
