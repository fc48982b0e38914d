// Numbers for people: times, sizes, counts and the ticks of the time axis.

const kUnits: Array<[number, string]> = [
  [86_400e9, 'd'],
  [3_600e9, 'h'],
  [60e9, 'min'],
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

/** As the commands write it: 1.23 ms, 4 min 05 s, 2 h 03 min. `digits`: of the number before a single unit. */
export function duration(ns: number, digits = 3): string {
  if (!Number.isFinite(ns)) return '-';
  if (ns === 0) return '0 ns';
  const sign = ns < 0 ? '-' : '';
  const size = Math.abs(ns);
  if (size >= 59.95e9) {
    const seconds = Math.round(size / 1e9);
    const minutes = seconds < 3600 ? Math.floor(seconds / 60) : Math.floor((seconds + 30) / 60);
    const two = (value: number) => String(value).padStart(2, '0');
    return sign + (seconds < 3600 ? `${minutes} min ${two(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`);
  }
  const [unit, name] = kUnits.find(([u]) => size >= u) ?? [1, 'ns'];
  const value = size / unit;
  const decimals = unit === 1 && Number.isInteger(value) ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(value)));
  return `${sign}${trimZeros(value.toFixed(decimals))} ${name}`;
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** A time since the start of the trace, with as many decimals as `step` needs: 1.250 ms. */
export function timeLabel(ns: number, step: number): string {
  if (ns === 0) return '0';
  const size = Math.abs(ns);
  const [unit, name] = kUnits.find(([u]) => size >= u && (u <= 1e9 || step >= u)) ?? kUnits.find(([u]) => size >= u) ?? [1, 'ns'];
  if (unit > 1e9 && step < unit) return `${(ns / 1e9).toFixed(decimalsFor(step, 1e9))} s`;
  return `${(ns / unit).toFixed(decimalsFor(step, unit))} ${name}`;
}

function decimalsFor(step: number, unit: number): number {
  return Math.max(0, Math.min(12, Math.ceil(-Math.log10(step / unit) - 1e-9)));
}

/** The distance of ticks so that they are at least `least` nanoseconds apart: 1, 2 or 5 times a power of ten. */
export function tickStep(least: number): number {
  if (least > 30e9) {
    for (const step of [60e9, 120e9, 300e9, 600e9, 1800e9, 3600e9, 7200e9, 21600e9, 43200e9, 86400e9]) {
      if (step >= least) return step;
    }
    const days = least / 86400e9;
    const power = 10 ** Math.floor(Math.log10(days));
    const digit = [1, 2, 5, 10].find((d) => d * power >= days) ?? 10;
    return digit * power * 86400e9;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  for (const digit of [1, 2, 5, 10]) {
    if (digit * power >= least) return digit * power;
  }
  return 10 * power;
}

export function bytes(value: number): string {
  const sign = value < 0 ? '-' : '';
  let size = Math.abs(value);
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (unit === 'B' ? size < 999.5 : size < 999.95 || unit === 'TB') return `${sign}${unit === 'B' ? size : trimZeros(size.toFixed(1))} ${unit}`;
    size /= 1000;
  }
  return '';
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** "1 range", "2 ranges". */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${Math.round(value) === 1 ? '' : 's'}`;
}

/** A short count for the label of a run: 1.2k, 34M. */
export function shortCount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${trimZeros((value / 1e3).toPrecision(3))}k`;
  if (value < 999.5e6) return `${trimZeros((value / 1e6).toPrecision(3))}M`;
  return `${trimZeros((value / 1e9).toPrecision(3))}G`;
}

/** The unit that a counter has in its name, "power [W]", and the name without it. */
export function splitUnit(name: string): { name: string; unit: string } {
  const found = name.match(/^(.+) \[([^[\]]{1,20})\]$/);
  return found ? { name: found[1], unit: found[2] } : { name, unit: '' };
}

/** A value of a counter, with its unit. */
export function quantity(value: number, unit = ''): string {
  if (!Number.isFinite(value)) return '-'; // JSON has no NaN: it is null
  if (unit === 'bytes' || unit === 'B') return bytes(value);
  if (unit === 'ns') return duration(value);
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(3) : trimZeros(value.toFixed(size < 10 ? 3 : 1));
  return unit ? `${text} ${unit}` : text;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '-';
}
