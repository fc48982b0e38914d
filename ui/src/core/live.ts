// Follows a trace that grows: requests tiles that may have changed, and keeps the end of the trace in view.

import type { App } from '../app';
import { clampSpan, wholeSpan } from './viewport';

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
      const end = Math.max(...durations);
      const length = app.span.to - app.span.from;
      const whole = app.span.from <= 0 && app.span.to >= app.duration;
      app.duration = Math.max(1, end);
      if (app.follow) app.span = clampSpan(whole ? wholeSpan(end) : { from: end - length * 0.95, to: end + length * 0.05 }, end);
      app.redraw();
    }
    // Also in the first message: tracks may have come since the trace was loaded.
    if (event.tracks_version !== app.trace.tracks_version) {
      void app.attempt(async () => {
        await app.load();
        app.notify();
      });
    }
  }, (isRefused) => {
    if (app.unfollowed === isRefused) return;
    app.unfollowed = isRefused;
    app.notify();
  });
}
