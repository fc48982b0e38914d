// How a process reports to the recorder that it could not record. The recorder is `kymo record`, or the first program
// under KYMO_TRACE.
//
// It sends a datagram to a socket that has a name but no file. So a process that sees no folder of the recorder
// (chroot) reaches it too, and no file is left behind. The datagram has the reason; the kernel adds the process that
// sent it.
#pragma once

#include <cstddef>
#include <cstdint>

struct sockaddr_un;

namespace kymo::record {

// Fills in the address of a session's socket. Returns its length.
uint32_t refusal_address(const uint8_t (&session)[16], sockaddr_un& address) noexcept;

// Waits at most 200 ms for a busy recorder. False: it was not sent, because the recorder has ended, is in another
// network namespace, or no file can be opened.
inline constexpr size_t kMaxRefusalBytes = 512;
bool send_refusal(const uint8_t (&session)[16], const char* why) noexcept;

// False if the recorder has ended. Only for a process in the same network namespace, where the name leads to the same
// socket.
bool recorder_listens(const uint8_t (&session)[16]) noexcept;

}  // namespace kymo::record
