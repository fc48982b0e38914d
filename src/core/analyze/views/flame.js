// Click a frame to enlarge it, the top frame to see everything. Press / or Ctrl+F to search.
(function() {
'use strict';
const group = document.getElementById('frames'), info = document.getElementById('info');
const left = +group.dataset.left, width = +group.dataset.width;
const hint = 'Click a frame to enlarge it. Press / to search.';
const frames = Array.from(group.children, (g) => {
  const [title, rect, label] = g.children;
  return {
    g,
    rect,
    label,
    text: title.textContent,
    x: +rect.getAttribute('x'),
    y: +rect.getAttribute('y'),
    width: +rect.getAttribute('width')
  };
});
// The title is "name: 1.20 ms (3.00 %), …". A name may contain ": ", the rest does not.
const nameOf = (frame) => frame.text.slice(0, frame.text.lastIndexOf(': '));
let found = '';

function show(text) {
  info.textContent = text || found || hint;
}

// Template arguments are left out, the innermost first, before the end of a name is.
function fitting(name, room) {
  for (let before = ''; before !== name && Array.from(name).length > room;) {
    before = name;
    name = name.replace(/(?<!operator|<)<(?!…>)[^<>]+>/g, '<…>').replace(/<[^<>]*<…>[^<>]*>/g, '<…>');
  }
  return name;
}

function draw(frame, x, w, isAround) {
  frame.g.style.display = w > 0 ? '' : 'none';
  if (w <= 0) return;
  frame.g.classList.toggle('around', isAround);
  frame.rect.setAttribute('x', x);
  frame.rect.setAttribute('width', w);
  frame.label.setAttribute('x', x + 3);
  const room = Math.floor((w - 4) / 6.7), name = Array.from(fitting(nameOf(frame), room));
  frame.label.textContent = room < 3 ? '' :
      name.length <= room            ? name.join('') :
                                       name.slice(0, room - 1).join('') + '…';
}

function zoom(to) {
  const slack = 0.02, scale = width / to.width;  // coordinates have two digits
  for (const frame of frames) {
    const inside = frame.x >= to.x - slack && frame.x + frame.width <= to.x + to.width + slack;
    const around = frame.x <= to.x + slack && frame.x + frame.width >= to.x + to.width - slack;
    if (frame.y < to.y)
      draw(frame, left, around ? width : 0, true);
    else
      draw(frame, left + (frame.x - to.x) * scale, inside ? frame.width * scale : 0, false);
  }
}

function search(wanted) {
  const lower = wanted.toLowerCase();
  let matches = 0;
  for (const frame of frames) {
    const match = wanted !== '' && nameOf(frame).toLowerCase().includes(lower);
    frame.g.classList.toggle('found', match);
    matches += match;
  }
  found = wanted === '' ? '' :
                          (matches === 1 ? '1 frame contains' : matches + ' frames contain') + ' \'' + wanted +
          '\'. Press / to search again.';
  show('');
}

for (const frame of frames) {
  frame.g.addEventListener('click', () => zoom(frame));
  frame.g.addEventListener('mouseover', () => show(frame.text));
  frame.g.addEventListener('mouseout', () => show(''));
}
window.addEventListener('keydown', (event) => {
  if (event.key === '/' || (event.key === 'f' && event.ctrlKey)) {
    event.preventDefault();
    const wanted = prompt('Frames whose name contains:', '');
    if (wanted !== null) search(wanted);
  } else if (event.key === 'Escape') {
    zoom(frames[0]);
    search('');
  }
});
show('');
})();
