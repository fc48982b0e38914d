// Starts the page.

import { render } from 'preact';
import { App } from './app';
import { ConnectionError } from './core/client';
import { readHash } from './core/hash';
import { followLive } from './core/live';
import { listenToKeys, makeActions } from './keys';
import { TrackMenu } from './panels/menu';
import { Banner, Help, Panel, Spoken, Toolbar } from './panels/page';
import { Input } from './timeline/input';
import { Stage } from './timeline/stage';
import { inspect } from './inspect';

const kRetryMs = 1000;

const app = new App();
const stage = new Stage(app);
const actions = makeActions(app, stage);

function mount(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** There is something to show, or a message. */
function loaded(): void {
  document.querySelector('.loading')?.remove();
}

async function start(): Promise<void> {
  for (;;) {
    try {
      await app.start();
      break;
    } catch (error) {
      app.offline = error instanceof ConnectionError;
      app.fatal = app.offline ? undefined : `The trace cannot be shown: ${error instanceof Error ? error.message : error}`;
      app.notify();
      if (!app.offline) return loaded();
      await new Promise((resolve) => setTimeout(resolve, kRetryMs));
    }
  }
  app.offline = false;
  app.notify();
  loaded();
  followLive(app);
  addEventListener('hashchange', () => {
    app.restore(readHash(location.hash));
    app.notify();
  });
}

mount('stage').append(stage.element);
render(<Toolbar app={app} />, mount('toolbar'));
render(<Banner app={app} />, mount('banner'));
render(<Panel app={app} />, mount('panel'));
render(<><Help app={app} actions={actions} /><TrackMenu app={app} actions={actions} /><Spoken app={app} /></>, mount('help'));
new Input(app, stage);
listenToKeys(actions);
inspect(app, stage);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
  if (!app.themeChosen) app.setTheme(event.matches ? 'dark' : 'light', false);
});
void start();
