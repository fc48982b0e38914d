// What is on the screen as an SVG: the part of a canvas that the timeline uses, written down.

interface Style {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  globalAlpha: number;
  font: string;
}

export class SvgContext implements Style {
  fillStyle = '#000';
  strokeStyle = '#000';
  lineWidth = 1;
  globalAlpha = 1;
  font = '';
  textBaseline = ''; // of all text: alphabetic
  private readonly parts: string[] = [];
  private path = '';
  private clips = 0;
  private readonly saved: Array<{ style: Style; open: number }> = [];
  private open = 0; // groups since the last save()

  /** `screen` measures text. */
  constructor(private readonly screen: CanvasRenderingContext2D, private readonly width: number, private readonly height: number) {}

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font } = this;
    this.saved.push({ style: { fillStyle, strokeStyle, lineWidth, globalAlpha, font }, open: this.open });
    this.open = 0;
  }
  restore(): void {
    const last = this.saved.pop()!;
    this.parts.push('</g>'.repeat(this.open));
    this.open = last.open;
    Object.assign(this, last.style);
  }
  clearRect(): void {}
  setTransform(): void {}

  beginPath(): void {
    this.path = '';
  }
  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(...numbers: number[]): void {
    this.path += `C${numbers.map(short).join(' ')}`;
  }
  /** Only whole circles. */
  arc(x: number, y: number, radius: number): void {
    const half = `a${short(radius)} ${short(radius)} 0 1 0 `;
    this.path += `M${short(x - radius)} ${short(y)}${half}${short(2 * radius)} 0${half}${short(-2 * radius)} 0Z`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }
  roundRect(x: number, y: number, width: number, height: number): void {
    this.rect(x, y, width, height);
  }
  clip(): void {
    const id = `c${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    ++this.open;
  }
  fill(): void {
    this.parts.push(`<path d="${this.path}" ${this.paint('fill', this.fillStyle)}/>`);
  }
  stroke(): void {
    this.parts.push(`<path d="${this.path}" ${this.line()}/>`);
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect ${box(x, y, width, height)} ${this.paint('fill', this.fillStyle)}/>`);
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect ${box(x, y, width, height)} ${this.line()}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" style="font:${escaped(this.font)}" ${this.paint('fill', this.fillStyle)}>${escaped(text)}</text>`);
  }
  measureText(text: string): TextMetrics {
    this.screen.font = this.font;
    return this.screen.measureText(text);
  }
  drawImage(image: HTMLCanvasElement, x: number, y: number, width = image.width, height = image.height): void {
    this.parts.push(`<image ${box(x, y, width, height)} preserveAspectRatio="none" href="${image.toDataURL()}"/>`);
  }

  text(): string {
    const { width, height } = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join('\n')}</svg>\n`;
  }

  private paint(attribute: string, colour: string): string {
    return `${attribute}="${colour}"${this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : ''}`;
  }
  private line(): string {
    return `fill="none" stroke-width="${this.lineWidth}" ${this.paint('stroke', this.strokeStyle)}`;
  }
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${short(x)}" y="${short(y)}" width="${short(Math.max(0, width))}" height="${short(Math.max(0, height))}"`;
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Characters that XML does not allow become a space. */
function escaped(text: string): string {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, ' ').replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Gives the user a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
