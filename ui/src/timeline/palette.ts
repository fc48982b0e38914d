// The colours of a theme. Ranges get one of sixteen calm colours by their name, so a name has the same colour in every
// trace and in every panel.

export type Rgb = readonly [number, number, number];

export interface Theme {
  name: 'light' | 'dark';
  background: string;
  panel: string;
  header: string;
  lane: string;
  line: string;
  text: string;
  muted: string;
  rangeText: string;
  accent: string;
  selection: string;
  selectionEdge: string;
  hit: string;
  flow: string;
  loss: string;
  plot: string;
  plotLine: string;
  colours: Rgb[]; // by index: see Colour
}

export const kNameColours = 16;
/** Indices into Theme.colours: first the colours of names, then the same ones dimmed, then these. */
export const Colour = {
  Dimmed: kNameColours,
  Slower: 2 * kNameColours,
  Faster: 2 * kNameColours + 1,
  Same: 2 * kNameColours + 2,
  Instant: 2 * kNameColours + 3,
  Hit: 2 * kNameColours + 4,
  Header: 2 * kNameColours + 5,
  Lane: 2 * kNameColours + 6,
  Point: 2 * kNameColours + 7,
  Grid: 2 * kNameColours + 8,
} as const;

const kDimmedShare = 0.68; // of the background
const kHues = [212, 168, 262, 28, 340, 92, 190, 48, 290, 150, 232, 12, 316, 70, 200, 120];

export const kLight: Theme = {
  name: 'light',
  background: '#ffffff',
  panel: '#f7f8fa',
  header: '#f0f2f5',
  lane: '#fafbfc',
  line: '#e4e7eb',
  text: '#1f2933',
  muted: '#5b6774',
  rangeText: '#17202a',
  accent: '#2563eb',
  selection: 'rgba(37, 99, 235, 0.10)',
  selectionEdge: 'rgba(37, 99, 235, 0.75)',
  hit: '#b93a09',
  flow: '#5b6b7c',
  loss: 'rgba(200, 45, 45, 0.20)',
  plot: 'rgba(59, 130, 196, 0.28)',
  plotLine: '#3b82c4',
  colours: colours((hue, at) => hsl(hue, at % 2 ? 0.5 : 0.56, at % 2 ? 0.72 : 0.78), '#ffffff', {
    slower: '#e5746b', faster: '#5fb37c', same: '#ccd3da', instant: '#7c5cbf', hit: '#f6a04d', header: '#f0f2f5', lane: '#fafbfc', point: '#a8b3be', grid: '#eceff2',
  }),
};

export const kDark: Theme = {
  name: 'dark',
  background: '#14181d',
  panel: '#1a1f26',
  header: '#1e242c',
  lane: '#171b21',
  line: '#2b323b',
  text: '#e3e8ee',
  muted: '#8d99a6',
  rangeText: '#f2f5f8',
  accent: '#6ea8fe',
  selection: 'rgba(110, 168, 254, 0.14)',
  selectionEdge: 'rgba(110, 168, 254, 0.8)',
  hit: '#ffa94d',
  flow: '#a9b6c4',
  loss: 'rgba(240, 90, 90, 0.28)',
  plot: 'rgba(92, 160, 222, 0.28)',
  plotLine: '#5ca0de',
  colours: colours((hue, at) => hsl(hue, at % 2 ? 0.34 : 0.38, at % 2 ? 0.33 : 0.35), '#14181d', {
    slower: '#b0453d', faster: '#2f8a52', same: '#3a424c', instant: '#a78bfa', hit: '#c46a14', header: '#1e242c', lane: '#171b21', point: '#5d6975', grid: '#222830',
  }),
};

interface Special {
  slower: string;
  faster: string;
  same: string;
  instant: string;
  hit: string;
  header: string;
  lane: string;
  point: string;
  grid: string;
}

function colours(make: (hue: number, at: number) => Rgb, background: string, special: Special): Rgb[] {
  const names = kHues.map(make);
  const ground = parse(background);
  const faint = names.map((c) => mix(c, ground, kDimmedShare));
  const rest = [special.slower, special.faster, special.same, special.instant, special.hit, special.header, special.lane, special.point, special.grid];
  return [...names, ...faint, ...rest.map(parse)];
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i] * (1 - share) + b[i] * share)) as unknown as Rgb;
}

function parse(hex: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
}

function hsl(hue: number, saturation: number, lightness: number): Rgb {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** The lightness of names: from the darkest to the lightest, so that the text on them is readable. */
const kLightness = { light: [0.64, 0.84], dark: [0.22, 0.34] } as const;
const kMaxColours = 256; // that a draw list can have
const own = new Map<number, number>();

/**
 * The index of a colour that the program has chosen (0xRRGGBB): the same hue, as calm as the others. The next index is
 * the same one dimmed. Undefined: there are too many.
 */
export function ownColour(rgb: number): number | undefined {
  const known = own.get(rgb);
  if (known !== undefined) return known;
  const at = kLight.colours.length;
  if (at + 2 > kMaxColours) return undefined;
  const [r, g, b] = [16, 8, 0].map((shift) => ((rgb >> shift) & 255) / 255);
  const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
  const [lightness, spread] = [(most + least) / 2, most - least];
  const saturation = spread === 0 ? 0 : spread / (1 - Math.abs(2 * lightness - 1));
  const sector = spread === 0 ? 0 : most === r ? (g - b) / spread + 6 : most === g ? (b - r) / spread + 2 : (r - g) / spread + 4;
  for (const theme of [kLight, kDark]) {
    const [low, high] = kLightness[theme.name];
    const calm = hsl((sector * 60) % 360, Math.min(saturation, theme === kLight ? 0.62 : 0.42), low + (high - low) * lightness);
    theme.colours.push(calm, mix(calm, parse(theme.background), kDimmedShare));
  }
  own.set(rgb, at);
  return at;
}

/** The colour of a name where the search has not found it. */
export function dimmed(colour: number): number {
  return colour < kNameColours ? Colour.Dimmed + colour : colour + 1;
}

export function css(colour: Rgb): string {
  return `rgb(${colour[0]}, ${colour[1]}, ${colour[2]})`;
}

/** The colour of a name. Digits do not count, so that "step 1" and "step 2" look the same. */
export function nameColour(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; ++i) {
    const unit = name.charCodeAt(i);
    if (unit >= 48 && unit <= 57) continue;
    hash = Math.imul(hash ^ unit, 0x01000193);
  }
  hash ^= hash >>> 15;
  return (hash >>> 0) % kNameColours;
}
