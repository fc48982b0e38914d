// SQL of the page of `kymo view`, by the code of `kymo query`: over the traces that the page shows, and no other file.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "serve/api.h"
#include "serve/view.h"

namespace kymo::cli {

class ViewQuery {
 public:
  using Reopen = std::function<trace::Reader(uint32_t file, const serve::IsGone&)>;
  // Both must outlive it.
  ViewQuery(serve::View& view, Reopen reopen) : view_(view), reopen_(std::move(reopen)) {}

  // The answer of api/query. The last statement with rows counts. Ends after a time limit, or if `is_gone` says so. One
  // call at a time runs; another one waits for a moment. Throws serve::BadRequest, and Abandoned.
  std::string answer(const std::string& statements, const serve::IsGone& is_gone);

 private:
  serve::View& view_;
  const Reopen reopen_;
  std::timed_mutex running_;
};

}  // namespace kymo::cli
