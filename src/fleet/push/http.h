// A ClickHouse server over HTTP: statements, inserts and rows.
//
// One thread uses a client. Every request has a time limit. The bytes that the server answers are untrusted and
// limited.
#pragma once

#include <memory>
#include <string>

#include "push/address.h"
#include "push/answer.h"
#include "push/store.h"

namespace kymo::push {

class Client {
 public:
  explicit Client(Address address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Address& address() const;

  // All throw TryAgain, or kymo::Error for what does not change by itself: a wrong password, a wrong statement, an
  // answer that is not ClickHouse's.
  void execute(const std::string& statement);
  void insert(std::string_view table, const std::string& native);
  // The statement without FORMAT.
  Rows query(const std::string& statement);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::push
