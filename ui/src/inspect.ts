// What tests and benchmarks can ask the page: what is drawn, and how long it took. Nothing here changes the page.

import type { App } from './app';
import { TileFlag } from './core/protocol';
import { percentile } from './core/percentile';
import type { Stage } from './timeline/stage';

export function inspect(app: App, stage: Stage): void {
  const view = {
    /** Whether everything that is visible has been drawn with its final tiles. */
    complete: () => app.trace !== undefined && stage.frames > 0 && stage.scene.complete && !stage.busy && (stage.scene.flags & (TileFlag.Preliminary | TileFlag.Stale)) === 0,
    /** Whether all visible tiles are drawn, although some of them may be preliminary. */
    painted: () => app.trace !== undefined && stage.frames > 0 && stage.scene.complete,
    state: () => ({
      from: app.span.from,
      to: app.span.to,
      duration: app.duration,
      scroll: app.scroll,
      level: stage.level,
      rectangles: stage.scene.list.count,
      ranges: stage.scene.ranges,
      labels: stage.scene.labels.length,
      mergedBelow: stage.scene.mergedBelow,
      frames: stage.frames,
      tileRequests: stage.tileRequests,
      cacheBytes: app.cache.bytes,
      tracks: stage.placed.filter((p) => p.lane.track).length,
      pinned: app.pinned,
      selection: app.selection,
      event: app.event,
      search: app.search,
      hit: app.hit,
      tab: app.tab,
      theme: app.theme.name,
      names: app.names.count,
      offline: app.offline,
      links: stage.links.drawn,
      linksBusy: stage.links.busy,
      overview: stage.minimap.shares,
    }),
    /** The rectangles of the frame with their names and pixels. */
    shapes: () =>
      stage.scene
        .shapes()
        .map((shape, i) => ({
          track: shape.lane?.track?.id,
          trackName: shape.lane?.track?.name,
          row: shape.row,
          name: app.names.of(shape.name),
          start: shape.start,
          end: shape.end,
          count: shape.count,
          x: stage.scene.list.x[i],
          y: stage.scene.list.y[i],
          width: stage.scene.list.width[i],
          height: stage.scene.list.height[i],
          colour: stage.scene.list.colour[i],
        }))
        .filter((shape) => shape.row !== -1),
    lanes: () => stage.placed.map((p) => ({ track: p.lane.track?.id, name: p.lane.track?.name ?? p.lane.process.name, label: p.lane.label, top: p.top, height: p.lane.height, pinned: p.lane.pinned, collapsed: p.lane.collapsed })),
    /** The smallest and the largest visible value of each counter, and what the tooltip says. */
    plots: () => stage.overlay.drawn.map(({ track, name, columns }) => ({ track, name, low: columns.low, high: columns.high })),
    value: () => stage.overlay.value,
    left: () => stage.geometry?.left ?? 0,
    labels: () => stage.scene.labels.map((label) => ({ name: app.names.of(label.name), count: label.count })),
    clearFrameTimes: () => {
      stage.frameTimes.length = 0;
    },
    frameTimes: () => ({ count: stage.frameTimes.length, median: percentile(stage.frameTimes, 0.5), p99: percentile(stage.frameTimes, 0.99), max: Math.max(0, ...stage.frameTimes) }),
    show: (from: number, to: number) => app.show({ from, to }),
  };
  (window as unknown as { kymo: typeof view }).kymo = view;
}
