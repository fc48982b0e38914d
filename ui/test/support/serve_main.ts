// Serves a trace by name until it is stopped, to look at the page by hand: node serve_main.mjs training 8017 FOLDER

import { serve } from './server';
import { kTraces } from './traces';

const [name = 'training', port = '0', folder = '.'] = process.argv.slice(2);
const make = kTraces[name];
if (!make) throw new Error(`"${name}" is not a trace; traces: ${Object.keys(kTraces).join(', ')}`);
console.log((await serve(make(), folder, Number(port))).address);
