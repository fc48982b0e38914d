#include "metrics/text.h"

#include "base/text.h"

namespace kymo::metrics {
namespace {

std::string response(std::string_view status, std::string_view body) {
  return base::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, body.size(), body);
}

}  // namespace

void Text::add(std::string_view name, std::string_view help, std::string_view type, uint64_t value) {
  base::format_to(text_, "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

std::string answer(std::string_view request, const std::string& body) {
  if (request.find("\r\n\r\n") == request.npos)
    return request.size() >= kLongestRequest ? response("431 Request Header Fields Too Large", "") : std::string();
  std::string_view line = request.substr(0, request.find("\r\n"));
  const size_t method_end = std::min(line.find(' '), line.size());
  const std::string_view method = line.substr(0, method_end);
  line.remove_prefix(std::min(method_end + 1, line.size()));
  const std::string_view path = line.substr(0, line.find_first_of(" ?"));
  if (path != "/metrics") return response("404 Not Found", "the metrics are at /metrics\n");
  if (method != "GET") return response("405 Method Not Allowed", "");
  return response("200 OK", body);
}

}  // namespace kymo::metrics
