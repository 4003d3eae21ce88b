/** A point in pixels of the drawing. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Escapes text for SVG, and removes characters that XML does not allow. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[&<>"']/gu, (character) => `&#${character.charCodeAt(0)};`);
}

/** Formats a number with at most one decimal. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A gradient from top to bottom; `stops` are colors, spread evenly. */
export function verticalGradient(id: string, stops: readonly string[]): string {
  const marks = stops.map((color, index) => stop(index / Math.max(1, stops.length - 1), color, 1));
  return `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${marks.join('')}</linearGradient>`;
}

/** Light that fades out from the center. */
export function glowGradient(id: string, color: string, strength: number): string {
  const fading = [1, 0.6, 0.34, 0.16, 0.05, 0];
  const marks = fading.map((share, index) => stop(index / (fading.length - 1), color, strength * share));
  return `<radialGradient id="${id}">${marks.join('')}</radialGradient>`;
}

/** A stop of a gradient; `offset` and `opacity` from 0 to 1. */
export function stop(offset: number, color: string, opacity: number): string {
  return `<stop offset="${offset.toFixed(3)}" stop-color="${color}" stop-opacity="${opacity.toFixed(3)}"/>`;
}

/** A circle around a point, in pixels. */
export function circle(x: number, y: number, radius: number, fill: string, opacity = 1): string {
  return `<circle cx="${px(x)}" cy="${px(y)}" r="${px(radius)}" fill="${fill}" ${faded(opacity)}/>`;
}

/** A rectangle from its upper left corner, in pixels. */
export function rectangle(x: number, y: number, width: number, height: number, fill: string, opacity = 1): string {
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${fill}" ${faded(opacity)}/>`;
}

/** An ellipse around a point, in pixels. */
export function ellipse(x: number, y: number, radiusX: number, radiusY: number, fill: string, opacity = 1): string {
  return `<ellipse cx="${px(x)}" cy="${px(y)}" rx="${px(radiusX)}" ry="${px(radiusY)}" fill="${fill}" ${faded(opacity)}/>`;
}

/** A closed shape with straight edges, in pixels. */
export function polygon(points: readonly Point[], fill: string, opacity = 1): string {
  return `<polygon points="${points.map(({ x, y }) => `${px(x)},${px(y)}`).join(' ')}" fill="${fill}" ${faded(opacity)}/>`;
}

/** A shape of any form; `data` is SVG path data. */
export function path(data: string, fill: string, opacity = 1): string {
  return `<path d="${data}" fill="${fill}" ${faded(opacity)}/>`;
}

/** A figure that is drawn around 0, 0, moved to x, y in pixels, scaled, and turned by degrees. */
export function placed(x: number, y: number, scale: number, figure: string, turn = 0): string {
  return `<g transform="translate(${px(x)} ${px(y)}) rotate(${px(turn)}) scale(${scale.toFixed(4)})">${figure}</g>`;
}

/** A figure and its mirror image to the left of 0. */
export function mirrored(figure: string): string {
  return `${figure}<g transform="scale(-1 1)">${figure}</g>`;
}

/** An unfilled line with round ends. */
export function line(data: string, stroke: string, width: number, opacity = 1): string {
  return `<path d="${data}" fill="none" stroke="${stroke}" stroke-width="${px(width)}" stroke-linecap="round" stroke-linejoin="round" ${faded(opacity, 'stroke')}/>`;
}

/** Path data of a soft curve through all points (Catmull-Rom). */
export function curveThrough(points: readonly Point[]): string {
  const at = (index: number): Point => points[Math.max(0, Math.min(points.length - 1, index))] ?? { x: 0, y: 0 };
  const parts = [`M${px(at(0).x)} ${px(at(0).y)}`];
  for (let index = 0; index < points.length - 1; index++) {
    const before = at(index - 1);
    const from = at(index);
    const to = at(index + 1);
    const after = at(index + 2);
    const first = { x: from.x + (to.x - before.x) / 6, y: from.y + (to.y - before.y) / 6 };
    const second = { x: to.x - (after.x - from.x) / 6, y: to.y - (after.y - from.y) / 6 };
    parts.push(`C${px(first.x)} ${px(first.y)} ${px(second.x)} ${px(second.y)} ${px(to.x)} ${px(to.y)}`);
  }
  return parts.join('');
}

// Use the paint's opacity, because the element's makes the renderer draw an extra layer.
function faded(opacity: number, paint: 'fill' | 'stroke' = 'fill'): string {
  return opacity >= 1 ? '' : `${paint}-opacity="${opacity.toFixed(3)}"`;
}
