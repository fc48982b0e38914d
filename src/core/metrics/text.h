// Numbers about a running program, in the text format of Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::metrics {

class Text {
 public:
  // `name` and `help` are constants of the program. A counter only grows; a gauge may do anything.
  void counter(std::string_view name, std::string_view help, uint64_t value) { add(name, help, "counter", value); }
  void gauge(std::string_view name, std::string_view help, uint64_t value) { add(name, help, "gauge", value); }

  const std::string& text() const { return text_; }

 private:
  void add(std::string_view name, std::string_view help, std::string_view type, uint64_t value);
  std::string text_;
};

// The answer to an HTTP request, or an empty text if the request is not complete yet. The request is untrusted; what is
// longer than kLongestRequest is refused. Only GET /metrics has a body.
inline constexpr size_t kLongestRequest = 8 << 10;
std::string answer(std::string_view request, const std::string& body);

}  // namespace kymo::metrics
