// The answers of the server, as functions from a request to bytes: no sockets here. docs/view.md describes all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "serve/client_watch.h"
#include "serve/query.h"
#include "serve/view.h"
#include "trace/reader.h"

namespace kymo::serve {

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
std::string links_json(View& view, const Query& query);
std::string memory_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone = {});
// What a server-sent event says about files that grow.
std::string live_json(View& view);

}  // namespace kymo::serve
