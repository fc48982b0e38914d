// Runs the script of a flame graph without a browser: node test_flame.js FILE.svg
//
// Clicks a frame, searches, goes back, and prints what the frames look like.
const fs = require('fs'), vm = require('vm');
const svg = fs.readFileSync(process.argv[2], 'utf-8');

class Element {
  constructor(attributes) {
    this.attributes = attributes;
    this.children = [];
    this.style = {};
    this.classes = new Set();
    this.listeners = {};
    this.textContent = '';
    this.dataset = {};
    for (const [name, value] of Object.entries(attributes))
      if (name.startsWith('data-')) this.dataset[name.slice(5)] = value;
    this.classList = { toggle: (name, on) => on ? this.classes.add(name) : this.classes.delete(name) };
  }
  getAttribute(name) { return this.attributes[name]; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener(name, call) { this.listeners[name] = call; }
}

const byId = {}, open = [new Element({})];
const markup = svg.slice(svg.indexOf('<svg'), svg.indexOf('<script>'));
for (const [, end, , attributes, self, text] of markup.matchAll(/<(\/?)(\w+)([^>]*?)(\/?)>([^<]*)/g)) {
  if (end) {
    open.pop();
    continue;
  }
  const element = new Element(Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(m => [m[1], m[2]])));
  element.textContent = text;
  open[open.length - 1].children.push(element);
  if (element.attributes.id) byId[element.attributes.id] = element;
  if (!self) open.push(element);
}

const page = new Element({});
let wanted = '';
vm.runInNewContext(svg.slice(svg.indexOf('<![CDATA[') + 9, svg.indexOf(']]>')), {
  document: { getElementById: id => byId[id] }, window: page, prompt: () => wanted,
});

const frames = byId.frames.children;
const named = name => frames.find(g => g.children[0].textContent.startsWith(name + ':'));
const show = what => console.log(what + ': ' + frames.filter(g => g.style.display !== 'none').map(g =>
  [g.children[2].textContent, Math.round(g.children[1].getAttribute('x')), Math.round(g.children[1].getAttribute('width')),
   ...g.classes].join(' ')).join(', '));
const press = key => page.listeners.keydown({ key, preventDefault() {} });

show('start');
named('outer').listeners.click();
show('outer enlarged');
named('all').listeners.click();
show('all');
wanted = 'INN';
press('/');
show('search');
console.log(byId.info.textContent);
named('inner').listeners.mouseover();
console.log(byId.info.textContent);
press('Escape');
show('escape');
