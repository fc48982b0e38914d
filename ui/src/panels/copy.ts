// What a panel shows, as text for an editor or a spreadsheet: the cells of a table between tabs.

/** Empty lines are left out. */
export function textOf(element: Element): string {
  const lines: string[] = [];
  const add = (text: string) => {
    const line = text.replace(/\s*\n\s*/g, ' ').trimEnd();
    if (line.trim() !== '') lines.push(line);
  };
  const cell = (one: Element) => one.textContent!.replace(/ [↑↓]$/, '').trim();
  const walk = (one: Element) => {
    if (one.matches('.buttons, textarea, select')) return;
    if (one.matches('tr')) add([...one.children].map(cell).join('\t'));
    else if (one.matches('dl')) for (const name of one.querySelectorAll('dt')) add(`${cell(name)}\t${cell(name.nextElementSibling!)}`);
    else if (one.matches('[data-row]')) add('  '.repeat(Number(one.getAttribute('data-row'))) + (one as HTMLElement).title.replace('\n', '\t'));
    else if (one.matches('.legend li')) add([...one.children].map(cell).join('\t').trim());
    else if (one.matches('pre, .finding')) (one as HTMLElement).innerText.split('\n').forEach(add);
    else if (one.matches('p, h2, h3, li')) add(cell(one));
    else for (const child of one.children) walk(child);
  };
  walk(element);
  return lines.join('\n');
}

/** False: the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A saved page has no clipboard of its own.
  }
  const box = document.createElement('textarea');
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand('copy');
  box.remove();
  return done;
}
