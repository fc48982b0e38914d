// Lets a panel follow the app: it is drawn again after every change.

import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { App, Pending } from '../app';

export function useApp(app: App): void {
  const [, setVersion] = useState(0);
  useEffect(() => app.subscribe(() => setVersion((version) => version + 1)) as () => void, [app]);
}

/** Gives an element the focus as long as it is shown; what had the focus before gets it back. */
export function useFocus(element: () => HTMLElement | undefined): void {
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element()?.focus();
    return () => before?.focus();
  }, []);
}

/** An answer of the server that is requested once for each key. A request that is not needed any more is cancelled. */
export function useAnswer<T>(key: string, request: (signal: AbortSignal) => Promise<T>): Pending<T> {
  const [state, setState] = useState<{ key: string; pending: Pending<T> }>({ key: '', pending: { loading: true } });
  useEffect(() => {
    let current = true;
    const abort = new AbortController();
    setState({ key, pending: { loading: true } });
    request(abort.signal).then(
      (value) => current && setState({ key, pending: { loading: false, value } }),
      (error) => current && setState({ key, pending: { loading: false, error: error instanceof Error ? error.message : String(error) } }),
    );
    return () => {
      current = false;
      abort.abort();
    };
  }, [key]);
  return state.key === key ? state.pending : { loading: true };
}
