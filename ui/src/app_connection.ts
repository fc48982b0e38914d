// Loads the trace and its names, and handles a server that does not answer.

import { AppState } from './app_state';
import { ConnectionError } from './core/client';
import { fileName, longest } from './core/protocol';

const kScanMs = 700; // until the list is read again while the server looks for counters

export abstract class AppConnection extends AppState {
  private fetchingNames = false;
  private reloading = false;
  private hasChangedSince = false; // the start of the reload that is on its way
  abstract findAgain(): Promise<void>;

  /** Reads the list of tracks again, because it has changed. One at a time: an older answer must not replace a newer. */
  async reload(): Promise<void> {
    this.hasChangedSince = true;
    if (this.reloading) return;
    this.reloading = true;
    try {
      while (this.hasChangedSince) {
        this.hasChangedSince = false;
        await this.load();
        this.notify();
      }
    } finally {
      this.reloading = false;
    }
  }

  /** Reads the list of tracks. */
  async load(): Promise<void> {
    const trace = await this.client.trace();
    const known = this.trace?.tracks.length ?? trace.tracks.length;
    // Counters, memory and functions are computed while the page is shown already.
    if (this.trace && trace.tracks_version !== this.trace.tracks_version) this.cache.markStale(0);
    this.trace = trace;
    this.setDuration(longest(trace));
    this.trackById_ = new Map(trace.tracks.map((t) => [t.id, t]));
    this.layout_ = undefined;
    document.title = `${trace.files.map((f) => fileName(f)).join(', ')} - kymo view`;
    await this.fetchNames(trace.names_version);
    if (trace.tracks.length > known) void this.findAgain();
    if (!trace.scanned) setTimeout(() => this.attempt(() => this.reload()), kScanMs);
  }

  async fetchNames(version: number): Promise<void> {
    if (this.fetchingNames) return;
    this.fetchingNames = true;
    try {
      while (this.names.count < version) {
        const before = this.names.count;
        this.names.add(await this.client.names(before));
        if (this.names.count === before) break;
      }
    } finally {
      this.fetchingNames = false;
    }
    this.updateMatches();
    this.redraw();
  }

  /** Runs a request. If the server is gone, the page says so and tries again until it is back. */
  async attempt(request: () => Promise<void>): Promise<void> {
    try {
      await request();
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error: unknown): void {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof ConnectionError) {
      if (!this.offline) {
        this.offline = true;
        this.notify();
        void this.reconnect();
      }
      return;
    }
    this.notice = error instanceof Error ? error.message : String(error);
    this.notify();
  }

  private async reconnect(): Promise<void> {
    for (let wait = 500; this.offline; wait = Math.min(5000, wait * 1.5)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      try {
        await this.load();
        this.offline = false;
      } catch (error) {
        if (!(error instanceof ConnectionError)) {
          this.offline = false;
          this.fatal = `Another server answers at this address (${error instanceof Error ? error.message : error}). Run kymo view again and open the address that it prints.`;
        }
      }
    }
    this.notify();
  }
}
