// Text on a canvas. Widths are measured once for each text, because measuring is slower than drawing.

const kMaxCached = 20_000;

export class TextFitter {
  private readonly widths = new Map<string, number>();

  constructor(private readonly measure: (text: string) => number) {}

  width(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > kMaxCached) this.widths.clear();
      width = this.measure(text);
      this.widths.set(text, width);
    }
    return width;
  }

  /** The longest beginning of `text` that fits, with "…" if it is cut. Empty if not even four letters fit. */
  fit(text: string, room: number): string {
    if (text.length > 400) text = text.slice(0, 400);
    const full = this.width(text);
    if (full <= room) return text;
    const letters = Math.floor((text.length * (room - 8)) / full);
    if (letters < 4) return '';
    const cut = `${text.slice(0, letters)}…`;
    // Letters are not equally wide: the estimate may be too long.
    const over = this.width(cut) - room;
    if (over <= 0) return cut;
    const fewer = letters - Math.ceil((over / this.width(cut)) * letters) - 1;
    return fewer < 4 ? '' : `${text.slice(0, fewer)}…`;
  }
}
