// Put at the end of a memory page by its test: uses everything on it and says what happened.
(() => {
const said = [];
const say = (what, value) => said.push(what + ': ' + value);
const plot = document.querySelector('#plot canvas');
const buttons = place => [...document.querySelectorAll(place + ' button')];
const near = (a, b) => Math.abs(a - b) <= 6;

// How many pixels of the plot have a colour, "#rrggbb".
function drawn(colour) {
  const [r, g, b] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  const bytes = plot.getContext('2d').getImageData(0, 0, plot.width, plot.height).data;
  let count = 0;
  for (let i = 0; i < bytes.length; i += 4)
    if (bytes[i + 3] > 100 && near(bytes[i], r) && near(bytes[i + 1], g) && near(bytes[i + 2], b)) ++count;
  return count;
}
const colourOf = button => {
  const [r, g, b] = button.querySelector('i').style.background.match(/\d+/g).map(Number);
  return '#' + [r, g, b].map(value => value.toString(16).padStart(2, '0')).join('');
};
const mark = getComputedStyle(document.documentElement).getPropertyValue('--mark').trim();

say('peak is marked', drawn(mark) > 20);
for (const name of ['by category', 'by stack', 'by range']) {
  buttons('#layouts').find(button => button.textContent === name).click();
  const layers = buttons('#legend');
  const before = layers.map(layer => drawn(colourOf(layer)));
  const largest = before.indexOf(Math.max(...before));
  layers[largest].click();
  const hidden = drawn(colourOf(layers[largest]));
  layers[largest].click();
  say(name, (layers.length > 0 && before[largest] > 1000) + ', hidden ' + (hidden === 0) + ', shown again ' +
    (drawn(colourOf(layers[largest])) === before[largest]));
}
let tables = 0;
for (const which of ['Alive at the peak', 'Never given back', 'Allocated in all'])
  for (const by of ['by stack', 'by range', 'by size']) {
    buttons('#tabs').find(button => button.textContent === which).click();
    buttons('#tabs').find(button => button.textContent === by).click();
    tables += document.querySelectorAll('#table tr').length > 1;
  }
say('tables', tables);
buttons('#tabs').find(button => button.textContent === 'Never given back').click();
buttons('#tabs').find(button => button.textContent === 'by stack').click();
const row = document.querySelector('#table tr.more');
say('largest leak', row.lastChild.firstChild.textContent.replace(/.*::/, '') + ' ' + row.firstChild.textContent);
row.click();
say('its stack', [...row.querySelectorAll('.frames b')].some(frame => frame.textContent === 'main'));

const at = (type, x) => plot.dispatchEvent(Object.defineProperty(new MouseEvent(type), 'offsetX', {value: x}));
at('mousemove', 400);
say('tip', /^\+[\d.]+ .s.*B/.test(document.getElementById('tip').textContent));
at('mousedown', 300); at('mousemove', 500); at('mouseup', 500);
say('zoomed', view[0] > 0 && view[1] < data.duration_ns);
at('dblclick', 400);
say('all again', view[0] === 0 && view[1] === data.duration_ns);
say('requests', performance.getEntriesByType('resource').length);
say('errors', faults.length ? faults.join(' ') : 0);
document.body.append(Object.assign(document.createElement('pre'), {id: 'said', textContent: said.join('\n') + '\n'}));
})();
