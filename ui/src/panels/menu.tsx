// The menus of a track, of its process, and of all tracks. Their items are actions with keys (src/keys.ts).

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { App, Menu } from '../app';
import type { Action } from '../keys';
import { Arrangement, kArrangements } from '../timeline/layout';
import { useApp, useFocus } from './hooks';
import { keyName } from './page';

const kGroups: Record<Menu['of'], Array<Action['group']>> = { track: ['Track', 'Process'], process: ['Process'], tracks: ['Tracks'] };
const kArrangementTexts: Record<Arrangement, string> = { process: 'by process, the busiest first', activity: 'by activity', name: 'by name' };
const kMaxHidden = 30; // that can be shown again one by one

interface Item {
  text: string;
  key?: string;
  checked?: boolean; // of one choice
  run: () => void;
}

export function TrackMenu({ app, actions }: { app: App; actions: readonly Action[] }) {
  useApp(app);
  return app.menu && app.trace ? <List app={app} menu={app.menu} items={itemsOf(app, app.menu, actions)} /> : null;
}

function itemsOf(app: App, menu: Menu, actions: readonly Action[]): Item[] {
  const items = actions.filter((action) => kGroups[menu.of].includes(action.group)).map((action): Item => ({ text: action.text, key: action.keys[0], run: action.run }));
  if (menu.of !== 'tracks') return items;
  const hidden = [...app.hidden].slice(0, kMaxHidden).map((key): Item => ({ text: `show ${nameOf(app, key)}`, run: () => app.unhide(key) }));
  return [...kArrangements.map((one): Item => ({ text: kArrangementTexts[one], checked: app.arrangement === one, run: () => app.arrange(one) })), ...items, ...hidden];
}

/** Of a track or a process: "t7", "p3". */
function nameOf(app: App, key: string): string {
  const id = Number(key.slice(1));
  const process = app.trace!.processes.find((one) => one.id === (key[0] === 'p' ? id : app.track(id)?.process));
  const label = process?.label ?? process?.name ?? '';
  return key[0] === 'p' ? label : `${app.track(id)?.name ?? key} of ${label}`;
}

function List({ app, menu, items }: { app: App; menu: Menu; items: Item[] }) {
  const box = useRef<HTMLDivElement>(null);
  const buttons = () => [...box.current!.querySelectorAll('button')];
  const close = () => app.openMenu(undefined);
  const choose = (item: Item) => {
    close();
    item.run();
  };
  // Inside of the window.
  useLayoutEffect(() => {
    const { style, offsetWidth, offsetHeight } = box.current!;
    style.left = `${Math.max(0, Math.min(menu.x, innerWidth - offsetWidth - 4))}px`;
    style.top = `${Math.max(0, Math.min(menu.y, innerHeight - offsetHeight - 4))}px`;
  });
  useFocus(() => buttons()[0]);
  const onKey = (event: KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (event.key !== 'Enter' && event.key !== ' ' && next === undefined) close(); // any other key does what it does without the menu
    if (next !== undefined) all[next % all.length].focus();
    if (next !== undefined || ['Enter', ' ', 'Escape', 'Tab'].includes(event.key)) event.stopPropagation();
    if (next !== undefined || event.key === 'Tab') event.preventDefault();
  };
  return (
    <div class="backdrop" onPointerDown={close} onContextMenu={(event) => event.preventDefault()}>
      <div class="menu" role="menu" aria-label={menu.of === 'tracks' ? 'all tracks' : menu.of} ref={box} onPointerDown={(event) => event.stopPropagation()} onKeyDown={onKey}>
        {items.map((item) => (
          <button role={item.checked === undefined ? 'menuitem' : 'menuitemradio'} aria-checked={item.checked} onClick={() => choose(item)}>
            <span>{item.checked === undefined ? '' : item.checked ? '● ' : '○ '}{item.text}</span>
            {item.key && <kbd>{keyName(item.key)}</kbd>}
          </button>
        ))}
      </div>
    </div>
  );
}
