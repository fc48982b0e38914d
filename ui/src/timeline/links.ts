// Asks for the arrows of what is visible, when the view has not moved for a moment. They are drawn until the next answer.

import type { App } from '../app';
import type { LinksAnswer } from '../core/protocol';
import { isPlot } from './layout';
import type { PlacedLane } from './scene';

const kRestMs = 160;
const kMaxTracks = 200;

export class Links {
  answers: LinksAnswer[] = [];
  drawn = 0;
  private asked = ''; // what the answers are for
  private timer = 0;
  private abort?: AbortController;

  constructor(private readonly app: App) {}

  /** Whether an answer is still to come. */
  get busy(): boolean {
    return this.timer !== 0 || this.abort !== undefined;
  }

  /** After each frame. */
  update(placed: readonly PlacedLane[]): void {
    const { app } = this;
    if (!app.arrows) {
      this.answers = [];
      this.asked = '';
      return;
    }
    const files = new Map<number, number[]>();
    for (const { lane } of placed) {
      if (!lane.track || isPlot(lane.track) || lane.track.kind === 'across' || lane.track.kind === 'rank' || lane.track.kind === 'functions') continue;
      const tracks = files.get(lane.track.file) ?? [];
      if (tracks.length < kMaxTracks) tracks.push(lane.track.id);
      files.set(lane.track.file, tracks);
    }
    const wanted = `${app.span.from} ${app.span.to} ${app.cache.generation} ${[...files].join(';')}`;
    if (wanted === this.asked || app.offline || app.fatal) return;
    this.asked = wanted;
    this.abort?.abort();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(files), kRestMs);
  }

  private async ask(files: Map<number, number[]>): Promise<void> {
    const { app } = this;
    this.timer = 0;
    const abort = (this.abort = new AbortController());
    try {
      const requests = [...files].map(([file, tracks]) => {
        const shift = app.shiftOf(file);
        return app.client.links(app.span.from - shift, app.span.to - shift, tracks, abort.signal);
      });
      this.answers = await Promise.all(requests);
      app.redraw();
    } catch (error) {
      if (!abort.signal.aborted) this.answers = []; // a saved page has none; a server that is gone is noticed by tiles
    } finally {
      if (this.abort === abort) this.abort = undefined;
    }
  }
}
