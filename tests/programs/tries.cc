// Tries to record into the file it is told, and runs on when that does not work: tries [TRACE].
//
// Says what went wrong on standard output; without TRACE, records into whatever the environment asks for.
#include <cstdio>
#include <memory>

#include "kymo/annotate.h"
#include "kymo/session.h"

int main(int argc, char** argv) {
  std::unique_ptr<kymo::Session> session;
  try {
    if (argc > 1) session = std::make_unique<kymo::Session>(argv[1]);
  } catch (const kymo::NotAvailable& error) {
    std::printf("not available: %s\n", error.what());
  } catch (const kymo::Error& error) {
    std::printf("error: %s\n", error.what());
  }
  for (int i = 0; i < 1000; ++i) {
    KYMO_RANGE("work");
    if (kymo::range_push("inner") != 0 || kymo::range_pop() != 0) return 1;
  }
  if (session) session->close();
  std::printf("done%s\n", kymo::is_recording() ? ", still recording" : "");
  return 0;
}
