// Domains, registered strings, categories, and the texts of messages. The first three are created by the program's
// calls, also while nothing records, and live as long as the process: handles must stay valid, and a domain that is
// destroyed may be created again.
//
// Creating needs a lock; reading needs none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inject/nvtx/abi.h"
#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::inject::nvtx {

struct Schema;  // payload_schema.h

struct Category {
  Category* next;
  uint32_t number;
  uint32_t length;
  const char* name;
};

struct Domain {
  Domain* next;
  const char* name;  // the category of its events
  uint32_t name_length;
  uint32_t index;  // 0: the default domain
  // Its ranges nest on their own (record::on_stack). 0: its events are not recorded, because they are Kymo's own
  // annotations, sent to NVTX by the sink.
  uint16_t stack;
  std::atomic<Category*> categories;
  std::atomic<const Schema*> schemas;
};

// The label of a registered string, whose class is looked up once.
struct RegisteredString {
  static constexpr uint64_t kMagic = 0x6e72747378766e6b;
  uint64_t magic;
  kymo_site site;
  std::atomic<uint32_t> word;  // of a push with only this string: record::on_stack; 0: not known
  Domain* domain;
};

extern Domain default_domain;
inline Domain& domain_of(Domain* handle) noexcept { return handle != nullptr ? *handle : default_domain; }

// The domain with this name. Null: no memory, or too many domains.
Domain* create_domain(std::string_view name) noexcept;
uint32_t domain_count() noexcept;

// Null: no memory.
RegisteredString* register_string(Domain& domain, std::string_view text) noexcept;

// A handle from the contents of a payload, which may be anything. Null: it is none. `read` copies memory that may be
// invalid.
RegisteredString* checked_string(uint64_t handle, bool (*read)(uint64_t, void*, size_t) noexcept) noexcept;

void name_category(Domain& domain, uint32_t number, std::string_view name) noexcept;
// Empty: it has no name.
std::string_view category_name(const Domain& domain, uint32_t number) noexcept;

// A copy with a NUL, which is never freed. Null: no memory.
char* keep_text(std::string_view text) noexcept;

// The lock of everything that is created. A forked child releases it.
class Lock {
 public:
  Lock() noexcept;
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

// ---- The text of a message, in UTF-8 and as a name of Kymo

inline constexpr std::string_view kUnnamed = "(no message)";
// Longer messages are shortened. A name that the registry does not take would be stored with each event, and readers
// could not tell such names apart.
inline constexpr size_t kMaxTextBytes = 1024;  // of a message
inline constexpr size_t kMaxConvertedBytes =
    kMaxTextBytes - 4;  // of a wide text: the last character may have four bytes

// Appends one code point, up to four bytes; what is none becomes the replacement character. Returns the number of
// bytes.
size_t put_utf8(char* to, uint32_t point) noexcept;

// A text on the stack.
class Text {
 public:
  Text() noexcept : view_(kUnnamed) {}
  // A null pointer is a missing message.
  explicit Text(const char* ascii) noexcept;
  explicit Text(const wchar_t* wide) noexcept;
  Text(int32_t type, const MessageValue& value) noexcept;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view view() const noexcept { return view_; }
  void set_view(std::string_view text) noexcept { view_ = text; }  // `text` must outlive this
  const char* c_str() const noexcept {
    return view_.data();
  }  // the same; the whole text, even if the view is truncated
  // The same with braces doubled, for an event with arguments: otherwise readers put the arguments into them.
  std::string_view as_name() noexcept;

 private:
  void set(const char* ascii) noexcept;
  void set(const wchar_t* wide) noexcept;
  void set(const RegisteredString& string) noexcept;

  std::string_view view_;
  char buffer_[kMaxConvertedBytes + 8];
  char name_[2 * kMaxConvertedBytes + 8];
};

}  // namespace kymo::inject::nvtx
