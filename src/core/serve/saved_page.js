// The end of the script of a page that was saved with `kymo view -o`: it answers the requests of the page from data
// inside the file. saved_page.cc puts all parts into one function.

async function load() {
  const text = document.getElementById('kymo-data').textContent;
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const buffer = await new Response(stream).arrayBuffer();
  const [length, tileBytes] = [0, 4].map((at) => new DataView(buffer).getUint32(at, true));
  const answers = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const tilesAt = padded(8 + length), columnsAt = tilesAt + padded(tileBytes);
  const columns = {};
  for (const [name, [type, at, count]] of Object.entries(answers.columns))
    columns[name] = new (type === 'u32' ? Uint32Array : Float64Array)(buffer, columnsAt + at, count);
  answers.trace.saved = { arguments_left_out: answers.arguments.left_out };
  const info = new Map(answers.trace.tracks.map((track) => [track.id, track]));
  return { answers, info, columns, tracks: readTracks(buffer.slice(tilesAt, columnsAt)) };
}

const missing = { error: 'A saved page does not have this. kymo view shows it from the trace.' };
const loaded = load();
window.fetch = async (address) => {
  const [path, text] = String(address).split('?');
  const data = await loaded, query = new URLSearchParams(text || '');
  const json = (value) => new Response(JSON.stringify(value), { status: value.error ? 404 : 200 });
  switch (path) {
    case 'api/tiles':
      return new Response(tiles(data, query));
    case 'api/event':
      return json(event(data, query));
    case 'api/search':
      return json(search(data, query));
    case 'api/selection':
      return json(totals(data, query, 'selection'));
    case 'api/flame':
      return json(totals(data, query, query.get('by')));
    case 'api/links':
      return json(links(data, query));
    case 'api/memory':
      return json(memory(data, query));
    case 'api/report':
      return json(data.answers.reports[Number(query.get('file') || 0)] || missing);
    case 'api/idle':
      return json(data.answers.idle[Number(query.get('file') || 0)] || missing);
    case 'api/diff':
      return json(data.answers.comparisons[`${query.get('base')},${query.get('other')}`] || missing);
    case 'api/trace':
      return json(data.answers.trace);
    case 'api/names': {
      const all = data.answers.names, from = Number(query.get('from') || 0);
      const part = (list) => list.slice(from);
      return json({ version: all.version, from, names: part(all.names), bases: part(all.bases),
                    categories: part(all.categories), colours: part(all.colours) });
    }
    default:
      return json(missing);
  }
};
// A saved page does not change.
window.EventSource = class {
  close() {}
  addEventListener() {}
};
