// The parameters of a request, which are untrusted. Throws BadRequest with the parameter, its value and what is
// allowed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"

namespace kymo::serve {

class BadRequest : public Error {
 public:
  explicit BadRequest(const std::string& message, int status = 400) : Error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

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

}  // namespace kymo::serve
