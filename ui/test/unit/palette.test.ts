import assert from 'node:assert/strict';
import { test } from 'node:test';
import { css, kDark, kLight, kNameColours, ownColour } from '../../src/timeline/palette';

/** Of a colour as CSS has it: "#1f2933", "rgb(1, 2, 3)". */
function luminance(colour: string): number {
  const channels = colour.startsWith('#') ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g)!.map(Number);
  const [r, g, b] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

for (const theme of [kLight, kDark]) {
  test(`text on the timeline can be read in the ${theme.name} theme`, () => {
    const own = [0, 0xffffff, 0xff0000, 0x00ff00, 0x0000ff, 0xffff00, 0x808080].map((rgb) => ownColour(rgb)!);
    const behind: Array<[string, string, string[]]> = [
      ['text', theme.text, [theme.background, theme.panel, theme.header, theme.lane]],
      ['muted', theme.muted, [theme.background, theme.panel, theme.header, theme.lane]],
      ['hit', theme.hit, [theme.background, theme.panel, theme.lane]],
      ['accent', theme.accent, [theme.background, theme.panel, theme.lane]],
      ['names of ranges', theme.rangeText, [...Array.from({ length: kNameColours }, (_, at) => at), ...own].map((at) => css(theme.colours[at]))],
    ];
    const faint = behind.flatMap(([name, colour, grounds]) => grounds.map((ground) => `${name} on ${ground}: ${contrast(colour, ground).toFixed(2)}`).filter((line) => Number(line.split(': ')[1]) < 4.5));
    assert.deepEqual(faint, []);
  });
}
