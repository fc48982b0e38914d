// Kernels say what went wrong: the message is thrown by the next synchronize as an error of the device.
//
//   kernel void check(device int* out, constant int& limit, device ErrorMessages* errors,
//                     uint i [[thread_position_in_grid]]) {
//     if (i > uint(limit)) TORCH_REPORT_ERROR(errors, "Index ", i, " exceeds limit ", limit);
//
// Texts are put together from literals and numbers. The first ones are kept, all are counted.
#pragma once
#include <c10/metal/common.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

struct ErrorMessage {
  char file[128];
  char func[128];
  char message[250];
  unsigned int line;
};

struct ErrorMessages {
  ::metal::atomic<int> count;
  ErrorMessage msg[error_message_count];
};

namespace detail {

// Writes as much as there is room for, and where it ends.
struct MessageWriter {
  device char* text;
  uint capacity;  // with the 0 behind
  uint length;

  void put(char c) thread {
    if (length + 1 < capacity) text[length++] = c;
  }
  void append(constant char* literal) thread {
    for (uint i = 0; literal[i] != 0; ++i) put(literal[i]);
  }
  void append(char c) thread { put(c); }
  void append(ulong number) thread {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + int(number % 10ul));
      number /= 10ul;
    } while (number != 0ul);
    while (count > 0) put(digits[--count]);
  }
  void append(long number) thread {
    if (number < 0l) put('-');
    append(number < 0l ? ulong(0) - ulong(number) : ulong(number));
  }
  void append(int number) thread { append(long(number)); }
  void append(short number) thread { append(long(number)); }
  void append(uint number) thread { append(ulong(number)); }
  void append(ushort number) thread { append(ulong(number)); }
  void append(uchar number) thread { append(ulong(number)); }
  void append(bool value) thread { append(value ? 1ul : 0ul); }
  void append(float number) thread {  // six digits behind the point
    if (::metal::isnan(number)) {
      append("nan");
      return;
    }
    if (number < 0.0f) put('-');
    const float size = ::metal::fabs(number);
    if (size > 1e18f) {
      if (::metal::isinf(number))
        append("inf");
      else
        append("large");
      return;
    }
    const ulong whole = ulong(size);
    append(whole);
    put('.');
    uint rest = uint((size - float(whole)) * 1000000.0f);
    for (uint place = 100000u; place != 0u; place /= 10u) put(char('0' + int(rest / place % 10u)));
  }
  void append(half number) thread { append(float(number)); }
  void finish() thread { text[length] = 0; }
};

inline void copy_text(device char* to, uint capacity, constant char* from) {
  MessageWriter writer{to, capacity, 0u};
  writer.append(from);
  writer.finish();
}

}  // namespace detail

template <typename... Args>
void report_error(device ErrorMessages* errors, constant char* file, int line, constant char* func, Args... parts) {
  const int index = ::metal::atomic_fetch_add_explicit(&errors->count, 1, ::metal::memory_order_relaxed);
  if (index < 0 || index >= int(error_message_count)) return;
  device ErrorMessage* message = &errors->msg[index];
  message->line = uint(line);
  detail::copy_text(message->file, 128u, file);
  detail::copy_text(message->func, 128u, func);
  detail::MessageWriter writer{message->message, 250u, 0u};
  (writer.append(parts), ...);
  writer.finish();
}

}  // namespace metal
}  // namespace c10

#define TORCH_REPORT_ERROR(errors, ...) ::c10::metal::report_error(errors, __FILE__, __LINE__, __func__, __VA_ARGS__)
