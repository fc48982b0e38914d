// Tries to record into the given file, and continues if that fails: tries [TRACE].
//
// Prints the error to standard output. Without TRACE, records into the file that the environment sets.
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
