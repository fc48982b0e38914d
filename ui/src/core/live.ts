// Follows a trace that grows: requests tiles that may have changed, and keeps the end of the trace in view.

import type { App } from '../app';

export function followLive(app: App): void {
  let durations = app.trace!.files.map((file) => file.duration_ns);
  app.follow = app.trace!.live;
  app.client.live((event) => {
    if (!app.trace) return;
    app.trace.live = event.live;
    if (event.names_version > app.names.count) void app.attempt(() => app.fetchNames(event.names_version));
    const grown = event.duration_ns.some((duration, file) => duration !== durations[file]);
    if (grown) {
      // The ranges that were open at the old end have changed as well: their tiles contain that end.
      app.cache.markStale(Math.min(...durations) * 0.999);
      durations = event.duration_ns;
      event.duration_ns.forEach((duration, file) => {
        if (app.trace!.files[file]) app.trace!.files[file].duration_ns = duration;
      });
      app.setDuration(Math.max(...durations));
      app.redraw();
    }
    // Also in the first message: tracks may have come since the trace was loaded.
    if (event.tracks_version !== app.trace.tracks_version) void app.attempt(() => app.reload());
  }, (isRefused) => {
    if (app.unfollowed === isRefused) return;
    app.unfollowed = isRefused;
    app.notify();
  }, () => void app.attempt(() => app.reload()));
}
