// The daemon's end of Kineto's fabric: datagrams, each with the credentials of whoever sent it.
//
// Nothing that arrives can stop it: what is too long, cut off, without a name to answer to or without credentials is
// counted, logged now and then, and gone. Answers go to the very socket that asked: where that has a path, its owner is
// checked first, or a link in its place could have them delivered to somebody else.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <map>
#include <string>

#include "base/file.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "kymo/error.h"
#include "wire/fabric.h"

namespace kymo::daemon {

// A name, or an address of TCP, that another has at the moment.
class Taken : public Error {
 public:
  using Error::Error;
};

// Who sent a datagram.
struct FabricSender {
  sockaddr_un address{};
  socklen_t address_length = 0;
  ucred credentials{};
};

class FabricSocket {
 public:
  using Handler = std::function<void(const FabricSender&, const wire::FabricRequest&)>;
  // `folder` empty: the abstract namespace. Throws Taken where the name is, and kymo::Error.
  FabricSocket(Loop& loop, Log& log, const std::string& folder, Handler handler);
  ~FabricSocket();
  FabricSocket(const FabricSocket&) = delete;
  FabricSocket& operator=(const FabricSocket&) = delete;

  // False: it did not get it.
  bool answer(const FabricSender& sender, const wire::FabricReply& reply);

 private:
  void bind_there(const std::string& folder);
  void receive_some();
  void receive(const FabricSender& sender, base::Bytes untrusted);
  bool may_ask_again(uint32_t uid);

  struct Allowance {
    double left;
    Loop::Clock::time_point at;
  };

  Log& log_;
  Handler handler_;
  std::string path_;  // to take away at the end
  base::FileDescriptor socket_;
  std::map<uint32_t, Allowance> allowances_;  // by user
  Loop::Watch watch_;
};

}  // namespace kymo::daemon
