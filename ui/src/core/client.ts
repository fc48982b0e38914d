// Requests to the server, relative to the address of the page, which contains the token.

import { decodeTiles, EventDetails, EventRef, FlameFrame, LaunchedAnswer, LinksAnswer, LiveEvent, MemoryAnswer, SearchAnswer, SelectionAnswer, SqlAnswer, SqlTables, TilesAnswer, TraceInfo } from './protocol';
import type { TileRequest } from './tile_cache';

/** The server answered, and said that the request is wrong or that it failed. */
export class ServerError extends Error {}
/** There was no answer: the server has ended, or the connection is lost. */
export class ConnectionError extends Error {}

export interface NamesAnswer {
  version: number;
  from: number;
  names: string[];
  bases: number[];
  categories: string[];
  colours?: number[]; // 0xRRGGBB; 0: none
}

const kFollowAgainMs = 2000;

/** Characters that turn text around are shown as their number: a name must not change what is written around it. */
export function visible(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `\\\\u${c.charCodeAt(0).toString(16)}`);
}

/** The text as the trace has it, of one that visible() changed. */
function original(text: string): string {
  return text.replace(/\\u(200[ef]|202[a-e]|206[6-9])/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}

export class Client {
  requests = 0;

  constructor(private readonly base = 'api/') {}

  trace(signal?: AbortSignal): Promise<TraceInfo> {
    return this.json('trace', signal);
  }
  names(from: number): Promise<NamesAnswer> {
    return this.json(`names?from=${from}`);
  }
  event(ref: EventRef, signal?: AbortSignal): Promise<EventDetails> {
    return this.json(`event?track=${ref.track}&chunk=${ref.chunk}&index=${ref.index}`, signal);
  }
  /** The hits that begin nearest to `at`. */
  search(text: string, limit: number, at: number, signal?: AbortSignal): Promise<SearchAnswer> {
    return this.json(`search?q=${encodeURIComponent(original(text))}&limit=${limit}&at=${Math.max(0, Math.round(at))}`, signal);
  }
  selection(from: number, to: number, tracks: readonly number[], signal?: AbortSignal): Promise<SelectionAnswer> {
    const times = `selection?from=${Math.max(0, Math.floor(from))}&to=${Math.max(0, Math.ceil(to))}`;
    return this.json(tracks.length > 0 ? `${times}&tracks=${tracks.join(',')}` : times, signal);
  }
  flame(by: string, from: number, to: number, tracks: readonly number[], signal?: AbortSignal): Promise<{ flame: FlameFrame[] }> {
    return this.json(`flame?by=${by}&from=${from}&to=${to}&tracks=${tracks.join(',')}`, signal);
  }
  launchedIn(track: number, from: number, to: number, signal?: AbortSignal): Promise<LaunchedAnswer> {
    return this.json(`launched?track=${track}&from=${from}&to=${to}`, signal);
  }
  launchedByName(file: number, name: string, signal?: AbortSignal): Promise<LaunchedAnswer> {
    return this.json(`launched?file=${file}&name=${encodeURIComponent(original(name))}`, signal);
  }
  links(from: number, to: number, tracks: readonly number[], signal?: AbortSignal): Promise<LinksAnswer> {
    return this.json(`links?from=${Math.max(0, Math.floor(from))}&to=${Math.max(1, Math.ceil(to))}&tracks=${tracks.join(',')}`, signal);
  }
  /** Without a time: at the peak. */
  memory(file: number, at: number | undefined, signal?: AbortSignal): Promise<MemoryAnswer> {
    return this.json(`memory?file=${file}${at === undefined ? '' : `&at=${Math.max(0, Math.round(at))}`}`, signal);
  }
  report(file: number, signal?: AbortSignal): Promise<unknown> {
    return this.json(`report?file=${file}`, signal);
  }
  idle(file: number, signal?: AbortSignal): Promise<unknown> {
    return this.json(`idle?file=${file}`, signal);
  }
  diff(base: number, other: number, signal?: AbortSignal): Promise<unknown> {
    return this.json(`diff?base=${base}&other=${other}`, signal);
  }

  sqlTables(signal?: AbortSignal): Promise<SqlTables> {
    return this.json('query', signal);
  }
  sql(statements: string, signal?: AbortSignal): Promise<SqlAnswer> {
    return this.json(`query?q=${encodeURIComponent(original(statements))}`, signal);
  }

  async tiles(request: TileRequest, signal?: AbortSignal): Promise<TilesAnswer> {
    const query = `tiles?w=${request.level}&from=${request.from}&to=${request.to}&tracks=${request.tracks.join(',')}`;
    const body = await this.get(query, (response) => response.arrayBuffer(), signal);
    return decodeTiles(body, request.level, performance.now());
  }

  /**
   * Calls `changed` for every message about a growing trace, `refused` if the server does not follow for this page now,
   * and `interrupted` if the connection ends. Reconnects by itself. A page that nobody sees does not follow: a browser has few connections to one server, and
   * all its pages share them.
   */
  live(changed: (event: LiveEvent) => void, refused: (isRefused: boolean) => void, interrupted: () => void): void {
    let source: EventSource | undefined;
    const close = () => {
      source?.close();
      source = undefined;
    };
    const open = () => {
      close();
      if (document.hidden) return;
      const own = (source = new EventSource(`${this.base}live`));
      own.onopen = () => refused(false);
      own.onmessage = (message) => changed(JSON.parse(message.data) as LiveEvent);
      own.onerror = () => {
        if (source !== own) return;
        interrupted();
        if (own.readyState !== EventSource.CLOSED) return; // it tries again itself
        refused(true);
        setTimeout(() => source === own && open(), kFollowAgainMs);
      };
    };
    document.addEventListener('visibilitychange', open);
    open();
  }

  private async json<T>(path: string, signal?: AbortSignal): Promise<T> {
    return JSON.parse(visible(await this.get(path, (response) => response.text(), signal))) as T;
  }

  private async get<T>(path: string, body: (response: Response) => Promise<T>, signal?: AbortSignal): Promise<T> {
    ++this.requests;
    let response: Response;
    try {
      response = await fetch(this.base + path, { signal, cache: 'no-store' });
      if (response.ok) return await body(response); // fails if the answer is cut off
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new ConnectionError('no answer from kymo view');
    }
    let text = `status ${response.status}`;
    try {
      const answer = (await response.json()) as { error?: string };
      if (answer.error) text = answer.error;
    } catch {
      // An answer without JSON: its status is all we know.
    }
    throw new ServerError(text);
  }
}
