// A request of any bytes gets an answer: JSON or tiles, never a crash. The trace is always the same.
#include <cstdlib>
#include <string>
#include <string_view>

#include "serve/api.h"
#include "serve/http.h"
#include "serve/test_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::serve;
  static const kymo::serve::testing::TemporaryFolder folder;
  static View* const view = [] {
    kymo::serve::testing::write_random_trace(folder / "run.kymo", 1, 300);
    std::vector<kymo::trace::Reader> readers;
    readers.emplace_back(folder / "run.kymo");
    ViewLimits limits;
    limits.build_ahead = false;
    return new View(std::move(readers), limits);
  }();
  static const Analyses analyses = [] {
    Analyses made;
    made.reopen = [](uint32_t, const kymo::serve::IsGone&) { return kymo::trace::Reader(folder / "run.kymo"); };
    return made;
  }();
  const std::string_view request(reinterpret_cast<const char*>(data), size);
  kymo::serve::parse_request(request);
  const size_t question = request.find('?');
  const std::string_view query = question == request.npos ? std::string_view() : request.substr(question + 1);
  const Answer made = answer(*view, analyses, request.substr(0, question), Query::parse(query));
  const bool is_tiles = made.body.substr(0, 4) == "KYT1";
  if (made.status == 500 || (!is_tiles && made.body.substr(0, 1) != "{")) std::abort();
  return 0;
}
