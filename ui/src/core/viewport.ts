// The part of time that is shown, and its arithmetic. Times are nanoseconds since the start of the trace.

export interface Span {
  from: number;
  to: number;
}

const kMinSpanNs = 10;

/**
 * The shortest span that can be shown at `at`: doubles have 53 bits, so far from the start of a long trace the
 * difference of two neighbouring times is more than a nanosecond. 256 of these steps can still be told apart.
 */
export function minSpan(at: number): number {
  return Math.max(kMinSpanNs, Math.abs(at) * 2 ** -52 * 256);
}

/** `span` with a legal length and inside [0, duration], with a margin of a tenth of the span on both sides. */
export function clampSpan(span: Span, duration: number): Span {
  const whole = Math.max(duration, kMinSpanNs);
  const middle = span.from / 2 + span.to / 2;
  let length = span.to - span.from;
  if (!(length > 0) || !Number.isFinite(length) || !Number.isFinite(middle)) return { from: 0, to: whole };
  length = Math.min(Math.max(length, minSpan(middle)), whole * 1.2);
  const margin = length * 0.1;
  let from = middle - length / 2;
  if (from < -margin) from = -margin;
  if (from + length > whole + margin) from = Math.max(-margin, whole + margin - length);
  return { from, to: from + length };
}

/** The whole trace, with a margin after its end: an event at the very end has a width. */
export function wholeSpan(duration: number): Span {
  const whole = Math.max(duration, kMinSpanNs);
  return { from: 0, to: whole * 1.004 };
}

/** Zooms by `factor` (below 1: closer) so that the time at `anchor` stays where it is. */
export function zoomAt(span: Span, anchor: number, factor: number, duration: number): Span {
  const length = Math.min(Math.max((span.to - span.from) * factor, minSpan(anchor)), Math.max(duration, kMinSpanNs) * 1.2);
  const share = (anchor - span.from) / (span.to - span.from);
  const from = anchor - length * share;
  return clampSpan({ from, to: from + length }, duration);
}

export function panBy(span: Span, ns: number, duration: number): Span {
  return clampSpan({ from: span.from + ns, to: span.to + ns }, duration);
}

/** `span` with a margin on both sides, to show a range with what is around it. */
export function around(from: number, to: number, duration: number): Span {
  const margin = Math.max((to - from) * 0.6, minSpan(from));
  return clampSpan({ from: from - margin, to: to + margin }, duration);
}

/** The level of the tiles for a view: the largest bins that are at most `pixels` wide. */
export function levelFor(span: Span, width: number, pixels = 1): number {
  const nsPerPixel = ((span.to - span.from) / Math.max(1, width)) * pixels;
  return Math.max(0, Math.min(50, Math.floor(Math.log2(Math.max(1, nsPerPixel)))));
}
