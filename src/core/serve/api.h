// The answers of the server, as functions from a request to bytes: no sockets here. docs/view.md describes all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"
#include "serve/view.h"
#include "trace/reader.h"

namespace kymo::serve {

// Whether the client of a request is still there. A page drops requests whose answers it does not need any more; what
// they asked for should not be computed to the end.
using IsGone = std::function<bool()>;

// Thrown where the work for a request ends early. It is not a kymo::Error, because readers take these for damage and
// go on with the next chunk.
struct Abandoned : std::runtime_error {
  Abandoned() : std::runtime_error("the client is gone") {}
};

class BadRequest : public Error {
 public:
  explicit BadRequest(const std::string& message, int status = 400) : Error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// The parameters of a request, which are untrusted. Throws BadRequest with the parameter, its value and what is
// allowed.
class Query {
 public:
  // Decoded: "a+b" and "%20" are already texts. If a parameter is given twice, the first one counts.
  explicit Query(std::multimap<std::string, std::string> parameters) : parameters_(std::move(parameters)) {}
  // Decodes "from=1&q=a%20b". Anything is accepted; what is not valid stays as it is.
  static Query parse(std::string_view text);

  std::optional<std::string_view> find(const std::string& name) const;
  // A number from 0 to `most`, with digits only.
  uint64_t number(const std::string& name, uint64_t most) const;
  uint64_t number_or(const std::string& name, uint64_t most, uint64_t otherwise) const;
  // "1,5,9": at most `count` numbers up to `most`. Empty if it is missing.
  std::vector<uint32_t> numbers(const std::string& name, uint64_t most, size_t count) const;
  std::string text(const std::string& name, size_t longest) const;

 private:
  std::multimap<std::string, std::string> parameters_;
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
};

// Analyses that are made of whole files. The server only passes on what these return; a kymo::Error becomes an answer.
// Those with `is_gone` read files: they end with Abandoned if it says so.
struct Analyses {
  std::function<trace::Reader(uint32_t file, const IsGone&)> reopen;  // another reader of the same file
  View::IsBeingWritten is_being_written;
  std::function<std::string(uint32_t file, const IsGone&)> report, idle;
  std::function<std::string(uint32_t base, uint32_t other, const IsGone&)> diff;
  // The rows of SQL statements; without a statement, what tables there are.
  std::function<std::string(const std::string& statements, const IsGone&)> query;
  // What happened to a file of which so many bytes were read: deleted, replaced, shorter. Empty: nothing.
  std::function<std::string(uint32_t file, uint64_t bytes)> trouble;
};

// `path` is what follows "api/". Never throws for what a request may contain.
Answer answer(View& view, const Analyses& analyses, std::string_view path, const Query& query,
              const IsGone& is_gone = {});

// The single ones. They throw BadRequest.
std::string trace_json(View& view);
std::string names_json(View& view, const Query& query);
std::string all_names_json(View& view);
std::string tiles_bytes(View& view, const Query& query);
std::string event_json(View& view, const Query& query);
std::string search_json(View& view, const Query& query, const IsGone& is_gone = {});
std::string selection_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone = {});
std::string launched_json(View& view, const Query& query, const IsGone& is_gone = {});
std::string flame_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone = {});
std::string links_json(View& view, const Query& query);
std::string memory_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone = {});
// What a server-sent event says about files that grow.
std::string live_json(View& view);

}  // namespace kymo::serve
